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
    """Evenly spread over each family, a third of it max-min, in the order of the catalogue."""
    found: set[str] = set()
    for family, many in SHARES.items():
        own = [name for name in names if name.split("/")[0] == family]
        levels = [name for name in own if name.endswith("/max-min")]
        others = [name for name in own if not name.endswith("/max-min")]
        few = round(many / 3)
        found |= {*_spread(levels, few), *_spread(others, many - few)}
    return [name for name in names if name in found]


def _spread(names: list[str], many: int) -> list[str]:
    # the step is uneven, so that a notion that comes every so often is not all that is taken
    at = [(2 * k + 1) * len(names) // (2 * many) + k % 4 for k in range(many)]
    return [names[min(place, len(names) - 1)] for place in at]
