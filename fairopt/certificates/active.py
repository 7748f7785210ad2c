"""One Newton step of a search, and what counts after it: what is negative leaves, and before the
next step what is overrun, or cheaper than what is held, enters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt.certificates import digits
from fairopt.certificates.places import Place, PlaceRest, PlaceSums, first_sums, sums
from fairopt.certificates.question import Question
from fairopt.certificates.steps import SPARE, missing, solved
from fairopt.instance import Bools, Floats, Ints

STAYS, CHEAPER = 1e-3, 1e-13
"""what is negative by less than this part of a step may be 0 at the end; a column of which the
price is this part below what is held enters"""
FAR = 1e-3
"""part of a share by which a column may shrink in one step before the step is cut"""
LITTLE = 1e-5
"""part of a share below which a column that shrinks by so much leaves where a step is cut"""
IDLE = 1e-6
"""what costs and shares miss, as a part of how prices change: then it is not for them"""
EXCESS = 2.0**-98
"""part of a row by which it is overrun that makes it full, with two floats"""


@dataclass(frozen=True)
class ActivePlace:
    """A place; which of its columns move (C,), which rows are full (M,), and who is at `most`
    (1), at `least` (-1) or free (0), (N,)."""

    place: Place
    moves: Bools
    full: Bools
    end: Ints


def clean(question: Question, point: ActivePlace) -> Place:
    """The place with 0 for what is negative; itself where nothing is."""
    place = point.place
    task = place.columns < question.columns.count
    rule = question.rules
    if (place.price[0] >= 0)[rule].all() and (place.amount[0][task] >= 0).all():
        return place
    amount = np.where(task & (place.amount[0] <= 0), 0.0, place.amount)
    price = np.where(rule & (place.price[0] <= 0), 0.0, place.price)
    return replace(place, amount=amount, price=price)


def stepped(
    question: Question,
    point: ActivePlace,
    seen: PlaceSums | None,
    nearing: bool = False,
    stuck: bool = False,
) -> tuple[ActivePlace | None, PlaceSums | None]:
    """One Newton step without what turned negative (None if it cannot be made), and the first sums
    of what is clean of it; what must count from there on is said by `entered`. `nearing`: see
    `solved`. `stuck`: rows stay overrun, as full ones contradict each other; what prices still
    change by is how their money may be divided, and the first of which nothing is left leaves."""
    place, tasks, columns = point.place, question.columns.count, question.columns
    seen = sums(question, place, alone=True) if seen is None else seen
    wanted = missing(question, place, seen, point.moves, point.full, point.end)
    step = None if wanted is None else solved(wanted, len(place.value), nearing)
    if wanted is None or step is None:
        return None, None
    more, dearer, value = step
    move = np.flatnonzero(point.moves)
    held = place.columns[move]
    task = held < tasks
    here = place.amount[0][move]
    whole = np.ones(len(move))
    n = columns.owner(held[task])
    whole[task] = seen.rest.share[n] / columns.worth(held[task])
    far = task & (more < -FAR * whole) & (here > 0)
    length = float(min(1.0, (here[far] / -more[far]).min())) if far.any() else 1.0
    # a step is cut by one column; others that would soon cut the next ones leave beside it
    leaves = far & (here < LITTLE * whole) if length < 1 else np.zeros(len(move), dtype=bool)
    if stuck:
        open_ = max(float(np.abs(part).max(initial=0.0)) for part in (wanted.error, wanted.miss))
        idle = open_ < IDLE * float(np.abs(dearer[wanted.rows] * wanted.norm).max(initial=0.0))
        falls = point.full & question.rules & (dearer < 0) & (place.price[0] > 0)
        if idle and falls.any():
            dearer = dearer * max(1.0, float((place.price[0][falls] / -dearer[falls]).min()))
    moved = np.where(leaves, -2 * here, more * length)
    return _changed(question, point, move, moved, dearer * length, value * length)


def refined(question: Question, point: ActivePlace) -> tuple[ActivePlace | None, float]:
    """One whole Newton step that leaves the active set as it is (None if it cannot be made), and
    the largest condition that was missing before it."""
    place = point.place
    seen = sums(question, place, alone=True)
    wanted = missing(question, place, seen, point.moves, point.full, point.end)
    step = None if wanted is None else solved(wanted, len(place.value), False)
    if wanted is None or step is None:
        return None, np.inf
    off = max(
        float(np.abs(each).max(initial=0.0)) for each in (wanted.error, wanted.left, wanted.miss)
    )
    more, dearer, value = step
    moved = np.zeros(len(place.columns))
    moved[point.moves] = more
    at = replace(
        place,
        amount=digits.plus(place.amount, moved),
        price=digits.plus(place.price, dearer),
        value=digits.plus(place.value, value),
    )
    return replace(point, place=at), off


def _changed(
    question: Question, point: ActivePlace, move: Ints, more: Floats, dearer: Floats, value: Floats
) -> tuple[ActivePlace | None, PlaceSums | None]:
    """The point moved, without what turned negative."""
    place, tasks = point.place, question.columns.count
    moved = np.zeros(len(place.columns))
    moved[move] = more
    held, paid = len(moved), len(moved) + len(dearer)
    after = digits.plus(
        np.concatenate([place.amount, place.price, place.value], axis=1),
        np.concatenate([moved, dearer, value]),
    )
    amount, price, values = after[:, :held], after[:, held:paid], after[:, paid:]
    columns, moves = place.columns, point.moves
    keep = (columns >= tasks) | (amount[0] > -STAYS * np.abs(moved))
    if not keep.all():
        columns, moves, amount = columns[keep], moves[keep], amount[:, keep]
    flow = columns >= tasks
    moves, amount = _flows_kept(question, columns, moves, amount, flow)
    held_tasks = columns[~flow]
    owner = question.columns.owner(held_tasks)
    if not np.bincount(owner, minlength=question.users).all():
        return None, None
    full = point.full & ((price[0] >= -STAYS * np.abs(dearer)) | ~question.rules)
    price = np.where(full, price, 0.0)
    free = values[0][point.end == 0] if question.bounded else values[0]
    if not (free > 0).all():
        return None, None
    at = Place(columns, amount, price, values, place.log_unit)
    tidy = clean(question, ActivePlace(at, moves, full, point.end))
    if (
        question.bounded and (point.end == 1).any()
    ):  # who pays nothing where it is stopped by its limit alone: no noise
        free = (point.end == 1) & (question.columns.least(tidy.price[0]) == 0)
        values = np.where(free, 0.0, values)
        tidy = replace(tidy, value=values)
    found = ActivePlace(replace(at, value=values), moves, full, point.end)
    return found, first_sums(question, tidy)


def entered(
    question: Question, point: ActivePlace, clean_of: Place, seen: PlaceRest
) -> ActivePlace:
    """The point, where what is overrun or cheaper counts as well; so with bounds. `clean_of`: what
    is clean of it, and `seen` is left there."""
    place, moves, tasks = point.place, point.moves, question.columns.count
    columns, amount, parts = place.columns, place.amount, len(place.value)
    overrun = EXCESS if parts == 2 else SPARE[parts]
    full = point.full | ((seen.left < -overrun * question.unit) & question.rules)
    end = _ends(question, clean_of, seen, point.end, place.log_unit)
    cheap = question.columns.within(clean_of.price[0], place.value[0] * (1 - CHEAPER))
    on = np.zeros(tasks, dtype=bool)
    flow = columns >= tasks
    on[columns[~flow]] = True
    new = cheap[~on[cheap]]
    if flow.any():
        moves = _flows_freed(question, clean_of, moves, flow)
    if len(new):
        columns = np.concatenate([columns, new])
        order = np.argsort(columns, kind="stable")
        empty = np.zeros((len(amount), len(new)))
        amount = np.concatenate([amount, empty], axis=1)[:, order]
        moves = np.concatenate([moves, np.ones(len(new), bool)])[order]
        place = replace(place, columns=columns[order], amount=amount)
    return ActivePlace(place, moves, full, end)


def _flows_kept(
    question: Question, columns: Ints, moves: Bools, amount: Floats, flow: Bools
) -> tuple[Bools, Floats]:
    """Flows beyond their bounds stay at them."""
    if not flow.any():
        return moves, amount
    k = columns[flow] - question.columns.count
    y = amount[0][flow]
    out = (y < question.low[k]) | (y > question.high[k])
    at = np.flatnonzero(flow)[out]
    amount = amount.copy()
    amount[:, at] = 0.0
    amount[0][at] = np.clip(y, question.low[k], question.high[k])[out]
    moves = moves.copy()
    moves[at] = False
    return moves, amount


def _flows_freed(question: Question, place: Place, moves: Bools, flow: Bools) -> Bools:
    """Flows at a bound from which prices would move them inwards move again."""
    at = np.flatnonzero(flow)
    row, each, entry = question.columns.entries(place.columns[at])
    price, y = place.price[0], place.amount[0][at]
    drift = -np.bincount(each, entry * price[row], len(at)) / max(float(price.max()), 1e-300)
    inward = ((y <= question.low) & (drift > CHEAPER)) | ((y >= question.high) & (drift < -CHEAPER))
    inward |= (y > question.low) & (y < question.high)
    moves = moves.copy()
    moves[at[inward]] = True
    return moves


def _ends(question: Question, place: Place, known: PlaceRest, end: Ints, log_unit: float) -> Ints:
    """Who is at a bound after a step: who would not want to be there leaves it, who is beyond one
    comes to it."""
    if not question.bounded:
        return end
    end = end.copy()
    log_w, log_v = question.log_w - log_unit, np.log(place.value[0])
    at_most, at_least = (
        log_w - question.alpha * np.log(bound_ - question.base)
        for bound_ in (question.most, question.least)
    )
    end[(end == 1) & (log_v > at_most + 1e-12)] = 0
    fixed = question.least >= question.most
    end[(end == -1) & (log_v < at_least - 1e-12) & ~fixed] = 0
    end[(end == 0) & (known.to_most < -1e-14 * question.most)] = 1
    low = (question.least > 0) & (known.above_least < -1e-14 * question.least)
    end[(end == 0) & low] = -1
    return end
