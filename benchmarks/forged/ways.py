"""Ways to forge: shares moved, prices tilted, and prices that fit what was forged.

Every forged answer fits the capacities: what does not is scaled down.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import nnls

import fairopt as fo
from benchmarks.forged import large
from benchmarks.forged.draws import Case
from tests.oracles.rows import Rows, of_instance

SIZES = (2e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.43)
Forged = tuple[str, np.ndarray, np.ndarray]
"""what was done, tasks (K,) of the columns, prices (I, R)"""


class Forger:
    """A case as rows, its right tasks (K,) and prices (I, R)."""

    def __init__(self, case: Case) -> None:
        inst, self.case = case.inst, case
        base = fo.Allocation(inst, case.notion, np.zeros(inst.shape[:2]))
        over = getattr(case.notion, "over", "floor")
        self.q: Rows = large.rows(inst) if case.large else of_instance(inst, base.score, over)
        self.g = self.q.g[:, : len(self.q.owner)].astype(float)
        self.h = self.q.h.astype(float)
        self.u = self.q.u.astype(float)
        self.alpha = float(case.notion.alpha)
        inside = getattr(case.notion, "weight_inside", case.how == "trade-off")
        weight = np.array([float(w) for w in self.q.weight])
        self.log_w = np.log(weight) * (self.alpha if inside else 1.0)
        self.right = case.truth.tasks
        self.prices = self._capacity(case.truth.price)

    def _capacity(self, price: np.ndarray) -> np.ndarray:
        """(I, R) of the prices of the rows: those of capacity come first, empty ones left out."""
        inst = self.case.inst
        found, k = np.zeros(inst.pool.shape), 0
        for i in range(inst.shape[1]):
            for r in range(inst.shape[2]):
                here = self.q.server == i
                own = (
                    inst.ways.demand[self.q.way]
                    if inst.ways.demand.ndim == 2
                    else (inst.ways.demand[self.q.way, self.q.server])
                )
                if (own[here, r] > 0).any():
                    found[i, r] = price[k]
                    k += 1
        return found

    def share(self, x: np.ndarray) -> np.ndarray:
        found = np.zeros(self.q.users)
        np.add.at(found, self.q.owner, self.u * x)
        return found

    def fitted(self, x: np.ndarray) -> np.ndarray:
        """Scaled down where a row without flows is overrun."""
        if self.q.low:
            return x
        own = (self.h > 0) & (self.g.min(axis=1, initial=0.0) >= 0)
        over = float((self.g[own] @ x / self.h[own]).max(initial=0.0))
        return x / over if over > 1 else x

    def filled(self, x: np.ndarray, n: int) -> np.ndarray:
        """User n takes what is left, or gives what is lacking, in proportion to what it holds."""
        mine = (self.q.owner == n) * x
        rest, use = self.h - self.g @ (x - mine), self.g @ mine
        with np.errstate(all="ignore"):
            factor = float(np.where(use > 0, rest / use, np.inf).min())
        return x if not 0 < factor < np.inf else x + mine * (factor - 1)

    def answers(self, x: np.ndarray, far: np.ndarray) -> np.ndarray:
        """(K,) tasks that prices (I, R) ask for, split as those of x, scaled to fit."""
        inst = self.case.inst
        need = inst.ways.demand[self.q.way]
        need = need if need.ndim == 2 else need[np.arange(len(need)), self.q.server]
        cost = (need * far[self.q.server]).sum(axis=1) / self.u
        log_v = np.full(self.q.users, np.inf)
        with np.errstate(divide="ignore"):
            np.minimum.at(log_v, self.q.owner, np.log(cost))
        log_t = (self.log_w - log_v) / self.alpha
        ok = np.isfinite(log_t)
        factor = np.ones(self.q.users)
        now = np.log(self.share(x))
        shift = np.median((log_t - now)[ok]) if ok.any() else 0.0
        factor[ok] = np.exp(np.clip((log_t - now)[ok] - shift, -50, 50))
        return self.fitted(x * factor[self.q.owner])

    def best_prices(self, x: np.ndarray, room: float) -> np.ndarray | None:
        """Prices of rows with little room that come nearest to what shares are worth."""
        inst = self.case.inst
        log_v = self.log_w - self.alpha * np.log(self.share(x))
        value = np.exp(log_v - log_v.max())
        held = np.flatnonzero(x > 1e-9 * self.right.max())
        need = inst.ways.demand[self.q.way]
        need = need if need.ndim == 2 else need[np.arange(len(need)), self.q.server]
        used = np.zeros(inst.pool.shape)
        np.add.at(used, self.q.server, need * x[:, None])
        rows = np.argwhere((inst.pool > 0) & (inst.pool - used <= room * inst.pool))
        if not len(rows) or not len(held) or not (value > 0).all():
            return None
        worth = (value[self.q.owner] * self.u)[held]
        matrix = np.array(
            [
                [need[c, r] * (self.q.server[c] == i) / w for i, r in rows]
                for c, w in zip(held, worth, strict=True)
            ]
        )
        try:
            found = nnls(matrix, np.ones(len(held)))[0]
        except RuntimeError:
            return None
        prices = np.zeros(inst.pool.shape)
        prices[tuple(rows.T)] = found
        return prices if prices.any() else None


def forged(one: Forger, rng: np.random.Generator, count: int) -> Iterator[Forged]:
    """`count` forged tasks, each with several prices."""
    light = int(np.argmin(one.case.truth.log_money))
    heavy = int(np.argmax(one.case.truth.log_money))
    for _ in range(count):
        way = int(rng.integers(5))
        size = float(rng.choice(SIZES)) * float(rng.uniform(1, 2))
        n, m = (int(k) for k in rng.integers(one.q.users, size=2))
        factor, prices, word = np.ones(one.q.users), one.prices, ""
        if way == 0:  # one user up or down, the heaviest takes the rest
            factor[n] += size * float(rng.choice([-1, 1]))
            x, word = one.right * factor[one.q.owner], f"one user by {size:.1g}"
            x = one.filled(x, m if m != n else heavy) if rng.random() < 0.7 else x
        elif way == 1:  # from one to another
            factor[n] -= min(size, 0.9)
            x, word = one.filled(one.right * factor[one.q.owner], m), f"a pair by {size:.1g}"
        elif way == 2:  # the lightest
            factor[light] += size * float(rng.choice([-1, 1]))
            x, word = one.right * factor[one.q.owner], f"the lightest by {size:.1g}"
        elif way == 3:  # prices tilted to other rows, tasks as they ask
            part = 10.0 ** -rng.uniform(0, 6)
            worth = (one.prices * one.case.inst.pool).sum()
            to = rng.random(one.prices.shape) * (one.case.inst.pool > 0)
            to *= rng.random(to.shape) < 0.7
            if not (to * one.case.inst.pool).sum() > 0:
                continue
            prices = (1 - part) * one.prices + part * to * worth / (to * one.case.inst.pool).sum()
            x, word = one.answers(one.right, prices), f"prices tilted by {part:.1g}"
        else:  # from one row of a server to the next
            part = 10.0 ** -rng.uniform(0, 6)
            prices = one.prices.copy()
            i = int(rng.integers(prices.shape[0]))
            r, s = (int(k) for k in rng.integers(prices.shape[1], size=2))
            moved = part * prices[i, r]
            prices[i, r] -= moved
            pool = one.case.inst.pool
            if not pool[i, s] > 0:
                continue
            prices[i, s] += moved * pool[i, r] / pool[i, s]
            x, word = one.answers(one.right, prices), f"a price moved by {part:.1g}"
        x = one.fitted(x)
        if not (np.isfinite(x).all() and (x >= 0).all() and (one.share(x) > 0).all()):
            continue
        yield word, x, prices
        if prices is not one.prices:
            yield f"{word}, right prices", x, one.prices
        for room in (1e-12, 1e-6, 10.0):
            best = one.best_prices(x, room)
            if best is not None:
                yield f"{word}, prices fitted to rows of room {room:g}", x, best
