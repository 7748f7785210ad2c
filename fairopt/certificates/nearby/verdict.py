"""The verdict on rounds, of the point nearby that they mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check, Intervals
from fairopt.allocation.fields import same
from fairopt.certificates.due import due, told
from fairopt.certificates.exact_verdict import LEVELS, has_fractions, in_fractions
from fairopt.certificates.levels import Order
from fairopt.certificates.nearby.judged import Nearby, nearby
from fairopt.certificates.ruled.walk import PATH
from fairopt.formulas.entitled import entitled
from fairopt.instance import Floats, remembered

POINT = "_meant"
"""under which an answer keeps the point nearby"""
ROUNDS = (
    "room of every user",
    "excess of those stopped later",
    "all rounds together",
)
"""the checks that a point nearby takes the place of"""


def of_rounds(
    alloc: Allocation, verdict: Certificate, order: Order | None, rounds: int, tolerance: float
) -> Certificate:
    """The verdict; of several rounds that of levels in exact fractions, where few columns are in
    use, and else of the point nearby.

    Where few columns are in use nothing is certified but in fractions: how far the point nearby is
    from the optimum is an estimate, which some chains of users outrun.
    """
    # one round whose rounding matters to somebody is asked as several are
    asked = verdict.verdict == UNPROVED or (rounds > 1 and verdict.verdict == CERTIFIED)
    if not asked or not has_fractions(alloc):
        return at_nearby(alloc, verdict, order, rounds, tolerance)
    if (exact := in_its_fractions(alloc, verdict, tolerance)) is not None:
        return exact
    # others may tell which rows are full: one nearby, where the given one is a little off, and what
    # is due, where it is right but for rounding
    for tell in (mended, due) if verdict.verdict == CERTIFIED else (mended,):
        near = tell(alloc)
        exact = None if near is None else in_fractions(alloc, near, verdict, ROUNDS, tolerance)
        if exact is not None and exact.verdict != UNPROVED:
            return exact
    found = at_nearby(alloc, verdict, order, rounds, tolerance)
    if rounds < 2:
        return found
    none = Check.of("levels are not proved in exact fractions", 1.0, 0.0, "")
    return replace(found, verdict=UNPROVED, checks=(*found.checks, none), bounded=False)


def in_its_fractions(
    alloc: Allocation, verdict: Certificate, tolerance: float
) -> Certificate | None:
    """The verdict of the levels that an answer's own rounds tell; None where nothing is proved."""
    return in_fractions(alloc, alloc, verdict, ROUNDS, tolerance)


def at_nearby(
    alloc: Allocation, verdict: Certificate, order: Order | None, rounds: int, tolerance: float
) -> Certificate:
    """The verdict; of several rounds that of the point nearby that they mean, known to twice a
    float's digits (`nearby`): how far the errors of floats reach is an estimate, which refuses, and
    bounds nothing."""
    certified = verdict.verdict == CERTIFIED
    if verdict.verdict == REFUTED or (certified and rounds < 2):
        return verdict
    asked = entitled(alloc.instance, alloc.score, alloc.kind)
    point: Nearby | None = remembered(alloc, POINT, lambda: nearby(alloc, asked, order))
    users, share = alloc.instance.users, np.maximum(alloc.shares, 0.0)
    off = np.full(len(users), np.inf) if point is None else point.off(share)
    if certified and not float(off.max()) <= tolerance and (found := due(alloc)) is not None:
        again = nearby(found, asked)
        if again is not None and float(again.off(share).max()) < float(off.max()):
            point, off = again, again.off(share)
    far = float(off.max())
    if point is None or not (certified or far < verdict.residual):
        if rounds < 2:
            return verdict
        none = Check.of("no point nearby is known to twice a float's digits", 1.0, 0.0, "")
        checks = (*verdict.checks, none)
        return replace(verdict, verdict=UNPROVED, checks=checks, bounded=False)
    checks = (
        *[check for check in verdict.checks if check.name not in ROUNDS],
        worst("room of every user, nearby", point.room, users, tolerance),
        worst("all rounds together, nearby", off, users, tolerance),
    )
    name, notes = UNPROVED, verdict.notes
    if all(check.holds for check in checks):
        name = CERTIFIED
    ends = point.ends()
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = (point.share * (1 + point.room) / share)[point.first] - 1.0
    gap = float(np.nan_to_num(rise, nan=0.0).max(initial=0.0))
    if point.far.max() <= tolerance and (off - point.far > 2 * tolerance).any():
        name, notes = REFUTED, told(alloc, _moved(alloc, point), tolerance)
    loose = tuple([users[n] for n in np.flatnonzero(~(off <= tolerance)).tolist()])
    spans = Intervals(len(users), lambda: ends)
    return Certificate(name, gap, far, loose, checks, spans, notes, bounded=True)


def due_as(alloc: Allocation, other: Allocation) -> None:
    """Judge an answer by what was found for another with the same rounds: where these are on the
    path of targets, and what a point nearby proves everybody to be due, are said of the instance,
    wherever the tasks of an answer lie."""
    alike = alloc.rounds is not None and alloc.instance is other.instance
    alike = alike and alloc.notion == other.notion and np.array_equal(alloc.score, other.score)
    if alike and same(alloc.rounds, other.rounds):
        vars(alloc).update({k: v for k, v in vars(other).items() if k in (POINT, PATH, LEVELS)})


def mended(alloc: Allocation) -> Allocation | None:
    """The division at the point nearby that an answer means, for engines whose answer is a little
    off; None where there is none. The judge is asked anew of what comes of it."""
    order = None
    if alloc.rounds is None:
        if alloc.level_prices is None or not alloc.instance.plain:
            return None
        with np.errstate(all="ignore"):
            order = remembered(alloc, "_order", lambda: Order(alloc))
    point = nearby(alloc, entitled(alloc.instance, alloc.score, alloc.kind), order)
    return None if point is None else _moved(alloc, point)


def _moved(alloc: Allocation, point: Nearby) -> Allocation:
    """The division at a point nearby."""
    if alloc.instance.modes is None:
        return alloc.with_(tasks=point.tasks)
    return alloc.with_(tasks=None, way_tasks=point.tasks)


def worst(name: str, amount: Floats, users: tuple[str, ...], tolerance: float) -> Check:
    """The check that no user's amount is above a tolerance."""
    n = int(np.argmax(amount))
    return Check.of(name, float(amount[n]), tolerance, users[n] if amount[n] > 0 else "")
