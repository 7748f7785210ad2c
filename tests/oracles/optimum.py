r"""The alpha-fair optimum to as many digits as are wanted, in decimals, and a proof of it.

An interior path from a start of its own (no answer and no active set is given), then the proof,
which believes nothing of the path: for tasks z that fit, any prices p >= 0 and values v_n of a unit
of share that no column of n is cheaper than,

    sum_n v_n (s*_n - s_n) <= eps = p (h - g z) + flows + sum_c x_c (cost_c - v u_c)

at every other point s* that fits. With t0_n = (W_n / v_n)^(1/alpha), where the user's welfare less
its bill is highest, what that loses at t = t0 e^z is W t0^(1-alpha) loss(z), loss(z) = e^z - 1 -
(e^((1-alpha) z) - 1)/(1-alpha). So the losses at the optimum are at most eps and the losses at s. A
user that had more than it is due has t0 = what it had; then |W g'(t0) - v| |s| is lost as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal as D
from decimal import localcontext
from math import inf

import numpy as np

from .rows import Rows, exact

DIGITS, STEPS = 160, 250
NEAR_OPTIMUM = D("1e-15")
"""relative distance within which every optimum must be proved to be"""
ZERO, ONE = D(0), D(1)


@dataclass(frozen=True)
class Optimum:
    """share (N,) of every optimum to NEAR_OPTIMUM, exact (N,) the same in decimals; log_money (N,)
    of each user's part of all money; tasks (K,) of the columns at a point that fits; price (M,) of
    rows; steps that it took."""

    share: np.ndarray
    log_money: np.ndarray
    tasks: np.ndarray
    price: np.ndarray
    steps: int
    exact: np.ndarray


def optimum(
    q: Rows, alpha: float, inside: bool = False, hint: np.ndarray | None = None
) -> Optimum | None:
    """The optimum of these rows; None where it was not proved.

    hint : (N, I) tasks, from which the path starts where a start of its own led nowhere.
    """
    if set(q.owner) != set(range(q.users)):
        return None  # somebody can have nothing
    attempts = [(DIGITS, 2.0, None), (3 * DIGITS, 2.0, None), (DIGITS, 1.25, None)]
    attempts += [] if hint is None else [(DIGITS, inf, exact(hint[q.owner, q.server]))]
    short = True
    for precision, growth, start in attempts:
        if precision > DIGITS and not short:
            continue
        with localcontext() as context:
            context.prec = precision
            context.Emax, context.Emin = 10**15, -(10**15)
            path = _Path(q, D(alpha), inside)
            found = path.optimum(D(growth), start)
        if found is not None:
            return found
        short = path.short
    return None


def loss(z: D, alpha: D) -> D:
    """What is lost by e^z times the best amount, in units of its money."""
    if alpha == 1:
        return z.exp() - 1 - z
    return z.exp() - 1 - (((1 - alpha) * z).exp() - 1) / (1 - alpha)


class _Path:
    """Rows with floors among them, and a point of the path."""

    def __init__(self, q: Rows, alpha: D, inside: bool) -> None:
        self.q, self.alpha = q, alpha
        self.log_w = _each(lambda w: w.ln() * (alpha if inside else 1), q.weight)
        self.columns, self.flows = len(q.owner), len(q.low)
        size = self.columns + self.flows
        self.u = np.full((q.users, size), ZERO, dtype=object)
        self.u[q.owner, np.arange(self.columns)] = q.u
        held = [n for n in range(q.users) if q.floor[n] > 0 and q.base[n] == 0]
        self.g = np.concatenate([q.g, -self.u[held]])
        self.h = np.concatenate([q.h, -q.floor[held]])
        # bounds of x and of the flows are rows of one entry
        ends = [(c, -ONE, ZERO) for c in range(self.columns)]
        for f in range(self.flows):
            low, high = q.low[f], q.high[f]
            ends += [] if low is None else [(self.columns + f, -ONE, -low)]
            ends += [] if high is None else [(self.columns + f, ONE, high)]
        own = np.full((len(ends), size), ZERO, dtype=object)
        for k, (c, sign, _) in enumerate(ends):
            own[k, c] = sign
        self.a = np.concatenate([self.g, own])
        self.b = np.concatenate([self.h, np.array([e[2] for e in ends], dtype=object)])

    def optimum(self, growth: D, hint: np.ndarray | None) -> Optimum | None:
        """The last of a few problems, each with an alpha `growth` times as steep as the one before,
        from where that ended."""
        self.steps, alpha, log_w = 0, self.alpha, self.log_w
        stages = [alpha]
        while stages[0] > 3 and growth < inf:
            stages.insert(0, stages[0] / growth)
        for self.alpha in stages:
            self.log_w = log_w * (self.alpha / alpha)  # so that W^(1/alpha) stays
            if self.steps:
                self._restart()
            else:
                self._start(hint)
            if self.alpha < alpha and not self._near():
                return None
        return self._ended()

    def _near(self) -> bool:
        """Steps until the middle of the path; False where that was not reached."""
        while self.steps < STEPS:
            if not self._stepped():
                return False
            self.steps += 1
            if self.off < D("0.1") and self.mu < D("0.01") * max(self.v * self.t):
                return True
        return False

    def _ended(self) -> Optimum | None:
        while self.steps < STEPS:
            if not self._stepped():
                return None
            self.steps += 1
            if self.mu < self.enough:
                found = self._proved(self.steps)
                if found is not None:
                    return found
                self.enough = self.mu * D("1e-10")
        return None

    @property
    def short(self) -> bool:
        """Whether the path came near its end, and lacked digits."""
        return self.steps < STEPS and self.mu < self.first

    def _start(self, hint: np.ndarray | None) -> None:
        q, alpha = self.q, self.alpha
        z = np.full(self.columns + self.flows, ZERO, dtype=object)
        alone = np.full(self.columns, ZERO, dtype=object)
        for c in range(self.columns):
            alone[c] = min(q.h[k] / q.g[k, c] for k in range(len(q.h)) if q.g[k, c] > 0 and q.h[k])
        reach = self.u[:, : self.columns] @ alone
        # parts by weight, so that values of a unit of what could be had are alike
        log_part = (self.log_w + (1 - alpha) * _logs(reach)) / alpha
        part = _each(lambda r: r.exp(), log_part - max(log_part))
        part = part / (2 * sum(part))
        z[: self.columns] = alone * part[q.owner] / self.columns
        if hint is not None:
            z[: self.columns] = D("0.99") * hint + D("0.01") * z[: self.columns]
        self.z = z
        self.t = np.maximum(self.u @ z - q.base, reach * part / self.columns / 100)
        size = _each(lambda row: max(abs(x) for x in row), list(self.a * 1))
        room = self.b - self.a @ z
        # a bound x >= 0 has the room that x starts with
        least = [abs(b) / 10 if b else s / 10**4 for b, s in zip(self.b, size, strict=True)]
        self.s = np.where(room > 0, room, np.array(least, dtype=object))
        self._priced()

    def _restart(self) -> None:
        """Tasks and prices stay, but for one factor of all prices; amounts follow the prices."""
        log_t = (self.log_w - _logs(self.v)) / self.alpha
        apart = sorted(log_t - _logs(np.maximum(self.u @ self.z - self.q.base, self.t / 100)))
        factor = (apart[len(apart) // 2] * self.alpha).exp()
        self.p, self.v, self.mu = self.p * factor, self.v * factor, self.mu * factor
        self.t = _each(lambda r: (r / self.alpha).exp(), self.log_w - _logs(self.v))
        self.first, self.enough = self.mu, self.mu * D("1e-40")

    def _priced(self) -> None:
        """Values of the amounts, and prices at which every row is as far from its end."""
        self.v = _each(lambda r: r.exp(), self.log_w - self.alpha * _logs(self.t))
        money = self.v * self.t
        paid = self._payers()
        part, q = money / max(money), self.q
        # each row is aimed at with the money of those who mostly pay there: it may differ by 1e-200
        rows = [max((part[n] for n in paid[k]), default=min(part)) for k in range(len(self.h))]
        held = [
            max((r for r, line in zip(rows, self.g, strict=True) if line[c] > 0), default=ONE)
            for c in range(self.g.shape[1])
        ]
        own = [c for line in self.a[len(self.h) :] for c in np.flatnonzero(line != 0)]
        rows += [min(held[c], part[q.owner[c]]) if c < self.columns else held[c] for c in own]
        self.due = np.array(rows, dtype=object)
        self.mu = max(money)
        self.p = self.mu * self.due / self.s
        self.first, self.enough = self.mu, self.mu * D("1e-40")

    def _payers(self) -> list[list[int]]:
        """By row, users most of whose money goes there, as the point has it; at the start all."""
        q, rows = self.q, range(len(self.h))
        if not hasattr(self, "p"):
            return [
                [n for n in range(q.users) if any(self.g[k, : self.columns][q.owner == n] > 0)]
                for k in rows
            ]
        amount = np.zeros((len(self.h), q.users), dtype=object)
        for c, n in enumerate(q.owner):
            amount[:, n] += self.g[:, c] * self.z[c] * self.p[: len(self.h)]
        whole = np.maximum(amount, 0).sum(axis=0)
        return [[n for n in range(q.users) if amount[k, n] > whole[n] / 4] for k in rows]

    def _stepped(self) -> bool:
        """A step with a corrector; False where the system has no answer, or too few digits."""
        if not self.s.all():
            return False
        alpha, a, u = self.alpha, self.a, self.u
        r1 = a.T @ self.p - u.T @ self.v
        r2 = a @ self.z + self.s - self.b
        r3 = u @ self.z - self.q.base - self.t
        bend = alpha * self.v / self.t
        weight = self.p / self.s
        matrix = (a.T * weight) @ a + (u.T * bend) @ u
        factor = _factored(matrix)
        if factor is None:
            return False

        def direction(rc: np.ndarray) -> tuple[np.ndarray, ...]:
            right = -r1 - a.T @ ((rc + self.p * r2) / self.s) - u.T @ (bend * r3)
            dz = _solved(factor, right)
            ds, dt = -r2 - a @ dz, r3 + u @ dz
            return dz, ds, (rc - self.p * ds) / self.s, -bend * dt, dt

        dz, ds, dp, dv, dt = direction(-self.p * self.s)
        ahead = self._longest(ds, dp, dv, dt)
        after = sum((self.p + ahead * dp) * (self.s + ahead * ds)) / sum(self.due)
        # the path waits for what is not linear
        worth = self.v[self.q.owner] * self.q.u
        off = max(*(abs(r3) / self.t), *(abs(r1[: self.columns]) / worth))
        aim = max((after / self.mu) ** 3, ONE if off > D("0.5") else off / 2) * self.mu
        self.off = off
        dz, ds, dp, dv, dt = direction(aim * self.due - self.p * self.s - ds * dp)
        most = self._longest(ds, dp, dv, dt)
        length = min(ONE, most * max(D("0.9"), 1 - self.mu / self.first))
        self.length = length
        self.z = self.z + length * dz
        self.s, self.p = self.s + length * ds, self.p + length * dp
        # of value and amount, the one that the other follows slowly
        if alpha > 1:
            self.v = self.v + length * dv
            self.t = _each(lambda r: (r / alpha).exp(), self.log_w - _logs(self.v))
        else:
            self.t = self.t + length * dt
            self.v = _each(lambda r: r.exp(), self.log_w - alpha * _logs(self.t))
        self.mu = sum(self.p * self.s) / sum(self.due)
        return True

    def _longest(self, ds, dp, dv, dt) -> D:
        own = (dv, self.v) if self.alpha > 1 else (dt, self.t)
        here = ((ds, self.s), (dp, self.p), own)
        shrink = max(max(-d / x for d, x in zip(step, at, strict=True)) for step, at in here)
        return ONE / shrink if shrink > 1 else ONE

    def _proved(self, steps: int) -> Optimum | None:
        """The shares, if every optimum is proved to have them to NEAR_OPTIMUM."""
        q, alpha = self.q, self.alpha
        x, y = self.z[: self.columns], self.z[self.columns :]
        x = np.array([max(v, ZERO) for v in x], dtype=object)
        z = np.concatenate([x, y])
        price = self.p[: len(self.h)]
        left = self.h - self.g @ z
        if min(left) < 0:
            # rows of one sign can be kept by a little less of everything
            if self.flows or min(self.g.ravel()) < 0:
                return None
            over = max(-v / h for v, h in zip(left, self.h, strict=True))
            z = x = x * (1 - 2 * over)
            left = self.h - self.g @ z
            if min(left) < 0:
                return None
        cost = self.g.T @ price
        eps = sum(price * left)
        bound = sum(abs(v) for v in self.h)
        for f in range(self.flows):
            drift = -cost[self.columns + f]
            end = q.high[f] if drift > 0 else q.low[f]
            far = bound if end is None else end
            eps += abs(drift) * abs(far - y[f])
            if (q.low[f] is not None and y[f] < q.low[f]) or (
                q.high[f] is not None and y[f] > q.high[f]
            ):
                return None
        v = np.array(
            [min(cost[c] / q.u[c] for c in np.flatnonzero(q.owner == n)) for n in range(q.users)],
            dtype=object,
        )
        t = self.u @ z - q.base
        if min(v) <= 0 or min(t) <= 0:
            return None
        eps += sum(x * (cost[: self.columns] - v[q.owner] * q.u))
        # who had more than it is due gets nothing: t0 is no less than what it had
        best = _each(lambda r: (r / alpha).exp(), self.log_w - _each(lambda r: r.ln(), v))
        t0 = np.maximum(best, -q.base)
        money = _each(lambda r: r.exp(), self.log_w + (1 - alpha) * _logs(t0))
        eps += sum(abs((m / b - p) * (r - b)) for m, b, p, r in zip(money, t0, v, t, strict=True))
        eps += sum(m * loss((a / b).ln(), alpha) for m, a, b in zip(money, t, t0, strict=True))
        near = min(loss(NEAR_OPTIMUM, alpha), loss(-NEAR_OPTIMUM, alpha))
        if eps < 0 or any(m * near <= eps for m in money):
            return None
        total, share = sum(money), q.base + t0
        return Optimum(
            np.array([float(v) for v in share]),
            np.array([float((m / total).log10()) for m in money]),
            np.array([float(v) for v in x]),
            np.array([float(p / total) for p in price]),
            steps,
            share,
        )


def _each(function, values) -> np.ndarray:
    return np.array([function(v) for v in values], dtype=object)


def _logs(values) -> np.ndarray:
    return _each(lambda v: v.ln(), values)


def _factored(matrix: np.ndarray) -> np.ndarray | None:
    """L D L^T of a positive definite matrix, D on the diagonal; None where it is not one."""
    a = matrix.copy()
    for k in range(len(a)):
        if not a[k, k] > 0:
            return None
        low = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k + 1 :] -= low[:, None] * a[k, k + 1 :][None, :]
        a[k + 1 :, k] = low
    return a


def _solved(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    x = right.copy()
    for k in range(len(x)):
        x[k + 1 :] -= factor[k + 1 :, k] * x[k]
    x = x / np.diag(factor)
    for k in reversed(range(len(x))):
        x[:k] -= factor[k, :k] * x[k]
    return x
