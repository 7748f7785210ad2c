"""Lexicographic max-min on 300 random instances: how many levels, and the worst room left.

Every instance is judged by `fairopt.certificates.levels`, which knows only the definition, and the
smaller ones in exact fractions too. Run as

    OPENBLAS_NUM_THREADS=1 python benchmarks/max_min_levels.py

it writes docs/results/max-min-levels.md; with a number, only that many instances of each family,
and nothing is written.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

import fairopt as fo
from fairopt.certificates.exact import exact_rooms
from fairopt.certificates.levels import rooms
from fairopt.instance.generate import random_instance

PAGE = Path(__file__).parent.parent / "docs" / "results" / "max-min-levels.md"
EACH = 50
EXACT = 10
"""instances of each family whose rooms are also computed in fractions"""
FAMILIES = {
    "density 0.06": {"density": 0.06},
    "density 0.1": {"density": 0.1},
    "density 0.06, zero demands": {"density": 0.06, "zero_demand": 0.4},
    "density 0.1, zero demands, weights": {
        "density": 0.1,
        "zero_demand": 0.4,
        "weight_decades": 3.0,
    },
    "nested, zero demands": {"density": 0.1, "zero_demand": 0.4, "nested": True},
    "density 0.1, limits": {"density": 0.1, "limits": 0.3},
}
CRITERIA = ("drf", "tsf", "cdrf", "dominant-share", "tasks")
SIZES = ((20, 10, 2), (50, 20, 3), (80, 30, 3))


def levels_of(alloc: fo.Allocation) -> int:
    """Levels that differ by more than 1e-9, relative."""
    level = np.sort(alloc.levels)
    return 1 + int((np.diff(level) > 1e-9 * level[1:]).sum())


def family(name: str, each: int) -> list[tuple[int, float, Fraction | None]]:
    """(levels, worst room, worst room in fractions) of each instance."""
    found = []
    for seed in range(each):
        users, servers, resources = SIZES[seed % len(SIZES)]
        inst = random_instance(users, servers, resources, seed=seed, **FAMILIES[name])
        notion = fo.MaxMin(CRITERIA[seed % len(CRITERIA)])
        alloc = fo.solve(inst, notion, uncertified="return")
        exact = None
        if seed < EXACT:
            proved = [room for room in exact_rooms(alloc) if room is not None]
            exact = max(proved) if len(proved) == users else None
        found.append((levels_of(alloc), float(rooms(alloc).max()), exact))
    return found


def report(each: int) -> str:
    heads = ("instances", "how many", "levels, median (most)", "five or more", "worst room")
    lines = [f"| {' | '.join(heads)} | in fractions |", "|---" * 6 + "|"]
    total = several = 0
    for name in FAMILIES:
        rows = family(name, each)
        count = np.array([row[0] for row in rows])
        exact = [row[2] for row in rows[:EXACT]]
        proved = [float(room) for room in exact if room is not None]
        worst = f"{max(proved):.1e}" if len(proved) == len(exact) else "not proved"
        total, several = total + len(rows), several + int((count >= 5).sum())
        lines.append(
            f"| {name} | {len(rows)} | {np.median(count):g} ({count.max()}) "
            f"| {(count >= 5).sum()} | {max(row[1] for row in rows):.1e} | {worst} |"
        )
        print(lines[-1], flush=True)
    lines += ["", f"{total} instances, {several} of them with five levels or more."]
    return "\n".join(lines)


if __name__ == "__main__":
    each = int(sys.argv[1]) if len(sys.argv) > 1 else EACH
    table = report(each)
    if each == EACH:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(
            "# Lexicographic max-min on random instances\n\n"
            "Written by `python benchmarks/max_min_levels.py`. The *room* of a user is what it\n"
            "could still gain, relative, while nobody at or below its level falls; it is bounded\n"
            f"from the prices of the levels alone. In fractions: the first {EXACT} instances of\n"
            "each family, in exact arithmetic on the answer shrunk to be exactly feasible.\n\n"
            + table
            + "\n",
            encoding="utf-8",
        )
