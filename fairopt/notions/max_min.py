"""Lexicographic max-min fairness: no level can rise unless one that is no higher falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fairopt.criteria import Criterion
from fairopt.instance import Floats, Instance
from fairopt.notions.notion import Merging, Notion
from fairopt.notions.way import Levels
from fairopt.program import Heights, feasible_set


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

    References
    ----------
    kesidis2018 Definition 1 (in the form of kesidis2016), (9), (12), (13); khamse2016 section II.
    """

    name: ClassVar[str] = "max-min"
    summary: ClassVar[str] = "lexicographic max-min of s_n / phi_n (kesidis2018 Definition 1)"
    family: ClassVar[str] = "max-min"
    compared: ClassVar[tuple[dict[str, Any], ...]] = (
        {"criterion": "drf"}, {"criterion": "tsf"}, {"criterion": "cdrf"},
    )  # fmt: skip
    fluid: ClassVar[bool] = True
    criterion: Criterion = "drf"

    def way(self, instance: Instance) -> Levels:
        """One linear program per level."""
        return Levels(self.heights)

    def heights(self, instance: Instance, score: Floats, unit: Floats) -> Heights:
        """The shares as heights, compared by weight."""
        space = feasible_set(instance, score, unit)
        return Heights(space, space.share, instance.weight / unit)

    @property
    def unique(self) -> bool:
        """Whether the totals are unique: the levels always are."""
        return self.criterion != "dominant-share"

    @property
    def merging(self) -> Merging:
        """Tasks of merged users go by weight."""
        return Merging()
