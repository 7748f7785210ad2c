r"""One Newton step towards the conditions of `search`: what is missing, and the linear system.

.. math:: \begin{pmatrix} R & A^T & -U^T \\ A & -\rho & \\ -U & & -T \end{pmatrix}
   \begin{pmatrix} dz \\ dp \\ dv \end{pmatrix} = \text{what is missing}

in units that make entries about 1; T = 1/alpha of free users, 0 of others; R a weak pull of
amounts to where they are, for columns that cost the same; rho a trifle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.certificates.by_entries import Entries, pieces
from fairopt.certificates.by_rows import LOOSE, Missing, by_rows, finite
from fairopt.certificates.by_wants import by_wants
from fairopt.certificates.pinned import left_out
from fairopt.certificates.places import Place, PlaceSums
from fairopt.certificates.question import Question
from fairopt.instance import Bools, Floats, Ints

LEAST_PART = 1e-5
"""part of its share for which a column counts at least, so that it can grow from nothing"""
TOGETHER, FAINT, FAINTER = 1e-12, 1e-22, 1e-30
"""R at most; at least with two floats, with more"""
FIRST, WHOLE, MORE = 150, 500, 500
"""unknowns up to which the matrix is formed whole: while steps bring the point nearer, of two
floats; once they do not; with more floats"""
SPARE = {2: 2.0**-94, **{k: 2.0 ** (-50 * k) for k in range(3, 17)}}
"""part of full rows and floors left free, so that none is overrun, by the number of floats"""
SMALL_PIVOT = 1e-3
"""part of its column that an entry of the diagonal is at least to be kept; and of the right side
that may be left"""
ROOMY = 2.0**12
"""so many times as much may be left of a row between nodes that lend"""
FLOOR = 16.0
"""floors are aimed at so much further, so that tasks can be scaled down"""

Step = tuple[Floats, Floats, Floats]
"""more of the columns that move, of the prices of rows (M,), of values (N,)"""


def missing(
    question: Question, place: Place, seen: PlaceSums, moves: Bools, full: Bools, end: Ints
) -> Missing | None:
    """What is missing at a place; None where a share or a value is not a number above 0."""
    columns, tasks = question.columns, question.columns.count
    if not all(np.isfinite(each).all() for each in (place.amount, place.value)):
        return None
    value, price, share = place.value[0], place.price[0], seen.rest.share
    parts = len(place.value)
    t = np.where(question.base > 0, seen.rest.above_least, share) if question.bounded else share
    fixed = end != 0
    if not ((value[~fixed] > 0).all() and (t[~fixed] > 0).all() and (share > 0).all()):
        return None
    value = np.where(value > 0, value, 1.0)
    move = np.flatnonzero(moves)
    held = place.columns[move]
    task = held < tasks
    all_tasks = bool(task.all())
    if all_tasks:
        n, worth = columns.owner(held), columns.worth(held)
    else:
        n, worth = np.full(len(held), -1), np.ones(len(held))
        n[task], worth[task] = columns.owner(held[task]), columns.worth(held[task])
    money = value * share
    if question.pulls is not None:
        money = np.maximum(money, _stiff(question, place, share))
    root = np.sqrt(money)
    its = share[n]
    unit = np.where(task, its / worth / root[n], 1.0)
    part = np.where(task, np.maximum(worth * place.amount[0][move] / its, LEAST_PART), 1.0)
    row, each, entry = _in_units(question, held, unit, full if all_tasks else None)
    give = np.zeros(len(full))
    if question.pulls is not None:
        give[question.pulls.rows] = question.pulls.give(place.log_unit)
        unit[~task] = _of_flows(row, each, entry, task, give, unit)
    elif not all_tasks:  # rows without tasks are as large as what their price would be paid for
        here = np.bincount(row[task[each]], minlength=len(full)) == 0
        size = np.where(here & (price > 0), question.unit / price, 0.0)
        unit[~task] = _of_flows(row, each, entry, task, size, unit)
    if not all_tasks:
        on = full[row]
        row, each, entry = row[on], each[on], (entry * np.where(task, 1.0, unit)[each])[on]
    used = np.bincount(row, minlength=len(full)) > 0
    active = np.flatnonzero(used)
    at = row if used.all() else (np.cumsum(used) - 1)[row]
    norm = np.sqrt(np.bincount(at, entry**2, len(active)) + give[active])
    spare = SPARE[parts]
    here = np.searchsorted(seen.held, held)  # both in order
    free = np.maximum(spare * question.unit, 4 * seen.rest.left_error)
    free = free if question.further is None else free * question.further
    left = seen.rest.left - np.where(question.rules, free, 0.0)
    if question.lent.any():
        # of rows that add up to others more is left of some: who asks all for as little gets none
        left = np.where(question.rules & (left > 0) & (left < ROOMY * free), 0.0, left)
    left = left[active] / norm
    log_best = (question.log_w - place.log_unit - np.log(value)) / question.alpha
    short = log_best - np.log(t) if parts == 2 else -place.away(question)
    miss = t * short  # by how much s must rise
    bend = t / share / question.alpha * (money / (value * share))
    if question.bounded:
        over = seen.rest.to_most + spare * question.most  # cut off again, which costs a trifle
        gone = np.where(end == 1, over, FLOOR * spare * question.least - seen.rest.above_least)
        miss, bend = np.where(fixed, gone, miss), np.where(fixed, 0.0, bend)
    return Missing(
        n,
        part,
        active,
        at,
        each,
        np.divide(entry, norm[at], out=entry),
        seen.profit[here] * unit,
        left,
        miss * root / share,
        bend,
        unit,
        norm,
        root / share,
        len(question.rhs),
        give[active] / norm**2,
        None if question.pulls is None else np.isin(active, question.pulls.rows),
    )


def _in_units(question: Question, held: Ints, unit: Floats, full: Bools | None) -> Entries:
    """The entries of columns (H,), those of full rows where these are told, for amounts counted in
    units (H,)."""
    found = []
    for a, b, (row, each, entry) in pieces(question.columns, held):
        entry = entry * unit[a:b][each]
        each = each + a
        if full is not None and not (on := full[row]).all():
            row, each, entry = row[on], each[on], entry[on]
        found.append((row, each, entry))
    if len(found) == 1:
        return found[0]
    row, each, entry = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return row, each, entry


def _stiff(question: Question, place: Place, share: Floats) -> Floats:
    """(N,) what a change of all of a share costs where a variance pulls most at it."""
    pulls = question.pulls
    assert pulls is not None
    give = pulls.give(place.log_unit)
    flows = place.amount[0][place.columns >= question.columns.count]
    use = give * place.price[0][pulls.rows] + pulls.times * flows[pulls.flow]
    found = np.zeros(len(share))
    soft = give > 0
    np.maximum.at(found, pulls.owner[soft], use[soft] ** 2 / give[soft])
    return found


def _of_flows(
    row: Ints, each: Ints, entry: Floats, task: Bools, give: Floats, unit: Floats
) -> Floats:
    """(F,) units of flows in which their largest entries are about 1 in rows of size 1: that of its
    tasks, and of its elasticity."""
    flow = ~task[each]
    size = np.bincount(row, np.where(flow, 0.0, entry**2), len(give)) + give
    size = np.where(size > 0, size, 1.0)
    found = np.bincount(each[flow], entry[flow] ** 2 / size[row[flow]], len(unit))[~task]
    return 1.0 / np.sqrt(np.where(found > 0, found, 1.0))


def solved(wanted: Missing, floats: int = 2, nearing: bool = False) -> Step | None:
    """The step; None if the system is singular or too large. `nearing`: earlier steps, if any, have
    brought the point nearer, so that a cheaper one of as many digits will do."""
    least, most = (FAINT, FIRST if nearing else WHOLE) if floats == 2 else (FAINTER, MORE)
    # what keeps amounts where they are goes with the errors: where these do not fall, prices of
    # the columns held contradict each other, and one of the columns has to go
    pull = min(max(float(np.abs(wanted.error).max(initial=0.0)), least), TOGETHER)
    size = len(wanted.owner) + len(wanted.rows) + len(wanted.miss)
    back = None
    if size <= (most if wanted.pulled is None else MORE):
        found = _whole(wanted, pull)
    elif wanted.pulled is not None:
        found = _sparse(wanted, pull)
    else:
        found = by_rows(wanted)
        if found is None:
            small, back = left_out(wanted)
            found = by_rows(small) or by_wants(small)
    if found is None:
        return None
    dz, dp, dv = found if back is None else back(found)
    dearer = np.zeros(wanted.count)
    dearer[wanted.rows] = dp / wanted.norm
    return dz * wanted.unit, dearer, dv * wanted.value_unit


def _whole(wanted: Missing, pull: float) -> Step | None:
    """All unknowns at once."""
    held, rows = len(wanted.owner), len(wanted.rows)
    row, column, value, right = _system(wanted, pull)
    matrix = np.zeros((len(right), len(right)))
    matrix[row, column] = value
    found = finite(matrix, right)
    if found is None:
        return None
    return found[:held], found[held : held + rows], found[held + rows :]


def _sparse(wanted: Missing, pull: float) -> Step | None:
    """The same of many rows with pulls, which would fill a matrix of rows alone."""
    from scipy.sparse import coo_array

    held, rows = len(wanted.owner), len(wanted.rows)
    row, column, value, right = _system(wanted, pull)
    matrix = coo_array((value, (row, column)), shape=(len(right), len(right))).tocsc()
    found = _symmetric(matrix, right, _own_first(wanted))
    if found is None:
        return None
    return found[:held], found[held : held + rows], found[held + rows :]


def _own_first(wanted: Missing) -> Ints:
    """An order of the unknowns in which little fills up: values and pulls, the first column of each
    user, other columns, and at last rows and flows, which many share."""
    held, rows = len(wanted.owner), len(wanted.rows)
    assert wanted.pulled is not None
    turn = np.zeros(held + rows + len(wanted.miss))
    owner, first = np.unique(wanted.owner, return_index=True)
    turn[:held] = np.where(wanted.owner < 0, 3, 2)
    turn[first[owner >= 0]] = 1
    turn[held : held + rows] = np.where(wanted.pulled, 0, 3)
    return np.argsort(turn, kind="stable")


def _symmetric(matrix: Any, right: Floats, order: Ints) -> Floats | None:
    """The solution of a symmetric system. An order that keeps its diagonal fills up a hundredth of
    one that pivots, but may lose digits; where it does, the other one is taken. To find such an
    order takes far longer than to use one: `order` is tried first."""
    from scipy.sparse.linalg import splu

    near = SMALL_PIVOT * float(np.abs(right).max(initial=0.0))
    kept: dict[str, Any] = {"diag_pivot_thresh": SMALL_PIVOT, "options": {"SymmetricMode": True}}
    least = {**kept, "permc_spec": "MMD_AT_PLUS_A"}
    every, told = np.arange(len(right)), {**kept, "permc_spec": "NATURAL"}
    for at, how in ((order, told), (every, least), (every, {})):
        asked, b = matrix[at][:, at].tocsc() if how is told else matrix, right[at]
        try:
            solve = splu(asked, **how).solve
        except RuntimeError:  # singular
            continue
        found = solve(b)
        left = b - asked @ found
        if how:
            found = found + solve(left)
            left = b - asked @ found
        if np.isfinite(found).all() and (not how or np.abs(left).max(initial=0.0) <= near):
            there: Floats = np.empty(len(right))
            there[at] = found
            return there
    return None


def _system(wanted: Missing, pull: float) -> tuple[Ints, Ints, Floats, Floats]:
    """Rows, columns and values of the matrix of all unknowns, and the right side."""
    held, rows, users = len(wanted.owner), len(wanted.rows), len(wanted.miss)
    mine = np.flatnonzero(wanted.owner >= 0)
    at = held + rows + wanted.owner[mine]
    bend = np.where(wanted.bend > 0, wanted.bend, LOOSE)
    every = np.arange(held + rows + users)
    minus = np.full(len(mine), -1.0)
    return (
        np.concatenate([held + wanted.row, wanted.each, mine, at, every]),
        np.concatenate([wanted.each, held + wanted.row, at, mine, every]),
        np.concatenate(
            [
                wanted.entry,
                wanted.entry,
                minus,
                minus,
                pull / wanted.part,
                -LOOSE - wanted.give,
                -bend,
            ]
        ),
        np.concatenate([wanted.error, wanted.left, -wanted.miss]),
    )


__all__ = ["SPARE", "Missing", "missing", "solved"]
