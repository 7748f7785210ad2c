"""Which rows and columns the rounds of an answer in floats mean: from these its tasks and prices
are determined (`search_tasks`, `search_prices`). Nothing that is found here is believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import digits
from fairopt.certificates.exact_case import ExactCase
from fairopt.certificates.exact_parts import NEARLY_TIED, Part, near, parts_of
from fairopt.certificates.levels import Order
from fairopt.certificates.meant.begun import of_levels, of_rounds
from fairopt.certificates.meant.just_full import by_rows
from fairopt.certificates.meant.lots import Lot, at_bounds, cleared, inside
from fairopt.certificates.meant.system import System
from fairopt.certificates.ruled.walk import PATH, path
from fairopt.formulas.entitled import Entitled, entitled
from fairopt.formulas.lowered import LIMIT
from fairopt.instance import Bools, remembered

AT_FLOOR = 1e-11
"""part of its floor that a user who holds no more than that has above it at most"""
TURNS = 8
"""most times that columns or rows are left out"""


def searches(alloc: Allocation) -> Iterator[ExactSearch]:
    """Where an answer tells to look."""
    inst = alloc.instance
    with np.errstate(all="ignore"):
        system = System.of(alloc, np.maximum(alloc.shares, 0.0))
        asked = entitled(inst, alloc.score, alloc.kind)
        if alloc.rounds is None:
            lots = of_levels(system, alloc, remembered(alloc, "_order", lambda: Order(alloc)))
        else:
            lots = of_rounds(system, alloc, asked)
        others = by_rows(system, lots, *system.held(alloc))
        for told in (lots, *([] if others is None else [others])):
            # whose floor its target just meets may be at its floor, or on its way
            for met in (True, False) if asked.floor.any() else (True,):
                search = ExactSearch.of(system, alloc, told, asked, met)
                if search is not None:
                    yield search


@dataclass(frozen=True)
class ExactSearch:
    """What is known of an answer.

    Parameters
    ----------
    lots : without prices that say nothing. parts : of each, bundles : of each with columns out of
    use that are as cheap.
    used : columns of tasks in use, and flows between their bounds. given : (P + F,) about the
        amounts. full : rows that may be full. floored : who holds no more than its floor.
    met : whether that is said of those, too, whose targets just meet their floors.
    """

    system: System
    case: ExactCase
    lots: Sequence[Lot]
    parts: list[list[Part]]
    bundles: list[list[Part]]
    cheap: list[Bools | None]
    used: list[int]
    given: list[Fraction]
    full: list[int]
    floored: set[int]
    met: bool

    @classmethod
    def of(
        cls, system: System, alloc: Allocation, lots: Sequence[Lot], asked: Entitled, met: bool
    ) -> ExactSearch | None:
        """From the lots of an answer; None where they do not tell of everybody."""
        low = system.low
        lots = sorted(lots, key=lambda lot: (lot.rank, lot.stage))
        columns, amount = system.held(alloc)
        amount = at_bounds(system, columns, amount)
        stage = np.where(system.some, len(lots), -1)
        for k, lot in enumerate(lots):
            stage[lot.users] = k
        if (stage == len(lots)).any():
            return None
        clear, keep = cleared(system, lots, stage, columns, amount)
        if clear is None:
            return None
        columns, amount = columns[keep], amount[keep]
        x = np.zeros(low.columns + len(low.low))
        x[columns] = amount
        x[: low.columns] *= system.tasks_unit[low.owner]
        flow = system.row_unit[
            low.matrix.tocsc().indices[low.matrix.tocsc().indptr[low.columns : -1]]
        ]
        x[low.columns :] *= flow
        used = columns[(columns < low.columns) | inside(system, columns, amount)]
        left = system.left(columns, digits.of(amount, 2))[0]
        full = np.flatnonzero(np.abs(left) <= NEARLY_TIED * system.size)
        floored = _floored(alloc, asked, met)
        limits = low.kind == LIMIT
        parts, bundles = list[list[Part]](), list[list[Part]]()
        cheap = list[Bools | None]()
        for k, lot in enumerate(clear):
            pays = (stage <= k) | floored
            value, near_by = near(system, lot, used)
            own = parts_of(system, lot, used, pays, value, None)
            # a limit is of all columns of its user, and of no others
            alone = limits[lot.price > 0].all()
            tied = own if alone else parts_of(system, lot, used, pays, value, near_by)
            parts.append(own)
            bundles.append(tied)
            cheap.append(near_by if any(len(part.rows) > 1 for part in tied) else None)
        return cls(
            system,
            ExactCase.of(alloc, low, asked),
            clear,
            parts,
            bundles,
            cheap,
            used.tolist(),
            [Fraction(v) for v in x.tolist()],
            full.tolist(),
            set(np.flatnonzero(floored).tolist()),
            met,
        )

    def unit(self, k: int) -> Fraction:
        """What row k was multiplied by in integers."""
        matrix = self.system.low.matrix.tocsr()
        c = int(matrix.indices[matrix.indptr[k]])
        return Fraction(self.case.row[k][c]) / Fraction(float(matrix.data[matrix.indptr[k]]))


def _floored(alloc: Allocation, asked: Entitled, met: bool) -> Bools:
    """(N,) who holds no more than its floor, and would be due less without, or as much if `met`."""
    found = (asked.floor > 0) & (alloc.shares <= asked.floor * (1 + AT_FLOOR))
    if met or not found.any():
        return np.asarray(found)
    for stop in remembered(alloc, PATH, lambda: path(alloc, asked))[0]:
        target = stop.reached.start.target[asked.tree.leaf] + asked.base
        found[stop.users] &= (target < asked.floor * (1 - AT_FLOOR))[stop.users]
    return np.asarray(found)


__all__ = ["TURNS", "ExactSearch", "searches"]
