"""PS-DSF beside its rounds of refilling, and BMF: seconds of the process, and what does not settle.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.ps_dsf --each 10 --write docs/results

Divided resources, random clusters: demand lognormal, capacity within a factor of ten, placement of
density 0.2, 0.5 and 1. The rounds are those that were all there was: at most --rounds of them. Then
--draws clusters of 80 x 20 at each density, and 20 pools of each size for BMF.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo
from fairopt.errors import SolverFailure
from fairopt.solving.engines.water.refill import refill

SIZES = ((10, 4), (30, 10), (80, 20), (300, 40), (1_000, 100))
DENSITIES = (0.2, 0.5, 1.0)
PS_DSF, BMF = fo.PerServerDominantShare(), fo.BottleneckMaxFair()
MANY = (80, 20)
"""users and servers of the many draws"""
POOLS = ((10, 3), (100, 4), (1_000, 4), (1_000, 8), (10_000, 4), (100_000, 4))
"""users and resources of the pools of BMF"""


def cluster(users: int, servers: int, density: float, seed: int) -> fo.Instance:
    """Every user has one server at least."""
    rng = np.random.default_rng(seed)
    placement = rng.random((users, servers)) < density
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    demand = rng.lognormal(0, 1, (users, 3))
    return fo.Instance(demand, rng.uniform(1, 10, (servers, 3)) * users, placement)


def pool(users: int, resources: int, seed: int) -> fo.Instance:
    """One server; every user demands the first resource at least."""
    rng = np.random.default_rng(seed)
    demand = rng.lognormal(0, 1, (users, resources)) * (rng.random((users, resources)) < 0.8)
    demand[:, 0] += 0.01
    capacity = rng.uniform(0.5, 4, (1, resources)) * users
    return fo.Instance(demand, capacity, None, rng.uniform(0.2, 3, users))


def solved(inst: fo.Instance, notion: Any = PS_DSF) -> tuple[float, float, np.ndarray | None]:
    """Seconds with judging, gap, and the totals if the answer is certified."""
    begin = time.process_time()
    try:
        found = fo.solve(inst, notion, uncertified="return")
    except SolverFailure:
        return time.process_time() - begin, np.inf, None
    seconds = time.process_time() - begin
    judged = found.certificate
    assert judged is not None
    return seconds, judged.gap, found.totals if judged.certified else None


def rounds(inst: fo.Instance, most: int) -> tuple[float, np.ndarray | None]:
    """Seconds of refilling alone, and the totals if it settles."""
    begin = time.process_time()
    try:
        tasks, _ = refill(inst, inst.part_of_row(), list(range(inst.shape[1])), rounds=most)
    except SolverFailure:
        return time.process_time() - begin, None
    return time.process_time() - begin, tasks.sum(axis=1)


def lines(each: int, most: int, largest: int) -> list[str]:
    solved(cluster(5, 2, 1, 0))  # imports are nobody's time
    found = [
        "| users x servers | density | tried | certified | worst gap | median s | slowest | "
        "rounds: median s | slowest | unsettled | same totals |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for users, servers in SIZES:
        for density in DENSITIES:
            ours, old, same, settled = [], [], 0, 0
            for seed in range(each):
                inst = cluster(users, servers, density, seed)
                ours.append(solved(inst))
                if users <= largest:
                    old.append(rounds(inst, most))
                    mine, before = ours[-1][2], old[-1][1]
                    settled += before is not None
                    if mine is not None and before is not None:
                        same += bool(np.abs(mine / before - 1).max() < 1e-7)
            seconds = [one[0] for one in ours]
            beside = [one[0] for one in old]
            row = (
                f"| {users:,} x {servers} | {density:g} | {each} "
                f"| {sum(one[2] is not None for one in ours)} | {max(one[1] for one in ours):.0e} "
                f"| {np.median(seconds):.3f} | {max(seconds):.3f} |"
            )
            if beside:
                row += (
                    f" {np.median(beside):.3f} | {max(beside):.3f} | {each - settled} "
                    f"| {same} of {settled} |"
                )
            else:
                row += " - | - | - | - |"
            print(row, flush=True)
            found.append(row)
    return found


def summed(cells: str, instances: Iterator[fo.Instance], notion: Any) -> str:
    """A row: cells that say what was drawn, then how many were certified and how fast."""
    found = [solved(one, notion) for one in instances]
    seconds = [one[0] for one in found]
    row = (
        f"| {cells} | {len(found):,} | {sum(one[2] is not None for one in found):,} "
        f"| {max(one[1] for one in found):.0e} | {np.median(seconds):.4f} | {max(seconds):.3f} |"
    )
    print(row, flush=True)
    return row


def many(draws: int) -> list[str]:
    """The rows of many draws of one size, and of the pools of BMF."""
    head = "tried | certified | worst gap | median s | slowest |"
    rule = "---:|---:|---:|---:|---:|---:|"
    found = ["", "## Many draws", "", f"| users x servers | density | {head}", f"|---|{rule}"]
    for density in DENSITIES:
        drawn = (cluster(*MANY, density, 1_000 + seed) for seed in range(draws))
        found.append(summed(f"{MANY[0]} x {MANY[1]} | {density:g}", drawn, PS_DSF))
    found += [
        "",
        "## Bottleneck max fairness of one pool",
        "",
        "[Levels](../maths/bmf.md) of every resource, found in turn; lognormal demands.",
        "",
        f"| users x resources | {head}",
        f"|{rule}",
    ]
    for users, resources in POOLS:
        drawn = (pool(users, resources, seed) for seed in range(20))
        found.append(summed(f"{users:,} x {resources}", drawn, BMF))
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--each", type=int, default=10, help="draws of each size and density")
    parser.add_argument("--rounds", type=int, default=1_000, help="most rounds of refilling")
    parser.add_argument("--largest", type=int, default=80, help="users up to which rounds are run")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    parser.add_argument("--draws", type=int, default=334, help="of each density, 80 x 20")
    given = parser.parse_args(arguments)
    table = lines(given.each, given.rounds, given.largest) + many(given.draws)
    text = "\n".join(
        [
            "# PS-DSF and BMF: time",
            "",
            "Random clusters of three resources, divided resources, one BLAS thread, seconds of "
            "the process; ours with judging, the rounds of refilling without, at most "
            f"{given.rounds:,} of them and up to {given.largest} users. Fixed points are many: "
            "the last column says how many totals are the same to 1e-7. Made by",
            "",
            "```sh",
            "OPENBLAS_NUM_THREADS=1 python -m benchmarks.ps_dsf "
            f"--each {given.each} --rounds {given.rounds} --largest {given.largest} "
            f"--draws {given.draws} --write docs/results",
            "```",
            "",
            *table,
            "",
        ]
    )
    if given.write is not None:
        (given.write / "ps-dsf-speed.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
