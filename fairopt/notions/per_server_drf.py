"""DRF on every server by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairopt.instance import Floats, Instance
from fairopt.notions.notion import Merging, Notion
from fairopt.notions.way import Levels
from fairopt.program import Heights, feasible_set


@dataclass(frozen=True)
class PerServerDRF(Notion):
    r"""Dominant-resource fairness on each server, as if it were alone.

    The lexicographic max-min of what every user has on every server, by weight:

    .. math:: \operatorname{lexmax}_{x \ge 0} \frac{x_{n,i}}{\phi_n \gamma_{n,i}}, \quad
              \sum_n d_{n,r} x_{n,i} \le c_{i,r}, \quad \sum_i x_{n,i} \le \text{limit}_n

    All pairs rise together until a resource that they demand is full, or their user is at its
    limit. The answer is unique. Without limits the servers are independent; with limits all
    servers fill at the same speed. Where every user demands every resource, it is the closed form
    of kesidis2016 Claim 3 (with phi where 1/phi is printed).

    References
    ----------
    kesidis2016 Claim 3, section 4.1; khamse2016, start of Algorithm I.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> fo.solve(pool, fo.PerServerDRF()).totals.round(3).tolist()
    [3.0, 2.0]
    """

    name: ClassVar[str] = "per-server-drf"
    summary: ClassVar[str] = "DRF on every server by itself (kesidis2016 Claim 3)"
    family: ClassVar[str] = "per-server-drf"

    def way(self, instance: Instance) -> Levels:
        """One linear program per level; the heights are those of the pairs."""
        return Levels(self.heights)

    def heights(self, instance: Instance, score: Floats, unit: Floats) -> Heights:
        """Heights x[n,i] / gamma[n,i] of every pair, compared by weight."""
        n, _ = instance.pairs
        alone = 1.0 / np.where(instance.eligible, instance.alone, 1.0)
        space = feasible_set(instance, alone, np.ones(len(instance.users)))
        return Heights(space, space.y, instance.weight[n])

    @property
    def unique(self) -> bool:
        """True: the tasks of every pair are unique."""
        return True

    @property
    def merging(self) -> Merging | None:
        """Tasks of merged users go by weight."""
        return Merging(alone_matters=True)
