"""The known name that is nearest to an unknown one, in the words of a message."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """The names wanted in place of an unknown one, the nearest first."""
    known = list(known)
    close = difflib.get_close_matches(name, known[:10_000], 1, 0.5)
    rest = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    if close:
        return f"{close[0]}, the nearest of: {rest}" if len(known) > 1 else close[0]
    return f"one of: {rest}" if known else "none"
