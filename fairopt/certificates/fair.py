"""The judge of alpha-fair answers beside any linear rules (docs/maths/prices.md).

Certified: every rule is kept, and every user's share is proved to be within a millionth of its
share at any optimum, whatever made the answer and whatever its prices are. Refuted: a rule is
broken, or somebody is proved to be off by more. Else unproved, with the bound that was proved. For
alpha = 0, a linear program, shares are not unique, and the gap of the objective is the statement
(`linear`).
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import (
    CERTIFIED,
    REFUTED,
    UNPROVED,
    Certificate,
    Check,
    Intervals,
    Sentences,
)
from fairopt.certificates import classes, rounds, witness
from fairopt.certificates.asking import kind_of
from fairopt.certificates.classes import Classes
from fairopt.certificates.duality import equal_rise
from fairopt.certificates.feasibility import feasibility, shrink
from fairopt.certificates.guessed import with_prices
from fairopt.certificates.proof import ASKED_GAP, Proof, forget, proof
from fairopt.certificates.ruled import feasible, words
from fairopt.certificates.ruled.answer import Ruled
from fairopt.certificates.ruled.prices import of_round
from fairopt.certificates.ruled.prices import told as told_prices
from fairopt.certificates.told import few
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.certificates.words import listed, notes
from fairopt.formulas import welfare
from fairopt.formulas.entitled import entitled
from fairopt.instance import Floats, remembered

NAMED = 8
"""most users who are told what they are due"""


def judge(
    alloc: Allocation, tolerance: float = TOLERANCE, more: tuple[Check, ...] = ()
) -> Certificate:
    """The certificate of an answer.

    Parameters
    ----------
    tolerance : the largest distance of a share from every optimum's that is certified.
    more : checks of further rules that the notion has.
    """
    inst = alloc.instance
    kept = (*_kept(alloc), *more)
    fits = all(check.holds for check in kept)
    by_class = classes.several(alloc)
    why = classes.unasked(alloc) if by_class else ""
    if why:
        bad = UNPROVED if fits else REFUTED
        return Certificate(bad, np.inf, np.inf, inst.users, kept, notes=(why,))
    if by_class and not more and classes.one_by_one(alloc):
        by_rounds = rounds.judge(alloc, tolerance=tolerance)
        by_rounds = rounds.against(alloc, by_rounds, tolerance=tolerance)
        if by_rounds.verdict != UNPROVED:
            return by_rounds
    found = classes.proved(alloc) if by_class else _proof(with_prices(alloc), tolerance)
    off = found.off
    worst, gap = int(np.argmax(off)), found.gap
    checks = [
        *kept,
        Check.of("gap", gap, float(np.expm1(tolerance)), "an equal rise of every share"),
        Check.of("residual", float(off[worst]), tolerance, inst.users[worst]),
    ]
    if not found.question.alpha and inst.rules is not None:
        checks += feasible.exactly(Ruled(alloc))
    said: list[str] = []
    if not fits:
        factor = shrink(alloc) if inst.plain else feasible.shrink(Ruled(alloc))
        scaled = f": it needs to be scaled by {factor:.9g} to fit" if factor < 1 else ""
        said.append(f"not feasible{scaled}")
    proved_wrong = float(found.surely.max()) > tolerance
    if proved_wrong:
        said += _wrong(alloc, found, tolerance)
    elif gap > tolerance and isinstance(found, Proof) and inst.plain:
        better, lost = _better(alloc, found)
        checks.append(Check.of("no better allocation", lost, tolerance, "every share at once"))
        if lost > tolerance:
            proved_wrong = True
            said += _lost(alloc, better, lost, gap)
    verdict = CERTIFIED if all(check.holds for check in checks) else UNPROVED
    if not fits or (proved_wrong and verdict == UNPROVED):
        verdict = REFUTED
    loose = tuple([inst.users[n] for n in np.flatnonzero(~(off <= tolerance)).tolist()])
    told = Sentences(lambda: (*said, *_notes(alloc)))
    ends = Intervals(len(off), found.ends)
    return Certificate(
        verdict,
        gap,
        float(off[worst]),
        loose,
        tuple(checks),
        ends,
        told,
        tolerance,
        bool(found.question.alpha),
    )


def _proof(alloc: Allocation, tolerance: float) -> Proof:
    """What is proved; where passes over very many users proved less than is asked for, what a
    search does."""
    found = proof(alloc)
    if not tolerance < found.off.max() <= TOLERANCE or few(found.question):
        return found
    again = alloc.with_(certificate=None)
    # all that is kept of the answer, but its proof
    forget(again)
    remembered(again, ASKED_GAP, lambda: tolerance)
    other = proof(again)
    return other if other.off.max() < found.off.max() else found


def _kept(alloc: Allocation) -> tuple[Check, ...]:
    """Whether every rule is kept."""
    if alloc.instance.plain:
        return feasibility(alloc)
    floor = entitled(alloc.instance, alloc.score, kind_of(alloc)).floor
    return feasible.checks(Ruled(alloc), floor)


def _wrong(alloc: Allocation, found: Proof | Classes, tolerance: float) -> list[str]:
    """Who is proved to be off, worst first, with what it is due."""
    low, high = found.ends()
    wrong = np.flatnonzero(found.surely > tolerance)
    wrong = wrong[np.argsort(-found.surely[wrong], kind="stable")]
    lines = []
    for n in wrong[:NAMED].tolist():
        share = float(alloc.shares[n])
        due = float(low[n]) if share < low[n] else float(high[n])
        off = 100 * float(-np.expm1(-found.surely[n]))
        most = 100 * float(-np.expm1(-found.off[n]))
        word, at = ("short", "at least") if share < low[n] else ("too much", "at most")
        lines.append(
            f"{alloc.instance.users[n]} has a share of {share:.9g} and is due {at} {due:.9g}: "
            f"at least {off:.3g} % and at most {most:.3g} % {word}"
        )
    more = len(wrong) - NAMED
    return [*lines, *([f"and {more} more users are off"] if more > 0 else [])]


def _better(alloc: Allocation, found: Proof) -> tuple[Floats, float]:
    """Tasks of a better allocation, if one is found, and the equal rise of every share there."""
    question = found.question
    if question.pulls is None:
        log_w = welfare.log_weight(question.weight, question.alpha, question.inside)
        goal = witness.welfare_of(alloc, log_w, question.alpha)
        tasks, rise = witness.better(alloc, goal)
        return tasks, float(np.expm1(rise))
    if question.pulls.hard.any():
        return alloc.tasks, 0.0
    tasks, rise = witness.better(alloc, witness.penalised(alloc))
    return tasks, equal_rise(question, found.answer.share, rise, 0.0)


def _lost(alloc: Allocation, better: Floats, lost: float, gap: float) -> list[str]:
    """What is lost, in words."""
    least = (
        f"a better feasible allocation exists: at least {100 * lost:.4g} %, "
        f"at most {100 * gap:.4g} % of every share is lost"
        if np.isfinite(lost)
        else "a better feasible allocation exists: it leaves nobody with nothing"
    )
    return [least, f"it is, user by user and server by server: {listed(alloc, better)}"]


def _notes(alloc: Allocation) -> list[str]:
    """What stops each user; beside rules, which have a price."""
    if alloc.instance.plain:
        return notes(alloc)
    if alloc.rounds is not None and classes.several(alloc):
        told = [of_round(alloc.instance, each["prices"]) for each in alloc.rounds]
        named = [words.rules(alloc.instance, prices) for prices in told]
        found = list(dict.fromkeys(name for names in named for name in names))
        return [f"with a price: {name}" for name in found[: words.MOST_ROUNDS]]
    prices = told_prices(alloc)
    return [
        f"with a price: {name}" for name in words.rules(alloc.instance, prices)[: words.MOST_ROUNDS]
    ]
