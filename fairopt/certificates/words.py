"""Who is stopped by which resource on which server, and what one more unit is worth, in words."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation, Stops, each_stopped
from fairopt.instance import Floats

MOST = 200
"""users told one by one"""
PLACES = 20
"""resources told of one user; among thousands of machines it may be stopped on each"""


def notes(alloc: Allocation) -> list[str]:
    """One sentence a user; after MOST of them a count of the rest."""
    lines: list[str] = []
    for stops in each_stopped(alloc):
        if len(lines) == MOST:
            lines.append(f"and {len(alloc.instance.users) - MOST} more users")
            break
        lines.append(_sentence(alloc, stops))
    return lines


def _sentence(alloc: Allocation, stops: Stops) -> str:
    """Who is stopped by what, and what one more unit of it is worth."""
    inst, parts = alloc.instance, []
    if stops.at_limit:
        mu = 0.0 if alloc.limit_prices is None else float(alloc.limit_prices[stops.user])
        parts.append("its own limit" + _worth(alloc, mu))
    for i, r in zip(stops.servers[:PLACES], stops.resources[:PLACES], strict=True):
        price = 0.0 if alloc.prices is None else float(alloc.prices[i, r])
        parts.append(f"{inst.resources[r]} on {inst.servers[i]}" + _worth(alloc, price))
    if len(stops.servers) > PLACES:
        parts.append(f"{len(stops.servers) - PLACES} more")
    return f"{inst.users[stops.user]} is stopped by " + "; by ".join(parts)


def _worth(alloc: Allocation, price: float) -> str:
    if not price:
        return ""
    gain = price / float(alloc.instance.weight.sum())
    return f", one more unit raises every share by {gain:.3g} of it"


def listed(alloc: Allocation, tasks: Floats, most: int = 12) -> str:
    """Tasks (N, I) in words, enough digits to check them; at most so many users."""
    inst = alloc.instance
    lines = []
    for name, row in zip(inst.users[:most], tasks, strict=False):
        held = [f"{row[i]:.7g} on {inst.servers[i]}" for i in np.flatnonzero(row)]
        lines.append(f"{name} {' + '.join(held) or 0}")
    more = len(inst.users) - most
    return "; ".join(lines) + (f"; and {more} more users" if more > 0 else "")
