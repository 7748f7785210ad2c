"""The time limit of a solve: one for all that is called inside, asked by loops between their steps.

A loop of which the last state is an answer ends early (`steps`), one of which it is none gives up
(`tick`). A step that has begun is not interrupted: the answer comes a step later than asked.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairopt.errors import Fault, SolverFailure
from fairopt.errors import UsageError as Wrong

_here = threading.local()
GRACE = 0.25
"""part of the limit that judging an answer may take on top of it"""
LEAST_SECONDS = 1e-3
"""seconds that a solver in another language is given at least: it takes 0 for no limit"""


class OutOfTime(SolverFailure):
    """The time is over before this step ended; `tasks` (N, I) fit, if it came so far."""

    def __init__(self, message: str, tasks: Any = None) -> None:
        self.tasks = tasks
        super().__init__(message)


def checked(seconds: float | None) -> float:
    """The limit in seconds, inf for None.

    Raises
    ------
    UsageError : no number above 0.
    """
    if seconds is None:
        return math.inf
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not seconds > 0:
        raise Wrong(str(Fault("limit_s", repr(seconds), "seconds, a number above 0")))
    return float(seconds)


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Inside, in this thread, time is over after so many seconds, or when it is outside."""
    before, grace = _end(), _grace()
    _here.end = min(before, time.monotonic() + seconds)
    _here.grace = min(grace, _here.end + GRACE * seconds)
    try:
        yield
    finally:
        _here.end, _here.grace = before, grace


def _end() -> float:
    return float(getattr(_here, "end", math.inf))


def _grace() -> float:
    return float(getattr(_here, "grace", math.inf))


def left() -> float:
    """Seconds that are left, at least `LEAST_SECONDS`; inf without a limit."""
    end = _end()
    return end if end == math.inf else max(LEAST_SECONDS, end - time.monotonic())


def over() -> bool:
    """Whether the time is over."""
    end = _end()
    return end < math.inf and time.monotonic() >= end


def late() -> bool:
    """Whether the time of a judge is over too, who has `GRACE` more of it."""
    end = _grace()
    return end < math.inf and time.monotonic() >= end


def tick() -> None:
    """Raise OutOfTime if the time is over."""
    if over():
        raise OutOfTime("the time limit was reached")


def steps(most: int) -> Iterator[int]:
    """0, 1, ... below `most`, fewer if the time is over; the first in every case."""
    for number in range(most):
        yield number
        if over():
            return
