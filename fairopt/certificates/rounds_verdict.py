"""The verdict on an answer of max-min: of one round by floats, of several in exact fractions.

What one round leaves open is multiplied by the later ones, as often as a cluster likes: so of
several rounds no bound of floats is a theorem, however small. Fractions prove them, or nothing
does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check, Intervals
from fairopt.allocation.fields import same
from fairopt.certificates.due import due
from fairopt.certificates.exact_verdict import LEVELS, by_strict, few, in_fractions
from fairopt.certificates.ruled.walk import PATH
from fairopt.instance import Floats

ROUNDS = (
    "room of every user",
    "excess of those stopped later",
    "all rounds together",
)
"""the checks that fractions take the place of"""
HELD = "everybody holds what it is due"
"""the check of what rounds say themselves: of a plain answer nothing"""
NONE = "levels are not proved in exact fractions"
"""the check that says so"""


def of_rounds(
    alloc: Allocation, verdict: Certificate, rounds: int, tolerance: float
) -> Certificate:
    """The verdict; of several rounds that of levels in exact fractions, and else none."""
    # one round whose rounding matters to somebody is asked as several are
    asked = verdict.verdict == UNPROVED or (rounds > 1 and verdict.verdict == CERTIFIED)
    if not asked:
        return verdict
    if (exact := in_its_fractions(alloc, verdict, tolerance)) is not None:
        return exact
    # what is due may tell which rows are full, where the answer is right but for rounding
    if few(alloc) and verdict.verdict == CERTIFIED and (near := due(alloc)) is not None:
        exact = in_fractions(alloc, near, verdict, ROUNDS, tolerance)
        if exact is not None and exact.verdict != UNPROVED:
            return exact
    return verdict if rounds < 2 else _unproved(alloc, verdict)


def _unproved(alloc: Allocation, verdict: Certificate) -> Certificate:
    """The verdict, by which nothing is known of anybody's share; a refuted one stays so."""
    users = alloc.instance.users
    kept = [check for check in verdict.checks if check.name != ROUNDS[-1]]
    unknown = Intervals(len(users), lambda: (np.zeros(len(users)), np.full(len(users), np.inf)))
    return replace(
        verdict,
        verdict=REFUTED if verdict.verdict == REFUTED else UNPROVED,
        residual=np.inf,
        undetermined=users,
        checks=(*kept, Check.of(NONE, 1.0, 0.0, "")),
        intervals=unknown,
        bounded=False,
    )


def in_its_fractions(
    alloc: Allocation, verdict: Certificate, tolerance: float
) -> Certificate | None:
    """The verdict of the levels that an answer's own rounds tell; None where nothing is proved."""
    found = by_strict(alloc, verdict, ROUNDS, tolerance)
    return in_fractions(alloc, alloc, verdict, ROUNDS, tolerance) if found is None else found


def at_first(
    alloc: Allocation, kept: Sequence[Check], notes: Sequence[str], tolerance: float
) -> Certificate | None:
    """The verdict on a plain answer that keeps every rule, where floats prove what all its levels
    are; None where they do not.

    Parameters
    ----------
    kept : the checks of rules.
    """
    users = alloc.instance.users
    unknown = Intervals(len(users), lambda: (np.zeros(len(users)), np.full(len(users), np.inf)))
    checks = (*kept, worst(HELD, np.zeros(len(users)), users, tolerance))
    verdict = Certificate(UNPROVED, 0.0, np.inf, users, checks, unknown, notes, bounded=False)
    return by_strict(alloc, verdict, ROUNDS, tolerance)


def due_as(alloc: Allocation, other: Allocation) -> None:
    """Judge an answer by what was found for another with the same rounds: where these are on the
    path of targets, and what everybody is due, are said of the instance, wherever the tasks of an
    answer lie."""
    alike = alloc.rounds is not None and alloc.instance is other.instance
    alike = alike and alloc.notion == other.notion and np.array_equal(alloc.score, other.score)
    if alike and same(alloc.rounds, other.rounds):
        vars(alloc).update({k: v for k, v in vars(other).items() if k in (PATH, LEVELS)})


def worst(name: str, amount: Floats, users: tuple[str, ...], tolerance: float) -> Check:
    """The check that no user's amount is above a tolerance."""
    n = int(np.argmax(amount))
    return Check.of(name, float(amount[n]), tolerance, users[n] if amount[n] > 0 else "")


__all__ = ["HELD", "at_first", "due_as", "in_its_fractions", "of_rounds", "worst"]
