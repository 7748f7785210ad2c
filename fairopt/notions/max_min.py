"""Lexicographic max-min fairness: no level can rise unless one that is no higher falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairopt.criteria import BY_SERVER, Criterion
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats, Instance
from fairopt.notions.notion import Merging, Notion
from fairopt.notions.way import Levels
from fairopt.program import Heights, Program, cp_variable, feasible_set, ruled_set


@dataclass(frozen=True)
class MaxMin(Notion):
    r"""Weighted lexicographic max-min of the levels U_n = s_n / phi_n.

    One linear program per level; users who cannot rise (positive multiplier) are frozen there:

    .. math:: \max_{x \ge 0,\, t} t, \quad s_n / \phi_n \ge t \; (n \text{ free}), \quad
              s_n / \phi_n \ge L_n \; (n \text{ frozen}), \quad s_n = \sum_i u_{n,i} x_{n,i},

              \sum_n d_{n,r} x_{n,i} \le c_{i,r}, \quad x_{n,i} = 0 \text{ if not eligible}

    The levels are unique; x need not be.

    Parameters
    ----------
    criterion : the score u[n,i] (N, I). "drf" is DRFH, "tsf" and "cdrf" are task share fairness and
        its constrained form, "tasks" counts tasks.
    measure : what a group of users counts as: the "sum" of their shares, or "dominant", the largest
        part of any resource that they use together; by default dominant for drf, else the sum.
    over : with guarantees sigma, "floor" is max-min of s above them, "above" max-min of s - sigma,
        "proportion" takes them as weights.

    References
    ----------
    kesidis2018 Definition 1 (in the form of kesidis2016), (9), (12), (13); khamse2016 section II.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> fo.solve(pool, fo.MaxMin()).totals.round(3).tolist()
    [3.0, 2.0]
    """

    name: ClassVar[str] = "max-min"
    summary: ClassVar[str] = "lexicographic max-min of s_n / phi_n (kesidis2018 Definition 1)"
    family: ClassVar[str] = "max-min"
    compared: ClassVar[tuple[dict[str, Any], ...]] = (
        {"criterion": "drf"},
        {"criterion": "tsf"},
        {"criterion": "cdrf"},
    )
    fluid: ClassVar[bool] = True
    criterion: Criterion = "drf"
    measure: str | None = None
    over: str = "floor"

    def way(self, instance: Instance) -> Levels:
        """One linear program per level."""
        return Levels(self.heights)

    def heights(self, instance: Instance, score: Floats, unit: Floats) -> Heights:
        """The shares as heights, compared by weight."""
        space = feasible_set(instance, score, unit)
        return Heights(space, space.share, instance.weight / unit)

    def round(
        self, low: Lowered, unit: Floats, slope: Floats, offset: Floats, least: float, most: float
    ) -> Program:
        r"""A round of nested max-min: how far targets that are straight in t can rise together.

        .. math:: \max t, \quad s_n \ge b_n + a_n t, \quad t_0 \le t \le t_1, \quad
                  \text{all rules}

        Parameters
        ----------
        low : all rules. unit : (N,) of shares. slope, offset : (N,) a and b (`formulas.targets`);
            of the frozen, 0 and their share.
        """
        space = ruled_set(low, unit)
        t = cp_variable("t")
        size = float((slope / unit).max(initial=0.0)) or 1.0
        rise = (space.share >= offset / unit + (slope / unit / size) * t).set_label("targets")
        within = [t >= least * size] + ([t <= most * size] if np.isfinite(most) else [])
        return Program(t / size, space, [rise, *within])

    @property
    def unique(self) -> bool:
        """Whether the totals are unique: the levels always are."""
        return self.criterion not in BY_SERVER

    @property
    def merging(self) -> Merging:
        """Tasks of merged users go by weight."""
        return Merging()
