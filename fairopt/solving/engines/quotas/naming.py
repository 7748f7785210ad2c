"""Rows and prices by name."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairopt.formulas.lowered import BOUND, CAPACITY, LIMIT, PLACE, Lowered
from fairopt.instance import Floats, Instance

CLOSE = 1e-9
"""relative difference from a simple fraction that is rounding"""


def priced(low: Lowered, price: Floats) -> dict[str, Floats]:
    """Prices (M,) of the rows as an Allocation holds them; those of no rule are left out."""
    named = low.named(price)
    found = {"prices": named.capacity, "limit_prices": named.limits}
    if named.bounds.size:
        found["bound_prices"] = named.bounds
    if named.places.size:
        found["limit_on_prices"] = named.places
    if named.nodes.size:
        found["node_prices"] = named.nodes
    return found


def rows(instance: Instance, low: Lowered, price: Floats) -> list[str]:
    """The rows with a price, in words."""
    return [row(instance, low, m) for m in np.flatnonzero(price > 0).tolist()]


def row(instance: Instance, low: Lowered, m: int) -> str:
    """A row in words: "gpu on x", "the limit of A", "the ceiling of org: gpu"."""
    kind, one, two = int(low.kind[m]), int(low.one[m]), int(low.two[m])
    if kind == CAPACITY:
        return f"{instance.resources[two]} on {instance.servers[one]}"
    if kind == LIMIT:
        return f"the limit of {instance.users[one]}"
    if kind == PLACE:
        return f"the limit of {instance.users[one]} on {instance.servers[two]}"
    tree = instance.tree
    if kind == BOUND:
        bounds = tree.bounds
        what = _where(instance.resources[bounds.resource[one]], bounds.flavor[one])
        return f"the ceiling of {tree.nodes[bounds.node[one]]}: {what}"
    quota = tree.quotas[one]
    what = _where(instance.resources[quota.resource], quota.flavor)
    return f"the quota of {tree.nodes[two] or 'all'}: {what}"


def _where(resource: str, flavor: str | None) -> str:
    return resource if flavor is None else f"{resource} on {flavor}"


def conflict(
    instance: Instance, low: Lowered, users: list[str], floor: Floats, price: Floats, cut: float
) -> str:
    """That the floors (N,) of users need more than there is, in words.

    Where one row alone has a price, what they need of it; else how much more than all rows with a
    price together, each at its price.
    """
    names = listed(users)
    together = " together" if len(users) > 1 else ""
    need = "needs" if len(users) == 1 else "need"
    dear = np.flatnonzero(price > 0).tolist()
    if len(dear) == 1:
        m = dear[0]
        there = float(low.rhs[m])
        if cut <= 0:
            of = row(instance, low, m)
            return f"{names}{together} {need} some of {of}, which is {number(there)}"
        what = row(instance, low, m)
        unit, _, place = what.partition(" on ") if low.kind[m] == CAPACITY else ("", "", "")
        if place:
            return f"{names}{together} {need} {number(there / cut)} {unit} on {place}, which has " \
                   f"{number(there)}"  # fmt: skip
        return f"{names}{together} {need} {number(there / cut)} of {what}, which is {number(there)}"
    names_of = [row(instance, low, m) for m in dear[:6]]
    more = f" and {len(dear) - 6} more" if len(dear) > 6 else ""
    return (
        f"{names}{together} {need} {number(1 / cut) if cut > 0 else 'infinitely many'} times what "
        f"there is of {', '.join(names_of)}{more}"
    )


def listed(users: list[str]) -> str:
    """Names as a text names them, at most eight."""
    if len(users) > 8:
        return f"{', '.join(users[:8])} and {len(users) - 8} more"
    return " and ".join(users) if len(users) < 3 else f"{', '.join(users[:-1])} and {users[-1]}"


def number(value: float) -> str:
    """A number as a simple fraction, if it is one, else in decimals."""
    near = Fraction(value).limit_denominator(1000)
    if abs(float(near) - value) <= CLOSE * max(abs(value), CLOSE):
        return str(near)
    return f"{value:.6g}"


__all__ = ["conflict", "listed", "number", "priced", "row", "rows"]

