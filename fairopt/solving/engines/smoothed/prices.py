"""Prices of servers, some of which are equally dear to the last digit that counts.

Many users share servers that are equally dear in the end. How they are divided is decided by
differences of prices of the size of tau, which a sum base + difference would round away once tau
is small. So the two are kept apart: servers of a group have the same numbers as base, and costs at
the base are computed once a group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.instance import Floats, Ints


@dataclass(frozen=True, eq=False)
class ServerPrices:
    """Prices of I servers: heads[label] + off.

    Parameters
    ----------
    heads : (G, R) base of each group. label : (I,) group of each server. off : (I, R).
    """

    heads: Floats
    label: Ints
    off: Floats

    @property
    def all(self) -> Floats:
        """(I, R) the prices, rounded."""
        found: Floats = self.heads[self.label] + self.off
        return found

    @classmethod
    def grouped(cls, prices: Floats, label: Ints) -> ServerPrices:
        """Prices (I, R) around the mean of each group; label (I,) numbers groups from 0."""
        heads = _mean(prices, label)
        return cls(heads, label, prices - heads[label])

    @classmethod
    def apart(cls, prices: Floats) -> ServerPrices:
        """Every server a group of its own."""
        return cls.grouped(prices, np.arange(len(prices)))

    def within(self, step: Floats) -> Floats:
        """(I, R) what of a step changes the differences in groups."""
        found: Floats = step - _mean(step, self.label)[self.label]
        return found

    def moved(self, step: Floats) -> ServerPrices:
        """The prices after a step (I, R); what the servers of a group have in common goes to its
        base, so that the differences stay small."""
        off = self.off + step
        mean = _mean(off, self.label)
        return ServerPrices(self.heads + mean, self.label, off - mean[self.label])


def _mean(rows: Floats, label: Ints) -> Floats:
    """(G, R) mean of the rows of each group."""
    groups = int(label.max()) + 1
    found = np.zeros((groups, rows.shape[1]))
    np.add.at(found, label, rows)
    return found / np.bincount(label, minlength=groups)[:, None]
