"""Where a search begins that has very many columns to choose from: the same shares on fewer.

Where most users may hold tasks on any of several servers at the same cost, as in one pool, their
columns are many times as many as users, and as rows to be filled. So each user runs all its tasks
on one of its columns, drawn by the part of the share that it holds, and some users keep all of
theirs, who then fill the rows to the last digit. Nothing of this is believed: it is where a search
begins, and what it proves is compared with the answer itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairopt.certificates.given import Given
from fairopt.certificates.question import Question
from fairopt.instance import Floats

KEEP, RARE = 10.0, 4
"""of N users that share M rows, KEEP sqrt(N M) keep their columns: what the others leave of rows is
of the order of sqrt(N); tried where those who might keep theirs are so many times as many"""
GOLDEN = (5**0.5 - 1) / 2
"""multiples of it, less their whole part, are spread evenly"""


def thinned(question: Question, answer: Given) -> Given | None:
    """The answer on fewer columns; None where there are not very many, or rules of other kinds."""
    columns, users, held = question.columns, question.users, answer.held
    keep = int(KEEP * np.sqrt(users * len(question.rhs)))
    if len(answer.y) or question.pulls is not None or len(held) - users < RARE * keep:
        return None
    owner, worth = columns.owner(held), columns.worth(held)
    if not (answer.share > 0).all():
        return None
    cost = columns.cost(answer.price)
    dear = np.maximum(cost[held], 1e-300)
    part = worth * answer.x / answer.share[owner]
    # as `search` has it: what is dearer by a larger part than it is of the share does not stay
    above = (dear - columns.cheapest(cost)[owner] * worth) / dear
    part = np.where(part > above, part, 0.0)
    count = np.bincount(owner[part > 0], minlength=users)
    several = np.flatnonzero(count > 1)
    if len(several) < RARE * keep or not count.all():
        return None
    every = several[np.linspace(0, len(several) - 1, keep).astype(np.int64)]
    whole = np.zeros(users, dtype=bool)
    whole[every] = True
    at = _drawn(part, np.searchsorted(owner, np.arange(users + 1)))
    stays = whole[owner] & (part > 0)
    stays[at] = True
    kept = np.flatnonzero(stays)
    n = owner[kept]
    x = np.where(whole[n], answer.x[kept], answer.share[n] / worth[kept])
    return replace(answer, held=held[kept], x=x)


def _drawn(part: Floats, start: Floats) -> Floats:
    """(N,) one column of each user, from start[n] to start[n + 1], as often as it has a part of the
    share."""
    total = np.concatenate([[0.0], np.cumsum(part)])
    low, high = total[start[:-1]], total[start[1:]]
    place = np.modf(GOLDEN * np.arange(1, len(start)))[0]
    # total[at] <= wanted < total[at + 1], so that a column without a part is never drawn
    at = np.searchsorted(total, low + place * (high - low), side="right") - 1
    return np.clip(at, start[:-1], start[1:] - 1)


__all__ = ["thinned"]
