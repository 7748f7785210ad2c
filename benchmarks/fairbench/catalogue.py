"""All instances by name, and the forty that are asked when nothing is said."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.fairbench.families import drawn, hard, papers, real, ruled
from benchmarks.fairbench.problem import Problem

FAMILIES = (papers, real, drawn, hard, ruled)


def catalogue() -> dict[str, Callable[[], Problem]]:
    """How to build each instance, by its name, in one order for all."""
    found: dict[str, Callable[[], Problem]] = {}
    for family in FAMILIES:
        for name, build in family.problems():
            assert name not in found, name
            found[name] = build
    return found


SHARES = {
    "papers": 6,
    "google2011": 5,
    "throughput": 4,
    "wan": 2,
    "drawn": 11,
    "hard": 7,
    "trees": 3,
    "horizons": 2,
}
"""how many of each family are among the forty"""


def forty(names: list[str]) -> list[str]:
    """Evenly spread over each family, in the order of the catalogue."""
    found = []
    for family, many in SHARES.items():
        own = [name for name in names if name.split("/")[0] == family]
        many = min(many, len(own))
        found += [own[(2 * k + 1) * len(own) // (2 * many)] for k in range(many)]
    return found
