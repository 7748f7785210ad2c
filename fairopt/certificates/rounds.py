r"""The judge of max-min, with and without rules: it proves who is due what, round by round.

In round k a level t_k is reached where somebody is stopped (Z_k), and prices prove that nobody of
Z_k could have more while everybody else keeps what it is due by then. With l_n what user n is due,
q_n the cheapest price of a unit of share and B the value of all that is priced,

.. math:: room_n = \frac{B - \sum_{m \in Z_1 .. Z_k} q_m l_m - \sum_{others} q_m l_m(t_k)}{q_n l_n}

is the most by which n in Z_k could rise, relative. That is one side. On the other, who is stopped
later may hold nothing that stops n, except what it is due by then (the `excess`), nor may others
hold less than they are due by an amount of money that matters to n. And everybody holds what it is
due (`off`). What one round leaves open is carried on into the later ones (`carried`), and the
`residual` of a user is all of it together (docs/maths/prices.md, "Lexicographic max-min").

The rounds of an answer beside groups, guarantees, ceilings, lending, priorities or modes are told
by it, and followed along the path of targets (`ruled.walk`). A plain answer is a flat tree, whose
rounds are its own levels: they are all computed at once, from sums in order of level (`levels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

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
from fairopt.certificates.carried import Bounds, Paid, carried
from fairopt.certificates.due import due, lowest, told
from fairopt.certificates.exact_verdict import has_fractions
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.levels import Order
from fairopt.certificates.nearby.verdict import at_nearby, in_its_fractions, of_rounds, worst
from fairopt.certificates.ruled import feasible, words
from fairopt.certificates.ruled.answer import Bill, PricesGiven, Ruled
from fairopt.certificates.ruled.uses import RuleRows
from fairopt.certificates.ruled.walk import PATH, RoundWalk, path
from fairopt.certificates.tolerance import ROUNDING, TOLERANCE
from fairopt.formulas.entitled import entitled
from fairopt.instance import Floats, Ints, remembered


@dataclass(frozen=True)
class RoundsProof:
    """What the rounds prove of every user, each (N,) relative to its share; inf if nothing.

    room : it could rise by. excess : it holds of what is due to others. off : distance from what it
    is due, l. short : of that, what it could rise by. bounds : all rounds together. share : that
    this is said of, of tasks times `factor`, so that all fit.
    """

    room: Floats
    excess: Floats
    off: Floats
    short: Floats
    bounds: Bounds
    share: Floats
    factor: float

    @property
    def lost(self) -> float:
        """How far shares are from those of tasks that fit, as a logarithm."""
        return float(-np.log(self.factor)) if self.factor > 0 else float("inf")

    @property
    def residual(self) -> Floats:
        """(N,) bound on the logarithm of what each holds over what it is due at the optimum."""
        with np.errstate(divide="ignore"):
            far = np.where(self.off < 1, -np.log1p(-np.minimum(self.off, 1.0)), np.inf)
        here = self.bounds.residual + np.maximum(far, np.log1p(self.short))
        return np.asarray(here + self.lost)


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
    if not (apart > np.exp(tolerance)).any():
        return verdict
    return replace(
        verdict, verdict=REFUTED, intervals=proof.intervals, notes=told(alloc, found, tolerance)
    )


def _judged(alloc: Allocation, tolerance: float) -> Certificate:
    """The verdict on an answer with level prices or rounds, kept with the answer: an engine asks
    whether it is good, and who asked the engine asks again."""
    found: Certificate = remembered(
        alloc, f"_verdict {tolerance!r}", lambda: _judged_once(alloc, tolerance)
    )
    return found


def at_once(alloc: Allocation, tolerance: float = TOLERANCE) -> bool:
    """Whether an answer that tells its rounds is certified without a look at how far errors of
    floats reach: what an engine asks that has another answer to try."""
    with np.errstate(all="ignore"):
        found = _judged_once(alloc, tolerance, quick=True)
    if found.certified:
        remembered(alloc, f"_verdict {tolerance!r}", lambda: found)
    return found.certified


def _judged_once(alloc: Allocation, tolerance: float, quick: bool = False) -> Certificate:
    if alloc.rounds is None and alloc.instance.plain:
        # kept with the answer, whose arrays nobody can write to: it is judged while it is solved
        order: Order = remembered(alloc, "_order", lambda: Order(alloc))
        none = np.zeros(len(order.level))
        found = RoundsProof(
            order.room, order.excess, none, none, order.bounds, order.share, order.factor
        )
        gap = float(order.room[int(np.argmin(alloc.levels))])
        notes = Sentences(lambda: tuple(plainly.notes(alloc)))
        verdict = _verdict(alloc, feasibility(alloc), (), found, gap, notes, tolerance)
        return of_rounds(alloc, verdict, order, order.rounds, tolerance)
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
        # where fractions, or the point nearby, prove everybody, nobody asks how far errors of
        # floats reach
        verdict = of(_unproved(shrunk, stops, factor))
        if has_fractions(alloc):
            exact = (
                None if verdict.verdict == REFUTED else in_its_fractions(alloc, verdict, tolerance)
            )
            if exact is not None:
                return exact
        else:
            verdict = at_nearby(alloc, verdict, None, rounds, tolerance)
            if verdict.certified or quick:
                return verdict
    verdict = of(remembered(alloc, "_proved", lambda: prove(shrunk, stops, factor)))
    return verdict if wrong else of_rounds(alloc, verdict, None, rounds, tolerance)


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
        worst("everybody holds what it is due", found.off, users, tolerance),
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


def _unproved(ruled: Ruled, stops: list[RoundWalk], factor: float) -> RoundsProof:
    """How far everybody is from what it is due, without what prices prove of that."""
    users = len(ruled.share)
    right = np.full(users, np.nan)
    for stop in stops:
        right[stop.users] = stop.due[stop.users]
    nobody = Bounds(np.full(users, np.inf), np.ones(users), np.zeros(users))
    unknown = np.full(users, np.inf)
    return RoundsProof(unknown, unknown, *ruled.apart(right), nobody, ruled.share, factor)


def prove(ruled: Ruled, stops: list[RoundWalk], factor: float = 1.0) -> RoundsProof:
    """What the prices of the rounds prove of every user, each at the best prices of its round.

    Parameters
    ----------
    factor : by which tasks were multiplied, so that all fit.
    """
    users = len(ruled.share)
    room, excess = np.full(users, np.inf), np.zeros(users)
    right = np.full(users, np.nan)
    stage, proofs = np.zeros(users, dtype=np.int64), list[Paid]()
    rows = RuleRows(ruled) if len(stops) > 1 else None
    for k, stop in enumerate(stops):
        mine = stop.users
        right[mine], stage[mine] = stop.due[mine], k
        to_limit = _to_limit(ruled, stop.due)[mine]
        best = np.full(len(mine), np.inf)
        chosen, bills = np.full(len(mine), -1), list[_At]()
        for prices in ruled.cleaned(stop.prices):
            bill = ruled.bill(prices)
            above, missing, held = _at(ruled, stop, bill)
            open_ = above + missing
            above = np.fmin(above, to_limit) + missing
            money = np.where(bill.cheapest > 0, bill.cheapest * stop.due, 0.0)
            # a round of little money beside all that is paid is lost in the rounding of that
            here = float(money[mine].sum())
            lost = ROUNDING * float(money.sum()) / here if here > 0 else 0.0
            worst = np.maximum(above, held.max(initial=0.0)) + lost
            better = worst < best
            best[better], chosen[better] = worst[better], len(bills)
            bills.append(_At(prices, bill, money, held, open_))
            room[mine[better]] = above[better]
        # at its limit a user can rise at no prices
        capped = (to_limit <= TOLERANCE) & ~(best <= TOLERANCE)
        room[mine[capped]], chosen[capped] = to_limit[capped], -1
        for j, at in enumerate(bills):
            if (chosen == j).any():
                paid = _paid(ruled, stop, at.money, mine[chosen == j], at.open[chosen == j])
                excess = np.maximum(excess, at.held)
                if rows:
                    turn, choices = rows.turn(k, at.prices, at.bill, stop.done)
                    paid = replace(paid, turns=[turn], choices=choices)
                proofs.append(paid)
    off, short = ruled.apart(right)
    uses = rows.uses([stop.due for stop in stops]) if rows else None
    reached = () if ruled.tree.flat or len(stops) < 2 else [stop.reached for stop in stops]
    excess_ = np.minimum(excess, 1.0)
    bounds = carried(stage, room, excess_, proofs, uses, reached=reached)
    return RoundsProof(room, excess, off, short, bounds, ruled.share, factor)


class _At(NamedTuple):
    """A round at some prices: the bill, what all pay, the excess (N,), and what is left open of
    each user of the round."""

    prices: PricesGiven
    bill: Bill
    money: Floats
    held: Floats
    open: Floats


def _paid(ruled: Ruled, stop: RoundWalk, money: Floats, users: Ints, room: Floats) -> Paid:
    """What is paid at prices that prove these users. Who is due nothing is brought nothing."""
    own = money[users]
    own = np.where(stop.due[users] <= ruled.nothing[users], np.inf, own)
    who = np.flatnonzero(money > 0)
    with np.errstate(invalid="ignore"):
        return Paid(users, own, who, money[who], money[who], room * own)


def _at(ruled: Ruled, stop: RoundWalk, bill: Bill) -> tuple[Floats, Floats, Floats]:
    """Room of the users of a round at prices, what others are short of it, and the excess (N,)."""
    q, due, mine = bill.cheapest, stop.due, stop.users
    apart = ruled.share - due
    apart[np.abs(apart) <= ROUNDING * due] = 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        left = bill.idle + bill.over.sum() + (q * np.maximum(apart, 0.0))[q > 0].sum()
        short = (q * np.maximum(-apart, 0.0))[q > 0].sum()
        room, missing = (_part(ruled, money, mine, q, due) for money in (left, short))
        above = np.where(apart > 0, apart / due, 0.0)
    held = np.where(stop.done, 0.0, np.minimum(bill.priced, above))
    bad = np.isnan(room) | np.isnan(missing)
    held = np.where(np.isnan(held), np.inf, held)
    return np.where(bad, np.inf, room), np.where(bad, np.inf, missing), held


def _part(ruled: Ruled, money: float, mine: Ints, q: Floats, due: Floats) -> Floats:
    """What money buys users at their cheapest prices, relative to what they are due.

    inf where it has no price; 0 for who is due nothing, if it buys nothing (`Ruled.nothing`).
    """
    share = np.where(q[mine] > 0, money / q[mine], np.inf)
    nothing = ruled.nothing[mine]
    zero = (due[mine] <= nothing) & (share <= nothing)
    return np.where(zero, 0.0, share / due[mine])


def _to_limit(ruled: Ruled, due: Floats) -> Floats:
    """(N,) the most by which the limit lets each rise above what it is due; 0 within rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(due > 0, np.maximum(ruled.most / due - 1.0, 0.0), np.inf)
    return np.where(room <= ROUNDING, 0.0, room)
