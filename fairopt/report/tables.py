"""Answers as tables in plain text, the same on every terminal and in every pipe."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from fairopt.allocation import Allocation

WIDTH = 100
"""columns, whatever the terminal: the same answer prints the same text"""
ROWS = 12
"""longest table printed whole; a longer one shows ROWS - 2 rows and how many more there are"""
COLUMNS = 4
"""most resources shown side by side"""
STOPS = 3
"""most servers named where a user is stopped"""


def allocation_text(alloc: Allocation, title: str = "", accepted: bool = True) -> str:
    """Totals and who is stopped by what, how full each resource is at what price, the verdict.

    Parameters
    ----------
    alloc : the answer, judged or not.
    title : of the model, for the first line.
    accepted : False marks an answer as not certified, even where its certificate passes (a gap
        smaller than that of the certificate was asked for).

    Returns
    -------
    str : at most 40 lines of 100 columns, without colour.
    """
    parts = [*([_clip(title)] if title else []), _headline(alloc), "", _users(alloc), ""]
    return "\n".join([*parts, _servers(alloc), "", _verdict(alloc, accepted)])


def models_text(shipped: Iterable[Any]) -> str:
    """Shipped models (name, title, source), two lines each."""
    lines = []
    for model in shipped:
        lines += [_clip(f"{model.name}: {model.title}"), _clip(f"    {model.source}")]
    return "\n".join(lines)


def number(value: float) -> str:
    """Six significant digits, as everywhere in the tables."""
    return f"{value + 0.0:.6g}"


def _headline(alloc: Allocation) -> str:
    inst = alloc.instance
    users, servers, resources = inst.shape
    machines = int(inst.count.sum())
    settings = ", ".join(f"{k}={_plain(v)}" for k, v in alloc.notion["parameters"].items())
    rows = _count(servers, "server") + (f" ({machines} machines)" if machines != servers else "")
    return _clip(
        f"{alloc.notion['name']}{f' ({settings})' if settings else ''}: "
        f"{_count(users, 'user')}, {rows}, {_count(resources, 'resource')}"
    )


def _users(alloc: Allocation) -> str:
    """Total, share and stops of each user."""
    inst = alloc.instance
    columns = ["user", "weight", "tasks", "share", "stopped by"]
    same = bool((alloc.shares == alloc.totals).all())
    shown = _shown(len(inst.users))
    stops = {name: list(rows) for name, rows in groupby(alloc.blocked, key=lambda b: b.user)}
    rows = []
    for n in range(shown):
        name = inst.users[n]
        numbers = [number(v[n]) for v in (inst.weight, alloc.totals, alloc.shares)]
        rows.append([name, *numbers, _stopped(stops.get(name, []))])
    if same:  # shares counted in tasks say nothing new
        columns.remove("share")
        rows = [row[:3] + row[4:] for row in rows]
    return _table(columns, rows, len(inst.users) - shown, left=(0, len(columns) - 1))


def _stopped(stops: Sequence[Any]) -> str:
    """Stops grouped by resource: "memory on A, B and 2 more; cpu on C"."""
    parts = []
    where: dict[str | None, list[str]] = {}
    for stop in stops:
        where.setdefault(stop.resource, []).append(stop.server or "")
    for resource, servers in where.items():
        if resource is None:
            parts.append("its own limit")
            continue
        more = f" and {len(servers) - STOPS} more" if len(servers) > STOPS else ""
        parts.append(f"{resource} on {', '.join(servers[:STOPS])}{more}")
    return "; ".join(parts) or "-"


def _servers(alloc: Allocation) -> str:
    """How full each resource of each server is, and its price where one is known."""
    inst = alloc.instance
    resources = inst.resources[:COLUMNS]
    counted = bool((inst.count > 1).any())
    columns = ["server", *(["machines"] if counted else [])]
    for name in resources:
        columns += [f"{name} used", *(["price"] if alloc.prices is not None else [])]
    shown = _shown(len(inst.servers))
    rows = []
    for i in range(shown):
        row = [inst.servers[i], *([str(inst.count[i])] if counted else [])]
        for r in range(len(resources)):
            missing = inst.pool[i, r] == 0
            row.append("-" if missing else f"{100 * alloc.utilisation[i, r]:.2f}%")
            if alloc.prices is not None:
                row.append("-" if missing else number(alloc.prices[i, r]))
        rows.append(row)
    text = _table(columns, rows, len(inst.servers) - shown, left=(0,))
    hidden = inst.resources[COLUMNS:]
    if hidden:
        text += "\n" + _clip(f"{_count(len(hidden), 'more resource')}: {', '.join(hidden)}")
    return text


def _verdict(alloc: Allocation, accepted: bool) -> str:
    """One line, then one for each check that fails and for the users not pinned."""
    certificate = alloc.certificate
    if certificate is None:
        return "NOT JUDGED"
    verdict = certificate.verdict
    if not certificate.certified:
        verdict = f"NOT CERTIFIED, {verdict}"
    elif not accepted:
        verdict = "NOT CERTIFIED as asked"
    lines = [
        f"{verdict}: gap {certificate.gap:.1e}, residual {certificate.residual:.1e}; "
        f"{sum(c.holds for c in certificate.checks)} of {len(certificate.checks)} checks hold"
    ]
    for check in certificate.checks:
        if not check.holds:
            where = f" ({check.witness})" if check.witness else ""
            lines.append(f"  {check.name}: {check.residual:.2g} > {check.tolerance:.0e}{where}")
    if certificate.undetermined:
        names = certificate.undetermined
        more = f" and {len(names) - STOPS} more" if len(names) > STOPS else ""
        lines.append(f"  not pinned: {', '.join(names[:STOPS])}{more}")
    return "\n".join(_clip(line) for line in lines[:6])


# -- plain text -------------------------------------------------------------------------------


def _shown(size: int) -> int:
    return size if size <= ROWS else ROWS - 2


def _count(size: int, word: str) -> str:
    return f"{size} {word}{'' if size == 1 else 's'}"


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _clip(line: str) -> str:
    line = " ".join(line.split()) if not line.startswith(" ") else line
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], more: int, left: tuple[int, ...]
) -> str:
    """An aligned table; columns `left` to the left, numbers to the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for k, name in enumerate(columns):
        table.add_column(
            name, justify="left" if k in left else "right", no_wrap=True, overflow="ellipsis"
        )
    for row in rows:
        table.add_row(*row)
    # no colour, markup or emoji: a user may well be called ":fire:" or "[bold]"
    text = io.StringIO()
    console = Console(
        file=text, width=WIDTH, color_system=None, force_terminal=False, markup=False,
        highlight=False, emoji=False, legacy_windows=False, _environ={},
    )  # fmt: skip
    console.print(table)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    if more:
        lines.append(f"... {more} more")
    return "\n".join(lines)
