r"""One Newton step of the interior method: eliminate pairs, then users or rows, the larger set.

The step solves, for pairs h of user n on server i,

.. math::
   \Delta y_h = z_h - \theta_h (\Delta c_h + H_n \Delta x_n - a_n), \qquad
   \Delta x_n = \sum_h \Delta y_h, \qquad \Delta c = B' \Delta\lambda, \qquad
   B \Delta y - \rho \Delta\lambda = b

with theta = y / nu, rho = slack / price. Eliminating the pairs leaves for the prices

.. math:: (M - Q D Q') \Delta\lambda = \ldots, \qquad M = B \theta B' + \rho, \quad
          Q = B \theta E', \quad D = H / (1 + H S), \quad S = E \theta

(E sums over the pairs of a user). M is R x R blocks, one a server, so with its Cholesky factors
(rows scaled to unit diagonal) Z = L^{-1} Q sqrt(D) and one dense positive definite system is left:
I - Z'Z of order N, or I - Z Z' of order I R, whichever is smaller; its diagonal is near 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines.interior.layout import Layout

SHIFT = 1e-15
"""added to a unit diagonal that rounding made indefinite"""
SHIFTS = (0.0, SHIFT, 1e2 * SHIFT, 1e4 * SHIFT, 1e6 * SHIFT)
TINY = 60
"""order up to which NumPy alone factors"""
INDEFINITE = "the system of the step is not positive definite"


class SchurSystem:
    """The factored matrix of a step.

    Parameters
    ----------
    layout : the pairs. theta : over pairs, y / nu >= 0.
    heat : (N,) H >= 0, how fast a user's marginal value falls. rho : (I, R) > 0 slack over price.
    live : (I, R) whether any user uses the row.

    Raises
    ------
    ArithmeticError : the matrix is not positive definite in floating point.
    """

    def __init__(
        self, layout: Layout, theta: Floats, heat: Floats, rho: Floats, live: Bools
    ) -> None:
        self.layout, self.theta, self.heat, self.live = layout, theta, heat, live
        self.sums = layout.of_user(theta)
        self.stiff = 1.0 + heat * self.sums
        self.rho = np.where(live, rho, 1.0)
        self.inverse = _inverse_factors(layout.blocks(theta), self.rho)
        self.z = self._coupled()
        self.by_user = self.z.shape[1] <= live.size
        self.factor = _factor(self.z if self.by_user else self.z.T)

    def _coupled(self) -> Any:
        """(I R, N) what is taken from the matrix of the prices for each user."""
        root = np.sqrt(self.heat / self.stiff)
        return self.layout.coupling(self.theta, self.inverse, root)

    def step(
        self, z: Floats, a: Floats, b: Floats, base: Floats | float = 0.0
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """(dy, dx - base, dlam, dcost), refined once on the equations before elimination.

        H multiplies the rise of a share above `base` (N,).
        """
        dy, _ = self._pairs(z, a, base)
        dlam = self._prices(np.where(self.live, self.layout.used(dy) - b, 0.0))
        dy, _ = self._pairs(z - self.theta * self.layout.cost(dlam), a, base)
        miss = self.layout.used(dy) - self.rho * dlam - b
        dlam = dlam + self._prices(np.where(self.live, miss, 0.0))
        dcost = self.layout.cost(dlam)
        dy, rise = self._pairs(z - self.theta * dcost, a, base)
        return dy, rise, dlam, dcost

    def _pairs(self, z: Floats, a: Floats, base: Floats | float) -> tuple[Floats, Floats]:
        """dy and dx at given prices: the change of a user's share is divided over pairs by theta.

        It is written relative to the mean of the user's pairs, since H and a, which may be huge,
        change only the sum.
        """
        total = self.layout.of_user(z)
        rise = (self.sums * a + total - base) / self.stiff
        return z + self.theta * self.layout.spread((rise + base - total) / self.sums), rise

    def _prices(self, right: Floats) -> Floats:
        """(M - Q D Q')^{-1} right."""
        w = np.einsum("ikr,ir->ik", self.inverse, right).ravel()
        w = w + self.z @ self.factor(self.z.T @ w) if self.by_user else self.factor(w)
        found = np.einsum("ikr,ik->ir", self.inverse, w.reshape(right.shape))
        return np.where(self.live, found, 0.0)


def _inverse_factors(blocks: Floats, rho: Floats) -> Floats:
    """(I, R, R) inverses of the Cholesky factors of the servers' blocks."""
    r = np.arange(blocks.shape[1])
    blocks[:, r, r] += rho
    scale = 1.0 / np.sqrt(blocks[:, r, r])
    blocks *= scale[:, :, None] * scale[:, None, :]
    blocks[:, r, r] += SHIFT
    try:
        lower = np.linalg.cholesky(blocks)
    except np.linalg.LinAlgError as error:
        raise ArithmeticError("a server's block is not positive definite") from error
    inverse: Floats = np.tril(np.linalg.inv(lower)) * scale[:, None, :]
    return inverse


def _factor(z: Any) -> Callable[[Floats], Floats]:
    """Solves with I - z'z, by its Cholesky factor."""
    size = z.shape[1]
    if size <= TINY:
        return _factor_of(np.eye(size) - z.T @ z)
    if not isinstance(z, np.ndarray):
        return _factor_of(np.eye(size) - (z.T @ z).toarray())
    from scipy.linalg import blas

    # I - z'z in one call that computes only one triangle; BLAS stores matrices by columns
    columns = z.flags.f_contiguous
    return _factor_of(
        blas.dsyrk(
            -1.0,
            z if columns else z.T,
            1.0,
            np.eye(size, order="F"),
            trans=columns,
            lower=1,
            overwrite_c=1,
        )
    )


def _factor_of(gram: Floats) -> Callable[[Floats], Floats]:
    """Solves with a positive definite matrix of which the lower triangle is given."""
    if len(gram) <= TINY:
        # needs no SciPy, and one product costs less than two triangular solves
        inverse = _tiny_inverse(gram)
        return lambda right: inverse @ right
    from scipy.linalg import lapack

    gram = np.asfortranarray(gram)
    for shift in SHIFTS:
        matrix = gram
        if shift:
            matrix = gram.copy(order="F")
            matrix[np.diag_indices_from(gram)] += shift
        factor, info = lapack.dpotrf(matrix, lower=1, clean=0, overwrite_a=0)
        if info == 0:
            return lambda right: lapack.dpotrs(factor, right, lower=1)[0]
    raise ArithmeticError(INDEFINITE)


def _tiny_inverse(gram: Floats) -> Floats:
    for shift in SHIFTS:
        try:
            lower = np.linalg.cholesky(gram + shift * np.eye(len(gram)))
        except np.linalg.LinAlgError:
            continue
        half: Floats = np.linalg.inv(lower)
        return half.T @ half
    raise ArithmeticError(INDEFINITE)
