r"""From an answer to the optimum nearby, to k floats' digits. Nothing that is found is believed.

Unknowns: amounts of the columns held (tasks, and flows between their bounds), prices of full rows,
values v of a unit of share. All conditions but one are linear, and so are known exactly:

    cost_c = u_c v_n of columns held, 0 of flows;  A z = r of full rows;  s_n = S_n or sigma_n, or
    log t_n = (log W_n - log v_n) / alpha.

A Newton step is found by `steps`; between steps what is negative leaves, and what is overrun, or
cheaper than what is held, enters. The point is judged by `bound` after every step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt import clock
from fairopt.certificates import digits
from fairopt.certificates.bound import Place, Proved, Rest, Sums, bound, nothing, rest, sums
from fairopt.certificates.given import Given
from fairopt.certificates.question import Question
from fairopt.certificates.steps import SPARE, missing, solved
from fairopt.formulas import welfare
from fairopt.instance import Bools, Floats, Ints

STEPS, ENOUGH = 14, 5e-13
"""most steps with two floats; a bound that needs no better one"""
KNOWN = 1e-7
"""a bound with which the search is not begun again"""
ROOMS = 1.0, 1e-9, 1e-14
"""largest part left of a row that is full at the optimum, one after another"""
STAYS, CHEAPER = 1e-3, 1e-13
"""what is negative by less than this part of a step may be 0 at the end; a column of which the
price is this part below what is held enters"""
FAR = 1e-3
"""part of a share by which a column may shrink in one step before the step is cut"""
EXCESS = 2.0**-98
"""part of a row by which it is overrun that makes it full, with two floats"""


@dataclass(frozen=True)
class Point:
    """A place; which of its columns move (C,), which rows are full (M,), and who is at `most`
    (1), at `least` (-1) or free (0), (N,)."""

    place: Place
    moves: Bools
    full: Bools
    end: Ints


@dataclass(frozen=True)
class Found:
    """What a search proved, at which place, with which eps."""

    proved: Proved
    place: Place | None
    eps: float = np.inf


def search(
    question: Question,
    answer: Given,
    parts: int = 2,
    part: Ints | None = None,
    enough: float = ENOUGH,
) -> Found:
    """Newton's method from an answer, while it proves more.

    Parameters
    ----------
    parts : k, the floats of each number. part : of users, rows and flows, see `bound`.
    """
    best = Found(nothing(question.users), None)
    most = STEPS if parts == 2 else STEPS + 4 * parts
    patience = 1 if parts == 2 and question.pulls is None else 3
    with np.errstate(all="ignore"):
        here = place_of(question, answer, parts)
        for room in ROOMS:
            point, least, known, error = _begun(question, here, room), np.inf, None, np.inf
            stalls, start = 0, None
            for step in clock.steps(most):
                if point is None:
                    break
                place = clean(question, point)
                whole = place is point.place
                seen = sums(question, place, known)
                if step == 0:  # floats are never enough: judged only if nothing better is found
                    start = place, seen
                    point, known = _stepped(question, point, seen if whole else None)
                    continue
                fitting, place = _within(question, place, seen)
                proved, eps = bound(question, place, fitting, part)
                worst, last = _worst(proved), least
                least = min(worst, least)
                best = _better(best, proved, place, eps, worst < last)
                # of a user of little money the bound falls slowly until eps is below its money
                stalled, error = eps >= error / 4 and worst >= last / 2, eps
                stalls = stalls + 1 if stalled else 0
                if worst <= enough or (np.isfinite(eps) and stalls >= patience):
                    break
                point, known = _stepped(question, point, seen if whole else None)
            if _worst(best.proved) <= max(KNOWN, enough):
                break
            if start is not None:
                fitting, place = _within(question, *start)
                proved, eps = bound(question, place, fitting, part)
                best = _better(best, proved, place, eps, _worst(proved) < least)
    return best


def _worst(proved: Proved) -> float:
    return float(np.maximum(proved.below, proved.above).max())


def _better(best: Found, proved: Proved, place: Place, eps: float, nearer: bool) -> Found:
    """Of each user the closer of two proofs; of users that are not proved, the last share."""
    old = best.proved
    width, before = proved.below + proved.above, old.below + old.above
    better = width < before
    known = Proved(
        np.where(better | np.isinf(before), proved.log_share, old.log_share),
        np.where(better, proved.below, old.below),
        np.where(better, proved.above, old.above),
    )
    if better.any() and nearer:
        return Found(known, place, eps)
    return replace(best, proved=known)


def place_of(question: Question, answer: Given, parts: int = 2) -> Place:
    """The answer as it is, its prices in the unit in which the money of free users is 1."""
    columns, tasks = question.columns, question.columns.count
    q = columns.cheapest(columns.cost(answer.price))
    t = np.maximum(answer.share - question.base, 0.0)
    free = (t > 0) & (answer.share < question.most * (1 - 1e-9))
    free = free if free.any() else t > 0
    unit = 0.0
    if free.any():
        unit = welfare.log_sum_exp((question.log_w + (1 - question.alpha) * np.log(t))[free])
    if question.pulls is None:
        factor = float(np.exp(scale(question, answer, np.log(q)) - unit))
    else:  # pulls have a unit of money, and prices have been brought to it
        factor = float(np.exp(answer.log_money - unit))
    held = np.concatenate([answer.held, tasks + np.arange(len(answer.y))])
    amount = np.concatenate([answer.x, answer.y])
    return Place(
        held,
        digits.of(amount, parts),
        digits.of(answer.price * factor, parts),
        digits.of(q * factor, parts),
        unit,
    )


def scale(question: Question, answer: Given, log_q: Floats) -> float:
    """log of the scale of prices at which users between their bounds spend what they do; log_q (N,)
    of the cheapest price of a unit of share."""
    share = answer.share
    t = np.maximum(share - question.base, 0.0)
    free = (t > 0) & (share < question.most * (1 - 1e-9)) & (share > question.least * (1 + 1e-9))
    free &= np.isfinite(log_q)
    if not free.any():
        return -np.inf  # everybody is at a bound, whatever the prices are
    alpha, log_q = question.alpha, log_q[free]
    log_due = question.log_w[free] / alpha + (1 - 1 / alpha) * log_q
    return alpha * (welfare.log_sum_exp(log_due) - welfare.log_sum_exp(log_q + np.log(t[free])))


def _begun(question: Question, place: Place, room: float) -> Point | None:
    """Which columns, rows and bounds count: where the part held (of money, of the row) is larger
    than the part by which the price is above the cheapest (by which the row is not full, and that
    at most `room`)."""
    columns, tasks = question.columns, question.columns.count
    p, q, users = place.price[0], place.value[0], question.users
    own = place.columns < tasks
    held, x = place.columns[own], place.amount[0][own]
    n, worth = columns.owner(held), columns.worth(held)
    share = np.asarray(np.bincount(n, worth * x, users), dtype=np.float64)
    if not ((share > 0).all() and np.isfinite(p).all() and np.isfinite(q).all()):
        return None
    y = place.amount[0][~own]
    every = np.concatenate([held, tasks + np.arange(len(y))])
    row, each, entry = columns.entries(every)
    cost = np.bincount(each, entry * p[row], len(every))
    drift = -cost[len(held) :] / max(float(p.max(initial=0.0)), 1e-300)
    cost = cost[: len(held)]
    part = worth * x / share[n]
    # of prices and pulls of either sign what they cancel to is no measure of what they are
    pulls = question.pulls
    dear = cost
    if pulls is not None:
        dear = np.bincount(each, np.abs(entry * p[row]), len(every))[: len(held)]
    stays = (part > (cost - q[n] * worth) / dear) | (cost == 0)
    if pulls is not None and (pulls.hard & ~pulls.across).any():
        stays[:] = True  # who is on a server of equal shares stays as long as anybody does
    if not (np.bincount(n[stays], minlength=users) > 0).all():
        return None
    near = np.where(drift > 0, question.high - y, y - question.low)
    inside = (y > question.low) & (y < question.high)
    moves = np.where(drift == 0, inside, near > np.abs(drift)) | (question.pulls is not None)
    end = np.where(drift > 0, question.high, question.low)
    y = np.where(moves | (drift == 0) | ~np.isfinite(end), y, end)
    # what is left of rows, and the largest part of a user's money that each row takes
    used = np.bincount(row, entry * np.concatenate([x, y])[each], len(p))
    left = np.abs(question.rhs - used) / question.unit
    task = each < len(held)
    flows = np.bincount(row[~task], minlength=len(p)) > 0
    money = p * question.unit
    paid = np.where(flows, money / max(float(money.sum()), 1e-300), 0.0)
    # a task is worth what it costs, or more where a limit stops its user
    log_own = question.log_w - place.log_unit - question.alpha * np.log(share - question.base)
    own_value = np.where(np.isfinite(question.most), np.exp(log_own), 0.0)
    c = each[task]
    value = np.maximum(dear, own_value[n] * worth)[c]
    np.maximum.at(
        paid,
        row[task],
        np.where(value > 0, np.abs(entry[task]) * p[row[task]] / value, 0.0) * part[c],
    )
    full = (p > 0) & (paid > left) & (left <= room)
    if pulls is not None:
        full[pulls.rows] = ~pulls.void(place.log_unit)
    status = _bounds(question, place, share)
    parts = len(place.price)
    value_of = np.where((status == 0) & np.isfinite(log_own), np.exp(log_own), q)
    keep = np.concatenate([stays, np.ones(len(y), bool)])
    at = Place(
        every[keep],
        digits.of(np.concatenate([x, y])[keep], parts),
        digits.of(np.where(full, p, 0.0), parts),
        digits.of(value_of, parts),
        place.log_unit,
    )
    return Point(at, np.concatenate([np.ones(int(stays.sum()), bool), moves]), full, status)


def _bounds(question: Question, place: Place, share: Floats) -> Ints:
    """(N,) 1 at `most`, -1 at `least`, 0 between: where the part of its marginal value that is not
    its price is larger than the part of the share that is missing."""
    status = np.zeros(question.users, dtype=np.int64)
    if question.bounded:
        _, apart = question.log_best(np.log(place.value[0]), place.log_unit)
        status[(apart > 0) & (apart > 1 - share / question.most)] = 1
        status[(apart < 0) & (-apart > share / question.least - 1)] = -1
        status[question.least >= question.most] = -1
    return status


def clean(question: Question, point: Point) -> Place:
    """The place with 0 for what is negative; itself where nothing is."""
    place = point.place
    task = place.columns < question.columns.count
    rule = question.rules
    if (place.price[0] >= 0)[rule].all() and (place.amount[0][task] >= 0).all():
        return place
    amount = np.where(task & (place.amount[0] <= 0), 0.0, place.amount)
    price = np.where(rule & (place.price[0] <= 0), 0.0, place.price)
    return replace(place, amount=amount, price=price)


def _within(question: Question, place: Place, seen: Sums) -> tuple[Sums, Place]:
    """The place scaled down until no row is overrun, where that is a trifle and nothing else
    stands in its way: no floors, nothing lent."""
    here = seen.rest
    short = np.where(question.rules, here.left_error - here.left, 0.0)
    over = float((short / question.unit).max(initial=0.0))
    lent = question.pulls is None and len(question.low) > 0
    scales = not lent and not (question.least > 0).any()
    if not (0 < over < CHEAPER and scales):
        return seen, place
    amount = digits.plus(place.amount, -4 * over * place.amount[0])
    place = replace(place, amount=amount)
    if question.bounded or len(amount) > 2:
        return replace(seen, rest=rest(question, place)), place
    # every row by as much, but for the rounding of what is taken off and of the amounts
    used = question.rhs - here.left
    error = here.left_error + (2.0**-49 * over + 2.0**-102) * (np.abs(used) + question.unit)
    left = here.left + 4 * over * used
    known = replace(here, left=left, left_error=error, share=here.share * (1 - 4 * over))
    return replace(seen, rest=known), place


def _stepped(
    question: Question, point: Point, seen: Sums | None
) -> tuple[Point | None, Rest | None]:
    """One Newton step, then the active set corrected (None if it cannot be made), and the rest of
    what is clean of it."""
    place, tasks, columns = point.place, question.columns.count, question.columns
    seen = sums(question, place) if seen is None else seen
    wanted = missing(question, place, seen, point.moves, point.full, point.end)
    step = None if wanted is None else solved(wanted, len(place.value))
    if step is None:
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
    return _changed(question, point, move, more * length, dearer * length, value * length)


def _changed(
    question: Question, point: Point, move: Ints, more: Floats, dearer: Floats, value: Floats
) -> tuple[Point | None, Rest | None]:
    """What turned negative leaves, what overruns or is cheaper enters; so with bounds."""
    place, tasks = point.place, question.columns.count
    moved = np.zeros(len(place.columns))
    moved[move] = more
    amount, price = digits.plus(place.amount, moved), digits.plus(place.price, dearer)
    values = digits.plus(place.value, value)
    keep = (place.columns >= tasks) | (amount[0] > -STAYS * np.abs(moved))
    columns, moves, amount = place.columns[keep], point.moves[keep], amount[:, keep]
    flow = columns >= tasks
    moves, amount = _flows_kept(question, columns, moves, amount, flow)
    owner = question.columns.owner(columns[~flow])
    if not (np.bincount(owner, minlength=question.users) > 0).all():
        return None, None
    full = point.full & ((price[0] >= -STAYS * np.abs(dearer)) | ~question.rules)
    price = np.where(full, price, 0.0)
    if not (values[0][point.end == 0] > 0).all():
        return None, None
    at = Place(columns, amount, price, values, place.log_unit)
    tidy = clean(question, Point(at, moves, full, point.end))
    known = rest(question, tidy)
    overrun = EXCESS if len(values) == 2 else SPARE[len(values)]
    full = full | ((known.left < -overrun * question.unit) & question.rules)
    cost = question.columns.cost(tidy.price[0])
    if (point.end == 1).any():  # who pays nothing where it is stopped by its limit alone: no noise
        free = (point.end == 1) & (question.columns.cheapest(cost) == 0)
        values = np.where(free, 0.0, values)
        tidy = replace(tidy, value=values)
    end = _ends(question, tidy, known, point.end, place.log_unit)
    cheap = question.columns.below(cost, values[0] * (1 - CHEAPER))
    held = np.zeros(tasks, dtype=bool)
    held[columns[~flow]] = True
    new = cheap[~held[cheap]]
    if flow.any():
        moves = _flows_freed(question, tidy, moves, flow)
    if len(new):
        columns = np.concatenate([columns, new])
        order = np.argsort(columns, kind="stable")
        empty = np.zeros((len(amount), len(new)))
        amount = np.concatenate([amount, empty], axis=1)[:, order]
        moves = np.concatenate([moves, np.ones(len(new), bool)])[order]
        columns = columns[order]
    found = Point(Place(columns, amount, price, values, place.log_unit), moves, full, end)
    return found, known


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


def _ends(question: Question, place: Place, known: Rest, end: Ints, log_unit: float) -> Ints:
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


__all__ = ["ENOUGH", "Found", "place_of", "scale", "search"]
