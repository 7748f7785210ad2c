"""Whether rates of many states at once are fair: each state by the definition of its notion.

What is judged is a residual of every state, relative to each class's own rate; it knows nothing of
how the rates were found.
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Floats

TOLERANCE = 1e-6
"""rates of a state further from its definition are no answer"""


def overrun(part: Floats, rates: Floats) -> Floats:
    """(S,) by how much the fullest resource is more than full."""
    used: Floats = (rates @ part).max(axis=1) - 1.0
    return used


def bottlenecks(part: Floats, number: Floats, rates: Floats, measure: Floats) -> Floats:
    """(S,) how far a state is from "everybody has a full resource of which nobody holds more".

    Parameters
    ----------
    part : (K, R). number, rates : (S, K).
    measure : (K, R), what counts as holding: `part` itself for bottleneck max fairness, the
        dominant part for DRF; not read where `part` is 0.
    """
    there = number > 0
    one = np.divide(rates, number, out=np.zeros_like(rates), where=there)
    left = 1.0 - rates @ part
    best = np.full(number.shape, np.inf)
    for j in range(part.shape[1]):
        needs = np.flatnonzero(part[:, j] > 0)
        held = one[:, needs] * measure[needs, j]
        most = held.max(axis=1, initial=0.0)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(held > 0, most / held - 1.0, np.inf)
        best[:, needs] = np.minimum(best[:, needs], np.maximum(above, left[:, j, None]))
    worst: Floats = np.where(there, best, -np.inf).max(axis=1)
    return np.maximum(worst, overrun(part, rates))


def priced(part: Floats, number: Floats, rates: Floats, price: Floats) -> Floats:
    """(S,) how far a state is from proportional fairness at these prices (S, R), any at all.

    Everybody's rate is 1 over its cost, and what is not full costs nothing; prices are counted so
    that each transaction pays 1.
    """
    there = number > 0
    one = np.divide(rates, number, out=np.zeros_like(rates), where=there)
    paid = np.where(there, np.abs(one * (price @ part.T) - 1.0), 0.0).max(axis=1)
    total = np.where(there.any(axis=1), number.sum(axis=1), 1.0)
    unfilled = (price * np.abs(1.0 - rates @ part)).sum(axis=1) / total
    wrong: Floats = np.maximum(paid, np.maximum(unfilled, -price.min(axis=1) / total))
    return np.maximum(wrong, overrun(part, rates))
