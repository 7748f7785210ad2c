"""Levels of plain max-min answers that strict inequalities prove, in floats whose roundings are
counted.

The theorem is that of `docs/maths/prices.md` ("In exact fractions"), of the same tasks and prices:
what equations determine exactly. Mostly all that it asks beside the equations is strict (what is in
use runs, a row is not full, a column is dearer), and then intervals of floats tell it, of all users
at once. Where something is just so, or where floats do not tell, nothing is said here, and integers
are asked (`enclosed_search`).
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.strict.case import StrictCase
from fairopt.certificates.strict.claim import Claim
from fairopt.certificates.strict.held import Shares
from fairopt.certificates.strict.prices import proved
from fairopt.certificates.strict.tasks import TasksFound

ENTRIES = 20_000_000
"""most full rows times columns in use"""
TRIFLES = (1e-12, 1e-9)
"""of all money of a level, a price of less is left out; each is tried"""


def strict_levels(alloc: Allocation) -> Shares | None:
    """The shares of every max-min optimum; None where strict inequalities do not prove them."""
    plain = alloc.instance.plain and alloc.instance.linear
    if alloc.rounds is not None or not plain or alloc.level_prices is None:
        return None
    with np.errstate(all="ignore"):
        case = StrictCase.of(alloc)
        if case is None:
            return None
        for trifle in TRIFLES:
            claim = Claim.of(case, alloc, trifle)
            if claim is None or len(claim.rows) * len(claim.used) > ENTRIES:
                continue
            tasks = TasksFound.of(case, claim)
            if tasks is not None and tasks.kept and proved(case, claim, tasks.order):
                return tasks.shares()
        return None


__all__ = ["strict_levels"]
