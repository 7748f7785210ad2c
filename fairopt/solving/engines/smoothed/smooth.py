r"""Users whose servers tie for many of them: divided smoothly, and eliminated exactly.

With a_{ni} = d_n . lam_i + mu_n the money of a task and kappa_{ni} = log(a_{ni} / u_{ni}), the user
divides its money m among servers as

.. math:: w_{ni} = e^{-(\kappa_{ni} - \log q_n)/\tau}, \quad
          \log q_n = -\tau \log \sum_i e^{-\kappa_{ni}/\tau}, \quad
          m_n = W_n^{1/\alpha} q_n^{1 - 1/\alpha}, \quad x_{ni} = w_{ni} m_n / a_{ni}.

As tau goes to 0 only its cheapest servers are left. A price lam_{ir} that rises by one unit changes
the tasks by -P d_{nr} with, for sigma = 1 + 1/tau,

.. math:: P = \sigma\, diag(x / a) - (\sigma - 1/\alpha)\, x x' / m,

and, where the limit of the user binds (`limits`), by -(P - g g' / 1'g) d_{nr} with g = P 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.smoothed import limits
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.users import UsersRead


@dataclass
class Sums:
    """What a pass over users returns: all that the prices need to know of them.

    use : (I, R). drift : (I, R) its derivative by tau. curvature : (I R, I R) minus its derivative
    by prices. spent : (I,) money on each server. of_limits : money for limits.
    """

    use: Floats
    drift: Floats
    curvature: Floats
    spent: Floats
    of_limits: float = 0.0

    @classmethod
    def zero(cls, servers: int, resources: int) -> Sums:
        """No users."""
        rows, size = (servers, resources), servers * resources
        return cls(np.zeros(rows), np.zeros(rows), np.zeros((size, size)), np.zeros(servers))

    def add(self, other: Sums) -> None:
        """Add the sums of other users."""
        self.use += other.use
        self.drift += other.drift
        self.curvature += other.curvature
        self.spent += other.spent
        self.of_limits += other.of_limits


class Split(NamedTuple):
    """How the users of a chunk divide themselves (see the module), a column a user.

    cost : (I, n) a. part : (I, n) w. depth : (I, n) -(kappa - least kappa) / tau, at least FLOOR.
    log_sum : (n,) log sum exp depth. log_q : (n,). mu : (n,) price of the limit, or None.
    """

    cost: Floats
    part: Floats
    depth: Floats
    log_sum: Floats
    log_q: Floats
    mu: Floats | None


FLOOR = -700.0
"""logarithm of a part that counts as zero"""
USED = 4.0
"""windows within which a server counts as used, where changes of costs are measured"""
DUST = 1e-20
"""parts below this are left out of the answer"""


class Smooth:
    """Users that are divided smoothly; `users.eligible` holds the servers near enough to matter.

    Arrays of a chunk are (I, n): sums over servers, and numbers of users, are then contiguous.
    """

    def __init__(self, users: UsersRead, mu: Floats | None = None) -> None:
        self.users = users
        self.mu = np.zeros(len(users)) if mu is None and users.limit is not None else mu

    @cached_property
    def far(self) -> Bools | None:
        """(I, N) which servers do not matter, or None if all do."""
        near = self.users.eligible
        return None if near.all() else np.ascontiguousarray(~near.T)

    def some(self, pick: Ints) -> Smooth:
        """Some of them."""
        return Smooth(self.users.some(pick), None if self.mu is None else self.mu[pick])

    def split(self, chunk: slice, prices: ServerPrices, tau: float) -> Split:
        """How the users of a chunk divide themselves."""
        users = self.users
        demand = users.demand[chunk].T
        far = None if self.far is None else self.far[:, chunk]
        base = prices.heads @ demand
        shift = prices.off @ demand if prices.off.any() else None
        score = None if users.log_score is None else users.log_score[chunk].T
        mu = None
        if users.limit is not None and self.mu is not None:
            shift = np.zeros((len(prices.label), base.shape[1])) if shift is None else shift
            case = limits.LimitedUsers(
                users.alpha,
                users.log_w[chunk],
                users.limit[chunk],
                base[prices.label].T,
                shift.T,
                None if score is None else score.T,
                ~users.eligible[chunk],
            )
            before, more = limits.solve(case, self.mu[chunk], tau)
            base += before
            shift += more
            mu = self.mu[chunk] = before + more
        return _split(base, shift, prices, score, far, mu, tau)

    def sums(self, prices: ServerPrices, tau: float) -> Sums:
        """The sums of all users (see the module for the formulas)."""
        users = self.users
        resources = users.demand.shape[1]
        servers = len(prices.label)
        total = Sums.zero(servers, resources)
        upper = np.triu_indices(resources)
        diagonal = np.zeros((servers, len(upper[0])))
        outer = np.zeros_like(total.curvature)
        at_limit = np.zeros_like(total.curvature)
        sigma, power = 1 + 1 / tau, 1 / users.alpha
        for chunk in users.chunks():
            demand = np.ascontiguousarray(users.demand[chunk].T)
            cost, part, depth, log_sum, log_q, mu = self.split(chunk, prices, tau)
            money = np.exp(users.log_w[chunk] * power + (1 - power) * log_q)
            held = part * money
            tasks = held / cost
            total.spent += held.sum(axis=1)
            if mu is not None:
                paid = tasks @ mu
                total.spent -= paid
                total.of_limits += float(paid.sum())
            total.use += tasks @ demand.T
            # by tau: d log x = (sigma - 1/alpha) d log q + (kappa - log q) / tau^2
            slope = np.multiply(part, depth, out=held).sum(axis=0) - log_sum
            np.subtract(log_sum, depth, out=depth)
            depth *= 1 / tau
            depth += (sigma - power) * slope
            depth *= tasks
            ratio = np.divide(tasks, cost, out=held)
            diagonal += ratio @ (demand[upper[0]] * demand[upper[1]]).T
            if mu is not None and (mu > 0).any():
                on = mu > 0
                g = self._at_limit(part[:, on], cost[:, on], tau) * money[on]
                stiff = g.sum(axis=0)
                depth[:, on] -= g * (depth[:, on].sum(axis=0) / stiff)
                z = _spread(g / np.sqrt(stiff), demand[:, on])
                at_limit += z @ z.T
            total.drift += depth @ demand.T
            tasks *= 1 / np.sqrt(money)
            z = _spread(tasks, demand)
            outer += z @ z.T
        total.curvature = -(sigma - power) * outer - at_limit
        blocks = total.curvature.reshape(servers, resources, servers, resources)
        i = np.arange(servers)
        for column, (r, t) in enumerate(zip(*upper, strict=True)):
            blocks[i, r, i, t] += sigma * diagonal[:, column]
            if r != t:
                blocks[i, t, i, r] += sigma * diagonal[:, column]
        return total

    def change(self, prices: ServerPrices, tau: float, step: Floats) -> float:
        """Largest change of a difference of log costs in use, in windows, by a step (I, R)."""
        worst = 0.0
        for chunk in self.users.chunks():
            split = self.split(chunk, prices, tau)
            moved = step @ self.users.demand[chunk].T
            if split.mu is not None:
                g = self._at_limit(split.part, split.cost, tau)
                rise = (g * moved).sum(axis=0) / g.sum(axis=0)
                moved -= np.where(split.mu > 0, rise, 0.0)
            moved /= split.cost
            used = split.depth > -USED
            most = np.where(used, moved, -np.inf).max(axis=0)
            spread = most - np.where(used, moved, np.inf).min(axis=0)
            worst = max(worst, float(spread.max()) / tau)
        return worst

    def _at_limit(self, part: Floats, cost: Floats, tau: float) -> Floats:
        """(I, n) g = P 1 per money, in differences that vanish where one server has all."""
        inverse, power = 1 / cost, 1 / self.users.alpha
        mean = (part * inverse).sum(axis=0)
        found: Floats = part * inverse * ((1 + 1 / tau) * (inverse - mean) + power * mean)
        return found

    def tasks(self, prices: ServerPrices, tau: float) -> Floats:
        """(N, I) x."""
        users, power = self.users, 1 / self.users.alpha
        found = np.empty(users.eligible.shape)
        for chunk in users.chunks():
            split = self.split(chunk, prices, tau)
            money = np.exp(users.log_w[chunk] * power + (1 - power) * split.log_q)
            split.part[split.part < DUST] = 0.0
            found[chunk] = (split.part * money / split.cost).T
        return found


def _split(
    base: Floats,
    shift: Floats | None,
    prices: ServerPrices,
    score: Floats | None,
    far: Bools | None,
    mu: Floats | None,
    tau: float,
) -> Split:
    """`Split` from costs at the base (G, n) and what is added to them (I, n)."""
    groups, servers = len(prices.heads), len(prices.label)
    log_base = np.log(base)
    if score is None and groups == 1:
        first, depth = log_base[0], np.zeros((servers, base.shape[1]))
    else:
        depth = log_base[prices.label]
        if score is not None:
            depth -= score
        if far is not None:
            np.copyto(depth, np.inf, where=far)
        first = depth.min(axis=0)
        depth -= first
    cost = base[prices.label]
    if shift is not None:
        shift /= cost
        depth += log_one_plus(shift)  # to a difference that is exactly 0 in a group
        shift += 1
        cost *= shift
    if far is not None and shift is not None:
        np.copyto(depth, np.inf, where=far)
    least = depth.min(axis=0)
    depth -= least
    depth *= -1 / tau
    np.maximum(depth, FLOOR, out=depth)
    part = np.exp(depth)
    total = part.sum(axis=0)
    part /= total
    log_sum = np.log(total)
    return Split(cost, part, depth, log_sum, first + least - tau * log_sum, mu)


def _spread(values: Floats, demand: Floats) -> Floats:
    """(I R, n) values (I, n) times demand (R, n)."""
    return (values[:, None] * demand).reshape(-1, demand.shape[1])


def log_one_plus(t: Floats) -> Floats:
    """log(1 + t), by its series where all t are small, which is several times as fast."""
    if t.size and max(float(t.max()), -float(t.min())) < 1e-3:
        series: Floats = t * 0.2
        for factor in (-0.25, 1 / 3, -0.5, 1.0):
            series += factor
            series *= t
        return series
    return np.log1p(t)
