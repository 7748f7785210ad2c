"""An axis of a grid, written NAME=VALUES: a list, or a range that includes both ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from fairopt.errors import Fault

MOST = 1_000_000
"""most points on an axis, and in a grid"""
FORMS = "START:STOP:COUNT, log:START:STOP:COUNT or a list A,B,C"


class Axis(NamedTuple):
    """A name and its values in order: all numbers, or all texts if one is not a number."""

    name: str
    values: tuple[Any, ...]


def axes_of(texts: Iterable[str]) -> tuple[list[Axis], list[Fault]]:
    """The axes, in order, and every fault in their texts.

    Examples
    --------
    >>> axes_of(["t_drf=0:1:3", "alpha=log:0.1:10:3", "t_pf=0,1"])[0]
    [Axis(name='t_drf', values=(0.0, 0.5, 1.0)), Axis(name='alpha', values=(0.1, 1.0, 10.0)),
     Axis(name='t_pf', values=(0.0, 1.0))]
    """
    axes: list[Axis] = []
    faults: list[Fault] = []
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        place = f"--over {name or '?'}"
        if not equals or not name or not values:
            faults.append(Fault("--over", repr(text), f"NAME=VALUES, VALUES {FORMS}"))
            continue
        if any(axis.name == name for axis in axes):
            faults.append(Fault(place, "this name a second time", "every name once"))
        before = len(faults)
        found = _range(values, place, faults) if ":" in values else _list(values, place, faults)
        if len(faults) == before:
            axes.append(Axis(name, found))
    return axes, faults


def _list(text: str, place: str, faults: list[Fault]) -> tuple[Any, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        faults.append(Fault(place, repr(text), "a value between every two commas"))
        return ()
    if len(parts) > MOST:
        faults.append(Fault(place, f"{len(parts)} values", f"at most {MOST}"))
        return ()
    numbers = [_number(part) for part in parts]
    if any(x is not None and math.isnan(x) for x in numbers):
        faults.append(Fault(place, repr(text), "numbers, not nan"))
    # texts such as drf,tsf are checked by the notion
    return tuple(parts if None in numbers else numbers)


def _range(text: str, place: str, faults: list[Fault]) -> tuple[float, ...]:
    parts = text.split(":")
    log = parts[0].strip() == "log"
    parts = parts[1:] if log else parts
    start, stop, count = [_number(part) for part in parts] if len(parts) == 3 else [None] * 3
    if start is None or stop is None or count is None:
        faults.append(Fault(place, repr(text), FORMS))
        return ()
    before = len(faults)
    if not (math.isfinite(start) and math.isfinite(stop)):
        faults.append(Fault(place, repr(text), "finite ends"))
    elif log and not (start > 0 and stop > 0):
        faults.append(Fault(place, repr(text), "both ends > 0 on a logarithmic range"))
    if not (2 <= count <= MOST and count == int(count)):
        faults.append(
            Fault(place, f"a count of {parts[2].strip()}", f"a whole number from 2 to {MOST}")
        )
    if len(faults) > before:
        return ()
    return tuple(_spread(start, stop, int(count), log))


def _spread(start: float, stop: float, count: int, log: bool) -> Iterable[float]:
    """`count` values from start to stop, both ends exact."""
    low, high = (math.log10(start), math.log10(stop)) if log else (start, stop)
    last = count - 1
    yield start
    for k in range(1, last):
        # this form gives 0.3 for 0:1:11, where steps of 0.1 give 0.30000000000000004
        at = low * ((last - k) / last) + high * (k / last)
        yield 10.0**at if log else at
    yield stop


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
