"""Very many users: seconds of the engine as bare passes over the users, by number and placement.

    OPENBLAS_NUM_THREADS=1 python benchmarks/many_users.py --write docs/results/many-users.md
    OPENBLAS_NUM_THREADS=1 python benchmarks/many_users.py --users 20000 --alphas 1 5

A bare pass computes, for all pairs, costs, the cheapest, one exponential and the sums of use: what
every method must do at least once. Seconds are of this process. Answers are judged as always.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fairopt as fo
from fairopt import criteria
from fairopt.allocation import Allocation
from fairopt.certificates.alpha_fair import measure, normalised
from fairopt.instance import Floats
from fairopt.solving.engines.point import Question
from fairopt.solving.engines.smoothed import method

USERS = (20_000, 100_000, 300_000, 1_000_000)
DENSITIES = (0.05, 0.1, 0.2, 0.5, 1.0)
JOBS = (1_000, 10_000, 100_000, 1_000_000)
CHUNK = 8192
WANTED = 60
"""bare passes an instance may take"""


@dataclass(frozen=True)
class Row:
    """One instance solved: seconds, of a bare pass as well."""

    name: str
    iterations: int
    passes: float
    seconds: float
    bare: float
    gap: float
    residual: float


def cluster(users: int, density: float, seed: int) -> fo.Instance:
    """Ten servers that are not alike, three resources, mixes of demand over some decades."""
    rng = np.random.default_rng(seed)
    capacity = rng.uniform(1, 10, (10, 3)) * users
    demand = rng.lognormal(0, 1, (users, 3))
    placement = rng.random((users, 10)) < density
    placement[np.arange(users), rng.integers(0, 10, users)] = True
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


def solved(name: str, inst: fo.Instance, score: Floats, alpha: float) -> Row:
    question = Question.of(inst, score, alpha, False)
    start = time.process_time()
    found = method.follow(question)
    seconds = time.process_time() - start
    if found is None:
        return Row(name, 0, 0.0, seconds, bare(inst, score), np.inf, np.inf)
    prices = normalised(inst, *found.point.prices(inst))
    notion = fo.AlphaFair(alpha)
    answer = Allocation(inst, notion, found.point.tasks(inst), *prices, score=score)
    return Row(
        name, found.iterations, found.passes, seconds, bare(inst, score), *measure(answer)
    )


def line(row: Row) -> str:
    return (
        f"| {row.name} | {row.iterations} | {row.passes:.1f} | {row.seconds:.2f} "
        f"| {row.bare:.3f} | {row.seconds / row.bare:.0f} | {row.gap:.0e} | {row.residual:.0e} |"
    )


def page(rows: list[Row]) -> str:
    good = sum(max(row.gap, row.residual) <= 1e-7 for row in rows)
    fast = sum(row.seconds <= WANTED * row.bare for row in rows)
    head = (
        "| users x servers, density, alpha | iterations | passes over smooth users | seconds "
        "| a bare pass | bare passes | gap | residual |"
    )
    return f"""# Very many users, in bare passes

Newton in prices ([how](../maths/many-users.md)): ten servers that are not alike and three
resources, and jobs on four kinds of machines with a limit on their time. A bare pass is what any
method does at least once for all pairs: costs, minimum, exponential, sums. One BLAS thread,
seconds of the process, without the reading and judging of the answer. Made by

```sh
OPENBLAS_NUM_THREADS=1 python benchmarks/many_users.py --write docs/results/many-users.md
```

{good} of {len(rows)} are within 1e-7 in gap and residual; {fast} of {len(rows)} take at most \
{WANTED} bare passes. What is not within goes on to the interior method in `fo.solve`.

{head}
|---|{"---:|" * 7}
""" + "\n".join(line(row) for row in rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, nargs="*", default=USERS)
    parser.add_argument("--jobs", type=int, nargs="*", default=JOBS)
    parser.add_argument("--densities", type=float, nargs="*", default=DENSITIES)
    parser.add_argument("--alphas", type=float, nargs="*", default=[1.0])
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--write", type=Path)
    settings = parser.parse_args()
    rows: list[Row] = []
    for users in settings.users:
        for density in settings.densities:
            for alpha in settings.alphas:
                inst = cluster(users, density, settings.seed)
                name = f"{users:,} x 10, {density:g}, {alpha:g}"
                rows.append(solved(name, inst, criteria.score(inst, "tasks"), alpha))
                print(line(rows[-1]), flush=True)
    for users in settings.jobs:
        for alpha in settings.alphas:
            inst, score = jobs(users, settings.seed)
            rows.append(solved(f"{users:,} jobs x 4 kinds, 1, {alpha:g}", inst, score, alpha))
            print(line(rows[-1]), flush=True)
    if settings.write:
        settings.write.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
