r"""Plain max-min of one level again after one change: the rows that stopped everybody do so again.

The prices of the last answer say how high the level is: with q_n the cheapest price of a unit of
share and B the value of what is priced,

.. math:: t = B \Big/ \sum_n q_n \phi_n .

Tasks follow, by the least change of the last ones that fills the rows with a price. Whether all of
that is still so is for the judge to say.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas import rows
from fairopt.formulas.blocked import task_cost
from fairopt.instance import Bools, Floats, Instance, Ints
from fairopt.notions import Notion
from fairopt.solving import renamed

FEWEST = 2_000
"""pairs from which a start is worth trying"""
SURE = 1e-9
"""prices of less than this part of the dearest are noise"""
TURNS, ENOUGH, RIDGE = 15, 1e-13, 1e-11
"""most corrections; what may be left of them; added to a diagonal, as a part of it"""
MUCH = 1e-3
"""part of a share that stays where it is though its server is dearer now: its price is to change"""
CHEAPEST = 1e-6
"""a newcomer begins on servers whose price is within this part of its cheapest"""


def again(
    instance: Instance, notion: Notion, score: Floats, start: Allocation
) -> Allocation | None:
    """The answer to which the last one leads, not judged; None where it leads nowhere.

    Of answers of one level alone: what errors of one do to the next is not put right here.
    """
    few = instance.shape[0] * instance.shape[1] < FEWEST
    if few or start.level_prices is None or len(start.level_prices) != 1:
        return None
    told = {"prices": start.level_prices[0]}
    given = renamed.prices(told, start.instance, instance)["prices"]
    money = given * instance.pool
    money = np.where(money > SURE * money.max(initial=0.0), money, 0.0)
    everybody = np.ones(len(instance.users), dtype=bool)
    if not (_cheapest(instance, score, money) > 0).all():
        return None
    tasks = _begun(instance, score, renamed.columns(start, instance), money, everybody)
    n, i = _cheap(instance, score, tasks, money)
    held = _Held(instance, score, n, i, money)
    if not held.alike():
        return None
    level = held.level()
    x = held.filled(tasks[n, i], level)
    if x is None:
        return None
    found = np.zeros(instance.shape[:2])
    found[n, i] = x
    pool = np.where(instance.pool > 0, instance.pool, 1.0)
    price = held.money / float(held.money.sum())
    return Allocation(
        instance,
        notion,
        found,
        level_prices=(price.reshape(pool.shape) / pool)[None],
        score=score,
    )


class _Held:
    """The pairs (C,) that hold tasks, and rows (M,) of all resources.

    uses : sparse (C, M), part of each row that a task takes. money : (M,) of all of each row.
    """

    def __init__(self, instance: Instance, score: Floats, n: Ints, i: Ints, money: Floats) -> None:
        from scipy.sparse import csr_array

        self.money = money.ravel()
        self.user, self.count, self.weight = n, len(instance.users), instance.weight
        self.worth = score[n, i]
        demand = instance.demand[n] if instance.demand.ndim == 2 else instance.demand[n, i]
        part = demand / np.where(instance.pool > 0, instance.pool, 1.0)[i]
        each, r = np.nonzero(part)
        row = i[each] * instance.shape[2] + r
        self.uses = csr_array((part[each, r], (each, row)), shape=(len(n), money.size))

    def _by_user(self, of_pairs: Floats) -> Floats:
        return np.asarray(np.bincount(self.user, of_pairs, self.count), dtype=np.float64)

    def alike(self) -> bool:
        """Change prices by as little as can be until what a user holds costs it the same."""
        from scipy.sparse import csr_array, diags_array

        pairs = np.arange(len(self.user))
        of = csr_array((np.ones(len(pairs)), (self.user, pairs)), shape=(self.count, len(pairs)))
        many = np.maximum(self._by_user(np.ones(len(pairs))), 1.0)
        for _ in range(TURNS):
            cost = self.uses @ self.money
            log_q = np.log(cost / self.worth)
            apart = log_q - (self._by_user(log_q) / many)[self.user]
            if np.abs(apart).max() <= ENOUGH:
                return True
            rows = np.flatnonzero(self.money > 0)
            part = diags_array(1.0 / cost) @ self.uses[:, rows] @ diags_array(self.money[rows])
            mean = (of @ part).toarray()
            body = (part.T @ part).toarray() - mean.T @ (mean / many[:, None])
            right = part.T @ apart
            change = _solved(body, right)
            if change is None or not (np.abs(change) < 0.5).all():
                return False
            self.money[rows] *= 1.0 - change
        return False

    def level(self) -> float:
        """t at which all that is priced is paid for."""
        q = np.full(self.count, np.inf)
        np.minimum.at(q, self.user, self.uses @ self.money / self.worth)
        return float(self.money.sum() / (q @ self.weight))

    def filled(self, x: Floats, level: float) -> Floats | None:
        """The tasks (C,), changed by the least part of themselves until everybody is at the level
        and rows with a price are full, as are those that would be overrun; None if that fails."""
        from scipy.sparse import csr_array, diags_array

        due = level * self.weight
        x = x * (due / self._by_user(x * self.worth))[self.user]
        per = self.worth / due[self.user]
        full = self.money > 0
        for _ in range(TURNS):
            short, left = 1.0 - self._by_user(x * per), 1.0 - self.uses.T @ x
            full = full | (left < -ENOUGH)
            if max(np.abs(short).max(), np.abs(left[full]).max()) <= ENOUGH:
                return x
            size, uses = x**2, self.uses[:, np.flatnonzero(full)]
            own = self._by_user(size * per**2)
            pairs = csr_array(
                (size * per, (self.user, np.arange(len(x)))), shape=(self.count, len(x))
            )
            both = (pairs @ uses).toarray()
            body = (uses.T @ (diags_array(size) @ uses)).toarray()
            body -= both.T @ (both / own[:, None])
            more = _solved(body, left[full] - both.T @ (short / own))
            if more is None:
                return None
            mine = (short - both @ more) / own
            x = x + size * (per * mine[self.user] + uses @ more)
            x = np.where(x > 0, x, 0.0)
            if not (self._by_user(x * per) > 0).all():
                return None
        return None


def _cheap(instance: Instance, score: Floats, tasks: Floats, money: Floats) -> tuple[Ints, Ints]:
    """Pairs that hold tasks where these are about as cheap as anywhere, or much of a share."""
    pool = np.where(instance.pool > 0, instance.pool, 1.0)
    cost = task_cost(instance, money / pool, slice(None), None)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(instance.eligible, cost / score, np.inf)
        part = tasks * score / rows.total(tasks * score)[:, None]
        dearer = each / rows.least(each)[:, None] - 1.0
    used = (dearer < CHEAPEST) & (part > SURE * dearer)
    n, i = np.nonzero((tasks > 0) & (used | (part > MUCH)))
    return n.astype(np.int64), i.astype(np.int64)


def _solved(body: Floats, right: Floats) -> Floats | None:
    """What solves a symmetric system that may be singular by little; None where nothing does."""
    from scipy.linalg import cho_factor, cho_solve

    some = np.arange(len(body))
    body[some, some] += RIDGE * np.maximum(body[some, some], 1e-300)
    try:
        found = cho_solve(cho_factor(body), right)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(found) if np.isfinite(found).all() else None


def _cheapest(instance: Instance, score: Floats, money: Floats) -> Floats:
    """(N,) the cheapest price of a unit of share, for money (I, R) of rows; 0 of what is free."""
    pool = np.where(instance.pool > 0, instance.pool, 1.0)
    cost = task_cost(instance, money / pool, slice(None), None)
    with np.errstate(divide="ignore", invalid="ignore"):
        return rows.least(np.where(instance.eligible, cost / score, np.inf))


def _begun(
    instance: Instance, score: Floats, tasks: Floats, money: Floats, stopped: Bools
) -> Floats:
    """The tasks, with those of whoever came, or lost all it had, on its cheapest servers."""
    new = np.flatnonzero(stopped & ~(tasks > 0).any(axis=1))
    if not len(new):
        return tasks.copy()
    pool = np.where(instance.pool > 0, instance.pool, 1.0)
    cost = task_cost(instance, money / pool, slice(None), None)[new]
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(instance.eligible[new], cost / score[new], np.inf)
    near = each <= rows.least(each)[:, None] * (1 + CHEAPEST)
    found = tasks.copy()
    found[new] = np.where(near, np.minimum(instance.alone[new], 1e300) / 1e3, 0.0)
    return found


__all__ = ["again"]
