"""Levels that others were left behind of: how dear their servers are made for later proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairopt.instance import Bools, Floats, Instance, Ints


class Part(Protocol):
    """Users and servers of a level, in positions of the whole instance; who it stopped."""

    users: Ints
    servers: Ints
    stopped: Bools


@dataclass(frozen=True)
class Behind:
    """A level that others were left behind of: its servers, their prices (here, R), and `ratio`.

    ratio[j] is how many times the prices of its j-th ancestor must be raised so that its own users
    find nothing cheaper on that ancestor's servers.
    """

    servers: Ints
    prices: Floats
    ratio: tuple[float, ...]

    @classmethod
    def of(
        cls, instance: Instance, score: Floats, part: Part, prices: Floats,
        behind: tuple[Behind, ...],
    ) -> Behind:  # fmt: skip
        """The level of a part at `prices` (here, R), after those it was left behind of."""
        inst = instance
        if not behind:
            return cls(part.servers, prices, ())
        here = _cost(inst, score, part.users, part.servers, prices)
        cheapest = here.min(axis=1)
        # whoever pays must not find it cheaper behind
        pays = part.stopped & (cheapest > 0) & np.isfinite(cheapest)
        users = part.users[pays]
        ratio = []
        for other in behind:
            there = _cost(inst, score, users, other.servers, other.prices)
            with np.errstate(divide="ignore"):
                need = np.where(there > 0, cheapest[pays, None] / there, 0.0)
            ratio.append(float(need.max(initial=0.0)))
        return cls(part.servers, prices, tuple(ratio))

    def only(self, full: Bools) -> Behind:
        return Behind(self.servers[full], self.prices[full], self.ratio)

    def with_ancestors(self, instance: Instance, behind: tuple[Behind, ...]) -> Floats:
        """(I, R) prices of all, in parts of all money; what is behind is as dear as it must be.

        All of that money is paid by the users stopped there, so a proof loses nothing by it.
        """
        line = (*behind, self)
        factor = np.zeros(len(line))
        factor[-1] = 1.0
        for j in reversed(range(len(behind))):
            factor[j] = max(
                factor[k] * line[k].ratio[j] for k in range(j + 1, len(line))
            )
        wide = np.zeros(instance.pool.shape)
        for times, level in zip(factor, line, strict=True):
            wide[level.servers] += times * level.prices
        money = float((wide * instance.pool).sum())
        return wide / money if money > 0 else wide


def _cost(
    instance: Instance, score: Floats, users: Ints, servers: Ints, prices: Floats
) -> Floats:
    """(users, servers) price of one unit of share; inf where not eligible."""
    where = np.ix_(users, servers)
    cost = np.einsum("nir,ir->ni", instance.demand_by_server[where], prices)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(instance.eligible[where], cost / score[where], np.inf)
