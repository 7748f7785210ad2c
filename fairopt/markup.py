"""HTML for notebooks: small tables and lists in which every text is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

ROWS = 12
"""most rows of a table; of a longer one the first are shown, and the number of the others"""


def text(value: object) -> str:
    """A value as escaped text; numbers have six significant digits."""
    shown = f"{value + 0.0:.6g}" if isinstance(value, float) else str(value)
    return html.escape(shown)


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], of: int) -> str:
    """A table with a caption.

    Parameters
    ----------
    rows : at most ROWS are shown; the first cell of each heads it.
    of : how many rows there are in all.
    """
    heads = "".join(f"<th scope='col'>{text(word)}</th>" for word in head)
    lines = []
    for k, row in enumerate(rows):
        if k == ROWS:
            break
        first, *rest = row
        cells = "".join(f"<td>{text(cell)}</td>" for cell in rest)
        lines.append(f"<tr><th scope='row'>{text(first)}</th>{cells}</tr>")
    more = f"<p>and {of - ROWS:,} more</p>" if of > ROWS else ""
    return (
        f"<table><caption>{text(caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>{more}"
    )


def listing(heading: str, lines: Iterable[str]) -> str:
    """A heading and a list."""
    items = "".join(f"<li>{text(line)}</li>" for line in lines)
    return f"<p><b>{text(heading)}</b></p><ul>{items}</ul>"


def line(words: str) -> str:
    """A paragraph."""
    return f"<p>{text(words)}</p>"


def block(*parts: str) -> str:
    """Parts, one below the other."""
    return f"<div>{''.join(parts)}</div>"
