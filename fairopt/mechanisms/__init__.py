"""Which mechanism has which property, found by search: khamse2016 Table I for every notion here.

`survey` searches for a violation of every property by one mechanism; `counterexamples` shrinks the
violations found, and `page` writes the table. A "no" is proved by a model that replays it; a "yes"
only means that no violation was found in the stated number of trials.

References
----------
khamse2016 : Khamse-Ashari et al., Per-Server Dominant-Share Fairness, arXiv 1611.00404 (2016).
bonald2015 : Bonald and Roberts, Multi-resource fairness: objectives, algorithms and performance,
    SIGMETRICS (2015).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.errors import BadInput
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion, make
from fairopt.notions.notion import SameAs
from fairopt.properties import NOTION_PROPERTIES, PROPERTIES, pareto_optimal

if TYPE_CHECKING:
    from fairopt.properties.searching import Searched

CLEAR = 1e-3
"""least residual that counts as a violation, far above the tolerances of the checks"""
LARGE = 5e-2
"""a lie or change with this residual ends the search for a worse one"""
EACH = {
    "strategy-proof": 60,
    "scale-invariant": 12,
    "resource-monotone": 40,
    "population-monotone": 6,
}
"""changes tried on one instance"""
CHANGES = {"scale-invariant": 120, "resource-monotone": 300, "population-monotone": 60}
"""changes tried in all; the number of lies is an argument of `survey`"""
OWN_PARETO = "pareto-optimal-own"
"""Pareto optimality among the allocations the mechanism can make, such as time division"""
SHORT = {
    "sharing-incentive": "SI",
    "pool-sharing-incentive": "PSI",
    "envy-free": "EF",
    OWN_PARETO: "PO",
    "pareto-optimal": "POR",
    "bottleneck-fair": "BF",
    "single-resource-fair": "SRF",
    "single-bottleneck-fair": "SBF",
    "no-justified-complaints": "NJC",
    "strategy-proof": "SP",
    "scale-invariant": "SC",
    "resource-monotone": "RM",
    "population-monotone": "PM",
}
"""heads of the table's columns"""


@dataclass(frozen=True)
class Mechanism:
    """A notion with its parameters, and whether it is surveyed on single pools only."""

    label: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    pool: bool = False

    @property
    def notion(self) -> Notion:
        """The notion with these parameters."""
        return make(self.name, **self.parameters)


@dataclass(frozen=True)
class Cell:
    """What a survey found about one property of one mechanism.

    Parameters
    ----------
    holds : no violation was found. instances : how many were solved.
    tried : number of lies or changes; 0 for properties of an allocation.
    unproved : number of answers that were not certified, and were ignored.
    residual, witness, instance : of the violation. found : the lie or change.
    """

    holds: bool
    instances: int
    tried: int = 0
    unproved: int = 0
    residual: float = 0.0
    witness: str = ""
    instance: Instance | None = None
    found: dict[str, Any] = field(default_factory=dict)


MECHANISMS = (
    Mechanism("throughput", "throughput"),
    *(
        Mechanism(f"proportional ({c})", "proportional", {"criterion": c})
        for c in ("tasks", "dominant-share", "drf")
    ),
    Mechanism("alpha-fair (2)", "alpha-fair", {"alpha": 2.0}),
    *(
        Mechanism(f"max-min ({c})", "max-min", {"criterion": c})
        for c in ("drf", "tsf", "cdrf", "tasks", "dominant-share")
    ),
    Mechanism("ps-dsf (rdm)", "ps-dsf", {"division": "rdm"}),
    Mechanism("ps-dsf (tdm)", "ps-dsf", {"division": "tdm"}),
    Mechanism("per-server-drf", "per-server-drf"),
    Mechanism("tradeoff (1, 1)", "tradeoff", {"t_pf": 1.0, "t_drf": 1.0}),
    Mechanism("bmf (pool)", "bmf", {}, pool=True),
    Mechanism("drf-hug (pool)", "drf-hug", {}, pool=True),
)
"""the rows of the table; C-DRFH of khamse2016 is max-min (drf), TSF max-min (tsf)"""


def survey(
    mechanism: Mechanism, trials: int = 100, lies: int = 10_000, seed: int = 0
) -> dict[str, Cell]:
    """Every property of one mechanism: a violation, or how much was tried without one.

    Parameters
    ----------
    trials : random instances for the properties of an allocation, at least 1.
    lies : lies tried against strategy-proofness, at least 1; for other changes see CHANGES.
    seed : of instances and searches.

    Returns
    -------
    dict : property -> Cell, in the order of the columns SHORT.
    """
    found = _of_answers(mechanism, trials, seed)
    for name in NOTION_PROPERTIES:
        if mechanism.parameters.get("criterion") == "dominant-share":
            # its shares are unique but its tasks are not: there is no single answer to compare
            found[name] = Cell(True, 0)
            continue
        found[name] = _of_notion(mechanism, name, CHANGES.get(name, lies), seed)
    return {name: found[name] for name in SHORT}


def _of_answers(mechanism: Mechanism, trials: int, seed: int) -> dict[str, Cell]:
    """Judge every property on the answers to random instances, until a violation is clear."""
    from fairopt.properties.searching import proved

    found: dict[str, Cell] = {}
    names = (*PROPERTIES, OWN_PARETO)
    unproved = 0
    for k, instance in enumerate(_first(instances(seed, mechanism.pool), trials), start=1):
        # by `solve`: some properties depend on the split over servers, which is not unique
        answer = proved(instance, mechanism.notion, full=True)
        if answer is None:
            unproved += 1
            continue
        for name in names:
            if name in found:
                continue
            check = judged(answer, name)
            if check.residual > CLEAR:
                found[name] = Cell(False, k, 0, unproved, check.residual, check.witness, instance)
    held = Cell(True, trials, 0, unproved)
    return {name: found.get(name, held) for name in names}


def judged(answer: Allocation, name: str) -> Check:
    """The check of a property of an answer, which may be OWN_PARETO."""
    if name != OWN_PARETO:
        return PROPERTIES[name](answer)
    plain = answer.notion
    way = make(plain["name"], **plain["parameters"]).way(answer.instance)
    if isinstance(way, SameAs):  # judged with the resources of the instance that is really solved
        answer = Allocation(way.instance, way.notion, answer.tasks)
    return replace(pareto_optimal(answer), name=OWN_PARETO)


def _of_notion(mechanism: Mechanism, name: str, budget: int, seed: int) -> Cell:
    """Search instance after instance, until a violation is large or the budget is spent."""
    from fairopt import properties
    from fairopt.errors import FairoptError

    search = getattr(properties, NOTION_PROPERTIES[name])
    tried = unproved = 0
    worst: tuple[Searched, Instance] | None = None
    # other instances than those of the properties of answers, so that the searches are independent
    for k, instance in enumerate(instances(seed + 1, mechanism.pool), start=1):
        try:
            check = search(instance, mechanism.notion, trials=EACH[name], seed=seed + k)
        except FairoptError:  # no certified answer to compare with
            unproved += 1
            continue
        tried, unproved = tried + check.tried, unproved + check.unproved
        if check.residual > CLEAR and (worst is None or check.residual > worst[0].residual):
            worst = check, instance
        if tried >= budget or (worst is not None and worst[0].residual > LARGE):
            break
    if worst is None:
        return Cell(True, k, tried, unproved)
    check, instance = worst
    return Cell(False, k, tried, unproved, check.residual, check.witness, instance, check.found)


def _first(found: Iterator[Instance], count: int) -> Iterator[Instance]:
    for _ in range(count):
        yield next(found)


# The instances that mechanisms are surveyed on: known small ones, then random ones.


_KNOWN = ("khamse2016/figure-1", "khamse2016/figure-2", "kesidis2016/placement")
_KNOWN_POOLS = ("bonald2015/example-2-4", "ghodsi2011/example")


def instances(seed: int, pool: bool = False) -> Iterator[Instance]:
    """An endless sequence of small instances: 2 to 4 users, 1 to 3 servers, 1 to 3 resources.

    The examples of the papers come first. In the random ones two pairs of three are eligible, one
    demand in five and one capacity in ten is 0, and half the instances have small whole numbers,
    which make ties. One in three has weights; in one of three the first resource is made scarce,
    so that it is dominant for everybody.

    Parameters
    ----------
    seed : of the random ones. pool : one server, every user eligible.
    """
    from fairopt import files

    for name in (*_KNOWN_POOLS, *(() if pool else _KNOWN)):
        yield files.read(name).instance
    rng = np.random.default_rng([seed, int(pool)])
    while True:
        found = _random(rng, pool)
        if found is not None:
            yield found


def _random(rng: np.random.Generator, pool: bool) -> Instance | None:
    users = int(rng.integers(2, 5))
    servers = 1 if pool else int(rng.integers(1, 4))
    resources = int(rng.integers(1, 4))
    whole = bool(rng.random() < 0.5)
    demand = _amounts(rng, (users, resources), 1, 6, whole)
    capacity = _amounts(rng, (servers, resources), 4, 20, whole)
    demand[rng.random(demand.shape) < 0.2] = 0.0
    if resources > 1:
        capacity[rng.random(capacity.shape) < (0.0 if pool else 0.1)] = 0.0
    if rng.random() < 1 / 3:
        demand[:, 0] = np.maximum(demand.max(axis=1), 1.0) * 2.0
        capacity[:, 0] = np.where(capacity[:, 0] > 0, capacity[:, 0], 6.0)
    placement = None if pool else rng.random((users, servers)) < 2 / 3
    weight = _amounts(rng, (users,), 1, 4, whole) if rng.random() < 1 / 3 else None
    try:
        return Instance(demand, capacity, placement, weight)
    except BadInput:  # a user that demands nothing, or is eligible nowhere
        return None


def _amounts(
    rng: np.random.Generator, shape: tuple[int, ...], low: int, high: int, whole: bool
) -> Floats:
    """Whole numbers, or real ones, from low to high."""
    if whole:
        return rng.integers(low, high + 1, shape).astype(np.float64)
    return rng.uniform(low, high, shape)


__all__ = ["MECHANISMS", "OWN_PARETO", "SHORT", "Cell", "Mechanism", "judged", "survey"]
