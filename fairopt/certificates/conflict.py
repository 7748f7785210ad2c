r"""Guarantees that do not fit together: the proof, from prices alone.

Prices >= 0 of all rules have sum q_n s_n <= B for every feasible answer, q_n the cheapest price of
a unit of share and B the value of all that is priced. If everybody held theta times its floor, that
would be theta sum q_n sigma_n <= B. So the floors must be cut to at most

.. math:: \theta = \frac{B}{\sum_n q_n \sigma_n} ,

and theta < 1 proves that they do not fit, whoever chose the prices.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.ruled.answer import Prices, Ruled
from fairopt.instance import Floats, Instance


def most_of_floors(instance: Instance, score: Floats, floor: Floats, prices: Prices) -> float:
    """theta: no answer gives everybody more than this part of its floor; inf if that is not proved.

    Parameters
    ----------
    score : (N, I). floor : (N,) shares that are guaranteed, 0 for users left out.
    prices : any, in any unit of money.
    """
    ways = None if instance.modes is None else np.zeros((len(instance.ways), instance.shape[1]))
    nobody = Allocation(
        instance, {"name": "max-min", "parameters": {}}, np.zeros(instance.shape[:2]),
        score=score, way_tasks=ways,
    )  # fmt: skip
    ruled, least = Ruled(nobody), np.inf
    with np.errstate(all="ignore"):
        for cleaned in ruled.cleaned(prices):
            bill = ruled.bill(cleaned)
            asked = float((bill.cheapest * floor)[floor > 0].sum())
            if asked > 0 and np.isfinite(bill.budget):
                least = min(least, bill.budget / asked)
    return float(least)
