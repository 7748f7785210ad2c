r"""Of all allocations with the same shares, one nearest to tasks that run: one linear program.

With h tasks held on a pair, e begun and d stopped:

.. math:: \min \sum_p e_p + d_p, \quad 0 \le d_p \le h_p, \ e_p \ge 0, \quad
          \sum_{p \in n} u_p (h_p + e_p - d_p) = s_n, \quad A (h + e - d) \le b

which is the sum of |x - h|. Nothing stopped and nothing begun is feasible for the dual, so the dual
simplex method begins there, and its work grows with what must change; pairs come in as they are
worth it (`growing`). At the vertex where nothing is held, at most as many pairs as there are users
and rows have tasks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.interior.moved import MoveQuestion, moved
from fairopt.solving.engines.programs.growing import GrowingProgram, solved

FEW_PER_ROW = 4
"""up to so many pairs that run for each row, all of them are in the first program; of more only"""
FULL = 1e-6
"""a row with a price has at most this left, in its unit"""
EACH = 10
"""those that are the largest of a user or of a server"""


@dataclass(frozen=True)
class Face:
    """The allocations among which one is sought.

    Parameters
    ----------
    system : the rules. tasks : (P,) an allocation among them. columns : (P,) bool, those that may
        have tasks. keeps : whether every user keeps its share; otherwise `full` are kept.
    full : (M,) bool, rows with a price, which stay as full as they are.
    """

    system: Lowered
    tasks: Floats
    columns: Bools
    keeps: bool
    full: Bools


@dataclass(frozen=True)
class Nearest:
    """Tasks (P,), and a proved lower bound of sum |x - held| on the face; 0 if nothing is proved.

    The bound follows from the multipliers by weak duality in NumPy, whatever the solver promises.
    """

    tasks: Floats
    bound: float


def nearest(face: Face, held: Floats) -> Nearest:
    """The allocation of the face that is nearest to the tasks held (P,).

    Raises
    ------
    SolverFailure : HiGHS finds no optimum.
    """
    from scipy.sparse import csc_array, hstack, vstack

    system, begin = face.system, np.where(face.columns, face.tasks, 0.0).astype(np.float64)
    count, users = system.columns, system.shape[0]
    share: Floats = np.bincount(system.owner, system.score * begin, users).astype(np.float64)
    some = np.flatnonzero(face.columns & (share[system.owner] > 0 if face.keeps else True))
    most = _most(face, share, begin)[some]
    size = np.where(most > 0, most, 1.0)  # tasks in one unit of a column
    had = np.minimum(held[some], most)
    kept = np.flatnonzero(had > 0)

    rules = (system.matrix.multiply(1.0 / system.unit[:, None])).tocsc()
    flows = rules[:, count:]
    use = (rules[:, some].multiply(size[None, :])).tocsc()
    high = np.maximum(system.rhs, (system.matrix[:, :count] @ begin) if not flows.shape[1] else 0)
    high = np.where(flows.shape[1] > 0, system.rhs, high) / system.unit
    low = np.where(face.full & (not face.keeps), high, -np.inf)
    if face.keeps:
        there = np.flatnonzero(share > 0)
        place = np.full(users, -1)
        place[there] = np.arange(len(there))
        owner = system.owner[some]
        own = csc_array(
            (system.score[some] * size / share[owner], (place[owner], np.arange(len(some)))),
            shape=(len(there), len(some)),
        )
        use = vstack([own, use]).tocsc()
        flows = vstack([csc_array((len(there), flows.shape[1])), flows]).tocsc()
        one = np.ones(len(there))
        low, high = np.concatenate([one, low]), np.concatenate([one, high])
    scale = float(size.max(initial=0.0)) or 1.0
    now = had / size
    used = use @ now
    others = np.arange(flows.shape[1])
    program = GrowingProgram(
        hstack([use, -use[:, kept], flows]).tocsc(),
        np.concatenate([size, size[kept], np.zeros(len(others))]) / scale,
        np.concatenate([np.zeros(len(some) + len(kept)), system.low]),
        np.concatenate([most / size, now[kept], system.high]),
        low - used,
        high - used,
        np.concatenate([system.owner[some], users + system.owner[some[kept]], 2 * users + others]),
    )
    tasks = np.where(face.columns, 0.0, face.tasks)  # of users without a share
    offset = float(held.sum() - had.sum())
    if face.keeps and not len(others) and len(kept) > FEW_PER_ROW * len(high):
        path = _along(program, place[owner], begin[some] / size, now, face.full)
        if path is not None:
            tasks[some] = np.maximum(now + path[0], 0.0) * size
            return Nearest(tasks, max(offset + path[1] * scale, 0.0))
    begun, stopped = np.ones(len(some), bool), np.ones(len(kept), bool)
    if len(kept):
        begun = had > 0
        if len(kept) > FEW_PER_ROW * len(high):
            begun = _largest(now, system.owner[some]) | _largest(now, system.server[some])
            # where full rows must give, prices of a few columns lead astray: all at once
            begun |= bool((high < used).any())
            stopped = begun[kept]
    first = np.concatenate([begun, stopped, np.ones(len(others), bool)])
    value, price = solved(program, first)
    change = value[: len(some)].copy()
    change[kept] -= value[len(some) : len(some) + len(kept)]
    tasks[some] = np.maximum(now + change, 0.0) * size
    best = program.proved(price) * scale
    return Nearest(tasks, max(offset + best, 0.0))


def _along(
    program: GrowingProgram, owner: Ints, tasks: Floats, held: Floats, full: Bools
) -> tuple[Floats, float] | None:
    """What changes (P,) and the bound that is proved, by a path inside; None if it does not arrive.

    Rows that every optimal answer fills are as full as they are, for the bound too.
    """
    users, pairs = len(program.high) - len(full), len(owner)
    use = program.matrix[:, :pairs].tocsr()[users:]
    change = use @ (tasks - held)
    room = program.high[users:]
    full = full & (room - change <= FULL)
    path = moved(MoveQuestion(owner, use, program.cost[:pairs], held, tasks, room, full))
    if path is None:
        return None
    low = program.low.copy()
    low[users:][full] = np.minimum(change, room)[full]
    price = np.concatenate([path.users, path.rows])
    return path.change, replace(program, low=low).proved(price)


def _most(face: Face, share: Floats, begin: Floats) -> Floats:
    """(P,) more tasks than this no allocation of the face has on a column."""
    system = face.system
    if face.keeps:
        found: Floats = share[system.owner] / system.score
        return found
    rules = system.matrix[:, : system.columns].tocoo()
    most = np.full(system.columns, np.inf)
    up = rules.data > 0
    np.minimum.at(most, rules.col[up], system.rhs[rules.row[up]] / rules.data[up])
    least: Floats = np.maximum(most, begin)
    return least


def _largest(amount: Floats, group: Ints) -> Bools:
    """(P,) whether a number is among the EACH largest of its group."""
    order = np.lexsort((-amount, group))
    own = group[order]
    found = np.zeros(len(amount), bool)
    found[order] = np.arange(len(own)) - np.searchsorted(own, own) < EACH
    return found
