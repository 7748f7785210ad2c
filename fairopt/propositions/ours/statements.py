"""Ours: TDM PS-DSF is proportional fairness, and merging is exact.

See docs/maths/ps-dsf.md and docs/maths/reduction.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt import certificates
from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.instance import Instance
from fairopt.notions import AlphaFair, MaxMin, Notion, PerServerDominantShare, ProportionalFair
from fairopt.notions.ps_dsf import transformed
from fairopt.propositions import draws
from fairopt.propositions.linear import excess
from fairopt.propositions.statement import Hypothesis, certified, stated

NO_LIMITS = Hypothesis("no limits", draws.no_limits, draws.Small(users=(2, 5), limits=0.6))


@stated(
    name="ours/tdm-is-proportional",
    words="x is TDM PS-DSF (Theorem 2) iff it maximises sum phi_n log x_n under the TDM constraint",
    source="ours; khamse2016 Theorem 2",
    draw=draws.Small(users=(2, 5), zero_demand=0.2),
    hypotheses=(NO_LIMITS,),
    notion=PerServerDominantShare(division="tdm"),
)
def _tdm(inst: Instance, seed: int) -> Check:
    """Compare the answers of the refill, which is not given the program, and of the program.

    At the first the best linear form of the program must gain nothing; the second, by another
    engine, must meet Theorem 2.
    """
    order = tuple(np.random.default_rng(seed).permutation(inst.servers).tolist())
    time, tdm = transformed(inst), PerServerDominantShare(division="tdm")
    refilled = certified(time, PerServerDominantShare(order=order))
    slope = np.where(inst.eligible, (inst.weight / refilled.totals)[:, None], 0.0)
    gain = excess(time, slope, refilled.tasks)
    program = certified(time, ProportionalFair())
    theorem = certificates.certify(Allocation(inst, tdm, program.tasks))
    apart = float(np.abs(refilled.totals / program.totals - 1.0).max())
    witness = (
        f"PS-DSF has totals {_listed(refilled)}, sum phi log x is largest at {_listed(program)}; "
        f"best linear form {gain:.2g}, Theorem 2 {theorem.gap:.2g}"
    )
    return Check.of("one allocation", max(gain, theorem.gap, apart), 1e-4, witness)


def _listed(alloc: Allocation) -> str:
    return "(" + ", ".join(f"{x:.6g}" for x in alloc.totals) + ")"


# -- merging ---------------------------------------------------------------------------------


@stated(
    name="ours/merging-users",
    words="two equal users are one user of weight W, W^(1/a) = phi_1^(1/a) + phi_2^(1/a) (weight "
    "outside) or W = phi_1 + phi_2 (inside, max-min, TDM PS-DSF), its tasks split in these "
    "proportions",
    source="ours, exact merging",
    draw=draws.Small(users=(1, 3)),
    hypotheses=(Hypothesis("no limits", draws.no_limits),),
)
def _merged(inst: Instance, seed: int) -> Check:
    """Add a copy of the last user with another weight; solve as two users, and merged."""
    rng = np.random.default_rng(seed)
    alpha = float(rng.choice((0.5, 1.0, 2.0, 5.0)))
    notion, power = _kinds(alpha)[int(rng.integers(4))]
    own, other = float(inst.weight[-1]), float(inst.weight[-1] * rng.choice((0.5, 1, 2, 3)))
    part = np.array([own, other]) ** (1 / power)
    one = inst.replace(weight=[*inst.weight[:-1], part.sum() ** power])
    both = Instance(
        np.vstack([inst.demand, inst.demand[-1:]]),
        inst.capacity,
        np.vstack([inst.placement, inst.placement[-1:]]),
        [*inst.weight, other],
    )
    whole, split = certified(one, notion).totals, certified(both, notion, reduce=False).totals
    expected = np.concatenate([whole[:-1], whole[-1] * part / part.sum()])
    apart = np.abs(split / expected - 1.0)
    n = int(apart.argmax())
    witness = f"{notion}: {split[n]:.6g} tasks, {expected[n]:.6g} by merging"
    return Check.of("merging is exact", float(apart[n]), 1e-4, witness)


def _kinds(alpha: float) -> tuple[tuple[Notion, float], ...]:
    """Notions, each with the exponent a of its rule W^(1/a) = sum phi^(1/a)."""
    return (
        (AlphaFair(alpha), alpha),
        (AlphaFair(alpha, weight_inside=True), 1.0),
        (MaxMin("tasks"), 1.0),
        (PerServerDominantShare(division="tdm"), 1.0),
    )


@dataclass(frozen=True)
class Strangers(draws.Small):
    """Small instances whose last two servers are open to the same users."""

    def __call__(self, rng: np.random.Generator) -> Instance:
        inst = super().__call__(rng)
        placement = inst.placement.copy()
        placement[:, -2:] = placement[:, -2:].any(axis=1, keepdims=True)
        return inst.replace(placement=placement)


@dataclass(frozen=True)
class Twins(Strangers):
    """Small instances whose last two servers also have proportional capacity."""

    def __call__(self, rng: np.random.Generator) -> Instance:
        inst = super().__call__(rng)
        size = float(rng.choice((0.5, 1.0, 3.0)))
        return inst.replace(capacity=[*inst.capacity[:-1], inst.capacity[-2] * size])


def proportional(inst: Instance) -> bool:
    """The last two servers are open to the same users and have proportional capacity."""
    if inst.shape[1] < 2:
        return False
    a, b = inst.pool[-2:]
    alike = np.abs(a * b.sum() - b * a.sum()) <= 1e-12 * a.sum() * b.sum()
    return bool(alike.all() and (inst.eligible[:, -2] == inst.eligible[:, -1]).all())


@stated(
    name="ours/merging-servers",
    words="two servers of equal placement and proportional capacity are one server of their sum, "
    "if u does not depend on the server",
    source="ours, exact merging",
    draw=Twins(servers=(2, 3)),
    hypotheses=(Hypothesis("proportional capacity", proportional, Strangers(servers=(2, 3))),),
)
def _pooled(inst: Instance, seed: int) -> Check:
    """Solve with the last two servers as they are, and merged."""
    rng = np.random.default_rng(seed)
    alpha = float(rng.choice((0.5, 1.0, 2.0, 5.0)))
    notion = _kinds(alpha)[int(rng.integers(4))][0]
    capacity = [*inst.pool[:-2], inst.pool[-2:].sum(axis=0)]
    one = inst.replace(
        capacity=capacity, placement=inst.placement[:, :-1], count=None, servers=inst.servers[:-1]
    )
    together, apart = certified(one, notion).totals, certified(inst, notion, reduce=False).totals
    off = np.abs(apart / together - 1.0)
    n = int(off.argmax())
    witness = f"{notion}: {apart[n]:.6g} tasks on two, {together[n]:.6g} on one"
    return Check.of("merging is exact", float(off[n]), 1e-4, witness)
