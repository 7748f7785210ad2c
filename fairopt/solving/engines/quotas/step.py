"""One step of the interior method: columns eliminated, a dense system in the prices of rows."""

from __future__ import annotations

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.instance import Floats
from fairopt.solving.engines.quotas.problem import Problem, State


class System:
    """The linear system of one state: columns eliminated, dense in the prices of rows."""

    def __init__(self, m: Problem, s: State) -> None:
        from scipy.linalg import cho_factor

        self.m, self.s = m, s
        self.d = s.z / s.dear
        m.choose(self.d)
        over = np.where(m.floored, s.above, 1.0)
        self.held = np.where(m.active, s.share, 1.0)
        self.h = m.alpha * s.value / self.held + np.where(m.floored, s.nu / over, 0.0)
        self.spread = m.of.T @ self.d
        matrix = self.stiff() if m.floored.any() else self.soft()
        matrix[np.diag_indices_from(matrix)] += s.slack / s.price
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

    def soft(self) -> Floats:
        """(M, M) what rows take when their prices fall: of columns, less what users hold back."""
        from scipy.sparse import diags_array

        m = self.m
        scaled = m.a @ diags_array(self.d)
        mean = (scaled @ m.of).tocsr()
        pull = self.h / (1.0 + self.h * self.spread)
        if m.form.crowded:
            held = mean.toarray() * np.sqrt(pull)
            return np.asarray((scaled @ m.at).toarray() - held @ held.T)
        return np.asarray((scaled @ m.at - mean @ diags_array(pull) @ mean.T).toarray())

    def stiff(self) -> Floats:
        """(M, M) the same where floors make users stiff: exchanges of each user's columns for its
        main one, and the mean of all; nothing as loose as a basic column is taken off itself."""
        from scipy.sparse import diags_array

        m = self.m
        beside = m.beside()
        loose = diags_array(np.concatenate([np.where(m.is_main, 0.0, self.d[: m.count]),
                                            self.d[m.count :]]))  # fmt: skip
        exchanged = beside @ loose
        centre = (exchanged @ m.of).tocsr()
        mean = (m.a @ diags_array(self.d) @ m.of).tocsr()
        rest = diags_array(1.0 / (self.spread * (1.0 + self.h * self.spread)))
        within = centre @ diags_array(1.0 / self.spread) @ centre.T
        return np.asarray((exchanged @ beside.T - within + mean @ rest @ mean.T).toarray())

    def solved(self, right: Floats) -> Floats:
        """Prices from a right side, refined twice."""
        from scipy.linalg import cho_solve

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
        held, _ = self.inverse(right)
        price = self.solved(m.a @ held + rows + wp / s.price)
        z, gained = self.inverse(right - m.at @ price)
        share = gained + shares
        above = np.where(m.floored, share + floors, 0.0)
        return State(
            z, zd / s.z - s.dear / s.z * z, wp / s.price - s.slack / s.price * price, price, share,
            s.value * (values - m.alpha * share / self.held), above,
            np.where(m.floored, (vn - s.nu * above) / over, 0.0),
        )  # fmt: skip


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
