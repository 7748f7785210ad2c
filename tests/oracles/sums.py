"""The sum of losses that proves where an optimum is, in decimals, for any point and any prices.

The formula of the theorem (docs/maths/prices.md) written down once more, plainly and slowly: what
the judge says of a place is held against it, from both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal as D
from decimal import localcontext

import numpy as np

import fairopt as fo

from .optimum import loss
from .rows import exact, of_instance

DIGITS = 80
ZERO = D(0)


@dataclass(frozen=True)
class Losses:
    """eps; share (N,) that is best at the prices, and money (N,): m loss(log t*/t0) <= eps."""

    eps: D
    share: list[D]
    money: list[D]
    base: list[D]
    alpha: D

    def ratio(self, n: int, log_share: float) -> float:
        """What a distance of user n's share (in the logarithm) loses, as a part of eps."""
        with localcontext() as context:
            context.prec = DIGITS
            share = self.share[n] * D(log_share).exp()
            z = ((share - self.base[n]) / (self.share[n] - self.base[n])).ln()
            return float(self.money[n] * loss(z, self.alpha) / self.eps)


def losses(alloc: fo.Allocation, prices: dict[str, np.ndarray]) -> Losses | None:
    """Of an answer at these prices: of capacity (I, R), and of ceilings (B,).

    None where the point does not fit, or the prices say nothing. Limits of tasks have no price and
    are bounds of shares, so scores have to be the same on every server; no flows.
    """
    inst = alloc.instance
    given = alloc.notion["parameters"]
    q = of_instance(inst, alloc.score, given.get("over", "floor"))
    assert not q.low
    alpha = D(given["alpha"])
    inside = bool(given.get("weight_inside", False))
    limited = np.isfinite(inst.limit)
    rows = _prices(q, inst, prices, int(limited.sum()))
    with localcontext() as context:
        context.prec = DIGITS
        x = exact(alloc.tasks[q.owner, q.server])
        is_limit = np.array([r is None for r in rows])
        g, h = q.g[~is_limit], q.h[~is_limit]
        p = np.array([r for r in rows if r is not None], dtype=object)
        left = h - g @ x
        if min(left) < 0 or min(x) < 0:
            return None
        cost = g.T @ p
        eps = sum(p * left)
        v = [min(cost[c] / q.u[c] for c in np.flatnonzero(q.owner == n)) for n in range(q.users)]
        if min(v) <= 0:
            return None
        eps += sum(x * (cost - np.array(v, dtype=object)[q.owner] * q.u))
        shares, money = [], []
        for n in range(q.users):
            log_w = q.weight[n].ln() * (alpha if inside else 1)
            score = q.u[q.owner == n][0]
            most = D(float(inst.limit[n])) * score if limited[n] else D("Infinity")
            share = sum(q.u[c] * x[c] for c in np.flatnonzero(q.owner == n))
            if share > most or share < q.floor[n]:
                return None
            free = ((log_w - v[n].ln()) / alpha).exp()
            t0 = min(max(free, q.floor[n] - q.base[n]), most - q.base[n])
            m = (log_w + (1 - alpha) * t0.ln()).exp()
            eps += m * loss(((share - q.base[n]) / t0).ln(), alpha)
            eps += abs(m / t0 - v[n]) * abs(q.base[n] + t0 - share)
            shares.append(q.base[n] + t0)
            money.append(m)
        return Losses(eps, shares, money, list(q.base), alpha)


def _prices(q, inst: fo.Instance, prices: dict[str, np.ndarray], limits: int) -> list[D | None]:
    """The price of each row of `q`; None of limits."""
    found: list[D | None] = []
    for i, r in np.ndindex(*inst.pool.shape):
        here = q.server == i
        if (inst.demand_by_server[q.owner[here], i, r] > 0).any():
            found.append(D(float(prices["prices"][i, r])))
    found += [None] * limits
    left = iter(range(len(inst.tree.bounds)))
    while len(found) < len(q.h):
        found.append(D(float(prices["bound_prices"][next(left)])))
    return found
