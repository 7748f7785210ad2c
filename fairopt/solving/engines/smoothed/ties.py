"""Which ties of two servers few users share, and which servers are equally dear."""

from __future__ import annotations

import numpy as np

from fairopt.instance import Bools, Floats, Ints

MANY = 6.0
"""users of like money that must share a tie, for it to be smooth"""
SAME = 100.0
"""windows within which prices of servers are equal in the end"""


def rarely_shared(money: Floats, squares: Floats, lam: Floats, tau: float) -> Bools:
    """(I, I) which ties few users of like money share, but for those of servers equally dear.

    Their prices differ by so many windows, which stay as many while tau falls: such a tie never
    becomes a step.
    """
    few: Bools = money**2 / np.maximum(squares, 1e-300) < MANY
    np.fill_diagonal(few, False)
    label = grouped(lam, ~few, tau, SAME)
    found: Bools = few & (label[:, None] != label)
    return found


def grouped(lam: Floats, joined: Bools, tau: float, windows: float) -> Ints:
    """(I,) number of the group of each server: joined (I, I), with prices within some windows.

    A base far from the prices would cost the differences their digits.
    """
    apart = np.abs(lam[:, None] - lam).max(axis=2) / lam.max(axis=1)
    joined = joined & (apart < windows * tau)
    label = np.arange(len(joined))
    for i, k in zip(*np.nonzero(np.tril(joined, -1)), strict=True):
        label[label == label[i]] = label[k]
    found: Ints = np.unique(label, return_inverse=True)[1]
    return found
