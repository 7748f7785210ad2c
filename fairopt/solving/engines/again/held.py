"""Pairs that hold tasks: prices at which they cost a user the same, and tasks that fill rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairopt.instance import Bools, Floats, Instance, Ints

TURNS, ENOUGH, RIDGE = 15, 1e-13, 1e-11
"""most corrections; what may be left of them; added to a diagonal, as a part of it"""
SLOW, STALLS = 0.5, 3
"""prices are given up after a correction that leaves more than this part; tasks after so many that
leave no less than the best before: they are to lie elsewhere"""


class PairsHeld:
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
        on, many, worst = np.flatnonzero(money > 0), np.maximum(many, 1.0), np.inf
        for _ in range(TURNS):
            paid = self.uses * money[self.server]
            cost = np.where(paying, self._paid(money), 1.0)
            log_q = np.where(paying, np.log(cost / self.worth), 0.0)
            mean_q = self._by_user(log_q) / many
            apart = np.where(paying, log_q - mean_q[self.user], 0.0)
            if np.abs(apart).max(initial=0.0) <= ENOUGH:
                pays = self._by_user(paying.astype(np.float64)) > 0
                return money, np.where(pays, np.exp(mean_q), 0.0)
            if not np.abs(apart).max() < SLOW * worst:
                return None
            worst = float(np.abs(apart).max())
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
            slow = not off < SLOW * worst
            stalls, worst = stalls + (not off < worst), min(worst, off)
            same = system is not None and not (over & ~full).any()
            if stalls > STALLS or (same and slow):
                return None
            if not same:
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
