"""One partition beside its answer, and what all partitions are judged by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.certificates.money import LEAST
from fairopt.formulas.asked import Asked
from fairopt.instance import Floats
from fairopt.instance.partition import Partition


@dataclass(frozen=True, eq=False)
class Shown:
    """An answer for the users of one partition, as it was read: tasks (n, I), prices of limits
    (n,) or None."""

    users: Partition
    tasks: Floats
    limit_prices: Floats | None = None

    @property
    def mu(self) -> Floats:
        """(n,) prices of limits."""
        return np.zeros(len(self.users)) if self.limit_prices is None else self.limit_prices

    @property
    def limited(self) -> Floats:
        """(n,) limits, 0 where they have no price."""
        return np.where(self.mu > 0, self.users.limit, 0.0)


@dataclass(frozen=True, eq=False)
class Terms:
    """What all are judged by: what is asked, and prices (I, R), 0 where a server has nothing."""

    asked: Asked
    prices: Floats

    @classmethod
    def of(cls, asked: Asked, prices: Floats) -> Terms:
        """The terms of an answer with these prices."""
        return cls(asked, np.where(asked.capacity > 0, prices, 0.0))

    @property
    def alpha(self) -> float:
        """The exponent."""
        return self.asked.alpha

    @property
    def pool(self) -> Floats:
        """(I, R)."""
        return self.asked.pool

    def log_w(self, users: Partition) -> Floats:
        """(n,) log W for shares counted in tasks."""
        return self.asked.log_w(users)

    def cost(self, users: Partition) -> Floats:
        """(n, I) price of a task's resources; inf where it may not run."""
        rent = users.demand @ self.prices.T
        rent[rent < LEAST] = 0.0
        return np.where(users.placement, rent, np.inf)
