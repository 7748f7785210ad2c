"""linopy with HiGHS: max-min by a linear program a level. No other notion."""

import linopy
import numpy as np

from benchmarks.fairbench.levels import lexicographic


def solve(problem):
    if not np.isinf(problem.alpha):
        raise NotImplementedError("linear programs state max-min only")
    return lexicographic(problem, maximise)


def maximise(goal, matrix, right):
    model = linopy.Model()
    x = model.add_variables(lower=0, coords=[range(len(goal))], dims=["k"], name="x")
    for m in range(matrix.shape[0]):
        row = matrix[[m]].tocoo()
        model.add_constraints((x[row.col] * row.data).sum() <= right[m], name=f"row{m}")
    model.add_objective((x * goal).sum(), sense="max")
    status, condition = model.solve("highs", io_api="direct", output_flag=False)
    if status != "ok":
        raise RuntimeError(condition)
    duals = [float(model.constraints[f"row{m}"].dual) for m in range(matrix.shape[0])]
    return x.solution.values, np.array(duals)
