"""What is known of users before the rows of an alpha-fair question."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import pulls
from fairopt.certificates.pulls import Pulls
from fairopt.certificates.question import NOBODY, Question
from fairopt.certificates.stuck import stuck
from fairopt.certificates.tolerance import ROUNDING
from fairopt.formulas import welfare
from fairopt.formulas.entitled import Entitled
from fairopt.instance import Bools, Floats

NEGLIGIBLE = 1e-9
"""a throughput below this part of what the user could have alone, on one server or within its
limit, counts as nothing"""


@dataclass(frozen=True)
class AskedUsers:
    """What is known of users before the rows: alpha, log W, same (N,) whether all scores are equal;
    top, bottom (N,) the largest and smallest score; alone (N,) tasks alone,
    about; best, within (N,) the largest share alone on one server, without and with the limit;
    every (N,) on all servers together; paid as of a `Question`."""

    alloc: Allocation
    terms: Entitled
    kind: dict[str, Any]
    top: Floats
    bottom: Floats
    alone: Floats
    best: Floats
    within: Floats
    every: Floats
    paid: Bools | None = None

    def question(
        self,
        columns: Any,
        rhs: Floats,
        unit: Floats,
        low: Floats,
        high: Floats,
        row_unit: Floats,
        pulled: Pulls | None = None,
        further: Floats | None = None,
    ) -> Question:
        """The question with these columns and rows, in units of their own."""
        given = self.kind["parameters"]
        alpha, inside = float(given["alpha"]), bool(given.get("weight_inside", False))
        terms, share_unit = self.terms, self.share_unit
        log_w = welfare.log_weight(terms.weight, alpha, inside)
        more = (1 - alpha) * np.log(share_unit)
        nothing = np.zeros(len(log_w)) if alpha else NEGLIGIBLE * np.minimum(self.best, self.within)
        limit = self.alloc.instance.limit
        most = np.where(self.same, limit / self.tasks_unit, np.inf)
        least, base = terms.floor / share_unit, terms.base / share_unit
        # a floor that is all that the limit allows leaves no choice, whatever rounding says
        least = np.where(
            np.isfinite(most) & (np.abs(least - most) <= ROUNDING * least), most, least
        )
        out = stuck(self.alloc, terms) if alpha else np.zeros(len(log_w), dtype=bool)
        if out.any():
            base, most = np.where(out, 0.0, base), np.where(out, least, most)
            log_w = np.where(out, NOBODY, log_w)
        return Question(
            columns,
            rhs,
            unit,
            low,
            high,
            alpha,
            log_w + more,
            np.abs(log_w) + np.abs(more),
            base,
            least,
            np.maximum(most, least),
            nothing / share_unit,
            np.minimum(self.every, self.top * limit) / share_unit,
            share_unit,
            terms.weight,
            inside,
            self.tasks_unit,
            row_unit,
            pulled,
            self.paid,
            None if self.paid is None else np.flatnonzero(self.paid[columns.of_column]),
            further,
        )

    @cached_property
    def same(self) -> Bools:
        """(N,) whose share is counted in tasks; nobody's where it is pulled as well. Not of whom a
        rule pays either: only the price of a limit as a row keeps what it pays above nothing."""
        same = (self.top == self.bottom) & (not pulls.penalised(self.alloc))
        return np.asarray(same if self.paid is None else same & ~self.paid)

    @cached_property
    def tasks_unit(self) -> Floats:
        """(N,) a power of two, about the most tasks that the user could have."""
        return power(self.alone)

    @cached_property
    def share_unit(self) -> Floats:
        """(N,) of a user counted in tasks its score times their unit, else a power of two."""
        mixed = power(self.top) * self.tasks_unit
        return np.asarray(np.where(self.same, self.top * self.tasks_unit, mixed))

    @property
    def as_row(self) -> Bools:
        """(N,) whose limit is a row."""
        found: Bools = np.isfinite(self.alloc.instance.limit) & ~self.same
        return found


def power(amount: Floats) -> Floats:
    """The power of two below an amount; 1 of nothing."""
    known = np.where((amount > 0) & np.isfinite(amount), amount, 1.0)
    return np.asarray(np.ldexp(1.0, np.frexp(known)[1] - 1))


__all__ = ["AskedUsers", "power"]
