"""The registry of cases: each file of `cases/` adds its own, in the order of the pages."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PAGES = ("engine-speed", "placement", "lexicographic-speed", "growth")
_FILES = (
    "toy",
    "main",
    "medium",
    "sparse",
    "nested",
    "steep",
    "throughput",
    "million",
    "trace",
    "busy",
    "placement",
    "levels",
    "levels_small",
    "growing",
)


@dataclass(frozen=True)
class Case:
    """One question asked of several sides.

    Parameters
    ----------
    name : one word or several joined by '-'. words : one line for the page.
    page : of PAGES.
    build : quick -> (instance, notion); quick asks for a tiny one of the same kind.
    sides : names of `sides.SIDES`, ours first.
    rounds : calls of each side, in turns. limit : seconds a call may take.
    series, size : cases of a series grow in size; a side that was slow is not asked a larger one.
    busy : measure ours with and without a second process that takes one core.
    """

    name: str
    words: str
    page: str
    build: Callable[[bool], tuple[Any, Any]]
    sides: tuple[str, ...]
    rounds: int = 5
    limit: float = 60.0
    series: str = ""
    size: int = 0
    busy: bool = False


def cases() -> list[Case]:
    """Every case, in order."""
    found: list[Case] = []
    for name in _FILES:
        found += importlib.import_module(f"benchmarks.peers.cases.{name}").CASES
    return found
