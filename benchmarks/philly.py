"""A public trace under six policies beside hindsight: Microsoft's Philly, from Sia's artifacts.

The trace (82 thousand jobs of 15 virtual clusters, 2017) is `sia-simulator/traces/philly.csv` of
github.com/siasosp23/artifacts, with the columns timestamp, duration, num_gpus, gpu_time, cluster.
It says what ran and for how long, not what waited, on how many cards, or with which weights: those
are made up here and said so on the page. Run as

    OPENBLAS_NUM_THREADS=1 python benchmarks/philly.py PATH/philly.csv

it writes docs/results/philly.md and philly.svg; with a second argument, only jobs that came in so
many hours, and nothing is written; `--picture` draws the picture alone. What is done is kept beside
the trace, a file a policy (`resume`).
"""

from __future__ import annotations

import csv
import sys
import time
from datetime import datetime
from pathlib import Path

import numpy as np

import fairopt as fo
from fairopt.overtime.waiting import WaitingJobs

PAGE = Path(__file__).parent.parent / "docs" / "results" / "philly.md"
CARDS = 400.0
"""made up: about the median of what ran at once, so that half of the time there is too little"""
HOURS = 1.0
DAYS = 60
"""of the picture, which has a point a day"""
POLICIES = (
    "slice",
    "kai:half=7d,k=1",
    "kueue:half=7d",
    "slurm:half=7d",
    "condor:half=7d",
    "karma:alpha=.5",
)


def trace(path: str, hours: float = np.inf) -> tuple[tuple[str, ...], WaitingJobs]:
    """Virtual clusters, and their jobs of the first hours."""
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    start = np.array([datetime.fromisoformat(r["timestamp"]).timestamp() / 3600 for r in rows])
    there = start - start.min() < hours
    alone = np.array([float(r["duration"]) / 3600 for r in rows])
    cards = np.array([float(r["num_gpus"]) for r in rows])
    names = np.array([r["cluster"] for r in rows])
    teams = tuple(sorted(set(names[there].tolist())))
    team = np.array([teams.index(name) for name in names[there].tolist()])
    return teams, WaitingJobs(team, cards[there], (start - start.min())[there], alone[there])


def main(path: str, hours: float | None = None) -> None:
    """Measure, and write the page."""
    teams, jobs = trace(path, np.inf if hours is None else hours)
    inst = fo.Instance(
        np.ones((len(teams), 1)), [[CARDS]], users=teams, servers=["philly"], resources=["gpu"]
    )
    owed, waited, worst = [], [], None
    for policy in POLICIES:
        kept = Path(f"{path}.{policy.partition(':')[0]}.jsonl")
        fresh, begun = not kept.exists(), time.process_time()
        found = fo.replay(
            inst,
            None,
            None,
            HOURS,
            policy,
            fo.MaxMin(),
            jobs=jobs,
            machines=CARDS,
            resume=kept,
        )
        seconds = time.process_time() - begun
        held, due = (x.sum(axis=0) for x in (found.held, found.hindsight))
        debt, marks, ran = found.debt, found.finish, found.ran
        assert marks is not None and ran is not None
        owed.append(
            f"| `{policy}` | {found.ratios['held']:.4f} | {float((held / due).min()):.4f} | "
            f"{debt[-1].max():,.0f} | {debt.max():,.0f} | {held.sum() * HOURS:,.0f} |"
        )
        of = sorted(one["p50"] for one in found.finish_of.values())
        short = sum(median > 1.05 for median in of)
        wait = ran.end - jobs.arrival - jobs.alone
        waited.append(
            f"| `{policy}` | {marks['p50']:.3g} | {marks['p90']:.3g} | {marks['p99']:.3g} | "
            f"{marks['worst']:.3g} | {100 * marks['above']:.0f} % | {short} of {len(of)} | "
            f"{of[-1]:.3g} | {wait.mean():.1f} | {len(ran.held):,} | "
            f"{f'{seconds:.0f}' if fresh else '-'} |"
        )
        worst = found
        print(owed[-1], waited[-1], sep="\n", flush=True)
    assert worst is not None
    if hours is None:
        PAGE.write_text("\n".join(page(worst, jobs, len(teams), owed, waited)), encoding="utf-8")
        picture(path)


def picture(path: str) -> None:
    """Draw what each policy that remembers something owes over the first days, run by itself."""
    from fairopt.overtime.gridded import at_once
    from fairopt.report import plot_simulated

    teams, jobs = trace(path)
    inst = fo.Instance(
        np.ones((len(teams), 1)), [[CARDS]], users=teams, servers=["philly"], resources=["gpu"]
    )
    wants = at_once(jobs, HOURS, len(teams))[0][: DAYS * 24]
    shown = {}
    for policy in POLICIES[1:]:
        kept = f"{path}.{policy.partition(':')[0]}.first.jsonl"
        found = fo.replay(inst, None, wants, HOURS, policy, fo.MaxMin(), resume=kept)
        print(policy, f"{found.debt[-1].max():,.0f}", flush=True)
        shown[policy] = {
            "hours": 24 * HOURS,
            "starts": found.starts[::24].tolist(),
            "users": [
                {"name": user, "debt": found.debt[23::24, n].tolist()}
                for n, user in enumerate(inst.users)
            ],
        }
    plot_simulated.plot_debt(shown, PAGE.with_suffix(".svg"))


def page(
    worst: fo.Replay, jobs: WaitingJobs, teams: int, owed: list[str], waited: list[str]
) -> list[str]:
    """The lines of the page, with the rows of its two tables."""
    assert worst.answer.certificate is not None
    told = worst.answer.certificate
    short = float((worst.wants.sum(axis=1) > CARDS).mean())
    return [
        "# A public trace beside hindsight",
        "",
        "Written by `benchmarks/philly.py`. Microsoft's Philly trace (2017) as the artifacts of "
        "Sia (SOSP 2023) hold",
        f"it: {len(jobs.user):,} jobs of {teams} virtual clusters over "
        f"{len(worst.wants):,} slices of {HOURS:g} hour.",
        "",
        "**What is made up.** The trace says what ran, not what waited: what a virtual cluster ran "
        f"is taken as what it wanted, on a cluster of {CARDS:g} cards, which is fewer than there "
        f"were, so that in {100 * short:.0f} % of slices not",
        "all of it fits. Weights are equal, and cards are alike.",
        "",
        "## What is owed",
        "",
        "Here work that is not served is lost, not moved to later. Hindsight is max-min fairness "
        "of card-hours over the whole",
        f"trace: {told.verdict}, residual {told.residual:.1g}.",
        "",
        "| policy, run by itself | ratio to hindsight | worst user, of its due | most owed at the "
        "end (card-h) | at the worst | card-hours used |",
        "|---|---|---|---|---|---|",
        *owed,
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
        f"Of the first {DAYS} days by themselves, under the five policies that remember something, "
        "a point a day; above 0 is owed,",
        "below 0 is held of what others were due:",
        "",
        "![What is owed over time under five policies](philly.svg)",
        "",
        "## Finish-time fairness",
        "",
        "Here jobs wait: those of a virtual cluster run in the order in which they came, on what "
        "it is due in each slice, until",
        "all have ended. rho is the time from arrival to end, over the time alone times the mean "
        f"number of jobs present a card ({CARDS:g})",
        "where that is above 1.",
        "",
        "| policy | half below | a tenth above | a hundredth above | worst | jobs above 1.05 | "
        "virtual clusters with a median above 1.05 | largest median | mean wait (h) | slices | s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *waited,
        "",
        "Seconds are of a core, for both tables; - where it was begun before. The worst are jobs "
        "of a second that stand behind",
        "hours of their own cluster's jobs: first come, first served within a cluster is made up "
        "too, and no policy changes it.",
        "Few clusters have most jobs, so that the median of all jobs is theirs. `kueue` and "
        "`slurm` serve in one order here, without",
        "groups: an average and a sum over all use rank users alike.",
        "",
    ]


if __name__ == "__main__":
    if "--picture" in sys.argv:
        picture(sys.argv[1])
        sys.exit()
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else None)
