"""Who is stopped by which resource on which server, and what one more unit is worth, in words."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from fairopt.allocation import Allocation
from fairopt.instance import Floats

MOST = 200
"""users told one by one"""


def notes(alloc: Allocation) -> list[str]:
    """One sentence a user; after MOST of them a count of the rest."""
    total = float(alloc.instance.weight.sum())
    lines: list[str] = []
    for user, stops in groupby(alloc.blocked, key=lambda b: b.user):
        if len(lines) == MOST:
            lines.append(f"and {len(alloc.instance.users) - MOST} more users")
            break
        parts = []
        for stop in stops:
            what = "its own limit" if stop.server is None else f"{stop.resource} on {stop.server}"
            if stop.worth:
                gain = stop.worth / total
                what += f", one more unit raises every share by {gain:.3g} of it"
            parts.append(what)
        lines.append(f"{user} is stopped by " + "; by ".join(parts))
    return lines


def listed(alloc: Allocation, tasks: Floats, most: int = 12) -> str:
    """Tasks (N, I) in words, enough digits to check them; at most so many users."""
    inst = alloc.instance
    lines = []
    for name, row in zip(inst.users[:most], tasks, strict=False):
        held = [f"{row[i]:.7g} on {inst.servers[i]}" for i in np.flatnonzero(row)]
        lines.append(f"{name} {' + '.join(held) or 0}")
    more = len(inst.users) - most
    return "; ".join(lines) + (f"; and {more} more users" if more > 0 else "")
