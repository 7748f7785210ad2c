r"""A linear program with far more columns than rows, solved on a few of them that grow in number.

.. math:: \min c^T z, \quad l \le A z \le h, \quad 0 \le z \le v \text{ or free}, \quad c \ge 0

The program on some columns, with a dear column for every row that may be broken, has an answer and
prices; a column left out that these prices make worth its cost comes in; without any, the answer is
that of all columns (Dantzig and Wolfe 1960, column generation). No column is worth anything until
rows are short, so the first program begins at nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.highs import program, quiet, run
from fairopt.instance import Bools, Floats, Ints

TIGHT = 1e-10
"""tolerance of HiGHS on rows, which are of order 1"""
WORTH = 1e-9
"""a column comes in if it is worth more than its cost by this, in units of the dearest column"""
DEAR = (1e2, 1e5)
"""cost of breaking a row, in the same units; the second if the first leaves rows broken"""
LEFT = 1e-9
"""a row broken by no more is not broken"""
ROUNDS = 500
EACH = 10
"""columns of a group that come in at a time"""
PIVOTS = 10
"""pivots for each row after which costs are perturbed"""
REFINED, FAR = 2, 1e-6
"""how often a vertex is refined, and how far from HiGHS's it may be, in units of a column"""
NOISE = 1e-10
"""a reduced cost of a free column below this is rounding"""


@dataclass(frozen=True)
class GrowingProgram:
    """The program.

    Parameters
    ----------
    matrix : sparse (M, C), by columns. cost, least, upper : (C,). low, high : (M,).
    group : (C,) of each column a number; of a group the best few columns come in at a time.
    """

    matrix: Any
    cost: Floats
    least: Floats
    upper: Floats
    low: Floats
    high: Floats
    group: Ints

    def proved(self, price: Floats) -> float:
        """The lower bound of the value that prices of the rows prove; -inf if none."""
        price = np.where((price > 0) & ~np.isfinite(self.low), 0.0, price)
        left: Floats = self.cost - self.matrix.T @ price
        endless = ~(np.isfinite(self.least) & np.isfinite(self.upper))
        left[endless & (np.abs(left) <= NOISE)] = 0.0
        with np.errstate(invalid="ignore"):
            rows = np.where(price > 0, price * self.low, price * self.high)
            columns = np.where(left > 0, left * self.least, left * self.upper)
        rows[price == 0], columns[left == 0] = 0.0, 0.0
        return float(rows.sum() + columns.sum())


def solved(program: GrowingProgram, first: Bools) -> tuple[Floats, Floats]:
    """(C,) a vertex of the optimal answers, and (M,) the prices of its rows.

    Parameters
    ----------
    first : (C,) bool, the columns to begin with.

    Raises
    ------
    SolverFailure : HiGHS finds no optimum, or the rows cannot all be held.
    """
    for dear in DEAR:
        found, price, broken = _grown(program, first, dear)
        if broken <= LEFT:
            return found, price
    raise SolverFailure(f"HiGHS, on columns that grow in number: rows broken by {broken:.2g}")


def _grown(program: GrowingProgram, first: Bools, dear: float) -> tuple[Floats, Floats, float]:
    """The answer, prices, and by how much a row is broken, where that costs so much."""
    from scipy.sparse import csc_array, hstack

    rows = len(program.high)
    short, over = np.flatnonzero(program.low > 0), np.flatnonzero(program.high < 0)
    both = np.flatnonzero(program.low == program.high)
    short, over = np.union1d(short, both), np.union1d(over, both)
    spare = np.concatenate([short, over])
    sign = np.concatenate([np.ones(len(short)), -np.ones(len(over))])
    breaking = csc_array((sign, (spare, np.arange(len(spare)))), shape=(rows, len(spare)))
    active = np.flatnonzero(first)
    many = len(spare)
    model = _model(
        hstack([breaking, program.matrix[:, active]]).tocsc(),
        np.concatenate([np.full(many, dear), program.cost[active]]),
        np.concatenate([np.zeros(many), program.least[active]]),
        np.concatenate([np.full(many, np.inf), program.upper[active]]),
        program.low,
        program.high,
    )
    if first.all():
        model.setOptionValue("dual_simplex_cost_perturbation_multiplier", 1.0)
    inside = first.copy()
    for _ in range(ROUNDS):
        _run(model, rows)
        price = np.asarray(model.getSolution().row_dual)
        worth = program.matrix.T @ price - program.cost
        worth[inside] = 0.0
        coming = _best(worth, program.group)
        if not len(coming):
            break
        some = program.matrix[:, coming].tocsc()
        model.addCols(
            len(coming),
            program.cost[coming],
            program.least[coming],
            program.upper[coming],
            some.nnz,
            some.indptr[:-1].astype(np.int32),
            some.indices.astype(np.int32),
            some.data,
        )
        model.setOptionValue("simplex_strategy", 4)  # the last answer is one of the new program
        active = np.concatenate([active, coming])
        inside[coming] = True
    else:
        raise SolverFailure(f"HiGHS, on columns that grow in number: more than {ROUNDS} rounds")
    basic = np.asarray(model.getBasicVariables()[1])
    matrix = hstack([breaking, program.matrix[:, active]]).tocsc()
    value = _exact(matrix, np.asarray(model.getSolution().col_value), basic, program)
    broken = float(value[:many].max(initial=0.0))
    found = np.zeros(len(program.cost))
    found[active] = np.clip(value[many:], program.least[active], program.upper[active])
    return found, price, broken


def _best(worth: Floats, group: Ints) -> Ints:
    """The columns that are worth more than they cost, of each group the best few."""
    some = np.flatnonzero(worth > WORTH)
    some = some[np.lexsort((-worth[some], group[some]))]
    own = group[some]
    begin = np.searchsorted(own, own)
    found: Ints = some[np.arange(len(some)) - begin < EACH]
    return found


def _model(
    matrix: Any, cost: Floats, least: Floats, upper: Floats, low: Floats, high: Floats
) -> Any:
    """A HiGHS model that begins at nothing, with every row's slack."""
    import highspy

    model = quiet(
        small_matrix_value=1e-12,
        presolve="off",
        # what is perturbed takes pivots to put right; if the method stalls without, it is
        dual_simplex_cost_perturbation_multiplier=0.0,
        primal_feasibility_tolerance=TIGHT,
    )
    model.passModel(program(cost, (least, upper), (low, high), matrix))
    basis = highspy.HighsBasis()
    status = highspy.HighsBasisStatus
    basis.col_status = [status.kLower if np.isfinite(v) else status.kZero for v in least.tolist()]
    basis.row_status = [status.kBasic] * len(high)
    basis.valid = True
    model.setBasis(basis)
    return model


def _run(model: Any, rows: int) -> None:
    import highspy

    model.setOptionValue("simplex_iteration_limit", PIVOTS * (rows + 100))
    run(model)
    if model.getModelStatus() == highspy.HighsModelStatus.kIterationLimit:
        model.setOptionValue("dual_simplex_cost_perturbation_multiplier", 1.0)
        model.setOptionValue("simplex_iteration_limit", highspy.kHighsIInf)
        run(model)
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        told = model.modelStatusToString(model.getModelStatus())
        raise SolverFailure(f"HiGHS, on columns that grow in number: {told}")


def _exact(matrix: Any, value: Floats, basic: Ints, program: GrowingProgram) -> Floats:
    """The columns of the vertex of a basis, to the last digits; HiGHS's own if that is no nearer.

    Every row that is not basic is full here, as rows have one finite bound or two that are equal.
    """
    from scipy.sparse.linalg import splu

    slack = np.zeros(len(program.high), bool)
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
        found[own] += solver.solve(program.high[full] - (matrix @ found)[full])
    near = np.abs(found - value).max() <= FAR if np.isfinite(found).all() else False
    return found if near else value
