"""The problem that every alpha-fair engine gets, and the point that it returns, as plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.formulas import rows, welfare
from fairopt.formulas.lowered import RulePrices
from fairopt.instance import Floats, Instance, Ints

CUT = 600.0
"""log of the money of a limit, above that of the dearest row, at which engines cut it"""
FURTHEST = 600.0
"""log of the money of a limit, above that of all rows together, at most in an answer"""
TOGETHER = 92.0
"""limits within this of the dearest, in logarithms, keep their true ratio"""


@dataclass(frozen=True)
class How:
    """Parameters of `solve` that ladders and engines need; see there.

    start : the last answer (an Allocation), where a ladder begins with it; None elsewhere.
    """

    solver: str = "auto"
    gap: float = 1e-6
    polish: bool = True
    progress: Callable[[int, int], None] | None = None
    start: Any = None


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer in the units of the instance.

    Parameters
    ----------
    tasks : (N, I), tasks of user n on the whole row i.
    prices : (I, R) per unit of resource; None if the notion has no prices.
    limit_prices : (N,) per task allowed by the limit; None if the notion has no prices.
    steps : what was done, as plain data (rounds, order, remarks).
    """

    tasks: Floats
    prices: Floats | None = None
    limit_prices: Floats | None = None
    steps: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class AlphaQuestion:
    """max sum W g_alpha(s_n) over one connected part, in natural units.

    Parameters
    ----------
    instance : the part. score : (N, I).
    alpha : >= 0. log_w : (N,) log W.
    """

    instance: Instance
    score: Floats
    alpha: float
    log_w: Floats

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        """Users (P,) and servers (P,) of the eligible pairs."""
        return self.instance.pairs

    @cached_property
    def many(self) -> int:
        """P."""
        return int(np.count_nonzero(self.instance.eligible))

    @property
    def use(self) -> Floats:
        """(P, R) part of the row's capacity that one task of the pair uses."""
        return self.instance.pair_part

    @property
    def share_per_task(self) -> Floats:
        """(P,) score of each pair."""
        n, i = self.pairs
        return self.score[n, i]

    @cached_property
    def one_score(self) -> bool:
        """Whether every user has the same score on all its servers."""
        inst, top = self.instance, self.top_score[:, None]
        return all(
            bool(((self.score[users] == top[users]) | ~inst.eligible[users]).all())
            for users in inst.blocks()
        )

    @cached_property
    def top_score(self) -> Floats:
        """(N,) the largest score of each user, 0 of one who is eligible nowhere."""
        inst, found = self.instance, np.empty(len(self.score))
        for users in inst.blocks():
            own = self.score[users]
            if not inst.everywhere:
                own = np.where(inst.eligible[users], own, 0.0)
            found[users] = rows.largest(own)
        return found

    @property
    def timed(self) -> bool:
        """Whether limits count tasks of users whose scores differ: jobs on kinds of machine."""
        return bool(np.isfinite(self.instance.limit).any()) and not self.one_score

    def at(self, alpha: float, log_w: Floats) -> AlphaQuestion:
        """The same problem for another alpha and other weights log W (N,)."""
        return AlphaQuestion(self.instance, self.score, alpha, log_w)

    @classmethod
    def of(cls, instance: Instance, score: Floats, alpha: float, inside: bool) -> AlphaQuestion:
        """The problem with the weights of the instance, inside the power or outside."""
        return cls(instance, score, alpha, welfare.log_weight(instance.weight, alpha, inside))


@dataclass(frozen=True)
class Point:
    """Tasks x (P,) or (N, I), money of rows (I, R) and limits (N,), up to a common factor.

    The money of a row is its price times its pool, of a limit its price times the limit. given :
    whether x (N, I) is nobody else's, so that the answer takes it as it is, not a copy.
    """

    x: Floats
    rows: Floats
    limits: Floats
    given: bool = False

    @classmethod
    def paid(cls, instance: Instance, x: Floats, price: RulePrices) -> Point:
        """Tasks, and the money of rows and limits at these prices."""
        limit = np.where(np.isfinite(instance.limit), instance.limit, 0.0)
        return cls(x, price.capacity * instance.pool, price.limits * limit)

    def tasks(self, instance: Instance) -> Floats:
        """(N, I), made feasible exactly: each server's, then each user's, tasks scaled to fit."""
        tasks = np.maximum(self.x, 0.0, out=self.x if self.given else None)
        if not np.isfinite(tasks.max(initial=0.0)):
            tasks[~np.isfinite(self.x)] = 0.0
        if tasks.ndim == 1:
            tasks, given = np.zeros(instance.shape[:2]), tasks
            tasks[instance.pairs] = given
        return fitted(instance, tasks, own=True)

    def prices(self, instance: Instance) -> tuple[Floats, Floats]:
        """Prices per unit (I, R) and per task allowed (N,), up to a common factor."""
        pool = np.where(instance.pool > 0, instance.pool, 1.0)
        rows = np.where(instance.pool > 0, np.maximum(self.rows, 0.0), 0.0)
        limited = np.isfinite(instance.limit)
        limits = np.where(limited, np.maximum(self.limits, 0.0), 0.0)
        return rows / pool, limits / np.where(limited, instance.limit, 1.0)


def fitted(instance: Instance, tasks: Floats, within: float = 0.0, own: bool = False) -> Floats:
    """Tasks (N, I) scaled to fit, server by server, then user by user; not where within reach. The
    same array where nothing is scaled, or where it is the caller's `own`."""
    pool = np.where(instance.pool > 0, instance.pool, 1.0)
    over, into = (instance.used(tasks) / pool).max(axis=1), tasks if own else None
    if (over > 1 + within).any():
        tasks = np.divide(tasks, np.where(over > 1 + within, over, 1.0), out=into)
    if np.isfinite(instance.limit).any():
        over = tasks.sum(axis=1) / instance.limit
        if (over > 1 + within).any():
            factor = np.where(over > 1 + within, over, 1.0)
            tasks = np.divide(tasks, factor[:, None], out=into)
    return tasks


def divided(instance: Instance) -> Floats:
    """Tasks (N, I) when every server is divided by the weights of its users, whatever they need."""
    weight = np.where(instance.eligible, instance.weight[:, None], 0.0)
    everybody = weight.sum(axis=0)
    part = weight / np.where(everybody > 0, everybody, 1.0)
    return fitted(instance, part * np.where(instance.eligible, instance.alone, 0.0))


# Money of limits far above all other money, brought into the floating-point range. At alpha = 100 a
# user held by its limit to a share of 1e-6 would pay 1e600 times what a user of share 1 pays. The
# judge needs the right ratios among the dearest limits, and among the prices of resources; the
# ratio between the two groups does not matter beyond a hundred decades.


def cut(log_money: Floats, log_rows: float) -> Floats:
    """Money of limits from its logarithm: none further above that of all rows than CUT."""
    found: Floats = np.exp(np.minimum(log_money, log_rows + CUT))
    return found


def in_range(log_money: Floats, log_rows: float) -> Floats:
    """(N,) the logarithms moved so that the dearest is FURTHEST above the rows, none upwards."""
    high, top = log_rows + FURTHEST, float(log_money.max())
    if top <= high:
        return log_money
    near = log_money > top - TOGETHER
    return np.where(near, log_money - top + high, np.minimum(log_money, high - TOGETHER))
