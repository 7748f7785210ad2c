"""What whole tasks are held against: every placement, an exact program, spoiled proofs.

    python -m benchmarks.whole.held --journal whole.jsonl

1,000 small problems beside every placement looked at; 10,000 of their proofs spoiled, judged and
held against the truth; 100 clusters of middle size beside one program node by node (`exact`).
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.whole import exact
from benchmarks.whole.draws import drawn as middle
from benchmarks.whole.journal import Row, answered
from fairopt.whole.asking import searched
from fairopt.whole.proof.answer import dumps
from fairopt.whole.proof.judging import judge
from tests.whole_cases import drawn, fairest, honest, judged, of, spoil

_FIRST = 10_000
"""the first seed of the small problems"""
_LOOKED = (10_004, 10_087, 10_315, 10_398, 10_444, 10_482, 10_611, 10_652, 10_833, 10_846)
"""problems of which prices alone do not prove the fewest tasks short"""
_TOGETHER = 100
"""spoiled proofs that are one line of the journal"""
_SECONDS = 10.0
"""of the exact program"""
_LEVELS = 60.0
"""of the clock, for all levels of a cluster of middle size"""


def small(seed: int) -> Row:
    """A small problem beside every placement."""
    begun = time.process_time()
    found = searched(drawn(seed))
    fewest = searched(drawn(seed), fewest=True)
    seconds = time.process_time() - begun
    verdict, other = judge(found), judge(fewest)
    best, short = fairest(found.asked)
    return {
        "fairest": of(found) == best,
        "levels": verdict.proved,
        "least": other.least == short == other.short,
        "false": not all(honest(json.loads(dumps(own))) for own in (found, fewest)),
        "seconds": seconds,
    }


@cache
def answers() -> list[Any]:
    """Answers to be spoiled, as data: of the drawn problems, and those that fillings prove."""
    plain = [searched(drawn(seed), fewest=seed % 4 == 0) for seed in range(200)]
    looked = [searched(drawn(seed), fewest=True) for seed in _LOOKED]
    return [json.loads(dumps(own)) for own in (*plain, *looked, *looked)]


def spoiled(block: int) -> Row:
    """Many answers with one to three places spoiled: which claims are accepted, and false ones."""
    rng = random.Random(block)
    states: Counter[str] = Counter()
    ways: Counter[str] = Counter()
    wrong = 0
    for _ in range(_TOGETHER):
        data = copy.deepcopy(rng.choice(answers()))
        for _ in range(rng.choice([1, 1, 2, 3])):
            ways[spoil(data, rng)] += 1
        verdict, _ = judged(data)
        states["refused" if verdict is None else verdict.state] += 1
        wrong += not honest(data)
    return {"states": states, "ways": ways, "false": wrong}


def beside(seed: int) -> Row:
    """A cluster of middle size: the least shortage and all levels, and the exact program."""
    asked = middle(seed)
    begun = time.process_time()
    found = searched(asked, fewest=True)
    ours = time.process_time() - begun
    verdict = judge(found)
    begun = time.process_time()
    theirs = exact.fewest(asked.problem, _SECONDS)
    seconds = time.process_time() - begun
    return {
        "nodes": sum(row.count for row in asked.rows),
        "short": verdict.short,
        "least": verdict.least,
        "ours": ours,
        "exact": [theirs.short, theirs.bound],
        "closed": theirs.closed,
        "seconds": seconds,
        # nothing found is below what is proved, on either side
        "false": not (verdict.least <= theirs.short and theirs.bound <= verdict.short + 1e-6),
    }


def levels(seed: int) -> Row:
    """A cluster of middle size: all levels, and the least shortage beside that of `beside`."""
    begun = time.process_time()
    found = searched(middle(seed), seconds=_LEVELS)
    verdict = judge(found)
    return {
        "levels": [sum(holds for _, holds in verdict.levels), len(verdict.levels)],
        "proved": verdict.proved,
        "state": verdict.state,
        "seconds": time.process_time() - begun,
    }


def ask(name: str) -> Row:
    """The row of a question by its name."""
    kind, seed = name.split()
    own = {"small": small, "spoiled": spoiled, "beside": beside, "levels": levels}
    return own[kind](int(seed))


def names(small: int, spoiled: int, middle: int) -> list[str]:
    """The names of all questions."""
    return [
        *(f"small {_FIRST + k}" for k in range(small)),
        *(f"spoiled {k}" for k in range(spoiled // _TOGETHER)),
        *(f"beside {k}" for k in range(middle)),
        *(f"levels {k}" for k in range(middle)),
    ]


def table(rows: list[Row]) -> str:
    """What was held against what, in lines."""
    own = {
        kind: [row for row in rows if row["name"].startswith(kind)]
        for kind in ("small", "spoiled", "beside", "levels")
    }
    few = own["small"]
    lines = [
        f"small: {sum(r['fairest'] for r in few)} of {len(few)} are the fairest there is, "
        f"{sum(r['levels'] for r in few)} with every level proved, "
        f"{sum(r['least'] for r in few)} with the least shortage proved, "
        f"{sum(r['seconds'] for r in few):.0f} s"
    ]
    states: Counter[str] = Counter()
    for row in own["spoiled"]:
        states.update(row["states"])
    said = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
    lines.append(f"spoiled: {sum(states.values()):,}, of which {said}")
    some = own["beside"]
    both = [r for r in some if r["closed"]]
    lines.append(
        f"middle: the least shortage is proved in {sum(r['short'] == r['least'] for r in some)} of "
        f"{len(some)}, {sum(r['ours'] for r in some):.0f} s; node by node it is closed in "
        f"{len(both)}, {sum(r['seconds'] for r in some):.0f} s; of these ours is the least in "
        f"{sum(r['short'] == r['exact'][0] for r in both)}"
    )
    every = own["levels"]
    lines.append(
        f"levels: all proved in {sum(r['proved'] for r in every)} of {len(every)}, "
        f"{sum(r['levels'][0] for r in every)} of {sum(r['levels'][1] for r in every)} levels, "
        f"{sum(r['seconds'] for r in every):.0f} s"
    )
    lines.append(f"false claims: {sum(int(r.get('false', 0)) for r in rows)}")
    return "\n".join(lines)


def main(given: list[str] | None = None) -> None:
    """Ask what is not in the journal yet, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=1000)
    parser.add_argument("--spoiled", type=int, default=10_000)
    parser.add_argument("--middle", type=int, default=100)
    parser.add_argument("--journal", type=Path)
    own = parser.parse_args(given)
    print(table(answered(own.journal, names(own.small, own.spoiled, own.middle), ask)))


if __name__ == "__main__":
    main()
