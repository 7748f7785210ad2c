"""Tasks and prices of an answer, and what follows from them: totals, shares, levels, use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.allocation.check import Certificate
from fairopt.allocation.fields import Round
from fairopt.formulas import blocked, blocked_rules, families, rows
from fairopt.formulas.blocked import Blocked, Stops, each_blocked, each_stopped
from fairopt.formulas.lowered import PRICES
from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats, Instance, frozen, sealed
from fairopt.instance.quotas.ways import ALL


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Amounts:
    """What an `Allocation` holds, and what is worked out from it once; the allocation checks it."""

    instance: Instance
    notion: dict[str, Any]
    tasks: Floats
    prices: Floats | None
    limit_prices: Floats | None
    level_prices: Floats | None
    score: Floats
    objective: float | None
    equivalent: float | None
    certificate: Certificate | None
    steps: tuple[dict[str, Any], ...]
    way_tasks: Floats | None
    bound_prices: Floats | None
    node_prices: Floats | None
    floor_prices: Floats | None
    rounds: tuple[Round, ...] | None
    rule_prices: Floats | None
    limit_on_prices: Floats | None

    @cached_property
    def kind(self) -> dict[str, Any]:
        """The notion as a member of its family, {"name", "parameters"}: this is what judges read.

        See `fairopt.formulas.families`.
        """
        return families.member(self.notion)

    @cached_property
    def terms(self) -> Terms:
        """The terms of the objective, of a trade-off."""
        return Terms.of(self.notion)

    @property
    def by_way(self) -> Floats:
        """(K, I) running tasks of each way of `instance.ways`: one a user, but with modes."""
        return self.tasks if self.way_tasks is None else self.way_tasks

    @cached_property
    def output(self) -> Floats:
        """(N, I) what users get done: tasks, or with modes the sum of speed times tasks."""
        if self.way_tasks is None:
            return self.tasks
        return sealed(self.instance.ways.output(self.way_tasks))

    @cached_property
    def totals(self) -> Floats:
        """(N,) tasks of each user, x_n."""
        return sealed(rows.total(self.tasks))

    @cached_property
    def outputs(self) -> Floats:
        """(N,) what each user gets done: `totals`, or with modes its output."""
        return self.totals if self.way_tasks is None else sealed(rows.total(self.output))

    @cached_property
    def shares(self) -> Floats:
        """(N,) s_n = sum_i u[n,i] x[n,i]; with modes x is the output."""
        share = np.empty(len(self.instance.users))
        for users in self.instance.blocks():
            share[users] = rows.total(self.score[users] * self.output[users])
        return sealed(share)

    @cached_property
    def least(self) -> float:
        """The smallest entry of `tasks`, or of `way_tasks`."""
        return float(self.by_way.min())

    @cached_property
    def strays(self) -> bool:
        """Whether a user has tasks on a server where it is not eligible."""
        inst = self.instance
        if self.way_tasks is not None:
            return bool(((self.way_tasks != 0) & ~inst.ways.eligible).any())
        return not inst.everywhere and any(
            bool(((self.tasks[users] != 0) > inst.eligible[users]).any()) for users in inst.blocks()
        )

    @cached_property
    def held(self) -> Floats:
        """(N, I) the tasks, with 0 in place of negative ones and where the user is not eligible."""
        if self.least >= 0 and not self.strays:
            return self.tasks
        return sealed(np.where(self.instance.eligible, np.maximum(self.tasks, 0.0), 0.0))

    @cached_property
    def levels(self) -> Floats:
        """(N,) U_n = s_n / phi_n, of what a user already had (`start`) and has together."""
        return frozen(self.counted / self.instance.weight)

    @property
    def counted(self) -> Floats:
        """(N,) shares with what users already had."""
        had = self.instance.start
        return self.shares if had is None else frozen(self.shares + had)

    @cached_property
    def used(self) -> Floats:
        """(I, R) resource used on each row."""
        if self.way_tasks is not None:
            return sealed(self.instance.ways.used(self.way_tasks))
        return sealed(self.instance.used(self.tasks))

    def taken(
        self, by_way: Floats | None = None, users: slice = ALL, servers: slice = ALL
    ) -> Floats:
        """(users, servers, R) what each of these users takes of each resource of these servers.

        by_way : (K, I) tasks to look at in place of the answer's own, such as those without dust.
        """
        inst, held = self.instance, self.by_way if by_way is None else by_way
        if not inst.linear:  # one pool
            return inst.taken(held[:, 0])[users, None, :]
        if inst.modes is None:
            return held[users, servers, None] * inst.demand_by_server[users, servers]
        return inst.ways.taken(held, users, servers)

    @cached_property
    def utilisation(self) -> Floats:
        """(I, R) used / (count c); 0 for a resource that the row does not have."""
        pool = self.instance.pool
        return sealed(np.divide(self.used, pool, out=np.zeros_like(pool), where=pool > 0))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Stopped(Amounts):
    """An answer that says what stops its users."""

    @cached_property
    def blocked(self) -> tuple[Blocked, ...]:
        """Which full resource of which server stops each user from getting more, user by user.

        If the answer has prices: on the servers where a unit of share is cheapest for the user,
        the full resources with a price; of a max-min answer at the prices of the user's own level.
        Otherwise: every full resource that the user demands on a
        server it may use. Ceilings and quotas are named in the place of a server ("org's quota").
        """
        return tuple(self.each_blocked())

    def each_stopped(self) -> Iterator[Stops]:
        """What stops each user, by position, computed one user at a time."""
        if self.prices is None and self.level_prices is not None and self.instance.linear:
            return blocked.each_by_level(
                self.instance, self.totals, self.utilisation, self.score, self.level_prices
            )
        return each_stopped(
            self.instance, self.totals, self.utilisation, self.score, self.prices, self.limit_prices
        )

    def each_blocked(self) -> Iterator[Blocked]:
        """The entries of `blocked`, computed one at a time."""
        self.instance.only_known("explain", "what stops users")
        if not self.instance.plain:
            if self.rounds:
                return blocked_rules.each_in_rounds(self.instance, self.by_way, self.rounds)
            prices = {name: getattr(self, name) for name in PRICES}
            return blocked_rules.each_blocked(self.instance, self.by_way, prices)
        return each_blocked(self.instance, self.each_stopped(), self.prices, self.limit_prices)
