r"""One Newton step towards the conditions of `search`: what is missing, and the linear system.

.. math:: \begin{pmatrix} R & A^T & -U^T \\ A & -\rho & \\ -U & & -T \end{pmatrix}
   \begin{pmatrix} dz \\ dp \\ dv \end{pmatrix} = \text{what is missing}

in units that make entries about 1; T = 1/alpha of free users, 0 of others; R a weak pull of
amounts to where they are, for columns that cost the same; rho a trifle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.certificates.bound import Place, Sums, exactly
from fairopt.certificates.pinned import left_out
from fairopt.certificates.question import Question
from fairopt.instance import Bools, Floats, Ints

LEAST = 1e-5
"""part of its share for which a column counts at least, so that it can grow from nothing"""
TOGETHER, FAINT, PULL, LOOSE = 1e-12, 1e-22, 1e-9, 1e-15
"""R at most, at least, R where users are eliminated, and rho"""
DENSE, ROWS = 500, 3_000
"""unknowns up to which the matrix is formed whole; most full rows"""
SPARE = {2: 2.0**-94, **{k: 2.0 ** (-50 * k) for k in range(3, 13)}}
"""part of full rows and floors left free, so that none is overrun, by the number of floats"""
FLOOR = 16.0
"""floors are aimed at so much further, so that tasks can be scaled down"""

Step = tuple[Floats, Floats, Floats]
"""more of the columns that move, of the prices of rows (M,), of values (N,)"""


@dataclass(frozen=True)
class Missing:
    """The system of a step, in its own units.

    Parameters
    ----------
    owner : (H,) of the columns that move, -1 of flows. part : (H,) weights of the pull.
    rows : full ones. row, each, entry : the entries of A. error : (H,), left : (rows,), miss : (N,)
    right sides. bend : (N,) T. unit : (H,), norm : (rows,), root : (N,) money in a user's unit of
    value: what the solution is multiplied by. count : rows in all.
    """

    owner: Ints
    part: Floats
    rows: Ints
    row: Ints
    each: Ints
    entry: Floats
    error: Floats
    left: Floats
    miss: Floats
    bend: Floats
    unit: Floats
    norm: Floats
    value_unit: Floats
    count: int


def missing(
    question: Question, place: Place, seen: Sums, moves: Bools, full: Bools, end: Ints
) -> Missing | None:
    """What is missing at a place; None where a share or a value is not above 0."""
    columns, tasks = question.columns, question.columns.count
    value, share = place.value[0], seen.rest.share
    parts = len(place.value)
    t = np.where(question.base > 0, seen.rest.above_least, share)
    fixed = end != 0
    if not ((value[~fixed] > 0).all() and (t[~fixed] > 0).all() and (share > 0).all()):
        return None
    value = np.where(value > 0, value, 1.0)
    move = np.flatnonzero(moves)
    held = place.columns[move]
    task = held < tasks
    n = np.full(len(held), -1)
    n[task] = columns.owner(held[task])
    worth = np.ones(len(held))
    worth[task] = columns.worth(held[task])
    root = np.sqrt(value * share)  # of money
    row, each, entry = columns.entries(held)
    unit, part = np.ones(len(held)), np.ones(len(held))
    unit[task] = share[n[task]] / worth[task] / root[n[task]]
    part[task] = np.maximum(
        worth[task] * place.amount[0][move][task] / share[n[task]], LEAST
    )
    if not task.all():  # the unit of a flow: that of the largest row it is in
        np.maximum.at(unit, each, np.where(task[each], 0.0, question.unit[row]))
    on = full[row]
    row, each, entry = row[on], each[on], entry[on] * unit[each[on]]
    used = np.bincount(row, minlength=len(full)) > 0
    active, at = np.flatnonzero(used), (np.cumsum(used) - 1)[row]
    norm = np.sqrt(np.bincount(at, entry**2, len(active)))
    spare = SPARE[parts]
    here = np.searchsorted(seen.near, held)  # held columns are near; both in order
    left = (seen.rest.left[active] - spare * question.unit[active]) / norm
    log_best = (question.log_w - place.log_unit - np.log(value)) / question.alpha
    short = log_best - np.log(t) if parts == 2 else -exactly(question, place)
    over = seen.rest.to_most + spare * question.most  # cut off again, which costs a trifle
    gone = np.where(end == 1, over, FLOOR * spare * question.least - seen.rest.above_least)
    miss = np.where(fixed, gone, t * short)  # by how much s must rise
    bend = np.where(fixed, 0.0, t / share / question.alpha)
    return Missing(
        n, part, active, at, each, entry / norm[at], seen.profit[here] * unit, left,
        miss * value / root, bend, unit, norm, value / root, len(question.rhs),
    )  # fmt: skip


def solved(wanted: Missing) -> Step | None:
    """The step; None if the system is singular or too large."""
    # what keeps amounts where they are goes with the errors: where these do not fall, prices of
    # the columns held contradict each other, and one of the columns has to go
    pull = float(np.clip(np.abs(wanted.error).max(initial=0.0), FAINT, TOGETHER))
    size = len(wanted.owner) + len(wanted.rows) + len(wanted.miss)
    small, back = (wanted, None) if size <= DENSE else left_out(wanted)
    found = _whole(small, pull) if size <= DENSE else _by_rows(small)
    if found is None:
        return None
    dz, dp, dv = found if back is None else back(found)
    dearer = np.zeros(wanted.count)
    dearer[wanted.rows] = dp / wanted.norm
    return dz * wanted.unit, dearer, dv * wanted.value_unit


def _whole(wanted: Missing, pull: float) -> Step | None:
    """All unknowns at once."""
    held, rows, users = len(wanted.owner), len(wanted.rows), len(wanted.miss)
    size = held + rows + users
    matrix = np.zeros((size, size))
    matrix[held + wanted.row, wanted.each] = wanted.entry
    matrix[wanted.each, held + wanted.row] = wanted.entry
    mine = np.flatnonzero(wanted.owner >= 0)
    at = held + rows + wanted.owner[mine]
    matrix[mine, at] = matrix[at, mine] = -1.0
    bend = np.where(wanted.bend > 0, wanted.bend, LOOSE)
    diagonal = np.concatenate([pull / wanted.part, np.full(rows, -LOOSE), -bend])
    matrix[np.arange(size), np.arange(size)] = diagonal
    found = _finite(matrix, np.concatenate([wanted.error, wanted.left, -wanted.miss]))
    if found is None:
        return None
    return found[:held], found[held : held + rows], found[held + rows :]


def _by_rows(wanted: Missing) -> Step | None:
    """Users eliminated: dz = B (error - A^T dp) + rise, with B the inverse of what is left of the
    first block: columns of a user move against each other (`apart`) or together (`mean`)."""
    from scipy.sparse import csr_array, diags_array

    n, users, rows, held = wanted.owner, len(wanted.miss), len(wanted.rows), len(wanted.owner)
    if not 0 < rows <= ROWS:
        return None
    tied, bend = n >= 0, wanted.bend
    own = np.where(tied, n, 0)
    part = wanted.part
    whole = np.bincount(n[tied], part[tied], users)
    count = np.bincount(n[tied], minlength=users)
    free = np.where(tied, count[own] > 1, True)
    damp = bend / (1 + PULL * bend / whole)
    at = np.flatnonzero(tied)
    mean = csr_array((part[at] / whole[n[at]], (n[at], at)), shape=(users, held))
    a = csr_array((wanted.entry, (wanted.row, wanted.each)), shape=(rows, held))
    v = (a @ mean.T).tocsr()
    several = np.where(count > 1, whole / PULL, 0.0)
    stiff = a[:, np.flatnonzero(free)]
    s = (stiff * (part[free] / PULL)) @ stiff.T + (v * (damp - several)) @ v.T
    s = s + LOOSE * diags_array(np.ones(rows))

    def moved(f: Floats) -> Floats:
        level = mean @ f
        apart = np.where(free, part * (f - np.where(tied, level[own], 0.0)) / PULL, 0.0)
        together = np.where(tied, part / whole[own] * (damp * level)[own], 0.0)
        return np.asarray(apart + together)

    needed = wanted.miss / (1 + PULL * bend / whole)
    rise = np.where(tied, part / whole[own] * needed[own], 0.0)
    dp = _finite(s.toarray(), a @ (moved(wanted.error) + rise) - wanted.left)
    if dp is None:
        return None
    f = wanted.error - a.T @ dp
    dz = moved(f) + rise
    # -U dz - T dv = -miss; of users at a bound, the mean of their columns
    risen = np.bincount(n[tied], dz[tied], users)
    bent = np.where(bend > 0, bend, 1.0)
    return dz, dp, np.where(bend > 0, (wanted.miss - risen) / bent, -(mean @ f))


def _finite(matrix: Floats, right: Floats) -> Floats | None:
    try:
        found: Floats = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found).all() else None


__all__ = ["SPARE", "Missing", "missing", "solved"]
