"""What is proved of an alpha-fair answer: how far each user's share is from every optimum's.

A search goes from the answer to the optimum nearby (`search`); what it finds is not believed, but
bounds where every optimum is (`bound`), and the answer is compared with that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import parts
from fairopt.certificates.bound import ROUND, Proved, bound, nothing, sums
from fairopt.certificates.columns import Grid
from fairopt.certificates.duality import bill
from fairopt.certificates.duality import gap as duality_gap
from fairopt.certificates.given import Given, given, named
from fairopt.certificates.guessed import with_prices
from fairopt.certificates.linear import linear
from fairopt.certificates.question import Question, asked
from fairopt.certificates.search import ENOUGH, Found, place_of, scale, search
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.formulas import welfare
from fairopt.instance import Floats, remembered

FEW = 500
"""users and rows up to which more than two floats are tried"""
CLOSE = ((50_000, 1e-7), (0, 1e-8))
"""bounds that are enough of more users than FEW, by the least number of users"""
MOST_PARTS = 12
"""floats of a number at most: with more, money would underflow"""
SURE = 1e-9
"""a gap that needs no second bound"""
FAR = 0.1
"""distance at first sight from which no optimum is searched while engines are tried"""
NO_PRICES = dict.fromkeys(
    ("prices", "limit_prices", "bound_prices", "node_prices", "limit_on_prices")
)
CLEAR = 1.01
"""what a share is off by at most, in what it is off by at least, that needs no other search"""
RENT = 30.0
"""a limit costs at most so many times what the share does: marginal values may be 1e600"""


@dataclass(frozen=True)
class Proof:
    """What is proved of an answer.

    Parameters
    ----------
    off : (N,) how far each share may be from any optimum's, in the logarithm; inf: not proved.
    surely : (N,) how far it is at least. prices_gap : of a linear program, what its prices prove.
    """

    question: Question
    answer: Given
    found: Found
    off: Floats
    surely: Floats
    prices_gap: float | None = None

    @property
    def proved(self) -> Proved:
        """Where every optimum is."""
        return self.found.proved

    @cached_property
    def gap(self) -> float:
        """A bound on an equal relative rise of every share (of what is above the floors)."""
        if self.prices_gap is not None:
            return self.prices_gap
        question, nearby = self.question, np.inf
        with np.errstate(all="ignore"):
            if np.isfinite(self.off).all():
                t = np.exp(self.proved.log_share + self.proved.above) - question.base
                own = np.maximum(self.answer.share - question.base, 0.0)
                nearby = _rise(question, own, t)
            if nearby <= SURE:
                return nearby
            return min(nearby, duality_gap(question, self.answer))

    def ends(self) -> tuple[Floats, Floats]:
        """(N,) the lowest and the highest share of each user at any optimum."""
        if not self.question.alpha:
            unit = self.question.share_unit
            return self.question.least * unit, np.full(len(unit), np.inf)
        return ends(self.question, self.proved)


def ends(question: Question, proved: Proved) -> tuple[Floats, Floats]:
    """(N,) the lowest and the highest share of each user that is proved of any optimum."""
    unit = question.share_unit
    with np.errstate(over="ignore", invalid="ignore"):
        share = np.exp(proved.log_share) * unit
        low = np.nan_to_num(share * np.exp(-proved.below), nan=0.0)
        high = share * np.exp(proved.above)
    return low, np.where(np.isfinite(high), high, np.inf)


def _rise(question: Question, share: Floats, best: Floats) -> float:
    """E(best) / E(share) - 1, at least 0; inf where it is no number."""
    rise = welfare.log_equivalent(question.log_w, best, question.alpha)
    rise -= welfare.log_equivalent(question.log_w, share, question.alpha)
    found = float(np.expm1(rise))
    return np.inf if np.isnan(found) else max(found, 0.0)


def proof(alloc: Allocation) -> Proof:
    """What is proved of an answer, kept with it."""
    def prove() -> Proof:
        with np.errstate(all="ignore"):
            return _proof(alloc)

    found: Proof = remembered(alloc, "_proved", prove)
    return found


def _proof(alloc: Allocation) -> Proof:
    question = asked(alloc)
    answer = given(alloc, question)
    if not question.alpha:
        told, none = linear(question, answer), Found(nothing(question.users), None)
        return Proof(question, answer, none, told.off, np.zeros(question.users), told.gap)
    found, off, surely = _searched(question, answer)
    if few(question):
        for begin in (_at_prices, _at_tasks):
            # one who is off is told by how much
            told = off.max() <= max(TOLERANCE, CLEAR * surely.max())
            if told:
                break
            again = _searched(question, begin(alloc, question, answer), answer)
            if again[1].max() < off.max():
                found, off, surely = again
    return Proof(question, answer, found, off, surely)


def _at_prices(alloc: Allocation, question: Question, answer: Given) -> Given:
    """The answer with the shares that are best at its prices, multiplied until a row is full: its
    tasks may be bad, or forged."""
    place = place_of(question, answer)
    log_t, _ = question.log_best(np.log(place.value[0]), place.log_unit)
    part = np.clip((question.base + np.exp(log_t)) / answer.share, 1e-6, 1e6)
    part = np.where(np.isfinite(part), part, 1.0)
    x = answer.x * part[question.columns.owner(answer.held)]
    row, each, entry = question.columns.entries(answer.held)
    used = np.bincount(row, entry * x[each], len(question.rhs)) / question.unit
    factor = 1.0 / max(float(used.max(initial=0.0)), 1e-300)
    return replace(answer, x=x * factor, share=answer.share * part * factor)


def _at_tasks(alloc: Allocation, question: Question, answer: Given) -> Given:
    """The answer with prices guessed from its tasks alone: its own may be bad, or forged."""
    return given(with_prices(alloc.with_(**NO_PRICES)), question)


def few(question: Question) -> bool:
    """Whether more than two floats, and other prices, are tried."""
    return question.users + len(question.rhs) <= FEW


def _searched(
    question: Question, answer: Given, judged: Given | None = None
) -> tuple[Found, Floats, Floats]:
    """What a search from an answer proves; how far each share of the answer that is judged (the
    same, if it is not given) may be, and is at least, off."""
    with np.errstate(all="ignore"):
        log_share, floor = _logs(question, answer if judged is None else judged)
        enough = ENOUGH
        if not few(question):
            enough = next(bound for users, bound in CLOSE if question.users >= users)
        found = search(question, answer, enough=enough)
        off, surely = _apart(found.proved, log_share, floor)
        if not off.max() <= TOLERANCE and not surely.max() > TOLERANCE:
            label = parts.labels(question)
            more = _digits(question, answer)
            small = few(question)
            if label is not None or (small and more > 2):
                closer = search(question, answer, more if small else 2, label, enough)
                found = Found(_closer(found.proved, closer.proved), closer.place or found.place)
                off, surely = _apart(found.proved, log_share, floor)
        if not np.isfinite(off).all():
            rough = Found(_closer(found.proved, as_it_is(question, answer)), found.place)
            found = rough
            off, surely = _apart(found.proved, log_share, floor)
    return found, off, surely


def _logs(question: Question, answer: Given) -> tuple[Floats, Floats]:
    """(N,) log of shares, and of the shares that count as nothing."""
    floor = np.log(np.maximum(question.nothing, 1e-300))
    return np.maximum(np.log(answer.share), floor), floor


def _apart(proved: Proved, log_share: Floats, floor: Floats) -> tuple[Floats, Floats]:
    """What each share may be off by, and is off by at least; what counts as nothing is alike."""
    low, high = proved.log_share - proved.below, proved.log_share + proved.above
    low, high = np.maximum(low, floor), np.maximum(high, floor)
    off = np.maximum(np.abs(log_share - low), np.abs(high - log_share))
    # logarithms are rounded
    surely = np.maximum(low - log_share, log_share - high) - ROUND * (2 + np.abs(log_share))
    surely = np.maximum(surely, 0.0)
    return np.where(np.isnan(off), np.inf, off), np.where(np.isnan(surely), 0.0, surely)


def _closer(a: Proved, b: Proved) -> Proved:
    """Of each user the closer of two proofs."""
    better = b.below + b.above < a.below + a.above
    return Proved(*(np.where(better, new, old) for new, old in zip(b, a, strict=True)))


def _digits(question: Question, answer: Given) -> int:
    """Floats that a number needs so that the user of least money is known."""
    log_m = question.log_w + (1 - question.alpha) * np.log(answer.share - question.base)
    free = np.isfinite(log_m) & (answer.share < question.most * (1 - 1e-9))
    if not free.any():
        return 2
    bits = float(log_m[free].max() - log_m[free].min()) / np.log(2.0)
    return int(np.clip(np.ceil((bits + 60) / 50) + 1, 2, MOST_PARTS))


def as_it_is(question: Question, answer: Given) -> Proved:
    """What the answer proves at its own prices, scaled down to fit: little, but of any answer."""
    place = place_of(question, answer)
    seen = sums(question, place)
    over = float(-(seen.rest.left / question.unit).min(initial=0.0))
    if over > 0:
        factor = (1 - 1e-14) / (1 + 2 * over)
        scaled = Given(answer.held, answer.x * factor, answer.y, answer.price, answer.share)
        place = place_of(question, scaled)
        seen = sums(question, place)
    return bound(question, place, seen)[0]


def gap_by_prices(alloc: Allocation) -> float:
    """A bound on an equal relative rise of every share, by the answer's own prices alone."""
    with np.errstate(all="ignore"):
        question = asked(alloc)
        answer = given(alloc, question)
        by_prices = duality_gap if question.alpha else _linear_gap
        return by_prices(question, answer)


def _linear_gap(question: Question, answer: Given) -> float:
    return linear(question, answer).gap


def ends_by_prices(alloc: Allocation) -> tuple[Floats, Floats]:
    """(N,) the lowest and the highest share at any optimum that the answer and its own prices
    prove, without a search."""
    with np.errstate(all="ignore"):
        question = asked(alloc)
        return ends(question, as_it_is(question, given(alloc, question)))


def measure(alloc: Allocation) -> tuple[float, float]:
    """(gap, largest residual of a user) of an answer; of one that is far from any optimum at first
    sight what its own prices say, without a search."""
    with np.errstate(all="ignore"):
        seen = sight(alloc)
        if seen <= FAR:
            found = proof(alloc)
            return found.gap, float(found.off.max())
        return gap_by_prices(alloc), seen


def sight(alloc: Allocation) -> float:
    """`sights` of the worst user."""
    return float(sights(alloc).max())


def sights(alloc: Allocation) -> Floats:
    """(N,) how far each user is from what is best for it at the answer's own prices: an estimate,
    by which answers are put in order, or not looked at closely. It never makes one certified."""
    def look() -> Floats:
        with np.errstate(all="ignore"):
            question = asked(alloc)
            if not question.alpha:
                return proof(alloc).off
            answer = given(alloc, question)
            place = place_of(question, answer)
            log_t, _ = question.log_best(np.log(place.value[0]), place.log_unit)
            log_share, floor = _logs(question, answer)
            best = np.maximum(np.log(question.base + np.exp(log_t)), floor)
            apart = np.abs(log_share - best)
        return np.where(np.isnan(apart), np.inf, apart)

    found: Floats = remembered(alloc, "_sights", look)
    return found


def log_scale(alloc: Allocation) -> float:
    """log of the number that brings an answer's prices to the unit of its objective, from the
    users between the bounds of their shares; -inf if there are none."""
    with np.errstate(all="ignore"):
        question = asked(alloc)
        answer = given(alloc, question)
        columns = question.columns
        log_q = np.log(columns.cheapest(columns.cost(answer.price)))
        if question.alpha:
            return scale(question, answer, log_q) - answer.log_money
        _, budget = bill(question, answer.price)
        worth = welfare.log_sum_exp(question.log_w + np.log(answer.share))
        return worth - float(np.log(budget)) - answer.log_money


def nearer(alloc: Allocation) -> dict[str, Floats] | None:
    """Tasks and prices of the point near the answer from which it was judged, as fields of an
    allocation; None if the search found none. The one door through which the solver may ask."""
    found = proof(alloc)
    place, question, inst = found.found.place, found.question, alloc.instance
    if place is None:
        return None
    columns = question.columns
    mine = place.columns < columns.count
    held, amount = place.columns[mine], place.amount[0][mine]
    owner = columns.owner(held)
    x = np.zeros(columns.count)
    x[held] = np.maximum(amount, 0.0) * question.tasks_unit[owner]
    prices = named(question, place.price[0], alloc)
    with np.errstate(all="ignore"):
        # the price of a limit that is a bound: what the marginal value is above the cheapest price
        log_t, end = question.log_best(np.log(place.value[0]), place.log_unit)
        rent = np.where(end > 0, np.minimum(np.expm1(end), RENT) * place.value[0], 0.0)
    # a share that is counted in tasks is so in their unit
    prices["limit_prices"] = prices["limit_prices"] + rent / question.tasks_unit
    if not any(part.any() for part in prices.values()):  # only limits stop anybody
        most = question.most * question.tasks_unit
        prices["limit_prices"] = np.where(np.isfinite(most), question.weight / most, 0.0)
        if not prices["limit_prices"].any():
            return None
    if isinstance(columns, Grid):
        return {"tasks": x.reshape(inst.shape[:2]), **prices}
    by_way = columns.low.tasks(x, len(inst.ways))
    if inst.modes is None:
        return {"tasks": by_way, **prices}
    return {"tasks": inst.ways.running(by_way), "way_tasks": by_way, **prices}


__all__ = [
    "Proof", "ends_by_prices", "gap_by_prices", "log_scale", "measure", "nearer", "proof", "sight",
    "sights",
]  # fmt: skip
