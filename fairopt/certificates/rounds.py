r"""The judge of max-min, with and without rules: it proves who is due what, round by round.

In round k a level t_k is reached where somebody is stopped (Z_k), and prices prove that nobody of
Z_k could have more while everybody else keeps what it is due by then. With l_n what user n is due,
q_n the cheapest price of a unit of share and B the value of all that is priced,

.. math:: room_n = \frac{B - \sum_{m \in Z_1 .. Z_k} q_m l_m - \sum_{others} q_m l_m(t_k)}{q_n l_n}

is the most by which n in Z_k could rise, relative. That is one side. On the other, who is stopped
later may hold nothing that stops n, except what it is due by then (the `excess`), nor may others
hold less than they are due by an amount of money that matters to n. And everybody holds what it is
due (`off`). Of one round the `residual` of a user is all of it together (docs/maths/prices.md,
"Lexicographic max-min"). Of several rounds floats prove nothing, since what one leaves open is
multiplied by the later ones: what everybody is due is proved in fractions (`exact_verdict`), or not
at all.

The rounds of an answer beside groups, guarantees, ceilings, lending, priorities or modes are told
by it, and followed along the path of targets (`ruled.walk`). A plain answer is a flat tree, whose
rounds are its own levels: they are all computed at once, from sums in order of level (`levels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
from fairopt.certificates import words as plainly
from fairopt.certificates.due import due, lowest, told
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.levels import Order, several
from fairopt.certificates.rounds_proof import RoundsProof, prove, unproved
from fairopt.certificates.rounds_verdict import HELD, at_first, in_its_fractions, of_rounds, worst
from fairopt.certificates.ruled import feasible, words
from fairopt.certificates.ruled.answer import Ruled
from fairopt.certificates.ruled.walk import PATH, path
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.formulas.entitled import entitled
from fairopt.instance import Floats, remembered


def judge(alloc: Allocation, *, tolerance: float = TOLERANCE) -> Certificate:
    """Certified: every rule kept, and every user proved to be within `tolerance` of its level.

    `gap` is how much any user of the first round could rise, `residual` the bound proved of the
    worst user, as a logarithm of its level over that at the optimum. Without level prices, or
    rounds, they are worked out (`due`).
    """
    flat = alloc.rounds is None and alloc.instance.plain
    if (alloc.level_prices if flat else alloc.rounds) is not None:
        return _judged(alloc, tolerance)
    found = due(alloc)
    if found is None:
        return _judged(alloc, tolerance)
    if flat:
        prices = [each["prices"]["prices"] for each in found.rounds or ()]
        verdict = _judged(alloc.with_(level_prices=[*prices, lowest(alloc)]), tolerance)
    else:
        verdict = _judged(alloc.with_(rounds=found.rounds), tolerance)
    return against(alloc, verdict, found, tolerance)


def against(
    alloc: Allocation,
    verdict: Certificate,
    found: Allocation | None = None,
    tolerance: float = TOLERANCE,
) -> Certificate:
    """The verdict, refuted if what everybody is due can be worked out and proved, and differs.

    Parameters
    ----------
    found : the division with what everybody is due; worked out if None.
    """
    if verdict.verdict != UNPROVED:
        return verdict
    if found is None and (found := due(alloc)) is None:
        return verdict
    proof = _judged(found, tolerance)
    if not proof.certified:
        return verdict
    share, (low, high) = alloc.shares, proof.intervals.ends  # type: ignore[attr-defined]
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.maximum(low / share, share / high)
        off = np.nan_to_num(np.log(np.maximum(high / share, share / low)), nan=0.0)
    if not (apart > np.exp(tolerance)).any():
        return verdict
    return replace(
        verdict,
        verdict=REFUTED,
        residual=float(off.max()),
        undetermined=tuple(np.array(alloc.instance.users)[off > tolerance].tolist()),
        intervals=proof.intervals,
        notes=told(alloc, found, tolerance),
        bounded=True,
    )


def _judged(alloc: Allocation, tolerance: float) -> Certificate:
    """The verdict on an answer with level prices or rounds, kept with the answer: an engine asks
    whether it is good, and who asked the engine asks again."""
    found: Certificate = remembered(
        alloc, f"_verdict {tolerance!r}", lambda: _judged_once(alloc, tolerance)
    )
    return found


def at_once(alloc: Allocation, tolerance: float = TOLERANCE) -> bool:
    """Whether an answer that tells its rounds is certified by these: what an engine asks that has
    another answer to try."""
    with np.errstate(all="ignore"):
        found = _judged_once(alloc, tolerance, quick=True)
    if found.certified:
        remembered(alloc, f"_verdict {tolerance!r}", lambda: found)
    return found.certified


def _judged_once(alloc: Allocation, tolerance: float, quick: bool = False) -> Certificate:
    if alloc.rounds is None and alloc.instance.plain:
        return _plain(alloc, tolerance)
    asked = entitled(alloc.instance, alloc.score, alloc.kind)
    ruled = Ruled(alloc)
    kept = feasible.checks(ruled, asked.floor)
    factor = feasible.shrink(ruled)
    stops, wrong = remembered(alloc, PATH, lambda: path(alloc, asked))
    shrunk = Ruled(alloc, factor) if factor < 1 else ruled
    first = stops[0].users if stops else np.arange(len(ruled.share))
    order_ = (
        Check.of("rounds in order", 1.0 if wrong else 0.0, 0.0, wrong),
        *feasible.exactly(ruled),
    )
    notes = Sentences(lambda: words.told(alloc.instance, stops))

    def of(found: RoundsProof) -> Certificate:
        gap = float((found.room + found.short)[first].max(initial=0.0))
        return _verdict(alloc, kept, order_, found, gap, notes, tolerance)

    rounds = len(stops)
    if rounds > 1 and not wrong:
        verdict = of(unproved(shrunk, stops, factor))
        if verdict.verdict != REFUTED:
            exact = in_its_fractions(alloc, verdict, tolerance)
            if exact is not None:
                return exact
        if quick:
            return verdict
    verdict = of(remembered(alloc, "_proved", lambda: prove(shrunk, stops, factor)))
    return verdict if wrong else of_rounds(alloc, verdict, rounds, tolerance)


def _plain(alloc: Allocation, tolerance: float) -> Certificate:
    """The verdict on a plain answer, whose rounds are its own levels."""
    kept, notes = feasibility(alloc), Sentences(lambda: tuple(plainly.notes(alloc)))
    if several(alloc) and all(c.holds for c in kept):
        found = at_first(alloc, kept, notes, tolerance)
        if found is not None:
            return found
    # kept with the answer, whose arrays nobody can write to: it is judged while it is solved
    order: Order = remembered(alloc, "_order", lambda: Order(alloc))
    none = np.zeros(len(order.level))
    proof = RoundsProof(
        order.room, order.excess, none, none, order.bounds, order.share, order.factor
    )
    gap = float(order.room[int(np.argmin(alloc.levels))])
    verdict = _verdict(alloc, kept, (), proof, gap, notes, tolerance)
    return of_rounds(alloc, verdict, order.rounds, tolerance)


def _verdict(
    alloc: Allocation,
    kept: Sequence[Check],
    order: Sequence[Check],
    found: RoundsProof,
    gap: float,
    notes: Sequence[str],
    tolerance: float,
) -> Certificate:
    """The certificate of what was proved."""
    users = alloc.instance.users
    residual = found.residual
    checks = (
        *kept,
        *order,
        worst(HELD, found.off, users, tolerance),
        worst("room of every user", found.room, users, tolerance),
        worst("excess of those stopped later", found.excess, users, tolerance),
        worst("all rounds together", residual, users, tolerance),
    )
    verdict = CERTIFIED if all(c.holds for c in checks) else UNPROVED
    if not all(c.holds for c in kept):
        verdict = REFUTED
    loose = tuple([users[n] for n in np.flatnonzero(~(residual <= tolerance)).tolist()])

    def ends() -> tuple[Floats, Floats]:
        low, top = found.bounds.ends(found.share)
        known = np.isfinite(found.off)
        with np.errstate(invalid="ignore"):
            return (
                np.where(known, low * np.maximum(1 - found.off, 0.0), 0.0),
                np.where(known, top * (1 + found.short), np.inf),
            )

    spans = Intervals(len(users), ends)
    far = float(residual.max())
    return Certificate(verdict, gap, far, loose, checks, spans, notes, bounded=True)
