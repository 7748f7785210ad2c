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
from fairopt.instance import Floats, Ints

KEEP, RARE = 10.0, 4
"""of N users that share M rows, KEEP sqrt(N M) keep their columns: what the others leave of rows is
of the order of sqrt(N); tried where those who might keep theirs are so many times as many"""
USERS = 1 << 13
"""users at once, so that arrays stay in the cache"""
GOLDEN = (5**0.5 - 1) / 2
"""multiples of it, less their whole part, are spread evenly"""


def thinned(question: Question, answer: Given) -> Given | None:
    """The answer on fewer columns; None where there are not very many, or rules of other kinds."""
    columns, users, held = question.columns, question.users, answer.held
    keep = int(KEEP * np.sqrt(users * len(question.rhs)))
    if len(answer.y) or question.pulls is not None or len(held) - users < RARE * keep:
        return None
    owner = columns.owner(held)
    count = np.bincount(owner, minlength=users)
    several = np.flatnonzero(count > 1)
    if len(several) < RARE * keep or not (answer.share > 0).all():
        return None
    whole = np.zeros(users, dtype=bool)
    whole[several[np.linspace(0, len(several) - 1, keep).astype(np.int64)]] = True
    cost, least = columns.cost(answer.price), columns.least(answer.price)
    place = np.modf(GOLDEN * np.arange(1, users + 1))[0]
    start = np.concatenate([[0], np.cumsum(count)])
    kept, tasks = [], []
    for a in range(0, users, USERS):
        b = min(a + USERS, users)
        some = slice(start[a], start[b])
        n, x, worth = owner[some], answer.x[some], columns.worth(held[some])
        part = worth * x / answer.share[n]
        # as `search` has it: what is dearer by a larger part than it is of the share does not stay
        dear = np.maximum(cost[held[some]], 1e-300)
        part = np.where(part > (dear - least[n] * worth) / dear, part, 0.0)
        stays = whole[n] & (part > 0)
        stays[_drawn(part, start[a : b + 1] - start[a], place[a:b])] = True
        at = np.flatnonzero(stays)
        kept.append(held[some][at])
        tasks.append(np.where(whole[n[at]], x[at], answer.share[n[at]] / worth[at]))
    return replace(answer, held=np.concatenate(kept), x=np.concatenate(tasks))


def _drawn(part: Floats, start: Ints, place: Floats) -> Ints:
    """(n,) one column of each user, from start[k] to start[k + 1], as often as it has a part of the
    share; place (n,) in [0, 1)."""
    total = np.concatenate([[0.0], np.cumsum(part)])
    low, high = total[start[:-1]], total[start[1:]]
    # total[at] <= wanted < total[at + 1], so that a column without a part is hardly ever drawn
    at = np.searchsorted(total, low + place * (high - low), side="right") - 1
    found: Ints = np.clip(at, start[:-1], start[1:] - 1)
    return found


__all__ = ["thinned"]
