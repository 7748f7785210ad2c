r"""What a class gives up at most when those served before it hold a little more than was thought.

Users m of classes before hold L_m in a question, and are due up to (1 + e_m) L_m. For each of them
a direction z_m of the amounts held is looked for, in which m holds L_m more, every other of them
as much as before, and no full row changes. So for every vector of errors 0 <= delta <= e the point
x + sum delta_m z_m keeps all rules, and pays for what it gives with the tasks that are worth just
what they cost: the welfare of the class falls by what its prices say, and by no more beyond it than

.. math:: \phi = \sum_n m_n \operatorname{loss}\Big( \sum_m e_m |z_{m,n}| \Big),

which is of the square of e. With eps + phi in the place of eps the intervals of `bound` hold of the
optimum beside what those before are truly due (docs/maths/prices.md, "Classes"). Rows that stop
those before count as wider by what these take more of them, as in max-min (`carried`), and so do
rows that nobody of the class uses.
"""

from __future__ import annotations

import numpy as np

from fairopt.certificates.losses import loss_above
from fairopt.certificates.places import Place, rest
from fairopt.certificates.question import NOBODY, Question
from fairopt.instance import Bools, Floats, Ints

FULL = 1e-10
"""part of a row, or of a share, that is left of a full one, or of one at its bound"""
TURNS = 6
"""times that rows which would be overrun are kept as they are"""
MOST_KEPT = 2_500
"""most rows and users that are kept as they are"""
ROUNDING, CLOSE = 2.0**-50, 1e-9
"""what a direction may miss, of a row; and relative to the errors"""
TINY = 1e-13
"""singular values of a smaller part are none"""


def yielded(question: Question, place: Place, error: Floats, wide: Bools) -> float:
    """phi, in the money of the place; inf where no directions are found.

    Parameters
    ----------
    error : (N,) e of those served before, 0 of others. wide : (M,) the rows that stop them.
    """
    first = np.flatnonzero(error > 0)
    if not len(first):
        return 0.0
    if not np.isfinite(error).all():
        return np.inf
    columns, known = question.columns, rest(question, place)
    tasks, users = columns.count, question.users
    task = place.columns < tasks
    owner, worth = columns.owner(place.columns[task]), columns.worth(place.columns[task])
    row, each, entry = columns.entries(place.columns)
    entry = entry / question.unit[row]
    share = known.share
    move, way = _room(question, place, task)
    # each column counts by what it may change, so that the least change is the least part of it
    body = np.zeros((len(question.rhs), len(move)))
    np.add.at(body, (row, each), entry * move[each])
    holds = np.zeros((users, len(move)))
    holds[owner, np.flatnonzero(task)] = worth * move[task] / share[owner]
    before = question.log_w <= NOBODY / 2
    # a row that nobody of the class uses, and that lends nothing, stops those before alone
    used = np.zeros(len(question.rhs), dtype=bool)
    used[row[~task[each]]] = used[row[~before[_owners(owner, task)][each]]] = True
    wide = wide | ~used
    left = np.maximum(known.left, 0.0) / question.unit
    free = np.minimum(known.to_most, known.above_least) / share
    free = np.where(before, 0.0, np.where(np.isfinite(free), np.maximum(free, 0.0), np.inf))
    keep, stay = (left <= FULL) & ~wide, free <= FULL
    for _ in range(TURNS):
        if int(keep.sum() + stay.sum()) > MOST_KEPT:
            return np.inf
        system = np.concatenate([body[keep], holds[stay]])
        wanted = np.zeros((len(system), len(first)))
        at = int(keep.sum()) + np.searchsorted(np.flatnonzero(stay), first)
        wanted[at, np.arange(len(first))] = error[first]
        found = _least(system, wanted)
        missed = np.abs(system @ found - wanted).sum(axis=1).max(initial=0.0)
        missing = max(ROUNDING, CLOSE * float(error.max()))
        if not missed <= missing:
            return np.inf
        size = np.abs(found)
        if not (size.sum(axis=1) <= 1.0).all():  # an amount would fall below 0
            return np.inf
        if (found * way[:, None] < -missing).any():  # out of its bounds
            return np.inf
        over = (np.abs(body @ found).sum(axis=1) > left) & ~keep & ~wide
        changes = np.abs(holds @ found).sum(axis=1)
        beyond = (changes > free) & ~stay
        if not (over.any() or beyond.any()):
            break
        keep, stay = keep | over, stay | beyond
    else:
        return np.inf
    t = share - question.base
    part = np.where(before, 0.0, changes * share / np.where(t > 0, t, 1.0))
    with np.errstate(all="ignore"):
        money = np.exp(question.log_w - place.log_unit + (1 - question.alpha) * np.log(t))
        lost = np.where(part > 0, money * loss_above(part, question.alpha), 0.0)
    return float(lost.sum())


def _owners(owner: Ints, task: Bools) -> Ints:
    """(C,) the user of each column; of flows the first."""
    found = np.zeros(len(task), dtype=np.int64)
    found[task] = owner
    return found


def _room(question: Question, place: Place, task: Bools) -> tuple[Floats, Floats]:
    """(C,) what each amount may fall or rise by; of flows at a bound which cost nothing, the way in
    which they may go: 1, -1; 0 where both."""
    amount = place.amount[0]
    y, price = amount[~task], place.price[0]
    row, each, entry = question.columns.entries(place.columns[~task])
    unit = np.full(len(y), np.inf)
    np.minimum.at(unit, each, question.unit[row])
    drift = np.abs(np.bincount(each, entry * price[row], len(y)))
    up, down = question.high - y, y - question.low
    near = FULL * unit
    found, way = amount.copy(), np.zeros(len(amount))
    way[~task] = np.where(up <= near, -1.0, np.where(down <= near, 1.0, 0.0))
    within = np.where(way[~task] < 0, down, np.where(way[~task] > 0, up, np.minimum(up, down)))
    still = (way[~task] != 0) & (drift > FULL * float(price.max(initial=0.0)))
    found[~task] = np.where(still, 0.0, np.minimum(within, unit))
    return np.maximum(found, 0.0), way


def _least(system: Floats, wanted: Floats) -> Floats:
    """The least (C, K) of which the system is what is wanted."""
    try:
        inner = np.linalg.lstsq(system @ system.T, wanted, rcond=TINY)[0]
    except np.linalg.LinAlgError:
        return np.full((system.shape[1], wanted.shape[1]), np.inf)
    found = system.T @ inner
    # once more, since the square of the system has half of its digits
    again = np.linalg.lstsq(system @ system.T, wanted - system @ found, rcond=TINY)[0]
    return np.asarray(found + system.T @ again)


__all__ = ["yielded"]
