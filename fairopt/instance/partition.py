"""Users in partitions: the arrays of one, and their faults (docs/how-to/more-than-memory.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairopt.errors import Fault
from fairopt.instance.fields import Bools, Floats

MOST_ALIKE = 5
"""faults listed of each kind and partition"""


@dataclass(frozen=True, eq=False)
class Partition:
    """Some of the users of a cluster.

    Parameters
    ----------
    demand : (n, R), >= 0, resource per task.
    placement : (n, I) bool, where each user may run.
    weight : (n,), > 0. limit : (n,), > 0, most tasks; inf for none.
    """

    demand: Floats
    placement: Bools
    weight: Floats
    limit: Floats

    def __len__(self) -> int:
        return len(self.demand)

    def placed(self, capacity: Floats) -> Partition:
        """The same users, only where the servers (I, R) have all that they demand."""
        lacking = capacity <= 0
        if not lacking.any() or self.demand.ndim != 2 or self.placement.ndim != 2:
            return self
        if self.demand.shape[1] != capacity.shape[1] or self.placement.shape[1] != len(capacity):
            return self  # `faults` says so
        short = (self.demand > 0).astype(np.float32) @ lacking.T.astype(np.float32) > 0
        return replace(self, placement=self.placement & ~short)

    def faults(self, place: str, capacity: Floats, first: int = 0) -> list[Fault]:
        """What is wrong with these users beside a capacity (I, R); `place` names the partition, or
        their table, in which `first` users stand before them."""
        servers, resources = capacity.shape
        wanted = {
            "demand": (len(self.demand), resources),
            "placement": (len(self.demand), servers),
            "weight": (len(self.demand),),
            "limit": (len(self.demand),),
        }
        shapes = [
            Fault(f"{place}, {name}", f"shape {getattr(self, name).shape}", f"shape {shape}")
            for name, shape in wanted.items()
            if getattr(self, name).shape != shape
        ]
        if shapes:
            return shapes
        rules = (
            (
                "demand",
                ~(np.isfinite(self.demand) & (self.demand >= 0)).all(axis=1),
                "finite numbers >= 0",
            ),
            ("demand", ~(self.demand > 0).any(axis=1), "some resource demanded"),
            (
                "placement",
                ~self.placement.any(axis=1),
                "at least one server, that has all the user demands",
            ),
            ("weight", ~(np.isfinite(self.weight) & (self.weight > 0)), "a finite number > 0"),
            ("limit", ~(self.limit > 0), "a number > 0, or inf"),
        )
        return [
            Fault(f"{place}, user {first + n + 1}, {name}", _shown(getattr(self, name)[n]), want)
            for name, bad, want in rules
            for n in np.flatnonzero(bad)[:MOST_ALIKE].tolist()
        ]


def _shown(values: NDArray[np.generic]) -> str:
    return str(np.asarray(values).tolist())
