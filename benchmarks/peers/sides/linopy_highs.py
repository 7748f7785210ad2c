"""linopy with HiGHS: the linear program of throughput over eligible pairs."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.question import Answer, Data


def solve(given: Data) -> Answer:
    """max sum W s over pairs y >= 0, every capacity row 1."""
    import linopy
    import pandas as pd

    if given.alpha != 0:
        raise ValueError("linear programs only")
    users, servers, resources = given.shape
    model = linopy.Model()
    pair = pd.RangeIndex(len(given.n), name="pair")
    y = model.add_variables(lower=0, coords=[pair], name="y")
    server = pd.Series(given.i, index=pair, name="server")
    capacity = []
    for r in range(resources):
        part = pd.Series(given.use[:, r] * given.unit, index=pair)
        capacity.append(model.add_constraints((part * y).groupby(server).sum() <= 1, name=f"c{r}"))
    goal = given.weight[given.n] * given.score * given.unit
    model.add_objective((pd.Series(goal / goal.max(), index=pair) * y).sum(), sense="max")
    status, condition = model.solve("highs", io_api="direct", threads=1, output_flag=False)
    rows = np.zeros((servers, resources))
    for r, constraint in enumerate(capacity):
        dual = model.dual[constraint.name]
        rows[dual["server"].values, r] = np.abs(dual.values)
    return Answer(y.solution.values * given.unit, rows, status=f"{status}, {condition}")
