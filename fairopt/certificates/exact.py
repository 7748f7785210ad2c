r"""Proofs in exact fractions: every float of an answer is taken as the rational number that it is.

The answer is first made exactly feasible (all tasks are multiplied by one factor), so the result
holds for an allocation that exists, without any rounding. For instances of up to MOST_PAIRS pairs.

- max-min: rooms and excesses as in `certificates.levels`. Levels within 1e-9 are lowered to the
  lowest of them, since floats are never exactly equal; lowering keeps the allocation feasible.
- throughput: the gap :math:`B / \sum_n W_n s_n - 1` for prices with :math:`q_n \ge W_n`.
- proportional: with :math:`\Phi = \sum_n \phi_n` the gap is a weighted geometric mean, less 1,
  which is not rational; the arithmetic mean bounds it from above:

.. math:: 1 + gap \le \frac{B}{\Phi^2} \sum_n \frac{\phi_n^2}{q_n s_n}
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.level_prices import cleaned
from fairopt.certificates.levels import TIE
from fairopt.errors import NotCertified, UsageError
from fairopt.formulas import welfare
from fairopt.instance import Floats, Instance

MOST_PAIRS = 10_000
"""most eligible pairs"""
_ZERO = Fraction(0)
_FractionTable = list[list[Fraction]]


def exact_rooms(alloc: Allocation) -> list[Fraction | None]:
    """Residual of each user of a max-min answer, as an exact fraction.

    The larger of what the user can still gain and of the largest excess of users above it, at the
    best prices for it, as in `certificates.levels`.

    Returns
    -------
    list of N : None for a user of whom nothing is proved (a price of 0, or a share of 0).

    Raises
    ------
    UsageError : not a max-min answer with level prices, too many pairs, or tasks that are negative
        or where the user is not eligible.
    """
    if alloc.kind["name"] != "max-min" or alloc.level_prices is None:
        raise UsageError("exact rooms: found no level prices; wanted an answer of max-min")
    case = _AnswerInFractions(alloc)
    share = _tied(case.shares(), case.weight)
    level = [s / w for s, w in zip(share, case.weight, strict=True)]
    order = sorted(range(len(level)), key=level.__getitem__)
    best: list[Fraction | None] = [None] * len(level)
    for n in np.flatnonzero(np.isfinite(alloc.instance.limit)).tolist():
        if share[n] > 0:  # what its limit would allow, all of it where the score is highest
            most = Fraction(float(alloc.instance.limit[n])) * max(case.score[n].values())
            best[n] = most / share[n] - 1
    cleaner = [p for row in alloc.level_prices for p in cleaned(row, alloc.instance.pool)]
    for floats in cleaner:
        prices = _fractions(floats)
        budget = case.budget(prices)
        paid = [case.paid(prices, n, share[n]) for n in range(len(level))]
        above = [case.priced(prices, n, share[n]) for n in order]
        for k in reversed(range(len(above) - 1)):
            above[k] = max(above[k], above[k + 1])
        below, at = _ZERO, 0
        levels = [level[m] for m in order]
        for n in order:
            while at < len(order) and level[order[at]] <= level[n]:
                below, at = below + paid[order[at]][0], at + 1
            if paid[n][1] > 0:
                room = max((budget - below) / paid[n][1], _ZERO)
                found = max(room, _excess(levels, above, at, level[n]))
                old = best[n]
                best[n] = found if old is None else min(old, found)
    return best


def _excess(level: list[Fraction], most: list[Fraction], start: int, own: Fraction) -> Fraction:
    """max over k >= start of min(most[k], level[k] / own - 1); `most` falls and the other rises."""
    worst = _ZERO
    for k in range(start, len(level)):
        rise = level[k] / own - 1
        worst = max(worst, min(most[k], rise))
        if rise >= most[k]:
            break
    return worst


def exact_gap(alloc: Allocation) -> Fraction:
    """A proved bound on the relative gain that is still possible, as an exact fraction.

    max-min: the largest residual of any user. alpha = 0: of the objective. alpha = 1: the equal
    relative rise of every share.

    Raises
    ------
    NotCertified : the prices prove nothing (some user's price or share is 0, or no prices).
    UsageError : another notion, too many pairs, or tasks that shrinking cannot make feasible.
    """
    if alloc.kind["name"] == "max-min":
        rooms = exact_rooms(alloc)
        proved = [room for room in rooms if room is not None]
        if len(proved) < len(rooms):
            raise NotCertified("exact gap: nothing is proved of some user", alloc)
        return max(proved)
    alpha = welfare.alpha_of(alloc.notion)
    if alpha not in (0.0, 1.0):
        raise UsageError(
            f"exact gap: found notion {alloc.notion['name']}, alpha {alpha}; "
            "wanted max-min, or alpha 0 or 1"
        )
    if alloc.prices is None:
        raise NotCertified("exact gap: the answer has no prices", alloc)
    case = _AnswerInFractions(alloc)
    share = case.shares()
    users = len(share)
    prices = _fractions(alloc.prices)
    mu = [_ZERO] * users
    if alloc.limit_prices is not None:
        mu = [Fraction(float(m)) for m in alloc.limit_prices]
    limited = [Fraction(float(v)) if np.isfinite(v) else _ZERO for v in alloc.instance.limit]
    # the price of an infinite limit proves nothing and is dropped
    mu = [m if limit else _ZERO for m, limit in zip(mu, limited, strict=True)]
    if alpha == 0:
        inside = bool(alloc.kind["parameters"].get("weight_inside", False))
        value = [Fraction(1)] * users if inside else case.weight
        total = sum((w * s for w, s in zip(value, share, strict=True)), _ZERO)
        if total <= 0:
            raise NotCertified("exact gap: nobody has any share", alloc)
        # scale prices so that the budget is the objective, then raise those that are too low
        scale = total / (_budget(case, prices, mu, limited) or total)
        prices = [[p * scale for p in row] for row in prices]
        mu = [m * scale for m in mu]
        case.raise_to(prices, mu, value)
        return _budget(case, prices, mu, limited) / total - 1
    paid = [case.cheapest(prices, n, mu[n]) * share[n] for n in range(users)]
    if min(paid) <= 0:
        raise NotCertified("exact gap: nothing is proved of some user", alloc)
    phi = sum(case.weight, _ZERO)
    mean = sum((w * w / p for w, p in zip(case.weight, paid, strict=True)), _ZERO)
    return _budget(case, prices, mu, limited) * mean / phi**2 - 1


class _AnswerInFractions:
    """The answer in fractions: tasks by user and server, shrunk to fit exactly."""

    def __init__(self, alloc: Allocation) -> None:
        inst = alloc.instance
        n, i = inst.pairs
        if len(n) > MOST_PAIRS:
            raise UsageError(f"exact: found {len(n):,} pairs; wanted at most {MOST_PAIRS:,}")
        if (alloc.tasks < 0).any() or alloc.tasks[~inst.eligible].any():
            raise UsageError("exact: found tasks < 0 or not eligible; wanted none")
        users, servers, resources = inst.shape
        self.weight = [Fraction(float(w)) for w in inst.weight]
        self.limit = inst.limit
        self.pool = [
            [Fraction(float(c)) * int(k) for c in row]
            for row, k in zip(inst.capacity, inst.count, strict=True)
        ]
        self.demand: list[dict[int, list[tuple[int, Fraction]]]] = [{} for _ in range(users)]
        self.score: list[dict[int, Fraction]] = [{} for _ in range(users)]
        self.tasks: list[dict[int, Fraction]] = [{} for _ in range(users)]
        used = [[_ZERO] * resources for _ in range(servers)]
        for a, b, row in zip(n.tolist(), i.tolist(), inst.pair_demand.tolist(), strict=True):
            self.demand[a][b] = [(r, Fraction(d)) for r, d in enumerate(row) if d > 0]
            self.score[a][b] = Fraction(float(alloc.score[a, b]))
            x = self.tasks[a][b] = Fraction(float(alloc.tasks[a, b]))
            if x:
                for r, d in self.demand[a][b]:
                    used[b][r] += d * x
        factor = self._factor(inst, used)
        if factor < 1:
            self.tasks = [{b: x * factor for b, x in row.items()} for row in self.tasks]

    def _factor(self, inst: Instance, used: _FractionTable) -> Fraction:
        factor = Fraction(1)
        for have, need in zip(self.pool, used, strict=True):
            for c, u in zip(have, need, strict=True):
                if u > c:  # never with c = 0: users that demand a missing resource are not eligible
                    factor = min(factor, c / u)
        for n in np.flatnonzero(np.isfinite(inst.limit)).tolist():
            total = sum(self.tasks[n].values(), _ZERO)
            if total > 0:
                factor = min(factor, Fraction(float(inst.limit[n])) / total)
        return factor

    def shares(self) -> list[Fraction]:
        return [
            sum((self.score[n][i] * x for i, x in row.items() if x), _ZERO)
            for n, row in enumerate(self.tasks)
        ]

    def budget(self, prices: _FractionTable) -> Fraction:
        return sum(
            (
                p * c
                for row, have in zip(prices, self.pool, strict=True)
                for p, c in zip(row, have, strict=True)
                if p
            ),
            _ZERO,
        )

    def costs(self, prices: _FractionTable, n: int) -> dict[int, Fraction]:
        """Price of one task of user n on each of its servers."""
        return {
            i: sum((prices[i][r] * d for r, d in rows if prices[i][r]), _ZERO)
            for i, rows in self.demand[n].items()
        }

    def cheapest(self, prices: _FractionTable, n: int, mu: Fraction = _ZERO) -> Fraction:
        """q_n, the cheapest price of a unit of share."""
        return min((c + mu) / self.score[n][i] for i, c in self.costs(prices, n).items())

    def paid(self, prices: _FractionTable, n: int, share: Fraction) -> tuple[Fraction, Fraction]:
        """The least that user n can pay for its share within its limit, and q_n s_n.

        It is the largest q(mu) s - mu limit over mu >= 0, with the largest q that attains it. If
        scores depend on the server, a user near its limit may have to use servers other than the
        cheapest.
        """
        costs, score = self.costs(prices, n), self.score[n]
        q = min(c / score[i] for i, c in costs.items())
        best = q * share, q
        if np.isfinite(self.limit[n]):
            limit = Fraction(float(self.limit[n]))
            for a in costs:
                for b in costs:
                    if a < b and score[a] != score[b]:
                        mu = (costs[a] * score[b] - costs[b] * score[a]) / (score[a] - score[b])
                        if mu > 0:
                            q = min((c + mu) / score[i] for i, c in costs.items())
                            best = max(best, (q * share - mu * limit, q))
        return best[0], best[1] * share

    def priced(self, prices: _FractionTable, n: int, share: Fraction) -> Fraction:
        """Part of the share of user n that it holds on servers where a task has a price."""
        costs = self.costs(prices, n)
        held = sum((self.score[n][i] * self.tasks[n][i] for i, c in costs.items() if c), _ZERO)
        return min(held / share, Fraction(1)) if share else _ZERO

    def raise_to(self, prices: _FractionTable, mu: list[Fraction], value: list[Fraction]) -> None:
        """Raise prices in place until every task costs at least its value (weight times score).

        Where the price of a task is too low, the price of its largest d/c is raised by what is
        missing.
        """
        for n, rows in enumerate(self.demand):
            for i, c in self.costs(prices, n).items():
                missing = value[n] * self.score[n][i] - c - mu[n]
                if missing > 0:
                    r, d = max(rows[i], key=lambda row: row[1] / self.pool[i][row[0]])
                    prices[i][r] += missing / d


def _budget(
    case: _AnswerInFractions, prices: _FractionTable, mu: list[Fraction], limit: list[Fraction]
) -> Fraction:
    return case.budget(prices) + sum((m * v for m, v in zip(mu, limit, strict=True)), _ZERO)


def _fractions(prices: Floats) -> _FractionTable:
    return [[Fraction(p) for p in row] for row in prices.tolist()]


def _tied(share: list[Fraction], weight: list[Fraction]) -> list[Fraction]:
    """Shares with every level lowered to the lowest within TIE of it."""
    level = [s / w for s, w in zip(share, weight, strict=True)]
    near = 1 + Fraction(TIE)
    lowest: Fraction | None = None
    found = list(share)
    for n in sorted(range(len(level)), key=level.__getitem__):
        if lowest is None or level[n] > lowest * near:
            lowest = level[n]
        found[n] = lowest * weight[n]
    return found


__all__ = ["exact_gap", "exact_rooms"]
