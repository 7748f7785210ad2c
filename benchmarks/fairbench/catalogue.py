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
