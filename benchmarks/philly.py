"""A public trace under seven policies beside hindsight: Microsoft's Philly, from Sia's artifacts.

The trace (82 thousand jobs of 15 virtual clusters, 2017) is `sia-simulator/traces/philly.csv` of
github.com/siasosp23/artifacts, with the columns timestamp, duration, num_gpus, gpu_time, cluster.
It says what ran and for how long, not what waited, on how many cards, or with which weights: those
are made up here and said so on the page. Run as

    OPENBLAS_NUM_THREADS=1 python benchmarks/philly.py PATH/philly.csv

it writes docs/results/philly.md; with a second argument, only that many slices, and nothing is
written.
"""

from __future__ import annotations

import csv
import sys
import time
from datetime import datetime
from pathlib import Path

import numpy as np

import fairopt as fo
from fairopt.overtime.logs import Log

PAGE = Path(__file__).parent.parent / "docs" / "results" / "philly.md"
CARDS = 400.0
"""made up: about the median of what ran at once, so that half of the time there is too little"""
HOURS = 4.0
POLICIES = (
    "slice",
    "kai:half=7d,k=1",
    "kueue:half=7d",
    "slurm:half=7d",
    "condor:half=7d",
    "karma:alpha=.5",
    "window:length=7d",
)


def wants(path: str, slices: int | None) -> tuple[tuple[str, ...], np.ndarray, int]:
    """Virtual clusters, mean cards that their jobs use in each slice, number of jobs."""
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    start = np.array([datetime.fromisoformat(r["timestamp"]).timestamp() / 3600 for r in rows])
    start -= start.min()
    end = start + np.array([float(r["duration"]) / 3600 for r in rows])
    cards = np.array([float(r["num_gpus"]) for r in rows])
    teams = tuple(sorted({r["cluster"] for r in rows}))
    team = np.array([teams.index(r["cluster"]) for r in rows])
    when = np.concatenate([start, end])
    order = np.argsort(when, kind="stable")
    who, more = np.tile(team, 2)[order], np.concatenate([cards, -cards])[order]
    level = np.zeros(len(teams))
    rows_of = np.empty(len(order))
    for k, (n, x) in enumerate(zip(who.tolist(), more.tolist(), strict=True)):
        level[n] += x
        rows_of[k] = level[n]
    log = Log(when[order], who, np.zeros(len(who), dtype=np.int64), rows_of)
    steps = int(np.ceil(end.max() / HOURS)) if slices is None else slices
    return teams, log.means(0.0, HOURS, steps, len(teams), 1)[:, :, 0], len(rows)


def main(path: str, slices: int | None = None) -> None:
    """Measure, and write the page."""
    teams, wanted, jobs = wants(path, slices)
    there = np.flatnonzero(wanted.any(axis=0))
    teams, wanted = tuple(teams[n] for n in there), wanted[:, there]
    inst = fo.Instance(
        np.ones((len(teams), 1)), [[CARDS]], users=teams, servers=["philly"], resources=["gpu"]
    )
    lines, worst = [], None
    for policy in POLICIES:
        begun = time.perf_counter()
        found = fo.replay(inst, None, wanted, HOURS, policy, fo.MaxMin())
        seconds = time.perf_counter() - begun
        held, due = (x.sum(axis=0) for x in (found.held, found.hindsight))
        debt = found.debt
        lines.append(
            f"| `{policy}` | {found.ratios['held']:.4f} | {float((held / due).min()):.4f} | "
            f"{debt[-1].max():,.0f} | {debt.max():,.0f} | {held.sum() * HOURS:,.0f} | "
            f"{seconds:.0f} |"
        )
        worst = found
        print(lines[-1], flush=True)
    assert worst is not None and worst.answer.certificate is not None
    told = worst.answer.certificate
    short = float((wanted.sum(axis=1) > CARDS).mean())
    text = [
        "# A public trace beside hindsight",
        "",
        "Written by `benchmarks/philly.py`. Microsoft's Philly trace (2017) as the artifacts of "
        "Sia (SOSP 2023) hold",
        f"it: {jobs:,} jobs of {len(teams)} virtual clusters over "
        f"{len(wanted)} slices of {HOURS:g} hours.",
        "",
        "**What is made up.** The trace says what ran, not what waited: what a virtual cluster ran "
        f"is taken as what it wanted, on a cluster of {CARDS:g} cards, which is fewer than there "
        f"were, so that in {100 * short:.0f} % of slices not",
        "all of it fits. Weights are equal, "
        "cards are alike, and work that is not served is lost, not moved to later.",
        "",
        f"Hindsight is max-min fairness of card-hours over the whole trace: {told.verdict}, "
        f"residual {told.residual:.1g}.",
        "",
        "| policy, run by itself | ratio to hindsight | worst user, of its due | most owed at the "
        "end (card-h) | at the worst | card-hours used | s |",
        "|---|---|---|---|---|---|---|",
        *lines,
        "",
        "The ratio is the least level reached over the lowest level of hindsight, which the "
        "certificate proves; the worst user",
        "is the one that got least of what hindsight gives "
        "it. How hindsight spreads equal card-hours over slices is not",
        "unique, so what is owed "
        "along the way depends on the one that was found; at the end it does not.",
        "",
        "The lowest level is that of a cluster that wanted 3 card-hours and always had them, so "
        "this ratio is 1 for all: it says",
        "little where wants differ by five decades, and the "
        "worst user says more. `kai` with k = 1 leaves out of a slice who has",
        "used more than "
        "twice its weight, even if cards stay idle then: it used fewer card-hours than the others.",
        "",
    ]
    if slices is None:
        PAGE.write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
