"""Efficiency: as many (weighted) tasks as possible, without regard to fairness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairopt.instance import Floats, Instance
from fairopt.notions.notion import HEAVIEST, Merging, Notion
from fairopt.program import Program, feasible_set


@dataclass(frozen=True)
class Throughput(Notion):
    r"""Largest weighted number of tasks.

    .. math:: \max_{x \ge 0} \sum_n \phi_n \sum_i x_{n,i}, \quad
              \sum_n d_{n,r} x_{n,i} \le c_{i,r}, \quad x_{n,i} = 0 \text{ if not eligible}

    Only the objective is unique. This is alpha-fairness with alpha = 0.

    References
    ----------
    kesidis2018 (2), (17).

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> fo.solve(pool, fo.Throughput()).totals.round(3).tolist()
    [4.091, 1.636]
    """

    name: ClassVar[str] = "throughput"
    summary: ClassVar[str] = "max sum phi_n x_n (kesidis2018 (2))"
    family: ClassVar[str] = "alpha-fair"
    fluid: ClassVar[bool] = True
    alpha: ClassVar[float] = 0.0
    weight_inside: ClassVar[bool] = False

    def program(self, instance: Instance, score: Floats, unit: Floats) -> Program:
        """The program of the class docstring, the largest coefficient 1."""
        space = feasible_set(instance, score, unit)
        weight = instance.weight * unit
        return Program((weight / np.max(weight)) @ space.share, space)

    @property
    def merging(self) -> Merging:
        """Tasks of merged users go to one of largest weight."""
        return Merging(HEAVIEST, alpha=0.0)
