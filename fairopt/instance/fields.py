"""The arrays of a cluster, and those that follow from them: pools, who may run where, how many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairopt.errors import UsageError
from fairopt.instance.known import KNOWN, rules_of
from fairopt.instance.quotas.alone import most_output
from fairopt.instance.quotas.records import Mode, Quotas, Table
from fairopt.instance.quotas.tree import Tree, tree_of
from fairopt.instance.quotas.ways import Ways, ways_of
from fairopt.instance.rules.records import Rule
from fairopt.instance.rules.resolved import RuleRow, rows_of
from fairopt.instance.sealing import sealed

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

BLOCK = 2**16
"""pairs worked on at a time: a few temporary arrays of half a megabyte fit in a core's cache"""


CURVES = {"demand_fixed": 0.0, "demand_power": 1.0}
"""what makes demand something else than linear, and what it is where it is linear"""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Fields:
    """What an `Instance` holds, and what is worked out from it once; the instance checks it."""

    demand: Floats
    capacity: Floats
    placement: Bools
    weight: Floats
    limit: Floats
    count: Ints
    users: tuple[str, ...]
    servers: tuple[str, ...]
    resources: tuple[str, ...]
    demand_fixed: Floats
    demand_power: Floats
    quotas: Quotas | None
    modes: Table[str, tuple[Mode, ...]] | None
    rules: tuple[Rule, ...] | None
    limit_on: Floats | None
    start: Floats | None

    @property
    def shape(self) -> tuple[int, int, int]:
        """(N, I, R)."""
        return len(self.users), len(self.servers), len(self.resources)

    @cached_property
    def linear(self) -> bool:
        """Whether x tasks take x times what one takes, of every user and resource."""
        return not self.bent.any()

    @cached_property
    def bent(self) -> Bools:
        """(N,) whose demand is not linear."""
        return sealed(((self.demand_fixed != 0) | (self.demand_power != 1)).any(axis=1))

    def told_bent(self) -> str:
        """Which of a user's keys make its demand something else than linear, in words."""
        keys = [
            name
            for name, plain in CURVES.items()
            if (np.asarray(getattr(self, name)) != plain).any()
        ]
        names = [self.users[n] for n in np.flatnonzero(self.bent)]
        return f"{' and '.join(keys)} of {_few(names)}"

    def only_linear(self, who: str) -> None:
        """Raise UsageError where demand is not linear, for a caller `who` that takes it to be."""
        if not self.linear:
            raise UsageError(f"{who}: found {self.told_bent()}; wanted linear demand")

    @cached_property
    def ruled_by(self) -> tuple[str, ...]:
        """Names of the rules that there are: fields that may be None and are not."""
        kind: Any = type(self)
        return tuple(name for name in rules_of(kind) if getattr(self, name) is not None)

    @property
    def plain(self) -> bool:
        """Whether there are neither quotas (groups, guarantees, ...), modes, rules, limits on
        servers, nor shares already had."""
        return not self.ruled_by

    def unknown(self, feature: str) -> list[str]:
        """The rules that a feature, a row of `KNOWN`, does not know, in words."""
        known = KNOWN[feature]
        return [self._told(name) for name in self.ruled_by if name not in known]

    def only_known(self, feature: str, who: str = "") -> None:
        """Raise UsageError where there are rules that a feature, a row of `KNOWN`, does not know.

        who : what the message calls the feature; its name, if left out.
        """
        self._refuse(who or feature, self.unknown(feature))

    def only_plain(self, who: str, modes: bool = False) -> None:
        """Raise UsageError where there are rules of any kind, for a caller `who` that knows none.

        With `modes`, for one that knows the others, or does not mind them: modes alone are
        refused.
        """
        self._refuse(who, [self._told(x) for x in self.ruled_by if x == "modes" or not modes])

    def _refuse(self, who: str, found: list[str]) -> None:
        if found:
            raise UsageError(f"{who}: found {' and '.join(found)}; wanted an instance without them")

    def _told(self, name: str) -> str:
        """A rule in words."""
        if name == "quotas" and self.quotas is not None:
            return self.quotas.told()
        if name == "modes":
            return f"modes of {_few(list(self.modes or ()))}"
        if name == "rules":
            named = [rule.name for rule in self.rules or ()]
            return f"{'rule' if len(named) == 1 else 'rules'} {_few(named)}"
        words = {"limit_on": "limits on servers (limit_on)", "start": "shares already had (start)"}
        return words.get(name, name)

    @cached_property
    def tree(self) -> Tree:
        """Groups and users as nodes, and the guarantees, ceilings and quotas of each."""
        return tree_of(self.quotas, self.names, self.weight)

    @cached_property
    def ways(self) -> Ways:
        """Each user's modes, one after another; one way of a user without modes."""
        return ways_of(self.modes, self.names, self.demand, self.placement, self.capacity)

    @cached_property
    def own_rows(self) -> tuple[RuleRow, ...]:
        """What each rule of one's own counts, way by way and server by server."""
        if self.rules is None:
            return ()
        flavors = {} if self.quotas is None else self.quotas.flavors
        return rows_of(self.rules, self.names, self.ways, self.tree, flavors)

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """All names, by "users", "servers" and "resources"."""
        return {"users": self.users, "servers": self.servers, "resources": self.resources}

    @cached_property
    def pool(self) -> Floats:
        """(I, R) capacity of the whole row, count_i c[i,r]."""
        return sealed(self.capacity * self.count[:, None])

    @cached_property
    def alone(self) -> Floats:
        """gamma (N, I): most tasks of user n alone on the whole row i; 0 where not eligible.

        Of a user with modes, the most output (`fairopt.instance.quotas.alone`).
        """
        most = _alone(self) if self.linear else self._alone_on_pool()
        for n, user in enumerate(self.users if self.modes else ()):
            if user in (self.modes or {}):
                most[n] = self._most_output(n)
        return sealed(most)

    def _most_output(self, n: int) -> Floats:
        """(I,) most output of a user with modes alone on each row."""
        ways = self.ways
        own = ways.of(n)
        return most_output(ways.demand[own], ways.speed[own], self.pool, ways.eligible[own])

    @cached_property
    def eligible(self) -> Bools:
        """(N, I): placement allows it and every demanded resource is there."""
        return sealed(self.alone > 0)

    @cached_property
    def everywhere(self) -> bool:
        """Whether every user is eligible on every server row."""
        return bool(self.eligible.all())

    def blocks(self) -> Iterator[slice]:
        """Ranges of users, in order, with so few pairs each that temporary arrays stay in cache."""
        users, servers, _ = self.shape
        step = max(1, BLOCK // servers)
        for start in range(0, users, step):
            yield slice(start, min(start + step, users))

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """Users (P,) and servers (P,) of the eligible pairs, in row order."""
        users, servers, _ = self.shape
        held = [np.count_nonzero(self.eligible[k], axis=1) for k in self.blocks()]
        n = np.repeat(np.arange(users), np.concatenate(held))
        i = np.flatnonzero(self.eligible) - n * servers
        return sealed(n), sealed(i)

    @cached_property
    def pair_demand(self) -> Floats:
        """(P, R) demand of one task of each eligible pair; UsageError where it is not linear."""
        self.only_linear("demand of one task")
        self.only_plain("demand of one task", modes=True)
        n, i = self.pairs
        by_user = self.demand.ndim == 2
        return sealed(np.take(self.demand, n, axis=0) if by_user else self.demand[n, i])

    @cached_property
    def pair_part(self) -> Floats:
        """(P, R) part of the whole row's resource that one task of each eligible pair uses."""
        _, i = self.pairs
        return sealed(self.pair_demand / np.where(self.pool > 0, self.pool, 1.0)[i])

    def part_of_row(self) -> Floats:
        """(N, I, R) part of the whole row's resource that one task uses; 0 where not eligible."""
        part = np.zeros(self.shape)
        part[self.pairs] = self.pair_part
        return part

    def part_of_time(self) -> Floats:
        """(N, I, 1) part of the row's time that one task uses, 1/gamma[n,i] (khamse2016, TDM)."""
        return (1.0 / np.where(self.eligible, self.alone, np.inf))[:, :, None]

    @cached_property
    def demand_by_server(self) -> Floats:
        """(N, I, R) demand written out (a broadcast view where it is the same on every server)."""
        self.only_plain("demand by server (see Instance.ways)", modes=True)
        if self.demand.ndim == 3:
            return self.demand
        n, i, r = self.shape
        return np.broadcast_to(self.demand[:, None, :], (n, i, r))

    def used(self, tasks: Floats) -> Floats:
        """(I, R) resource used by `tasks` (N, I): sum_n x[n,i] d[n,i,r], or sum_n D[n,r](x_n)."""
        self.only_plain("resource used by tasks (see Ways.used)", modes=True)
        if not self.linear:
            taken: Floats = self.taken(tasks[:, 0]).sum(axis=0, keepdims=True)
            return taken
        if self.demand.ndim == 2:
            used: Floats = tasks.T @ self.demand
        else:
            used = np.einsum("ni,nir->ir", tasks, self.demand)
        return used

    def taken(self, tasks: Floats) -> Floats:
        """(N, R) D[n,r](x) = d x^a + e of each user's `tasks` (N,) where x > 0, else 0."""
        x = np.maximum(tasks, 0.0)[:, None]
        with np.errstate(over="ignore"):
            amount: Floats = self.demand * x**self.demand_power + self.demand_fixed
        return np.where(x > 0, amount, 0.0)

    def within(self, room: Floats) -> Floats:
        """(N,) most tasks that take at most `room`, (R,) or (N, R), limits aside."""
        left = np.maximum(np.broadcast_to(room, self.demand.shape) - self.demand_fixed, 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            most = (left / self.demand) ** (1.0 / self.demand_power)
        # a resource of which tasks take nothing stops a user where it has no room for what is fixed
        none = np.where(room < self.demand_fixed, 0.0, np.inf)
        least: Floats = np.where(self.demand > 0, most, none).min(axis=1)
        return least

    def _alone_on_pool(self) -> Floats:
        with np.errstate(over="ignore"):
            most = self.within(self.pool[0])
        return np.where(self.placement & np.isfinite(most)[:, None], most[:, None], 0.0)


def _few(names: list[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _alone(inst: Fields) -> Floats:
    """(N, I) most tasks on the whole row; 0 where not eligible or nothing is demanded."""
    users, servers, resources = inst.shape
    most = np.empty((users, servers))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        for block in inst.blocks():
            here = most[block]
            here.fill(np.inf)
            for r in range(resources):
                d = inst.demand[block, ..., r]
                # c/0 is infinite; 0/0 is NaN, which fmin ignores
                np.fmin(here, inst.capacity[:, r] / (d if d.ndim == 2 else d[:, None]), out=here)
            here[~(inst.placement[block] & np.isfinite(here))] = 0.0
            here *= inst.count
    return most
