"""HiGHS by its own interface: the linear program of throughput, nothing between."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.question import Answer, Data, Floats


def solve(given: Data) -> Answer:
    """max sum W s over pairs y >= 0, every capacity row 1."""
    if given.alpha != 0:
        raise ValueError("linear programs only")
    highs = quiet()
    matrix = given.usage().multiply(given.unit[None, :]).tocsc()
    goal = given.weight[given.n] * given.score * given.unit
    rows = matrix.shape[0]
    pass_model(highs, goal / goal.max(), matrix, np.full(rows, -np.inf), np.ones(rows))
    highs.run()
    found = highs.getSolution()
    return Answer(
        np.array(found.col_value) * given.unit,
        np.abs(np.array(found.row_dual)).reshape(given.pool.shape),
        status=highs.modelStatusToString(highs.getModelStatus()),
        inner=highs.getRunTime(),
    )


def quiet() -> Any:
    """A HiGHS that prints nothing and uses one thread."""
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    return highs


def pass_model(highs: Any, goal: Floats, matrix: Any, low: Floats, high: Floats) -> None:
    """max goal y, low <= matrix y <= high, y >= 0; `matrix` by columns."""
    import highspy

    model = highspy.HighsLp()
    rows, columns = matrix.shape
    model.num_col_, model.num_row_ = columns, rows
    model.col_cost_ = goal
    model.col_lower_, model.col_upper_ = np.zeros(columns), np.full(columns, np.inf)
    model.row_lower_, model.row_upper_ = low, high
    model.sense_ = highspy.ObjSense.kMaximize
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.num_col_, model.a_matrix_.num_row_ = columns, rows
    model.a_matrix_.start_ = matrix.indptr
    model.a_matrix_.index_ = matrix.indices
    model.a_matrix_.value_ = matrix.data
    highs.passModel(model)
