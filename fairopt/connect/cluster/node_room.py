"""What a node has room for beside amounts: zones of workloads that are spread, and cards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm

from fairopt.connect.cluster.together import Zones
from fairopt.connect.text.fields import Amounts
from fairopt.whole.proof import cards
from fairopt.whole.proof.cards import Cards


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


# Whether tasks lie on the cards of a node, from exact amounts as they are read.
#
# Which card a running pod has is not known: cards are given out anew with every pod that comes.


class CardRoom:
    """Resources of which 1 is a card, in units that make all that tasks take of them whole.

    Parameters
    ----------
    keys : the resources. demands : of all tasks there are.
    """

    def __init__(self, keys: Sequence[str], demands: Iterable[Amounts]) -> None:
        own = list(demands)
        self.size = {
            key: lcm(*(Fraction(row[key]).denominator for row in own if key in row)) for key in keys
        }

    def lie(self, capacity: Amounts, tasks: Iterable[Amounts]) -> bool:
        """Whether tasks of these demands lie on the cards of a node; not where the search was given
        up."""
        there = [
            Cards(k, size, int(capacity.get(key, 0)))
            for k, (key, size) in enumerate(self.size.items())
        ]
        needs = (
            (tuple(int(row.get(key, Fraction(0)) * size) for key, size in self.size.items()), 1)
            for row in tasks
        )
        try:
            return cards.lie(there, cards.pieces(there, needs))
        except cards.Unsure:
            return False
