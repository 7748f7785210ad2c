r"""The curvature of the users' demand in the money of rows, factored, and changed user by user.

With theta = e over held pairs, S_n their sum and kappa_n = -dx/dp of the user's demand,

.. math:: H = \sum_h \theta_h b_h b_h' - \sum_n \frac{(B \theta)_n (B \theta)_n'}{S_n + \kappa_n}
              + \rho.

The first sum is a block a server and cheap. The second has rank N and is most of the work; only
the terms of users whose held pairs changed are computed again.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.again.users import Taken
from fairopt.solving.engines.interior.layout import GridLayout, Layout, Pairs

SHIFT = 1e-13
"""added to the unit diagonal of the scaled matrix"""
LIMIT = 1e-9
"""curvature of a full row, in units of the mean money of a row: it keeps H from being singular"""


class Curvature:
    """H and its factor; `update` brings it to what users take now."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.size = layout.rows.size
        self.coupled = self.blocks = self.rho = np.zeros((0, 0))
        self.theta: Floats | None = None
        self.root = np.zeros(0)
        self.scale, self.factor = np.zeros(0), np.zeros((0, 0))

    def update(self, taken: Taken, e: Floats, rho: Floats) -> bool:
        """Factor H, unless nothing changed; whether it is positive definite. rho (I, R) > 0."""
        theta = np.where(taken.held, e, 0.0)
        root = 1.0 / np.sqrt(taken.mass + taken.slope)
        if self.theta is None:
            self._begin(theta, root)
        else:
            users = _users(self.layout, self.theta != theta)
            if not len(users) and np.array_equal(rho, self.rho):
                return True
            self._change(theta, root, users)
        self.rho = rho
        return self._factor()

    def _begin(self, theta: Floats, root: Floats) -> None:
        self.coupled = np.zeros((self.size, self.size), order="F")
        self._add(_rows(self.layout, theta, root, None), 1.0)
        self.blocks = self.layout.blocks(theta)
        self.theta, self.root = theta, root

    def _change(self, theta: Floats, root: Floats, users: Ints) -> None:
        """The terms of some users taken off and put back as they are now."""
        assert self.theta is not None
        if 2 * len(users) > len(root):
            self._begin(theta, root)
            return
        if not len(users):
            return
        self._add(_rows(self.layout, self.theta, self.root, users), -1.0)
        self._add(_rows(self.layout, theta, root, users), 1.0)
        _add_blocks(self.layout, self.blocks, theta - self.theta)
        new = self.root.copy()
        new[users] = root[users]
        self.theta, self.root = theta, new

    def _factor(self) -> bool:
        servers, resources = self.layout.rows.shape
        matrix = np.negative(self.coupled)
        at = np.arange(self.size).reshape(resources, servers).T
        matrix[at[:, :, None], at[:, None, :]] += self.blocks
        diagonal = np.diag_indices(self.size)
        matrix[diagonal] += np.where(self.layout.rows, self.rho, 1.0).T.ravel()
        entries = matrix[diagonal]
        if not (entries > 0).all():
            return False
        self.scale = 1.0 / np.sqrt(entries)
        matrix *= self.scale[:, None]
        matrix *= self.scale
        matrix[diagonal] += SHIFT
        self.factor, info = lapack.dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        return bool(info == 0)

    def _add(self, rows: Floats, sign: float) -> None:
        """Add rows' rows to the lower triangle of the coupling."""
        self.coupled = blas.dsyrk(sign, rows.T, 1.0, self.coupled, trans=0, lower=1, overwrite_c=1)

    def solve(self, right: Floats) -> Floats:
        """H^-1 right, (I, R)."""
        found = lapack.dpotrs(self.factor, right.T.ravel() * self.scale, lower=1)[0] * self.scale
        return np.where(self.layout.rows, found.reshape(right.T.shape).T, 0.0)


def _users(layout: Layout, pairs: Bools) -> Ints:
    """Positions of the users of marked pairs."""
    if isinstance(layout, GridLayout):
        return np.flatnonzero(pairs.any(axis=1))
    assert isinstance(layout, Pairs)
    marked = np.zeros(layout.users, bool)
    marked[layout.n[pairs]] = True
    return np.flatnonzero(marked)


def _add_blocks(layout: Layout, blocks: Floats, change: Floats) -> None:
    """Add the blocks (I, R, R) of a change of theta, which is 0 for most pairs."""
    if isinstance(layout, GridLayout):
        blocks += layout.blocks(change)
        return
    assert isinstance(layout, Pairs)
    pairs = np.flatnonzero(change)
    b = layout.b[pairs]
    np.add.at(blocks, layout.i[pairs], change[pairs, None, None] * b[:, :, None] * b[:, None, :])


def _rows(layout: Layout, theta: Floats, root: Floats, users: Ints | None) -> Floats:
    """(users, R I) the vectors (B theta)_n root_n of some users, or of all.

    Resource by resource, since loops over many servers are faster than over few resources.
    """
    servers, resources = layout.rows.shape
    if isinstance(layout, GridLayout):
        pick = slice(None) if users is None else users
        weight = theta[pick] * root[pick][:, None]
        if layout.t is not None:
            weight = weight * layout.t[pick]
        rows = np.empty((len(weight), resources, servers))
        np.multiply(weight[:, None, :], layout.demand[pick][:, :, None], out=rows)
        rows *= layout.per_pool.T
        return np.asarray(rows.reshape(len(weight), servers * resources))
    assert isinstance(layout, Pairs)
    where = slice(None) if users is None else np.flatnonzero(np.isin(layout.n, users))
    n, i = layout.n[where], layout.i[where]
    place = n if users is None else np.searchsorted(users, n)
    found = np.zeros((layout.users if users is None else len(users), resources, servers))
    found[place, :, i] = layout.b[where] * (theta[where] * root[n])[:, None]
    return found.reshape(len(found), servers * resources)
