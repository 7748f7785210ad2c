r"""The proof of an alpha-fair answer with several priority classes: one question for each class.

Classes are served in order. In the question of a class those served before hold what they are
proved to be due at least, L_m, and those after what they are guaranteed; the class alone counts. It
has more room than there is, by no more than those before may be due beyond L_m, and what that may
change is added to what is open (`yielded`). So an answer is compared with the division in which
every class before has exactly what it is due, not with what the answer happens to give it.

Who could have nothing, since those before take all that it could use, is proved to be so by their
prices, and left out. (docs/maths/prices.md, "Classes".)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import parts
from fairopt.certificates.asking import kind_of, of_terms
from fairopt.certificates.bound import Proved
from fairopt.certificates.columns import Listed
from fairopt.certificates.due import tangent
from fairopt.certificates.given import Given, given
from fairopt.certificates.guessed import NO_PRICES
from fairopt.certificates.losses import ends as width
from fairopt.certificates.proof import Proof, ends
from fairopt.certificates.question import NOBODY, Question
from fairopt.certificates.ruled import feasible
from fairopt.certificates.ruled.answer import Ruled
from fairopt.certificates.ruled.prices import as_fields, of_round
from fairopt.certificates.search import SearchFound
from fairopt.certificates.stages import Classes, Stage
from fairopt.certificates.told import logs, off, searched, told
from fairopt.certificates.tolerance import ROUNDING
from fairopt.certificates.yielded import EarlierStops, yielded
from fairopt.formulas.entitled import Entitled, entitled
from fairopt.instance import Bools, Floats, remembered

BELOW = 2.0**-46
"""part by which those served before hold less than they are proved to be due, so that full rows
have room for the rounding of what they hold"""
LOOSER = 2.0**-36, 2.0**-30
"""the same where no optimum is found nearby: rows and floors that stop one another are told apart
only by what is left of them"""
NOTHING = 1e-9
"""part of what a user could have alone, or of its floor, that it might be due more, and still
counts as having no more"""
ROUNDED = 2.0**-40
"""part of what columns cost by which sums of prices may be wrong, and more"""
CRUMBS = 1e-9
"""part of its share that a user may have where a class before left nothing to it"""


def several(alloc: Allocation) -> bool:
    """Whether an alpha-fair answer has more than one class."""
    if alloc.instance.quotas is None:
        return False
    asked = entitled(alloc.instance, alloc.score, kind_of(alloc))
    return len(np.unique(asked.rank)) > 1


def one_by_one(alloc: Allocation) -> bool:
    """Whether every class is one user. Max-min and alpha-fairness are one then: it is judged by
    rounds, one a class, which need no search."""
    return entitled(alloc.instance, alloc.score, kind_of(alloc)).one_by_one


def unasked(alloc: Allocation) -> str:
    """Why classes have no one answer here; empty if they have."""
    if not float(kind_of(alloc)["parameters"]["alpha"]):
        return "alpha 0 with several priority classes: what the first class holds is not unique"
    if not all(row.packing for row in alloc.instance.own_rows):
        return "several priority classes beside rules that ask for tasks"
    return ""


def proved(alloc: Allocation, last: int | None = None, closely: bool = True) -> Classes:
    """What is proved of an answer, kept with it.

    Parameters
    ----------
    last : the last class that is looked at; default all. closely : by as many searches as it takes;
        else that class by one.
    """

    def prove() -> Classes:
        with np.errstate(all="ignore"):
            return _Walk(alloc, last, closely).classes()

    found: Classes = remembered(alloc, f"_classes {last} {closely}", prove)
    return found


class _Walk:
    """From class to class. Shares are counted in the units of the question.

    least : (N,) what each holds at least, whatever is done: of those before L, of others their
    floors. error : (N,) how much more those before may be due, a part of L. stops : what
    stops those before. shut : (P,) columns that are too dear there; crumbs : the largest part of a
    share that they might hold all the same. room : (N,) what those who come later can have beyond
    their floors at the most.
    """

    def __init__(self, alloc: Allocation, last: int | None, closely: bool) -> None:
        self.alloc, self.last, self.closely = alloc, last, closely
        self.asked: Entitled = entitled(alloc.instance, alloc.score, kind_of(alloc))
        self.question = of_terms(alloc, replace(self.asked, added=False))
        self.share = given(alloc, self.question).share
        users = len(self.share)
        self.least = self.asked.floor / self.question.share_unit
        self.error = np.zeros(users)
        self.stops = EarlierStops.nothing(self.question)
        self.done = np.zeros(users, dtype=bool)
        self.shut = np.zeros(self.question.columns.count, dtype=bool)
        self.crumbs, self.room = 0.0, np.full(users, np.inf)
        self.off, self.surely = np.full(users, np.inf), np.zeros(users)
        self.low, self.high = np.zeros(users), np.full(users, np.inf)

    def classes(self) -> Classes:
        stages, gap = [], 0.0
        for rank in np.unique(self.asked.rank).tolist():
            if self.last is not None and rank > self.last:
                break
            stage = self._stage(rank)
            stages.append(stage)
            gap = max(gap, stage.proof.gap if stage.active.any() else 0.0)
            if (
                not np.isfinite(self.high[self.done]).all()
                or not (self.low[stage.active] > 0).all()
            ):
                gap = np.inf
                break  # nothing is known of those before
        unit = self.question.share_unit
        low, high = self.low * unit, self.high * unit
        return Classes(self.off, self.surely, low, high, gap, tuple(stages))

    def _stage(self, rank: int) -> Stage:
        """The question of a class, and what is proved of it."""
        mine = self.asked.rank == rank
        stopped = mine & self._stopped(rank)
        active = mine & ~stopped
        question, alloc, part, answer, seen = self._searched(rank, active)
        if self.done.any():
            for less in LOOSER:
                if seen.place is not None and np.isfinite(seen.proved.below).all():
                    break
                self._less(less)
                question, alloc, part, answer, seen = self._searched(rank, active)
        own = part.users
        proof = self._compared(part, replace(answer, share=self._shares(active)[own]), seen)
        self._keep(active, own, proof)
        floor, most = self.least[stopped], self.question.most[stopped]
        self.off[stopped], self.low[stopped] = 0.0, floor
        self.high[stopped] = np.minimum(floor * (1 + NOTHING), np.maximum(most, floor))
        self.done = self.done | mine
        self._go_on(rank, mine, active, part, seen)
        return Stage(rank, active, alloc, question, part, proof)

    def _searched(
        self, rank: int, active: Bools
    ) -> tuple[Question, Allocation, parts.QuestionPart, Given, SearchFound]:
        """The question of a class, the answer as it has it, and what a search proves."""
        question = self._question(active)
        alloc = self._as_asked(active, self._prices(rank))
        size = len(question.rhs) + len(question.low)
        gone = ~active & ~(self.least > 0)
        label = np.concatenate([gone.astype(np.int64), np.zeros(size, dtype=np.int64)])
        part = parts.part(question, label, np.array([0]))
        answer = part.given(given(alloc, question))
        if active.any() and rank == self.last and not self.closely:
            seen = searched(part.question, answer).found
        elif active.any():
            seen = told(part.question, answer, lambda _: self._guessed(alloc, question, part)).found
        else:
            seen = SearchFound(_held(part.question), None)
        return question, alloc, part, answer, replace(seen, proved=self._widened(part, seen))

    def _less(self, part: float) -> None:
        """Those before hold less by a part, and may be due as much more."""
        some = self.done & (self.least > 0)
        self.least = np.where(some, self.least * (1 - part), self.least)
        self.error = np.where(some, (1 + self.error) / (1 - part) - 1, self.error)

    def _question(self, active: Bools) -> Question:
        """The question in which only some users count, and others hold what they surely do."""
        whole, nothing = self.question, np.zeros(len(active))
        floor = self.asked.floor / whole.share_unit
        most = np.where(active, np.maximum(whole.most, floor), self.least)
        columns = whole.columns
        assert isinstance(columns, Listed)
        return replace(
            whole,
            columns=replace(columns, shut=columns.shut | self.shut),
            log_w=np.where(active, whole.log_w, NOBODY),
            base=np.where(active & self.asked.added, floor, nothing),
            least=np.where(active, np.where(whole.least == whole.most, most, floor), self.least),
            most=most,
        )

    def _as_asked(self, active: Bools, prices: dict[str, Any]) -> Allocation:
        """The answer, with what others hold brought to what they surely do."""
        alloc = self.alloc
        part = np.where(self.share > 0, self.least / np.where(self.share > 0, self.share, 1.0), 0.0)
        part = np.where(active | self.done, 1.0, np.minimum(part, 1.0))
        part = np.where(self.done & ~(self.least > 0), 0.0, part)
        own: dict[str, Any] = {"tasks": alloc.tasks * part[:, None], "way_tasks": None}
        if alloc.way_tasks is not None:
            by_way = alloc.way_tasks * part[alloc.instance.ways.owner][:, None]
            own = {"tasks": None, "way_tasks": by_way}
        rest = {"rounds": None, "floor_prices": None, "level_prices": None, "certificate": None}
        return alloc.with_(**own, **{**NO_PRICES, **rest, **prices})

    def _guessed(self, alloc: Allocation, question: Question, part: parts.QuestionPart) -> Given:
        """The answer with prices guessed from its tasks alone."""
        share, some = self.share, question.log_w > NOBODY / 2
        log_value = np.where(some, question.log_w, -np.inf)
        log_value = log_value - question.alpha * np.log(np.where(some, share - question.base, 1.0))
        log_value = log_value - np.log(question.share_unit)
        known = log_value[np.isfinite(log_value)]
        value = np.exp(np.nan_to_num(log_value, nan=-np.inf) - known.max(initial=-600.0))
        floor = np.where(some, self.asked.floor, self.least * question.share_unit)
        found = tangent(alloc, floor * (1 - BELOW), np.minimum(value, 1.0))
        return part.given(given(alloc.with_(**as_fields(alloc.instance, found)), question))

    def _prices(self, rank: int) -> dict[str, Any]:
        """The prices that the answer tells of a class: of those who can have something."""
        position = {name: n for n, name in enumerate(self.alloc.instance.users)}
        for each in self.alloc.rounds or ():
            of = [int(self.asked.rank[position[name]]) for name in each["users"]]
            if each["t"] > 0 and of and all(one == rank for one in of):
                return {key: value for key, value in each["prices"].items() if key in NO_PRICES}
        return {}

    def _stopped(self, rank: int) -> Bools:
        """(N,) who holds no more than its floor and is proved to be due no more by the prices of
        some round, as those before hold what they do, and others what they surely do."""
        unit = self.question.share_unit
        ruled = Ruled(self.alloc)
        factor = feasible.shrink(ruled)
        ruled = Ruled(self.alloc, factor) if factor < 1 else ruled
        floor, share = self.asked.floor, ruled.share
        nothing = NOTHING * np.minimum(ruled.alone, ruled.most)
        held = (self.asked.rank == rank) & (share <= floor * (1 + NOTHING) + nothing)
        found = np.zeros(len(held), dtype=bool)
        few = np.where(floor > 0, NOTHING * floor, nothing)
        found |= held & (self.room * unit <= few)
        if not (held & ~found).any():
            return found
        least = self.least * unit
        for each in self.alloc.rounds or ():
            for prices in ruled.cleaned(of_round(self.alloc.instance, each["prices"])):
                bill = ruled.bill(prices)
                q = bill.cheapest
                taken = float((q * least)[(q > 0) & (least > 0)].sum())
                left = max(bill.budget - taken, 0.0) + ROUNDING * bill.budget
                room = np.where(q > 0, left / np.where(q > 0, q, 1.0), np.inf)
                found |= held & (room <= few)
        return found

    def _widened(self, part: parts.QuestionPart, seen: SearchFound) -> Proved:
        """The intervals of a class with what those before may be due beyond what they hold."""
        proved, error = seen.proved, self.error[part.users]
        if not (error > 0).any() and not self.crumbs:
            return proved
        nothing = np.full(len(error), np.inf)
        if seen.place is None or np.ndim(seen.place.log_unit):
            return Proved(proved.log_share, nothing, nothing)
        open_ = yielded(part.question, seen.place, error, self.stops.of(part))
        question = part.question
        log_t = np.log(np.exp(proved.log_share) - question.base)
        log_m = question.log_w - seen.place.log_unit + (1 - question.alpha) * log_t
        below, above = width(np.where(open_ > 0, open_ / np.exp(log_m), 0.0), question.alpha)
        others = question.log_w <= NOBODY / 2
        below, above = (np.where(others, 0.0, each) for each in (below, above))
        more = np.where(others, 0.0, self.crumbs)
        return Proved(proved.log_share, proved.below + below + more, proved.above + above + more)

    def _shares(self, active: Bools) -> Floats:
        """(N,) what those who count hold, wherever it is, and others surely."""
        return np.where(active, self.share, np.maximum(self.least, 1e-300))

    def _compared(self, part: parts.QuestionPart, answer: Given, seen: SearchFound) -> Proof:
        log_share, floor = logs(part.question, answer)
        return Proof(part.question, answer, seen, *off(seen.proved, log_share, floor))

    def _keep(self, active: Bools, own: Any, proof: Proof) -> None:
        """What is proved of the users of a class, among all."""
        mine = active[own]
        at, unit = own[mine], proof.question.share_unit
        low, high = ends(proof.question, proof.proved)
        self.off[at], self.surely[at] = proof.off[mine], proof.surely[mine]
        self.low[at], self.high[at] = (low / unit)[mine], (high / unit)[mine]

    def _go_on(
        self, rank: int, mine: Bools, active: Bools, part: parts.QuestionPart, seen: SearchFound
    ) -> None:
        """What classes after this one are asked beside."""
        if seen.place is not None:
            self.stops.add(rank, part, seen.place)
            self._shut(part, seen)
        least = np.where(active, self.low * (1 - BELOW), self.least)
        some = mine & (least > 0)
        self.least = np.where(mine, least, self.least)
        error = self.high / np.where(some, self.least, 1.0) - 1.0
        self.error = np.where(some, np.maximum(error, 0.0), self.error)

    def _shut(self, part: parts.QuestionPart, seen: SearchFound) -> None:
        """Columns that are dearer than a user's cheapest hold nothing, in this class and in those
        that come later. All that is known of that is what is left of the money; where that could be
        more than crumbs of somebody's share, its columns stay open."""
        place, own = seen.place, part.users
        assert place is not None
        # all that the class is due costs as much as what it has here, but for what is open
        money = place.value[0] * np.exp(seen.proved.log_share) * self.error[own]
        left = 2.0 * (seen.eps + float(money[money > 0].sum()))
        columns = self.question.columns
        assert isinstance(columns, Listed)
        # what classes before shut is nobody's cheapest
        columns = replace(columns, shut=columns.shut | self.shut)
        price = np.zeros(len(self.question.rhs))
        price[part.rows] = place.price[0]
        cost, owner = columns.cost(price), columns.of_column
        cheapest = columns.cheapest(cost)
        with np.errstate(all="ignore"):
            self.room = np.fmin(self.room, left / cheapest)
        paid = abs(columns.matrix[:, : columns.count]).T @ np.abs(price)
        # by more than the rounding of both sums: whoever has all in a column that costs as much as
        # another would else be taken to have nothing there
        above = cost - cheapest[owner] * columns.score
        above = above - ROUNDED * (paid + np.abs(cheapest[owner]) * columns.score)
        with np.errstate(all="ignore"):
            crumb = left / above * columns.score / self.share[owner]
        dear = (above > 0) & (crumb <= CRUMBS)
        self.shut |= dear
        self.crumbs += float(crumb[dear].max(initial=0.0))


def _held(question: Question) -> Proved:
    """Of users that all hold what they surely do."""
    nothing = np.zeros(question.users)
    return Proved(np.log(question.least), nothing, nothing)


__all__ = ["Classes", "Stage", "one_by_one", "proved", "several", "unasked"]
