r"""From an answer to the optimum nearby, to k floats' digits. Nothing that is found is believed.

Unknowns: amounts of the columns held (tasks, and flows between their bounds), prices of full rows,
values v of a unit of share. All conditions but one are linear, and so are known exactly:

    cost_c = u_c v_n of columns held, 0 of flows;  A z = r of full rows;  s_n = S_n or sigma_n, or
    log t_n = (log W_n - log v_n) / alpha.

A Newton step is made by `active`; the point is judged by `bound` after every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairopt import clock
from fairopt.certificates import digits
from fairopt.certificates.active import CHEAPER, ActivePlace, clean, refined, stepped
from fairopt.certificates.bound import Proved, bound, nothing
from fairopt.certificates.by_entries import pieces
from fairopt.certificates.given import Given
from fairopt.certificates.places import Place, PlaceSums, rest, sums
from fairopt.certificates.question import Question
from fairopt.certificates.steps import SPARE
from fairopt.certificates.thinned import thinned
from fairopt.formulas import welfare
from fairopt.instance import Floats, Ints

STEPS, ENOUGH = 14, 5e-13
"""most steps with two floats; a bound that needs no better one"""
KNOWN = 1e-7
"""a bound with which the search is not begun again"""
MANY = 500
"""users from whom columns leave one by one, while nothing is proved that is nearer"""
SETTLING = 8
"""steps for each float of a number until all its digits are there, and steps that bring nothing"""
SAME = 0.5
"""part of a price that another one is at least, to be the same but for rounding"""
ROOMS = 1.0, 1e-9, 1e-14
"""largest part left of a row that is full at the optimum, one after another"""


@dataclass(frozen=True)
class SearchFound:
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
    tries: int = STEPS,
    rooms: tuple[float, ...] = ROOMS,
) -> SearchFound:
    """Newton's method from an answer, while it proves more.

    Parameters
    ----------
    parts : k, the floats of each number. part : of users, rows and flows, see `bound`.
    tries : steps, one after another, that prove nothing and bring no row closer, after which
        nothing is hoped for.
    rooms : with which to begin, one after another.
    """
    best, tried = SearchFound(nothing(question.users), None), set[tuple[int, bytes]]()
    most = STEPS if parts == 2 else STEPS + 4 * parts
    # of many columns few leave in a step: as long as that brings rows closer there may be more
    most = most if tries >= STEPS else 2 * most
    many = question.users > MANY and len(rooms) > 1
    patience = 1 if parts == 2 and question.pulls is None and not many else 3
    with np.errstate(all="ignore"):
        for here, room in _begins(question, answer, parts, rooms):
            point, least, known, error = _begun(question, here, room), np.inf, None, np.inf
            if point is not None:
                begun = len(here.columns), point.full.tobytes()
                if begun in tried:
                    continue  # from the same beginning everything would come again
                tried.add(begun)
            if point is not None and parts > 2:
                place, proved, eps = _settled(question, point, part)
                if place is not None:
                    best = _better(best, proved, place, eps, _worst(proved) < _worst(best.proved))
                    if _worst(best.proved) <= max(KNOWN, enough):
                        break
            stalls, start, held, full = 0, None, 0, np.zeros(0, dtype=bool)
            over, lost = np.inf, 0
            for step in clock.steps(most):
                if point is None:
                    break
                place = clean(question, point)
                whole = place is point.place
                seen = sums(question, place, known, alone=step == 0)
                if step == 0:  # floats are never enough: judged only if nothing better is found
                    start = place, seen
                    if clock.late():
                        break
                    point, known = stepped(question, point, seen if whole else None, True)
                    continue
                fitting, place = _within(question, place, seen)
                proved, eps = bound(question, place, fitting, part)
                worst, last = _worst(proved), least
                least = min(worst, least)
                best = _better(best, proved, place, eps, worst < last)
                # of a user of little money the bound falls slowly until eps is below its money
                stalled, error = eps >= error / 4 and worst >= last / 2, eps
                leaves, held = many and len(place.columns) < held, len(place.columns)
                stalled = stalled and not leaves
                stalls = stalls + 1 if stalled else 0
                if worst <= enough or (np.isfinite(eps) and stalls >= patience):
                    break
                now = _overrun(question, seen) if worst == np.inf else np.inf
                lost, over = (lost + 1, over) if now > over / 2 and now < np.inf else (0, now)
                if lost >= tries:
                    break
                nearing = not (stalls or lost)
                # full rows that stay overrun, the same for some steps, contradict each other
                stuck, full = lost > 3 and np.array_equal(point.full, full), point.full
                point, known = stepped(question, point, seen if whole else None, nearing, stuck)
            if _worst(best.proved) <= max(KNOWN, enough):
                break
            if start is not None:
                fitting, place = _within(question, *start)
                proved, eps = bound(question, place, fitting, part)
                best = _better(best, proved, place, eps, _worst(proved) < least)
            if clock.late():
                break
    return best


def _settled(
    question: Question, point: ActivePlace, part: Ints | None
) -> tuple[Place | None, Proved, float]:
    """The conditions of the first active set alone, to all digits, and what that proves.

    A step adds some digits of a float, or all. Until all are there, prices of rows that only users
    of next to no money pay are noise, whose sign says nothing of who is active.
    """
    parts = len(point.place.price)
    settled, least, since = point, np.inf, 0
    for _ in clock.steps(SETTLING * parts):
        after, off = refined(question, settled)
        if after is None:
            return None, nothing(question.users), np.inf
        since, settled = (0 if off <= SAME * least else since + 1), after
        least = min(least, off)
        if since > SETTLING or least < SPARE[parts]:
            break
    place = clean(question, settled)
    fitting, place = _within(question, place, sums(question, place))
    proved, eps = bound(question, place, fitting, part)
    return place, proved, eps


def _begins(
    question: Question, answer: Given, parts: int, rooms: tuple[float, ...]
) -> Iterator[tuple[Place, float]]:
    """Where to begin: of very many columns on fewer of them, then at the answer with each room."""
    few = thinned(question, answer) if parts == 2 else None
    if few is not None:
        yield place_of(question, few, parts), rooms[0]
    here = place_of(question, answer, parts)
    for room in rooms:
        yield here, room


def _worst(proved: Proved) -> float:
    return float(np.maximum(proved.below, proved.above).max())


def _better(
    best: SearchFound, proved: Proved, place: Place, eps: float, nearer: bool
) -> SearchFound:
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
        return SearchFound(known, place, eps)
    return replace(best, proved=known)


def place_of(question: Question, answer: Given, parts: int = 2) -> Place:
    """The answer as it is, its prices in the unit in which the money of free users is 1."""
    factor, q, unit = values_of(question, answer)
    held, amount = answer.held, answer.x
    if len(answer.y):
        held = np.concatenate([held, question.columns.count + np.arange(len(answer.y))])
        amount = np.concatenate([amount, answer.y])
    return Place(
        held,
        digits.of(amount, parts),
        digits.of(answer.price * factor, parts),
        digits.of(q, parts),
        unit,
    )


def values_of(question: Question, answer: Given) -> tuple[float, Floats, float]:
    """What prices are multiplied by so that the money of free users is 1, (N,) the least that a
    unit of share costs then, and log of that money."""
    q = question.columns.least(answer.price)
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
    return factor, q * factor, unit


def scale(question: Question, answer: Given, log_q: Floats) -> float:
    """log of the scale of prices at which users between their bounds spend what they do; log_q (N,)
    of the cheapest price of a unit of share."""
    share = answer.share
    t = np.maximum(share - question.base, 0.0)
    free = (t > 0) & (share < question.most * (1 - 1e-9)) & (share > question.least * (1 + 1e-9))
    free &= np.isfinite(log_q)
    alpha = question.alpha
    if not free.any():  # everybody is at a bound: prices from which nobody wants more than least
        held = (t > 0) & (share < question.most * (1 - 1e-9)) & np.isfinite(log_q)
        apart = (question.log_w - alpha * np.log(np.where(held, t, 1.0)) - log_q)[held]
        return float(apart.max()) + 1.0 if held.any() else -np.inf
    log_q = log_q[free]
    log_due = question.log_w[free] / alpha + (1 - 1 / alpha) * log_q
    return alpha * (welfare.log_sum_exp(log_due) - welfare.log_sum_exp(log_q + np.log(t[free])))


def _begun(question: Question, place: Place, room: float) -> ActivePlace | None:
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
    part = worth * x / share[n]
    # a task is worth what it costs, or more where a limit stops its user
    log_own = question.log_w - place.log_unit - question.alpha * np.log(share - question.base)
    own_value = np.zeros(len(n))
    if question.bounded:
        own_value = np.where(np.isfinite(question.most), np.exp(log_own), 0.0)[n] * worth
    cost, dear, used, paid = _paid(question, p, held, x, part, own_value)
    pulls = question.pulls
    stays = (part > (cost - q[n] * worth) / dear) | (cost == 0)
    if pulls is not None and (pulls.hard & ~pulls.across).any():
        stays[:] = True  # who is on a server of equal shares stays as long as anybody does
    if not np.bincount(n[stays], minlength=users).all():
        return None
    moves = np.zeros(0, dtype=bool)
    if len(y):
        y, moves, more, paid = _flowing(question, p, y, paid)
        used = used + more
    left = np.abs(question.rhs - used) / question.unit
    full = (p > 0) & (paid > left) & (left <= room)
    if pulls is not None:
        full[pulls.rows] = ~pulls.void(place.log_unit)
    status = _bounds(question, place, share)
    parts = len(place.price)
    value_of = np.where((status == 0) & np.isfinite(log_own), np.exp(log_own), q)
    keep = np.concatenate([stays, np.ones(len(y), bool)])
    at = Place(
        np.concatenate([held, tasks + np.arange(len(y))])[keep],
        digits.of(np.concatenate([x, y])[keep], parts),
        digits.of(np.where(full, p, 0.0), parts),
        digits.of(value_of, parts),
        place.log_unit,
    )
    return ActivePlace(at, np.concatenate([np.ones(int(stays.sum()), bool), moves]), full, status)


def _flowing(question: Question, p: Floats, y: Floats, paid: Floats) -> tuple[Any, ...]:
    """Of flows (F,): where they begin, which of them move, (M,) what they use of rows, and what is
    paid at rows, those that lend included."""
    columns = question.columns
    row, flow, entry = columns.entries(columns.count + np.arange(len(y)))
    drift = -np.bincount(flow, entry * p[row], len(y)) / max(float(p.max(initial=0.0)), 1e-300)
    near = np.where(drift > 0, question.high - y, y - question.low)
    inside = (y > question.low) & (y < question.high)
    moves = np.where(drift == 0, inside, near > np.abs(drift)) | ~question.lent
    end = np.where(drift > 0, question.high, question.low)
    y = np.where(moves | (drift == 0) | ~np.isfinite(end), y, end)
    used = np.bincount(row, entry * y[flow], len(p))
    lends = np.bincount(row, minlength=len(p)) > 0
    money = p * question.unit
    paid = np.where(lends, np.maximum(paid, money / max(float(money.sum()), 1e-300)), paid)
    return y, moves, used, _along_flows(paid, row, flow, np.abs(entry) * p[row])


def _paid(
    question: Question, p: Floats, held: Ints, x: Floats, part: Floats, own_value: Floats
) -> tuple[Floats, ...]:
    """Of tasks held: (C,) what each costs, (C,) what it costs or is paid for, (M,) what they use of
    rows, and (M,) the largest part of a user's money that each row takes."""
    cost = np.empty(len(held))
    dear = cost if question.pulls is None else np.empty(len(held))
    used, paid = np.zeros(len(p)), np.zeros(len(p))
    for a, b, (row, each, entry) in pieces(question.columns, held):
        price = entry * p[row]
        cost[a:b] = np.bincount(each, price, b - a)
        price = np.abs(price)
        if question.pulls is not None:  # of either sign what they cancel to is no measure
            dear[a:b] = np.bincount(each, price, b - a)
        used += np.bincount(row, entry * x[a:b][each], len(p))
        value = np.maximum(dear[a:b], own_value[a:b])
        rate = np.divide(part[a:b], value, out=np.zeros(b - a), where=value > 0)
        np.maximum.at(paid, row, price * rate[each])
    return cost, dear, used, paid


def _along_flows(paid: Floats, row: Ints, flow: Ints, dear: Floats) -> Floats:
    """(M,) what users pay at rows (M,), and so at rows that hold no tasks, but lend to them at the
    same price: the dear (E,) entries of each flow."""
    if not len(row):
        return paid
    top = np.zeros(int(flow.max()) + 1)
    np.maximum.at(top, flow, dear)
    same = (dear > 0) & (dear >= SAME * top[flow])
    row, flow = row[same], flow[same]
    while True:
        most = np.zeros(len(top))
        np.maximum.at(most, flow, paid[row])
        more = paid.copy()
        np.maximum.at(more, row, most[flow])
        if np.array_equal(more, paid):
            return paid
        paid = more


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


def _overrun(question: Question, seen: PlaceSums) -> float:
    """The largest part by which a row may be overrun; 0 where none is."""
    short = np.where(question.rules, seen.rest.left_error - seen.rest.left, 0.0)
    return float((short / question.unit).max(initial=0.0))


def _within(question: Question, place: Place, seen: PlaceSums) -> tuple[PlaceSums, Place]:
    """The place scaled down until no row is overrun, where that is a trifle and nothing else
    stands in its way: no floors, nothing lent."""
    here, over = seen.rest, _overrun(question, seen)
    scales = not question.lent.any() and not (question.least > 0).any()
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


__all__ = ["ENOUGH", "ROOMS", "STEPS", "SearchFound", "place_of", "scale", "search", "values_of"]
