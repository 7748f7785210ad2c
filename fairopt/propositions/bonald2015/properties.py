"""bonald2015 section 2.2: which properties DRF, proportional and bottleneck max fairness have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from fairopt import properties
from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair, BottleneckMaxFair, MaxMin, Notion, ProportionalFair
from fairopt.properties.bottleneck import common_dominant
from fairopt.properties.lies import strategy_proof
from fairopt.properties.quick import quick
from fairopt.properties.scaling import scale_invariant
from fairopt.propositions import draws
from fairopt.propositions.bonald2015.lies import CLAIMS, Crossed
from fairopt.propositions.bonald2015.stability import drf_rates
from fairopt.propositions.bonald2015.statements import POOL, parts_of_pool
from fairopt.propositions.statement import Checker, Draw, Hypothesis, Undecided, certified, stated

DRF, PF, BMF = MaxMin("drf"), ProportionalFair(), BottleneckMaxFair()
SHORT = {"drf": DRF, "proportional": PF, "bmf": BMF}
WORDS = {"drf": "DRF", "proportional": "proportional fairness", "bmf": "bottleneck max fairness"}
LIES = 5
"""lies tried in one trial, each certified"""
CHANGES = 3
"""changes of the unit of tasks tried in one trial"""
ONE = draws.Small((2, 5), (1, 1), (1, 1), density=1.0, weight_decades=0.0)
"""one pool of one resource"""


@dataclass(frozen=True)
class Common(draws.Small):
    """Small instances of one pool in which the first resource is dominant for everybody."""

    def __call__(self, rng: np.random.Generator) -> Instance:
        inst = super().__call__(rng)
        most = (inst.demand / inst.capacity[0]).max(axis=1)
        demand = inst.demand.copy()
        demand[:, 0] = most * inst.capacity[0, 0]
        return inst.replace(demand=demand)


COMMON = Common((2, 4), (1, 1), (1, 3), density=1.0, weight_decades=0.0, zero_demand=0.2)


def dominant_for_all(inst: Instance) -> bool:
    """One resource is dominant for every user."""
    return common_dominant(inst) is not None


DOMINANT = Hypothesis("one dominant resource", dominant_for_all, POOL)
UNLIED = Hypothesis(DOMINANT.name, dominant_for_all, Crossed())


@dataclass(frozen=True)
class Of:
    """A check: a property of the certified answer of a notion."""

    notion: Notion
    holds: Callable[[Allocation], Check]

    def __call__(self, inst: Instance, seed: int) -> Check:
        del seed  # nothing is drawn
        return self.holds(quick(inst, self.notion) or certified(inst, self.notion))


@dataclass(frozen=True)
class Lies:
    """A check: no lie of LIES random ones lets a user run more; each answer is certified."""

    notion: Notion

    def __call__(self, inst: Instance, seed: int) -> Check:
        return strategy_proof(inst, self.notion, LIES, seed)


@dataclass(frozen=True)
class ManyLies:
    """A check: no lie of many lets a user run more; the best by `rates` is certified.

    A random user claims another amount of each resource in turn, then random amounts of all.
    """

    notion: Notion
    rates: Callable[[Floats, Floats], Floats] = drf_rates

    def __call__(self, inst: Instance, seed: int) -> Check:
        rng = np.random.default_rng(seed)
        part, n = parts_of_pool(inst), int(rng.integers(len(inst.users)))
        need, told = part[n], part.copy()
        base = np.where(need > 0, need, need.max())
        claims = [need * np.exp(rng.normal(0, 0.5, len(need))) for _ in range(20)]
        for j, factor in np.ndindex(len(need), len(CLAIMS)):
            claims.append(need.copy())
            claims[-1][j] = base[j] * CLAIMS[factor]
        runs = []
        for claim in claims:
            told[n] = claim
            runs.append(self.rates(told, inst.weight)[n] * _useful(claim, need))
        best = claims[int(np.argmax(runs))]
        demand = inst.demand.copy()
        demand[n] = best * inst.pool[0]
        before, after = (
            (quick(one, self.notion) or certified(one, self.notion)).totals[n]
            for one in (inst, inst.replace(demand=demand))
        )
        after *= _useful(best, need)
        witness = f"{inst.users[n]}: the best of {len(claims)} lies runs {after:.6g} tasks"
        gain = float((after - before) / max(after, before))
        return Check.of("no lie gains", gain, 1e-4, f"{witness}, the truth {before:.6g}")


def _useful(claim: Floats, need: Floats) -> float:
    """Tasks truly run with the resources of one claimed task."""
    return float((claim[need > 0] / need[need > 0]).min())


@dataclass(frozen=True)
class Scales:
    """A check: changing the unit of a user's tasks changes nothing else."""

    notion: Notion

    def __call__(self, inst: Instance, seed: int) -> Check:
        return scale_invariant(inst, self.notion, CHANGES, seed)


def _one_full(alloc: Allocation) -> Check:
    """Single-bottleneck fairness; undecided where several resources are full."""
    if (alloc.utilisation[0] >= 1 - 1e-6).sum() != 1:
        raise Undecided("several resources are full")
    return properties.single_bottleneck_fair(alloc)


def _each(
    name: str,
    words: str,
    check: Callable[[Notion], Checker],
    of: tuple[str, ...] = ("drf", "proportional", "bmf"),
    draw: Draw = POOL,
    given: tuple[Hypothesis, ...] = (),
    where: str = "where one resource is dominant for everybody",
) -> None:
    """State the same about each of several notions, `where` all that is given holds."""
    for short in of:
        stated(
            name=f"bonald2015/{name}-{short}",
            words=(f"{where}, " if given else "") + f"{WORDS[short]} {words}",
            source="bonald2015 section 2.2",
            draw=draw,
            hypotheses=given,
            notion=SHORT[short],
        )(check(SHORT[short]))


_each("pareto", "is Pareto optimal", partial(Of, holds=properties.pareto_optimal))
_each(  # of proportional fairness: Proposition 1
    "envy", "is envy-free", partial(Of, holds=properties.envy_free), of=("drf", "bmf")
)
_each(
    "sharing",
    "gives each of n users at least 1/n of its dominant resource",
    partial(Of, holds=properties.pool_sharing_incentive),
)
_each(
    "single-resource",
    "divides a single resource evenly",
    partial(Of, holds=properties.single_resource_fair),
    draw=ONE,
)
_each(
    "single-bottleneck",
    "divides a resource evenly where no other is full",
    partial(Of, holds=_one_full),
    of=("proportional", "bmf"),
)
# DRF equalises dominant shares: the full resource must be dominant for every user
_each(
    "single-bottleneck",
    "divides a resource evenly where no other is full",
    partial(Of, holds=_one_full),
    of=("drf",),
    draw=COMMON,
    given=(DOMINANT,),
)
_each("strategy", "gives no lie a gain", ManyLies, of=("drf",))
# whatever a user claims, every other user has at least 1/n of the one dominant resource; without
# that proportional fairness and BMF are not strategy-proof, as the paper says
_each(
    "strategy",
    "gives no lie a gain",
    Lies,
    of=("proportional", "bmf"),
    draw=COMMON,
    given=(UNLIED,),
)
_each("scale", "does not depend on the units of tasks", Scales)


# -- section 2.4: only proportional fairness ------------------------------------------------------

UTILITIES = (0.2, 0.5, 2.0, 5.0)
"""other alphas; of these utilities too, whatever their scale, rates go as a^(-1/alpha)"""


def _unequal(inst: Instance) -> bool:
    """Requirements of the one resource differ by a tenth at least."""
    part = parts_of_pool(inst)
    return inst.shape[2] == 1 and bool(part.max() >= 1.1 * part.min())


@stated(
    name="bonald2015/only-proportional",
    words="of the allocations that maximise sum_n g_alpha(phi_n) only the proportional one, alpha "
    "= 1, divides a single resource evenly between users of unequal requirements",
    source="bonald2015 section 2.4",
    draw=ONE,
    hypotheses=(Hypothesis("unequal requirements", _unequal),),
)
def _only(inst: Instance, seed: int) -> Check:
    """alpha = 1 divides evenly; another alpha gives shares that go as a^(1 - 1/alpha)."""
    alpha = float(np.random.default_rng(seed).choice(UTILITIES))
    part = parts_of_pool(inst)[:, 0]
    even = part * certified(inst, PF).totals
    other = part * certified(inst, AlphaFair(alpha)).totals
    wanted = part ** (1 - 1 / alpha)
    worst = max(float(np.ptp(even)), float(np.abs(other - wanted / wanted.sum()).max()))
    if np.ptp(other) < 1e-3 * other.max():
        worst = 1.0
    shown = ", ".join(f"{share:.4g}" for share in other)
    return Check.of("even for alpha = 1 alone", worst, 1e-5, f"alpha {alpha:g}: shares ({shown})")
