"""What stops each user of an answer from getting more, whatever rules and prices it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fairopt.allocation.amounts import Amounts
from fairopt.formulas import blocked_levels, blocked_rounds, blocked_rules
from fairopt.formulas.blocked import Blocked, Stops, each_blocked, each_stopped


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
            return blocked_levels.each_stopped(
                self.instance, self.totals, self.utilisation, self.score, self.level_prices
            )
        return each_stopped(
            self.instance, self.totals, self.utilisation, self.score, self.prices, self.limit_prices
        )

    def each_blocked(self) -> Iterator[Blocked]:
        """The entries of `blocked`, computed one at a time."""
        if not self.instance.plain:
            if self.rounds:
                return blocked_rounds.each_blocked(self.instance, self.by_way, self.rounds)
            return blocked_rules.each_blocked(
                self.instance,
                self.by_way,
                self.prices,
                self.limit_prices,
                self.bound_prices,
                self.node_prices,
                self.rule_prices,
                self.limit_on_prices,
            )
        return each_blocked(self.instance, self.each_stopped(), self.prices, self.limit_prices)
