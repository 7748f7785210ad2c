"""Prices of servers, some of which are equally dear to the last digit that counts.

Many users share servers that are equally dear in the end. How they are divided is decided by
differences of prices of the size of tau, which a sum base + difference would round away once tau
is small. So the two are kept apart: servers of a group have the same numbers as base, and costs at
the base are computed once a group. Groups may differ by the price of one resource alone; who does
not ask for that finds them equally dear, so the base of every other resource is the same number in
both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt.instance import Floats, Ints

SAME_BASE, LITTLE = 1e-4, 1e-6
"""parts of a price, and of the dearest on the same server, by which prices of a resource in two
groups may differ, to have one base"""


@dataclass(frozen=True, eq=False)
class ServerPrices:
    """Prices of I servers: heads[label] + off.

    Parameters
    ----------
    heads : (G, R) base of each group. label : (I,) group of each server. off : (I, R). alike :
        (G, R) of each resource, the number of the base that a group shares with others.
    """

    heads: Floats
    label: Ints
    off: Floats
    alike: Ints

    @property
    def all(self) -> Floats:
        """(I, R) the prices, rounded."""
        found: Floats = self.heads[self.label] + self.off
        return found

    @classmethod
    def grouped(cls, prices: Floats, label: Ints) -> ServerPrices:
        """Prices (I, R) around the mean of each group; label (I,) numbers groups from 0."""
        groups = int(label.max()) + 1
        own = np.tile(np.arange(groups)[:, None], prices.shape[1])
        alike = _alike(_mean(prices, label, own)) if groups > 1 else own
        heads = _mean(prices, label, alike)
        return cls(heads, label, prices - heads[label], alike)

    @classmethod
    def apart(cls, prices: Floats) -> ServerPrices:
        """Every server a group of its own."""
        return cls.grouped(prices, np.arange(len(prices)))

    def within(self, step: Floats) -> Floats:
        """(I, R) what of a step changes the differences to the base."""
        found: Floats = step - self.common(step)[self.label]
        return found

    def common(self, step: Floats) -> Floats:
        """(G, R) what a step changes the base by: the mean of its servers."""
        return _mean(step, self.label, self.alike)

    def moved(self, step: Floats) -> ServerPrices:
        """The prices after a step (I, R); what the servers of a group have in common goes to its
        base, so that the differences stay small."""
        off = self.off + step
        mean = self.common(off)
        return replace(self, heads=self.heads + mean, off=off - mean[self.label])


def _alike(heads: Floats) -> Ints:
    """(G, R) the first of the groups whose price of a resource is next to this one's, or to that of
    one between."""
    found, dearest = np.empty(heads.shape, np.int64), heads.max(axis=1)
    for r, price in enumerate(heads.T):
        order = np.argsort(price, kind="stable")
        ordered, most = price[order], dearest[order]
        near = np.maximum(SAME_BASE * np.abs(ordered), LITTLE * most)
        begins = np.append(True, np.diff(ordered) > np.minimum(near[1:], near[:-1]))
        for some in np.split(order, np.flatnonzero(begins)[1:]):
            found[some, r] = some.min()
    return found


def _mean(rows: Floats, label: Ints, alike: Ints) -> Floats:
    """(G, R) mean of the rows of all servers that share a base."""
    groups, resources = alike.shape
    found = np.empty((groups, resources))
    for r in range(resources):
        base = alike[label, r]
        total = np.bincount(base, rows[:, r], groups)
        found[:, r] = (total / np.maximum(np.bincount(base, minlength=groups), 1))[alike[:, r]]
    return found
