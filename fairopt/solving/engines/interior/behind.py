"""Prices for the servers of levels that are already done, as needed to prove later levels.

After a level is found, its users and full servers are removed; the rest is solved on its own. The
proof of a later level needs prices of these servers too: high enough that users who pay on the
remaining servers do not find the removed ones cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairopt.instance import Bools, Floats, Instance, Ints


class LevelPart(Protocol):
    """Users and servers of a level (positions in the instance), and which users it stopped."""

    users: Ints
    servers: Ints
    stopped: Bools


@dataclass(frozen=True)
class Behind:
    """A level that is done: its servers, their prices (servers, R), and `ratio`.

    ratio[j] is the factor for the prices of the j-th level found before this one: the least at
    which no paying user of this level finds a server of that level cheaper than its own.
    """

    servers: Ints
    prices: Floats
    ratio: tuple[float, ...]

    @classmethod
    def of(
        cls,
        instance: Instance,
        score: Floats,
        part: LevelPart,
        prices: Floats,
        behind: tuple[Behind, ...],
    ) -> Behind:
        """The level of a part at `prices` (servers, R); `behind`: the levels done before it."""
        inst = instance
        if not behind or not prices.any():  # whom limits stop pays nothing
            return cls(part.servers, prices, (0.0,) * len(behind))
        here = _cost(inst, score, part.users, part.servers, prices)
        cheapest = here.min(axis=1)
        # users who pay must not find the servers of earlier levels cheaper
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
        """The same level with only those of its servers that are full."""
        return Behind(self.servers[full], self.prices[full], self.ratio)

    def with_ancestors(self, instance: Instance, behind: tuple[Behind, ...]) -> Floats:
        """(I, R) prices of all servers, scaled; those of earlier levels just high enough.

        The capacity that these prices add to the bound is paid for by the users stopped at the
        earlier levels, so the bound for this level is as tight as with its own servers alone.
        """
        line = (*behind, self)
        factor = np.zeros(len(line))
        factor[-1] = 1.0
        for j in reversed(range(len(behind))):
            factor[j] = max(factor[k] * line[k].ratio[j] for k in range(j + 1, len(line)))
        wide = np.zeros(instance.pool.shape)
        for times, level in zip(factor, line, strict=True):
            wide[level.servers] += times * level.prices
        money = float((wide * instance.pool).sum())
        return wide / money if money > 0 else wide


def _cost(instance: Instance, score: Floats, users: Ints, servers: Ints, prices: Floats) -> Floats:
    """(users, servers) price of one unit of share; inf where not eligible."""
    where = np.ix_(users, servers)
    cost = np.einsum("nir,ir->ni", instance.demand_by_server[where], prices)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(instance.eligible[where], cost / score[where], np.inf)
