"""linopy with HiGHS: max-min by a linear program a level. No other notion."""

import linopy
import numpy as np
import xarray as xr

from benchmarks.fairbench.levels import lexicographic
from benchmarks.fairbench.problem import Cannot


def solve(problem):
    if not np.isinf(problem.alpha):
        raise Cannot("linear programs state max-min only")
    return lexicographic(problem, maximise)


def maximise(goal, matrix, right):
    model = linopy.Model()
    x = model.add_variables(lower=0, coords=[range(len(goal))], dims=["k"], name="x")
    whole = xr.DataArray(matrix.toarray(), dims=["m", "k"])
    rows = model.add_constraints((whole * x).sum("k") <= xr.DataArray(right, dims=["m"]))
    model.add_objective((x * goal).sum(), sense="max")
    status, condition = model.solve("highs", io_api="direct", output_flag=False)
    if status != "ok":
        raise RuntimeError(condition)
    return x.solution.values, rows.dual.values
