"""An answer as notebooks show it."""

from __future__ import annotations

from fairopt import markup
from fairopt.allocation.amounts import Amounts
from fairopt.allocation.frames import clean, clean_prices

RESOURCES = 6
"""most resources with columns"""


def html(alloc: Amounts, title: str) -> str:
    """Tables of users and servers, then the verdict; of a large answer the first rows."""
    inst, some = alloc.instance, (clean(alloc) != 0).any(axis=1)
    users, servers, _ = inst.shape
    rows = (
        [
            name,
            *(
                float(each[n]) if some[n] else 0.0
                for each in (alloc.totals, alloc.shares, alloc.levels)
            ),
        ]
        for n, name in enumerate(inst.users)
    )
    prices = None if alloc.prices is None else clean_prices(alloc)
    shown = inst.resources[:RESOURCES]
    head = [
        word
        for name in shown
        for word in (f"{name} used", *(["price"] if prices is not None else []))
    ]
    lines = []
    for i, name in enumerate(inst.servers[: markup.ROWS + 1]):
        cells: list[object] = [name]
        for r in range(len(shown)):
            missing = inst.pool[i, r] == 0
            cells.append("-" if missing else f"{100 * alloc.utilisation[i, r]:.4g}%")
            if prices is not None:
                cells.append("-" if missing else float(prices[i, r]))
        lines.append(cells)
    found = alloc.certificate
    verdict = (
        "not judged"
        if found is None
        else (f"{found.said}: gap {found.gap:.2g}, residual {found.residual:.2g}")
    )
    return markup.block(
        markup.line(title),
        markup.table("Users", ["user", "tasks", "share", "level"], rows, users),
        markup.table("Servers", ["server", *head], lines, servers),
        markup.line(verdict),
    )


__all__ = ["html"]
