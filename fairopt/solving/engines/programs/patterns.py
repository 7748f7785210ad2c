"""Mixed-integer programs: the pattern is searched, then its linear program is solved for itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.instance import Floats, Instance
from fairopt.notions.way import Patterns
from fairopt.solving.engines.programs import conic


def best(instance: Instance, way: Patterns, gain: Floats) -> Floats:
    """Tasks (N, I) of the answer of largest gain.

    The booleans of the search are taken as the numbers found, and the program solved again: the
    tasks then do not carry the tolerance of the integers.

    Parameters
    ----------
    gain : (N,) what a task of each user is worth; all 0 for any answer.

    Raises
    ------
    SolverFailure : no pattern within the bound on nodes (`conic.NODES`), or no tasks fit the one
        found.
    """
    import cvxpy as cp

    chosen: dict[str, Any] = {}

    def variable(name: str, size: int) -> Any:
        chosen[name] = cp.Variable(size, boolean=True, name=name)
        return chosen[name]

    def found(name: str, size: int) -> Any:
        return cp.Constant(np.round(chosen[name].value))

    _, status = conic.run(way.program(instance, variable, gain), instance, conic.INTEGER)
    if status != "optimal":  # the bound on nodes: a pattern, perhaps, and not the best
        raise SolverFailure(
            f"highs: {status}: the search for a pattern was given up after {conic.NODES:,} nodes; "
            "the instance is too large for the mixed-integer program"
        )
    point, _ = conic.run(way.program(instance, found, gain), instance, conic.EXACT)
    return point.tasks(instance)
