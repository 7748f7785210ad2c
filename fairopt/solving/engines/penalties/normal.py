r"""The system of a Newton step of `penalties.absolute`, in users and rows.

.. math:: A^T M A + \mathrm{diag}(\delta) + f f^T, \quad A = [\text{levels}, \text{use}], \quad
          M = \mathrm{diag}(\text{part}) + \text{rank} \, \text{rank}^T

with A of a row for each share. Where each share is of one user, the block of users is a diagonal
beside a few columns L: users are eliminated first, and with t = L^T x what is left is a system in
rows and t, of which there are far fewer than users.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairopt.instance import Floats
from fairopt.solving.engines.penalties.ground import full

DIAGONAL_LEAST = 1e-15
"""added to the diagonal, relative to it"""
Solver = Callable[[Floats], Floats]


def whole(
    of_user: Any, use: Any, part: Floats, rank: Any, force: Floats, diagonal: Floats
) -> Solver:
    """Solver of the system in users and rows together, scaled to unit diagonal.

    Parameters
    ----------
    of_user : (P, N) levels. use : (P, K). part : (P,). rank : (P, groups).
    force : (N, 0 or 1) column f of the users. diagonal : (N + K,) delta.
    """
    both = np.concatenate([full(of_user), full(use)], axis=1)
    half = both * np.sqrt(part)[:, None]
    m = half.T @ half  # of one array: half the products
    low = both.T @ rank
    m += low @ low.T
    users = len(force)
    m[:users, :users] += force @ force.T
    m[np.diag_indices(len(m))] += diagonal
    scale = 1.0 / np.sqrt(np.diag(m))
    m = m * scale * scale[:, None]
    m[np.diag_indices(len(m))] += DIAGONAL_LEAST
    inverse = np.linalg.inv(m)

    def solve(right: Floats) -> Floats:
        right = right * scale
        found = inverse @ right
        found = found + inverse @ (right - m @ found)
        return np.asarray(found * scale, dtype=np.float64)

    return solve


def rows_first(
    of_user: Any, use: Any, part: Floats, rank: Any, force: Floats, diagonal: Floats
) -> Solver:
    """Solver of the same system where a share of which many have a part has a `part` of 0.

    Parameters
    ----------
    As in `whole`; `part` is 0, or of_user has one entry in the row.
    """
    users, rows = of_user.shape[1], use.shape[1]
    paid = use * part[:, None]
    link, block = full(of_user.T @ paid), full(use.T @ paid)
    own = (of_user * of_user).T @ part + diagonal[:users]
    own = own * (1.0 + DIAGONAL_LEAST)
    low = np.concatenate([full(of_user.T @ rank), force], axis=1)
    beside = np.concatenate([full(use.T @ rank), np.zeros((rows, force.shape[1]))], axis=1)
    size = np.diag(block) + diagonal[users:]
    block[np.diag_indices(rows)] = size * (1.0 + DIAGONAL_LEAST)
    each, light = link / own[:, None], low / own[:, None]
    block = block - link.T @ each
    cross = beside - each.T @ low
    most = np.eye(low.shape[1]) + low.T @ light
    m = np.block([[block, cross], [cross.T, -most]])
    scale = 1.0 / np.sqrt(np.concatenate([size, np.diag(most)]))
    inverse = np.linalg.inv(m * scale * scale[:, None])

    def once(right: Floats) -> Floats:
        mine, rest = right[:users], right[users:]
        asked = np.concatenate([rest - each.T @ mine, -(light.T @ mine)])
        found = scale * (inverse @ (scale * asked))
        x, t = found[:rows], found[rows:]
        return np.concatenate([(mine - link @ x - low @ t) / own, x])

    def times(x: Floats) -> Floats:
        shares = of_user @ x[:users] + use @ x[users:]
        shares = part * shares + rank @ (shares @ rank)
        found = np.concatenate([shares @ of_user, shares @ use]) + diagonal * x
        found[:users] += force @ (x[:users] @ force)
        return np.asarray(found, dtype=np.float64)

    def solve(right: Floats) -> Floats:
        found = once(right)
        return found + once(right - times(found))

    return solve
