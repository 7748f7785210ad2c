"""Mixed-integer programs: HiGHS finds the booleans; with these fixed a linear program is solved."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.instance import Floats, Instance
from fairopt.notions.way import Patterns
from fairopt.solving.engines.programs import conic


def best(instance: Instance, way: Patterns, gain: Floats) -> Floats:
    """Tasks (N, I) of the answer of largest gain.

    The booleans found (the pattern) are fixed and the program is solved again, so that the
    tolerance of integers does not enter the tasks.

    Parameters
    ----------
    gain : (N,) gain of one task of each user in the objective; all 0 if any answer will do.

    Raises
    ------
    SolverFailure : no pattern was found within the bound on nodes (`conic.NODES`), or no tasks are
        feasible for the one found.
    """
    import cvxpy as cp

    chosen: dict[str, Any] = {}

    def variable(name: str, size: int) -> Any:
        chosen[name] = cp.Variable(size, boolean=True, name=name)
        return chosen[name]

    def found(name: str, size: int) -> Any:
        return cp.Constant(np.round(chosen[name].value))

    searched = way.program(instance, variable, gain)
    _, status = conic.run(searched, instance, conic.INTEGER)
    if status != "optimal":  # the bound on nodes was hit: any pattern found may not be the best
        raise SolverFailure(
            f"highs: {status}: the search for a pattern was given up after {conic.NODES:,} nodes; "
            "the instance is too large for the mixed-integer program"
        )
    fixed = way.program(instance, found, gain)
    point, _ = conic.run(fixed, instance, conic.EXACT)
    told, worth = float(searched.objective.value), float(fixed.objective.value)
    if not abs(told - worth) <= conic.BOUND * max(1.0, abs(told)):
        raise SolverFailure(
            f"highs: told {told:.9g} for a pattern, which is worth {worth:.9g} once it is fixed"
        )
    return point.tasks(instance)
