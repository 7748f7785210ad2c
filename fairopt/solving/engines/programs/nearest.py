r"""Of all allocations with the same shares, one nearest to tasks that run: one linear program.

The tasks of a pair are those kept, k, and begun, e; those held and not kept are stopped:

.. math:: \min \sum_p (h_p - k_p) + e_p, \quad 0 \le k_p \le h_p, \ e_p \ge 0, \quad
          \sum_{p \in n} u_p (k_p + e_p) = s_n, \quad A (k + e) \le b

which is the sum of |x - h|. Everything kept and nothing begun is feasible for the dual, so the dual
simplex method begins there, and its work grows with what must change. At the vertex where nothing
is held, at most as many pairs as there are users and rows have tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats, Ints

TIGHT = 1e-10
"""tolerance of HiGHS on rows, which are of order 1"""
REFINED, FAR = 2, 1e-6
"""how often a vertex is refined, and how far from HiGHS's it may be, in units of a column"""
PIVOTS = 10
"""pivots for each row after which costs are perturbed"""
NOISE = 1e-10
"""a reduced cost of a flow below this is rounding"""


@dataclass(frozen=True)
class Face:
    """The allocations among which one is sought.

    Parameters
    ----------
    system : the rules. tasks : (P,) an allocation among them. columns : (P,) bool, those that may
        have tasks. keeps : whether every user keeps its share; otherwise `full` are kept.
    full : (M,) bool, rows that stay as full as they are.
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
    import highspy
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
    low = np.where(face.full, high, -np.inf)
    parts = [use, use[:, kept], flows]
    if face.keeps:
        there = np.flatnonzero(share > 0)
        place = np.full(users, -1)
        place[there] = np.arange(len(there))
        owner = system.owner[some]
        own = csc_array(
            (system.score[some] * size / share[owner], (place[owner], np.arange(len(some)))),
            shape=(len(there), len(some)),
        )
        idle = csc_array((len(there), flows.shape[1]))
        matrix = vstack([hstack([own, own[:, kept], idle]), hstack(parts)]).tocsc()
        one = np.ones(len(there))
        low, high = np.concatenate([one, low]), np.concatenate([one, high])
    else:
        matrix = hstack(parts).tocsc()
    scale = float(size.max(initial=0.0)) or 1.0
    cost = np.concatenate([size, -size[kept], np.zeros(flows.shape[1])]) / scale
    least = np.concatenate([np.zeros(len(some) + len(kept)), system.low])
    upper = np.concatenate([most / size, had[kept] / size[kept], system.high])

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(cost), len(high)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, least, upper
    lp.row_lower_, lp.row_upper_ = low, high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
    lp.a_matrix_.value_ = matrix.data
    model = highspy.Highs()
    for name, value in {
        "output_flag": False,
        "threads": 1,
        "small_matrix_value": 1e-12,
        "presolve": "off",
        # what is perturbed takes pivots to put right; if the method stalls without, it is
        "dual_simplex_cost_perturbation_multiplier": 0.0,
        "simplex_iteration_limit": PIVOTS * (len(high) + 100),
        "primal_feasibility_tolerance": TIGHT,
    }.items():
        model.setOptionValue(name, value)
    model.passModel(lp)
    basis = highspy.HighsBasis()
    status = highspy.HighsBasisStatus
    basis.col_status = (
        [status.kLower] * len(some)
        + [status.kUpper] * len(kept)
        + [status.kLower if np.isfinite(v) else status.kZero for v in system.low.tolist()]
    )
    basis.row_status = [status.kBasic] * len(high)
    basis.valid = True
    model.setBasis(basis)
    model.run()
    if model.getModelStatus() == highspy.HighsModelStatus.kIterationLimit:
        model.setOptionValue("dual_simplex_cost_perturbation_multiplier", 1.0)
        model.setOptionValue("simplex_iteration_limit", highspy.kHighsIInf)
        model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        told = model.modelStatusToString(model.getModelStatus())
        raise SolverFailure(f"HiGHS, the nearest of the optimal answers: {told}")
    found = model.getSolution()
    basic = np.asarray(model.getBasicVariables()[1])
    value = _exact(matrix, np.asarray(found.col_value), basic, high)
    value = np.clip(value, least, upper)
    tasks = np.where(face.columns, 0.0, face.tasks)  # of users without a share
    tasks[some] = value[: len(some)] * size
    tasks[some[kept]] += value[len(some) : len(some) + len(kept)] * size[kept]
    price = np.asarray(found.row_dual)
    best = _proved(matrix, cost, least, upper, low, high, price) * scale
    return Nearest(tasks, max(float(held.sum()) + best, 0.0))


def _exact(matrix: Any, value: Floats, basic: Ints, high: Floats) -> Floats:
    """The columns of the vertex of a basis, to the last digits; HiGHS's own if that is no nearer.

    Every row that is not basic is full here, as rows have one finite bound or two that are equal.
    """
    from scipy.sparse.linalg import splu

    slack = np.zeros(len(high), bool)
    slack[-1 - basic[basic < 0]] = True
    own = basic[basic >= 0]
    full = np.flatnonzero(~slack)
    if len(full) != len(own) or not len(own):
        return value
    part = matrix[:, own].tocsr()[full].tocsc()
    found = value.copy()
    try:
        solver = splu(part)
    except RuntimeError:  # singular, to the digits of floats
        return value
    for _ in range(REFINED):
        found[own] += solver.solve(high[full] - (matrix @ found)[full])
    near = np.abs(found - value).max() <= FAR if np.isfinite(found).all() else False
    return found if near else value


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


def _proved(
    matrix: Any,
    cost: Floats,
    least: Floats,
    upper: Floats,
    low: Floats,
    high: Floats,
    price: Floats,
) -> float:
    """The lower bound of the program's value that prices of its rows prove; -inf if none."""
    price = np.where((price > 0) & ~np.isfinite(low), 0.0, price)
    left: Floats = cost - matrix.T @ price
    endless = ~(np.isfinite(least) & np.isfinite(upper))
    left[endless & (np.abs(left) <= NOISE)] = 0.0
    with np.errstate(invalid="ignore"):
        rows = np.where(price > 0, price * low, price * high)
        columns = np.where(left > 0, left * least, left * upper)
    rows[price == 0], columns[left == 0] = 0.0, 0.0
    return float(rows.sum() + columns.sum())
