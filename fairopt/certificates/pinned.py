"""Columns that a full row of their own pins, as a limit on a server does, left out of a step.

Such a row says how far its column moves, whatever else does; what it costs follows from the
column, once all other prices are known. So thousands of limits cost a step nothing. Nothing that is
found here is believed, like all of the search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from fairopt.instance import Floats

Step = tuple[Floats, Floats, Floats]
"""more of the columns that move, of the prices of the rows, of values (`steps`)"""
M = TypeVar("M", bound=Any)
FEW_PINNED = 100
"""fewer are left where they are"""


def left_out(wanted: M) -> tuple[M, Callable[[Step], Step]]:
    """The system without pinned columns and their rows, and the way back of its solution."""
    rows, held, users = len(wanted.rows), len(wanted.owner), len(wanted.miss)
    alone = np.flatnonzero(np.bincount(wanted.row, minlength=rows) == 1)
    at = np.full(rows, -1)
    at[alone] = np.arange(len(alone))
    mine = np.flatnonzero(at[wanted.row] >= 0)
    mine = mine[wanted.owner[wanted.each[mine]] >= 0]
    # a column pinned twice is left where it is
    twice = np.bincount(wanted.each[mine], minlength=held) > 1
    mine = mine[~twice[wanted.each[mine]]]
    if len(mine) < FEW_PINNED:
        return wanted, lambda step: step
    row, column, entry = wanted.row[mine], wanted.each[mine], wanted.entry[mine]
    moved = np.zeros(held)
    moved[column] = wanted.left[row] / entry
    stays, shared = np.ones(held, dtype=bool), np.ones(rows, dtype=bool)
    stays[column], shared[row] = False, False
    owner = wanted.owner[column]
    taken = np.bincount(wanted.row, wanted.entry * moved[wanted.each], rows)
    miss = wanted.miss - np.bincount(owner, moved[column], users)
    left = np.bincount(wanted.owner[stays & (wanted.owner >= 0)], minlength=users)
    # who is at a bound with nothing left to move is there already
    miss = np.where((left == 0) & (wanted.bend == 0), 0.0, miss)
    on = stays[wanted.each] & shared[wanted.row]
    small = replace(
        wanted,
        owner=wanted.owner[stays],
        part=wanted.part[stays],
        rows=wanted.rows[shared],
        row=(np.cumsum(shared) - 1)[wanted.row[on]],
        each=(np.cumsum(stays) - 1)[wanted.each[on]],
        entry=wanted.entry[on],
        error=wanted.error[stays],
        left=(wanted.left - taken)[shared],
        miss=miss,
        unit=wanted.unit[stays],
        norm=wanted.norm[shared],
        give=wanted.give[shared],
    )

    def back(step: Step) -> Step:
        dz, dp, dv = moved.copy(), np.zeros(rows), step[2]
        dz[stays], dp[shared] = step[0], step[1]
        cost = np.bincount(wanted.each, wanted.entry * dp[wanted.row], held)
        dp[row] = (wanted.error[column] + dv[owner] - cost[column]) / entry
        return dz, dp, dv

    return small, back


__all__ = ["left_out"]
