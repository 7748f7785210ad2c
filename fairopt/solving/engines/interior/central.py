r"""A central path whose every target is relative to the user it concerns, in logarithms.

A limit is a row like a capacity. For a parameter tau, unknowns log x (pairs) and log pi (money
of rows):

.. math::
   c_h = W_n u_h s_n^{-\alpha} + \tau m_n / x_h, \qquad used_f + \tau M_f / \pi_f = 1

with c_h the money a task of pair h costs. For fixed targets m, M > 0 the solution is the unique
maximiser of sum W g(s) + tau (sum m_n log x_h + sum M_f log slack_f), so it exists and Newton's
method finds it. An ordinary interior method has equal targets, too coarse for users whose money is
small. Here m_n is
the money of the user, W s^(1-alpha), and M_f the mean (harmonic, by use) of the money of those who
use the row, computed again whenever tau falls. At the end the relative distance of EVERY user from
its optimum is about tau, for any weights, units and alpha.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy.sparse import block_array, csr_array
from scipy.sparse.linalg import splu

from fairopt import clock
from fairopt.instance import Floats, Ints
from fairopt.solving.engines.interior.limit_money import cut
from fairopt.solving.engines.point import Point, Question

DENSE = 700
LAST = 1e-11
"""tau at the end of the path"""
MEETING = 1e-2
"""tau at which the exponent is moved from its first value to alpha"""
MOST = 3.0
"""largest change of the logarithm of a target in one update"""


def follow(question: Question, last: float = LAST) -> Point | None:
    """The point of the central path at tau = `last`, or the furthest one reached.

    The path begins at an exponent near 1 and a large tau, where Newton converges from afar; at
    tau = 1e-2 the exponent moves to the one asked for, then tau falls. None: Newton
    did not converge at any first tau.
    """
    alpha = min(max(question.alpha, 0.5), 1.0)
    # levels are proportional to W^(1/alpha): it begins with a spread of at most one decade
    log_v = question.log_w / max(question.alpha, 1.0)
    log_v = log_v - log_v.mean()
    spread = float(np.ptp(log_v))
    easy = log_v * min(1.0, np.log(10) / spread) if spread > 0 else log_v
    same = alpha == question.alpha and bool((easy == log_v).all())
    path = _CentralPath(question.at(alpha, easy))
    # each row is paid more than tau, and a user's money is 1: tau above 1 / its rows is impossible
    first = 0.3 / path.most_rows()
    meeting = last if same else min(MEETING, first)
    begin = path.begin()
    there = _descend(path, begin, path.aims(begin), first, meeting)
    if there is None or same:
        return None if there is None else path.point(there[0])
    moved = _move(path, question.alpha, (easy, log_v), *there)
    if moved is None:
        return path.point(there[0])
    path, state, aims = moved
    end = _descend(path, state, aims, there[2], last)
    return path.point(state if end is None else end[0])


def _descend(
    path: _CentralPath, state: Floats, aims: Floats, tau: float, last: float
) -> tuple[Floats, Floats, float] | None:
    """(state, targets, tau) at tau = last or as near as Newton gets."""
    factor, before, waited, met = 0.2, tau, 0, aims
    reached: Floats | None = None
    for _ in range(300):
        found, rounds = path.newton(state, aims, tau)
        if found is None:
            if reached is None:
                tau /= 5
                if tau < 1e-9:
                    return None
                continue
            # Newton failed: repeat with smaller changes of the targets and of tau
            factor = factor**0.5
            if factor > 0.97:
                break
            tau, aims = before * factor, met + (aims - met) / 2
            continue
        reached, state, before, met = found, found, tau, aims
        moved = path.aims(state, aims)
        far = float(np.abs(moved - aims).max()) >= 0.9 * MOST
        aims = moved
        if far and waited < 60:
            # the targets still lag behind the users' money: update them before tau falls
            waited += 1
            continue
        if tau <= last:
            break
        if rounds <= 5:
            factor = max(factor**1.5, 1e-3)
        elif rounds > 10:
            factor = min(factor**0.7, 0.9)
        tau = max(tau * factor, last)
    return None if reached is None else (reached, aims, before)


def _move(
    path: _CentralPath,
    target: float,
    log_v: tuple[Floats, Floats],
    state: Floats,
    aims: Floats,
    tau: float,
) -> tuple[_CentralPath, Floats, Floats] | None:
    """The path of the exponent and weights asked for, and its point at tau, in steps."""
    done, step, first = 0.0, 0.34, path.alpha
    while done < 1:
        ahead = min(1.0, done + step)
        alpha = (
            first * (target / first) ** ahead
            if target > first
            else first + ahead * (target - first)
        )
        alpha = target if ahead == 1 else alpha
        next_path = path.at(alpha, max(alpha, 1.0) * ((1 - ahead) * log_v[0] + ahead * log_v[1]))
        shift = path.carry(state, next_path)
        found, _ = next_path.newton(state + shift[0], aims + shift[1], tau)
        if found is None:
            step /= 2
            if step < 1e-3:
                return None
            continue
        path, state, done, step = next_path, found, ahead, min(2 * step, 1.0)
        aims = aims + shift[1]
        for _ in range(30):
            moved = path.aims(state, aims)
            if float(np.abs(moved - aims).max()) < 0.9 * MOST:
                break
            again, _ = path.newton(state, moved, tau)
            if again is None:
                break
            state, aims = again, moved
    return path, state, aims


class _CentralPath:
    """The conditions for one exponent; state = (log x, log pi), limits being rows too."""

    def __init__(self, question: Question) -> None:
        inst = question.instance
        self.question, self.alpha, self.log_w = question, question.alpha, question.log_w
        self.users, self.servers, self.resources = inst.shape
        self.n, self.i = question.pairs
        self.pairs = len(self.n)
        use = question.use
        pair, r = np.nonzero(use)
        self.keys, row = np.unique(self.i[pair] * self.resources + r, return_inverse=True)
        self.limited = np.flatnonzero(np.isfinite(inst.limit))
        place = np.full(self.users, -1)
        place[self.limited] = np.arange(len(self.limited))
        capped = np.flatnonzero(place[self.n] >= 0)
        user = self.n[capped]
        self.pair = np.concatenate([pair, capped])
        self.row = np.concatenate([row, len(self.keys) + place[user]])
        self.log_b = np.concatenate([np.log(use[pair, r]), -np.log(inst.limit[user])])
        self.rows = len(self.keys) + len(self.limited)
        self.size = self.pairs + self.rows
        self.log_u = np.log(question.share_per_task)
        self.log_size = np.log(inst.alone[self.n, self.i])
        self.same = _same_user(self.n, self.users)

    def most_rows(self) -> int:
        """The most rows any one user uses."""
        both = np.unique(self.n[self.pair] * self.rows + self.row)
        return int(np.bincount(both // self.rows).max())

    def at(self, alpha: float, log_w: Floats) -> _CentralPath:
        """The same arrays for another exponent and other weights."""
        other = copy(self)
        other.alpha, other.log_w = alpha, log_w
        return other

    def begin(self) -> Floats:
        """A first state: rows are at most half full, each user's money is divided over its rows."""
        on_server = np.bincount(self.i, minlength=self.servers)
        x = self.log_size - np.log(2.0 * on_server[self.i])
        over = np.maximum(_lse(self.row, self.log_b + x[self.pair], self.rows) + np.log(2), 0.0)
        down = np.zeros(self.pairs)
        np.maximum.at(down, self.pair, over[self.row])
        x = x - down
        share = _lse(self.n, self.log_u + x, self.users)
        money = self.log_w[self.n] + self.log_u + x - self.alpha * share[self.n]
        return np.concatenate([x, _lse(self.row, money[self.pair], self.rows)])

    def carry(self, state: Floats, other: _CentralPath) -> tuple[Floats, Floats]:
        """State and targets for another problem: the money of rows changes as their users' does."""
        x = state[: self.pairs]
        share = _lse(self.n, self.log_u + x, self.users)
        moved = other.log_w - self.log_w + (self.alpha - other.alpha) * share
        paid = np.exp(self.log_b + x[self.pair])
        money = np.bincount(self.row, paid * moved[self.n[self.pair]], self.rows)
        rows = money / np.bincount(self.row, paid, self.rows)
        return np.concatenate([np.zeros(self.pairs), rows]), np.concatenate([moved[self.n], rows])

    def point(self, state: Floats) -> Point:
        money, capped = np.split(state[self.pairs :], [len(self.keys)])
        top = float(money.max())
        rows = np.zeros(self.servers * self.resources)
        rows[self.keys] = np.exp(money - top)
        limits = np.zeros(self.users)
        limits[self.limited] = cut(capped - top, 0.0)
        return Point(
            np.exp(state[: self.pairs]), rows.reshape(self.servers, self.resources), limits
        )

    # -- Newton -------------------------------------------------------------------------------

    def aims(self, state: Floats, before: Floats | None = None) -> Floats:
        """log m of each pair's user, log M of each row, at the present point; no target moves by
        more than exp(MOST) at once."""
        x = state[: self.pairs]
        share = _lse(self.n, self.log_u + x, self.users)
        own = (self.log_w + (1 - self.alpha) * share)[self.n]
        use = self.log_b + x[self.pair]
        used = _lse(self.row, use, self.rows)
        found = np.concatenate([own, used - _lse(self.row, use - own[self.pair], self.rows)])
        return found if before is None else before + np.clip(found - before, -MOST, MOST)

    def newton(
        self, state: Floats, aims: Floats, tau: float, most: int = 60
    ) -> tuple[Floats | None, int]:
        """The point at tau, and how many steps it took; None when Newton does not get there."""
        enough = min(1e-3, max(1e-9, tau))
        residual, parts = self._residual(state, aims, tau)
        norm = float(np.linalg.norm(residual))
        for rounds in range(most):
            clock.tick()
            if float(np.abs(residual).max()) <= enough:
                return state, rounds
            step = self._step(state, parts, -residual)
            if step is None:
                return None, rounds
            length = min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-300))
            while True:
                moved = state + length * step
                new, new_parts = self._residual(moved, aims, tau)
                new_norm = float(np.linalg.norm(new))
                if new_norm <= (1 - 1e-4 * length) * norm:
                    break
                length /= 2
                if length < 1e-4:
                    return None, rounds
            state, residual, parts, norm = moved, new, new_parts, new_norm
        return None, most

    def _residual(
        self, state: Floats, aims: Floats, tau: float
    ) -> tuple[Floats, tuple[Floats, ...]]:
        x, money = state[: self.pairs], state[self.pairs :]
        share = _lse(self.n, self.log_u + x, self.users)
        price = self.log_b + money[self.row]
        cost = _lse(self.pair, price, self.pairs)
        log_value = self.log_w[self.n] + self.log_u - self.alpha * share[self.n]
        extra = np.logaddexp(0.0, np.log(tau) + aims[: self.pairs] - x - log_value)
        used = _lse(self.row, self.log_b + x[self.pair], self.rows)
        slack = np.log(tau) + aims[self.pairs :] - money
        second = np.logaddexp(used, slack)
        # divided by a large alpha, so that all conditions are of the same size
        first = (cost - log_value - extra) / max(1.0, self.alpha)
        residual = np.concatenate([first, second])
        if not np.isfinite(residual).all():
            residual = np.full(self.size, 1e300)
        return residual, (share, price - cost[self.pair], extra, slack, second)

    def _step(self, state: Floats, parts: tuple[Floats, ...], right: Floats) -> Floats | None:
        share, log_in_cost, extra, slack, second = parts
        pairs, rows, steep = self.pairs, self.rows, max(1.0, self.alpha)
        x = state[:pairs]
        kappa = -np.expm1(-extra)
        part = np.exp(self.log_u + x - share[self.n])
        left, across = self.same
        each = np.arange(pairs)
        first = csr_array(
            (
                np.concatenate([self.alpha * (1 - kappa[left]) * part[across], kappa]),
                (np.concatenate([left, each]), np.concatenate([across, each])),
            ),
            shape=(pairs, pairs),
        )
        costs = csr_array((np.exp(log_in_cost), (self.pair, self.row)), shape=(pairs, rows))
        used = np.exp(self.log_b + x[self.pair] - second[self.row])
        below = csr_array((used, (self.row, self.pair)), shape=(rows, pairs))
        free = csr_array(
            (-np.exp(slack - second), (np.arange(rows), np.arange(rows))), shape=(rows, rows)
        )
        matrix = block_array([[first / steep, costs / steep], [below, free]], format="csc")
        try:
            if not np.isfinite(matrix.data).all():
                return None
            if self.size <= DENSE:
                step = np.linalg.solve(matrix.toarray(), right)
            else:
                step = splu(matrix).solve(right)
        except (RuntimeError, ValueError, np.linalg.LinAlgError):
            return None
        return step if np.isfinite(step).all() else None


def _lse(index: Ints, terms: Floats, size: int) -> Floats:
    """log sum exp of the terms of each index; -inf where an index has none."""
    top = np.full(size, -np.inf)
    np.maximum.at(top, index, terms)
    base = np.where(np.isfinite(top), top, 0.0)
    total = np.bincount(index, np.exp(terms - base[index]), size)
    with np.errstate(divide="ignore"):
        return base + np.log(total)


def _same_user(n: Ints, users: int) -> tuple[Ints, Ints]:
    """All (left, right) pairs of positions that share a user; n is sorted."""
    counts = np.bincount(n, minlength=users)
    starts = np.cumsum(counts) - counts
    each = counts[n]
    left = np.repeat(np.arange(len(n)), each)
    offset = np.arange(len(left)) - np.repeat(np.cumsum(each) - each, each)
    return left, starts[n][left] + offset
