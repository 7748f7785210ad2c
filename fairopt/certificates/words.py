"""Who is stopped by which resource on which server, and what one more unit is worth, in words."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas.blocked import Stops
from fairopt.instance import Floats

MOST = 200
"""users told one by one"""
PLACES = 20
"""resources told of one user; among thousands of machines it may be stopped on each"""


def notes(alloc: Allocation) -> list[str]:
    """One sentence a user; after MOST of them a count of the rest."""
    lines: list[str] = []
    money = float(alloc.instance.weight.sum())
    for stops in alloc.each_stopped():
        if len(lines) == MOST:
            lines.append(f"and {len(alloc.instance.users) - MOST} more users")
            break
        lines.append(_sentence(alloc, stops, money))
    return lines


def _sentence(alloc: Allocation, stops: Stops, money: float) -> str:
    """Who is stopped by what, and what one more unit of it is worth."""
    inst, parts = alloc.instance, []
    if stops.at_limit:
        mu = 0.0 if alloc.limit_prices is None else float(alloc.limit_prices[stops.user])
        parts.append("its own limit" + _worth(mu, money))
    for place in stops.places[:PLACES].tolist():
        i, r = divmod(place, len(inst.resources))
        price = 0.0 if alloc.prices is None else float(alloc.prices[i, r])
        parts.append(f"{inst.resources[r]} on {inst.servers[i]}" + _worth(price, money))
    if len(stops.places) > PLACES:
        parts.append(f"{len(stops.places) - PLACES} more")
    return f"{inst.users[stops.user]} is stopped by " + "; by ".join(parts)


def _worth(price: float, money: float) -> str:
    """What one more unit at this price brings, where all of them cost `money`."""
    return f", one more unit raises every share by {price / money:.3g} of it" if price else ""


def listed(alloc: Allocation, tasks: Floats, most: int = 12) -> str:
    """Tasks (N, I) in words, enough digits to check them; at most so many users."""
    inst = alloc.instance
    lines = []
    for name, row in zip(inst.users[:most], tasks, strict=False):
        held = [f"{row[i]:.7g} on {inst.servers[i]}" for i in np.flatnonzero(row)]
        lines.append(f"{name} {' + '.join(held) or 0}")
    more = len(inst.users) - most
    return "; ".join(lines) + (f"; and {more} more users" if more > 0 else "")
