"""Which resource stops each user on which server, and what one more unit would bring, in words."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas.blocked import Stops
from fairopt.instance import Floats

MOST_USERS = 200
"""most users with a sentence of their own"""
PLACES, SERVERS = 20, 8
"""most prices named for one user, which may be stopped on thousands of machines; most servers named
of one price"""


def notes(alloc: Allocation) -> list[str]:
    """One sentence for each user, up to MOST_USERS users, then the number of the others."""
    lines: list[str] = []
    money = float(alloc.instance.weight.sum())
    for stops in alloc.each_stopped():
        if len(lines) == MOST_USERS:
            lines.append(f"and {len(alloc.instance.users) - MOST_USERS} more users")
            break
        lines.append(_sentence(alloc, stops, money))
    return lines


def _sentence(alloc: Allocation, stops: Stops, money: float) -> str:
    """What stops one user, and what one more unit of it would bring: servers where that is the same
    are named together."""
    inst, parts, alike = alloc.instance, [], dict[tuple[str, str], list[str]]()
    if stops.at_limit:
        mu = 0.0 if alloc.limit_prices is None else float(alloc.limit_prices[stops.user])
        parts.append("its own limit" + _gain(mu, money))
    for place in stops.places.tolist():
        i, r = divmod(place, len(inst.resources))
        price = 0.0 if alloc.prices is None else float(alloc.prices[i, r])
        alike.setdefault((inst.resources[r], _gain(price, money)), []).append(inst.servers[i])
    for (resource, gain), servers in alike.items():
        more = len(servers) - SERVERS
        names = ", ".join(servers[:SERVERS]) + (f" and {more} more" if more > 0 else "")
        parts.append(f"{resource} on {names}{gain}")
    if len(parts) > PLACES:
        parts[PLACES:] = [f"{len(parts) - PLACES} more"]
    return f"{inst.users[stops.user]} is stopped by " + "; by ".join(parts)


def _gain(price: float, money: float) -> str:
    """What one more unit at this price would bring, if all capacity costs `money`."""
    return f", one more unit raises every share by {price / money:.3g} of it" if price else ""


def listed(alloc: Allocation, tasks: Floats, most: int = 12) -> str:
    """Tasks (N, I) in words, with enough digits to check them, of at most `most` users."""
    inst = alloc.instance
    lines = []
    for name, row in zip(inst.users[:most], tasks, strict=False):
        held = [f"{row[i]:.7g} on {inst.servers[i]}" for i in np.flatnonzero(row)]
        lines.append(f"{name} {' + '.join(held) or 0}")
    more = len(inst.users) - most
    return "; ".join(lines) + (f"; and {more} more users" if more > 0 else "")
