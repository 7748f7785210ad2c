"""Whole tasks node by node as one mixed-integer program: what the answers are set beside.

Every node has its own whole numbers of tasks; HiGHS searches. It knows no patterns, no prices of
ours and no classes. What it states is used only to look for a contradiction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.whole.proof.problem import Problem


@dataclass(frozen=True)
class Exact:
    """What the program states of the least number of tasks short: found, and a bound below."""

    short: float
    bound: float

    @property
    def closed(self) -> bool:
        """Whether both are the same number of tasks."""
        return self.short - self.bound < 1 - 1e-6


def fewest(problem: Problem, seconds: float) -> Exact:
    """The least number of tasks short of whole parts, as far as the seconds go."""
    import highspy

    users, size = len(problem.users), len(problem.classes[0].room)
    cost: list[float] = []
    upper: list[float] = []
    columns: list[dict[int, float]] = []
    for n, w in enumerate(problem.whole):  # gangs that are short
        cost.append(float(problem.gang[n]))
        upper.append(float(w // problem.gang[n]))
        columns.append({n: float(problem.gang[n])})
    rows = users
    rooms: list[float] = []
    for own in problem.classes:
        for _ in range(own.count):
            for kind in own.kinds:
                entries = {kind.user: 1.0}
                entries.update({rows + r: float(x) for r, x in enumerate(kind.need) if x})
                cost.append(0.0)
                upper.append(float(kind.most))
                columns.append(entries)
            rooms += [float(c) for c in own.room]
            rows += size
    program = highspy.HighsLp()
    inf = highspy.kHighsInf
    program.num_col_, program.num_row_ = len(cost), rows
    program.col_cost_, program.col_upper_ = np.array(cost), np.array(upper)
    program.col_lower_ = np.zeros(len(cost))
    program.row_lower_ = np.array([*map(float, problem.whole), *[-inf] * len(rooms)])
    program.row_upper_ = np.array([*[inf] * users, *rooms])
    matrix: Any = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_ = np.cumsum([0, *map(len, columns)]).astype(np.int32)
    matrix.index_ = np.array([r for own in columns for r in own], np.int32)
    matrix.value_ = np.array([x for own in columns for x in own.values()])
    program.integrality_ = [highspy.HighsVarType.kInteger] * len(cost)
    model = highspy.Highs()
    for key, value in {
        "output_flag": False,
        "threads": 1,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 0.999,
        "time_limit": seconds,
    }.items():
        model.setOptionValue(key, value)
    model.passModel(program)
    model.run()
    info = model.getInfo()
    found = info.primal_solution_status == 2
    return Exact(
        round(info.objective_function_value) if found else float("inf"), info.mip_dual_bound
    )
