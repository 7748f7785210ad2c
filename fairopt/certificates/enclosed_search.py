"""Max-min levels enclosed, from an answer in floats: which equations its rounds mean.

`exact_search` writes the fractions out; here only the equations that determine them are looked for,
so that many columns may be in use. `enclosed_levels` and `enclosed_prices` judge what is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairopt import clock
from fairopt.allocation import Allocation
from fairopt.certificates.enclosed import Equation
from fairopt.certificates.enclosed_levels import FLOOR, TasksClaim, TasksEnclosed
from fairopt.certificates.enclosed_prices import Judge, PricesClaim, PricesEnclosed
from fairopt.certificates.exact_parts import Part, near
from fairopt.certificates.exact_search import TURNS, ExactSearch, searches
from fairopt.certificates.follows import normal
from fairopt.certificates.groups_claim import ROOT, GroupsClaim
from fairopt.certificates.groups_told import GroupsTold, of_parts
from fairopt.certificates.meant.lots import Lot
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import lower
from fairopt.instance import Bools, Floats

COLUMNS, ENTRIES = 20_000, 20_000_000
"""most columns in use, and most of them times rows that several of them share: some seconds"""
WORK = 100_000_000
"""most eligible pairs times rounds"""
RANK = 1e-10
"""part of an equation, measured at the answer, that others leave of it, and which counts as none"""
EARLIER = 300
"""binary digits by which one round is before another"""
SMALL = 1e-6
"""part of a row by which flows near 0 are measured"""


class EnclosedLevels(NamedTuple):
    """Shares (N,) of every max-min optimum, between two fractions each; first: users who may be
    those of the lowest level."""

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    first: tuple[int, ...]


def enclosed_levels(alloc: Allocation) -> EnclosedLevels | None:
    """The levels of an answer; None where nothing is proved."""
    if not few(alloc) or clock.late():
        return None
    for search in searches(alloc):
        with np.errstate(all="ignore"):
            told = None
            if not alloc.instance.tree.flat:
                asked = entitled(alloc.instance, alloc.score, alloc.kind)
                told = GroupsTold.of(alloc, asked, search.case, search.met)
                if told is None:
                    return None
            found = _found(search, told)
        if found is not None:
            return found
    return None


def few(alloc: Allocation) -> bool:
    """Whether an answer is small enough to look for its levels."""
    columns = int(np.count_nonzero(alloc.by_way))
    told = alloc.level_prices if alloc.rounds is None else alloc.rounds
    pairs = int(np.count_nonzero(alloc.instance.ways.eligible))
    if columns > COLUMNS or pairs * (0 if told is None else len(told)) > WORK:
        return False
    low = lower(alloc.instance, alloc.score)
    used = np.flatnonzero(alloc.by_way[low.way, low.server])
    both = low.matrix.tocsc()[:, np.append(used, np.arange(low.columns, low.matrix.shape[1]))]
    shared = int((np.bincount(both.indices, minlength=len(low.rhs)) > 1).sum())
    return columns * shared <= ENTRIES


def _found(search: ExactSearch, told: GroupsTold | None) -> EnclosedLevels | None:
    held = _tasks(search) if told is None else _in_groups(search, told)
    if held is None or not held.kept:
        return None
    parts = list[PricesEnclosed]()
    for lot, each in zip(search.lots, search.bundles, strict=True):
        cheap = None
        for part in each:
            if len(part.rows) > 1 and cheap is None:
                cheap = near(search.system, lot, search.used)[1]
            found = _prices(search, held, lot, part, cheap)
            if found is None:
                return None
            parts.append(found)
    if not Judge(held).proved(parts):
        return None
    low, high = zip(*[held.share(n) for n in range(len(held.group))], strict=True)
    if any(most > 0 and not least for least, most in zip(low, high, strict=True)):
        return None  # nothing and next to nothing are not told apart
    case = held.case
    if held.claim.targets is not None:
        rounds = held.claim.targets.rounds  # none where nobody may hold anything
        return EnclosedLevels(low, high, tuple(rounds[0].users) if rounds else ())
    least = min([(r, case.level(n, high[n])) for n, r in enumerate(case.rank)])
    first = [n for n, r in enumerate(case.rank) if (r, case.level(n, low[n])) <= least]
    return EnclosedLevels(low, high, tuple(first))


def _in_groups(search: ExactSearch, told: GroupsTold) -> TasksEnclosed | None:
    """The same in groups, where what nothing connects is stopped in an order of its own."""
    rounds = told.rounds(search.lots, search.parts)
    for _ in range(TURNS):
        claim, levels, own = told.claim(rounds)
        held = _tasks(search, claim, levels)
        if held is None:
            return None
        one = held.system
        at = [one.middle[len(held.place) + claim.level[j, ROOT]] for j in own]
        cut = max(0, one.bits - EARLIER)
        keys = [(claim.rank_of(j), v >> cut) for j, v in zip(own, at, strict=True)]
        order = sorted(range(len(rounds)), key=keys.__getitem__)
        if order == list(range(len(rounds))):
            return held
        rounds = [rounds[j] for j in order]
    return None


def _tasks(
    search: ExactSearch, targets: GroupsClaim | None = None, levels: Sequence[float] = ()
) -> TasksEnclosed | None:
    """The tasks that rounds determine, each 0 or more; None where there are none.

    Parameters
    ----------
    targets : in groups, the rounds. levels : about what their levels are, 0 or more.
    """
    case, used, tasks = search.case, search.used, len(search.case.owner)
    if targets is None:
        both = zip(search.lots, search.parts, strict=True)
        told = [users for lot, parts in both for users in of_parts(lot, parts)]
        groups = [[n for n in users if n not in search.floored] for users in told]
        groups, floored = [users for users in groups if users], sorted(search.floored)
    else:
        groups, floored = targets.users, targets.floored
    links = [] if targets is None else _tangents(targets, levels)
    if sum(map(len, groups)) > len(case.open_):
        return None
    must = sorted({k for parts in search.parts for part in parts for k in part.rows})
    priced = set(must)
    may = [k for k in search.full if k not in priced]
    given = np.array([float(v) for v in search.given])
    for _ in range(TURNS):
        flows = [c for c in range(tasks, len(given)) if c not in set(used)]
        pinned = _pinned(search, used, must)
        here = [c for c in used if c not in pinned]
        # a row of nothing but these is an equation between numbers
        rows_of = [k for k in (*must, *may) if not case.row[k].keys().isdisjoint(here)]
        most = sum(k in priced for k in rows_of)
        of = (groups, floored)
        matrix, size, ties = _matrix(search, here, given, of, rows_of, links, levels)
        # a user of no column tells the level of its group alone
        known = {g: n for g, users in enumerate(groups) for n in users if ties[n] is None}
        matrix[:, [len(here) + g for g in known]] = 0.0
        rows, columns = _chosen(matrix, len(links) + most)
        # each user of a group whose tasks its level determines has a column that stands for it
        homes = [c for c in ties.values() if c is not None]
        basis = sorted([*homes, *[c for c in columns if c < len(here)]])
        if len(columns) - len(basis) + len(homes) + len(known) < len(groups):
            return None  # a level that nothing determines
        # equations: of each user, then of each row
        order = [n for users in (*groups, floored) for n in users]
        chosen = [k for k, n in enumerate(order) if ties[n] is not None or n in known.values()]
        mine = [rows_of[k - len(links)] for k in rows if k >= len(links)]
        full = [*[k for k in rows_of if k in priced], *[k for k in mine if k not in priced]]
        chosen += [len(order) + full.index(k) for k in mine]
        chosen += [len(order) + len(full) + k for k in rows if k < len(links)]
        kept = {here[c] for c in basis}
        fixed = {c: search.given[c] for c in (*flows, *here) if c not in kept and search.given[c]}
        fixed |= {c: v for c, v in pinned.items() if v}
        about = [float(size[c]) for c in (*basis, *range(len(here), len(size)))]
        unknown = [here[c] for c in basis]
        near = [*given[unknown].tolist(), *levels] if len(levels) else []
        claim = TasksClaim(unknown, fixed, groups, floored, full, chosen, about, targets, near)
        held = TasksEnclosed.of(case, claim)
        if held is None:
            return None
        gone = set(held.below())
        if not gone:
            return held
        used = [c for c in used if c not in gone]
    return None


def _pinned(search: ExactSearch, used: Sequence[int], rows: Sequence[int]) -> dict[int, Fraction]:
    """Of used columns of tasks that are alone in a row with a price, as at a limit, how many tasks
    that is, where that is a float."""
    case, mine, found = search.case, set(used), dict[int, Fraction]()
    for k in rows:
        both = [c for c in case.row[k] if c in mine]
        if len(both) == 1 and both[0] < len(case.owner) and both[0] not in found:
            row, tasks = case.row[k], len(case.owner)
            lent = sum([a * search.given[c] for c, a in row.items() if c >= tasks], Fraction(0))
            value = (case.rhs[k] - lent) / row[both[0]]
            if value > 0 and not value.denominator & (value.denominator - 1):
                found[both[0]] = value
    return found


def _tangents(targets: GroupsClaim, levels: Sequence[float]) -> list[dict[int, float]]:
    """Links between levels as they are near these, in floats below 1."""
    found = list[dict[int, float]]()
    for k, (link, _) in enumerate(targets.links):
        top = 1 << max([a.bit_length() for a in link.values()])
        row = {g: a / top for g, a in link.items()}
        for f, a, b in targets.products.get(k, []):
            for one, other in ((a, b), (b, a)):
                row[one] = row.get(one, 0.0) + f * levels[other] / top
        found.append(row)
    return found


def _matrix(
    search: ExactSearch,
    used: Sequence[int],
    given: Floats,
    of: tuple[Sequence[Sequence[int]], Sequence[int]],
    rows: Sequence[int],
    links: Sequence[Mapping[int, float]],
    levels: Sequence[float],
) -> tuple[Floats, Floats, dict[int, int | None]]:
    """Equations in floats between used columns and levels of groups, each in its size: links
    between levels, then rows, from which a column of each user is eliminated; sizes; the place of
    that column, None of users of no column.

    Parameters
    ----------
    of : users of each level, and who holds its floor.
    """
    groups, floored = of
    case, system, tasks = search.case, search.system, len(search.case.owner)
    matrix = system.low.matrix.tocsr()[np.array(rows, dtype=np.int64)][:, used].toarray()
    size, at = np.abs(given[list(used)]), np.array(used)
    most = system.size[list(rows)] * system.row_unit[list(rows)]
    for j in np.flatnonzero(at >= tasks).tolist():
        some = np.flatnonzero(matrix[:, j])
        room = float((most[some] / np.abs(matrix[some, j])).min()) if len(some) else 1.0
        size[j] = max(size[j], SMALL * room)
    own: dict[int, list[int]] = {}
    for j, c in enumerate(used):
        if c < tasks:
            own.setdefault(case.owner[c], []).append(j)
    worth = np.array([case.score[c] / case.unit[case.owner[c]] if c < tasks else 0.0 for c in used])
    worth = worth * size
    level = np.array([v if v > 0 else 1.0 for v in levels] or np.ones(len(groups)))
    for g, users in enumerate(() if len(levels) else groups):
        held = [(n, Fraction(float(worth[own.get(n, [])].sum()))) for n in users]
        t = max([float(case.level(n, share)) for n, share in held])
        level[g] = t if t > 0 else 1.0
    matrix = np.hstack([matrix * size, np.zeros((len(rows), len(groups)))])
    matrix /= np.maximum(np.abs(matrix).max(axis=1, initial=0.0), 1e-300)[:, None]
    ties: dict[int, int | None] = {}
    for g, users in [*enumerate(groups), (FLOOR, floored)]:
        for n in users:
            mine = own.get(n)
            if mine is None:
                ties[n] = None
                continue
            home = ties[n] = max(mine, key=lambda j: worth[j])
            for j in mine:
                if j != home:
                    matrix[:, j] -= matrix[:, home] * (worth[j] / worth[home])
            if g != FLOOR:
                part = level[g] * float(case.weight[n]) / worth[home]
                matrix[:, len(used) + g] += matrix[:, home] * part
            matrix[:, home] = 0.0
    linked = np.zeros((len(links), matrix.shape[1]))
    for row, link in zip(linked, links, strict=True):
        for g, a in link.items():
            row[len(used) + g] = a * level[g]
    return np.vstack([linked, matrix]), np.concatenate([size, level]), ties


def _chosen(matrix: Floats, must: int) -> tuple[list[int], list[int]]:
    """Rows, those first that must hold, and columns of a regular part: of each row the column of
    which most is left."""
    left, rows, columns = matrix.copy(), list[int](), list[int]()
    top = np.maximum(np.abs(left).max(axis=1, initial=0.0), 1e-300)
    left /= top[:, None]
    for start, end in ((0, must), (must, len(left))):
        for row in range(start, end):
            at = int(np.argmax(np.abs(left[row]))) if left.shape[1] else 0
            if not left.shape[1] or not abs(left[row, at]) > RANK:
                continue
            rows.append(row)
            columns.append(at)
            below = row + 1 + np.flatnonzero(left[row + 1 :, at])
            some = np.flatnonzero(left[row])
            factor = left[below, at] / left[row, at]
            left[np.ix_(below, some)] -= factor[:, None] * left[row, some]
            left[below, at] = 0.0
    return rows, columns


def _prices(
    search: ExactSearch, held: TasksEnclosed, lot: Lot, part: Part, cheap: Bools | None
) -> PricesEnclosed | None:
    """The prices of a part, in units of those of its lot."""
    case, system, tasks = search.case, search.system, len(search.case.owner)
    price = lot.price / system.row_unit
    used = [*held.place, *held.claim.fixed]
    payers, rows = set(part.payers), list(part.rows)
    home: dict[int, int] = {}
    for c in used:
        if c < tasks and case.owner[c] in payers:
            home.setdefault(case.owner[c], c)
    if none := sorted(n for n in payers.difference(home) if case.open_[n]):
        cost = system.columns.cost(lot.price)
        for n in none:  # who holds nothing pays where it would pay least
            home[n] = min(case.open_[n], key=lambda c: cost[c] / system.columns.score[c])
    for _ in range(TURNS):
        about = {k: Fraction(float(price[k])) / search.unit(k) for k in rows}
        first = max(rows, key=lambda k: float(lot.price[k] * system.size[k]))
        size = {k: float(about[k] / about[first]) for k in rows}
        others = [k for k in rows if k != first]
        touched = {c for k in rows for c in case.row[k]}
        must = [c for c in used if c in touched and (c < tasks or c in held.place)]
        may = list[int]()
        if cheap is not None:
            may = [c for c in sorted(touched.difference(used)) if cheap[c]]
            may = [c for c in may if c >= tasks or case.owner[c] in home]
        claim = PricesClaim(
            others,
            {first: Fraction(1)},
            home,
            part.users,
            [],
            [size[k] for k in others],
            about[first],
        )
        columns, matrix, most = _equations(held, claim, must, may)
        chosen, places = _chosen(matrix, most)
        claim = replace(claim, chosen=[columns[k] for k in chosen])
        if len(chosen) < len(others):  # what nothing determines is kept as it is
            known = [others[j] for j in sorted(places)]
            fixed = {k: Fraction(size[k]) for k in rows if k not in set(known)}
            claim = replace(claim, rows=known, fixed=fixed, about=[size[k] for k in known])
        found = PricesEnclosed.of(held, claim)
        if found is None:
            return None
        gone = set(found.below())
        if not gone:
            return found
        rows = [k for k in rows if k not in gone]
    return None


def _equations(
    held: TasksEnclosed, claim: PricesClaim, must: Sequence[int], may: Sequence[int]
) -> tuple[list[int], Floats, int]:
    """Columns whose equations differ, these in floats, each price in its size, and how many of the
    first must hold."""
    known, columns, forms = set[tuple[tuple[int, int], ...]](), list[int](), list[Equation]()
    for c in (*must, *may):
        form, last = claim.form(held.case, c)
        key = normal(form, last)
        if key and form and key not in known:
            known.add(key)
            columns.append(c)
            forms.append(form)
    most = len(set(must).intersection(columns))
    matrix = np.zeros((len(forms), len(claim.rows)))
    for row, form in zip(matrix, forms, strict=True):
        top = max([a.bit_length() for a in form.values()])
        for j, a in form.items():
            row[j] = a / (1 << top) * claim.about[j]
    return columns, matrix, most


__all__ = ["EnclosedLevels", "enclosed_levels", "few"]
