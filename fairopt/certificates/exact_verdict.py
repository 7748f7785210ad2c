"""The verdict on a max-min answer whose levels are proved in exact fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check, Intervals
from fairopt.certificates.due import told_of
from fairopt.certificates.exact_search import searched, taken

ALL_ROUNDS = "all rounds together, in exact fractions"
"""the check that says so"""
AT_ONCE, AT_LAST = 40, 150
"""most columns in use with which it is looked for before a point nearby, and where that does not
do"""
ROUNDED = 2.0**-50
"""what shares and their logarithm lose in floats, at most"""


def in_fractions(
    alloc: Allocation, verdict: Certificate, without: tuple[str, ...], tolerance: float, most: int
) -> Certificate | None:
    """The verdict; None where the levels are not proved in exact fractions.

    Parameters
    ----------
    verdict : by floats; its checks of rules hold. without : of its other checks those that this
        one takes the place of. most : columns in use.
    """
    found = searched(alloc, most) if taken(alloc) else None
    if found is None:
        return None
    held = [Fraction(s) for s in alloc.shares.tolist()]
    with np.errstate(all="ignore"):
        # the quotient less 1, which a float holds to all its digits
        far = [
            float(s / t - 1) if t else (np.inf if s else 0.0)
            for s, t in zip(held, found.share, strict=True)
        ]
        off = np.abs(np.log1p(np.maximum(np.array(far), -1.0))) + ROUNDED
    n = int(np.argmax(off))
    users = alloc.instance.users
    check = Check.of(ALL_ROUNDS, float(off[n]), tolerance, users[n])
    checks = (*[each for each in verdict.checks if each.name not in without], check)
    name, notes = CERTIFIED if all(each.holds for each in checks) else UNPROVED, verdict.notes
    loose = np.flatnonzero(~(off <= tolerance))
    if len(loose) and (off > 2 * tolerance).any():
        name = REFUTED
        notes = told_of(alloc, np.array([float(s) for s in found.share]), tolerance)
    first = [users.index(each) for each in found.rounds[0]]
    gap = max([-each for k, each in enumerate(far) if k in set(first)], default=0.0)
    share = np.array([float(s) for s in found.share])
    ends = share * (1 - ROUNDED), share * (1 + ROUNDED)
    return replace(
        verdict,
        verdict=name,
        gap=max(gap, 0.0),
        residual=float(off[n]),
        undetermined=tuple([users[k] for k in loose.tolist()]),
        checks=checks,
        intervals=Intervals(len(users), lambda: ends),
        notes=notes,
        bounded=True,
    )


__all__ = ["AT_LAST", "AT_ONCE", "in_fractions"]
