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

__all__ = ["RULES", "TIED", "RuleAsked", "SliceChange", "Rule"]
