"""What the prices of the rounds of a max-min answer prove of every user, round by round.

`rounds` says what is proved, and judges by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairopt.certificates.bounds import Bounds, Paid, of_one_round
from fairopt.certificates.ruled.answer import Bill, Ruled
from fairopt.certificates.ruled.walk import RoundWalk
from fairopt.certificates.tolerance import ROUNDING, TOLERANCE
from fairopt.instance import Floats, Ints


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


def unproved(ruled: Ruled, stops: list[RoundWalk], factor: float) -> RoundsProof:
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
    proofs = list[Paid]()
    for stop in stops:
        mine = stop.users
        right[mine] = stop.due[mine]
        to_limit = _to_limit(ruled, stop.due)[mine]
        best = np.full(len(mine), np.inf)
        chosen, bills = np.full(len(mine), -1), list[_At]()
        for prices in ruled.cleaned(stop.prices):
            bill = ruled.bill(prices)
            above, missing, held = _at(ruled, stop, bill)
            above = np.fmin(above, to_limit) + missing
            money = np.where(bill.cheapest > 0, bill.cheapest * stop.due, 0.0)
            # a round of little money beside all that is paid is lost in the rounding of that
            here = float(money[mine].sum())
            lost = ROUNDING * float(money.sum()) / here if here > 0 else 0.0
            worst = np.maximum(above, held.max(initial=0.0)) + lost
            better = worst < best
            best[better], chosen[better] = worst[better], len(bills)
            bills.append(_At(money, held))
            room[mine[better]] = above[better]
        # at its limit a user can rise at no prices
        capped = (to_limit <= TOLERANCE) & ~(best <= TOLERANCE)
        room[mine[capped]], chosen[capped] = to_limit[capped], -1
        for j, at in enumerate(bills):
            if (chosen == j).any():
                proofs.append(_paid(ruled, stop, at.money, mine[chosen == j]))
                excess = np.maximum(excess, at.held)
    off, short = ruled.apart(right)
    bounds = of_one_round(room, np.minimum(excess, 1.0), proofs)
    return RoundsProof(room, excess, off, short, bounds, ruled.share, factor)


class _At(NamedTuple):
    """A round at some prices: what all pay, and the excess (N,)."""

    money: Floats
    held: Floats


def _paid(ruled: Ruled, stop: RoundWalk, money: Floats, users: Ints) -> Paid:
    """What is paid at prices that prove these users. Who is due nothing is brought nothing."""
    own = np.where(stop.due[users] <= ruled.nothing[users], np.inf, money[users])
    who = np.flatnonzero(money > 0)
    return Paid(users, own, who, money[who], money[who])


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


__all__ = ["RoundsProof", "prove", "unproved"]
