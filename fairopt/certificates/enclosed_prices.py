"""Prices that equations determine, each enclosed, and what they prove of enclosed tasks.

At the prices of a part of a round only full rows cost, whoever is stopped by
then runs where a unit of its share costs least, and whoever is stopped later where nothing costs.
What is dearer by far more than all roundings of a float is seen in floats, anything else in the
integers that enclose prices; what costs just as much follows from the equations in integers. Prices
of few digits that equations give one after another are written out, and compared as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, ldexp

import numpy as np

from fairopt.certificates.enclosed import Equation, Regular
from fairopt.certificates.enclosed_levels import TasksEnclosed
from fairopt.certificates.exact_case import ExactCase
from fairopt.certificates.follows import Follows, normal
from fairopt.instance import Bools, Floats, Ints

CLEAR = 1e-10
"""part of all that is paid by which something is dearer for sure, however floats are rounded: sums
have fewer than 10,000 terms"""
SHARP = 60
"""binary digits to which prices are to be known where floats tell what is dearer"""
SPREAD = 400
"""powers of two between prices, between entries of a row and between scores of a user, up to which
floats tell"""


SHORT = 10_000
"""binary digits of what prices that are written out are over, at most"""
NONE = Fraction(0)


@dataclass(frozen=True)
class PricesClaim:
    """Equations that are to determine prices of a part of a round.

    Parameters
    ----------
    rows : whose prices they determine. fixed : prices of others, above 0.
    home : of each user who pays, a column where it pays as much as where it runs; all others pay
        nothing.
    users : of a round, whom the prices are to prove; maybe nobody.
    chosen : columns whose equations are regular, those of all others in use follow.
    about : (K,) of prices, above 0. scale : of all of them, beside those of other parts.
    """

    rows: Sequence[int]
    fixed: Mapping[int, Fraction]
    home: Mapping[int, int]
    users: Sequence[int]
    chosen: Sequence[int]
    about: Sequence[float]
    scale: Fraction

    @cached_property
    def shift(self) -> int:
        """Right sides are over two to this power."""
        return max([v.denominator.bit_length() - 1 for v in self.fixed.values()], default=0)

    @cached_property
    def _place(self) -> dict[int, int]:
        return {k: j for j, k in enumerate(self.rows)}

    @cached_property
    def _whole(self) -> dict[int, int]:
        return {k: int(v * 2**self.shift) for k, v in self.fixed.items()}

    def form(self, case: ExactCase, c: int) -> tuple[Equation, int]:
        """What a task, or a unit of flow, costs above what its user pays for as much share, times
        the score of its home: multiples of prices, and a number over 2**shift."""
        entries: dict[int, int] = case.column[c]
        home = self.home.get(case.owner[c]) if c < len(case.owner) else None
        if home is not None:
            times, score = case.score[home], case.score[c]
            entries = {k: a * times for k, a in entries.items()}
            for k, a in case.column[home].items():
                entries[k] = entries.get(k, 0) - a * score
        place, whole = self._place, self._whole
        form = {place[k]: a for k, a in entries.items() if a and k in place}
        return form, sum([a * whole[k] for k, a in entries.items() if k in whole])


@dataclass(frozen=True)
class PricesEnclosed:
    """Prices of a part, all above 0 or 0, on full rows; whoever pays runs where it pays alike."""

    held: TasksEnclosed
    claim: PricesClaim
    system: Regular

    @classmethod
    def of(cls, held: TasksEnclosed, claim: PricesClaim) -> PricesEnclosed | None:
        """None where equations are not regular."""
        shape = len(claim.chosen), len(claim.about), len(set(claim.rows) - claim.fixed.keys())
        if shape != (len(claim.rows),) * 3:
            return None
        if any(v.denominator & (v.denominator - 1) for v in claim.fixed.values()):
            return None
        if claim.scale <= 0:
            return None
        forms = [claim.form(held.case, c) for c in claim.chosen]
        rows, right = [form for form, _ in forms], [-last for _, last in forms]
        system = Regular.of(rows, right, claim.shift, claim.about)
        return None if system is None else cls(held, claim, system)

    @cached_property
    def follows(self) -> Follows:
        """What follows from the equations."""
        return Follows(self.system)

    @cached_property
    def written(self) -> tuple[dict[int, int], int] | None:
        """Prices by row and what they are over; None where they have too many digits, or equations
        do not give them one after another."""
        given = self.system.written
        if given is None:
            return None
        price = {**self.claim.fixed, **dict(zip(self.claim.rows, given, strict=True))}
        bottom = lcm(*[v.denominator for v in price.values()])
        if bottom.bit_length() > SHORT:
            return None
        return {k: int(v * bottom) for k, v in price.items()}, bottom

    @cached_property
    def _cost(self) -> dict[int, int]:
        """What columns cost at prices that are written out, those left out nothing."""
        found = dict[int, int]()
        price = {} if self.written is None else self.written[0]
        for k, p in price.items():
            for c, a in self.held.case.row[k].items():
                found[c] = found.get(c, 0) + a * p
        return found

    def _more(self, c: int) -> int:
        """What a column costs above what its user pays for as much share, times the score of its
        home, at prices that are written out."""
        case, cost = self.held.case, self._cost.get(c, 0)
        home = self.claim.home.get(case.owner[c]) if c < len(case.owner) else None
        if home is None:
            return cost
        return cost * case.score[home] - self._cost.get(home, 0) * case.score[c]

    def below(self) -> list[int]:
        """Rows whose prices are not known to be 0 or more."""
        each = zip(self.claim.rows, self.system.middle, self.system.wide, strict=True)
        return [k for k, middle, wide in each if middle < wide]

    @cached_property
    def kept(self) -> bool:
        """Whether prices are of full rows and not below 0, and all in use pays what is claimed."""
        held, claim, case = self.held, self.claim, self.held.case
        tasks, used = len(case.owner), held.used
        priced = [*claim.rows, *claim.fixed]
        if self.below() or claim.scale <= 0 or any(v < 0 for v in claim.fixed.values()):
            return False
        if not held.full.issuperset(priced):
            return False
        if any(c not in case.open_[n] for n, c in claim.home.items()):
            return False
        touched = {c for k in priced for c in case.row[k]}
        mine = [c for c in touched if c in used and (c < tasks or c in held.place)]
        for n in claim.home:
            mine.extend([c for c in held.own.get(n, ()) if c not in touched])
        if self.written is not None:
            return not any(map(self._more, mine))
        known = {normal(*claim.form(case, c)) for c in claim.chosen}
        # those chosen are of columns in use, or out of use and as cheap: all hold
        for c in mine:
            form, last = claim.form(case, c)
            key = normal(form, last)
            if key and key not in known:
                if not self.follows.gives(form, -last):
                    return False
                known.add(key)
        return True

    def over(self, c: int) -> tuple[Fraction, Fraction]:
        """Least and most that a column costs above what its user pays for as much share, beside
        prices of other parts."""
        case = self.held.case
        home = self.claim.home.get(case.owner[c]) if c < len(case.owner) else None
        unit = 1 if home is None else case.score[home]
        if self.written is not None:
            more = self._more(c)
            exact = Fraction(more, self.written[1]) * self.claim.scale / unit if more else NONE
            return exact, exact
        form, last = self.claim.form(case, c)
        low, high = self.system.value(form, last)
        if low < 0 <= high and self.follows.gives(form, -last):
            return NONE, NONE
        one = 1 << self.system.bits
        scale = self.claim.scale / unit
        return Fraction(low, one) * scale, Fraction(high, one) * scale

    def prices(self) -> dict[int, tuple[float, int]] | None:
        """A float and a power of two for each price; None where they are not known so well."""
        found = {}
        each = zip(self.claim.rows, self.system.middle, self.system.wide, strict=True)
        for k, middle, wide in each:
            if middle < wide << SHARP:
                return None
            found[k] = _split(self.claim.scale * Fraction(middle, 1 << self.system.bits))
        for k, v in self.claim.fixed.items():
            found[k] = _split(self.claim.scale * v)
        return found


def _split(value: Fraction) -> tuple[float, int]:
    """A number as a float, about 1, and a power of two."""
    up = value.numerator.bit_length() - value.denominator.bit_length()
    return float(value / 2**up if up >= 0 else value * 2**-up), up


class Judge:
    """What prices of parts prove of tasks that keep every rule."""

    def __init__(self, held: TasksEnclosed) -> None:
        self.held, case = held, held.case
        tasks = len(case.owner)
        self.owner: Ints = np.array(case.owner, dtype=np.int64)
        top = [1] * len(case.open_)
        for n, u in zip(case.owner, case.score, strict=True):
            top[n] = max(top[n], u)
        self.score: Floats = np.array(
            [u / top[n] for n, u in zip(case.owner, case.score, strict=True)]
        )
        self.open_: Bools = np.zeros(tasks, dtype=bool)
        self.open_[[c for each in case.open_ for c in each]] = True
        self.used: Bools = np.zeros(tasks, dtype=bool)
        self.used[[c for c in (*held.place, *held.claim.fixed) if c < tasks]] = True
        self._rows: dict[int, tuple[Ints, Floats, int]] = {}

    def proved(self, parts: Sequence[PricesEnclosed]) -> bool:
        """Whether everybody who may hold anything is proved to be due what it holds."""
        if not self.held.kept or not all(part.kept for part in parts):
            return False
        done = set[int]()
        for part in parts:
            users = part.claim.users
            if not users:
                continue
            if not self._prove(users, [part]):
                last = self.held.together(users)
                if last is None:
                    return False
                before = [
                    each
                    for each in parts
                    if each is not part and all(self.held.by_then(n, last) for n in each.claim.home)
                ]
                if not before or not self._prove(users, [part, *before]):
                    return False
            done.update(users)
        return all(n in done for n, columns in enumerate(self.held.case.open_) if columns)

    def _prove(self, users: Sequence[int], parts: Sequence[PricesEnclosed]) -> bool:
        """Whether prices of the first part, with those of others, prove its users."""
        held, case = self.held, self.held.case
        last, tasks = held.together(users), len(case.owner)
        home: dict[int, int] = {}
        for part in parts:
            home.update(part.claim.home)
        if last is None or not home.keys() >= set(users):
            return False
        if not all(held.by_then(n, last) for n in home):
            return False
        priced = self._cost(parts)
        if priced is None or self.score.min() < 2.0**-SPREAD:
            return False
        cost, gross = (sum(each) for each in zip(*priced, strict=True))
        who = np.array([*home])
        value, most = np.zeros(len(case.open_)), np.zeros(len(case.open_))
        # at the prices of each part what its own home costs: one that holds nothing may be dearer
        # at those of another
        for part, (own, paid) in zip(parts, priced, strict=True):
            n, where = np.array([*part.claim.home], dtype=np.int64), [*part.claim.home.values()]
            value[n] += own[where] / self.score[where]
            most[n] += paid[where] / self.score[where]
        if (value[who] <= CLEAR * most[who]).any():  # the share of whoever pays costs something
            return False
        pays = most[self.owner] * self.score
        over = cost[:tasks] - value[self.owner] * self.score
        near = self.open_ & ~self.used & (over <= CLEAR * (gross[:tasks] + pays))
        near &= (gross[:tasks] > 0) | (pays > 0)
        for c in np.flatnonzero(near).tolist():
            if sum([part.over(c)[0] for part in parts]) < 0:
                return False
        for c in (tasks + np.flatnonzero(gross[tasks:])).tolist():
            low, high = case.low[c - tasks], case.high[c - tasks]
            amount = held.claim.fixed.get(c, Fraction(0))
            if c in held.place or (low is not None and low == high):
                continue
            ends = [part.over(c) for part in parts]
            least, top = (sum([each[k] for each in ends]) for k in (0, 1))
            # one that costs is at its low end, one that brings at its high one
            if (top > 0 and amount != low) or (least < 0 and amount != high):
                return False
        return True

    def _cost(self, parts: Sequence[PricesEnclosed]) -> list[tuple[Floats, Floats]] | None:
        """For each part (P + F,) what columns cost, and all that is paid for and by them; None
        where floats do not tell."""
        size = len(self.held.case.column)
        rows = list[tuple[int, int, float, int]]()
        for i, part in enumerate(parts):
            prices = part.prices()
            if prices is None:
                return None
            rows.extend([(i, k, p, up + self._row(k)[2]) for k, (p, up) in prices.items()])
        top, bottom = (f([up for *_, up in rows]) for f in (max, min))
        least = min([float(np.abs(self._row(k)[1]).min(initial=1.0)) for _, k, _, _ in rows])
        if top - bottom > SPREAD or least < 2.0**-SPREAD:
            return None
        found = [(np.zeros(size), np.zeros(size)) for _ in parts]
        for i, k, p, up in rows:
            column, entry, _ = self._row(k)
            paid = entry * ldexp(p, up - top)
            cost, gross = found[i]
            cost[column] += paid
            gross[column] += np.abs(paid)
        return found

    def _row(self, k: int) -> tuple[Ints, Floats, int]:
        """Columns and entries of a row, over a power of two."""
        if k not in self._rows:
            row = self.held.case.row[k]
            up = max([a.bit_length() for a in row.values()], default=0)
            entry = np.array([a / (1 << up) for a in row.values()])
            self._rows[k] = np.array([*row], dtype=np.int64), entry, up
        return self._rows[k]


__all__ = ["Judge", "PricesClaim", "PricesEnclosed"]
