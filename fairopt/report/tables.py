"""Answers as tables in plain text, the same on every terminal and in every pipe."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile
from textwrap import wrap
from typing import Any, NamedTuple

from fairopt.allocation import Allocation, Blocked
from fairopt.allocation.frames import clean_prices
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.instance import Floats
from fairopt.report import groups
from fairopt.report.words import NAME, STOPS, WIDTH, clipped, count, listed, number, stopped

ROWS = 12
"""most rows of a table; a longer one shows ROWS - 2 rows and the number of the others"""
FEWER = 8
"""the same for a max-min answer, as its levels must fit on the page too"""
FEWEST = 5
"""the same for an answer with groups, as they must fit on it as well"""
LEVEL_ROOM = 50
"""characters for the full resources of a level, about"""
LINES = 40
"""most lines of a page"""
GAP = 2
"""characters between two columns"""


class Page(NamedTuple):
    """How much of an answer is shown: rows of a table, and characters of a line."""

    rows: int
    width: int = WIDTH


WHOLE = Page(10**9, 10**6)


def allocation_text(
    alloc: Allocation, title: str = "", accepted: bool = True, whole: bool = False
) -> str:
    """An answer as text: its totals, what stops each user, use and price of resources, verdict.

    For a max-min answer also its levels or rounds: the value, the users frozen there and what was
    full. With quotas, first where these and the nodes do not agree; then the groups, and what a
    unit costs in each.

    Parameters
    ----------
    alloc : the answer, judged or not.
    title : of the model, for the first line.
    accepted : False marks the answer as not certified although its certificate passes: the caller
        asked for a smaller gap.
    whole : every user, server and level, on lines as long as they need.

    Returns
    -------
    str : at most 40 lines of 100 columns unless whole, without colour.
    """
    for page in (WHOLE,) if whole else (Page(ROWS), Page(FEWER), Page(FEWEST)):
        head = [*([_clip(title, page.width)] if title else []), headline(alloc), *_reduced(alloc)]
        head += _near(alloc)
        head += [_clip(line, page.width) for line in groups.lines(alloc)]
        levels = _levels(alloc, page) or _more(groups.rounds(alloc, page.rows), (2, 3), page)
        parts = [*head, "", _users(alloc, page), ""]
        parts += _more(groups.table(alloc, page.rows), (0,), page)
        parts += [_servers(alloc, page), ""]
        parts += _more(groups.rules_table(alloc, page.rows), (0, 1), page)
        parts += [*levels, verdict_text(alloc, accepted)]
        text = "\n".join(parts)
        if not levels or text.count("\n") < LINES:
            break
    return text


def _settings(parameters: Mapping[str, Any]) -> str:
    settings = ", ".join(f"{k}={_plain(v)}" for k, v in parameters.items())
    return f" ({settings})" if settings else ""


def headline(alloc: Allocation) -> str:
    """The notion and the size of the instance, in a line."""
    inst = alloc.instance
    users, servers, resources = inst.shape
    machines = int(inst.count.sum())
    settings = _settings(alloc.notion["parameters"])
    # of a notion that is not ours the family says what it was judged as
    kind = alloc.kind if "family" in alloc.notion else None
    judged = f", judged as {kind['name']}{_settings(kind['parameters'])}" if kind else ""
    rows = count(servers, "server") + (f" ({machines:,} machines)" if machines != servers else "")
    return _clip(
        f"{alloc.notion['name']}{settings}{judged}: "
        f"{count(users, 'user')}, {rows}, {count(resources, 'resource')}"
    )


def _reduced(alloc: Allocation) -> list[str]:
    """A line on the smaller instance that was solved; [] if it was solved as it is."""
    for step in alloc.steps:
        if step.get("step") == "reduce":
            (users, groups), (servers, rows) = step["users"], step["servers"]
            line = (
                f"{count(users, 'user')} and {count(servers, 'server')} "
                f"solved as {groups:,} and {rows:,}"
            )
            never = step.get("never binding")
            return [_clip(line + (f", {listed(never, STOPS)} never binding" if never else ""))]
    return []


def _near(alloc: Allocation) -> list[str]:
    """A line on the tasks that move from the last answer; [] without one."""
    for step in alloc.steps:
        if step.get("step") == "near":
            moved = f"stops {step['stopped']:.6g} tasks and starts {step['started']:.6g}"
            if step["status"] != "used":
                return [_clip(f"beside the last answer it {moved}; near {step['status']}")]
            return [
                _clip(
                    f"nearest to the last answer: {moved}; together no optimal answer has fewer "
                    f"than {step['bound']:.6g}"
                )
            ]
    return []


def _users(alloc: Allocation, page: Page) -> str:
    """Total, share and stops of each user; no column of shares if they equal the totals."""
    inst = alloc.instance
    columns = {"weight": inst.weight, "tasks": alloc.totals}
    if alloc.way_tasks is not None:  # what they get done, beside how many tasks run
        columns["output"] = alloc.output.sum(axis=1)
    columns["share"] = alloc.shares
    if (alloc.shares == alloc.totals).all():
        del columns["share"]
    shown = _shown(len(inst.users), page.rows)
    # stops are computed only for the users shown: large instances have millions of stops
    names = set(inst.users[:shown])
    told = takewhile(lambda b: b.user in names, alloc.each_blocked())
    stops = {name: list(rows) for name, rows in groupby(told, key=lambda b: b.user)}
    rows = [
        [clipped(inst.users[n]), *(number(values[n]) for values in columns.values())]
        for n in range(shown)
    ]
    heads = ["user", *columns]
    room = page.width - _width(heads, rows) - GAP
    for n, row in enumerate(rows):
        row.append(stopped(stops.get(inst.users[n], []), room))
    more = len(inst.users) - shown
    return table_text([*heads, "stopped by"], rows, more, left=(0, len(heads)), width=page.width)


def _servers(alloc: Allocation, page: Page) -> str:
    """How full each resource of each server is, and its price where one is known."""
    inst = alloc.instance
    shown = _shown(len(inst.servers), page.rows)
    head = ["server"]
    rows = [[clipped(name)] for name in inst.servers[:shown]]
    if (inst.count > 1).any():
        head.append("machines")
        rows = [[*row, f"{inst.count[i]:,}"] for i, row in enumerate(rows)]
    fit = 0
    prices = None if alloc.prices is None else clean_prices(alloc)
    for r, name in enumerate(inst.resources):
        wider = [*head, f"{clipped(name)} used", *(["price"] if prices is not None else [])]
        longer = [row + _cells(alloc, prices, i, r) for i, row in enumerate(rows)]
        if r and _width(wider, longer) > page.width:
            break
        head, rows, fit = wider, longer, r + 1
    text = table_text(head, rows, len(inst.servers) - shown, left=(0,), width=page.width)
    hidden = inst.resources[fit:]
    return f"{text}\n{_clip('not shown: ' + ', '.join(hidden))}" if hidden else text


def _cells(alloc: Allocation, prices: Floats | None, i: int, r: int) -> list[str]:
    missing = alloc.instance.pool[i, r] == 0
    cells = ["-" if missing else f"{100 * alloc.utilisation[i, r]:.2f}%"]
    if prices is not None:
        cells.append("-" if missing else number(prices[i, r]))
    return cells


def _levels(alloc: Allocation, page: Page) -> list[str]:
    """The levels of a max-min answer in order, and an empty line; [] for other answers."""
    steps = [step for step in alloc.steps if step.get("step") == "level"]
    if not steps:
        return []
    rows = []
    for k, step in enumerate(steps[: _shown(len(steps), page.rows)]):
        stops = [Blocked("", server, resource, None) for server, resource in step["full"]]
        held = f"limit of {listed(step['at limit'], 1)}; " if step["at limit"] else ""
        cells = [str(k + 1), number(step["level"]), listed(step["users"], 2)]
        rows.append([*cells, (held + stopped(stops, LEVEL_ROOM - len(held))).removesuffix("; -")])
    heads, more = ["step", "level", "stops", "full"], len(steps) - len(rows)
    text = table_text(heads, rows, more, left=(2, 3), width=page.width)
    return [text, ""]


def _more(told: groups.Told, left: tuple[int, ...], page: Page) -> list[str]:
    """A table of rounds or groups, and an empty line; [] if there are none."""
    heads, rows, more = told
    return [table_text(heads, rows, more, left=left, width=page.width), ""] if rows else []


def verdict_text(alloc: Allocation, accepted: bool) -> str:
    """The verdict; then a line per check that fails, and one on users not determined."""
    certificate = alloc.certificate
    if certificate is None:
        return "NOT JUDGED"
    verdict = certificate.verdict
    if not certificate.certified:
        verdict = f"NOT CERTIFIED, {certificate.said}"
    elif not accepted:
        verdict = "NOT CERTIFIED as asked"
    if certificate.tolerance != TOLERANCE:
        verdict += f" within {certificate.tolerance:.0e}"
    lines = [
        f"{verdict}: gap {_small(certificate.gap)}, residual {_small(certificate.residual)}; "
        f"{sum(c.holds for c in certificate.checks)} of {len(certificate.checks)} checks hold"
    ]
    for check in certificate.checks:
        if not check.holds:
            where = f" ({check.witness})" if check.witness else ""
            lines.append(f"  {check.name}: {check.residual:.2g} > {check.tolerance:.0e}{where}")
    if certificate.undetermined:
        lines.append(f"  not pinned: {listed(certificate.undetermined, STOPS)}")
    return "\n".join(_clip(line) for line in lines[:6])


# -- plain text -------------------------------------------------------------------------------


def _shown(size: int, most: int) -> int:
    return size if size <= most else most - 2


def _small(value: float) -> str:
    """A gap as text; below 1e-12 it is rounding, which differs from machine to machine."""
    return "< 1e-12" if value < 1e-12 else f"{value:.1e}"


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _clip(line: str, width: int = WIDTH) -> str:
    line = " ".join(line.split()) if not line.startswith(" ") else line
    return line if len(line) <= width else line[: width - 3] + "..."


def _width(head: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Columns that a table takes."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return sum(widths) + GAP * (len(widths) - 1)


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]], more: int = 0) -> str:
    """A table of text: the first column to the left, numbers to the right; `more` rows left out.

    Names that do not fit beside the numbers go on below, whole.
    """
    room = WIDTH - _width(columns[1:], [row[1:] for row in rows]) - GAP
    lines: list[Sequence[str]] = []
    for name, *rest in rows:
        parts = wrap(name, max(room, NAME), break_on_hyphens=False) or [""]
        lines.append([parts[0], *rest])
        lines += [[part, *([""] * len(rest))] for part in parts[1:]]
    return table_text(columns, lines, more, (0,))


def table_text(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    more: int,
    left: tuple[int, ...],
    width: int = WIDTH,
) -> str:
    """An aligned table: columns in `left` to the left, the others to the right."""
    if _width(columns, rows) <= width and all(
        text.isascii() and text.isprintable() for line in (columns, *rows) for text in line
    ):
        lines = _drawn(columns, rows, left)
    else:
        lines = _fitted(columns, rows, left, width)
    if more:
        lines.append(f"... {more} more")
    return "\n".join(lines)


def _drawn(
    columns: Sequence[str], rows: Sequence[Sequence[str]], left: tuple[int, ...]
) -> list[str]:
    """The lines of a table of plain letters that is not too wide, as nearly all are."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    lines = [
        (" " * GAP)
        .join(
            text.ljust(width) if k in left else text.rstrip().rjust(width)
            for k, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        .rstrip()
        for line in (columns, *rows)
    ]
    return [lines[0], "\u2500" * _width(columns, rows), *lines[1:]]


def _fitted(
    columns: Sequence[str], rows: Sequence[Sequence[str]], left: tuple[int, ...], width: int = WIDTH
) -> list[str]:
    """The lines of any table, by Rich, which knows the width of letters and where to cut."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    last = len(columns) - 1
    if last not in left:  # a number is never cut
        width = max(width, _width(columns, rows) + GAP)
    for k, name in enumerate(columns):
        # only the last column is narrowed when the line is full
        least = None if k == last else max(map(len, [name, *(row[k] for row in rows)]))
        table.add_column(
            name,
            justify="left" if k in left else "right",
            no_wrap=True,
            overflow="ellipsis",
            min_width=least,
        )
    for row in rows:
        table.add_row(*row)
    # no colour, markup or emoji: a user may be called ":fire:" or "[bold]"
    text = io.StringIO()
    console = Console(
        file=text,
        width=width,
        color_system=None,
        force_terminal=False,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(table)
    return [line.rstrip() for line in text.getvalue().splitlines()]
