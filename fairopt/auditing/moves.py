r"""The fewest tasks to move from what is held to what is due.

.. math:: \min \tfrac12 \sum_{n,i} |x_{n,i} - x^0_{n,i}|, \quad s_n = s^*_n

over the feasible set: shares are what the notion asks for, places are free (QUOTAS 4).
"""

from __future__ import annotations

import numpy as np

from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats

SLACK = 1e-12
"""part of its share by which a user may miss what is due, as both numbers are rounded"""


def fewest(system: Lowered, held: Floats, due: Floats) -> tuple[float, Floats] | None:
    """(tasks moved, tasks (P,) of each column afterwards); None if what is due does not fit.

    Parameters
    ----------
    held : (P,) tasks of each column today. due : (N,) shares.
    """
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, hstack, vstack

    columns, total = system.columns, system.matrix.shape[1]
    share = system.of_user()
    # unknowns: the tasks, the flows of lending, and how far each column's tasks are from today's
    rows = system.matrix.multiply(1.0 / system.unit[:, None])
    one = eye_array(columns)
    flows = np.zeros((columns, total - columns))
    kept = due > 0
    scaled = share[kept].multiply(1.0 / due[kept][:, None])
    idle = np.zeros((int(kept.sum()), total))
    matrix = vstack(
        [
            hstack([rows, np.zeros((len(system.rhs), columns))]),
            hstack([one, flows, -one]),
            hstack([-one, flows, -one]),
            hstack([-scaled, idle]),
        ]
    )
    rhs = np.concatenate(
        [system.rhs / system.unit, held, -held, np.full(int(kept.sum()), -(1 - SLACK))]
    )
    bounds = np.column_stack(
        [
            np.concatenate([np.zeros(columns), system.low, np.zeros(columns)]),
            np.concatenate([np.full(columns, np.inf), system.high, np.full(columns, np.inf)]),
        ]
    )
    cost = np.concatenate([np.zeros(total), np.full(columns, 0.5)])
    answer = linprog(cost, A_ub=matrix.tocsr(), b_ub=rhs, bounds=bounds, method="highs")
    if answer.x is None or answer.status != 0:
        return None
    tasks = np.maximum(answer.x[:columns], 0.0)
    return float(np.abs(tasks - held).sum() / 2), tasks
