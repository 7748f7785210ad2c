"""The most whole tasks in any packing, by a mixed-integer program (HiGHS), with its bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.allocation import Allocation
from fairopt.errors import SolverFailure
from fairopt.instance import Instance

FITS = 1e-6
"""part of a row by which whole tasks may exceed it before it is no rounding of the solver's"""
_MOST = 20_000
"""most variables; with more, machines are not modelled one by one"""


@dataclass(frozen=True)
class Optimum:
    """The integer optimum of the total.

    Parameters
    ----------
    allocation : the best packing found; None when there were too many machines to model each one.
    total : its number of tasks; None likewise.
    bound : no packing holds more tasks. It equals `total` when optimality is proved.
    """

    allocation: Allocation | None
    total: float | None
    bound: float

    @property
    def proved(self) -> bool:
        """Whether the best total found reaches the bound."""
        return self.total is not None and self.total >= self.bound - 1e-6


def optimum(instance: Instance, time_limit: float = 60.0) -> Optimum:
    """max sum x, x whole, every single machine within its capacity (kesidis2018 (1), (4)).

    The machines of a row are modelled one by one while that takes at most 20,000 variables. Beyond,
    only the bound is computed, with each row as one large machine, which may hold more than the
    machines it stands for.

    Parameters
    ----------
    instance : the cluster.
    time_limit : seconds for the solver; the best packing by then is returned with its bound.

    Raises
    ------
    SolverFailure : the solver stopped with neither an answer nor a bound.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, vstack

    instance.only_plain("the most whole tasks")
    n, i = instance.pairs
    written_out = int(instance.count[i].sum()) <= _MOST
    machines = instance.count if written_out else np.ones_like(instance.count)
    capacity = np.repeat(instance.capacity if written_out else instance.pool, machines, axis=0)
    start = np.concatenate([[0], np.cumsum(machines)])
    pair = np.repeat(np.arange(len(n)), machines[i])
    within = np.arange(len(pair)) - np.repeat(np.cumsum(machines[i]) - machines[i], machines[i])
    users, machine = n[pair], start[i[pair]] + within
    demand = instance.pair_demand[pair]
    size, r = len(pair), capacity.shape[1]
    # rows scaled to capacity 1: the solver's tolerance is absolute
    scale = np.where(capacity > 0, capacity, 1.0)
    entry, resource = np.nonzero(demand)
    use = coo_array(
        (
            demand[entry, resource] / scale[machine[entry], resource],
            (machine[entry] * r + resource, entry),
        ),
        shape=(len(capacity) * r, size),
    )
    bounded = np.isfinite(instance.limit)
    per_user = coo_array((np.ones(size), (users, np.arange(size))), shape=(len(bounded), size))
    rows = vstack([use, per_user]).tocsr()
    high = np.concatenate([(capacity > 0).astype(float).ravel(), np.floor(instance.limit + 1e-9)])
    most = np.floor(
        np.where(demand > 0, capacity[machine] / np.where(demand > 0, demand, 1.0), np.inf).min(
            axis=1
        )
        + 1e-9
    )
    answer = milp(
        -np.ones(size),
        integrality=np.ones(size, dtype=np.int64),
        bounds=Bounds(0, most),
        constraints=LinearConstraint(rows, -np.inf, high),
        options={"time_limit": time_limit, "mip_rel_gap": 0.0},
    )
    bound = getattr(answer, "mip_dual_bound", None)
    if bound is None or not np.isfinite(bound):
        raise SolverFailure(f"integer optimum: HiGHS stopped without a bound ({answer.message})")
    bound = float(np.floor(-bound + 1e-6))
    if answer.x is None or not written_out:
        return Optimum(None, None, bound)
    units = np.rint(answer.x).astype(np.int64)
    over = float((rows @ units - high).max(initial=0.0))
    if over > FITS or (units < 0).any() or units.sum() > bound:
        raise SolverFailure(
            f"integer optimum: HiGHS contradicts itself: {units.sum()} tasks, at most {bound:g} by "
            f"its own bound, rows exceeded by {over:.2g}"
        )
    tasks = np.zeros(instance.shape[:2])
    np.add.at(tasks, (users, i[pair]), units)
    packed: dict[str, list[dict[str, object]]] = {}
    for row in np.flatnonzero(instance.count > 1):
        for k in range(start[row], start[row + 1]):
            held = {
                instance.users[users[v]]: float(units[v])
                for v in np.flatnonzero((machine == k) & (units > 0))
            }
            if held:
                packed.setdefault(instance.servers[row], []).append({"count": 1, "tasks": held})
    notion = {"name": "fill:optimum", "parameters": {"increment": 1.0}}
    steps = ({"machines": packed, "bound": bound},)
    return Optimum(Allocation(instance, notion, tasks, steps=steps), float(tasks.sum()), bound)
