"""Own rules: how much time they take, and how often answers are right.

    python -m benchmarks.rules speed            1,000 users x 100 servers, 50 rules of 1,000 terms
    python -m benchmarks.rules draws 500        random instances with rules of both signs, half of
                                                them impossible, against linear programs level by
                                                level and each conflict member by member
    python -m benchmarks.rules restated 200     ceilings, limits and guarantees said as rules
    python -m benchmarks.rules solvers 250      proportional fairness against Clarabel and SCS

Times are CPU seconds of one process, with one thread; the median and the largest.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo

TASKS = {"criterion": "tasks"}


def timed(inst: fo.Instance, notion: Any) -> tuple[float, fo.Allocation]:
    """CPU seconds of a solve, judged, and the answer."""
    begin = time.process_time()
    answer = fo.solve(inst, notion, uncertified="return")
    return time.process_time() - begin, answer


def speed() -> None:
    """With 50 rules of 1,000 terms each, beside the same cluster without."""
    rng = np.random.default_rng(0)
    users, servers = 1000, 100
    demand, capacity = rng.uniform(0.1, 2, (users, 3)), rng.uniform(50, 200, (servers, 3))
    placement = rng.random((users, servers)) < 0.1
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    base = fo.Instance(demand, capacity, placement)
    n, i = base.pairs
    for notion in (fo.ProportionalFair(), fo.MaxMin()):
        timed(base, notion)  # imports
        plain, answer = min((timed(base, notion) for _ in range(3)), key=lambda each: each[0])
        rules = []
        for j in range(50):
            at = rng.choice(len(n), 1000, replace=False)
            counts = {
                (base.users[n[k]], base.servers[i[k]]): float(a)
                for k, a in zip(at, rng.uniform(0.5, 2, 1000), strict=True)
            }
            used = sum(
                a * answer.tasks[n[k], i[k]] for k, a in zip(at, counts.values(), strict=True)
            )
            rules.append(fo.Rule.of(f"rule {j}", counts, most=float(used * rng.uniform(0.8, 1.3))))
        begin = time.process_time()
        inst = fo.Instance(demand, capacity, placement, rules=rules)
        built = time.process_time() - begin
        ruled, found = min((timed(inst, notion) for _ in range(3)), key=lambda each: each[0])
        verdict = found.certificate
        assert verdict is not None
        print(
            f"{notion.name}: without {plain:.2f} s, with {ruled:.2f} s ({ruled / plain:.1f} "
            f"times), built in {built:.2f} s; {verdict.verdict}, residual {verdict.residual:.1e}"
        )


def draws(count: int) -> None:
    """Random instances, with the references of the tests."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from test_solving_rules import impossible, members

    from tests.rule_draws import draw, fits, levels, rows

    said: Counter[str] = Counter()
    worst = 0.0
    for seed in range(1000, 1000 + count // 2):
        inst = draw(seed)
        for notion in (
            fo.MaxMin(**TASKS),
            fo.ProportionalFair(**TASKS),
            fo.AlphaFair(3, **TASKS),
            fo.Throughput(),
        ):
            _, answer = timed(inst, notion)
            assert answer.certificate is not None
            said[f"{notion.name}: {answer.certificate.verdict}"] += 1
            if notion.name == "max-min" and answer.certificate.certified:
                wanted = levels(rows(inst), answer.score[inst.pairs], inst.weight)
                off = float(np.abs(answer.shares / wanted - 1).max())
                worst = max(worst, off)
                said["max-min: certified and more than 3e-6 off"] += off > 3e-6
    for seed in range(1000, 1000 + count // 2):
        inst = impossible(seed)
        try:
            fo.solve(inst, fo.MaxMin(**TASKS))
            said["impossible: answered"] += 1
        except fo.Infeasible as error:
            proof = error.proof or {}
            table = rows(inst)
            each = members(inst, proof["conflict"], table)
            every = sorted(sum(each.values(), []))
            right = not fits(table, every) and all(
                fits(table, [k for k in every if k not in own]) for own in each.values()
            )
            said[
                "impossible: irreducible and proved"
                if right and proof["proved"]
                else "impossible: not irreducible, or not proved"
            ] += 1
    for words, number in sorted(said.items()):
        print(f"{number:6} {words}")
    print(f"max-min and the programs level by level differ by at most {worst:.1e}")


def restated(count: int) -> None:
    """The test of restated rules, on instances of other seeds."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from test_solving_rules import test_restated_rules_give_the_same_shares_and_prices as same

    for seed in range(2000, 2000 + count):
        same(seed)
    print(f"{count} of {count}: the same shares to 1e-6 and the same prices to 1e-4, both notions")


def solvers(count: int) -> None:
    """The test against general solvers, on instances of other seeds."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from test_solving_rules import test_alpha_fairness_is_that_of_a_general_solver as same

    for name in ("clarabel", "scs"):
        said: Counter[str] = Counter()
        for seed in range(1000, 1000 + count):
            try:
                same(seed, name)
                said["the same objective"] += 1
            except Exception as error:  # what that solver makes of it is counted, not hidden
                said[type(error).__name__] += 1
                print(f"{name}, seed {seed}: {' '.join(str(error).split())[:160]}")
        print(f"{name}: {dict(said)}")


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["speed"]
    {
        "speed": speed,
        "draws": lambda: draws(int(rest[0])),
        "restated": lambda: restated(int(rest[0])),
        "solvers": lambda: solvers(int(rest[0])),
    }[what]()
