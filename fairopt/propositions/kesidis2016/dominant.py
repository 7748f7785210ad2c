"""Instances for (27) and (33) of kesidis2016: users demand equally of the full resources.

Which resources are full is known only with the answer. So the hypotheses here are about every
resource that can be full. A resource cannot be full if every user on the server uses a smaller part
of it than of some other resource.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.allocation import Allocation
from fairopt.instance import Bools, Floats, Instance
from fairopt.notions import Notion
from fairopt.properties.quick import quick
from fairopt.propositions import draws
from fairopt.propositions.statement import Hypothesis, certified


@dataclass(frozen=True)
class OneDominant(draws.Small):
    """Small instances in which one resource of each server is dominant for all: (33) holds.

    Parameters
    ----------
    same : whether it is the same resource on every server.
    equal : whether users demand equally of these resources, so that (27) holds too.
    """

    same: bool = False
    equal: bool = False

    def __call__(self, rng: np.random.Generator) -> Instance:
        inst = super().__call__(rng)
        _, servers, resources = inst.shape
        main = rng.integers(resources, size=1 if self.same else servers)
        main = np.resize(main, servers)
        demand, capacity = inst.demand.copy(), inst.capacity.copy()
        if self.equal:
            demand[:, main] = demand[0, main]
        for i, r in enumerate(main):
            # enough of the other resources that none of them is dominant for any user
            ratio = (demand / demand[:, r, None]).max(axis=0)
            plenty = capacity[i, r] * ratio * rng.uniform(1.05, 2.0, resources)
            capacity[i] = np.where(np.arange(resources) == r, capacity[i], np.ceil(plenty))
        return inst.replace(demand=demand, capacity=capacity)


def part_of_server(inst: Instance) -> Floats:
    """(N, I, R) B[n,i,r] = d[n,r] / c[i,r]; 0 where not eligible."""
    part = inst.demand_by_server / np.where(inst.pool > 0, inst.pool, 1.0)
    return np.asarray(np.where(inst.eligible[:, :, None], part, 0.0))


def can_fill(inst: Instance) -> Bools:
    """(I, R) whether r can be full at i: demanded, and no other resource there is always fuller."""
    part = part_of_server(inst)
    found = np.asarray((part > 0).any(axis=0))
    for i in np.flatnonzero(inst.eligible.any(axis=0)):
        mine = part[inst.eligible[:, i], i]  # (K, R)
        fuller = (mine[:, None, :] > mine[:, :, None] * (1 + 1e-9)).all(axis=0)  # (R, other)
        found[i] &= ~fuller.any(axis=1)
    return found


def _alike(inst: Instance, amount: Floats) -> bool:
    """Whether `amount` (N, I, R) is equal for the users of i at every r that can be full."""
    for i, r in np.argwhere(can_fill(inst)):
        mine = amount[inst.eligible[:, i], i, r]
        if np.ptp(mine) > 1e-12 * mine.max():
            return False
    return True


def equal_demand(inst: Instance) -> bool:
    """(27): users who share a pool have equal demand for its full resources."""
    return _alike(inst, inst.demand_by_server)


def equal_part(inst: Instance) -> bool:
    """(33): B[n,i,r] / max_r B[n,i,r] is equal on the full resources of a pool."""
    part = part_of_server(inst)
    most = part.max(axis=2, keepdims=True)
    return _alike(inst, part / np.where(most > 0, most, 1.0))


UNEQUAL = draws.Small(users=(2, 3), resources=(2, 3))
TWENTY_SEVEN = Hypothesis("(27)", equal_demand, UNEQUAL)
THIRTY_THREE = Hypothesis("(33)", equal_part, UNEQUAL)


def best(inst: Instance, notion: Notion) -> Allocation:
    """The certified answer, by a faster method where there is one.

    Raises
    ------
    Undecided : no answer is certified.
    """
    return quick(inst, notion) or certified(inst, notion)
