r"""Users of a tie that few others share: they keep their own tasks x and reduced costs nu.

Whether such a user takes the one server or the other decides how much of them is used, so its
division is a step in prices once tau is small, on which Newton cycles. As in an interior method,
x and nu are unknowns of their own, with

.. math:: d_n \cdot \lambda_i + \mu_n - p_n u_{ni} = \nu_{ni}, \quad p_n = W_n s_n^{-\alpha}, \quad
          s_n = \sum_i u_{ni} x_{ni}, \quad \sum_i x_{ni} + l_n = L_n,

x nu -> tau p s / k (k servers in reach), mu l -> tau p s. A step eliminates them user by user: with
theta = x / nu, v = -dp and z = target / nu - theta (dual + dc), all of one user,

.. math:: dx = z - \theta (u v + d\mu), \quad
          \sum u\, dx = s v / (\alpha p), \quad \sum dx = short - (target - l\, d\mu) / \mu,

two equations for v and dmu. They are solved around the mean score ū of theta: theta is of the size
of 1/tau, and its sums cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.smooth import Smooth, Sums
from fairopt.solving.engines.smoothed.users import UsersRead

STEEP = 1.0
"""alpha above which p is an unknown and s = (W / p)^(1/alpha) is linearised, not p"""
STATE = ("x", "nu", "mu", "room", "p")
WITHIN = 10.0
"""factor within which products are to stay of their targets"""
LEAST_TAU = 0.3
"""part of tau that a server far too dear begins with"""


class SharpStep(NamedTuple):
    """A change of x (S, I), nu (S, I), mu (S,), l (S,) and p (S,)."""

    x: Floats
    nu: Floats
    mu: Floats
    room: Floats
    p: Floats


class Sharp:
    """S users with tasks x, reduced costs nu, and prices mu and rooms l of their limits."""

    def __init__(self, users: UsersRead, smooth: Smooth, prices: ServerPrices, tau: float) -> None:
        """They begin at the smooth division, with their share as it is: a power of it is their
        marginal value, and a share that is off by 2% would be a price a thousand windows off."""
        self._shape(users)
        split = smooth.split(slice(0, len(users)), prices, tau)
        depth = split.depth.T
        q = np.exp(split.log_q)
        log_share = (users.log_w - split.log_q) / users.alpha
        share = np.exp(log_share)
        part = np.where(self.on, split.part.T, 0.0)
        # reduced costs relative to q u, at least so large that x nu is near its target
        above = np.where(self.on, np.expm1(-tau * (depth - split.log_sum[:, None])), 1.0)
        even = 1 / self.k[:, None]
        above = np.maximum(above, tau * even / np.maximum(part, even))
        tasks = part * (q * share)[:, None] / split.cost.T
        begun = LEAST_TAU * tau * even / above * share[:, None] / _or_one(self.u)
        tasks += np.where(self.on, begun, 0.0)
        self.x = tasks * (share / (tasks * self.u).sum(axis=1))[:, None]
        self.nu = np.where(self.on, above * q[:, None] * self.u, 1.0)
        self.p = q
        self.mu, self.room = np.zeros(len(users)), np.ones(len(users))
        if self.limited is not None and users.limit is not None and split.mu is not None:
            money = q * share
            left = np.maximum(users.limit - self.x.sum(axis=1), tau * users.limit)
            beside = np.minimum(tau * money / _or_one(split.mu), users.limit)
            self.room = np.where(split.mu > 0, beside, left)
            self.mu = tau * money / self.room
            self.mu = np.where(self.limited, self.mu, 0.0)
            self.room = np.where(self.limited, self.room, 1.0)

    def _shape(self, users: UsersRead) -> None:
        self.users, self.on, self.steep = users, users.eligible, users.alpha > STEEP
        self.k = np.maximum(self.on.sum(axis=1), 1)
        self.u = np.ones(self.on.shape) if users.log_score is None else np.exp(users.log_score)
        self.u = np.where(self.on, self.u, 0.0)
        self.limited = None if users.limit is None else np.isfinite(users.limit)

    def state(self) -> dict[str, Floats]:
        """What an iteration changes."""
        return {name: getattr(self, name) for name in STATE}

    @classmethod
    def of_state(cls, users: UsersRead, state: Mapping[str, Floats]) -> Sharp:
        """The users in a state that was kept."""
        found = cls.__new__(cls)
        found._shape(users)
        for name in STATE:
            setattr(found, name, np.array(state[name]))
        return found

    def keep(self, known: Bools, old: Sharp, prices: Floats, tau: float) -> None:
        """Take over the state of users (S,) that were sharp before, in the same order."""
        self.mu[known], self.room[known], self.p[known] = old.mu, old.room, old.p
        # a server new to such a user begins with nothing, however cheap it is
        share, k, p = (old.u * old.x).sum(axis=1), self.k[known], old.p
        u = _or_one(self.u[known])
        cost = self.users.demand[known] @ prices.T + old.mu[:, None]
        nu = np.maximum(cost - p[:, None] * u, (tau * p)[:, None] * u)
        x = (tau * p * share / k)[:, None] / nu
        on = self.on[known]
        self.x[known] = np.where(old.on, old.x, np.where(on, x, 0.0))
        self.nu[known] = np.where(old.on, old.nu, np.where(on, nu, 1.0))

    def sums(self, prices: Floats) -> Sums:
        """Their sums at prices (I, R); the matrices of `change` and `step` are made here."""
        users, servers, resources = self.users, *prices.shape
        self.share = (self.u * self.x).sum(axis=1)
        if self.steep:
            self.due = np.exp((users.log_w - np.log(self.p)) / users.alpha)
        else:
            self.due, self.p = self.share, np.exp(users.log_w) * self.share**-users.alpha
        cost = users.demand @ prices.T
        dual = cost + self.mu[:, None] - self.p[:, None] * self.u - self.nu
        self.dual = np.where(self.on, dual, 0.0)
        self.theta = np.where(self.on, self.x / self.nu, 0.0)
        self.heat = users.alpha * self.p / self.due
        # around the mean score of what moves, since sums of theta are huge and cancel
        size = self.theta.sum(axis=1)
        self.mean = (self.theta * self.u).sum(axis=1) / size
        self.beside = self.u - self.mean[:, None]
        spread = (self.theta * self.beside**2).sum(axis=1)
        self.kept, self.give = np.ones_like(size), np.zeros_like(size)
        if self.limited is not None:
            self.short = np.where(self.limited, users.limit - self.x.sum(axis=1) - self.room, 0.0)
            rho = self.room / _or_one(self.mu)
            self.kept = np.where(self.limited, rho / (size + rho), 1.0)
            self.give = np.where(self.limited, 1 / (size + rho), 0.0)
        self.stiff = spread + 1 / self.heat + self.mean**2 * size * self.kept
        first = self.beside + (self.mean * self.kept)[:, None]
        left = [self.theta * first / np.sqrt(self.stiff)[:, None]]
        if self.limited is not None:
            left.append(self.theta * np.sqrt(self.give)[:, None])
        total = Sums.zero(servers, resources)
        total.use = self.x.T @ users.demand
        total.spent = (self.x * cost).sum(axis=0)
        total.of_limits = float(self.mu @ self.x.sum(axis=1))
        for t in left:
            z = (t[:, :, None] * users.demand[:, None, :]).reshape(len(users), servers * resources)
            total.curvature -= z.T @ z
        blocks = total.curvature.reshape(servers, resources, servers, resources)
        i = np.arange(servers)
        blocks[i, :, i, :] += np.einsum(
            "ni,nr,nt->irt", self.theta, users.demand, users.demand, optimize=True
        )
        return total

    def miss(self) -> float:
        """The largest error of a reduced cost or limit, relative to the user."""
        found = float((np.abs(self.dual).max(axis=1) / (self.p * self.u.max(axis=1))).max())
        found = max(found, float(np.abs(self.share / self.due - 1).max()))
        if self.limited is not None:
            found = max(found, float(np.abs(self.short / self.users.limit).max()))
        return found

    def uncentred(self, tau: float) -> float:
        """The largest product of a user relative to its target: money lost, per tau of its own."""
        money = tau * self.p * self.share
        found = float(((self.x * self.nu * self.on).max(axis=1) * self.k / money).max())
        if self.limited is not None:
            found = max(found, float((self.mu * self.room / money).max()))
        return found

    def targets(self, tau: float, bend: SharpStep | None = None) -> tuple[Floats, Floats]:
        """By how much x nu and mu l are to change, for products tau p s / k less second order."""
        money = tau * self.p * self.share
        x = np.where(self.on, (money / self.k)[:, None] - self.x * self.nu, 0.0)
        limit = np.zeros(len(self.k))
        if self.limited is not None:
            limit = np.where(self.limited, money - self.mu * self.room, 0.0)
        if bend is not None:
            x, limit = x - bend.x * bend.nu, limit - bend.mu * bend.room
        return x, limit

    def corrections(self, tau: float, step: SharpStep, length: float) -> tuple[Floats, Floats]:
        """What products x nu and mu l lack, after a step so long, of their targets within a
        factor WITHIN (Gondzio)."""
        money = tau * self.p * self.share
        aim = (money / self.k)[:, None]
        x = (self.x + length * step.x) * (self.nu + length * step.nu)
        found = np.where(self.on, _back(x, aim), 0.0)
        limit = np.zeros(len(self.k))
        if self.limited is not None:
            product = (self.mu + length * step.mu) * (self.room + length * step.room)
            limit = np.where(self.limited, _back(product, money), 0.0)
        return found, limit

    def change(self, targets: tuple[Floats, Floats]) -> Floats:
        """(I, R) change of use at prices that do not move."""
        found: Floats = self._tasks(targets, None)[0].T @ self.users.demand
        return found

    def step(self, targets: tuple[Floats, Floats], step: Floats) -> SharpStep:
        """The change that goes with a step (I, R) of prices."""
        cost = self.users.demand @ step.T
        x, v, mu = self._tasks(targets, cost)
        nu = np.where(self.on, self.dual + cost + mu[:, None] + v[:, None] * self.u, 0.0)
        room = np.zeros_like(mu)
        if self.limited is not None:
            # not from the sum of x, whose rounding may be larger than the room
            room = np.where(self.limited, (targets[1] - self.room * mu) / _or_one(self.mu), 0.0)
        return SharpStep(x, nu, mu, room, -v)

    def _tasks(
        self, targets: tuple[Floats, Floats], cost: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """dx, v and dmu for a change of costs."""
        z = np.where(self.on, targets[0] / self.nu, 0.0) - self.theta * self.dual
        if cost is not None:
            z -= self.theta * cost
        of_limit = np.zeros(len(z))
        if self.limited is not None:
            of_limit = np.where(self.limited, targets[1] / _or_one(self.mu), 0.0) - self.short
        one = (z * self.beside).sum(axis=1) + self.share - self.due - self.mean * of_limit
        two = z.sum(axis=1) + of_limit
        v = (one + self.mean * self.kept * two) / self.stiff
        both = two * self.give + self.mean * self.kept * v  # mean v + dmu
        dx = z - self.theta * (self.beside * v[:, None] + both[:, None])
        return dx, v, np.where(self.give > 0, both - self.mean * v, 0.0)

    def length(self, step: SharpStep) -> float:
        """The longest step that keeps everything positive."""
        found = [longest(self.x, step.x, self.on), longest(self.nu, step.nu, self.on)]
        if self.steep:
            found += [longest(self.p, step.p)]
        if self.limited is not None:
            found += [longest(self.mu, step.mu, self.limited)]
            found += [longest(self.room, step.room, self.limited)]
        return min(found)

    def move(self, step: SharpStep, length: float) -> None:
        """Go along a step."""
        self.x, self.nu = self.x + length * step.x, self.nu + length * step.nu
        self.mu, self.room = self.mu + length * step.mu, self.room + length * step.room
        if self.steep:
            self.p = self.p + length * step.p


def _back(product: Floats, aim: Floats) -> Floats:
    found: Floats = np.maximum(
        np.clip(product, aim / WITHIN, aim * WITHIN) - product, -WITHIN * aim
    )
    return found


def _or_one(values: Floats) -> Floats:
    found: Floats = np.where(values > 0, values, 1.0)
    return found


def longest(value: Floats, change: Floats, where: Bools | None = None) -> float:
    """The longest step that keeps value + step change >= 0."""
    with np.errstate(all="ignore"):
        ratio = change / value
    if where is not None:
        ratio = np.where(where, ratio, 0.0)
    worst = float(ratio.min(initial=0.0))
    return np.inf if worst >= 0 else -1 / worst
