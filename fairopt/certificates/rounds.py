r"""The judge of max-min with groups, guarantees, ceilings, lending, priorities and modes.

The answer tells its rounds: the level t_k where somebody was stopped, who (Z_k), and prices. From
the tree, the floors and these alone the judge works out what everybody is due, l_n(t_k) on Z_k
(`fairopt.formulas.targets`). Then, with the prices of round k, q_n the cheapest price of a unit of
share and B the value of all that is priced (docs/maths/trees.md),

.. math:: room_n = \frac{B - \sum_{m \in Z_1 .. Z_k} q_m l_m - \sum_{others} q_m l_m(t_k)}{q_n l_n}

is the most by which n in Z_k could rise above what it is due while everybody else keeps what it is
due by then, relative. That is one side. On the other, who is stopped later may hold nothing that
stops n, except what it is due by then: the `excess` is the part of its share that it holds where
tasks have a price, at most s_m / l_m(t_k) - 1. Nor may others hold less than they are due by an
amount of money that matters to n. And everybody holds what it is due, relative to its own share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import (
    CERTIFIED,
    REFUTED,
    UNPROVED,
    Certificate,
    Check,
    Intervals,
    Told,
)
from fairopt.certificates.due import due, told
from fairopt.certificates.ruled import feasible, words
from fairopt.certificates.ruled.answer import ROUNDING, Bill, Ruled
from fairopt.certificates.ruled.walk import Stop, path
from fairopt.formulas.entitled import entitled
from fairopt.instance import Floats, Ints

TOLERANCE = 1e-6
TIE = 1e-9
"""what is due may be this part below a limit that stops it"""


@dataclass(frozen=True)
class Proof:
    """What the rounds prove of every user, each (N,) relative to its share; inf if nothing.

    room : it could rise by. excess : those stopped later, or others, hold of what is due to it.
    off : distance from what it is due, l. short : of that, what it could rise by.
    """

    room: Floats
    excess: Floats
    off: Floats
    short: Floats

    @property
    def residual(self) -> Floats:
        """(N,) the largest of the three."""
        return np.maximum(np.maximum(self.room, self.excess), self.off)


def judge(alloc: Allocation) -> Certificate:
    """Certified: every rule kept, every round right, and residuals of at most 1e-6.

    `gap` is how much any user of the first round could rise, `residual` the largest residual of
    any user. Without rounds they are worked out (`due`); if they are proved, a division that is
    another is refuted.
    """
    if alloc.rounds is not None:
        return _judged(alloc)
    found = due(alloc)
    if found is None:
        return _judged(alloc)
    verdict = _judged(alloc.with_(rounds=found.rounds))
    proof = _judged(found)
    if verdict.verdict == UNPROVED and proof.certified:
        words = told(alloc, found)
        return replace(verdict, verdict=REFUTED, intervals=proof.intervals, notes=words)
    return verdict


def _judged(alloc: Allocation) -> Certificate:
    """The verdict on an answer with rounds."""
    asked = entitled(alloc.instance, alloc.score, alloc.kind)
    ruled = Ruled(alloc)
    kept = feasible.checks(ruled, asked.floor)
    factor = feasible.shrink(ruled)
    users = alloc.instance.users
    stops, wrong = path(alloc, asked)
    found = prove(Ruled(alloc, factor) if factor < 1 else ruled, stops)
    residual = found.residual
    first = stops[0].users if stops else np.arange(len(users))
    gap = float((found.room + found.short)[first].max(initial=0.0))
    checks = (
        *kept,
        Check.of("rounds in order", 1.0 if wrong else 0.0, 0.0, wrong),
        _worst("everybody holds what it is due", found.off, users),
        _worst("room of every user", found.room, users),
        _worst("excess of those stopped later", found.excess, users),
    )
    verdict = CERTIFIED if all(c.holds for c in checks) else UNPROVED
    if not all(c.holds for c in kept):
        verdict = REFUTED
    loose = tuple([users[n] for n in np.flatnonzero(~(residual <= TOLERANCE)).tolist()])
    share = ruled.share

    def ends() -> tuple[Floats, Floats]:
        sure = np.isfinite(residual)
        top = share * (1 + np.where(sure, found.room + found.off, 0.0))
        low = share * (1 - np.minimum(np.where(sure, found.excess + found.off, 1.0), 1.0))
        return low, np.where(sure, top, np.inf)

    spans = Intervals(len(users), ends)
    notes = Told(lambda: words.told(alloc.instance, stops))
    return Certificate(verdict, gap, float(residual.max()), loose, checks, spans, notes)


def _worst(name: str, amount: Floats, users: tuple[str, ...]) -> Check:
    n = int(np.argmax(amount))
    return Check.of(name, float(amount[n]), TOLERANCE, users[n] if amount[n] > 0 else "")


def prove(ruled: Ruled, stops: list[Stop]) -> Proof:
    """What the prices of the rounds prove of every user, each at the best prices of its round."""
    users = len(ruled.share)
    room, excess = np.full(users, np.inf), np.full(users, np.inf)
    right = np.full(users, np.nan)
    for stop in stops:
        mine = stop.users
        right[mine] = stop.due[mine]
        to_limit = _to_limit(ruled, stop.due)[mine]
        best = np.full(len(mine), np.inf)
        for prices in ruled.cleaned(stop.prices):
            above, others = _at(ruled, stop, ruled.bill(prices))
            above = np.fmin(above, to_limit)
            worst = np.maximum(above, others)
            better = worst < best
            best[better] = worst[better]
            room[mine[better]], excess[mine[better]] = above[better], others[better]
        # at its limit a user can rise at no prices
        capped = (to_limit <= TOLERANCE) & ~(best <= TOLERANCE)
        room[mine[capped]], excess[mine[capped]] = to_limit[capped], 0.0
    nothing = ruled.nothing
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(ruled.share - right) / np.maximum(right, nothing)
    zero = (ruled.share <= nothing) & (right <= nothing)
    off = np.where((ruled.share == right) | zero, 0.0, off)
    off = np.where(np.isnan(off), np.inf, off)
    with np.errstate(divide="ignore", invalid="ignore"):
        short = np.where(off > 0, np.maximum(right / ruled.share - 1.0, 0.0), 0.0)
    return Proof(room, excess, off, np.where(np.isnan(short), np.inf, short))


def _at(ruled: Ruled, stop: Stop, bill: Bill) -> tuple[Floats, Floats]:
    """Room and excess of the users of a round, at prices."""
    q, due, mine = bill.cheapest, stop.due, stop.users
    apart = ruled.share - due
    apart[np.abs(apart) <= ROUNDING * due] = 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        left = bill.idle + bill.over.sum() + (q * np.maximum(apart, 0.0))[q > 0].sum()
        short = (q * np.maximum(-apart, 0.0))[q > 0].sum()
        room, missing = (_part(ruled, money, mine, q, due) for money in (left, short))
        above = np.where(apart > 0, apart / due, 0.0)
    most = np.minimum(bill.priced, above)[~stop.done].max(initial=0.0)
    found = np.maximum(missing, most)
    bad = np.isnan(room) | np.isnan(found)
    return np.where(bad, np.inf, room), np.where(bad, np.inf, found)


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
    return np.where(room <= TIE, 0.0, room)
