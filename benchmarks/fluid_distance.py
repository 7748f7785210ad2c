"""How far each scheduler stays from its own fluid notion, as the increment shrinks.

Seeded small random instances (`fairopt.instance.generate.random_instance`), several servers with
placement and users that do not demand every resource. Each is filled in increments that shrink,
and its totals are compared with those of the fluid notion of the same criterion. What is left at
the smallest increment is not rounding: tasks are not taken back.

    python benchmarks/fluid_distance.py [--instances 40] [-o docs/results/fluid-distance.md]

Distance of an instance: the largest, and the mean, over users of |x_n - fluid_n| / fluid_n; and
with its sign sum x / sum fluid - 1. Only certified fluid answers are compared. An increment is a
part of one task; a user has a few whole tasks, so that increment 1 is mostly rounding.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo
from fairopt.filling.trials import run_trials
from fairopt.instance import Floats, Instance
from fairopt.instance.generate import random_instance
from fairopt.notions import Notion

INCREMENTS = (1.0, 0.1, 0.01)
DRAWS = 3
"""fillings that a random selection is averaged over"""

# scheduler, selection, fluid notion
PAIRS: list[tuple[str, str, Notion]] = [
    ("ps-dsf", "joint", fo.PerServerDominantShare()),
    ("ps-dsf", "rrr", fo.PerServerDominantShare()),
    ("rps-dsf", "joint", fo.PerServerDominantShare()),
    ("rps-dsf", "rrr", fo.PerServerDominantShare()),
    ("drf", "random-server", fo.MaxMin("drf")),
    ("drf", "best-fit", fo.MaxMin("drf")),
    ("drf", "first-fit", fo.MaxMin("drf")),
    ("tsf", "random-server", fo.MaxMin("tsf")),
    ("tsf", "best-fit", fo.MaxMin("tsf")),
    ("cdrf", "random-server", fo.MaxMin("cdrf")),
    ("cdrf", "best-fit", fo.MaxMin("cdrf")),
]
FAMILIES: dict[str, dict[str, Any]] = {
    "one server": {"users": 5, "servers": 1, "resources": 3},
    "three servers": {"users": 5, "servers": 3, "resources": 3, "density": 0.7},
}


def instance(family: str, seed: int) -> Instance:
    return random_instance(**FAMILIES[family], seed=seed, zero_demand=0.2, weight_decades=0.6)


def distances(
    inst: Instance, fluid: Floats, scheduler: str, selection: str, increment: float
) -> Floats:
    """(3,) largest and mean relative distance of a user, relative change of the sum, over draws."""
    draws = DRAWS if selection in ("random-server", "rrr") and increment > 0.05 else 1
    found = []
    for seed in range(draws):
        stats = run_trials(inst, scheduler, selection, 1, seed, increment)
        x = stats.mean.sum(axis=1)
        off = abs(x - fluid) / fluid
        found.append((off.max(), off.mean(), x.sum() / fluid.sum() - 1.0))
    return np.asarray(np.mean(found, axis=0))


def measured(family: str, size: int) -> tuple[list[str], int]:
    """Table lines of one family, and how many fluid answers were not certified."""
    data: dict[tuple[int, float], list[Floats]] = {}
    left_out = 0
    for seed in range(size):
        inst = instance(family, seed)
        known: dict[str, Floats | None] = {}
        for k, (scheduler, selection, notion) in enumerate(PAIRS):
            key = repr(notion)
            if key not in known:
                answer = fo.solve(inst, notion, uncertified="return")
                judged = answer.certificate is not None and answer.certificate.certified
                known[key] = answer.totals if judged else None
                left_out += not judged
            fluid = known[key]
            if fluid is None:
                continue
            for increment in INCREMENTS:
                data.setdefault((k, increment), []).append(
                    distances(inst, fluid, scheduler, selection, increment)
                )
    lines = []
    for k, (scheduler, selection, notion) in enumerate(PAIRS):
        cells = []
        for increment in INCREMENTS:
            worst, mean, total = 100 * np.array(data[k, increment]).T
            cells += [
                f"{np.median(off):.2f} / {np.quantile(off, 0.9):.2f}" for off in (worst, mean)
            ]
        cells.append(f"{np.median(total):+.2f}")
        name = f"{notion.name} ({getattr(notion, 'criterion', 'rdm')})"
        lines.append("| " + " | ".join([scheduler, selection, name, *cells]) + " |")
    return lines, left_out


def page(size: int) -> str:
    head = ["criterion", "selection", "fluid notion"]
    for increment in INCREMENTS:
        head += [f"{increment:g}: worst user", f"{increment:g}: mean of users"]
    head.append(f"{INCREMENTS[-1]:g}: sum")
    parts = [
        "# How far each scheduler stays from its fluid notion\n",
        f"Written by `python benchmarks/fluid_distance.py --instances {size}`: {size} seeded\n"
        "random instances a family, 5 users, 3 resources, zero demands with chance 0.2, weights\n"
        "over 0.6 decades, and with three servers placement of density 0.7. In percent, per\n"
        "increment (part of a task): median / 90th percentile over instances of the largest, and\n"
        "of the mean, relative difference of a user's total from the fluid one; last, with its\n"
        "sign, the median change of the sum of tasks. Random selections: mean of "
        f"{DRAWS} draws at\nincrements above 0.05, else one draw. What does not vanish with the "
        "increment is not rounding.\n",
    ]
    for family in FAMILIES:
        lines, left_out = measured(family, size)
        parts.append(f"## {family.capitalize()}\n")
        parts += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *lines, ""]
        if left_out:
            parts.append(f"{left_out} fluid answers were not certified and are left out.\n")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=40)
    parser.add_argument("-o", dest="path", type=Path)
    given = parser.parse_args()
    began = time.perf_counter()
    text = page(given.instances)
    print(text)
    print(f"{time.perf_counter() - began:.0f} s")
    if given.path is not None:
        given.path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
