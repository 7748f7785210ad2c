"""A table with lists in its cells: where it is too wide, these go on in further lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairopt.report.tables import GAP, table_text
from fairopt.report.words import WIDTH

LEAST_WIDTH = 24
"""no list is cut to lines shorter than this"""


def folded_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    most: int,
    left: Any,
    lists: Sequence[int],
) -> str:
    """A table as text; where it is too wide, its lists are cut after their commas.

    Parameters
    ----------
    most : rows that are shown at most. left : columns that are aligned left, as of `table_text`.
    lists : columns whose cells are lists.
    """
    shown = rows if len(rows) <= most else rows[: most - 1]
    widths = [max(map(len, own)) for own in zip(columns, *shown, strict=True)]
    over = sum(widths) + GAP * (len(widths) - 1) - WIDTH
    lines = [list(row) for row in shown]
    if over > 0:
        room = _rooms([widths[k] for k in lists], sum(widths[k] for k in lists) - over)
        lines = [
            line for row in shown for line in _folded(row, dict(zip(lists, room, strict=True)))
        ]
    return table_text(columns, lines, len(rows) - len(shown), left)


def _rooms(wanted: Sequence[int], room: int) -> list[int]:
    """The room of each list: what it wants, or an even part of what the smaller ones leave."""
    found = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    for done, k in enumerate(order):
        found[k] = max(LEAST_WIDTH, min(wanted[k], (room - sum(found)) // (len(order) - done)))
    return found


def _folded(row: Sequence[str], room: Mapping[int, int]) -> Iterator[list[str]]:
    """The lines of a row whose lists are cut after their commas."""
    cells = [_lines(text, room[k]) if k in room else [text] for k, text in enumerate(row)]
    for k in range(max(map(len, cells))):
        yield [own[k] if k < len(own) else "" for own in cells]


def _lines(text: str, room: int) -> list[str]:
    found: list[str] = []
    for part in text.split(", "):
        if found and len(found[-1]) + len(part) + 3 <= room:
            found[-1] += f", {part}"
        else:
            if found:
                found[-1] += ","
            found.append(part)
    return found


__all__ = ["folded_table"]
