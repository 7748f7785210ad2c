"""The two-phase allocation of kesidis2016: DRF per pool, then the rest is handed out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairopt.instance import Floats, Instance
from fairopt.notions.per_server_drf import PerServerDRF
from fairopt.notions.slices import each_resource, named
from fairopt.notions.way import Levels, Rest
from fairopt.program import Heights, feasible_set


@dataclass(frozen=True)
class HandOutDRF(PerServerDRF):
    r"""DRF on every pool, then idle resources are handed out (like HUG).

    Phase 1 is `per-server-drf`, tasks x. Phase 2 is, on every resource of every server, the
    lexicographic max-min of the parts y of it that the eligible users hold in the end:

    .. math:: \operatorname{lexmax}_{y} y_{n,i,r} / \phi_n, \quad \sum_n y_{n,i,r} \le 1, \quad
              x_{n,i} d_{n,r} / c_{i,r} \le y_{n,i,r} \le \max_q x_{n,i} d_{n,q} / c_{i,q}

    so no part rises above the user's dominant share there. After phase 1 every user lacks some full
    resource, so the tasks do not change: y stands in the steps of the result ("resources", in the
    user's units).

    References
    ----------
    kesidis2016 section 2, two-phase allocation.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> fo.solve(pool, fo.HandOutDRF()).totals.round(3).tolist()
    [3.0, 2.0]
    """

    name: ClassVar[str] = "drf-hug"
    summary: ClassVar[str] = "DRF per pool, the rest handed out to the dominant share (kesidis2016)"

    def way(self, instance: Instance) -> Levels:
        """The levels of `per-server-drf`, then those of phase 2."""
        return Levels(self.heights, self.rest)

    def rest(self, instance: Instance, tasks: Floats) -> Rest:
        """Phase 2: an instance with a user for every y, limited by the dominant share."""
        held = instance.part_of_row() * tasks[:, :, None]
        top = np.broadcast_to(held.max(axis=2, keepdims=True), held.shape)
        rows, (n, i, r) = each_resource(instance, top)
        least = np.minimum(held[n, i, r], rows.limit)

        def heights(rows: Instance, score: Floats, unit: Floats) -> Heights:
            space = feasible_set(rows, score, unit)
            keeps = (space.share >= least / unit).set_label("phase 1")
            return Heights(space, space.share, instance.weight[n] / unit, [keeps])

        def told(y: Floats) -> dict[str, Any]:
            found = held.copy()
            found[n, i, r] = y
            return {"step": "hand-out", "resources": named(instance, found)}

        return Rest(rows, heights, told)

    @property
    def merging(self) -> None:
        """None: nothing is merged."""
        # the second phase names users and servers in its step
        return None
