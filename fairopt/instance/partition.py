"""Users in partitions: the arrays of one, and their faults (docs/how-to/more-than-memory.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from fairopt.errors import Fault
from fairopt.instance.fields import Bools, Floats, Ints

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

    def some(self, at: Ints | slice) -> Partition:
        """Some of the users, at these positions."""
        return Partition(self.demand[at], self.placement[at], self.weight[at], self.limit[at])

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
        # column by column: NumPy takes several times as long for very many short rows
        need = self.demand.T
        fits = reduce(np.logical_and, (np.isfinite(one) & (one >= 0) for one in need))
        rules = (
            ("demand", ~fits, "finite numbers >= 0"),
            ("demand", ~reduce(np.logical_or, (one > 0 for one in need)), "some resource demanded"),
            (
                "placement",
                ~reduce(np.logical_or, self.placement.T),
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
