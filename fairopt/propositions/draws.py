"""Random small instances for trials, and the hypotheses that several statements share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.instance import Floats, Instance
from fairopt.instance.generate import random_instance

Range = tuple[int, int]


@dataclass(frozen=True)
class Small:
    """A generator of small instances, sizes uniform over the ranges (both ends included).

    Parameters
    ----------
    density, weight_decades, zero_demand, limits : as in `generate.random_instance`.
    whole : part of the instances, in [0, 1], with small whole numbers (demand 1..6, capacity
        4..24, weight 1..3), which have ties and make short counterexamples.
    """

    users: Range = (2, 4)
    servers: Range = (1, 3)
    resources: Range = (1, 3)
    density: float = 0.7
    weight_decades: float = 1.0
    zero_demand: float = 0.0
    limits: float = 0.0
    whole: float = 0.5

    def __call__(self, rng: np.random.Generator) -> Instance:
        sizes = (self.users, self.servers, self.resources)
        n, i, r = (int(rng.integers(low, high + 1)) for low, high in sizes)
        inst = random_instance(
            n,
            i,
            r,
            self.density,
            int(rng.integers(2**32)),
            self.weight_decades,
            self.zero_demand,
            self.limits,
        )
        return rounded(inst, rng) if rng.random() < self.whole else inst


def rounded(inst: Instance, rng: np.random.Generator) -> Instance:
    """The instance with random small whole numbers; it keeps zeros, placement and limits.

    A limit is kept as a part of the tasks that its user could run alone.
    """
    demand = np.where(inst.demand > 0, rng.integers(1, 7, inst.demand.shape), 0)
    capacity = np.where(inst.capacity > 0, rng.integers(4, 25, inst.capacity.shape), 0)
    uneven = np.ptp(inst.weight) > 0
    weight = rng.integers(1, 4, inst.shape[0]) if uneven else inst.weight
    changed = inst.replace(demand=demand, capacity=capacity, weight=weight)
    if no_limits(inst):
        return changed
    part = inst.limit / inst.alone.sum(axis=1)
    return changed.replace(limit=part * changed.alone.sum(axis=1))


@dataclass(frozen=True)
class Alike(Small):
    """Small instances in which users who share a server have equal demand and server sets.

    Users fall into groups, and every server belongs to one group: (14) of kesidis2018.
    """

    def __call__(self, rng: np.random.Generator) -> Instance:
        inst = super().__call__(rng)
        users, servers, _ = inst.shape
        group = rng.integers(min(users, servers), size=users)
        home = rng.permutation(np.resize(np.unique(group), servers))
        first = [int(np.flatnonzero(group == g)[0]) for g in group]
        return inst.replace(demand=inst.demand[first], placement=home == group[:, None])


@dataclass(frozen=True)
class EqualServers(Small):
    """Small instances whose servers all have the capacity of the first."""

    def __call__(self, rng: np.random.Generator) -> Instance:
        inst = super().__call__(rng)
        return inst.replace(capacity=np.repeat(inst.capacity[:1], inst.shape[1], axis=0))


# -- hypotheses --------------------------------------------------------------------------------


def no_limits(inst: Instance) -> bool:
    """No user has a limit."""
    return bool(np.isinf(inst.limit).all())


def positive_demand(inst: Instance) -> bool:
    """Every user demands every resource."""
    return bool((inst.pair_demand > 0).all())


def equal_weights(inst: Instance) -> bool:
    """All users have the same weight."""
    return bool(np.ptp(inst.weight) == 0)


def equal_where_shared(inst: Instance) -> bool:
    """Users who share a server have equal demand and equal server sets (kesidis2018 (14)).

    Scores computed from demand and server sets are then equal too.
    """
    users = len(inst.users)
    eligible, demand = inst.eligible, inst.demand_by_server
    for n in range(users):
        for m in range(n):
            both = eligible[n] & eligible[m]
            if both.any() and (
                (eligible[n] != eligible[m]).any() or (demand[n, both] != demand[m, both]).any()
            ):
                return False
    return True


# -- random allocations ------------------------------------------------------------------------


def greedy(inst: Instance, rng: np.random.Generator, part: float = 1.0) -> Floats:
    """(N, I) feasible tasks: pairs in random order take `part` of the tasks that still fit.

    With part 1 every usable server has a full resource, and the tasks are a vertex.
    """
    n, i = inst.pairs
    left = inst.pool.copy()
    room = inst.limit.copy()
    tasks = np.zeros(inst.shape[:2])
    for k in rng.permutation(len(n)):
        need = inst.pair_demand[k]
        used = need > 0
        fits = float(min((left[i[k], used] / need[used]).min(), room[n[k]]))
        tasks[n[k], i[k]] = part * max(fits, 0.0)
        left[i[k]] = np.maximum(left[i[k]] - tasks[n[k], i[k]] * need, 0.0)
        room[n[k]] -= tasks[n[k], i[k]]
    return tasks


def scattered(inst: Instance, rng: np.random.Generator) -> Floats:
    """(N, I) feasible tasks, positive on all eligible pairs; a resource is full or a limit met."""
    tasks = np.where(inst.eligible, inst.alone * rng.exponential(size=inst.alone.shape), 0.0)
    pool = np.where(inst.pool > 0, inst.pool, 1.0)
    tasks /= np.maximum((inst.used(tasks) / pool).max(axis=1), 1e-300)
    return tasks / max(float((tasks.sum(axis=1) / inst.limit).max()), 1.0)
