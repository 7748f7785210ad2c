r"""From an answer to the optimum nearby, to k floats' digits. No point that is found is believed.

Unknowns: amounts of the columns held (tasks, and flows between their bounds), prices of full rows,
values v of a unit of share. All conditions but one are linear, and so are known exactly:

    cost_c = u_c v_n of columns held, 0 of flows;  A z = r of full rows;  s_n = S_n or sigma_n, or
    log t_n = (log W_n - log v_n) / alpha.

A Newton step is made by `active`; the point is judged by `bound` after every step. Believed is, of
this file: `_better`, which joins what `bound` proved at several points; `_within`, which changes a
point and its sums alike; and that the sums handed to `bound` are those of the point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fairopt import clock
from fairopt.certificates import bound_loop, digits, near_loop
from fairopt.certificates.active import CHEAPER, ActivePlace, clean, entered, refined, stepped
from fairopt.certificates.begun import begun, place_of
from fairopt.certificates.bound import Proved, bound, nothing
from fairopt.certificates.given import Given
from fairopt.certificates.places import Place, PlaceSums, rest, sums
from fairopt.certificates.question import Question
from fairopt.certificates.steps import SPARE
from fairopt.certificates.thinned import thinned
from fairopt.instance import Ints

STEPS, ENOUGH = 14, 5e-13
"""most steps with two floats; a bound that needs no better one"""
KNOWN = 1e-7
"""a bound with which the search is not begun again"""
FEWER = 3
"""steps that bring no row closer, on fewer columns than an answer has"""
MANY_USERS = 500
"""users from whom columns leave one by one, while nothing is proved that is nearer"""
SETTLING = 8
"""steps for each float of a number until all its digits are there, and steps that bring nothing"""
GAIN, SLOW = 1e3, 2
"""the factor by which a step of MANY_USERS brings the conditions nearer at the least; steps that
bring less"""
ROOMS = 1.0, 1e-9, 1e-14
"""largest part left of a row that is full at the optimum, one after another"""


@dataclass(frozen=True)
class SearchFound:
    """What a search proved, at which place, with which eps; `later` makes a place that was not
    kept."""

    proved: Proved
    place: Place | None
    eps: float = np.inf
    later: Callable[[], Place] | None = None

    def at(self) -> Place | None:
        """The place; None if there is none."""
        return self.place if self.later is None else self.later()


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
    many = question.users > MANY_USERS and len(rooms) > 1
    patience = 1 if parts == 2 and question.pulls is None and not many else 3
    with np.errstate(all="ignore"):
        for given, room, hopes, compiled in _begins(question, answer, parts, rooms, tries):
            least, known, error = np.inf, None, np.inf
            if compiled:
                point = near_loop.near(question, given, room)
                if point is None:
                    continue
                at_once = bound_loop.proved(question, point.place)
                if at_once is not None and _worst(at_once[0]) <= enough:
                    return SearchFound(*at_once)
            else:
                point = begun(question, place_of(question, given, parts), room)
            if point is not None and not compiled:
                first = len(given.held) + len(given.y), point.full.tobytes()
                if first in tried:
                    continue  # from the same beginning everything would come again
                tried.add(first)
                if parts > 2:
                    place, proved, eps = _settled(question, point, part)
                    nearer = _worst(proved) < _worst(best.proved)
                    best = best if place is None else _better(best, proved, place, eps, nearer)
                    if _worst(best.proved) <= max(KNOWN, enough):
                        break
            stalls, start, held, full = 0, None, 0, np.zeros(0, dtype=bool)
            over, lost = np.inf, 0
            for step in clock.steps(most):
                if point is None:
                    break
                place = clean(question, point)
                whole, begins = place is point.place, step == 0 and not compiled
                seen = sums(question, place, known, alone=begins)
                if begins:  # floats are never enough: judged only if nothing better is found
                    start = place, seen
                    if clock.late():
                        break
                    point, known = stepped(question, point, seen if whole else None, True)
                    if many and point is not None and known is not None:
                        point = entered(question, point, clean(question, point), known.rest)
                    continue
                fitting, fits = _within(question, place, seen)
                proved, eps = bound(question, fits, fitting, part)
                worst, last = _worst(proved), least
                least = min(worst, least)
                best = _better(best, proved, fits, eps, worst < last)
                # of a user of little money the bound falls slowly until eps is below its money
                stalled, error = eps >= error / 4 and worst >= last / 2, eps
                leaves, held = many and len(place.columns) < held, len(place.columns)
                stalled = stalled and not leaves
                stalls = stalls + 1 if stalled else 0
                if worst <= enough or (np.isfinite(eps) and stalls >= patience):
                    break
                now = _overrun(question, seen) if worst == np.inf else np.inf
                lost, over = (lost + 1, over) if now > over / 2 and now < np.inf else (0, now)
                if lost >= hopes:
                    break
                nearing, columns = not (stalls or lost), len(point.place.columns)
                point = entered(question, point, place, seen.rest)
                whole = whole and len(point.place.columns) == columns
                # full rows that stay overrun, the same for some steps, contradict each other
                stuck, full = lost > 3 and np.array_equal(point.full, full), point.full
                point, known = stepped(question, point, seen if whole else None, nearing, stuck)
                if many and point is not None and known is not None:
                    point = entered(question, point, clean(question, point), known.rest)
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
    # of many users digit by digit takes long: then the active set is not that of the optimum
    gains, most = (1 / GAIN, SLOW) if question.users > MANY_USERS else (0.5, SETTLING)
    for _ in clock.steps(SETTLING * parts):
        after, off = refined(question, settled)
        if after is None:
            return None, nothing(question.users), np.inf
        since, settled = (0 if off <= least * gains else since + 1), after
        least = min(least, off)
        if since > most or least < SPARE[parts]:
            break
    place = clean(question, settled)
    fitting, place = _within(question, place, sums(question, place))
    proved, eps = bound(question, place, fitting, part)
    return place, proved, eps


def _begins(
    question: Question, answer: Given, parts: int, rooms: tuple[float, ...], tries: int
) -> Iterator[tuple[Given, float, int, bool]]:
    """Where to begin, with which room, for how many steps that bring nothing, and whether the first
    step is compiled: of very many columns on fewer of them, then at the answer with each room."""
    if parts == 2 and near_loop.applies(question, answer):
        yield answer, rooms[0], tries, True
    few = thinned(question, answer) if parts == 2 else None
    if few is not None:
        yield few, rooms[0], min(tries, FEWER), False
    for room in rooms:
        yield answer, room, tries, False


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
    # every row by as much, but for the rounding of what is taken off and of the amounts; of what
    # servers do not have, and nobody uses, nothing is rounded
    used = question.rhs - here.left
    some = (used != 0) | (here.left_error > 0)
    rounded = (2.0**-49 * over + 2.0**-102) * (np.abs(used) + question.unit)
    error = here.left_error + np.where(some, rounded, 0.0)
    left = here.left + 4 * over * used
    known = replace(here, left=left, left_error=error, share=here.share * (1 - 4 * over))
    return replace(seen, rest=known), place


__all__ = ["ENOUGH", "ROOMS", "STEPS", "SearchFound", "search"]
