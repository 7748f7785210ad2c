"""Very many users: what fo.solve takes, as bare passes over the users, by number and placement.

    OPENBLAS_NUM_THREADS=1 python benchmarks/many_users.py --write docs/results/many-users.md
    OPENBLAS_NUM_THREADS=1 python benchmarks/many_users.py --users 20000 --alphas 1 5

A bare pass computes, for all pairs, costs, the cheapest, one exponential and the sums of use: what
every method must do at least once. Search is the time of the engines that fo.solve took, tried in
vain or not; judging is the time of the certificate. Each row has a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo
from fairopt import criteria
from fairopt.instance import Floats
from fairopt.solving import best
from fairopt.solving.engines.compact import small as compact
from fairopt.solving.engines.interior import pooled
from fairopt.solving.engines.path import plain
from fairopt.solving.engines.smoothed import newton

USERS = (20_000, 100_000, 300_000, 1_000_000)
DENSITIES = (0.05, 0.1, 0.2, 0.5, 1.0)
JOBS = (1_000, 10_000, 100_000, 1_000_000)
CHUNK = 8192
REST = "## How often it does not end by itself"
"""what stands from here on in the page is kept"""
WANTED = 60
"""bare passes an instance may take"""


ENGINES = (
    (compact, "follow"),
    (pooled, "attempt"),
    (newton, "follow"),
    (newton, "closer"),
    (plain, "follow"),
)

JUDGES = ("measure", "sight")
"""what a ladder asks of certificates"""
MILLION = 1_000_000
JUDGED = "## A million users, judged"
"""the section of seeds"""


@dataclass(frozen=True)
class Row:
    """One instance solved: CPU seconds of a bare pass, the search, all of fo.solve, and of that
    what certificates took."""

    name: str
    how: str
    bare: float
    search: float
    whole: float
    memory: float
    gap: float
    residual: float
    certified: bool
    judge: float


def cluster(users: int, density: float, seed: int) -> fo.Instance:
    """Ten servers that are not alike, three resources, mixes of demand over some decades."""
    rng = np.random.default_rng(seed)
    capacity = rng.uniform(1, 10, (10, 3)) * users
    demand = rng.lognormal(0, 1, (users, 3))
    placement = rng.random((users, 10)) < density
    placement[np.arange(users), rng.integers(0, 10, users)] = True
    return fo.Instance(demand, capacity, placement)


def accelerated(users: int, density: float, seed: int) -> fo.Instance:
    """The same where every second server has none of the third resource, for which three users in
    ten ask, and the first has some."""
    plain, rng = cluster(users, density, seed), np.random.default_rng(seed)
    demand, capacity, placement = (
        np.array(part) for part in (plain.demand, plain.capacity, plain.placement)
    )
    demand[rng.random(users) < 0.7, 2] = 0.0
    capacity[1::2, 2] = 0.0
    placement[(demand[:, 2] > 0) & ~placement[:, ::2].any(axis=1), 0] = True
    return fo.Instance(demand, capacity, placement)


def jobs(users: int, seed: int) -> tuple[fo.Instance, Floats]:
    """Jobs on four kinds of machines: demand is the scale of a job, at most all its time is used,
    and a share is throughput over what an equal split of the machines would give."""
    rng = np.random.default_rng(seed)
    scale = rng.choice([1.0, 2.0, 4.0, 8.0], users)
    machines = rng.uniform(0.5, 1.5, (4, 1)) * scale.sum() / 6
    throughput = rng.lognormal(0, 0.5, (users, 4)) * [1.0, 1.5, 2.0, 4.0]
    equal = throughput @ machines[:, 0] / machines.sum()
    return fo.Instance(scale[:, None], machines, limit=np.ones(users)), throughput / equal[:, None]


def bare(inst: fo.Instance, score: Floats) -> float:
    """Seconds of one pass: costs, minimum, exponential, sums."""
    prices, best = np.ones(inst.pool.shape), np.inf
    for _ in range(2):
        start, use = time.process_time(), np.zeros(inst.pool.shape)
        for users in range(0, len(inst.users), CHUNK):
            rows = slice(users, users + CHUNK)
            cost = np.where(inst.eligible[rows], inst.demand[rows] @ prices.T, np.inf)
            part = np.exp(1 - cost / cost.min(axis=1)[:, None])
            use += part.T @ inst.demand[rows]
        best = min(best, time.process_time() - start)
    return best


def timed(total: list[float], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, its seconds added to the total."""

    def run(*args: Any, **named: Any) -> Any:
        start = time.process_time()
        try:
            return function(*args, **named)
        finally:
            total[0] += time.process_time() - start

    return run


def solved(kind: str, users: int, density: float, alpha: float, seed: int) -> Row:
    """One row, in this process."""
    if kind == "jobs":
        inst, score = jobs(users, seed)
        notion, name = fo.AlphaFair(alpha, criterion=lambda _: score), f"{users:,} jobs x 4 kinds"
    else:
        draw = accelerated if kind == "accelerated" else cluster
        inst, notion = draw(users, density, seed), fo.AlphaFair(alpha)
        half = ", half of them without accelerators" if kind == "accelerated" else ""
        score, name = criteria.score(inst, "tasks"), f"{users:,} x 10{half}"
    total, judging = [0.0], [0.0]
    for module, function in ENGINES:
        setattr(module, function, timed(total, getattr(module, function)))
    for function in JUDGES:
        setattr(best, function, timed(judging, getattr(best, function)))
    start = time.process_time()
    answer = fo.solve(inst, notion, uncertified="return")
    whole = time.process_time() - start
    how = [str(step["step"]) for step in answer.steps if step.get("status") != "found nothing"]
    certificate = answer.certificate
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return Row(
        f"{name}, {density:g}, {alpha:g}",
        ", ".join(how),
        bare(inst, score),
        total[0],
        whole,
        memory,
        certificate.gap,
        certificate.residual,
        certificate.certified,
        judging[0],
    )


def alone(*asked: object) -> Row:
    """One row, in a process of its own, so that its peak of memory is its own."""
    command = [sys.executable, __file__, "--row", *map(str, asked)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return Row(**json.loads(found.stdout))


def line(row: Row) -> str:
    other = row.whole - row.search
    return (
        f"| {row.name} | {row.how} | {row.bare:.4f} | {row.search:.2f} "
        f"| {row.search / row.bare:.0f} | {row.whole:.2f} | {other / row.whole:.0%} "
        f"| {row.memory:.2f} | {row.gap:.0e} | {row.residual:.0e} |"
    )


def page(rows: list[Row]) -> str:
    good = sum(row.certified for row in rows)
    exact = sum(max(row.gap, row.residual) <= 1e-9 for row in rows)
    passes = [row for row in rows if "jobs" not in row.name]
    fast = sum(row.search <= WANTED * row.bare for row in passes)
    head = (
        "| users x servers, density, alpha | steps | a bare pass | search | bare passes | fo.solve "
        "| of it judging | GB | gap | residual |"
    )
    text = f"""# Very many users, in bare passes

What `fo.solve` takes ([how](../maths/many-users.md)): ten servers that are not alike and three
resources, and jobs on four kinds of machines with a limit on their time. A bare pass is what any
method does at least once for all pairs: costs, minimum, exponential, sums. Search is all engines
that were tried, in vain or not; the rest of `fo.solve` is judging, checking and merging. One BLAS
thread, CPU seconds of the process, each row in a process of its own; GB its peak of memory. Made by

```sh
OPENBLAS_NUM_THREADS=1 python benchmarks/many_users.py --write docs/results/many-users.md
```

{good} of {len(rows)} are certified, {exact} of them to 1e-9 in gap and residual; the search takes \
at most {WANTED} bare passes in {fast} of {len(passes)} rows of servers.

{head}
|---|---|{"---:|" * 8}
"""
    return text + "\n".join(line(row) for row in rows) + "\n"


def seeds(rows: list[tuple[int, Row]]) -> str:
    """The section of a million users by seed."""
    wanted = sum(row.judge <= 2 * (row.whole - row.judge) for _, row in rows)
    good = sum(row.certified for _, row in rows)
    text = f"""{JUDGED}

{MILLION:,} users on ten servers, alpha 1, by seed: what certificates take of `fo.solve`, and all
else of it, in CPU seconds. {good} of {len(rows)} are certified; judging takes at most twice as \
long as the rest
in {wanted} of {len(rows)}. Made by

```sh
OPENBLAS_NUM_THREADS=1 python benchmarks/many_users.py --seeds {len(rows)} \\
    --journal seeds.jsonl --write docs/results/many-users.md
```

| density | seed | steps | judging | the rest | judging, of the rest | fo.solve | GB | residual |
|---:|---:|---|---:|---:|---:|---:|---:|---:|
"""
    for seed, row in rows:
        rest = row.whole - row.judge
        text += (
            f"| {row.name.split(', ')[1]} | {seed} | {row.how} | {row.judge:.2f} | {rest:.2f} "
            f"| {row.judge / rest:.1f} | {row.whole:.2f} | {row.memory:.2f} "
            f"| {row.residual:.0e} |\n"
        )
    return text


def by_seed(count: int, journal: Path | None) -> list[tuple[int, Row]]:
    """Seeds from 0 on at the densities in turn; those in the journal are not solved again."""
    known: dict[int, Row] = {}
    if journal is not None and journal.is_file():
        for told in journal.read_text(encoding="utf-8").splitlines():
            one = json.loads(told)
            seed = one.pop("seed")
            known[seed] = Row(**one)
    for seed in range(count):
        if seed not in known:
            density = DENSITIES[seed % len(DENSITIES)]
            known[seed] = alone("servers", MILLION, density, 1.0, seed)
            if journal is not None:
                with journal.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"seed": seed, **asdict(known[seed])}) + "\n")
        print(seed, line(known[seed]), flush=True)
    return [(seed, known[seed]) for seed in range(count)]


def written(path: Path, section: str, text: str) -> None:
    """The page with one of its sections anew; `section`: its heading, empty for what is first."""
    whole = path.read_text(encoding="utf-8") if path.is_file() else ""
    parts = {"": whole, JUDGED: "", REST: ""}
    for heading in (REST, JUDGED):  # from the last
        before, found, after = parts[""].partition(heading)
        parts[""], parts[heading] = before, found + after
    parts[section] = text
    kept = [part.strip("\n") + "\n" for part in parts.values() if part.strip()]
    path.write_text("\n".join(kept), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, nargs="*", default=USERS)
    parser.add_argument("--jobs", type=int, nargs="*", default=JOBS)
    parser.add_argument("--densities", type=float, nargs="*", default=DENSITIES)
    parser.add_argument("--alphas", type=float, nargs="*", default=[1.0])
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--seeds", type=int, help="so many seeds of a million users, nothing else")
    parser.add_argument("--journal", type=Path, help="a line a seed, to go on from")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--row", nargs=5, help="kind, users, density, alpha, seed: one row as JSON")
    settings = parser.parse_args()
    if settings.row:
        kind, users, density, alpha, seed = settings.row
        row = solved(kind, int(users), float(density), float(alpha), int(seed))
        print(json.dumps(asdict(row)))
        return
    if settings.seeds:
        judged = by_seed(settings.seeds, settings.journal)
        if settings.write:
            written(settings.write, JUDGED, seeds(judged))
        return
    asked = [
        (kind, users, density, alpha, settings.seed)
        for kind in ("servers", "accelerated")
        for users in settings.users
        for density in settings.densities
        for alpha in settings.alphas
    ]
    asked += [("jobs", n, 1, a, settings.seed) for n in settings.jobs for a in settings.alphas]
    rows: list[Row] = []
    for one in asked:
        rows.append(alone(*one))
        print(line(rows[-1]), flush=True)
    if settings.write:
        written(settings.write, "", page(rows))


if __name__ == "__main__":
    main()
