"""What is proved of an alpha-fair answer: how far each user's share is from every optimum's.

A search goes from the answer to the optimum nearby (`search`); what it finds is not believed, but
bounds where every optimum is (`bound`), and the answer is compared with that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import even
from fairopt.certificates.asking import asked
from fairopt.certificates.begun import as_it_is, values_of
from fairopt.certificates.bound import Proved, nothing
from fairopt.certificates.columns import Grid
from fairopt.certificates.duality import equal_rise, pulled_gap, rise_to
from fairopt.certificates.duality import gap as duality_gap
from fairopt.certificates.given import Given, given, named, read
from fairopt.certificates.guessed import NO_PRICES, with_prices
from fairopt.certificates.linear import linear
from fairopt.certificates.places import ROUND, Place
from fairopt.certificates.question import NOBODY, Question
from fairopt.certificates.search import SearchFound
from fairopt.certificates.told import Told, logs, of, searched, told
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.formulas import welfare
from fairopt.instance import Floats, Ints, remembered

SURE = 1e-9
"""a gap that needs no second bound"""
ASKED_GAP = "_asked_gap"
"""under which an answer keeps what is wanted of its proof"""
FAR = 0.1
"""distance at first sight from which no optimum is searched while engines are tried"""
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
    found: SearchFound
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
            if question.pulls is not None:
                return self._pulled()
            if np.isfinite(self.off).all():
                t = np.exp(self.proved.log_share + self.proved.above) - question.base
                own = np.maximum(self.answer.share - question.base, 0.0)
                nearby = _rise(question, own, t)
            if nearby <= SURE:
                return nearby
            return min(nearby, duality_gap(question, self.answer))

    def _pulled(self) -> float:
        """The same beside penalties, by the answer's own prices or by the point nearby."""
        question, answer, place = self.question, self.answer, self.found.place
        own = pulled_gap(question, answer)
        if own <= SURE or place is None:
            return own
        rise = max(rise_to(question, answer, place) + self.found.eps, 0.0)
        nearby = equal_rise(question, answer.share, rise, place.log_unit)
        return min(own, np.inf if np.isnan(nearby) else nearby)

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
    answer = read(alloc, question)
    if not question.alpha:
        seen, none = linear(question, answer), SearchFound(nothing(question.users), None)
        return Proof(question, answer, none, seen.off, np.zeros(question.users), seen.gap)
    if question.pulls is not None and question.pulls.even:
        return _even(alloc, question, answer)

    def guess(label: Ints | None) -> Given:
        own = None if label is None else label[: question.users]
        return given(with_prices(alloc.with_(**NO_PRICES), own), question)

    wanted = vars(alloc).get(ASKED_GAP, TOLERANCE)
    found = told(question, answer, guess, vars(alloc).get("_first"), wanted)
    return Proof(question, answer, found.found, found.off, found.surely)


def _even(alloc: Allocation, question: Question, answer: Given) -> Proof:
    """Under both hard forms only one level is asked for: prices bound it from above, and a point
    in fractions from below."""
    level = alloc.shares / alloc.instance.weight
    most = float(level.max()) * (1 + pulled_gap(question, answer)) * (1 + ROUND)
    least = even.level(alloc)
    own = alloc.instance.weight / question.share_unit
    width = np.full(question.users, np.log(most / least) if least > 0 else np.inf)
    proved = Proved(np.log(own * max(least, 1e-300)), np.zeros(question.users), width)
    seen = of(question, answer, SearchFound(proved, None))
    return Proof(question, answer, seen.found, seen.off, seen.surely)


def gap_by_prices(alloc: Allocation) -> float:
    """A bound on an equal relative rise of every share, by the answer's own prices alone."""
    with np.errstate(all="ignore"):
        question = asked(alloc)
        answer = read(alloc, question)
        if question.pulls is not None:
            return pulled_gap(question, answer)
        by_prices = duality_gap if question.alpha else _linear_gap
        return by_prices(question, answer)


def _linear_gap(question: Question, answer: Given) -> float:
    return linear(question, answer).gap


def ends_by_prices(alloc: Allocation) -> tuple[Floats, Floats]:
    """(N,) the lowest and the highest share at any optimum that the answer and its own prices
    prove, without a search."""
    with np.errstate(all="ignore"):
        question = asked(alloc)
        return ends(question, as_it_is(question, read(alloc, question)))


def measure(alloc: Allocation, once: bool = False, gap: float = TOLERANCE) -> tuple[float, float]:
    """(gap, largest residual of a user) of an answer; of one that is far from any optimum at first
    sight what its own prices say, without a search.

    Parameters
    ----------
    once : with one search at most, where another answer is to be had for less than the next.
    gap : what is wanted of it; with less than what is certified very many users are searched.
    """
    remembered(alloc, ASKED_GAP, lambda: gap)
    with np.errstate(all="ignore"):
        question = asked(alloc)
        if once and question.alpha and question.pulls is None and "_proved" not in vars(alloc):
            first = _once(alloc, question)
            worst = float(first.off.max())
            if not first.known:
                return gap_by_prices(alloc), worst
            if worst <= FAR:
                return proof(alloc).gap, worst
        # beside pulls a trifle in a variance is much in what looks best for a user
        seen = 0.0 if asked(alloc).pulls is not None else sight(alloc)
        if seen <= FAR:
            found = proof(alloc)
            return found.gap, float(found.off.max())
        return gap_by_prices(alloc), seen


def searched_once(alloc: Allocation, within: float = np.inf) -> bool:
    """Whether one search, given up soon, finds an optimum from an alpha-fair answer; it is kept
    with it then.

    Parameters
    ----------
    within : a bound that is wanted, where less is proved of many users at less cost.
    """
    with np.errstate(all="ignore"):
        return _once(alloc, asked(alloc), True, within).known


def searched_beside(alloc: Allocation, other: Allocation) -> bool:
    """Whether a search that begins at another answer of the same question proves an alpha-fair one;
    it is kept with it then.

    Where a search begins is not believed: the other may have tasks on pairs on which the one judged
    has none and might have some, and so tell at once which pairs are worth their price.
    """
    with np.errstate(all="ignore"):
        question = asked(alloc)
        answer = read(alloc, question)
        first = searched(question, given(other, question), answer)
        if first.known:
            found = Proof(question, answer, first.found, first.off, first.surely)
            remembered(alloc, "_proved", lambda: found)
    return first.known


def _once(
    alloc: Allocation, question: Question, brief: bool = False, within: float = np.inf
) -> Told:
    """What one search tells, kept with the answer: as its proof if nothing is gained by another."""
    answer = read(alloc, question)
    wanted = min(within, vars(alloc).get(ASKED_GAP, TOLERANCE))
    first = searched(question, answer, brief=brief, within=within, gap=wanted)
    if not brief:
        remembered(alloc, "_first", lambda: first)
    if first.known:
        found = Proof(question, answer, first.found, first.off, first.surely)
        remembered(alloc, "_proved", lambda: found)
    return first


def forget(alloc: Allocation) -> None:
    """Of what is kept with an answer, leave its proof out."""
    for name in ("_proved", "_first", ASKED_GAP):
        vars(alloc).pop(name, None)


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
            answer = read(alloc, question)
            _, value, unit = values_of(question, answer)
            log_t, _ = question.log_best(np.log(value), unit)
            log_share, floor = logs(question, answer)
            best = np.maximum(np.log(question.base + np.exp(log_t)), floor)
            apart = np.abs(log_share - best)
        return np.where(np.isnan(apart), np.inf, apart)

    found: Floats = remembered(alloc, "_sights", look)
    return found


def nearer(alloc: Allocation, once: bool = False) -> dict[str, Floats] | None:
    """Tasks and prices of the point near the answer from which it was judged, as fields of an
    allocation; None if the search found none. The one door through which the solver may ask.

    Parameters
    ----------
    once : by what one search found, if that is known and no more is.
    """
    first = vars(alloc).get("_first") if once and "_proved" not in vars(alloc) else None
    place = (proof(alloc) if first is None else first).found.at()
    return None if place is None else at_place(asked(alloc), place, alloc)


def at_place(question: Question, place: Place, alloc: Allocation) -> dict[str, Floats] | None:
    """Tasks and prices of a place as fields of an allocation."""
    inst, columns = alloc.instance, question.columns
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
    if question.pulls is not None and not any(part.any() for part in prices.values()):
        prices.clear()  # nothing is full: penalties alone stop everybody
    elif not any(part.any() for part in prices.values()):  # only limits stop anybody
        most = question.most * question.tasks_unit
        some = np.isfinite(most) & (question.log_w > NOBODY / 2)
        prices["limit_prices"] = np.where(some, question.weight / np.where(some, most, 1.0), 0.0)
        if not prices["limit_prices"].any():
            return None
    if isinstance(columns, Grid):
        return {"tasks": x.reshape(inst.shape[:2]), **prices}
    by_way = columns.low.tasks(x, len(inst.ways))
    if inst.modes is None:
        return {"tasks": by_way, **prices}
    return {"tasks": inst.ways.running(by_way), "way_tasks": by_way, **prices}


__all__ = [
    "ASKED_GAP",
    "SURE",
    "Proof",
    "at_place",
    "ends_by_prices",
    "forget",
    "gap_by_prices",
    "measure",
    "nearer",
    "proof",
    "searched_once",
    "sight",
    "sights",
]
