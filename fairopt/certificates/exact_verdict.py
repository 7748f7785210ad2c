"""The verdict on a max-min answer whose levels are proved in exact fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check, Intervals
from fairopt.certificates.due import told_of
from fairopt.certificates.enclosed_search import EnclosedLevels, enclosed_levels, few
from fairopt.certificates.exact_case import held
from fairopt.certificates.strict import strict_levels
from fairopt.instance import Bools, Floats, remembered

ALL_ROUNDS = "all rounds together, in exact fractions"
"""the check that says so"""
LEVELS = "_enclosed"
"""under which an answer keeps what everybody is due, or that it is not known"""
STRICT = "_strict"
"""the same, where strict inequalities tell it"""
ROUNDED = 2.0**-50
"""what a logarithm loses in floats, at most, and more"""
LARGEST_RATIO = 2**1000
"""a larger ratio counts as infinite: floats end not far above"""


def in_fractions(
    alloc: Allocation,
    told: Allocation,
    verdict: Certificate,
    without: tuple[str, ...],
    tolerance: float,
) -> Certificate | None:
    """The verdict; None where the levels are not proved in exact fractions.

    Parameters
    ----------
    told : an answer to the same question whose rounds and tasks tell where to look, itself or one
        nearby; it is not believed.
    verdict : by floats; its checks of rules hold. without : of its other checks those that this
        one takes the place of.
    """
    found = _levels(told) if few(told) else None
    if found is None:
        return None
    mine = held(alloc)
    # above what is due at least, and at most
    far = np.array(
        [[_part(s, t) for s, t in zip(mine, ends, strict=True)] for ends in (found.low, found.high)]
    )
    low, high = (np.array([_float(s) for s in ends]) for ends in (found.low, found.high))
    ends = np.nextafter(low, 0.0), np.where(high > 0, np.nextafter(high, np.inf), 0.0)
    first = np.isin(np.arange(len(mine)), found.first)
    return _verdict(alloc, verdict, without, tolerance, far, ends, first)


def by_strict(
    alloc: Allocation, verdict: Certificate, without: tuple[str, ...], tolerance: float
) -> Certificate | None:
    """The same of a plain answer, where intervals of floats prove the same fractions (`strict`)."""
    found = remembered(alloc, STRICT, lambda: strict_levels(alloc))
    if found is None:
        return None
    with np.errstate(all="ignore"):
        far = found.far(alloc)
        return _verdict(alloc, verdict, without, tolerance, far, found.ends, found.first)


def _verdict(
    alloc: Allocation,
    verdict: Certificate,
    without: tuple[str, ...],
    tolerance: float,
    far: Floats,
    ends: tuple[Floats, Floats],
    first: Bools,
) -> Certificate:
    """The verdict on what everybody holds.

    Parameters
    ----------
    far : (2, N) the part of what each is due, at least and at most, by which it holds more.
    ends : (N,) of what each is due. first : (N,) who may be of the lowest level.
    """
    with np.errstate(divide="ignore"):
        off = np.abs(np.log1p(np.maximum(far, -1.0))).max(axis=0) + ROUNDED
    n = int(np.argmax(off))
    users = alloc.instance.users
    check = Check.of(ALL_ROUNDS, float(off[n]), tolerance, users[n])
    checks = (*[each for each in verdict.checks if each.name not in without], check)
    name, notes = CERTIFIED if all(each.holds for each in checks) else UNPROVED, verdict.notes
    loose = np.flatnonzero(~(off <= tolerance))
    if len(loose) and (off > 2 * tolerance).any():
        name = REFUTED
        notes = told_of(alloc, ends[0], tolerance)
    gap = float(-far[1, first].min(initial=0.0))
    return replace(
        verdict,
        verdict=name,
        gap=max(0.0, gap),  # of zeros the first, not -0.0
        residual=float(off[n]),
        undetermined=tuple([users[k] for k in loose.tolist()]),
        checks=checks,
        intervals=Intervals(len(users), lambda: ends),
        notes=notes,
        bounded=True,
    )


def _levels(told: Allocation) -> EnclosedLevels | None:
    """What everybody is due; None if nothing proves it."""
    # kept with the answer, which is judged while it is solved
    found: EnclosedLevels | None = remembered(told, LEVELS, lambda: enclosed_levels(told))
    return found


def _part(held: Fraction, due: Fraction) -> float:
    """The part of what is due by which it is more, to all digits of a float."""
    if not due:
        return np.inf if held else 0.0
    more = held.numerator * due.denominator - due.numerator * held.denominator
    return _ratio(more, held.denominator * due.numerator)


def _float(value: Fraction) -> float:
    return _ratio(value.numerator, value.denominator)


def _ratio(top: int, bottom: int) -> float:
    """The nearest float; inf of what is too large for one."""
    return top / bottom if top < LARGEST_RATIO * bottom else np.inf


__all__ = ["LEVELS", "by_strict", "few", "in_fractions"]
