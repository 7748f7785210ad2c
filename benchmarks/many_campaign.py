"""Very many users: how often which method ends it, and how long the slowest takes.

    OPENBLAS_NUM_THREADS=1 python benchmarks/many_campaign.py --write docs/results/many-users.md

Every instance is asked of fo.solve, with the judge in the time; what ended it is the last step of
the answer. It replaces the last section of the page of `many_users.py`.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

import fairopt as fo

USERS, SEEDS = 50_000, 5
TITLE = "## How often it does not end by itself"
DENSITIES = (0.05, 0.1, 0.2, 0.35, 0.5)
KINDS = (
    ("plain", 10, (0.5, 1, 2, 5, 10)),
    ("weights over six decades", 10, (0.5, 1, 2, 5)),
    ("limits", 10, (0.5, 1, 2, 5)),
    ("accelerators on half of the servers", 10, (0.5, 1, 2, 5)),
    ("plain", 3, (0.5, 1, 5)),
    ("plain", 30, (1, 2)),
)
WAYS = {
    "small clusters": ("interior, small",),
    "pool": ("pool",),
    "prices": ("prices, smoothed",),
    "prices, closer": ("prices, closer",),
    "second try": ("prices, smoothed warily",),
    "nearest point": ("nearby",),
    "interior": ("interior",),
}
"""column -> the steps that end there"""


class Told(NamedTuple):
    """Of one instance: the step that ended it, CPU seconds, whether it is certified."""

    step: str
    seconds: float
    certified: bool


def cluster(kind: str, servers: int, seed: int) -> fo.Instance:
    """Three resources, servers that are not alike, mixes of demand over some decades."""
    rng = np.random.default_rng(seed)
    density = DENSITIES[seed % len(DENSITIES)] if servers > 3 else 0.4 + 0.1 * (seed % 5)
    capacity = rng.uniform(1, 10, (servers, 3)) * USERS
    demand = rng.lognormal(0, 1, (USERS, 3))
    placement = rng.random((USERS, servers)) < density
    placement[np.arange(USERS), rng.integers(0, servers, USERS)] = True
    weight = 10.0 ** rng.uniform(-3, 3, USERS) if kind.startswith("weights") else None
    limit = rng.lognormal(1, 1, USERS) if kind == "limits" else None
    if kind.startswith("accelerators"):  # for which three users in ten ask
        demand[rng.random(USERS) < 0.7, 2] = 0.0
        capacity[1::2, 2] = 0.0
        placement[(demand[:, 2] > 0) & ~placement[:, ::2].any(axis=1), 0] = True
    return fo.Instance(demand, capacity, placement, weight=weight, limit=limit)


def asked(instance: fo.Instance, alpha: float) -> Told:
    """fo.solve of one instance."""
    start = time.process_time()
    answer = fo.solve(instance, fo.AlphaFair(alpha), uncertified="return")
    seconds = time.process_time() - start
    certified = answer.certificate is not None and answer.certificate.certified
    return Told(str(answer.steps[-1].get("step")), seconds, certified)


def line(kind: str, servers: int, alpha: float, told: list[Told]) -> str:
    """One row of the table."""
    ended = Counter(own.step for own in told)
    known = {step for steps in WAYS.values() for step in steps}
    counts = [sum(ended[step] for step in steps) for steps in WAYS.values()]
    counts.append(sum(count for step, count in ended.items() if step not in known))
    seconds = sorted(own.seconds for own in told)
    cells = [
        f"{kind}, {servers}",
        f"{alpha:g}",
        str(len(told)),
        str(sum(t.certified for t in told)),
        *map(str, counts),
        f"{float(np.median(seconds)):.1f}",
        f"{seconds[-1]:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def section(rows: list[str]) -> str:
    """The section of the page."""
    head = [
        "kind, servers",
        "alpha",
        "instances",
        "certified",
        *WAYS,
        "other",
        "median s",
        "slowest s",
    ]
    return "\n".join(
        [
            TITLE,
            "",
            f"{USERS:,} users, three resources, seeds from 0 on, densities {DENSITIES[0]:g} to",
            f"{DENSITIES[-1]:g} (three servers: 0.4 to 0.8) in turn: which method gave the answer",
            "of `fo.solve`, CPU seconds with judging. *Prices* is the path of this page, *closer*",
            "the path gone on, *second try* a path of smaller steps, *nearest point* what",
            "the judge finds beside it, *interior* the method that begins anew where the path",
            "stalls. Made by",
            "",
            "```sh",
            "OPENBLAS_NUM_THREADS=1 python benchmarks/many_campaign.py --write "
            "docs/results/many-users.md",
            "```",
            "",
            f"| {' | '.join(head)} |",
            "|---|" + "---:|" * (len(head) - 1),
            *rows,
            "",
        ]
    )


def main() -> None:
    """Ask every kind, print rows, replace the section of the page."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=SEEDS)
    options.add_argument("--write", type=Path)
    chosen = options.parse_args()
    rows = []
    for kind, servers, alphas in KINDS:
        for alpha in alphas:
            told = [asked(cluster(kind, servers, seed), alpha) for seed in range(chosen.seeds)]
            rows.append(line(kind, servers, alpha, told))
            print(rows[-1], flush=True)
    if chosen.write:
        text = chosen.write.read_text(encoding="utf-8").split(TITLE)[0]
        chosen.write.write_text(text + section(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
