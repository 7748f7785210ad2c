r"""Guarantees that do not fit together: the proof, from prices alone.

Prices >= 0 of all rules have sum q_n s_n <= B for every feasible answer, q_n the cheapest price of
a unit of share and B the value of all that is priced. If everybody held theta times its floor, that
would be theta sum q_n sigma_n <= B. So the floors must be cut to at most

.. math:: \theta = \frac{B}{\sum_n q_n \sigma_n} ,

and theta < 1 proves that they do not fit, whoever chose the prices.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from fairopt.formulas.lowered import RULE, UP_OF_TWO, Lowered
from fairopt.instance import Floats


def impossible(
    low: Lowered, floor: Floats, price: Floats, floors: Floats, most: Floats
) -> tuple[bool, float]:
    r"""Whether prices prove that all rules together cannot be kept, in exact fractions; and theta,
    to which all that is asked must be cut at the least, as far as they prove it.

    With prices y >= 0 of the rows A x <= r (of those that ask r < 0) and q >= 0 of the floors,
    sum_c x_c cost_c <= B for every x that keeps them, B = y r - q sigma. If all costs are >= 0
    and B < 0 there is none. Prices are floats, so they are tried as the simple fractions that are
    near, and as they are; a cost a little below 0 is charged against the most that x can be.

    Parameters
    ----------
    low : the rules. floor : (N,) sigma. price : (M,) y. floors : (N,) q. most : (P,) the most
        tasks of each column alone; inf where that is not known.
    """
    top = max(float(price.max(initial=0.0)), float(floors.max(initial=0.0)))
    if not (0 < top < np.inf and (price >= 0).all() and (floors >= 0).all()):
        return False, np.inf
    least = np.inf
    for denominator in DENOMINATORS:
        y = {m: _near(price[m] / top, denominator) for m in np.flatnonzero(price).tolist()}
        q = {n: _near(floors[n] / top, denominator) for n in np.flatnonzero(floors).tolist()}
        allowed, asked = Fraction(0), Fraction(0)
        for m, value in y.items():
            amount = Fraction(float(low.rhs[m])) * value
            if low.kind[m] == RULE and (amount < 0 or low.two[m] >= UP_OF_TWO):
                asked -= amount
            else:
                allowed += amount
        asked += sum((value * Fraction(float(floor[n])) for n, value in q.items()), Fraction(0))
        charge = _charge(low, y, q, most)
        if charge is None or asked <= 0:
            continue
        least = min(least, float((allowed + charge) / asked))
        if allowed + charge < asked:
            return True, least
    return False, least


DENOMINATORS = (12, 1_000, 10**6, 0)
"""largest denominators of the fractions that prices are tried as; 0: the floats as they are"""


def _near(value: float, denominator: int) -> Fraction:
    exact = Fraction(float(value))
    return exact.limit_denominator(denominator) if denominator else exact


def _charge(
    low: Lowered, y: Mapping[int, Fraction], q: Mapping[int, Fraction], most: Floats
) -> Fraction | None:
    """What columns that cost less than nothing may bring at most; None if that has no bound."""
    cost: dict[int, Fraction] = {}
    matrix = low.matrix
    for m, price in y.items():
        for at in range(matrix.indptr[m], matrix.indptr[m + 1]):
            c = int(matrix.indices[at])
            cost[c] = cost.get(c, Fraction(0)) + price * Fraction(float(matrix.data[at]))
    for c in np.flatnonzero(np.isin(low.owner, list(q))).tolist():
        worth = Fraction(float(low.score[c])) * q[int(low.owner[c])]
        cost[c] = cost.get(c, Fraction(0)) - worth
    total = Fraction(0)
    for c, value in cost.items():
        if c >= low.columns:  # a flow goes where it is paid for, as far as it may
            end = low.high[c - low.columns] if value < 0 else low.low[c - low.columns]
            if value and not np.isfinite(end):
                return None
            total -= value * Fraction(float(end)) if value else 0
        elif value < 0:
            if not np.isfinite(most[c]):
                return None
            total -= value * Fraction(float(most[c]))
    return total
