r"""What follows from a ledger for the next slice: weights, an order, or limits. A row of `RULES`.

========  ==========================================================================
kai       weight P_n = max(W_n + k (W_n - U_n), 0), W of those who want something;
          who has P = 0 is left out of the slice
condor    weight 1 / (f_n z_n)
rank      classes by z_n / W_n, least first, ties together; weight 0 last
left      limit: what is left of the budget, over the slice
had       start: what was had, over the slice
none      nothing: every slice alone
========  ==========================================================================
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairopt.instance import Bools, Floats, Ints
from fairopt.overtime.states import LedgerState

TIED = 1e-12
"""part by which two users' use may differ and still be the same"""


@dataclass(frozen=True)
class RuleAsked:
    """What a rule looks at.

    Parameters
    ----------
    weight : (N,) W. wants : (N,) tasks at once; > 0 of those who want something.
    use_of_one : (N,) the least that a task adds to use, for budgets. hours : D.
    k, factor (N,) : of the rule.
    """

    weight: Floats
    wants: Floats
    use_of_one: Floats
    hours: float
    k: float
    factor: Floats

    @property
    def there(self) -> Bools:
        """(N,) who wants something."""
        return self.wants > 0


@dataclass(frozen=True)
class SliceChange:
    """What changes in the slice: weight (N,), rank (N,) 0 first, limit (N,), out (N,), start (N,)
    or None."""

    weight: Floats
    rank: Ints
    limit: Floats
    out: Bools
    start: Floats | None = None


Rule = Callable[[LedgerState, RuleAsked], SliceChange]


def unchanged(state: LedgerState, asked: RuleAsked) -> SliceChange:
    """Every slice alone."""
    n = len(asked.weight)
    return SliceChange(asked.weight, np.zeros(n, np.int64), np.full(n, np.inf), np.zeros(n, bool))


def kai(state: LedgerState, asked: RuleAsked) -> SliceChange:
    """Weights by what is left of them after use, of those who want something."""
    whole = float(asked.weight[asked.there].sum())
    part = asked.weight / whole if whole > 0 else asked.weight
    weight = np.maximum(part + asked.k * (part - state.part), 0.0)
    same = unchanged(state, asked)
    # what rounding leaves of a weight is none
    out = weight <= TIED * part
    return SliceChange(np.where(out, 1.0, weight), same.rank, same.limit, out)


def condor(state: LedgerState, asked: RuleAsked) -> SliceChange:
    """Weights in inverse ratio to use times factor."""
    same = unchanged(state, asked)
    return SliceChange(1.0 / (asked.factor * state.amount), same.rank, same.limit, same.out)


def rank(state: LedgerState, asked: RuleAsked) -> SliceChange:
    """Least used first."""
    same = unchanged(state, asked)
    part = state.part / asked.weight
    place = np.zeros(len(part), dtype=np.int64)
    order = np.argsort(part, kind="stable")
    step = np.diff(part[order]) > TIED * np.maximum(np.abs(part[order][1:]), TIED)
    place[order] = np.concatenate([[0], np.cumsum(step)])
    return SliceChange(same.weight, place, same.limit, same.out)


def left(state: LedgerState, asked: RuleAsked) -> SliceChange:
    """No more than what is left of the budget."""
    same = unchanged(state, asked)
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = np.where(
            asked.use_of_one > 0, state.amount / (asked.use_of_one * asked.hours), np.inf
        )
    return SliceChange(same.weight, same.rank, limit, limit <= 0)


def had(state: LedgerState, asked: RuleAsked) -> SliceChange:
    """Totals so far count with what the slice brings, which is so much for each hour of it."""
    return replace(unchanged(state, asked), start=state.amount / asked.hours)


RULES: dict[str, Rule] = {
    "kai": kai,
    "condor": condor,
    "rank": rank,
    "left": left,
    "had": had,
    "none": unchanged,
}
"""rule -> what it changes; Karma divides a slice itself (`karma`)"""


# Karma's slice: two max-min programs of one resource, in credits (OSDI 2023).
#
# 1. Borrowed y of those who want more than their g: levels y_n - z_n, 0 <= y_n <= min((L_n - g_n)+,
# z_n), of which there is min(supply, wanted) in all; supply is the public part and what is given.
# 2. Credits e of lenders: levels z_n + e_n, e_n <= (g_n - L_n)+, as many as were borrowed of them.
#
# A borrowed unit costs a credit; what is borrowed of the public part is a grant to all alike, so
# that credits keep their sum.


@dataclass(frozen=True)
class Slice:
    """What a slice gives: held (N,), borrowed, earned (N,), credits (N,) after it."""

    held: Floats
    borrowed: Floats
    earned: Floats
    credits: Floats


def divide(
    wants: Floats, credits: Floats, guaranteed: Floats, supply: float, whole: bool = False
) -> Slice:
    """One slice.

    Parameters
    ----------
    wants : (N,) L. credits : (N,) z before it. guaranteed : (N,) g, at most `supply` together.
    supply : all there is. whole : whole units, ties in the order given.

    Examples
    --------
    >>> found = divide(np.array([5.0, 0, 1]), np.full(3, 6.0), np.full(3, 2.0), 6)
    >>> found.held.tolist(), found.credits.tolist()
    ([5.0, 0.0, 1.0], [3.0, 8.0, 7.0])
    """
    most = np.minimum(np.maximum(wants - guaranteed, 0.0), credits)
    free = np.maximum(guaranteed - wants, 0.0)
    given = float(free.sum())
    public = max(float(supply - guaranteed.sum()), 0.0)
    total = min(public + given, float(most.sum()))
    fill = _whole if whole else filled
    borrowed = fill(-credits, most, total)
    earned = fill(credits, free, min(total, given))
    grant = max(total - given, 0.0) / len(wants)
    held = np.minimum(wants, guaranteed) + borrowed
    return Slice(held, borrowed, earned, credits + earned - borrowed + grant)


def filled(start: Floats, most: Floats, total: float) -> Floats:
    """(N,) x, 0 <= x <= most, of sum `total` <= most.sum(), with max-min levels start + x."""
    if total <= 0:
        return np.zeros(len(start))
    if total >= most.sum():
        return most.astype(np.float64)
    # the sum grows piecewise linearly with the level: find the piece, then the place in it
    ends = np.unique(np.concatenate([start[most > 0], (start + most)[most > 0]]))
    at = np.array([np.clip(end - start, 0.0, most).sum() for end in ends])
    k = min(max(int(np.searchsorted(at, total)) - 1, 0), len(ends) - 2)
    if k < 0 or at[k + 1] <= at[k]:  # of many credits, levels have lost what is divided
        return np.asarray(most * (total / most.sum()))
    low, high = (np.clip(end - start, 0.0, most) for end in ends[k : k + 2])
    found: Floats = low + (high - low) * ((total - at[k]) / (at[k + 1] - at[k]))
    return np.asarray(found * (total / found.sum()))


def _whole(start: Floats, most: Floats, total: float) -> Floats:
    """The same in whole units, one after another to who is lowest."""
    found = np.zeros(len(start))
    line = [(float(start[n]), n) for n in range(len(start)) if most[n] >= 1]
    heapq.heapify(line)
    for _ in range(int(total)):
        if not line:
            break
        level, n = heapq.heappop(line)
        found[n] += 1
        if found[n] + 1 <= most[n]:
            heapq.heappush(line, (level + 1, n))
    return found


__all__ = ["RULES", "TIED", "RuleAsked", "SliceChange", "Rule"]
