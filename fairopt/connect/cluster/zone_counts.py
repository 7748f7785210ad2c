"""Pods of workloads that are spread over zones, counted while they come and go."""

from __future__ import annotations

from collections.abc import Mapping

from fairopt.connect.cluster.together import Zones


class ZoneCounts:
    """Pods by zone of each workload that is spread; the others are left out.

    Parameters
    ----------
    spread : {workload: its zones}. shape : {node in service: its shape}.
    """

    def __init__(self, spread: Mapping[str, Zones], shape: Mapping[str, str]) -> None:
        self.shape, self.spread = shape, spread
        self.zone = {
            name: {key: z for z, (_, shapes) in enumerate(own.zones) for key in shapes}
            for name, own in spread.items()
        }
        self.count = {name: [0] * len(own.zones) for name, own in spread.items()}

    def at(self, work: str, node: str) -> int | None:
        """The zone of a node for a workload; None where it is in none."""
        return self.zone.get(work, {}).get(self.shape.get(node, ""))

    def put(self, work: str, node: str, sign: int) -> None:
        """A pod of the workload comes to the node (1), or leaves it (-1)."""
        z = self.at(work, node)
        if z is not None:
            self.count[work][z] += sign

    def even(self, work: str, node: str, source: str = "") -> bool:
        """Whether a pod that leaves one node may start on the other.

        With it no zone has more than the skew beside the emptiest zone as it is without it.
        """
        if work not in self.spread:
            return True
        z, gone = self.at(work, node), self.at(work, source)
        there = [k - (own == gone) for own, k in enumerate(self.count[work])]
        return z is not None and there[z] + 1 <= min(there) + self.spread[work].skew
