r"""Whether a user alone moves prices: then its tie is a step that Newton would jump over.

A user of a tie of servers i and k that takes its money m from the one to the other changes use by
m d / a_i and m d / a_k. With H the curvature of all users, prices answer, and the difference of its
logarithms of costs moves by

.. math:: m\, v' H^{-1} v, \quad v = d \otimes (e_i / a_i - e_k / a_k).

Where that is more than a window of tau, the user decides where the tie lies, not the tie where the
user goes. Where it is less, many others (or users of one of the servers) hold the prices.
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines.smoothed.users import UsersRead

MOST_WINDOWS = 1.0
"""windows by which a smooth user may move the prices of its tie"""
PIECE = 4096
"""users at once"""


def swaying(
    users: UsersRead,
    near: Bools,
    log_least: Floats,
    ties: Bools,
    prices: Floats,
    mu: Floats | None,
    tau: float,
    inverse: Floats,
) -> Bools:
    """(N,) who moves the prices of a tie of servers that are `near` (N, I) by more than
    MOST_WINDOWS.

    log_least : (N,) logarithm of the least price of a share, of who has such a tie. ties : (I, I)
    which may be. prices : (I, R).
    mu : (N,) prices of limits, or None. inverse : (I R, I R) of the curvature H.
    """
    found = np.zeros(len(users), bool)
    servers, resources = prices.shape
    blocks = inverse.reshape(servers, resources, servers, resources).transpose(1, 3, 0, 2)
    upper = np.triu_indices(resources)
    same = np.where(upper[0] == upper[1], 0.5, 1.0)
    answer = (blocks + blocks.transpose(1, 0, 2, 3))[upper] * same[:, None, None]
    if users.compiled and mu is None:  # a loop passes over those with no tie as fast as a mask does
        from fairopt.solving.engines.smoothed import passes  # which loads the compiler

        return passes.sways(users, near, log_least, ties, prices, answer, MOST_WINDOWS * tau)
    money = np.exp(users.log_w / users.alpha + (1 - 1 / users.alpha) * log_least)
    at = near @ np.ones(servers, np.float32) > 1
    if not at.any():
        return found
    met = near[at].astype(np.float32)
    ties = ties & (met.T @ met > 0)
    if users.log_score is None:
        # equal costs: d' K d <= (d . k)^2 with k^2 the largest diagonals of K of any tie
        apart = np.where(ties, _apart(np.einsum("rrik->rik", blocks)), 0.0)
        most = np.sqrt(np.maximum(apart.max(axis=(1, 2)), 0.0))
        at &= money * (users.demand @ most) ** 2 > MOST_WINDOWS * tau * np.exp(2 * log_least)
    for i, k in zip(*np.nonzero(np.tril(ties)), strict=True):
        some = np.flatnonzero(at & near[:, i] & near[:, k])
        for first in range(0, len(some), PIECE):
            piece = some[first : first + PIECE]
            demand, own = users.demand[piece], 0.0 if mu is None else mu[piece]
            both = demand[:, upper[0]] * demand[:, upper[1]]
            one, other = demand @ prices[i] + own, demand @ prices[k] + own
            moved = (both @ answer[:, i, i]) / one**2 + (both @ answer[:, k, k]) / other**2
            moved -= (both @ (answer[:, i, k] + answer[:, k, i])) / (one * other)
            found[piece] |= moved * money[piece] > MOST_WINDOWS * tau
    return found


def _apart(answer: Floats) -> Floats:
    """(n, I, I) v' A v for v = e_i - e_k, of matrices A (n, I, I)."""
    own = np.einsum("nii->ni", answer)
    found: Floats = own[:, :, None] + own[:, None, :] - answer - answer.transpose(0, 2, 1)
    return found
