"""Pareto optimality: no user can have more unless another has less."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.instance import Floats
from fairopt.properties.linear import of_linear_demand

TOLERANCE = 1e-6
_LOSS = 1e-9
"""part of its tasks that a user may lose to rounding in the dominating allocation"""


@of_linear_demand
def pareto_optimal(alloc: Allocation) -> Check:
    r"""No feasible allocation gives somebody more and nobody less.

    .. math:: \max_{y \ge 0} \sum_n \frac{y_n - x_n}{\gamma_n} \quad \text{s.t. } y_n \ge x_n,
              \ y_n \le \ell_n, \ \sum_n y_{n,i} d_{n,r} \le c_{i,r}

    with gamma_n the most tasks of user n alone: one linear program (HiGHS). Its answer is scaled
    down into the capacities in NumPy, and the gain computed from its tasks. Tasks are fluid here,
    so an allocation of whole tasks may fail by a fraction of a task.

    Returns
    -------
    Check : residual is the sum of gains, each divided by gamma_n; tolerance 1e-6. NaN (does not
        hold) if the linear program fails.
    """
    inst = alloc.instance
    better = _dominating(alloc)
    if better is None:
        return Check.of("pareto-optimal", np.nan, TOLERANCE, "the linear program failed")
    gain = better.sum(axis=1) - alloc.totals
    part = gain / inst.alone.sum(axis=1)
    lost = gain < -_LOSS * alloc.totals
    residual = 0.0 if lost.any() else max(float(part.sum()), 0.0)
    witness = ""
    if residual > 0:
        order = [n for n in np.argsort(-part, kind="stable")[:3] if part[n] > TOLERANCE / len(part)]
        rises = ", ".join(
            f"{inst.users[n]} from {alloc.totals[n]:.6g} to {alloc.totals[n] + gain[n]:.6g} tasks"
            for n in order
        )
        witness = f"without loss to anybody {rises}" if rises else ""
    return Check.of("pareto-optimal", residual, TOLERANCE, witness)


def _dominating(alloc: Allocation) -> Floats | None:
    """Tasks (N, I) of the linear program, within capacities; None if it has no answer."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    inst = alloc.instance
    n, i = inst.pairs
    users, servers, resources = inst.shape
    # tasks in units of what the user can run alone there, constraints in parts of the capacity
    size = inst.alone[n, i]
    pair = np.arange(len(n))
    use = coo_array(
        (
            (inst.pair_part * size[:, None]).ravel(),
            ((i[:, None] * resources + np.arange(resources)).ravel(), np.repeat(pair, resources)),
        ),
        shape=(servers * resources, len(n)),
    ).tocsr()
    whole = inst.alone.sum(axis=1)
    mine = coo_array((size / whole[n], (n, pair)), shape=(users, len(n))).tocsr()
    start = np.maximum(alloc.tasks[n, i], 0.0) / size
    start = start / max(float((use @ start).max()), 1.0)
    floor = mine @ start
    limited = np.flatnonzero(np.isfinite(inst.limit))
    most = np.maximum(inst.limit[limited] / whole[limited], floor[limited])
    left: Any = vstack([use, -mine, mine[limited]]).tocsr()  # SciPy's stubs want it dense
    found = linprog(
        -np.asarray(mine.sum(axis=0)).ravel(),
        A_ub=left,
        b_ub=np.concatenate([np.ones(use.shape[0]), -floor, most]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.x is None:
        return None
    y = np.maximum(found.x, 0.0)
    y = y / max(float((use @ y).max()), 1.0)
    tasks = np.zeros((users, servers))
    tasks[n, i] = y * size
    return tasks
