"""One step of the interior method: columns eliminated, a dense system in the prices of rows.

A row that bounds one column alone is eliminated with it: its slack makes the column stiffer.
"""

from __future__ import annotations

import contextlib

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.instance import Floats
from fairopt.solving.engines.quotas.blocks import Blocks
from fairopt.solving.engines.quotas.problem import Problem, State

DENSE = 0.1
"""part of entries above which a product is made of full matrices"""


class System:
    """The linear system of one state: columns eliminated, dense in the prices of shared rows."""

    def __init__(self, m: Problem, s: State) -> None:
        from scipy.linalg import cho_factor

        self.m, self.s = m, s
        stiff = s.dear / s.z
        np.add.at(stiff, m.of_alone, m.entry**2 * (s.price / s.slack)[m.alone])
        self.d = 1.0 / stiff
        m.choose(self.d)
        over = np.where(m.floored, s.above, 1.0)
        self.held = np.where(m.active, s.share, 1.0)
        self.h = m.alpha * s.value / self.held + np.where(m.floored, s.nu / over, 0.0)
        self.spread = m.of.T @ self.d
        self.blocks: Blocks | None = None
        if m.in_blocks and not m.floored.any():
            self.wrong = m.residuals(s)
            with contextlib.suppress(np.linalg.LinAlgError):
                self.blocks = self.in_blocks()
                return
        matrix = self.stiff() if m.floored.any() else self.soft()
        matrix[np.diag_indices_from(matrix)] += (s.slack / s.price)[m.shared]
        scale = 1.0 / np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
        self.scale = scale
        self.matrix = matrix * scale[:, None] * scale[None, :]
        self.wrong = m.residuals(s)
        if not np.isfinite(self.matrix).all():
            # marginal values too many decades apart: another method may know more
            raise SolverFailure("interior: the system has entries that are no numbers")
        regular = 1e-15
        while True:
            try:
                self.factor = cho_factor(self.matrix + regular * np.eye(len(scale)))
                break
            except np.linalg.LinAlgError:
                regular *= 100
                if regular > 1e-4:
                    raise SolverFailure("interior: the system has no factor") from None

    def in_blocks(self) -> Blocks:
        """The same system, user by user (`blocks`)."""
        from scipy.sparse import diags_array

        m, s = self.m, self.s
        scaled = m.b @ diags_array(self.d)
        mean = (scaled @ m.of).toarray()
        k = scaled @ m.bt + diags_array((s.slack / s.price)[m.shared])
        return Blocks(k.tocsr(), mean, self.h / (1.0 + self.h * self.spread))

    def soft(self) -> Floats:
        """(M, M) what rows take when their prices fall: of columns, less what users hold back."""
        from scipy.sparse import diags_array

        m = self.m
        scaled = m.b @ diags_array(self.d)
        mean = (scaled @ m.of).tocsr()
        pull = self.h / (1.0 + self.h * self.spread)
        if mean.nnz > DENSE * mean.shape[0] * mean.shape[1]:
            from scipy.linalg.blas import dsyrk

            full = mean.toarray() * np.sqrt(pull)
            low = dsyrk(1.0, full, lower=1)  # half of the product, which is symmetric
            low += np.tril(low, -1).T
            return np.asarray((scaled @ m.bt).toarray() - low)
        return np.asarray((scaled @ m.bt - mean @ diags_array(pull) @ mean.T).toarray())

    def stiff(self) -> Floats:
        """(M, M) the same where floors make users stiff: exchanges of each user's columns for its
        main one, and the mean of all; nothing as loose as a basic column is taken off itself."""
        from scipy.sparse import diags_array

        m = self.m
        beside = m.beside()
        loose = diags_array(
            np.concatenate([np.where(m.is_main, 0.0, self.d[: m.count]), self.d[m.count :]])
        )
        exchanged = beside @ loose
        centre = (exchanged @ m.of).tocsr()
        mean = (m.b @ diags_array(self.d) @ m.of).tocsr()
        rest = diags_array(1.0 / (self.spread * (1.0 + self.h * self.spread)))
        within = centre @ diags_array(1.0 / self.spread) @ centre.T
        return np.asarray((exchanged @ beside.T - within + mean @ rest @ mean.T).toarray())

    def solved(self, right: Floats) -> Floats:
        """Prices from a right side, refined twice."""
        from scipy.linalg import cho_solve

        if self.blocks is not None:
            return self.blocks.solved(right)
        b = right * self.scale
        x = cho_solve(self.factor, b)
        for _ in range(2):
            x = x + cho_solve(self.factor, b - self.matrix @ x)
        return np.asarray(x * self.scale)

    def inverse(self, right: Floats) -> tuple[Floats, Floats]:
        """H^-1 of a vector of columns, H = diag(dear/z) + h u u' user by user; and of its shares.

        What a share gains is computed without a difference, and given to the user's main column
        beyond what the others take: a basic column is 1e10 times as loose as its user is stiff.
        """
        m = self.m
        plain = self.d * right
        share = (m.of.T @ plain) / (1.0 + self.h * self.spread)
        found = plain - self.d * (m.of @ (self.h * share))
        found[m.main] = 0.0
        found[m.main] = share - m.of.T @ found
        return found, share

    def direction(self, zd: Floats, wp: Floats, vn: Floats) -> State:
        """The step that removes all errors, with these changes of the products."""
        m, s = self.m, self.s
        rows, shares, columns, values, floors = self.wrong
        over = np.where(m.floored, s.above, 1.0)
        # q moves by -h ds + lift, ds = of' dz + shares
        lift = s.value * values + np.where(m.floored, (vn - s.nu * floors) / over, 0.0)
        right = zd / s.z - columns + m.of @ (lift - self.h * shares)
        # what rows of one column would pay if it stayed where it is
        stay = ((wp + s.price * rows) / s.slack)[m.alone]
        np.subtract.at(right, m.of_alone, m.entry * stay)
        held, _ = self.inverse(right)
        price = np.empty(len(rows))
        shared = self.solved(m.b @ held + (rows + wp / s.price)[m.shared])
        z, gained = self.inverse(right - m.bt @ shared)
        price[m.shared] = shared
        price[m.alone] = stay + (s.price / s.slack)[m.alone] * m.entry * z[m.of_alone]
        slack = wp / s.price - s.slack / s.price * price
        slack[m.alone] = -rows[m.alone] - m.entry * z[m.of_alone]
        share = gained + shares
        above = np.where(m.floored, share + floors, 0.0)
        return State(
            z,
            zd / s.z - s.dear / s.z * z,
            slack,
            price,
            share,
            s.value * (values - m.alpha * share / self.held),
            above,
            np.where(m.floored, (vn - s.nu * above) / over, 0.0),
        )


def longest(s: State, step: State, m: Problem, most: float = 1.0) -> float:
    """The longest step, at most `most`, that keeps all positive."""
    far = most
    some = {"share": m.active, "above": m.floored, "nu": m.floored}
    for name in ("z", "dear", "slack", "price", *some):
        have, change = getattr(s, name), getattr(step, name)
        if name in some:
            have, change = have[some[name]], change[some[name]]
        down = change < 0
        if down.any():
            far = min(far, float((have[down] / -change[down]).min()))
    return far
