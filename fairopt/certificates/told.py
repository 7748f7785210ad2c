"""What searches from an answer tell of it: how far each user's share is from every optimum's.

One search first. If it proves too little and the cluster has parts that share no rule, those that
are not known yet are searched together, with sums of their own, then by halves, at last one by one;
a part that is left is searched with more digits, then from what users of next to no money could
have, and from other prices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fairopt import clock
from fairopt.certificates import parts
from fairopt.certificates.begun import as_it_is, place_of
from fairopt.certificates.bound import Proved
from fairopt.certificates.given import Given
from fairopt.certificates.in_passes import in_passes
from fairopt.certificates.lighter import lighter, log_spent
from fairopt.certificates.one_price import at_one_price
from fairopt.certificates.places import ROUND, Place
from fairopt.certificates.pooled import pooled
from fairopt.certificates.question import Question
from fairopt.certificates.search import ENOUGH, ROOMS, STEPS, SearchFound, search
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.instance import Bools, Floats, Ints

HOPELESS = 8
"""steps of a search of more than FEW_USERS that bring nothing nearer, after which it is ended"""
SOON = 3
"""the same of a search that is given up soon"""
FEW_USERS, MORE, MOST_BOUNDED = 500, 3_000, 100_000
"""users and rows up to which other prices are tried; up to which more than two floats are; the same
where two floats prove something of everybody"""
CLOSE = ((50_000, 2e-7), (0, 1e-8))
"""bounds that are enough of more users than FEW_USERS, by the least number of users"""
MOST_PARTS = 16
"""floats of a number at most: with more, money would underflow"""
SOME = 4
"""floats at most of more users and rows than FEW_USERS"""
CLEAR = 1.01
"""what a share is off by at most, in what it is off by at least, that needs no other search"""
SINGLY = 8
"""parts up to which each is searched alone at once"""
LIGHTEST = 600.0
"""money of a part is told as at most exp of this less than that of the heaviest"""

Guess = Callable[[Ints | None], Given]
"""the answer with prices guessed from its tasks alone, those of each part by themselves"""


@dataclass(frozen=True)
class Told:
    """What a search found; how far each share (N,) may be, and is at least, off."""

    found: SearchFound
    off: Floats
    surely: Floats

    @property
    def known(self) -> bool:
        """Whether nothing is gained by another search: all are near, or one is off, and by how
        much."""
        return bool(self.off.max() <= max(TOLERANCE, CLEAR * self.surely.max()))


def told(
    question: Question,
    answer: Given,
    guess: Guess,
    first: Told | None = None,
    gap: float = TOLERANCE,
) -> Told:
    """What is told of an answer; `first`: what one search told, if known; `gap`: as `searched`."""
    first = searched(question, answer, gap=gap) if first is None else first
    if first.off.max() <= TOLERANCE or clock.over():
        return first
    label = parts.labels(question) if question.pulls is None else None
    if label is None:
        return _alone(question, answer, lambda: guess(None), first)
    return _apart(question, answer, guess, label, first)


def few(question: Question) -> bool:
    """Whether other prices are tried, and as many floats as are needed."""
    return _size(question) <= FEW_USERS


def _size(question: Question) -> int:
    own = 0 if question.pulls is None else len(question.pulls.rows)
    return question.users + len(question.rhs) - own


def _alone(question: Question, answer: Given, guess: Callable[[], Given], first: Told) -> Told:
    """What is told of one part: with more digits, then from other prices."""
    best = _more(question, answer, answer, first)
    if few(question):
        begins = partial(lighter, question, answer, best.off), partial(_at_prices, question, answer)
        for begin in (*begins, guess):
            # one who is off is told by how much
            if best.known:
                break
            start = begin()
            if start is answer:
                continue
            again = _more(question, start, answer, searched(question, start, answer))
            if again.off.max() < best.off.max():
                best = again
    return best


def searched(
    question: Question,
    answer: Given,
    judged: Given | None = None,
    floats: int = 2,
    label: Ints | None = None,
    brief: bool = False,
    within: float = np.inf,
    gap: float = TOLERANCE,
) -> Told:
    """What one search from an answer tells of the answer that is judged (the same, if it is not
    given); `brief`: given up as soon as nothing gets nearer; `within`: a bound that is wanted;
    `gap`: what shares may be off, for which less is proved of very many users."""
    enough, tries = ENOUGH, STEPS
    if not few(question):
        close = next(near for users, near in CLOSE if question.users >= users)
        enough, tries = min(close, within, gap), HOPELESS
    with np.errstate(all="ignore"):
        if brief:
            tries = SOON
        rooms = ROOMS[:1] if brief else ROOMS
        found = None
        if floats == 2 and label is None and not few(question):
            found = at_one_price(question, answer, enough)
            if found is None:
                base = answer if judged is None else judged
                seen = _in_passes(question, answer, base, enough, gap)
                if seen is not None:
                    return seen
                found = pooled(question, answer, enough)
        if found is None:
            found = search(question, answer, floats, label, enough, tries, rooms)
        return of(question, answer if judged is None else judged, found)


def _in_passes(
    question: Question, answer: Given, judged: Given, enough: float, gap: float
) -> Told | None:
    """What passes tell, less than a search does, where no share is off by more than is asked."""
    found = in_passes(question, answer, max(enough, gap / 2))
    if found is None:
        return None
    seen = of(question, judged, found)
    worst = float(np.maximum(found.proved.below, found.proved.above).max())
    return seen if seen.off.max() <= gap or (worst <= enough and gap >= TOLERANCE) else None


def of(question: Question, judged: Given, found: SearchFound) -> Told:
    """What a search has found tells of an answer."""
    log_share, floor = logs(question, judged)
    return Told(found, *off(found.proved, log_share, floor))


def _more(question: Question, answer: Given, judged: Given, first: Told) -> Told:
    """The same with as many floats as the lightest user needs; and whatever the prices prove."""
    if not first.off.max() <= TOLERANCE and not first.surely.max() > TOLERANCE:
        floats = _digits(question, answer)
        most = MOST_PARTS if few(question) else SOME
        many = MOST_BOUNDED if np.isfinite(first.off).all() else MORE
        if _size(question) <= many and 2 < floats <= most:
            first = _closer(question, judged, first, searched(question, answer, judged, floats))
    if not np.isfinite(first.off).all():
        with np.errstate(all="ignore"):
            rough = SearchFound(as_it_is(question, answer), None)
        first = _closer(question, judged, first, Told(rough, first.off, first.surely))
    return first


def _closer(question: Question, judged: Given, a: Told, b: Told) -> Told:
    """Of each user the closer of two proofs."""
    mine, theirs = a.found.proved, b.found.proved
    better = theirs.below + theirs.above < mine.below + mine.above
    both = Proved(*(np.where(better, new, old) for new, old in zip(theirs, mine, strict=True)))
    at = b.found if b.found.place is not None else a.found
    return of(question, judged, SearchFound(both, at.place, at.eps))


def _apart(question: Question, answer: Given, guess: Guess, label: Ints, first: Told) -> Told:
    """What is told of parts that share no rule; `first`: of all together."""
    guessed: list[Given] = []

    def start(part: parts.QuestionPart) -> Given:
        if not few(question):
            return part.given(answer)
        guessed[:] = guessed or [guess(label)]
        return part.given(guessed[0])

    own = label[: question.users]
    names = _open(own, first)
    if not len(names):
        return first
    with np.errstate(all="ignore"):
        log_money = np.nan_to_num(log_spent(question, answer), nan=-np.inf)
    # parts of about as much money together
    queue = [names[np.argsort(_largest(own, names, log_money), kind="stable")]]
    done: list[tuple[parts.QuestionPart, Told]] = []
    while queue:
        some = queue.pop()
        if 1 < len(some) <= SINGLY:
            queue += np.split(some, len(some))
        elif len(some):
            part = parts.part(question, label, some)
            here = part.given(answer)
            if len(some) == 1:
                seen = searched(part.question, here)
                seen = _alone(part.question, here, partial(start, part), seen)
            else:
                seen = searched(part.question, here, label=part.label)
                names = some[np.isin(some, _open(own[part.users], seen))]
                queue += np.array_split(names, 2)
            done.append((part, seen))
    return _joined(question, answer, label, first, done)


def _open(label: Ints, seen: Told) -> Ints:
    """The parts, by their users' labels (n,), of which a search may tell more."""
    names = np.unique(label)
    off, surely = (_largest(label, names, each) for each in (seen.off, seen.surely))
    return names[~(off <= np.maximum(TOLERANCE, CLEAR * surely))]


def _largest(label: Ints, names: Ints, number: Floats) -> Floats:
    """The largest number of the users of each name; `names` in order."""
    found = np.full(len(names) + 1, -np.inf)
    at = np.minimum(np.searchsorted(names, label), len(names) - 1)
    np.maximum.at(found, np.where(names[at] == label, at, len(names)), number)
    return found[:-1]


def _joined(
    question: Question,
    answer: Given,
    label: Ints,
    first: Told,
    done: list[tuple[parts.QuestionPart, Told]],
) -> Told:
    """Of each user the closest proof, of each part the last place found, of one float each: in the
    same money where that can be told."""
    proved, users, rows = first.found.proved, question.users, len(question.rhs)
    log_share, below, above = (part.copy() for part in proved)
    place = first.found.place or place_of(question, answer)
    price, value = place.price[0].copy(), place.value[0].copy()
    unit = np.full(users + rows, place.log_unit)
    held, amount = [place.columns], [place.amount[0]]
    for part, seen in done:
        own = seen.found.proved
        closer = own.below + own.above < (below + above)[part.users]
        at = part.users[closer]
        log_share[at], below[at], above[at] = (each[closer] for each in own)
        there = seen.found.place
        if there is None:
            continue
        mine = np.isin(label, np.unique(label[part.users]))
        price[part.rows[part.mine]] = there.price[0][part.mine]
        value[part.users] = there.value[0]
        unit[part.users] = unit[users + part.rows[part.mine]] = there.log_unit
        for k, columns in enumerate(held):
            kept = ~_of_parts(question, columns, mine)
            held[k], amount[k] = columns[kept], amount[k][kept]
        held.append(part.whole(there.columns))
        amount.append(there.amount[0])
    columns, x = np.concatenate(held), np.concatenate(amount)
    order = np.argsort(columns, kind="stable")
    top = float(unit.max())
    less = np.maximum(unit - top, -LIGHTEST)
    both = Place(
        columns[order],
        x[None, order],
        (price * np.exp(less[users:]))[None],
        (value * np.exp(less[:users]))[None],
        (unit - less)[:users],
    )
    return of(question, answer, SearchFound(Proved(log_share, below, above), both))


def _of_parts(question: Question, columns: Ints, mine: Bools) -> Bools:
    """Which columns, tasks or flows, are of the parts `mine` (N + M + F,)."""
    task = columns < question.columns.count
    flow = question.users + len(question.rhs) + columns[~task] - question.columns.count
    node = np.empty(len(columns), dtype=np.int64)
    node[task], node[~task] = question.columns.owner(columns[task]), flow
    found: Bools = mine[node]
    return found


def _at_prices(question: Question, answer: Given) -> Given:
    """The answer with the shares that are best at its prices, multiplied until a row is full: its
    tasks may be bad, or forged."""
    place = place_of(question, answer)
    log_t, _ = question.log_best(np.log(place.value[0]), place.log_unit)
    part = np.clip((question.base + np.exp(log_t)) / answer.share, 1e-6, 1e6)
    part = np.where(np.isfinite(part), part, 1.0)
    x = answer.x * part[question.columns.owner(answer.held)]
    row, each, entry = question.columns.entries(answer.held)
    used = np.bincount(row, entry * x[each], len(question.rhs)) / question.unit
    factor = 1.0 / max(float(used[question.rules].max(initial=0.0)), 1e-300)
    return replace(answer, x=x * factor, share=answer.share * part * factor)


def logs(question: Question, answer: Given) -> tuple[Floats, Floats]:
    """(N,) log of shares, and of the shares that count as nothing."""
    floor = np.log(np.maximum(question.nothing, 1e-300))
    return np.maximum(np.log(answer.share), floor), floor


def off(proved: Proved, log_share: Floats, floor: Floats) -> tuple[Floats, Floats]:
    """What each share may be off by, and is off by at least; what counts as nothing is alike."""
    low, high = proved.log_share - proved.below, proved.log_share + proved.above
    low, high = np.maximum(low, floor), np.maximum(high, floor)
    off = np.maximum(np.abs(log_share - low), np.abs(high - log_share))
    # logarithms are rounded
    surely = np.maximum(low - log_share, log_share - high) - ROUND * (2 + np.abs(log_share))
    surely = np.maximum(surely, 0.0)
    return np.where(np.isnan(off), np.inf, off), np.where(np.isnan(surely), 0.0, surely)


def _digits(question: Question, answer: Given) -> int:
    """Floats that a number needs so that the user of least money is known."""
    log_m = log_spent(question, answer)
    free = np.isfinite(log_m) & (answer.share < question.most * (1 - 1e-9))
    if not free.any():
        return 2
    most = float(log_m[free].max())
    if (pulls := question.pulls) is not None:  # what pulls pay counts as money
        paid = np.abs(answer.price[pulls.rows]) * question.unit[pulls.rows]
        most = max(most, float(np.log(paid.max())) + answer.log_money)
    bits = (most - float(log_m[free].min())) / np.log(2.0)
    return int(np.clip(np.ceil((bits + 60) / 50) + 1, 2, MOST_PARTS))


__all__ = ["Told", "few", "logs", "of", "off", "searched", "told"]
