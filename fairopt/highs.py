"""Programs for HiGHS, and a model of it that prints nothing, and keeps the time limit.

Since 1.16 a model of highspy prints a banner on stdout while it is made, before any option of it
can be set, and results are on stdout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairopt import clock

LARGE = 10_000
"""columns and rows from which a run is listened in to: that of a smaller model ends soon"""


@cache
def _silent() -> Any:
    import highspy

    class Silent(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> Any:  # noqa: N802
            """Called by the constructor; it is this that prints."""
            self.setOptionValue("output_flag", False)
            return super().enableCallbacks()

    return Silent


def program(
    cost: ArrayLike,
    columns: tuple[ArrayLike, ArrayLike],
    rows: tuple[ArrayLike, ArrayLike],
    matrix: Any,
    whole: Sequence[bool] | None = None,
) -> Any:
    """The program of HiGHS: least cost x, x and matrix x within bounds.

    Parameters
    ----------
    cost : (C,). columns, rows : least and most, (C,) and (M,). matrix : sparse (M, C) by columns;
        or where each column begins (C + 1,), rows and values. whole : (C,) which must be whole.
    """
    import highspy

    parts = matrix if isinstance(matrix, tuple) else (matrix.indptr, matrix.indices, matrix.data)
    (least, most), (low, high) = (tuple(map(np.asarray, both)) for both in (columns, rows))
    made = highspy.HighsLp()
    made.num_col_, made.num_row_ = len(least), len(low)
    made.col_cost_, made.col_lower_, made.col_upper_ = np.asarray(cost), least, most
    made.row_lower_, made.row_upper_ = low, high
    entries = made.a_matrix_
    entries.format_ = highspy.MatrixFormat.kColwise
    entries.start_, entries.index_ = (np.asarray(part, dtype=np.int32) for part in parts[:2])
    entries.value_ = np.asarray(parts[2])
    if whole is not None:
        kind = highspy.HighsVarType
        made.integrality_ = [kind.kInteger if one else kind.kContinuous for one in whole]
    return made


def quiet(**options: Any) -> Any:
    """A HiGHS model without output, on one thread."""
    model = _silent()()
    for key, value in {"output_flag": False, "threads": 1, **options}.items():
        model.setOptionValue(key, value)
    return model


def _heard(event: Any) -> None:
    """Nothing, in Python: here a signal is seen (Ctrl-C), which no run of HiGHS heeds by itself."""


def run(model: Any) -> None:
    """Run a model within the seconds that are left, until it ends or a signal ends it.

    Raises
    ------
    OutOfTime : they were not enough.
    """
    import highspy

    if model.getNumCol() + model.getNumRow() >= LARGE:
        for event in (model.cbSimplexInterrupt, model.cbIpmInterrupt, model.cbMipInterrupt):
            if not event.callbacks:
                event.subscribe(_heard)
    left = clock.left()
    model.setOptionValue("time_limit", model.getRunTime() + left if left < math.inf else left)
    model.run()
    if model.getModelStatus() == highspy.HighsModelStatus.kTimeLimit:
        raise clock.OutOfTime("the time limit was reached")
