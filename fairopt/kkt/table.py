"""A table of conditions as data: a line for every pair, and a line for every constraint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.frames import clean
from fairopt.instance import Floats

LIMIT_OF = "limit of"
"""in the place of a server, for the row of a user's limit"""


def trimmed(alloc: Allocation, prices: Floats) -> Floats:
    """Prices (I, R) without those that are only rounding: below 1e-12 of all money."""
    money = prices * alloc.instance.pool
    return np.where(money <= 1e-12 * float(money.sum()), 0.0, prices)


def named(alloc: Allocation) -> dict[str, Any]:
    """Columns user, server and x of every eligible pair, user by user; rounding is 0."""
    inst = alloc.instance
    n, i = inst.pairs
    return {
        "user": [inst.users[k] for k in n],
        "server": [inst.servers[k] for k in i],
        "x": clean(alloc)[n, i],
    }


def priced(alloc: Allocation, gain: Floats, duals: Floats, limits: Floats | None) -> dict[str, Any]:
    """The columns of every eligible pair.

    Parameters
    ----------
    gain : (P,) marginal value of a task. duals : (I, R) multipliers per unit of resource.
    limits : (N,) multipliers of limits.
    """
    inst = alloc.instance
    n, i = inst.pairs
    each = inst.pair_demand * duals[i]
    columns = {**named(alloc), "gain": gain}
    columns |= {inst.resources[r]: each[:, r] for r in range(len(inst.resources))}
    cost = each.sum(axis=1)
    if limits is not None and np.isfinite(inst.limit).any():
        columns["limit"] = limits[n]
        cost = cost + limits[n]
    return {**columns, "cost": cost, "nu": settled(cost, gain)}


def settled(cost: Floats, gain: Floats) -> Floats:
    """Reduced costs nu = cost - gain, 0 where the two agree to twelve digits."""
    nu = cost - gain
    return np.where(np.abs(nu) <= 1e-12 * np.maximum(np.abs(cost), np.abs(gain)), 0.0, nu)


def constraints(
    alloc: Allocation,
    duals: Floats,
    limits: Floats | None,
    prices: Floats | None = None,
    limit_prices: Floats | None = None,
) -> dict[str, Any]:
    """The columns of every row that has the resource, and of every finite limit.

    Parameters
    ----------
    duals, limits : (I, R), (N,) the multipliers. prices, limit_prices : normalised, for a column
        beside them.
    """
    inst = alloc.instance
    i, r = np.nonzero(inst.pool > 0)
    whose = np.flatnonzero(np.isfinite(inst.limit)) if limits is not None else np.empty(0, int)
    used = np.concatenate([alloc.used[i, r], alloc.totals[whose]])
    there = np.concatenate([inst.pool[i, r], inst.limit[whose]])
    dual = np.concatenate([duals[i, r], np.zeros(0) if limits is None else limits[whose]])
    slack = there - used
    slack = np.where(np.abs(slack) <= 1e-12 * there, 0.0, slack)
    columns: dict[str, Any] = {
        "server": [inst.servers[k] for k in i] + [LIMIT_OF] * len(whose),
        "resource": [inst.resources[k] for k in r] + [inst.users[k] for k in whose],
        "used": used,
        "capacity": there,
        "slack": slack,
    }
    if prices is not None:
        mu = np.full(len(inst.users), np.nan) if limit_prices is None else limit_prices
        columns["price"] = np.concatenate([prices[i, r], mu[whose]])
    return {**columns, "lambda": dual, "slack x lambda": slack * dual}


NO_PRICES = "kkt: this answer has no prices; `fairopt solve` keeps them in its answers"

Column = Sequence[Any] | Floats


@dataclass(frozen=True)
class ConditionsTable:
    """The conditions at one optimum, or at one level.

    Parameters
    ----------
    title : the program, in the papers' letters.
    condition : what holds of every line of `pairs`, in words and letters.
    pairs : column -> entries. "user" and "server" come first, then "x" (tasks).
    rows : column -> entries. "server" and "resource" come first; a user's limit has the server
        "limit of" and the user as its resource.
    factor : multiplier = factor x normalised price; None where there are no prices.
    duals : (I, R) multipliers per unit of resource; None where there are none.
    notes : what else is to be known of these numbers.
    """

    title: str
    condition: str
    pairs: Mapping[str, Column]
    rows: Mapping[str, Column]
    factor: float | None = None
    duals: Floats | None = None
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The table as JSON data."""
        return {
            "title": self.title,
            "condition": self.condition,
            "factor": self.factor,
            "pairs": _listed(self.pairs),
            "rows": _listed(self.rows),
            "notes": list(self.notes),
        }

    def worst(self) -> dict[str, float]:
        """How far the conditions are from holding, each relative to what it is made of.

        "nu < 0": a task cheaper than its gain; "nu x > 0": tasks where one costs more than its
        gain, as a part of all that is paid; "slack x lambda > 0": money for what is not full, as a
        part of all money. Only those that the table has the numbers for.
        """
        found: dict[str, float] = {}
        if "nu" in self.pairs:
            nu, gain, x = (np.asarray(self.pairs[k], dtype=float) for k in ("nu", "gain", "x"))
            if "phi M" in self.pairs:  # (9): nu belongs to what is held above the common level
                x = np.maximum(x - np.asarray(self.pairs["phi M"], dtype=float), 0.0)
            size = np.maximum(gain, np.abs(nu))
            found["nu < 0"] = float((-nu / np.where(size > 0, size, 1.0)).max(initial=0.0))
            paid = float(((gain + np.maximum(nu, 0.0)) * x).sum())
            found["nu x > 0"] = float((np.maximum(nu, 0.0) * x).sum()) / (paid or 1.0)
        if "lambda" in self.rows:
            slack, dual, there = (
                np.asarray(self.rows[k], dtype=float) for k in ("slack", "lambda", "capacity")
            )
            money = float((there * dual).sum()) or 1.0
            found["slack x lambda > 0"] = float((np.maximum(slack, 0.0) * dual).sum()) / money
        return found


def _listed(columns: Mapping[str, Column]) -> dict[str, list[Any]]:
    return {name: np.asarray(each).tolist() for name, each in columns.items()}
