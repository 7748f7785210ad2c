"""Tasks and max-min levels that equations determine, each enclosed, and that they keep every rule.

Asked is what `docs/maths/prices.md` asks ("In exact fractions"), of fractions that a regular system
of equations in integers determines. The equations are *given*, and nothing is believed: that they
are regular is proved (`enclosed`); that tasks keep every rule are inequalities between the integers
that enclose them; what is just full is an equation, or follows from them in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from fairopt.certificates.enclosed import Equation, Interval, Regular
from fairopt.certificates.enclosed_groups import GroupsEnclosed
from fairopt.certificates.enclosed_products import regular
from fairopt.certificates.exact_case import ExactCase
from fairopt.certificates.follows import Follows
from fairopt.certificates.tasks_claim import TasksClaim, TasksStated, equations

NONE, FLOOR = -1, -2
"""in place of the level of a user who may hold nothing, and of one who holds its floor"""
DIGITS = 200
"""binary digits to which an end of an interval is told"""


@dataclass(frozen=True)
class TasksEnclosed:
    """Tasks that keep every rule, as equations determine them.

    Parameters
    ----------
    stated : its equations. group : (N,) of each user, NONE of whoever may hold nothing, FLOOR of
        whoever holds its floor. full : rows that are just full.
    """

    case: ExactCase
    claim: TasksClaim
    system: Regular
    stated: TasksStated
    group: list[int]
    full: set[int]
    _same: dict[tuple[int, int], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, case: ExactCase, claim: TasksClaim) -> TasksEnclosed | None:
        """None where they are not regular, or say nothing of somebody."""
        if claim.targets is not None and (
            not claim.targets.whole
            or claim.targets.users != claim.groups
            or claim.targets.floored != claim.floored
        ):
            return None
        stated = equations(case, claim)
        rows, right = stated.rows, stated.right
        group = [NONE] * len(case.open_)
        for j, users in [(FLOOR, claim.floored), *enumerate(claim.groups)]:
            for n in users:
                if group[n] != NONE:
                    return None
                group[n] = j
        for n, columns in enumerate(case.open_):
            if group[n] == NONE and (columns or case.floor[n]):
                return None
        size, chosen = len(claim.about), list(claim.chosen)
        if len(chosen) != size or any(
            v.denominator & (v.denominator - 1) for v in claim.fixed.values()
        ):
            return None
        times = claim.products(
            len(rows) - len([] if claim.targets is None else claim.targets.links)
        )
        if times and (len(claim.given) != size or not times.keys() <= set(chosen)):
            return None
        mine, last = [rows[k] for k in chosen], [right[k] for k in chosen]
        if times:
            own = {chosen.index(k): each for k, each in times.items()}
            system = regular(mine, own, last, claim.shift, claim.about, claim.given)
        else:
            system = Regular.of(mine, last, claim.shift, claim.about)
        if system is None:
            return None
        return cls(case, claim, system, stated, group, set(claim.full))

    @property
    def place(self) -> dict[int, int]:
        """The place of each column among the unknowns."""
        return self.stated.place

    @cached_property
    def follows(self) -> Follows:
        """What follows from the equations."""
        return Follows(self.system)

    @cached_property
    def targets(self) -> GroupsEnclosed | None:
        """In groups, what users are due by then."""
        of = self.claim.targets
        if of is None:
            return None
        return GroupsEnclosed(of, self.system, self.follows, len(self.place))

    @cached_property
    def used(self) -> dict[int, int]:
        """Columns in use, those determined first, and which each is."""
        return {c: k for k, c in enumerate({**self.place, **self.claim.fixed})}

    @cached_property
    def own(self) -> dict[int, list[int]]:
        """Of each user its columns in use, in that order."""
        found: dict[int, list[int]] = {}
        for c in self.used:
            if c < len(self.case.owner):
                found.setdefault(self.case.owner[c], []).append(c)
        return found

    def amount(self, c: int) -> Interval:
        """Where the amount of a column lies, over 2**bits; exact of those that are fixed."""
        return self.system.value({self.place[c]: 1})

    def below(self) -> list[int]:
        """Columns of tasks that are not known to hold 0 or more."""
        tasks = len(self.case.owner)
        return [c for c in self.place if c < tasks and self.amount(c).low < 0]

    @cached_property
    def kept(self) -> bool:
        """Whether all equations hold, and every rule; rows found to be just full are noted."""
        rows, right, shift = self.stated.rows, self.stated.right, self.claim.shift
        others = sorted(set(range(len(rows))).difference(self.claim.chosen))
        if self.below() or not all(self.follows.gives(rows[k], right[k]) for k in others):
            return False
        case, tasks = self.case, len(self.case.owner)
        one = 1 << self.system.bits
        open_ = set[int]().union(*case.open_)
        fixed = self.claim.fixed
        if any(c < tasks and (c not in open_ or v < 0) for c, v in fixed.items()):
            return False
        for c in self.place:
            low, high = self.amount(c)
            if c < tasks:
                if c not in open_:
                    return False
                continue
            least, most = case.low[c - tasks], case.high[c - tasks]
            if (least is not None and low < least * one) or (
                most is not None and high > most * one
            ):
                return False
        for f, (least, most) in enumerate(zip(case.low, case.high, strict=True)):
            v = fixed.get(tasks + f, Fraction(0))
            if tasks + f not in self.place and (
                (least is not None and v < least) or (most is not None and v > most)
            ):
                return False
        forms: list[Equation] = [{} for _ in case.rhs]
        left = [b << shift for b in case.rhs]
        for c, j in self.place.items():
            for k, a in case.column[c].items():
                forms[k][j] = a
        for c, whole in self.claim.whole.items():
            for k, a in case.column[c].items():
                left[k] -= a * whole
        for k, form in enumerate(forms):
            if k in self.full:
                continue
            here = self.system.value({j: -a for j, a in form.items()}, left[k])
            if here.low <= 0 and here.high >= 0 and self.follows.gives(form, left[k]):
                self.full.add(k)
            elif here.low < 0:
                return False
        if not all(self._above_floor(n) for n, least in enumerate(case.floor) if least):
            return False
        return self.targets is None or self.targets.kept

    def _above_floor(self, n: int) -> bool:
        """Whether a user is proved to hold its floor at least."""
        case = self.case
        return self.group[n] == FLOOR or self._order(n, case.level(n, case.floor[n])) in (0, 1)

    def _order(self, n: int, level: Fraction) -> int | None:
        """1, 0 or -1: the level of a user is above a number, that number or below; None where
        nothing is proved."""
        form, shift = {len(self.place) + self.group[n]: level.denominator}, self.system.shift
        here = self.system.value(form, -level.numerator << shift)
        if here.low > 0 or here.high < 0:
            return 1 if here.low > 0 else -1
        return 0 if self.follows.gives(form, level.numerator << shift) else None

    def level(self, n: int) -> Interval:
        """Where the level of a user lies, over 2**bits."""
        return self._levels[self.group[n]]

    @cached_property
    def _levels(self) -> list[Interval]:
        """Where each level lies."""
        first = len(self.place)
        return [self.system.value({first + g: 1}) for g in range(len(self.claim.groups))]

    def share(self, n: int) -> tuple[Fraction, Fraction]:
        """The least and the most that a user holds."""
        if self.group[n] < 0:
            least = self.case.floor[n] if self.group[n] == FLOOR else Fraction(0)
            return least, least
        cut = max(0, self.system.bits - DIGITS - 64)
        low, high = self.level(n)
        if low < 0 and self.follows.gives({len(self.place) + self.group[n]: 1}, 0):
            return self.case.base[n], self.case.base[n]
        while cut and low >> cut < 1 << DIGITS:
            cut = max(0, cut - 64)
        one = 1 << (self.system.bits - cut)
        ends = Fraction(max(low >> cut, 0), one), Fraction(-(-high >> cut), one)
        return self.case.due(n, ends[0]), self.case.due(n, ends[1])

    def equal(self, n: int, m: int) -> bool:
        """Whether two users of a class have the same level, and neither holds its floor."""
        if self.case.rank[n] != self.case.rank[m]:
            return False
        a, b = sorted((self.group[n], self.group[m]))
        if a == b:
            return True
        if (a, b) not in self._same:
            first = len(self.place)
            self._same[a, b] = self.follows.gives({first + a: 1, first + b: -1}, 0)
        return self._same[a, b]

    def together(self, users: Sequence[int]) -> int | None:
        """The user in whose round all of these are due what they hold; None where there is none."""
        if self.targets is not None:
            first = min(users, key=self.targets.claim.turn.__getitem__)
            return first if all(self.by_then(n, first) for n in users) else None
        case = self.case
        free = [n for n in users if self.group[n] >= 0]
        if not free:
            return min(users, key=lambda n: (case.rank[n], case.level(n, case.floor[n])))
        # whoever holds its floor is proved here if its turn comes no sooner
        others = [n for n in users if self.group[n] < 0]
        if all(self.equal(n, free[0]) for n in free) and all(
            self.by_then(free[0], n) for n in others
        ):
            return free[0]
        return None

    def by_then(self, n: int, m: int) -> bool:
        """Whether user n is due in the round of m what it is due in the end."""
        if self.group[n] == FLOOR:
            return True
        if self.targets is not None:
            return self.targets.by_then(n, m)
        case = self.case
        if case.rank[n] != case.rank[m]:
            return case.rank[n] < case.rank[m]
        if self.group[m] == FLOOR:
            return self._order(n, case.level(m, case.floor[m])) in (-1, 0)
        return self.level(n).high <= self.level(m).low or self.equal(n, m)


__all__ = ["TasksEnclosed"]
