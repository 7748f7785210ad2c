"""Program (10) of kesidis2016: most tasks that run on every pool at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairopt.instance import Floats, Instance
from fairopt.notions.notion import Notion
from fairopt.program import Program, feasible_set


@dataclass(frozen=True)
class CommonTasks(Notion):
    r"""Largest weighted sum of the tasks each user has on every one of its pools.

    .. math:: \max_{x, M \ge 0} \sum_n M_n / \phi_n, \quad x_{n,i} = M_n, \quad
              \sum_n d_{n,r} x_{n,i} \le c_{i,r}

    on the pools the user is eligible on, per machine: nothing is used beyond x[n,i] = M_n.
    Efficiency, not fairness: a user may get nothing; the answer need not be unique.

    References
    ----------
    kesidis2016 (8), (10).

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> fo.solve(pool, fo.CommonTasks()).totals.round(3).tolist()
    [4.091, 1.636]
    """

    name: ClassVar[str] = "sum-m"
    summary: ClassVar[str] = "max sum M_n/phi_n, M_n = fewest tasks on a pool (kesidis2016 (10))"
    family: ClassVar[str] = "sum-m"

    def program(self, instance: Instance, score: Floats, unit: Floats) -> Program:
        """The program of the class docstring; M is counted in the user's `unit`."""
        import cvxpy as cp

        space = feasible_set(instance, score, unit)
        n, i = instance.pairs
        common = cp.Variable(len(instance.users), name="M")  # in tasks of the user's unit
        per_machine = instance.count[i] * unit[n] / space.pair_unit
        same = (space.y == cp.multiply(per_machine, common[n])).set_label("x = M")
        gain = unit / instance.weight
        return Program((gain / np.max(gain)) @ common, space, [same])
