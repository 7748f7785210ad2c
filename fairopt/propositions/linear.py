"""Linear forms maximised over the feasible allocations, for variational inequalities."""

from __future__ import annotations

import numpy as np

from fairopt.instance import Floats, Instance
from fairopt.propositions.statement import Undecided


class Polytope:
    """The feasible tasks of an instance, in units of the tasks of each pair alone.

    x = y alone, y (P,) >= 0; every capacity row reads `use y <= 1`, every limit `mine y <= most`.
    """

    def __init__(self, instance: Instance) -> None:
        n, i = instance.pairs
        users, servers, resources = instance.shape
        pairs = np.arange(len(n))
        self.instance = instance
        self.size = instance.alone[n, i]
        part = instance.pair_part * self.size[:, None]
        self.use = np.zeros((servers, resources, len(n)))
        self.use[i, :, pairs] = part
        self.mine = np.zeros((users, len(n)))
        self.mine[n, pairs] = self.size
        limited = np.isfinite(instance.limit)
        self.left = np.vstack([self.use.reshape(servers * resources, -1), self.mine[limited]])
        self.right = np.concatenate([np.ones(servers * resources), instance.limit[limited]])

    def tasks(self, y: Floats) -> Floats:
        """(N, I) tasks of y (P,), scaled into capacities and limits to undo rounding."""
        n, i = self.instance.pairs
        y = np.maximum(y, 0.0)
        y = y / max(float((self.left @ y / self.right).max()), 1.0)
        tasks = np.zeros(self.instance.shape[:2])
        tasks[n, i] = y * self.size
        return tasks

    def best(
        self,
        gain: Floats,
        floor: tuple[Floats, Floats] | None = None,
        equal: tuple[Floats, Floats] | None = None,
    ) -> Floats | None:
        """(N, I) tasks that maximise the sum of gain times tasks; None if none are feasible.

        Parameters
        ----------
        gain : per task of each eligible pair, any sign.
        floor, equal : (A, b) with A x >= b, A x == b for the tasks x (P,) of the pairs.
        """
        from scipy.optimize import linprog

        left, right = self.left, self.right
        if floor is not None:
            left = np.vstack([left, -floor[0] * self.size])
            right = np.concatenate([right, -floor[1]])
        value = gain * self.size
        found = linprog(
            -value / max(float(np.abs(value).max()), 1e-300),
            A_ub=left,
            b_ub=right,
            A_eq=None if equal is None else equal[0] * self.size,
            b_eq=None if equal is None else equal[1],
            method="highs",
        )
        if found.status == 2:
            return None
        if found.x is None:
            raise Undecided("the linear program failed")
        return self.tasks(found.x)


def excess(instance: Instance, slope: Floats, tasks: Floats) -> float:
    """max over feasible x of sum slope x, divided by sum slope tasks, minus 1.

    Parameters
    ----------
    slope : (N, I) >= 0, gain per task. tasks : (N, I) with sum slope tasks > 0.
    """
    n, i = instance.pairs
    best = Polytope(instance).best(slope[n, i])
    assert best is not None, "no tasks at all are always feasible"
    return float((slope * best).sum() / (slope * tasks).sum()) - 1.0
