"""Exact max-min levels from an answer in floats: which rows and columns its rounds mean, and the
tasks and prices that these determine, in fractions. `exact_levels.proved` judges what is found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import digits
from fairopt.certificates.exact_levels import ExactCase, ExactLevels, Prices, proved
from fairopt.certificates.exact_parts import NEARLY_TIED, Part, near, parts_of
from fairopt.certificates.levels import Order
from fairopt.certificates.lifted import Sparse, solved
from fairopt.certificates.meant.begun import of_levels, of_rounds
from fairopt.certificates.meant.just_full import by_rows
from fairopt.certificates.meant.lots import Lot, at_bounds, cleared, inside
from fairopt.certificates.meant.system import System
from fairopt.certificates.ruled.walk import PATH, path
from fairopt.errors import UsageError
from fairopt.formulas.entitled import Entitled, entitled
from fairopt.formulas.lowered import LIMIT
from fairopt.instance import Bools, remembered

MOST_COLUMNS = 1_000
"""most columns in use: some seconds"""
AT_FLOOR = 1e-11
"""part of its floor that a user who holds no more than that has above it at most"""
TURNS = 8
"""most times that columns or rows are left out"""


def exact_levels(alloc: Allocation) -> ExactLevels | None:
    """The levels of every max-min optimum in exact fractions; None where that is not proved.

    Only where an answer is looked for: its tasks and prices say which rows and columns determine
    the levels. What is found is proved in integers, without any rounding.

    Raises
    ------
    UsageError : another notion than max-min, groups, or an answer without level prices or rounds.
    """
    inst = alloc.instance
    if alloc.kind["name"] != "max-min":
        raise UsageError(f"exact levels: found {alloc.notion['name']}; wanted max-min")
    if not (inst.tree.flat and inst.linear and inst.start is None):
        raise UsageError(
            "exact levels: found groups, shares already had, or demand that bends; "
            "wanted none of these"
        )
    if alloc.rounds is None and (alloc.level_prices is None or not inst.plain):
        raise UsageError("exact levels: found no level prices; wanted an answer of max-min")
    return searched(alloc)


def searches(alloc: Allocation) -> Iterator[ExactSearch]:
    """Where an answer tells to look."""
    inst = alloc.instance
    with np.errstate(all="ignore"):
        system = System.of(alloc, np.maximum(alloc.shares, 0.0))
        asked = entitled(inst, alloc.score, alloc.kind)
        if alloc.rounds is None:
            lots = of_levels(system, alloc, remembered(alloc, "_order", lambda: Order(alloc)))
        else:
            lots = of_rounds(system, alloc, asked)
        others = by_rows(system, lots, *system.held(alloc))
        for told in (lots, *([] if others is None else [others])):
            # whose floor its target just meets may be at its floor, or on its way
            for met in (True, False) if asked.floor.any() else (True,):
                search = ExactSearch.of(system, alloc, told, asked, met)
                if search is not None:
                    yield search


def searched(alloc: Allocation) -> ExactLevels | None:
    """The levels of an answer without groups; None where nothing is proved."""
    if np.count_nonzero(alloc.by_way) > MOST_COLUMNS:
        return None
    for search in searches(alloc):
        with np.errstate(all="ignore"):
            found = search.found()
        if found is not None:
            level, rounds = found
            share = [search.case.due(n, t) for n, t in enumerate(level)]
            users = alloc.instance.users
            told = tuple([tuple([users[n] for n in each]) for each in rounds])
            return ExactLevels(tuple(level), tuple(share), told)
    return None


@dataclass(frozen=True)
class ExactSearch:
    """What is known of an answer.

    Parameters
    ----------
    lots : without prices that say nothing. parts : of each, bundles : of each with columns out of
    use that are as cheap.
    used : columns of tasks in use, and flows between their bounds. given : (P + F,) about the
        amounts. full : rows that may be full. floored : who holds no more than its floor.
    met : whether that is said of those, too, whose targets just meet their floors.
    """

    system: System
    case: ExactCase
    lots: Sequence[Lot]
    parts: list[list[Part]]
    bundles: list[list[Part]]
    cheap: list[Bools | None]
    used: list[int]
    given: list[Fraction]
    full: list[int]
    floored: set[int]
    met: bool

    @classmethod
    def of(
        cls, system: System, alloc: Allocation, lots: Sequence[Lot], asked: Entitled, met: bool
    ) -> ExactSearch | None:
        """From the lots of an answer; None where they do not tell of everybody."""
        low = system.low
        lots = sorted(lots, key=lambda lot: (lot.rank, lot.stage))
        columns, amount = system.held(alloc)
        amount = at_bounds(system, columns, amount)
        stage = np.where(system.some, len(lots), -1)
        for k, lot in enumerate(lots):
            stage[lot.users] = k
        if (stage == len(lots)).any():
            return None
        clear, keep = cleared(system, lots, stage, columns, amount)
        if clear is None:
            return None
        columns, amount = columns[keep], amount[keep]
        x = np.zeros(low.columns + len(low.low))
        x[columns] = amount
        x[: low.columns] *= system.tasks_unit[low.owner]
        flow = system.row_unit[
            low.matrix.tocsc().indices[low.matrix.tocsc().indptr[low.columns : -1]]
        ]
        x[low.columns :] *= flow
        used = columns[(columns < low.columns) | inside(system, columns, amount)]
        left = system.left(columns, digits.of(amount, 2))[0]
        full = np.flatnonzero(np.abs(left) <= NEARLY_TIED * system.size)
        floored = _floored(alloc, asked, met)
        limits = low.kind == LIMIT
        parts, bundles = list[list[Part]](), list[list[Part]]()
        cheap = list[Bools | None]()
        for k, lot in enumerate(clear):
            pays = (stage <= k) | floored
            value, near_by = near(system, lot, used)
            own = parts_of(system, lot, used, pays, value, None)
            # a limit is of all columns of its user, and of no others
            alone = limits[lot.price > 0].all()
            tied = own if alone else parts_of(system, lot, used, pays, value, near_by)
            parts.append(own)
            bundles.append(tied)
            cheap.append(near_by if any(len(part.rows) > 1 for part in tied) else None)
        return cls(
            system,
            ExactCase.of(alloc, low, asked),
            clear,
            parts,
            bundles,
            cheap,
            used.tolist(),
            [Fraction(v) for v in x.tolist()],
            full.tolist(),
            set(np.flatnonzero(floored).tolist()),
            met,
        )

    def found(self) -> tuple[list[Fraction], list[list[int]]] | None:
        """The levels (N,) and the users of each round; None where that is not proved."""
        amounts = self._tasks()
        if amounts is None:
            return None
        x, bottom = amounts
        share = zip(self.case.shares(x), self.case.unit, strict=True)
        level = [self.case.level(n, Fraction(s, u * bottom)) for n, (s, u) in enumerate(share)]
        prices = list[tuple[list[int], Prices]]()
        for lot, parts, cheap in zip(self.lots, self.bundles, self.cheap, strict=True):
            priced = []
            for part in parts:
                found = self._prices(lot, part, x, cheap)
                if found is None:
                    return None
                free = [level[n] for n in part.users if n not in self.floored]
                last = max(free or [min([level[n] for n in part.users], default=Fraction(-1))])
                priced.append((last, part.users, found))
            for last, users, _ in priced:
                if users:
                    prices.append((users, _sum([p for other, _, p in priced if other <= last])))
        return proved(self.case, x, bottom, prices)

    def _tasks(self) -> tuple[list[int], int] | None:
        """Numerators (P + F,) and the denominator of the amounts that the rounds determine."""
        case, used = self.case, self.used
        must = sorted({k for parts in self.parts for part in parts for k in part.rows})
        may = [k for k in self.full if k not in set(must)]
        free = [
            [n for n in part.users if n not in self.floored]
            for parts in self.parts
            for part in parts
        ]
        tied = [users for users in free if len(users) > 1]
        for _ in range(TURNS):
            place = {c: j for j, c in enumerate(used)}
            fixed = [c for c in range(len(case.owner), len(self.given)) if c not in place]
            scale = lcm(*[self.given[c].denominator for c in fixed])
            whole = {c: int(self.given[c] * scale) for c in fixed}
            rows, right = list[Prices](), list[Any]()
            own: dict[int, list[int]] = {}
            for c in used:
                if c < len(case.owner):
                    own.setdefault(case.owner[c], []).append(c)
            for j, users in enumerate(tied):
                for n in users:
                    w = case.weight[n]
                    row = {place[c]: case.score[c] * w.denominator for c in own.get(n, [])}
                    rows.append({**row, len(used) + j: -case.unit[n] * w.numerator})
                    right.append(case.base[n] * case.unit[n] * w.denominator * scale)
            for n in sorted(self.floored):
                rows.append({place[c]: case.score[c] for c in own.get(n, [])})
                right.append(case.floor[n] * case.unit[n] * scale)
            # numbers of two floats are over powers of two
            more = lcm(*[Fraction(b).denominator for b in right])
            scale, whole = scale * more, {c: v * more for c, v in whole.items()}
            right = [int(b * more) for b in right]
            for k in (*must, *may):
                row = case.row[k]
                rows.append({place[c]: a for c, a in row.items() if c in place})
                right.append(
                    case.rhs[k] * scale - sum([row[c] * v for c, v in whole.items() if c in row])
                )
            about = [self.given[c] * scale for c in used]
            for users in tied:
                n = users[0]
                t = sum((case.score[c] * self.given[c] for c in own.get(n, [])), Fraction(0))
                about.append(case.level(n, t / case.unit[n]) * scale)
            system = Sparse.of(rows, len(about))
            found = solved(system, right, about, len(rows) - len(may))
            if found is None:
                return None
            number, bottom = found
            if bottom < 0:
                number, bottom = [-v for v in number], -bottom
            gone = {
                c
                for c, v in zip(used, number[: len(used)], strict=True)
                if v < 0 and c < len(case.owner)
            }
            if not gone:
                x = [0] * len(self.given)
                for c, v in zip(used, number, strict=False):
                    x[c] = v
                for c, v in whole.items():
                    x[c] = v * bottom
                return x, bottom * scale
            used = [c for c in used if c not in gone]
        return None

    def _prices(
        self, lot: Lot, part: Part, x: Sequence[int], known: Bools | None
    ) -> dict[int, Fraction] | None:
        """The prices of a part, in units of those of its lot."""
        case, system = self.case, self.system
        tasks = len(case.owner)
        price = lot.price / system.row_unit
        rows, payers = part.rows, {n: j for j, n in enumerate(part.payers)}
        cheap = near(system, lot, self.used)[1] if known is None else known
        for _ in range(TURNS):
            about = {k: Fraction(float(price[k])) / self.unit(k) for k in rows}
            first = max(rows, key=lambda k: float(lot.price[k] * system.size[k]))
            place = {k: j for j, k in enumerate([k for k in rows if k != first])}
            must, may = list[int](), list[int]()
            for c in sorted({c for k in rows for c in case.row[k]}):
                if c >= tasks and c in set(self.used):
                    must.append(c)
                elif c >= tasks:
                    may += [c] if cheap[c] else []
                elif x[c]:
                    must.append(c)
                elif case.owner[c] in payers and cheap[c]:
                    may.append(c)
            size = len(place)
            equations, right = list[Prices](), list[int]()
            for c in (*must, *may):
                equation = {place[k]: a for k, a in case.column[c].items() if k in place}
                if c < tasks and case.owner[c] in payers:  # others' cost nothing
                    equation[size + payers[case.owner[c]]] = -case.score[c]
                equations.append(equation)
                right.append(-case.column[c].get(first, 0))
            given = [about[k] / about[first] for k in place]
            for n in part.payers:
                of = [c for c in must if c < tasks and case.owner[c] == n]
                given.append(
                    sum(
                        (a * about[k] for k, a in case.column[of[0]].items() if k in about),
                        Fraction(0),
                    )
                    / case.score[of[0]]
                    / about[first]
                    if of
                    else Fraction(1)
                )
            found = solved(Sparse.of(equations, len(given)), right, given, len(must))
            if found is None:
                return None
            number, bottom = found
            p = {first: about[first]}
            p.update({k: Fraction(number[j], bottom) * about[first] for k, j in place.items()})
            if min(p.values()) >= 0:
                return p
            rows = [k for k in rows if p[k] > 0]
        return None

    def unit(self, k: int) -> Fraction:
        """What row k was multiplied by in integers."""
        matrix = self.system.low.matrix.tocsr()
        c = int(matrix.indices[matrix.indptr[k]])
        return Fraction(self.case.row[k][c]) / Fraction(float(matrix.data[matrix.indptr[k]]))


def _floored(alloc: Allocation, asked: Entitled, met: bool) -> Bools:
    """(N,) who holds no more than its floor, and would be due less without, or as much if `met`."""
    found = (asked.floor > 0) & (alloc.shares <= asked.floor * (1 + AT_FLOOR))
    if met or not found.any():
        return np.asarray(found)
    for stop in remembered(alloc, PATH, lambda: path(alloc, asked))[0]:
        target = stop.reached.start.target[asked.tree.leaf] + asked.base
        found[stop.users] &= (target < asked.floor * (1 - AT_FLOOR))[stop.users]
    return np.asarray(found)


def _sum(prices: Sequence[dict[int, Fraction]]) -> Prices:
    """The sum of prices, as integers."""
    found: dict[int, Fraction] = {}
    for each in prices:
        for k, p in each.items():
            found[k] = found.get(k, Fraction(0)) + p
    scale = lcm(*[p.denominator for p in found.values()])
    return {k: int(p * scale) for k, p in found.items() if p}


__all__ = ["ExactSearch", "exact_levels", "searched", "searches"]
