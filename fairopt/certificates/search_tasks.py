"""Which equations determine the tasks that rounds mean; `enclosed_levels` judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from fairopt.certificates.enclosed_levels import FLOOR, TasksEnclosed
from fairopt.certificates.exact_search import TURNS, ExactSearch
from fairopt.certificates.groups_claim import GroupsClaim
from fairopt.certificates.groups_told import of_parts
from fairopt.certificates.tasks_claim import TasksClaim
from fairopt.instance import Floats, Ints

RANK = 1e-10
"""part of an equation, measured at the answer, that others leave of it, and which counts as none"""
MANY_COLUMNS, FEW_EACH = 3_000, 6
"""used columns from which only some are to be determined; of each user and row so many at first"""
SMALL = 1e-6
"""part of a row by which flows near 0 are measured"""


def tasks_of(
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
        now = set(here)
        rows_of = [k for k in (*must, *may) if not case.row[k].keys().isdisjoint(now)]
        most = sum(k in priced for k in rows_of)
        of = (groups, floored)
        here = _large(search, here, given, rows_of) if len(here) > MANY_COLUMNS else here
        matrix, size, ties = _matrix(search, here, given, of, rows_of, links, levels)
        # a user of no column tells the level of its group alone
        known = {g: n for g, users in enumerate(groups) for n in users if ties[n] is None}
        matrix[:, [len(here) + g for g in known]] = 0.0
        rows, columns = regular_part(matrix, len(links) + most)
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
        fixed = {c: search.given[c] for c in (*flows, *used) if c not in kept and search.given[c]}
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


def at_most(columns: int, users: int, rows: int) -> int:
    """Of columns in use how many are looked at, at most."""
    return columns if columns <= MANY_COLUMNS else min(columns, FEW_EACH * (users + rows))


def _large(
    search: ExactSearch, used: Sequence[int], given: Floats, rows: Sequence[int]
) -> list[int]:
    """Of used columns all flows, and those of most tasks of each user and of each row: levels
    mostly determine these, others being as they are."""
    low, tasks = search.system.low, len(search.case.owner)
    at = np.array(used)
    columns = at[at < tasks]
    part = low.matrix.tocsr()[np.array(rows)][:, columns].tocoo()
    (row, place), paid = part.coords, np.abs(part.data) * given[columns[part.coords[1]]]
    worth, every = low.score[columns] * given[columns], np.arange(len(columns))
    found = {
        *_first(row, paid, place, FEW_EACH),
        *_first(low.owner[columns], worth, every, FEW_EACH),
    }
    keep = {int(columns[j]) for j in found}
    return [c for c in used if c >= tasks or c in keep]


def _first(of: Ints, size: Floats, what: Ints, most: int) -> list[int]:
    """Of each `of` the `what` of the largest sizes."""
    order = np.lexsort((-size, of))
    begin = np.searchsorted(of[order], of[order], side="left")
    found: list[int] = np.unique(what[order][np.arange(len(order)) - begin < most]).tolist()
    return found


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


def regular_part(matrix: Floats, must: int) -> tuple[list[int], list[int]]:
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


__all__ = ["at_most", "regular_part", "tasks_of"]
