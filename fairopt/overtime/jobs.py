"""Jobs from a plain table: when they came, how long each takes alone, and when it ended."""

from __future__ import annotations

import csv
import io
import os
from datetime import UTC, datetime

import numpy as np

from fairopt import storage
from fairopt.errors import BadInput
from fairopt.files.mistaken import taken_for_another
from fairopt.instance import Instance
from fairopt.instance.reading import Faults, nearest
from fairopt.overtime.logs import LARGEST_LOG, time_of
from fairopt.overtime.waiting import WaitingJobs

COLUMNS = ("arrival", "alone")
MORE = ("end", "user", "tasks")
"""columns that may be left out"""


def read_jobs(path: str | os.PathLike[str], instance: Instance) -> WaitingJobs:
    """Read a table of jobs.

    Parameters
    ----------
    path : a CSV file with the columns arrival (hours, or a date and time) and alone (hours with all
        that the job asks for). With `end`, the jobs have run; without, `user` says whose they are
        and a policy may run them, `tasks` at once (default 1). Others, such as a name, are not
        read. "-" for standard input.

    Raises
    ------
    BadInput : with every fault of the table, each with its line.
    """
    content = storage.read_text(path, LARGEST_LOG, f"a CSV table of {', '.join((*COLUMNS, *MORE))}")
    faults = Faults(storage.source_name(path))
    mistaken = taken_for_another(
        content, f"a CSV table of {', '.join((*COLUMNS, *MORE))}", tables=False
    )
    if mistaken is not None:
        raise BadInput([mistaken], faults.source)
    reader = csv.DictReader(io.StringIO(content, newline=""), skipinitialspace=True)
    header = reader.fieldnames or ()
    ended, users = "end" in header, {name: n for n, name in enumerate(instance.users)}
    needed = (*COLUMNS, *(() if ended or "user" in header or len(users) == 1 else ("user",)))
    for name in needed:
        if name not in header:
            faults.add("line 1", f"no column {name}", f"the columns {', '.join(needed)}")
    faults.stop()
    rows: list[tuple[int, float, float, float, float]] = []
    kinds: set[bool] = set()
    timed = ("arrival", "end") if ended else ("arrival",)
    for row in reader:
        here = f"line {reader.line_num}"
        times = [time_of(row[name] or "") for name in timed]
        for name, found in zip(timed, times, strict=True):
            if found is None:
                faults.add(f"{here}, {name}", repr(row[name]), "hours, or a date and time")
        alone, tasks = (_positive(row, name, here, faults) for name in ("alone", "tasks"))
        user = row.get("user")
        if user is not None and user not in users:
            faults.add(f"{here}, user", f"the unknown user {user!r}", nearest(user, users))
        if None in times or alone is None or tasks is None:
            continue
        kinds |= {isinstance(found, datetime) for found in times}
        first, last = (_hours(times[k]) for k in (0, -1))
        if last < first:
            faults.add(f"{here}, end", repr(row["end"]), "a time after arrival")
        rows.append((users.get(user or "", 0), tasks, first, alone, last))
    if len(kinds) > 1:
        faults.add(" and ".join(timed), "hours and dates", "one or the other")
    if not rows and not faults:
        faults.add("file", "no row", "at least one")
    faults.stop()
    table = np.array(rows)
    origin = 0.0
    if kinds == {True}:  # hours from the first day on
        origin = float(np.floor(table[:, 2].min() / 24) * 24)
    named = datetime.fromtimestamp(origin * 3600, UTC).isoformat() if kinds == {True} else ""
    end = table[:, 4] - origin if ended else None
    who = table[:, 0].astype(np.int64)
    return WaitingJobs(who, table[:, 1], table[:, 2] - origin, table[:, 3], end, named)


def _hours(time: float | datetime | None) -> float:
    assert time is not None
    return time.timestamp() / 3600 if isinstance(time, datetime) else time


def _positive(row: dict[str, str], name: str, here: str, faults: Faults) -> float | None:
    """A number > 0; 1 where there is no such column."""
    if name not in row:
        return 1.0
    found = time_of(row[name] or "")
    if isinstance(found, float) and found > 0:
        return found
    faults.add(
        f"{here}, {name}", repr(row[name]), "hours > 0" if name == "alone" else "a number > 0"
    )
    return None


__all__ = ["COLUMNS", "read_jobs"]
