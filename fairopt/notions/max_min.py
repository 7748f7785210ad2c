"""Lexicographic max-min fairness: nobody can rise without lowering somebody no better off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairopt.criteria import Criterion
from fairopt.instance import Bools, Floats, Instance
from fairopt.notions.notion import Notion
from fairopt.program import Program, feasible_set


@dataclass(frozen=True)
class MaxMin(Notion):
    r"""Weighted lexicographic max-min of the levels U_n = s_n / phi_n.

    One linear program a level; those who cannot rise (positive multiplier) are frozen there:

    .. math:: \max_{x \ge 0,\, t} t, \quad s_n / \phi_n \ge t \; (n \text{ free}), \quad
              s_n / \phi_n \ge L_n \; (n \text{ frozen}), \quad s_n = \sum_i u_{n,i} x_{n,i},

              \sum_n d_{n,r} x_{n,i} \le c_{i,r}, \quad x_{n,i} = 0 \text{ if not eligible}

    The levels are unique; x need not be.

    Parameters
    ----------
    criterion : the score u[n,i] (N, I). "drf" is DRFH, "tsf" and "cdrf" are task share fairness and
        its constrained form, "tasks" counts tasks.

    References
    ----------
    kesidis2018 Definition 1 (in the form of kesidis2016), (9), (12), (13); khamse2016 section II.
    """

    name: ClassVar[str] = "max-min"
    summary: ClassVar[str] = "lexicographic max-min of s_n / phi_n (kesidis2018 Definition 1)"
    criterion: Criterion = "drf"

    def step(
        self, instance: Instance, score: Floats, unit: Floats, free: Bools, level: Floats
    ) -> Program:
        """The program of the next level.

        Parameters
        ----------
        unit : (N,) what shares are counted in. free : (N,) who is not frozen.
        level : (N,) share of every frozen user, which it must keep.
        """
        import cvxpy as cp

        space = feasible_set(instance, score, unit)
        t = cp.Variable(name="t")
        slope = np.where(free, instance.weight / unit, 0.0)
        kept = np.where(free, 0.0, level / unit)
        keeps = (space.share >= (slope / slope.max()) * t + kept).set_label("levels")
        return Program(t, space, [keeps])
