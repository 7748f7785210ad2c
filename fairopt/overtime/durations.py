"""Lengths of time in words: "7d", "90m", "1h", "300s"; a number alone is hours."""

from __future__ import annotations

import math
import re

UNITS = {"s": 1 / 3600, "m": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0}
"""hours of each unit"""


def hours(given: str | float, place: str = "duration") -> float:
    """Hours of a length of time, > 0.

    Raises
    ------
    ValueError : it is none; the message says what was found and wanted.

    Examples
    --------
    >>> hours("7d"), hours("90m"), hours(2)
    (168.0, 1.5, 2.0)
    """
    if isinstance(given, str):
        parts = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([smhdw]?)\s*", given)
        value = float(parts[1]) * UNITS[parts[2] or "h"] if parts else math.nan
    else:
        value = float(given)
    if not (math.isfinite(value) and value > 0):
        wanted = "a length of time > 0, such as 7d or 90m"
        raise ValueError(f"{place}: found {given!r}; wanted {wanted}")
    return value


__all__ = ["UNITS", "hours"]
