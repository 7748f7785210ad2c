"""Rows and prices by name."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairopt.formulas.lowered import CAPACITY, DOWN_OF_TWO, RULE, UP_OF_TWO, Lowered
from fairopt.formulas.row_words import row
from fairopt.instance import Floats, Instance, Ints

CLOSE = 1e-9
"""relative difference from a simple fraction that is rounding"""


def priced(low: Lowered, price: Floats) -> dict[str, Floats]:
    """Prices (M,) of the rows as an Allocation holds them; those of no rule are left out."""
    return low.named(price).told()


def rows(instance: Instance, low: Lowered, price: Floats) -> list[str]:
    """The rows with a price, in words."""
    return [row(instance, low, m) for m in np.flatnonzero(price > 0).tolist()]


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
            return (
                f"{names}{together} {need} {number(there / cut)} {unit} on {place}, which has "
                f"{number(there)}"
            )
        return f"{names}{together} {need} {number(there / cut)} of {what}, which is {number(there)}"
    names_of = [row(instance, low, m) for m in dear[:6]]
    more = f" and {len(dear) - 6} more" if len(dear) > 6 else ""
    return (
        f"{names}{together} {need} {number(1 / cut) if cut > 0 else 'infinitely many'} times what "
        f"there is of {', '.join(names_of)}{more}"
    )


def things(instance: Instance, low: Lowered, rows: Ints, users: Ints) -> list[str]:
    """What is in conflict: rows, each once, and guarantees."""
    named = [row(instance, low, m) for m in rows.tolist()]
    return [*dict.fromkeys(named), *(f"guarantee of {instance.users[n]}" for n in users.tolist())]


def clash(instance: Instance, low: Lowered, floor: Floats, rows: Ints, users: Ints) -> str:
    """What is asked and what is left, in words: "rule green A asks 6, rule licence leaves 5"."""
    asks, leaves, holds = [], [], []
    for m in rows.tolist():
        name, amount = row(instance, low, m), float(low.rhs[m])
        if low.kind[m] == RULE and low.two[m] >= UP_OF_TWO:
            if low.two[m] == UP_OF_TWO:
                asks.append(f"{name} asks just {number(amount)}")
        elif amount < 0:
            asks.append(f"{name} asks {number(-amount)}")
        elif amount == 0:
            holds.append(f"{name} holds")
        else:
            leaves.append(f"{name} leaves {number(amount)}")
    asks += [
        f"guarantee of {instance.users[n]} asks {number(float(floor[n]))}" for n in users.tolist()
    ]
    return ", ".join([*asks, *holds, *leaves])


def proof(
    instance: Instance, low: Lowered, floor: Floats, price: Floats, floors: Floats
) -> dict[str, float]:
    """Prices by name, the least price of what is asked being 1; signed for `equal`."""
    own = low.kind == RULE
    asking = np.where(own & (low.rhs < 0), price, 0.0)
    some = np.concatenate([asking, floors])
    unit = float(some[some > 0].min()) if (some > 0).any() else 1.0
    found: dict[str, float] = {}
    for m in np.flatnonzero(price > 0).tolist():
        sign = -1.0 if own[m] and low.two[m] == DOWN_OF_TWO else 1.0
        name = row(instance, low, m)
        found[name] = found.get(name, 0.0) + sign * float(price[m]) / unit
    for n in np.flatnonzero(floors > 0).tolist():
        found[f"guarantee of {instance.users[n]}"] = float(floors[n]) / unit
    return found


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


__all__ = ["clash", "conflict", "listed", "number", "priced", "proof", "row", "rows", "things"]
