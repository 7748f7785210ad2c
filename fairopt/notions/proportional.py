"""Proportional fairness: largest product of shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairopt.criteria import BY_SERVER, Criterion
from fairopt.instance import Floats, Instance
from fairopt.notions.alpha_fair import g
from fairopt.notions.notion import Merging, Notion
from fairopt.program import Program, feasible_set


@dataclass(frozen=True)
class ProportionalFair(Notion):
    r"""Weighted proportionally fair allocation.

    .. math:: \max_{x \ge 0} \sum_n \phi_n \log s_n, \quad s_n = \sum_i u_{n,i} x_{n,i}, \quad
              \sum_n d_{n,r} x_{n,i} \le c_{i,r}, \quad x_{n,i} = 0 \text{ if not eligible}

    The s_n are unique, and no feasible s' has sum phi_n s'_n / s_n > sum phi_n. Where u does not
    depend on the server the answer is the same for every criterion.

    Parameters
    ----------
    criterion : the score u[n,i] (N, I); a name of `fairopt.criteria` or a callable.
    over : as of AlphaFair; "above" is the Nash bargaining solution from the guarantees.

    References
    ----------
    kesidis2018 Proposition 2, Corollary 1; kesidis2016 (16) with no penalty (criterion
    "dominant-share"); bonald2015 section 2.4.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> fo.solve(pool, fo.ProportionalFair()).totals.round(3).tolist()
    [4.091, 1.636]
    """

    name: ClassVar[str] = "proportional"
    summary: ClassVar[str] = "max sum phi_n log s_n (kesidis2018 Corollary 1)"
    family: ClassVar[str] = "alpha-fair"
    alpha: ClassVar[float] = 1.0
    weight_inside: ClassVar[bool] = False
    fluid: ClassVar[bool] = True
    criterion: Criterion = "tasks"
    over: str = "floor"

    def program(self, instance: Instance, score: Floats, unit: Floats) -> Program:
        """The program of the class docstring, weights divided by the largest."""
        space = feasible_set(instance, score, unit)
        gain, _ = g(space.share, 1.0)
        return Program((instance.weight / instance.weight.max()) @ gain, space)

    @property
    def unique(self) -> bool:
        """Whether the totals are unique, as the shares are."""
        # shares are unique, tasks only where a share counts the same on every server
        return self.criterion not in BY_SERVER

    @property
    def merging(self) -> Merging:
        """Tasks of merged users go by weight."""
        return Merging()
