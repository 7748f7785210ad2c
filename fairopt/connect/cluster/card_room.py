"""Whether tasks lie on the cards of a node, from exact amounts as they are read.

Which card a running pod has is not known: cards are given out anew with every pod that comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

from fairopt.connect.text.fields import Amounts
from fairopt.whole.proof import cards
from fairopt.whole.proof.cards import Cards


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
