"""How long the slowest ordinary clusters take: four sizes, six densities of placement, nine draws.

    OPENBLAS_NUM_THREADS=1 python benchmarks/tail.py --write docs/results/tail.md

Proportional fairness unless --alpha says otherwise. Seconds are of this process, so that another
one beside it counts for little. --seeds N takes fewer draws.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fairopt as fo

SIZES = ((100, 20), (300, 30), (1_000, 100), (5_000, 10))
"""users and servers; always 4 resources"""
DENSITIES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
EACH = 9
TIMES = 20
"""times the median of its size that the slowest may take"""


@dataclass(frozen=True)
class Row:
    """One cluster solved."""

    size: tuple[int, int]
    density: float
    seed: int
    seconds: float
    error: float
    certified: bool


def cluster(users: int, servers: int, density: float, seed: int) -> fo.Instance:
    """Large and small users, whose mixes differ by a factor of ten, on servers within one of four.

    Seed 5 of 1,000 users and 100 servers at density 0.1 is the one that no answer was found for in
    an hour.
    """
    rng = np.random.default_rng(seed)
    demand = rng.uniform(0.1, 1, (users, 4)) * rng.lognormal(0, 0.5, (users, 1))
    capacity = rng.uniform(5, 20, (servers, 4))
    placement = rng.random((users, servers)) < density
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    return fo.Instance(demand, capacity, placement, rng.uniform(0.5, 2, users))


def solved(size: tuple[int, int], density: float, seed: int, alpha: float) -> Row:
    inst = cluster(*size, density, seed)
    start = time.process_time()
    alloc = fo.solve(inst, fo.AlphaFair(alpha), uncertified="return")
    seconds = time.process_time() - start
    judged = alloc.certificate
    assert judged is not None
    return Row(size, density, seed, seconds, max(judged.gap, judged.residual), judged.certified)


def measured(seeds: int, alpha: float) -> Iterator[Row]:
    solved(SIZES[0], DENSITIES[0], 0, alpha)  # imports and first calls are nobody's time
    for size in SIZES:
        for density in DENSITIES:
            for seed in range(seeds):
                yield solved(size, density, seed, alpha)


def line(name: str, rows: list[Row]) -> str:
    seconds = np.array([row.seconds for row in rows])
    median, late, worst = np.quantile(seconds, [0.5, 0.99, 1.0])
    good, error = sum(row.certified for row in rows), max(row.error for row in rows)
    return (
        f"| {name} | {len(rows)} | {good} | {error:.0e} | {median:.3f} | {late:.3f} "
        f"| {worst:.3f} | {worst / median:.1f} |"
    )


def page(rows: list[Row], alpha: float) -> str:
    """Markdown: a row a size and density, and one a size."""
    table = [
        "| users x servers, density | tried | certified | worst error | median s | 99th percentile "
        "| slowest | over the median |",
        "|---|" + "---:|" * 7,
    ]
    for size in SIZES:
        named = f"{size[0]:,} x {size[1]}"
        own = [row for row in rows if row.size == size]
        table += [
            line(f"{named}, {density:g}", [row for row in own if row.density == density])
            for density in DENSITIES
        ]
        table.append(line(f"**{named}, all**", own))
    slowest = max(
        max(row.seconds for row in own) / float(np.median([row.seconds for row in own]))
        for own in ([row for row in rows if row.size == size] for size in SIZES)
    )
    certified = sum(row.certified for row in rows)
    return "\n".join([
        "# The slowest ordinary clusters", "",
        f"{len(rows)} random clusters of 4 resources, alpha = {alpha:g}, one BLAS thread, seconds "
        "of the process, judging included. Made by", "",
        "```sh", "OPENBLAS_NUM_THREADS=1 python benchmarks/tail.py --write docs/results/tail.md",
        "```", "",
        f"{certified} of {len(rows)} are certified. The slowest of a size takes {slowest:.1f} "
        f"times the median of that size (wanted: at most {TIMES}).", "",
        *table, "",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=EACH, help="draws of each size and density")
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--write", type=Path, help="the page to write")
    given = parser.parse_args()
    text = page(list(measured(given.seeds, given.alpha)), given.alpha)
    print(text)
    if given.write is not None:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
