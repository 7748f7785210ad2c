"""What properties compare: whose part is what, who is compared with whom, and what a user could do
with a bundle of resources, whatever groups, modes and limits there are."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.formulas.linear_program import LinearProgram
from fairopt.formulas.lowered import lowered
from fairopt.instance import Bools, Floats, Instance, Ints
from fairopt.instance.quotas.alone import most_output

Property = Callable[[Allocation], Check]
NEAR_LIMIT = 1e-6
"""a limit of which a smaller part is free counts as reached"""


def at_the_door(judge: Property) -> Property:
    """The property; it raises UsageError where demand is not linear, or where there are rules that
    properties do not know."""

    @functools.wraps(judge)
    def judged(alloc: Allocation) -> Check:
        name = judge.__name__.replace("_", "-")
        alloc.instance.only_known("properties", name)
        alloc.instance.only_linear(name)
        return judge(alloc)

    return judged


def parts(inst: Instance) -> Floats:
    """(N,) each user's part of everything by weight; with groups its part of its group's part."""
    return inst.weight / inst.weight.sum() if inst.quotas is None else inst.tree.normalised


def circles(inst: Instance) -> Ints:
    """(N,) numbers: users of one number are compared, those of one group and one priority."""
    if inst.quotas is None:
        return np.zeros(len(inst.users), dtype=np.int64)
    tree = inst.tree
    return np.asarray(tree.parent[tree.leaf] * (int(tree.rank.max()) + 1) + tree.rank)


def demanded(inst: Instance, n: int, always: bool = False) -> Bools:
    """(I, R) what user n demands where, in any of its modes that may run there; or in all."""
    ways = inst.ways
    own = ways.of(n)
    demand = ways.demand[own] if ways.demand.ndim == 3 else ways.demand[own, None, :]
    there = ways.eligible[own, :, None]
    if always:
        return np.asarray(((demand > 0) | ~there).all(axis=0) & there.any(axis=0))
    return np.asarray(((demand > 0) & there).any(axis=0))


def wanting(alloc: Allocation) -> Bools:
    """(N, I) where a user may run and is below its limits: where it could use more."""
    inst = alloc.instance
    found: Bools = inst.eligible & (alloc.totals < inst.limit * (1 - NEAR_LIMIT))[:, None]
    if inst.limit_on is not None:
        found &= alloc.tasks < inst.limit_on * (1 - NEAR_LIMIT)
    return found


def most(inst: Instance, n: int, bundles: Floats) -> Floats:
    """(M,) the most tasks, with modes output, of user n with each of the bundles (M, I, R) alone.

    Its limits are kept; promises and rules, which are about all users together, are not asked.
    """
    ways = inst.ways
    own = ways.of(n)
    demand = ways.demand[own] if ways.demand.ndim == 3 else ways.demand[own, None, :]
    most_on = np.full(bundles.shape[1], np.inf) if inst.limit_on is None else inst.limit_on[n]
    if len(demand) == 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(demand[0] > 0, bundles / demand[0], np.inf).min(axis=2)
        each = np.where(ways.eligible[own][0], each, 0.0) * ways.speed[own][0]
        alone = np.minimum(each, most_on * ways.speed[own][0]).sum(axis=1)
        return np.asarray(np.minimum(alone, inst.limit[n] * ways.speed[own][0]))
    if np.isfinite(inst.limit[n]) or np.isfinite(most_on).any():
        return np.array([_limited(inst, own, demand, most_on, n, bundle) for bundle in bundles])
    size, servers, _ = bundles.shape
    there = ((bundles[:, None] > 0) | (demand == 0)).all(axis=3) & ways.eligible[own]
    found = most_output(
        np.tile(demand, (1, size, 1)) if demand.shape[1] > 1 else demand[:, 0],
        ways.speed[own],
        bundles.reshape(size * servers, -1),
        there.transpose(1, 0, 2).reshape(len(demand), -1),
    )
    return np.asarray(found.reshape(size, servers).sum(axis=1))


def _limited(
    inst: Instance, own: slice, demand: Floats, most_on: Floats, n: int, bundle: Floats
) -> float:
    """The most output of a user with modes and limits with one bundle (I, R): a linear program."""
    ways = inst.ways
    eligible = ways.eligible[own] & ((bundle > 0) | (demand == 0)).all(axis=2)
    low = lowered(
        eligible,
        np.zeros(len(eligible), dtype=np.int64),
        ways.demand[own],
        np.broadcast_to(ways.speed[own][:, None], eligible.shape),
        bundle,
        inst.limit[n : n + 1],
        limit_on=most_on[None],
    )
    found = LinearProgram(low).most(low.score)
    return np.nan if found is None else float(low.score @ found.x)


__all__ = ["circles", "demanded", "most", "at_the_door", "parts", "wanting"]
