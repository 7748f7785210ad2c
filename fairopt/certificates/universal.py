r"""The universal bound: what prices prove about any concave objective (docs/maths/prices.md).

A concave f lies below its tangent at the answer x: f(x') <= f(x) + G (x' - x) with G = df/dx.
Prices with sum_r p[i,r] d[n,r] + mu_n >= G[n,i] on every eligible pair have G x' <= B for every
feasible x'. At an optimum B = G x. Nothing else about f is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fairopt.allocation import task_cost
from fairopt.certificates.money import LEAST_TASK_PRICE
from fairopt.instance import Bools, Floats, Instance

Gradient = Callable[[slice], Floats]
"""gives df/dx (users, I) for a block of users; entries where they are not eligible are ignored"""


def universal_bound(
    instance: Instance,
    gradient: Floats | Gradient,
    tasks: Floats,
    prices: Floats,
    limit_prices: Floats | None = None,
    ruled: tuple[Floats, float] | None = None,
) -> float:
    """A bound on f(any feasible allocation) - f(tasks); inf if the prices prove nothing.

    The prices must be at least the gradient on every pair. Two ways to raise them are tried and the
    better bound is taken: all are multiplied by one number; or they are scaled so that all capacity
    costs G x, and then, where a pair is too cheap, the price of its largest d/c is raised by what
    is missing (the better way if weights spread over decades).

    Parameters
    ----------
    instance : the cluster.
    gradient : (P,) >= 0, df/dx of each eligible pair at the answer, objective per task; or a
        function that gives it for a block of users, so that large instances need no list of pairs.
    tasks : (N, I), the answer; entries where a user is not eligible are ignored.
    prices, limit_prices : (I, R) and (N,), >= 0, any, in any unit of money.
    ruled : beside own rules, the price (N, I) >= 0 of a task at all prices, and the value of all
        that is priced, at least what such tasks cost in any feasible allocation.
    """
    slope = gradient if callable(gradient) else _spread(instance, gradient)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        if ruled is None:
            budget = float((prices * instance.pool).sum())
            if limit_prices is not None:
                priced = limit_prices > 0
                budget += float(limit_prices[priced] @ instance.limit[priced])
        else:
            budget = ruled[1]

        def costs(users: slice) -> Floats:
            if ruled is not None:
                return ruled[0][users].copy()
            return task_cost(instance, prices, users, limit_prices)

        if not 0 < budget < np.inf:
            return np.inf
        values, dearest = np.zeros(len(instance.users)), 0.0
        for users, open_, g, cost in _blocks(instance, slope, costs):
            if not (np.isfinite(cost).all() and np.isfinite(g).all()):
                return np.inf
            values[users] = np.where(open_, g * tasks[users], 0.0).sum(axis=1)
            ratio = np.where(open_, g / cost, 0.0)
            dearest = float(np.maximum(dearest, ratio.max()))  # NaN stays NaN and proves nothing
        value = float(values.sum())
        covering = dearest * budget
        raised = _raised(instance, slope, costs, value / budget)
        patched = value + float(raised.sum())
    found = float(np.fmin(covering, patched)) - value
    return np.inf if np.isnan(found) else max(found, 0.0)


def _blocks(
    instance: Instance, slope: Gradient, costs: Gradient
) -> Iterator[tuple[slice, Bools, Floats, Floats]]:
    """Blocks of users: where they are eligible, and gradient and price of a task (0 elsewhere)."""
    for users in instance.blocks():
        open_, g = instance.eligible[users], slope(users)
        cost = costs(users)
        cost[cost < LEAST_TASK_PRICE] = 0.0
        if not instance.everywhere:
            g, cost = np.where(open_, g, 0.0), np.where(open_, cost, 0.0)
        yield users, open_, g, cost


def _raised(instance: Instance, slope: Gradient, costs: Gradient, scale: float) -> Floats:
    """(I, R) what it costs to raise scaled prices until every task costs at least its gradient.

    Where a pair is too cheap, the price of its largest d/c is raised; the money is the rise times
    the whole capacity.
    """
    servers, resources = instance.shape[1:]
    raised = np.zeros(servers * resources)
    for users, _, g, cost in _blocks(instance, slope, costs):
        n, i = np.nonzero(g > scale * cost)
        missing = g[n, i] - scale * cost[n, i]
        demand = instance.demand_by_server[users][n, i]
        ratio = demand / np.where(demand > 0, instance.pool[i], 1.0)
        r = ratio.argmax(axis=1)
        np.maximum.at(raised, i * resources + r, missing / ratio[np.arange(len(n)), r])
    return raised.reshape(servers, resources)


def _spread(instance: Instance, gradient: Floats) -> Gradient:
    """The gradient (P,) as a function of a block of users; 0 where they are not eligible."""
    start = np.searchsorted(instance.pairs[0], np.arange(len(instance.users) + 1))

    def block(users: slice) -> Floats:
        found = np.zeros((users.stop - users.start, len(instance.servers)))
        found[instance.eligible[users]] = gradient[start[users.start] : start[users.stop]]
        return found

    return block
