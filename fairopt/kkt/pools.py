r"""KKT of (9) and (10) of kesidis2016, both linear programs over pools.

(9), its second step: the gain of a task is sum_r d[n,r] / (c[i,r] phi_n), and nu is 0 where x[n,i]
is above the common phi_n M. (10): a common task of user n gains 1/phi_n and is paid on all its
pools at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.errors import UsageError
from fairopt.formulas import pools
from fairopt.instance import Floats
from fairopt.kkt.table import NO_PRICES, ConditionsTable, constraints, priced, settled, trimmed


def tables(alloc: Allocation) -> tuple[ConditionsTable, ...]:
    """One table; its factor is the least at which no task is cheaper than its gain.

    The gains of (9) are parts of the capacity; the multipliers are derivatives with those held.
    """
    kind = alloc.kind
    if kind["parameters"].get("mix", "demand") == "free":
        raise UsageError('kkt: found mix="free", which divides each resource by itself')
    if alloc.prices is None:
        raise UsageError(NO_PRICES)
    prices = trimmed(alloc, alloc.prices)
    mu = np.zeros(len(alloc.instance.users)) if alloc.limit_prices is None else alloc.limit_prices
    return (_equal(alloc, prices, mu) if kind["name"] == "equal-m" else _common(alloc, prices, mu),)


def _scale(gain: Floats, cost: Floats) -> float:
    """The least factor of the prices at which every cost is at least its gain."""
    if not (cost[gain > 0] > 0).all():
        raise UsageError("kkt: a task that gains costs nothing at the prices of this answer")
    return float((gain[gain > 0] / cost[gain > 0]).max(initial=0.0))


def _equal(alloc: Allocation, prices: Floats, mu: Floats) -> ConditionsTable:
    inst = alloc.instance
    n, i = inst.pairs
    gain = pools.share_of_task(inst)[n, i]
    factor = _scale(gain, (inst.pair_demand * prices[i]).sum(axis=1) + mu[n])
    duals, limits = prices * factor, mu * factor
    _, least = pools.equal_level(inst)
    pairs = priced(alloc, gain, duals, limits)
    x = pairs.pop("x")
    pairs = {
        "user": pairs.pop("user"),
        "server": pairs.pop("server"),
        "x": x,
        "phi M": least[n, i],
        **pairs,
    }
    return ConditionsTable(
        f"(9): max sum x d/(c phi_n) = {alloc.objective:.6g}, x[n,i] >= phi_n M",
        "nu = cost - gain >= 0, and 0 where x > phi M; lambda > 0 only where slack is 0",
        pairs,
        constraints(alloc, duals, limits, prices, mu),
        factor,
        duals,
    )


def _common(alloc: Allocation, prices: Floats, mu: Floats) -> ConditionsTable:
    inst = alloc.instance
    gain = 1.0 / inst.weight
    each = np.zeros(inst.shape[:2])
    n, i = inst.pairs
    each[n, i] = (inst.pair_demand * prices[i]).sum(axis=1) * inst.count[i]
    machines = np.where(inst.eligible, inst.count, 0).sum(axis=1)
    cost = each.sum(axis=1) + mu * machines
    factor = _scale(gain, cost)
    pairs: dict[str, Any] = {
        "user": list(inst.users),
        "server": ["all its pools"] * len(inst.users),
        "x": pools.common_tasks(inst, alloc.tasks),
        "gain": gain,
        **{f"on {name}": each[:, k] * factor for k, name in enumerate(inst.servers)},
    }
    if np.isfinite(inst.limit).any():
        pairs["limit"] = mu * machines * factor
    pairs |= {"cost": cost * factor, "nu": settled(cost * factor, gain)}
    duals = prices * factor
    return ConditionsTable(
        f"(10): max sum M_n/phi_n = {alloc.objective:.6g}, x[n,i] = M_n; gain = 1/phi_n",
        "nu = cost - gain >= 0, and 0 where M_n > 0 (column x); lambda > 0 only where slack is 0",
        pairs,
        constraints(alloc, duals, mu * factor, prices, mu),
        factor,
        duals,
    )
