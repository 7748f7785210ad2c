"""The crossovers: constants of the code, and two ways to answer on either side of them.

Where a constant chooses inside an engine, the way is forced by setting the constant.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import fairopt as fo
from fairopt import criteria
from fairopt.allocation import Allocation
from fairopt.certificates.proof import measure
from fairopt.instance.generate import random_instance
from fairopt.solving import levels
from fairopt.solving.best import normalised
from fairopt.solving.engines.compact import small as compact
from fairopt.solving.engines.interior import pooled
from fairopt.solving.engines.path import plain
from fairopt.solving.engines.point import AlphaQuestion, Point
from fairopt.solving.engines.smoothed import newton as smoothed

Way = Callable[[fo.Instance], Any]
"""answers an instance of proportional fairness: a `Point`, or whatever is only timed"""
ENGINES = "fairopt.solving.engines"


@dataclass(frozen=True)
class Crossover:
    """Two ways, and instances of growing size.

    Parameters
    ----------
    name : for the command line. words : a title.
    constants : "module:NAME", the constant that is measured first, then those it works with.
    of : what `at` counts. at : sizes below and above the constant.
    value : the size at which the code changes ways.
    make : of a size. below, above : name of the way that the code takes there, and the way.
    why : what else the constant is for, in a sentence.
    """

    name: str
    words: str
    constants: tuple[str, ...]
    of: str
    at: tuple[float, ...]
    value: float
    make: Callable[[Any], fo.Instance]
    below: tuple[str, Way]
    above: tuple[str, Way]
    why: str = ""


def constant(place: str) -> Any:
    """The value in the code of "module:NAME"."""
    module, name = place.split(":")
    return getattr(importlib.import_module(module), name)


@contextlib.contextmanager
def setting(place: str, value: Any) -> Iterator[None]:
    """The constant "module:NAME" with another value, as long as this block lasts."""
    module, name = place.split(":")
    home = importlib.import_module(module)
    kept = getattr(home, name)
    setattr(home, name, value)
    try:
        yield
    finally:
        setattr(home, name, kept)


def error(inst: fo.Instance, found: Any) -> float:
    """The worse of gap and residual of a point; inf where nothing was found, 0 if only timed."""
    if found is None:
        return np.inf
    if not isinstance(found, Point):
        return 0.0
    p, mu = normalised(inst, *found.prices(inst))
    score = criteria.score(inst, "tasks")
    answer = Allocation(inst, fo.ProportionalFair(), found.tasks(inst), p, mu, score=score)
    return max(measure(answer))


def asked(inst: fo.Instance) -> AlphaQuestion:
    """The question of proportional fairness."""
    return AlphaQuestion.of(inst, criteria.score(inst, "tasks"), 1.0, False)


def by_interior(inst: fo.Instance) -> Point | None:
    return plain.follow(asked(inst))


def by_compact(inst: fo.Instance) -> Point | None:
    everywhere = setting(f"{_COMPACT}:MOST_PAIRS", np.inf)
    with everywhere, setting(f"{_COMPACT}:LARGE_ROWS", np.inf):
        return compact.follow(asked(inst))


def by_smoothed(inst: fo.Instance) -> Point | None:
    found = smoothed.follow(asked(inst))
    return None if found is None else found.point


def by_pool(inst: fo.Instance) -> Point | None:
    return pooled.follow(asked(inst))


def with_constant(way: Way, place: str, value: Any) -> Way:
    """The way with a constant of the code set."""

    def forced(inst: fo.Instance) -> Any:
        with setting(place, value):
            return way(inst)

    return forced


def level_by_level(way: str) -> Way:
    """All levels of max-min, with one kept HiGHS model or by the interior method."""
    kept = with_constant(
        lambda inst: levels.max_min(
            inst, fo.MaxMin(), criteria.score(inst, fo.MaxMin().criterion), way
        ),
        "fairopt.solving.level_part:KEPT",
        np.inf,
    )
    return kept


def servers_apart(users: int, servers: int, resources: int, density: float) -> fo.Instance:
    """Servers of sizes over a decade, demands that differ user by user."""
    inst = random_instance(users, servers, resources, density=density, seed=3)
    size = 10.0 ** (np.random.default_rng(3).random(servers) - 0.5)
    return inst.replace(capacity=inst.capacity * size[:, None])


_COMPACT = f"{ENGINES}.compact.small"
_SMOOTHED = f"{ENGINES}.smoothed.newton"
_INTERIOR = "interior method", by_interior
_PRICES = "prices, smoothed", by_smoothed

CROSSOVERS = (
    Crossover(
        "compact",
        "Small clusters, 20 servers x 3, density 0.3",
        (f"{_COMPACT}:MOST_PAIRS", f"{_COMPACT}:MOST_ROWS"),
        "users times servers",
        (1_000, 5_000, 20_000, 50_000, 100_000, 200_000),
        compact.MOST_PAIRS,
        lambda entries: servers_apart(entries // 20, 20, 3, 0.3),
        ("compact", by_compact),
        _INTERIOR,
        "Still faster beyond, but of servers whose prices nearly tie more answers are not exact.",
    ),
    Crossover(
        "compact-rows",
        "Clusters of 50,000 users times servers, density 0.3",
        (f"{_COMPACT}:ANY_PAIRS", f"{_COMPACT}:LARGE_ROWS"),
        "rows",
        (48, 72, 100, 148, 200),
        compact.LARGE_ROWS,
        lambda rows: servers_apart(50_000 * 4 // int(rows), int(rows) // 4, 4, 0.3),
        ("compact", by_compact),
        _INTERIOR,
        "Up to ANY_PAIRS pairs MOST_ROWS rows are allowed, and alpha up to 10; beyond alpha up to "
        "2, as every stride of alpha takes steps that the interior method does not need.",
    ),
    Crossover(
        "users-sparse",
        "Many users, placement of density 0.2",
        (f"{_SMOOTHED}:USERS", f"{_SMOOTHED}:DENSE", f"{_SMOOTHED}:PER_ROW"),
        "users",
        (1_250, 2_500, 5_000, 10_000, 20_000),
        smoothed.USERS,
        lambda users: servers_apart(users, 10, 3, 0.2),
        _INTERIOR,
        _PRICES,
    ),
    Crossover(
        "users-dense",
        "Many users, placement of density 0.6",
        (f"{_SMOOTHED}:TIMES", f"{_SMOOTHED}:USERS", f"{_SMOOTHED}:DENSE"),
        "users",
        (12_500, 25_000, 50_000, 100_000),
        smoothed.USERS * smoothed.TIMES,
        lambda users: servers_apart(users, 10, 3, 0.6),
        _INTERIOR,
        _PRICES,
        '`solver="auto"` asks the pool before either, and where that is enough neither is used.',
    ),
    Crossover(
        "rows",
        "Rows of capacity (servers times resources) of 10,000 users, density 0.1",
        (f"{_SMOOTHED}:PER_ROW",),
        "rows",
        (24, 48, 80, 120),
        10_000 / smoothed.PER_ROW,
        lambda rows: servers_apart(10_000, rows // 4, 4, 0.1),
        _PRICES,
        _INTERIOR,
        "10,000 users are that many a row at 10,000 / PER_ROW rows.",
    ),
    Crossover(
        "rows-more",
        "Rows of capacity of 20,000 users, density 0.1",
        (f"{_SMOOTHED}:PER_ROW", f"{_SMOOTHED}:ROWS"),
        "rows",
        (48, 100, 200),
        20_000 / smoothed.PER_ROW,
        lambda rows: servers_apart(20_000, rows // 4, 4, 0.1),
        _PRICES,
        _INTERIOR,
        "Above ROWS rows the method does not apply: every user adds a matrix of rows by rows.",
    ),
    Crossover(
        "pool",
        "One pool of all servers, everybody everywhere",
        (
            f"{ENGINES}.interior.pooled:MANY_PAIRS",
            f"{ENGINES}.interior.pooled:PER_ROW",
            f"{ENGINES}.interior.pooled:DENSE",
        ),
        "pairs",
        (3_000, 10_000, 30_000, 100_000, 300_000),
        pooled.MANY_PAIRS,
        lambda pairs: servers_apart(pairs // 10, 10, 3, 1.0),
        _INTERIOR,
        ("pool", by_pool),
        "Where at least DENSE of all pairs are eligible the pool goes before the compact method, "
        "else after it: what it costs where placement forbids it is more than it saves.",
    ),
    Crossover(
        "grid",
        "Entries for eligible pairs alone, or for all pairs: 1,000 x 100 x 4",
        (f"{ENGINES}.path.grid:FULL",),
        "density",
        (0.05, 0.1, 0.2, 0.4, 0.7),
        constant(f"{ENGINES}.path.grid:FULL"),
        lambda density: servers_apart(1_000, 100, 4, density),
        ("one entry a pair", with_constant(by_interior, f"{ENGINES}.path.grid:FULL", 2.0)),
        ("all pairs", with_constant(by_interior, f"{ENGINES}.path.grid:FULL", 0.0)),
    ),
    Crossover(
        "coupling",
        "Users and rows coupled by a sparse or a dense matrix: 4,000 x 300 x 4",
        (f"{ENGINES}.path.frame:THICK", f"{ENGINES}.path.frame:DENSE"),
        "density",
        (0.01, 0.03, 0.05, 0.1),
        constant(f"{ENGINES}.path.frame:THICK"),
        lambda density: servers_apart(4_000, 300, 4, density),
        (
            "sparse",
            with_constant(
                with_constant(by_interior, f"{ENGINES}.path.frame:THICK", 2.0),
                f"{ENGINES}.path.frame:DENSE",
                0,
            ),
        ),
        ("dense", with_constant(by_interior, f"{ENGINES}.path.frame:DENSE", np.inf)),
        "Below DENSE entries the matrix is dense whatever the placement.",
    ),
    Crossover(
        "tiny",
        "Factors by NumPy alone, or by LAPACK through SciPy",
        (f"{ENGINES}.path.system:TINY",),
        "rows",
        (30, 45, 60, 90, 120),
        constant(f"{ENGINES}.path.system:TINY"),
        lambda rows: servers_apart(300, rows // 3, 3, 0.7),
        ("NumPy", with_constant(by_interior, f"{ENGINES}.path.system:TINY", np.inf)),
        ("SciPy", with_constant(by_interior, f"{ENGINES}.path.system:TINY", 0)),
        "Importing SciPy is not counted: a process that solves small questions saves that too.",
    ),
    Crossover(
        "levels",
        "All levels of max-min: one kept HiGHS model, or the interior method",
        ("fairopt.solving.level_part:KEPT",),
        "pairs",
        (750, 1_500, 3_000, 6_000, 12_000),
        constant("fairopt.solving.level_part:KEPT"),
        lambda pairs: servers_apart(pairs // 6, 60, 3, 0.1),
        ("HiGHS, kept", level_by_level("auto")),
        ("interior, level by level", level_by_level("interior")),
        "Beyond, a kept model is taken too where few users stop at the first level.",
    ),
)
