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
from typing import NamedTuple

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines.smoothed import limits
from fairopt.solving.engines.smoothed.prices import Prices
from fairopt.solving.engines.smoothed.users import Users


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
    """How the users of a chunk divide themselves (see the module).

    cost : (n, I) a. part : (n, I) w. depth : (n, I) -(kappa - least kappa) / tau, at least FLOOR.
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
    """Users that are divided smoothly; `users.eligible` holds the servers near enough to matter."""

    def __init__(self, users: Users, mu: Floats | None = None) -> None:
        self.users, self.far = users, ~users.eligible
        self.mu = np.zeros(len(users)) if mu is None and users.limit is not None else mu

    def split(self, chunk: slice, prices: Prices, tau: float) -> Split:
        """How the users of a chunk divide themselves."""
        users = self.users
        demand, far = users.demand[chunk], self.far[chunk]
        base, shift = demand @ prices.heads.T, demand @ prices.off.T
        score = None if users.log_score is None else users.log_score[chunk]
        mu = None
        if users.limit is not None and self.mu is not None:
            case = limits.Case(
                users.alpha, users.log_w[chunk], users.limit[chunk], base[:, prices.label], shift,
                score, far,
            )  # fmt: skip
            before, more = limits.solve(case, self.mu[chunk], tau)
            base += before[:, None]
            shift += more[:, None]
            mu = self.mu[chunk] = before + more
        return _split(base, shift, prices, score, far, mu, tau)

    def sums(self, prices: Prices, tau: float) -> Sums:
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
            demand = users.demand[chunk]
            split = self.split(chunk, prices, tau)
            cost, part, depth, log_sum, log_q, mu = split
            money = np.exp(users.log_w[chunk] * power + (1 - power) * log_q)
            held = part * money[:, None]
            tasks = held / cost
            total.spent += held.sum(axis=0)
            if mu is not None:
                paid = mu @ tasks
                total.spent -= paid
                total.of_limits += float(paid.sum())
            total.use += tasks.T @ demand
            # by tau: d log x = (sigma - 1/alpha) d log q + (kappa - log q) / tau^2
            slope = np.einsum("ni,ni->n", part, depth) - log_sum
            np.subtract(log_sum[:, None], depth, out=depth)
            depth *= 1 / tau
            depth += ((sigma - power) * slope)[:, None]
            depth *= tasks
            ratio = tasks / cost
            diagonal += ratio.T @ (demand[:, upper[0]] * demand[:, upper[1]])
            if mu is not None and (mu > 0).any():
                on = mu > 0
                g = self._at_limit(part[on], cost[on], tau) * money[on, None]
                stiff = g.sum(axis=1)
                depth[on] -= g * (depth[on].sum(axis=1) / stiff)[:, None]
                z = _spread(g / np.sqrt(stiff)[:, None], demand[on])
                at_limit += z.T @ z
            total.drift += depth.T @ demand
            tasks *= (1 / np.sqrt(money))[:, None]
            z = _spread(tasks, demand)
            outer += z.T @ z
        total.curvature = -(sigma - power) * outer - at_limit
        blocks = total.curvature.reshape(servers, resources, servers, resources)
        i = np.arange(servers)
        for column, (r, t) in enumerate(zip(*upper, strict=True)):
            blocks[i, r, i, t] += sigma * diagonal[:, column]
            if r != t:
                blocks[i, t, i, r] += sigma * diagonal[:, column]
        return total

    def change(self, prices: Prices, tau: float, step: Floats) -> float:
        """Largest change of a difference of log costs in use, in windows, by a step (I, R)."""
        worst = 0.0
        for chunk in self.users.chunks():
            split = self.split(chunk, prices, tau)
            moved = self.users.demand[chunk] @ step.T
            if split.mu is not None:
                g = self._at_limit(split.part, split.cost, tau)
                rise = (g * moved).sum(axis=1) / g.sum(axis=1)
                moved -= np.where(split.mu > 0, rise, 0.0)[:, None]
            moved /= split.cost
            used = split.depth > -USED
            most = np.where(used, moved, -np.inf).max(axis=1)
            spread = most - np.where(used, moved, np.inf).min(axis=1)
            worst = max(worst, float(spread.max()) / tau)
        return worst

    def _at_limit(self, part: Floats, cost: Floats, tau: float) -> Floats:
        """(n, I) g = P 1 per money, in differences that vanish where one server has all."""
        inverse, power = 1 / cost, 1 / self.users.alpha
        mean = (part * inverse).sum(axis=1)[:, None]
        found: Floats = part * inverse * ((1 + 1 / tau) * (inverse - mean) + power * mean)
        return found

    def tasks(self, prices: Prices, tau: float) -> Floats:
        """(N, I) x."""
        users, power = self.users, 1 / self.users.alpha
        found = np.empty(self.far.shape)
        for chunk in users.chunks():
            split = self.split(chunk, prices, tau)
            money = np.exp(users.log_w[chunk] * power + (1 - power) * split.log_q)
            split.part[split.part < DUST] = 0.0
            found[chunk] = split.part * money[:, None] / split.cost
        return found


def _split(
    base: Floats, shift: Floats, prices: Prices, score: Floats | None, far: Bools,
    mu: Floats | None, tau: float,
) -> Split:  # fmt: skip
    """`Split` from costs at the base (n, G) and what is added to them (n, I)."""
    log_base = np.log(base)
    depth = log_base[:, prices.label]
    if score is not None:
        depth -= score
    if score is None and len(prices.heads) == 1:
        first = log_base[:, 0].copy()
        depth[:] = 0.0
    else:
        np.copyto(depth, np.inf, where=far)
        first = depth.min(axis=1)
        depth -= first[:, None]
    cost = base[:, prices.label]
    shift /= cost
    depth += log_one_plus(shift)  # to a difference that is exactly 0 in a group
    shift += 1
    cost *= shift
    np.copyto(depth, np.inf, where=far)
    least = depth.min(axis=1)
    depth -= least[:, None]
    depth *= -1 / tau
    np.maximum(depth, FLOOR, out=depth)
    part = np.exp(depth)
    total = part.sum(axis=1)
    part /= total[:, None]
    log_sum = np.log(total)
    return Split(cost, part, depth, log_sum, first + least - tau * log_sum, mu)


def _spread(values: Floats, demand: Floats) -> Floats:
    """(n, I R) values (n, I) times demand (n, R)."""
    return (values[:, :, None] * demand[:, None, :]).reshape(len(values), -1)


def log_one_plus(t: Floats) -> Floats:
    """log(1 + t), by its series where all t are small, which is several times as fast."""
    if len(t) and np.abs(t).max() < 1e-3:
        series: Floats = t * (1 - t * (0.5 - t * (1 / 3 - t * (0.25 - 0.2 * t))))
        return series
    return np.log1p(t)
