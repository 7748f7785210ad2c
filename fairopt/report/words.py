"""Numbers, names and what stops a user in a few words, alike in tables and on pages."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from fairopt.allocation import Blocked

WIDTH = 100
"""characters per line on any terminal, so that an answer always prints the same text"""
STOPS = 3
"""most servers named where a user is stopped"""
NAME = 24
"""most characters of a name; a longer one is cut"""


def number(value: float) -> str:
    """A number with six significant digits, as everywhere in the tables."""
    return f"{value + 0.0:.6g}"


def clipped(name: str) -> str:
    """A name cut to NAME characters."""
    return name if len(name) <= NAME else name[: NAME - 1] + "…"


def count(size: int, word: str) -> str:
    """A number of things, such as "1 user" or "3,000 users"."""
    return f"{size:,} {word}{'' if size == 1 else 's'}"


def listed(names: Sequence[str], most: int, whole: bool = False) -> str:
    """The first names, and how many there are more; `whole`: names that are not cut."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most] if whole else map(clipped, names[:most])) + more


def folded(text: str) -> str:
    """A sentence on lines of WIDTH characters, of which nothing is cut."""
    return fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def stopped(stops: Sequence[Blocked], room: int) -> str:
    """Stops by resource, naming as many servers as there is room for.

    "memory on A, B and 2 more; cpu on C", "cpu, memory on A", "its own limit", or "-".
    """
    where: dict[str, list[str]] = {}
    for stop in stops:
        if stop.resource is None:
            return "its own limit"
        where.setdefault(stop.resource, []).append(stop.server or "")
    alike: dict[tuple[str, ...], list[str]] = {}
    for resource, servers in where.items():
        alike.setdefault(tuple(servers), []).append(resource)
    for most in range(STOPS, 0, -1):
        text = "; ".join(
            f"{', '.join(resources)} on {listed(servers, most)}"
            if any(resources)
            else listed(servers, most)
            for servers, resources in alike.items()
        )
        if len(text) <= room:
            break
    return text or "-"
