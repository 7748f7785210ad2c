"""One scheduler's memory: what it keeps of each user, and what is due by it in the next slice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairopt.errors import UsageError
from fairopt.instance import Floats, Instance, Ints
from fairopt.instance.quotas import Quotas
from fairopt.instance.rules.records import Rule, Term
from fairopt.notions import MaxMin, Notion
from fairopt.overtime import rules
from fairopt.overtime.policies import policy
from fairopt.overtime.rules import RULES, RuleAsked, SliceChange
from fairopt.overtime.states import KINDS, LedgerState, Memory
from fairopt.overtime.tree import levels_first
from fairopt.solving import solve

AMPLE = 1e4
"""slices of everything that users have credits for where no number is given"""


@dataclass(frozen=True)
class Ledger:
    """What a scheduler remembers, and what follows.

    Parameters
    ----------
    name : of a policy. kind, rule : what is remembered, what follows (rows of tables).
    settings : half (hours), k, of, alpha, credits, length, most, as the policy takes.
    factor : {user: f} of HTCondor; 1 where left out. told : as it was asked for.

    Examples
    --------
    >>> book = Ledger.of("kai:half=1h,k=1")
    >>> cluster = Instance([[1], [1]], [[1]], weight=[0.6, 0.4], users=["A", "B"])
    >>> state = book.start(cluster)
    >>> state = book.after(state, cluster, np.array([1.0, 0.0]))
    >>> book.due(state, cluster, np.array([np.inf, np.inf])).round(3).ravel().tolist()
    [0.2, 0.8]
    """

    name: str
    kind: str
    rule: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    factor: Mapping[str, float] = field(default_factory=dict)
    told: str = ""

    @classmethod
    def of(cls, given: str, factor: Mapping[str, float] | None = None) -> Ledger:
        """The ledger of a policy, such as "kai:half=7d,k=1", "kueue:half=24h" or "slurm".

        Raises
        ------
        UsageError : an unknown policy or setting, a value that makes no sense.
        """
        name, row, settings = policy(given)
        return cls(name, row.kind, row.rule, settings, dict(factor or {}), given)

    def start(self, instance: Instance) -> LedgerState:
        """The state before the first slice."""
        users = len(instance.users)
        if self.rule == "condor":  # a new user is at 0.5, and nobody is ever below
            return LedgerState(np.full(users, 0.5))
        if self.kind == "credits":
            most = float(self.settings["credits"])
            # "as many as anybody can need": more than ten thousand slices use up
            ample = AMPLE * float(instance.pool.max())
            return LedgerState(np.full(users, most if math.isfinite(most) else ample))
        if self.kind == "budget":
            return LedgerState(np.full(users, float(self.settings["most"])))
        return LedgerState(np.zeros(users))

    def after(
        self, state: LedgerState, instance: Instance, tasks: Floats, hours: float = 1.0
    ) -> LedgerState:
        """The state after a slice in which users had tasks (N,) or (N, I) at once; where users have
        modes, (K,) or (K, I) of each way of `Instance.ways`.

        Of credits, which follow from what was borrowed, see `division`.
        """
        if self.kind == "credits":
            raise UsageError("karma: its credits follow from a division; wanted Ledger.division")
        totals = tasks if tasks.ndim == 1 else tasks.sum(axis=1)
        use = instance.ways.running((totals * self.use_of_one(instance))[:, None])[:, 0]
        found = KINDS[self.kind](state, use, hours, self.memory(hours))
        if self.rule == "condor":
            found = replace(found, amount=np.maximum(found.amount, 0.5))
        return found

    def memory(self, hours: float) -> Memory:
        """How it forgets, for slices of so many hours."""
        half, length, reset, most = (
            float(self.settings.get(name, math.inf)) for name in ("half", "length", "reset", "most")
        )
        whole = min(length, reset) if math.isfinite(reset) else length
        slices = max(1, round(whole / hours)) if math.isfinite(whole) else 0
        return Memory(half, slices, self.name == "slurm", math.isfinite(reset), most)

    def use_of_one(self, instance: Instance) -> Floats:
        """(N,) what one running task counts as, (K,) of each way where users have modes: 1, its
        output, its part of one resource of the cluster, of the resource of which it takes the
        largest part, or of a sum with weights (4*gpu+cpu)."""
        measure, ways = self.settings.get("of", "dominant"), instance.ways
        if measure == "tasks":
            return np.ones(len(ways))
        if measure == "output" and measure not in instance.resources:
            return ways.speed
        demand = ways.demand if ways.demand.ndim == 2 else ways.demand.max(axis=1)
        pool = instance.pool.sum(axis=0)
        part = demand / np.where(pool > 0, pool, np.inf)
        if measure == "dominant":
            return np.asarray(part.max(axis=1))
        if measure not in instance.resources and set(str(measure)) & {"*", "+"}:
            worth = self._weighted(str(measure), instance)
            return np.asarray(demand @ worth / float(pool @ worth))
        if measure not in instance.resources:
            known = ", ".join(("dominant", "tasks", "output", *instance.resources, "2*x+y"))
            raise UsageError(f"policy {self.name}, of: found {measure!r}; wanted one of {known}")
        return np.asarray(part[:, instance.resources.index(measure)])

    def _weighted(self, measure: str, instance: Instance) -> Floats:
        """(R,) weights of a sum such as 4*gpu+cpu."""
        worth = np.zeros(len(instance.resources))
        for part in measure.split("+"):
            number, star, name = part.rpartition("*")
            try:
                weight = float(number) if star else 1.0
            except ValueError:
                weight = math.nan
            if name not in instance.resources or not (0 <= weight < math.inf):
                known = ", ".join(instance.resources)
                raise UsageError(
                    f"policy {self.name}, of: found {part!r} in {measure!r}; wanted weight*resource"
                    f" of {known}"
                )
            worth[instance.resources.index(name)] += weight
        if not (instance.pool.sum(axis=0) @ worth) > 0:
            raise UsageError(f"policy {self.name}, of: found {measure!r}; wanted a weight above 0")
        return worth

    def change(
        self, state: LedgerState, instance: Instance, wants: Floats, hours: float = 1.0
    ) -> SliceChange:
        """What changes in a slice in which users want so many tasks (N,) at once."""
        wants = np.asarray(wants, dtype=np.float64)
        factor = np.array([float(self.factor.get(user, 1.0)) for user in instance.users])
        least = np.minimum.reduceat(self.use_of_one(instance), instance.ways.first)
        asked = RuleAsked(
            instance.weight,
            wants,
            least,
            hours,
            float(self.settings.get("k", 1.0)),
            factor,
        )
        found = RULES[self.rule](state, asked)
        if self.rule == "rank" and not instance.tree.flat:
            found = replace(found, rank=levels_first(instance, state.amount))
        return found

    def asks(
        self, state: LedgerState, instance: Instance, wants: Floats, hours: float = 1.0
    ) -> tuple[Instance | None, Ints]:
        """The slice's instance with what the ledger changes, and the positions of its users; None
        where nobody is left."""
        change = self.change(state, instance, wants, hours)
        limit = np.minimum(np.minimum(wants, instance.limit), change.limit)
        there = np.flatnonzero((limit > 0) & ~change.out & instance.eligible.any(axis=1))
        if not len(there):
            return None, there
        small = instance.select(there, np.arange(len(instance.servers)))
        start = small.start
        if change.start is not None:
            start = change.start[there] + (0.0 if start is None else start)
        rules = small.rules
        if self.kind == "budget":
            rules = (*(rules or ()), *self._spent(small, state.amount[there] / hours)) or None
        return small.replace(
            weight=change.weight[there],
            limit=limit[there],
            quotas=_served(small, change.rank[there]),
            start=start,
            rules=rules,
        ), there

    def _spent(self, instance: Instance, left: Floats) -> list[Rule]:
        """What is left of budgets (N,), of users whose modes use different amounts of it."""
        use, ways = self.use_of_one(instance), instance.ways
        return [
            Rule(
                f"budget of {user}",
                most=float(left[n]),
                terms=[
                    Term([user], None, [ways.name[k]], times=float(use[k]))
                    for k in range(ways.of(n).start, ways.of(n).stop)
                ],
            )
            for n, user in enumerate(instance.users)
            if np.ptp(use[ways.of(n)]) > 0
        ]

    def due(
        self,
        state: LedgerState,
        instance: Instance,
        wants: Floats,
        hours: float = 1.0,
        notion: Notion | None = None,
    ) -> Floats:
        """(N, I) tasks at once that are due in the next slice; where users have modes, (K, I) of
        each way of `Instance.ways`.

        Parameters
        ----------
        notion : by which the slice is divided; default MaxMin().

        Raises
        ------
        NotCertified, SolverFailure, Infeasible : as of `solve`.
        """
        return self.division(state, instance, wants, hours, notion)[0]

    def division(
        self,
        state: LedgerState,
        instance: Instance,
        wants: Floats,
        hours: float = 1.0,
        notion: Notion | None = None,
    ) -> tuple[Floats, LedgerState]:
        """What `due` says, and the state after the slice if that is what is had."""
        if self.kind == "credits":
            return self._karma(state, instance, wants)
        found = np.zeros((len(instance.ways), len(instance.servers)))
        asked, there = self.asks(state, instance, wants, hours)
        if asked is not None:
            found[instance.ways.among(there)] = solve(asked, notion or MaxMin()).by_way
        return found, self.after(state, instance, found, hours)

    def _karma(
        self, state: LedgerState, instance: Instance, wants: Floats
    ) -> tuple[Floats, LedgerState]:
        """Karma divides one resource of one server itself."""
        instance.only_plain("karma", modes=True)
        if instance.shape[1:] != (1, 1) or np.ptp(instance.demand) > 0:
            raise UsageError(
                f"karma: found {instance!r}; wanted one server, one resource, equal tasks"
            )
        supply = float(instance.pool[0, 0] / instance.demand.ravel()[0])
        part = instance.weight / instance.weight.sum()
        guaranteed = float(self.settings["alpha"]) * part * supply
        asked = np.minimum(np.minimum(wants, instance.limit), supply)
        found = rules.divide(asked, state.amount, guaranteed, supply)
        return found.held[:, None], LedgerState(found.credits)


def _served(instance: Instance, rank: Ints) -> Quotas | None:
    """The rules of groups with classes by rank, 0 first, within those that there are."""
    if len(np.unique(rank)) < 2:
        return instance.quotas
    rules = instance.quotas or Quotas()
    own = [-rules.priority.get(user, 0) for user in instance.users]
    place = np.unique(np.column_stack([own, rank]), axis=0, return_inverse=True)[1].ravel()
    # a higher class is served first
    order = {user: int(place.max() - place[k]) for k, user in enumerate(instance.users)}
    return replace(rules, priority=order)


__all__ = ["Ledger"]
