"""What was held and wanted, in slices of one length: means of logs, arrays, jobs as they come."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairopt.errors import BadInput, Fault, UsageError
from fairopt.instance import Floats, Instance
from fairopt.overtime.logs import Log, together
from fairopt.overtime.waiting import MOST_SLICES, WaitingJobs


def gridded(
    instance: Instance, log: Any, wants: Any, length: float
) -> tuple[Floats | None, Floats | None, float, str]:
    """Held (T, K, I), by way, and wanted (T, N) in slices, the hour at which they begin, and its
    date."""
    users, servers, _ = instance.shape
    ways = len(instance.ways)
    start, origin = 0.0, ""
    if isinstance(log, Log) and isinstance(wants, Log):
        log, wants = together(log, wants)
    logs = [one for one in (log, wants) if isinstance(one, Log)]
    if logs:
        origin = min(one.origin for one in logs) if all(one.origin for one in logs) else ""
        spans = [one.span for one in logs]
        start, steps = grid((min(a for a, _ in spans), max(b for _, b in spans)), length)
        log = log.means(start, length, steps, ways, servers) if isinstance(log, Log) else log
        if isinstance(wants, Log):
            wants = wants.means(start, length, steps, users, 1)[:, :, 0]
    held = None if log is None else _array("log", log, (ways, servers))
    wanted = None if wants is None else _array("wants", wants, (users,))
    if held is not None and wanted is not None and len(held) != len(wanted):
        wrong = Fault("wants", f"{len(wanted)} slices", f"{len(held)}, as in the log")
        raise BadInput([wrong])
    return held, wanted, start, origin


def grid(span: tuple[float, float], length: float) -> tuple[float, int]:
    """The hour at which slices begin, and how many there are from the first to the last hour.

    Raises
    ------
    UsageError : more than anybody can wait for.
    """
    start = math.floor(span[0] / length) * length
    many = (span[1] - start) / length
    if not many <= MOST_SLICES:
        raise UsageError(
            f"slice: found {many:,.6g} slices of {length:g} h; wanted at most {MOST_SLICES:,}"
        )
    return start, max(1, math.ceil(many - 1e-9))


def _array(name: str, given: Any, shape: tuple[int, ...]) -> Floats:
    """(T, *shape) of numbers >= 0; (T, N) may stand for (T, N, 1)."""
    array = np.asarray(given, dtype=np.float64)
    if array.ndim == 2 and shape[1:] == (1,):
        array = array[:, :, None]
    if array.ndim != len(shape) + 1 or array.shape[1:] != shape or not len(array):
        raise BadInput([Fault(name, f"shape {array.shape}", f"shape (slices, {shape})")])
    if not ((array >= 0) & np.isfinite(array)).all():
        raise BadInput([Fault(name, f"{array.min():g}", "finite numbers >= 0")])
    return array


def at_once(jobs: WaitingJobs, length: float, users: int) -> tuple[Floats, float, str]:
    """What jobs want if nobody waits, (T, N); the hour at which that begins, and its date."""
    start, steps = grid(jobs.span, length)
    return jobs.wants(start, length, steps, users), start, jobs.origin


__all__ = ["at_once", "grid", "gridded"]
