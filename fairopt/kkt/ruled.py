r"""KKT of alpha-fairness beside rules: every row of the feasible set has a multiplier.

With a_{m,c} what a task of column c (user n, server i, mode) takes of row m, b_m what there is of
it, and sigma_n what a user is guaranteed,

.. math:: u_c \big( W_n v_n^{-\alpha} + \nu_n \big) = \sum_m \lambda_m a_{m,c} - \text{reduced
          cost}, \quad \lambda_m (b_m - \sum_c a_{m,c} x_c) = 0, \quad \nu_n (s_n - \sigma_n) = 0

where v_n is the share, or what of it is above the guarantee if that is divided, and W_n the weight
down the tree. Rows are capacities, limits, ceilings, own rules (one that asks counts less than 0)
and limits on servers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.by_rows import listed_prices
from fairopt.errors import UsageError
from fairopt.formulas import welfare
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import CAPACITY, LIMIT, Lowered, lower
from fairopt.formulas.row_words import row
from fairopt.instance import Bools, Floats
from fairopt.kkt.smooth import CONDITION, titled
from fairopt.kkt.table import LIMIT_OF, NO_PRICES, ConditionsTable, settled

NOTHING = 1e-9
"""part of a share above its guarantee that is nothing: the user holds what it is guaranteed"""
DUST = 1e-9
"""part of a row that is left, and of all money, of which a price is rounding"""


def tables(alloc: Allocation) -> tuple[ConditionsTable, ...]:
    """One table.

    Raises
    ------
    UsageError : lending, whose flows no answer tells; several priority classes, shares already had;
        no prices.
    """
    inst = alloc.instance
    inst.only_known("kkt", "kkt")
    if inst.tree.quotas:
        raise UsageError("kkt: found lending, whose flows no answer tells; wanted ceilings")
    asked = entitled(inst, alloc.score, alloc.kind)
    if len(np.unique(asked.rank)) > 1:
        raise UsageError("kkt: found priorities, whose prices stand by class; wanted one class")
    low = lower(inst, alloc.score)
    price = listed_prices(alloc, low)
    if not price.any():
        raise UsageError(NO_PRICES)
    given = alloc.kind["parameters"]
    alpha, inside = float(given["alpha"]), bool(given.get("weight_inside", False))
    x = np.where(low.empty, 0.0, alloc.by_way[low.way, low.server])
    used, size = low.matrix @ x, np.abs(low.matrix) @ np.abs(x) + np.abs(low.rhs)
    slack = np.where(np.abs(low.rhs - used) <= 1e-12 * size, 0.0, low.rhs - used)
    idle = (slack > DUST * low.unit) & (price * low.unit <= DUST * float((price * low.unit).sum()))
    price = np.where(idle, 0.0, price)
    share = np.bincount(low.owner, low.score * x, low.shape[0])
    rent = np.zeros(low.shape[0]) if alloc.floor_prices is None else alloc.floor_prices
    rent = np.where(asked.floor > 0, np.maximum(rent, 0.0), 0.0)
    rises = share - asked.base > NOTHING * share
    money = float(low.rhs @ price) - float(rent @ asked.floor)
    if not 0 < money < math.inf:
        raise UsageError("kkt: the prices of this answer are all 0, or not finite")
    log_w = welfare.log_weight(asked.weight, alpha, inside)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.log(np.where(rises, share - asked.base, 1.0))
        slope = np.where(rises, log_w - alpha * above if alpha else log_w, -np.inf)
        log_total = welfare.log_sum_exp((slope + np.log(share))[rises & (share > 0)])
    log_factor = log_total - math.log(money)
    factor = math.exp(log_factor) if -700 < log_factor < 700 else None
    scale = 1.0 if factor is None else factor
    notes = []
    if factor is None:
        power = log_factor / math.log(10)
        notes.append(f"the multipliers are beyond floating point: all is divided by 1e{power:+.0f}")
        slope = slope - log_factor
    dual, rent = price * scale, rent * scale
    gain = np.exp(slope)[low.owner] * low.score
    floor = rent[low.owner] * low.score
    capacity = np.zeros(inst.pool.shape)
    at = low.kind == CAPACITY
    capacity[low.one[at], low.two[at]] = dual[at]
    return (
        ConditionsTable(
            titled(alpha, inside, " - sigma_n" if asked.added else ""),
            CONDITION,
            _pairs(alloc, low, x, gain, floor, dual),
            _rows(alloc, low, used, slack, price, dual, ~at),
            factor,
            capacity,
            tuple(notes),
        ),
    )


def _pairs(
    alloc: Allocation, low: Lowered, x: Floats, gain: Floats, floor: Floats, dual: Floats
) -> dict[str, Any]:
    """The columns of every pair of a user, in a mode, and a server."""
    inst = alloc.instance
    names = [inst.users[n] for n in low.owner.tolist()]
    for k, way in enumerate(low.way.tolist()):
        if inst.ways.name[way]:
            names[k] += f" ({inst.ways.name[way]})"
    columns: dict[str, Any] = {
        "user": names,
        "server": [inst.servers[i] for i in low.server.tolist()],
        "x": x,
        "gain": gain,
    }
    if floor.any():
        columns["guarantee"] = floor
    at = low.kind == CAPACITY
    for r, name in enumerate(inst.resources):
        columns[name] = low.cost(np.where(at & (low.two == r), dual, 0.0))
    columns["rules"] = low.cost(np.where(at, 0.0, dual))
    cost = low.cost(dual)
    return {**columns, "cost": cost, "nu": settled(cost, gain + floor)}


def _rows(
    alloc: Allocation,
    low: Lowered,
    used: Floats,
    slack: Floats,
    price: Floats,
    dual: Floats,
    other: Bools,
) -> dict[str, Any]:
    """The columns of every row."""
    inst = alloc.instance
    server, resource = [], []
    for m in range(len(low.rhs)):
        if low.kind[m] == LIMIT:
            server.append(LIMIT_OF)
            resource.append(inst.users[low.one[m]])
        elif other[m]:
            server.append(row(inst, low, m))
            resource.append("")
        else:
            server.append(inst.servers[low.one[m]])
            resource.append(inst.resources[low.two[m]])
    return {
        "server": server,
        "resource": resource,
        "used": used,
        "capacity": low.rhs,
        "slack": slack,
        "price": price,
        "lambda": dual,
        "slack x lambda": slack * dual,
    }


__all__ = ["tables"]
