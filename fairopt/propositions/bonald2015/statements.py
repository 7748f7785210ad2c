"""bonald2015: Propositions 1, 3, 4 and 5, and the example of section 2.5; all for one pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from fairopt import properties
from fairopt.allocation.check import Check
from fairopt.instance import Floats, Instance, Ints
from fairopt.notions import BottleneckMaxFair, MaxMin, ProportionalFair
from fairopt.properties.quick import quick
from fairopt.propositions import draws
from fairopt.propositions.statement import Hypothesis, Undecided, certified, stated

MAPS = 300
"""most maps of types of users to resources that a trial enumerates"""
TIGHT = 1e-9
"""relative tolerance of the enumeration for a full resource and for the largest user"""
POOL = draws.Small(servers=(1, 1), density=1.0, weight_decades=0.0, zero_demand=0.2)
"""instances of bonald2015: one pool, equal weights, no limits"""


def two_resources(inst: Instance) -> bool:
    """The pool has two resources."""
    return len(inst.resources) == 2


def two_types(inst: Instance) -> bool:
    """At most two different demands."""
    return len(types(inst)[0]) <= 2


def parts_of_pool(inst: Instance) -> Floats:
    """(N, R) a_ij, part of the pool one task uses."""
    part: Floats = inst.demand_by_server[:, 0] / np.where(inst.pool[0] > 0, inst.pool[0], 1.0)
    return part


def types(inst: Instance) -> tuple[Floats, Floats, Ints]:
    """Types of users: demands (K, R) in parts of the pool, weights (K,), type of each user (N,)."""
    part, first = np.unique(parts_of_pool(inst), axis=0, return_inverse=True)
    of = first.reshape(-1).astype(np.int64)
    return part, np.asarray(np.bincount(of, inst.weight), dtype=np.float64), of


# -- Proposition 1 -----------------------------------------------------------------------------


@stated(
    name="bonald2015/proposition-1",
    words="proportional fairness of one pool is envy-free",
    source="bonald2015 Proposition 1",
    draw=POOL,
    notion=ProportionalFair(),
)
def _no_envy(inst: Instance, seed: int) -> Check:
    del seed  # nothing is drawn
    return properties.envy_free(certified(inst, ProportionalFair()))


# -- Proposition 3 -----------------------------------------------------------------------------


@stated(
    name="bonald2015/proposition-3",
    words="some allocation gives every user a full resource of which nobody uses more",
    source="bonald2015 Proposition 3, section 2.5",
    draw=draws.Small((2, 5), (1, 1), (1, 4), density=1.0, weight_decades=0.0, zero_demand=0.2),
    notion=BottleneckMaxFair(),
)
def _exists(inst: Instance, seed: int) -> Check:
    """The least distance from the definition over the certified answer and those of all maps."""
    del seed  # nothing is drawn
    try:
        found = [certified(inst, BottleneckMaxFair()).totals]
    except Undecided:
        found = list(_all_fair(inst))
    far = min((_distance(inst, totals) for totals in found), default=(1.0, "no map gives one"))
    return Check.of("a bottleneck max fair allocation", far[0], 1e-6, far[1])


def _distance(inst: Instance, totals: Floats) -> tuple[float, str]:
    """How far the worst user is from having a full resource of which nobody uses more; its name."""
    part = parts_of_pool(inst)
    used = part * totals[:, None]
    full, top = used.sum(axis=0), used.max(axis=0)
    top = np.where(top > 0, top, 1.0)
    apart = np.maximum(1 - used / top, np.abs(1 - full))
    apart = np.where(part > 0, apart, 1.0).min(axis=1)
    n = int(apart.argmax())
    return max(float(apart[n]), float(full.max()) - 1), f"{inst.users[n]}, {totals[n]:.6g} tasks"


# -- Proposition 4 -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """Users (1, 1, 1), (1, s, (1+s)/2), (s, 1, (1+s)/2), 0 < s < 1; units and order at random.

    The allocations with phi_2 = phi_3 = (1 - phi_1) / (1 + s) and (1+s)/2 <= phi_1 / phi_2 <= 1
    are the bottleneck max fair ones; section 2.5 has s = 1/2.
    """

    half: bool = False

    def __call__(self, rng: np.random.Generator) -> Instance:
        s = 0.5 if self.half or rng.random() < 0.5 else float(rng.uniform(0.1, 0.9))
        demand = np.array([[1, 1, 1], [1, s, (1 + s) / 2], [s, 1, (1 + s) / 2]])
        demand = demand[rng.permutation(3)][:, rng.permutation(3)]
        unit, capacity = rng.integers(1, 5, (3, 1)), rng.integers(1, 9, 3)
        return Instance(demand * unit * capacity, [capacity])


@stated(
    name="bonald2015/proposition-4",
    words="with two resources there is one bottleneck max fair allocation only",
    source="bonald2015 Proposition 4",
    draw=draws.Small((2, 5), (1, 1), (2, 2), density=1.0, weight_decades=0.0, zero_demand=0.2),
    hypotheses=(Hypothesis("two resources", two_resources, Family()),),
    notion=BottleneckMaxFair(),
)
def _unique(inst: Instance, seed: int) -> Check:
    """Compare the answers of every map of section 3.3 and the certified one of water levels."""
    del seed  # nothing is drawn
    found = np.array([certified(inst, BottleneckMaxFair()).totals, *_all_fair(inst)])
    low, high = found.min(axis=0), found.max(axis=0)
    n = int((high / low).argmax())
    witness = f"{inst.users[n]} has from {low[n]:.6g} to {high[n]:.6g} tasks"
    return Check.of("one allocation", float(1 - low[n] / high[n]), 1e-5, witness)


def _all_fair(inst: Instance) -> Iterator[Floats]:
    """(N,) totals of every bottleneck max fair allocation that a map gives (section 3.3).

    A map assigns a bottleneck to each type of users. Users of one type have equal tasks by weight,
    as each of them has a bottleneck at which none has more. If a map admits a segment of
    allocations, both its ends are given (by the engine's linear program).

    Raises
    ------
    Undecided : too many maps.
    """
    from fairopt.solving.engines.water.one_pool import at_map, choices

    part, weight, of = types(inst)
    sets = choices(part, np.full(len(part), np.inf))
    if np.prod([len(s) for s in sets]) > MAPS:
        raise Undecided("too many maps to enumerate")
    for map_ in product(*sets):
        mapped, column = np.unique(map_, return_inverse=True)
        rise = weight / part[np.arange(len(part)), map_]  # tasks of a type per unit of level
        tasks = np.zeros((len(part), len(mapped)))
        tasks[np.arange(len(part)), column] = rise
        use = part.T @ tasks  # (R, mapped)
        square = use[mapped]
        if np.linalg.cond(square) < 1e10:
            level = np.asarray(np.linalg.solve(square, np.ones(len(mapped))), dtype=np.float64)
            found = [tasks @ level] if _fits(part, weight, use, tasks, mapped, level) else []
        else:
            ends = (
                at_map(part, weight, np.full(len(part), np.inf), map_, sign * rise)
                for sign in (1.0, -1.0)
            )
            found = [end for end in ends if end is not None]
        for totals in found:
            yield (totals / weight)[of] * inst.weight


def _fits(
    part: Floats, weight: Floats, use: Floats, tasks: Floats, mapped: Ints, level: Floats
) -> bool:
    """Levels are positive, no resource overfull, and no user has more than those mapped to it."""
    share = part[:, mapped] * (tasks @ level / weight)[:, None]
    return bool(
        (level > 0).all()
        and (use @ level <= 1 + TIGHT).all()
        and (share <= level * (1 + TIGHT)).all()
    )


# -- Proposition 5 -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Types(draws.Small):
    """Small instances of one pool in which every user has one of two demands."""

    def __call__(self, rng: np.random.Generator) -> Instance:
        inst = super().__call__(rng)
        of = rng.integers(2, size=len(inst.users))
        return inst.replace(demand=inst.demand[np.where(of == 0, 0, len(inst.users) - 1)])


@stated(
    name="bonald2015/proposition-5",
    words="for users of two types every bottleneck max fair allocation is the proportional one",
    source="bonald2015 Proposition 5",
    draw=Types((2, 5), (1, 1), (1, 4), density=1.0, weight_decades=0.0, zero_demand=0.2),
    hypotheses=(Hypothesis("two types", two_types, POOL),),
)
def _proportional(inst: Instance, seed: int) -> Check:
    del seed  # nothing is drawn
    fair = certified(inst, ProportionalFair()).totals
    worst, witness = 0.0, ""
    for totals in (certified(inst, BottleneckMaxFair()).totals, *_all_fair(inst)):
        apart = np.abs(totals - fair) / np.maximum(totals, fair)
        n = int(apart.argmax())
        if apart[n] > worst:
            worst = float(apart[n])
            witness = f"{inst.users[n]}: BMF {totals[n]:.6g} tasks, proportional {fair[n]:.6g}"
    return Check.of("the same totals", worst, 1e-4, witness)


# -- the family of section 2.5 -------------------------------------------------------------------


def _is_family(inst: Instance) -> bool:
    """Whether there is one user of each of the example's three types, in any units and order."""
    return inst.shape == (3, 1, 3) and _first(inst) is not None


def _first(inst: Instance) -> int | None:
    """The user (1, 1, 1), if the other users are the other two of the example; else None."""
    part = parts_of_pool(inst)
    part = part / part.max(axis=1, keepdims=True)
    tops = np.isclose(part, 1).sum(axis=1)
    rest = np.sort(part[tops == 1], axis=1)
    if sorted(tops.tolist()) != [1, 1, 3] or not np.allclose(rest, [0.5, 0.75, 1]):
        return None
    other = part[tops == 1]
    alike = np.isclose(other[0], other[1])
    same = alike.sum() == 1 and bool(np.isclose(other[0][alike], 0.75).all())
    return int(tops.argmax()) if same else None


@stated(
    name="bonald2015/example-2.5",
    words="of (1,1,1), (1,1/2,3/4), (1/2,1,3/4) BMF is (2/5-t/15, 2/5+2t/45, 2/5+2t/45) for "
    "0 <= t <= 1 and no other t; t = 0 is DRF, t = 1 proportional",
    source="bonald2015 section 2.5, example",
    draw=Family(half=True),
    hypotheses=(Hypothesis("the three users", _is_family),),
)
def _family(inst: Instance, seed: int) -> Check:
    """Random t in [0, 1] are fair, t outside are not, and the ends are DRF and PF."""
    first = _first(inst)
    assert first is not None
    rng = np.random.default_rng(seed)
    unit = parts_of_pool(inst).max(axis=1)

    def at(t: float) -> Floats:
        share = np.full(3, 0.4 + 2 * t / 45)
        share[first] = 0.4 - t / 15
        totals: Floats = share / unit
        return totals

    inside, beyond = float(rng.uniform()), float(rng.uniform(0.01, 3))
    far = _distance(inst, at(inside))[0]
    near = min(_distance(inst, at(t))[0] for t in (-beyond, 1 + beyond))
    drf = quick(inst, MaxMin("drf")) or certified(inst, MaxMin("drf"))
    ends = [(0.0, drf), (1.0, certified(inst, ProportionalFair()))]
    apart = max(float(np.abs(best.totals / at(t) - 1).max()) for t, best in ends)
    witness = f"t {inside:.4g} is {far:.2g} from fair, {beyond:.4g} beyond the ends {near:.2g}"
    wrong = 1.0 if near < 1e-4 else 0.0
    return Check.of("the family", max(far, apart, wrong), 1e-5, witness)
