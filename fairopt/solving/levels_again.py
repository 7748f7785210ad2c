r"""Plain max-min again after one change: the rows that stopped each user do so again.

The prices of a level say how high it is: with q_n the cheapest price of a unit of share, B the
value of what is priced and s_n the shares of who was stopped before, or is at its limit,

.. math:: t = \Big( B - \sum_{before} q_n s_n \Big) \Big/ \sum_{level} q_n \phi_n .

So all shares are known, level after level. Tasks follow, by the least change of the last ones that
fills the rows with a price. Whether all of that is still so is for the judge to say.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas import rows
from fairopt.formulas.blocked import task_cost
from fairopt.instance import Bools, Floats, Instance, Ints
from fairopt.notions import Notion
from fairopt.solving import renamed
from fairopt.solving.engines.again import matching

FEWEST = 2_000
"""pairs from which a start is worth trying"""
SURE = 1e-9
"""prices of less than this part of the dearest are noise"""
TURNS, ENOUGH, RIDGE = 15, 1e-13, 1e-11
"""most corrections; what may be left of them; added to a diagonal, as a part of it"""
STALLS = 3
"""corrections that leave no less than the best before, after which tasks are to lie elsewhere"""
MUCH = 1e-3
"""part of a share that stays where it is though its server is dearer now: its price is to change"""
CHEAPEST = 1e-6
"""a newcomer begins on servers whose price is within this part of its cheapest"""


def again(
    instance: Instance, notion: Notion, score: Floats, start: Allocation
) -> Allocation | None:
    """The answer to which the last one leads, not judged; None where it leads nowhere."""
    with np.errstate(all="ignore"):
        return _again(instance, notion, score, start)


def _again(
    instance: Instance, notion: Notion, score: Floats, start: Allocation
) -> Allocation | None:
    few = instance.shape[0] * instance.shape[1] < FEWEST
    if few or start.level_prices is None:
        return None
    came = _new_servers(start, instance)
    money = []
    for prices in start.level_prices[start.level_prices.any(axis=(1, 2))]:
        given = renamed.prices({"prices": prices}, start.instance, instance)["prices"]
        given[came] = np.median(given[~came], axis=0)
        one = given * instance.pool
        money.append(np.where(one > SURE * one.max(initial=0.0), one, 0.0))
    if not money:
        return None
    pays = np.array([_cheapest(instance, score, one) > 0 for one in money])
    most = np.where(instance.eligible, score, 0.0).max(axis=1) * instance.limit
    # the first level at which a user pays is that at which it is stopped
    level = np.where(pays.any(axis=0), pays.argmax(axis=0), -1)
    if not np.isfinite(most[level < 0]).all():
        return None
    before = _moved_on(instance, score, renamed.columns(start, instance), came)
    tasks, kept = np.zeros_like(before), np.zeros(before.shape, dtype=bool)
    for k, one in enumerate(money):
        mine = level == k
        begun = _begun(instance, score, before, one, mine)
        tasks[mine], kept[mine] = begun[mine], _cheap(instance, score, begun, one)[mine]
    tasks[level < 0], kept[level < 0] = before[level < 0], before[level < 0] > 0
    n, i = (part.astype(np.int64) for part in np.nonzero(kept))
    held = _PairsHeld(instance, score, n, i)
    share = np.where(level < 0, most, 0.0)
    told = []
    for k in range(len(money)):
        found = held.alike(money[k])
        if found is None:
            return None
        money[k], paid = found
        if (_cheapest(instance, score, money[k]) < paid * (1 - SURE)).any():
            return None  # somebody has to come to a server
        mine = level == k
        left = float(money[k].sum()) - float((paid * share)[~mine].sum())
        if not (mine.any() and float((paid * instance.weight)[mine].sum()) > 0):
            continue  # nobody of this level is left
        t = _height(left, paid[mine], instance.weight[mine], most[mine])
        if not 0 < t < np.inf:
            return None
        share[mine] = np.minimum(t * instance.weight, most)[mine]
        told.append((t, money[k] / float(money[k].sum())))
    full = np.zeros(instance.pool.shape, dtype=bool)
    for _, one in told:
        full |= one > 0
    x = held.filled(tasks[n, i], share, full)
    if x is None:
        return None
    answer = np.zeros(instance.shape[:2])
    answer[n, i] = x
    pool = np.where(instance.pool > 0, instance.pool, 1.0)
    told.sort(key=lambda one: one[0])
    return Allocation(
        instance,
        notion,
        answer,
        level_prices=np.array([price / pool for _, price in told]),
        score=score,
    )


def _new_servers(start: Allocation, instance: Instance) -> Bools:
    """(I,) servers that were not there before."""
    there = set(start.instance.servers)
    return np.array([name not in there for name in instance.servers], dtype=bool)


def _moved_on(instance: Instance, score: Floats, tasks: Floats, came: Bools) -> Floats:
    """The tasks (N, I), with a part of everybody's on each server that came."""
    if not came.any():
        return tasks
    share = matching.filled(instance, score, tasks * score, np.flatnonzero(came))
    return np.divide(share, score, out=np.zeros_like(share), where=share > 0)


def _height(left: float, paid: Floats, weight: Floats, most: Floats) -> float:
    """The level t at which users (N,) who pay so much for a unit of share spend what is left, each
    t times its weight or the most that its limit allows."""
    order = np.argsort(most / weight)
    cap, rate = most[order] / weight[order], (paid * weight)[order]
    spent = np.concatenate([[0.0], np.cumsum(rate * cap)])  # by those at their limits
    rising = np.cumsum(rate[::-1])[::-1]
    with np.errstate(invalid="ignore"):
        stops = spent[:-1] + rising * cap > left
    if not stops.any():
        return np.inf
    first = int(stops.argmax())
    return float((left - spent[first]) / rising[first])


class _PairsHeld:
    """The pairs (C,) that hold tasks, and rows (I, R) of all resources.

    uses : (C, R), part of each row of its server that a task takes.
    """

    def __init__(self, instance: Instance, score: Floats, n: Ints, i: Ints) -> None:
        self.user, self.server = n, i
        self.count, self.rows, self.weight = (
            len(instance.users),
            instance.pool.shape,
            instance.weight,
        )
        self.worth = score[n, i]
        demand = instance.demand[n] if instance.demand.ndim == 2 else instance.demand[n, i]
        self.uses = demand / np.where(instance.pool > 0, instance.pool, 1.0)[i]

    def _by_user(self, of_pairs: Floats) -> Floats:
        return np.asarray(np.bincount(self.user, of_pairs, self.count), dtype=np.float64)

    def _paid(self, price: Floats) -> Floats:
        """(C,) what a task costs at prices of rows (I, R)."""
        return np.asarray(np.einsum("cr,cr->c", self.uses, price[self.server]), dtype=np.float64)

    def _by_row(self, of_pairs: Floats) -> Floats:
        """(I, R) the sums of (C, R)."""
        each = [np.bincount(self.server, one, self.rows[0]) for one in of_pairs.T]
        return np.asarray(np.stack(each, axis=1), dtype=np.float64)

    def _square(self, part: Floats, per: Floats, own: Floats, on: Ints) -> tuple[Floats, Floats]:
        """A^T A of (C, R) parts of the rows `on` (M,), less what users (N,) of so much take up; and
        (N, M) what users have of rows."""
        many = self.rows[1]
        number = np.full(self.rows[0] * many, -1)
        number[on] = np.arange(len(on))
        number = number.reshape(self.rows)
        body, has = np.zeros((len(on), len(on))), np.zeros((self.count, len(on)))
        for r in range(many):
            mine = number[self.server, r]
            some = np.flatnonzero((mine >= 0) & (part[:, r] != 0))
            at = self.user[some] * len(on) + mine[some]
            value = per[some] * part[some, r]
            has += np.bincount(at, value, has.size).reshape(has.shape)
            for other in range(r, many):
                sums = np.bincount(self.server, part[:, r] * part[:, other], self.rows[0])
                both = (number[:, r] >= 0) & (number[:, other] >= 0)
                one, two = number[both, r], number[both, other]
                body[one, two] = body[two, one] = sums[both]
        half = has / np.sqrt(own)[:, None]
        return body - half.T @ half, has

    def alike(self, money: Floats) -> tuple[Floats, Floats] | None:
        """Money of rows (I, R), changed by as little as can be until what a user holds costs it the
        same, and (N,) the price of a unit of its share; None if that fails."""
        paying = self._paid(money) > 0
        many = self._by_user(paying.astype(np.float64))
        if (many[self.user[~paying]] > 0).any():
            return None  # what a user holds is free in part
        on, many = np.flatnonzero(money > 0), np.maximum(many, 1.0)
        for _ in range(TURNS):
            paid = self.uses * money[self.server]
            cost = np.where(paying, self._paid(money), 1.0)
            log_q = np.where(paying, np.log(cost / self.worth), 0.0)
            mean_q = self._by_user(log_q) / many
            apart = np.where(paying, log_q - mean_q[self.user], 0.0)
            if np.abs(apart).max(initial=0.0) <= ENOUGH:
                pays = self._by_user(paying.astype(np.float64)) > 0
                return money, np.where(pays, np.exp(mean_q), 0.0)
            part = paid / cost[:, None]
            body, _ = self._square(part, np.ones(len(cost)), many, on)
            solved = _factored(body)
            change = (
                None if solved is None else solved(self._by_row(part * apart[:, None]).ravel()[on])
            )
            if change is None or not (np.abs(change) < 0.5).all():
                return None
            money = money.copy()
            money.ravel()[on] *= 1.0 - change
        return None

    def filled(self, x: Floats, due: Floats, full: Bools) -> Floats | None:
        """The tasks (C,), changed by the least part of themselves until everybody has the share
        that is due (N,) and rows that are to be full (I, R) are, as those that would be overrun;
        None if that fails."""
        x = x * (due / self._by_user(x * self.worth))[self.user]
        per = self.worth / due[self.user]
        worst, stalls, system = np.inf, 0, None
        for _ in range(TURNS):
            short, left = 1.0 - self._by_user(x * per), 1.0 - self._by_row(self.uses * x[:, None])
            over = left < -ENOUGH
            off = max(float(np.abs(short).max()), float(np.abs(left[full | over]).max(initial=0.0)))
            if off <= ENOUGH:
                return x
            stalls, worst = stalls + (not off < worst), min(worst, off)
            if stalls > STALLS:
                return None
            if system is None or (over & ~full).any():
                full = full | over
                size, on = x**2, np.flatnonzero(full)
                own = self._by_user(size * per**2)
                body, has = self._square(self.uses * x[:, None], x * per, own, on)
                system = _factored(body)
            more = None if system is None else system(left.ravel()[on] - has.T @ (short / own))
            if more is None:
                return None
            price = np.zeros(self.rows)
            price.ravel()[on] = more
            mine = (short - has @ more) / own
            x = x + size * (per * mine[self.user] + self._paid(price))
            if (x < 0).any():  # what holds no more is left out
                x, system = np.maximum(x, 0.0), None
            if not (self._by_user(x * per) > 0).all():
                return None
        return None


def _cheap(instance: Instance, score: Floats, tasks: Floats, money: Floats) -> Bools:
    """(N, I) pairs that hold tasks where these are about as cheap as anywhere, or much of a
    share."""
    pool = np.where(instance.pool > 0, instance.pool, 1.0)
    cost = task_cost(instance, money / pool, slice(None), None)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(instance.eligible, cost / score, np.inf)
        part = tasks * score / rows.total(tasks * score)[:, None]
        dearer = each / rows.least(each)[:, None] - 1.0
    used = (dearer < CHEAPEST) & (part > SURE * dearer)
    found: Bools = (tasks > 0) & (used | (part > MUCH))
    return found


def _factored(body: Floats) -> Callable[[Floats], Floats | None] | None:
    """What solves a symmetric system that may be singular by little; None where nothing does."""
    from scipy.linalg import cho_factor, cho_solve

    if not np.isfinite(body).all():
        return None
    some = np.arange(len(body))
    body[some, some] += RIDGE * np.maximum(body[some, some], 1e-300)
    try:
        factor = cho_factor(body, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None

    def solved(right: Floats) -> Floats | None:
        found = np.asarray(cho_solve(factor, right, check_finite=False))
        return found if np.isfinite(found).all() else None

    return solved


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
