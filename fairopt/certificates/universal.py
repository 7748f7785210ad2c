r"""The universal bound: what prices prove about any concave objective (SYSTEMS A2.1).

A concave f lies below its tangent at the answer x: f(x') <= f(x) + G (x' - x) with G = df/dx.
Prices with sum_r p[i,r] d[n,r] + mu_n >= G[n,i] on every eligible pair have G x' <= B for every
feasible x'. At an optimum B = G x. Nothing else about f is used.
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Floats, Instance


def universal_bound(
    instance: Instance,
    gradient: Floats,
    tasks: Floats,
    prices: Floats,
    limit_prices: Floats | None = None,
) -> float:
    """Most that any feasible allocation can have above f(tasks); inf when the prices prove nothing.

    The prices are brought to the scale of the gradient in two ways, and the better is taken: all
    scaled up until they cover it; or scaled to the money G x, then, where a pair is short, the
    price of its largest d/c raised by what is missing (the only one that works for weights over
    decades).

    Parameters
    ----------
    instance : the cluster.
    gradient : (P,) >= 0, df/dx of each eligible pair at the answer, objective per task.
    tasks : (N, I), the answer.
    prices : (I, R) >= 0 and limit_prices (N,) >= 0 : any, in any unit of money.
    """
    n, i = instance.pairs
    demand = instance.pair_demand
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        cost = np.einsum("pr,pr->p", prices[i], demand)
        budget = float((prices * instance.pool).sum())
        if limit_prices is not None:
            cost = cost + limit_prices[n]
            priced = limit_prices > 0
            budget += float(limit_prices[priced] @ instance.limit[priced])
        worth = float(gradient @ tasks[n, i])
        if not (0 < budget < np.inf and np.isfinite(cost).all() and np.isfinite(gradient).all()):
            return np.inf
        covering = float(np.max(gradient / cost)) * budget  # nan and inf prove nothing
        scale = worth / budget
        missing = np.maximum(gradient - scale * cost, 0.0)
        ratio = demand / np.where(demand > 0, instance.pool[i], 1.0)
        largest = ratio.argmax(axis=1)
        # money of the whole row: the rise of the price times its pool
        raised = np.zeros(instance.pool.shape)
        np.maximum.at(raised, (i, largest), missing / ratio[np.arange(len(n)), largest])
        patched = worth + float(raised.sum())
    found = float(np.fmin(covering, patched)) - worth
    return np.inf if np.isnan(found) else max(found, 0.0)
