"""When jobs came, ended, and how long each takes alone, from a plain table: for `finish`."""

from __future__ import annotations

import csv
import io
import os
from datetime import datetime

import numpy as np

from fairopt import storage
from fairopt.instance import Floats
from fairopt.instance.reading import Faults
from fairopt.overtime.logs import LARGEST, time_of

COLUMNS = ("arrival", "end", "alone")


def read_times(path: str | os.PathLike[str]) -> Floats:
    """(J, 3) hours: arrival, end, and time alone with all that the job asks for.

    Parameters
    ----------
    path : a CSV file with the columns arrival, end (hours, or a date and time) and alone (hours);
        others, such as a name, are not read. "-" for standard input.

    Raises
    ------
    BadInput : with every fault of the table, each with its line.
    """
    content = storage.read_text(path, LARGEST, f"a CSV table of {', '.join(COLUMNS)}")
    faults = Faults(storage.source_name(path))
    reader = csv.DictReader(io.StringIO(content, newline=""), skipinitialspace=True)
    for name in COLUMNS:
        if name not in (reader.fieldnames or ()):
            faults.add("line 1", f"no column {name}", f"the columns {', '.join(COLUMNS)}")
    faults.stop()
    rows: list[tuple[float, float, float]] = []
    kinds: set[bool] = set()
    for row in reader:
        here = f"line {reader.line_num}"
        first, last, own = (time_of(row[name] or "") for name in COLUMNS)
        for name, found in (("arrival", first), ("end", last), ("alone", own)):
            if found is None or (name == "alone" and not _positive(found)):
                wanted = "hours > 0" if name == "alone" else "hours, or a date and time"
                faults.add(f"{here}, {name}", repr(row[name]), wanted)
        if first is None or last is None or not isinstance(own, float):
            continue
        kinds |= {isinstance(first, datetime), isinstance(last, datetime)}
        both = [x.timestamp() / 3600 if isinstance(x, datetime) else x for x in (first, last)]
        if both[1] < both[0]:
            faults.add(f"{here}, end", repr(row["end"]), "a time after arrival")
        rows.append((both[0], both[1], own))
    if len(kinds) > 1:
        faults.add("arrival, end", "hours and dates", "one or the other")
    if not rows and not faults:
        faults.add("file", "no row", "at least one")
    faults.stop()
    return np.array(rows)


def _positive(found: object) -> bool:
    return isinstance(found, float) and found > 0


__all__ = ["COLUMNS", "read_times"]
