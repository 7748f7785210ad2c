r"""KKT of PS-DSF with time divided: max sum phi_n log x_n, sum_n x[n,i]/gamma[n,i] <= 1.

The price of time on server i is tau_i with phi_n/x_n <= tau_i/gamma[n,i] + mu_n, equal where
x[n,i] > 0: tau_i is one over the least level s/phi of the users that have time there. That is
Theorem 2 of khamse2016, which does not say that TDM PS-DSF is the maximum of anything.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.errors import UsageError
from fairopt.kkt.table import LIMIT_OF, ConditionsTable, named, settled


def tables(alloc: Allocation) -> tuple[ConditionsTable, ...]:
    """One table; the prices of time follow from the tasks."""
    inst, x = alloc.instance, alloc.held
    n, i = inst.pairs
    total = alloc.totals
    tau, mu = prices_of_time(alloc)
    part = inst.part_of_time()[:, :, 0]
    used = (part * x).sum(axis=0)
    if not (total > 0).all():
        raise UsageError("kkt: a user without tasks gains without bound; the answer is no optimum")
    gain = (inst.weight / total)[n]
    cost = tau[i] * part[n, i]
    pairs = {
        **named(alloc),
        "gamma": inst.alone[n, i],
        "s/phi": total[n] * part[n, i] / inst.weight[n],
        "gain": gain,
        "time": cost,
    }
    capped = np.flatnonzero(np.isfinite(inst.limit))
    if len(capped):
        pairs["limit"], cost = mu[n], cost + mu[n]
    pairs |= {"cost": cost, "nu": settled(cost, gain)}
    usable = np.flatnonzero(inst.eligible.any(axis=0))
    use = np.concatenate([used[usable], total[capped]])
    there = np.concatenate([np.ones(len(usable)), inst.limit[capped]])
    dual = np.concatenate([tau[usable], mu[capped]])
    slack = np.where(np.abs(there - use) <= 1e-9 * there, 0.0, there - use)
    rows = {
        "server": [inst.servers[k] for k in usable] + [LIMIT_OF] * len(capped),
        "resource": ["time"] * len(usable) + [inst.users[k] for k in capped],
        "used": use,
        "capacity": there,
        "slack": slack,
        "lambda": dual,
        "slack x lambda": slack * dual,
    }
    return (
        ConditionsTable(
            "max sum phi_n log x_n, sum_n x[n,i]/gamma[n,i] <= 1; gain = phi_n/x_n",
            "nu = tau_i/gamma[n,i] - gain >= 0, and 0 where x > 0; tau (lambda) = 1/least s/phi",
            pairs,
            rows,
        ),
    )


def prices_of_time(alloc: Allocation) -> tuple[np.ndarray, np.ndarray]:
    """tau (I,) of the time of each server, mu (N,) of the limits: read from the tasks."""
    inst, x = alloc.instance, alloc.held
    total = alloc.totals
    part = inst.part_of_time()[:, :, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(inst.eligible, inst.weight[:, None] / total[:, None] / part, 0.0)
    limited = total >= inst.limit * (1 - 1e-9)
    full = (part * x).sum(axis=0) >= 1 - 1e-9
    tau = np.where(full, worth[~limited].max(axis=0, initial=0.0), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(inst.eligible, tau * part, np.inf).min(axis=1)
        mu = np.where(limited, np.maximum(inst.weight / total - least, 0.0), 0.0)
    return tau, mu
