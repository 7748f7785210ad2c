"""Changes of the tasks in use, and of what is lent, measured by what they are."""

from __future__ import annotations

import numpy as np

from fairopt.certificates.nearby.least import Least
from fairopt.certificates.nearby.system import System
from fairopt.instance import Bools, Floats, Ints

NEW = 1e-3
"""part of a share by which columns that come into use are measured"""


def inside(system: System, columns: Ints, amount: Floats) -> Bools:
    """(C,) tasks, and flows that are not at one of their bounds."""
    flow = columns >= system.tasks
    low, high = system.bounds
    found, y = np.ones(len(columns), dtype=bool), amount[flow]
    room = np.minimum(y - low, high - y)
    found[flow] = room > 1e-11 * np.maximum(np.abs(y), 1e-3)
    return found


def at_bounds(system: System, columns: Ints, amount: Floats) -> Floats:
    """(C,) the amounts, flows that are at one of their bounds but for rounding just there."""
    flow = columns >= system.tasks
    low, high = system.bounds
    y = amount[flow]
    found = amount.copy()
    ends = np.where(np.abs(y - low) <= np.abs(high - y), low, high)
    found[flow] = np.where(inside(system, columns, amount)[flow], y, ends)
    return found


def in_use(system: System, columns: Ints, amount: Floats) -> tuple[Ints, Ints]:
    """The flows between their bounds, and the columns of tasks."""
    flow = columns >= system.tasks
    return columns[flow & inside(system, columns, amount)], columns[~flow]


def sizes(system: System, columns: Ints, amount: Floats, came: Ints) -> Floats:
    """(C,) what changes of columns are measured by: their tasks; the room of flows, at most 1.

    Parameters
    ----------
    came : columns that come into use, and are measured by a part of the share.
    """
    flow = columns >= system.tasks
    low, high = system.bounds
    y, found = amount[flow], amount.copy()
    room = np.clip(np.minimum(y - low, high - y), 0.0, 1.0)
    found[flow] = np.where(inside(system, columns, amount)[flow], room, 0.0)
    new = np.isin(columns, came)
    found[new] = np.maximum(found[new], NEW / system.columns.score[columns[new]])
    return found


def changes(system: System, columns: Ints, size: Floats, rows: Ints) -> Least:
    """The least changes, in parts of sizes, that change rows and shares by what is asked."""
    of, tasks = system.columns, columns < system.tasks
    place = np.full(len(system.rhs), -1)
    place[rows] = np.arange(len(rows))
    row, each, entry = of.entries(columns)
    keep = (place[row] >= 0) & (size[each] > 0)
    row, each, entry = row[keep], each[keep], entry[keep]
    worth = np.zeros(len(columns))
    worth[tasks] = of.worth(columns[tasks])
    parts = entry * size[each] / system.size[row]
    return Least(len(rows), place[row], each, parts, system.owner(columns), worth * size)
