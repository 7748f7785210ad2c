"""What users held and wanted over time, from plain tables: each row is the level from then on.

`time` is hours, or a date and time (2026-01-31T08:00:00Z); `server` may be left out of a log where
there is one, `mode` where no user has several, and neither is a column of wants. All faults of a
table are reported at once.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from fairopt import storage
from fairopt.errors import BadInput
from fairopt.files.mistaken import taken_for_another
from fairopt.instance import Floats, Instance, Ints
from fairopt.instance.reading import Faults, nearest

LARGEST_LOG = 1024 * storage.MEBIBYTE
"""most bytes of a log"""
HELD = ("time", "user", "mode", "server", "tasks")
WANTED = ("time", "user", "tasks")


@dataclass(frozen=True, eq=False)
class Log:
    """Levels over time: from `time` (K,) on, `who` runs (or wants) `tasks` on `server`.

    Parameters
    ----------
    time : (K,) hours, in order. who : (K,) positions, of users; in a log of what was held of their
        ways (`Instance.ways`), which are the users where nobody has modes. server : (K,)
        positions; 0 throughout of wants.
    tasks : (K,) >= 0. origin : the date of hour 0, or "".
    """

    time: Floats
    who: Ints
    server: Ints
    tasks: Floats
    origin: str = ""

    @property
    def span(self) -> tuple[float, float]:
        """First and last time; (0, 0) of an empty log."""
        return (float(self.time[0]), float(self.time[-1])) if len(self.time) else (0.0, 0.0)

    def shifted(self, hours: float) -> Log:
        """The log with its times counted from another hour 0."""
        return Log(self.time - hours, self.who, self.server, self.tasks, self.origin)

    def means(self, start: float, hours: float, slices: int, rows: int, servers: int) -> Floats:
        """(T, rows, I) mean tasks in each slice of so many hours, from `start` on."""
        found = np.zeros((slices + 1, rows, servers))
        change = np.zeros(len(self.time))
        level: dict[tuple[int, int], float] = {}
        every = zip(self.who.tolist(), self.server.tolist(), self.tasks.tolist(), strict=True)
        for k, (n, i, x) in enumerate(every):
            change[k] = x - level.get((n, i), 0.0)
            level[n, i] = x
        at = np.maximum((self.time - start) / hours, 0.0)
        there = at < slices
        t = np.floor(at[there]).astype(np.int64)
        # a change counts for the rest of its slice, and in full in all later ones
        rest, n, i = 1.0 - (at[there] - t), self.who[there], self.server[there]
        np.add.at(found, (t, n, i), change[there] * rest)
        np.add.at(found, (t + 1, n, i), change[there] * (1.0 - rest))
        means = np.cumsum(found, axis=0)[:slices]
        # what rounding leaves of levels that went back to 0
        means[np.abs(means) <= 1e-12 * np.abs(means).max(initial=0.0)] = 0.0
        return np.maximum(means, 0.0)


def read_log(path: str | os.PathLike[str], instance: Instance, wants: bool = False) -> Log:
    """Read a log of what was held, or of wants, in CSV.

    Parameters
    ----------
    path : a CSV file with the columns time, user, mode, server, tasks; of wants time, user, tasks;
        "-" for standard input. server and mode may be left out where there is one.

    Raises
    ------
    BadInput : with every fault of the table, each with its line.
    """
    columns = WANTED if wants else HELD
    wanted = f"a CSV table of {', '.join(columns)}"
    content = storage.read_text(path, LARGEST_LOG, wanted)
    faults = Faults(storage.source_name(path))
    mistaken = taken_for_another(content, wanted, tables=False)
    if mistaken is not None:
        raise BadInput([mistaken], faults.source)
    spare = {"server"} if len(instance.servers) == 1 else set()
    spare |= set() if any(len(given) > 1 for given in (instance.modes or {}).values()) else {"mode"}
    rows = list(_rows(content, columns, spare, faults))
    return log_of(rows, instance, faults, wants)


def _rows(
    content: str, columns: tuple[str, ...], spare: set[str], faults: Faults
) -> Iterable[tuple[str, Mapping[str, Any]]]:
    reader = csv.reader(io.StringIO(content, newline=""))
    header = [cell.strip() for cell in next(reader, [])]
    for name in (c for c in columns if c not in spare):
        if name not in header:
            faults.add("line 1", f"no column {name}", f"the columns {', '.join(columns)}")
    for name in header:
        if name not in columns:
            faults.add("line 1", f"the column {name!r}", nearest(name, columns))
        elif header.count(name) > 1:
            faults.add("line 1", f"the column {name!r} twice", "each once")
    faults.stop()
    for cells in reader:
        place = f"line {reader.line_num}"
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            faults.add(place, f"{len(cells)} cells", f"{len(header)}, as in line 1")
            continue
        yield place, dict(zip(header, (cell.strip() for cell in cells), strict=True))


def log_of(
    rows: Iterable[tuple[str, Mapping[str, Any]]],
    instance: Instance,
    faults: Faults,
    wants: bool = False,
) -> Log:
    """A log of rows, each with its place; faults are raised together."""
    users = {name: n for n, name in enumerate(instance.users)}
    servers = {name: i for i, name in enumerate(instance.servers)}
    found: list[tuple[float, int, int, float]] = []
    first: datetime | None = None
    kinds: set[bool] = set()
    stamps: list[tuple[datetime, int]] = []
    for place, row in rows:
        when = time_of(row["time"])
        if when is None:
            faults.add(f"{place}, time", repr(row["time"]), "hours, or a date and time")
            continue
        kinds.add(isinstance(when, datetime))
        user, server = row["user"], row.get("server", "")
        if user not in users:
            faults.add(f"{place}, user", f"the unknown user {user!r}", nearest(user, users))
            continue
        i = 0
        if not wants and (server or len(servers) > 1):
            if server not in servers:
                wanted = nearest(server, servers)
                faults.add(f"{place}, server", f"the unknown server {server!r}", wanted)
                continue
            i = servers[server]
        k = users[user] if wants else _way(instance, users[user], row.get("mode", ""))
        if k is None:
            modes = [mode.name for mode in (instance.modes or {}).get(user, ())]
            given = row.get("mode", "")
            wanted = nearest(given, modes) if modes else f"none: {user} has no modes"
            faults.add(f"{place}, mode", f"the unknown mode {given!r}", wanted)
            continue
        tasks = _amount(row["tasks"])
        if tasks is None:
            faults.add(f"{place}, tasks", repr(row["tasks"]), "a number >= 0")
            continue
        # hours are counted from the earliest date, which only the last row tells
        if isinstance(when, datetime):
            first = when if first is None else min(first, when)
            stamps.append((when, len(found)))
            when = 0.0
        found.append((when, k, i, tasks))
    if len(kinds) > 1:
        faults.add("time", "hours and dates", "one or the other")
    if not found and not faults:
        faults.add("file", "no row", "at least one")
    faults.stop()
    times = [row[0] for row in found]
    for stamp, k in stamps:
        assert first is not None
        times[k] = (stamp - first).total_seconds() / 3600
    order = np.argsort(times, kind="stable")
    columns = [np.array([row[c] for row in found]) for c in (1, 2, 3)]
    return Log(
        np.array(times)[order],
        columns[0][order].astype(np.int64),
        columns[1][order].astype(np.int64),
        columns[2][order].astype(np.float64),
        "" if first is None else first.isoformat(),
    )


def _way(instance: Instance, n: int, mode: str) -> int | None:
    """The position of a user's way, by the name of its mode; one that is alone needs no name."""
    of = instance.ways.of(n)
    first, names = int(of.start), instance.ways.name[of]
    if mode in names:
        return first + names.index(mode)
    return first if not mode and len(names) == 1 else None


def together(log: Log, other: Log) -> tuple[Log, Log]:
    """Two logs with one hour 0, that of the earlier one where both have dates."""
    if not (log.origin and other.origin):
        return log, other
    a, b = (datetime.fromisoformat(one.origin) for one in (log, other))
    gap = (b - a).total_seconds() / 3600
    if gap >= 0:
        return log, other.shifted(-gap)
    return log.shifted(gap), other


def time_of(given: Any) -> float | datetime | None:
    """Hours, or a date and time; None of anything else."""
    with contextlib.suppress(ValueError):
        value = float(given)
        return value if math.isfinite(value) else None
    with contextlib.suppress(ValueError):
        found = datetime.fromisoformat(str(given))
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return None


def _amount(given: Any) -> float | None:
    try:
        value = float(given)
    except ValueError:
        return None
    return value if value >= 0 and math.isfinite(value) else None


__all__ = ["Log", "log_of", "read_log", "time_of", "together"]
