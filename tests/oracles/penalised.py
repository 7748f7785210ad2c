r"""The optimum of the trade-off (16) to many digits, by a path of its own in decimals.

Newton's method on the objective plus mu times the sum of logarithms of what is left of all rows and
of all tasks; at its top no feasible point is better than mu times the number of logarithms. Nothing
of the package is used but what the question says.
"""

from __future__ import annotations

from decimal import Decimal as D
from decimal import localcontext

import numpy as np

DIGITS, LEAST_MU, SLOWER = 90, D("1e-50"), D("0.05")


def levels(
    demand: np.ndarray,
    capacity: np.ndarray,
    weight: np.ndarray,
    may: np.ndarray,
    alpha: float,
    t_pf: float,
    t_drf: float,
    limit: np.ndarray | None = None,
    more: list[tuple[np.ndarray, float]] | None = None,
) -> np.ndarray:
    """(N,) F_n of the only optimum; demand (N, R), capacity (I, R), may (N, I); more: rows of
    counts (N, I) that sum up to at most a number above 0."""
    with localcontext() as context:
        context.prec = DIGITS
        one = _Top(demand, capacity, weight, may, alpha, t_pf, t_drf, limit, more)
        x = one.climbed()
        return np.array([float(f) for f in one.level(x)])


class _Top:
    """The question in decimals; a dominant share's score is max_r d/c as floats divide."""

    def __init__(self, demand, capacity, weight, may, alpha, t_pf, t_drf, limit, more=None):
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(demand[:, None] > 0, demand[:, None] / capacity[None], 0.0).max(axis=2)
        self.pair = [(int(n), int(i)) for n, i in np.argwhere(may)]
        self.u = [D(float(score[n, i])) for n, i in self.pair]
        self.phi = [D(float(w)) for w in weight]
        self.alpha, self.t_pf, self.t_drf = D(alpha), D(t_pf), D(t_drf)
        self.on = [int(may[:, i].sum()) for i in range(may.shape[1])]
        self.rows = []
        for i in range(len(capacity)):
            for r in range(demand.shape[1]):
                row = [D(float(demand[n, r])) if k == i else D(0) for n, k in self.pair]
                if any(row):
                    self.rows.append((row, D(float(capacity[i, r]))))
        for n, most in enumerate(limit if limit is not None else []):
            if np.isfinite(most):
                row = [D(int(m == n)) for m, _ in self.pair]
                self.rows.append((row, D(float(most))))

        for counts, most in more or []:
            row = [D(float(counts[n, i])) for n, i in self.pair]
            self.rows.append((row, D(float(most))))

    def level(self, x):
        found = [D(0)] * len(self.phi)
        for (n, _), u, one in zip(self.pair, self.u, x, strict=True):
            found[n] += u * one / self.phi[n]
        return found

    def slopes(self, x):
        """Gradient and minus the Hessian of (16)."""
        level, users = self.level(x), D(len(self.phi))
        mean = sum(level) / users
        a = [u * one for u, one in zip(self.u, x, strict=True)]
        middle = [
            sum((a[c] for c, (_, k) in enumerate(self.pair) if k == i), D(0)) / max(on, 1)
            for i, on in enumerate(self.on)
        ]
        first, second = [], []
        for c, (n, i) in enumerate(self.pair):
            across = 2 * self.t_pf / users * (level[n] - mean) / self.phi[n]
            within = 2 * self.t_drf / self.on[i] * (a[c] - middle[i])
            first.append(self.u[c] * (level[n] ** -self.alpha - across - within))
            row = []
            for e, (m, k) in enumerate(self.pair):
                bend = D(0)
                if m == n:
                    bend += self.alpha * level[n] ** (-self.alpha - 1) / self.phi[n]
                same = D(int(m == n))
                bend += 2 * self.t_pf / users * (same - 1 / users) / self.phi[n] / self.phi[m]
                if k == i:
                    bend += 2 * self.t_drf / self.on[i] * (D(int(c == e)) - D(1) / self.on[i])
                row.append(bend * self.u[c] * self.u[e])
            second.append(row)
        return first, second

    def left(self, x):
        return [r - sum((a * b for a, b in zip(row, x, strict=True)), D(0)) for row, r in self.rows]

    def climbed(self):
        size = len(self.pair)
        alone = [
            min((r / row[c] for row, r in self.rows if row[c] > 0), default=D(1))
            for c in range(size)
        ]
        x, mu = [one / (2 * size) for one in alone], D(1)
        while mu > LEAST_MU:
            for _ in range(60):
                step, gain = self._step(x, mu)
                length = D(1)
                while not self._inside([a + length * b for a, b in zip(x, step, strict=True)]):
                    length *= D("0.5")
                if length < 1:
                    length *= D("0.9")
                x = [a + length * b for a, b in zip(x, step, strict=True)]
                if gain < D("1e-12") * mu and length == 1:
                    break
            else:
                raise AssertionError("the path did not reach its top")
            mu *= SLOWER
        return x

    def _inside(self, x):
        return all(one > 0 for one in x) and all(one > 0 for one in self.left(x))

    def _step(self, x, mu):
        first, matrix = self.slopes(x)
        left = self.left(x)
        size = len(x)
        for c in range(size):
            first[c] += mu / x[c]
            matrix[c][c] += mu / x[c] ** 2
        for (row, _), rest in zip(self.rows, left, strict=True):
            for c in range(size):
                if row[c]:
                    first[c] -= mu * row[c] / rest
                    for e in range(size):
                        matrix[c][e] += mu * row[c] * row[e] / rest**2
        step = _solved([[*row, right] for row, right in zip(matrix, first, strict=True)])
        return step, sum((a * b for a, b in zip(step, first, strict=True)), D(0))


def _solved(system):
    """Gauss and Jordan, with the largest pivot."""
    size = len(system)
    for k in range(size):
        pivot = max(range(k, size), key=lambda j, k=k: abs(system[j][k]))
        system[k], system[pivot] = system[pivot], system[k]
        system[k] = [a / system[k][k] for a in system[k]]
        for j in range(size):
            if j != k and system[j][k]:
                factor = system[j][k]
                system[j] = [a - factor * b for a, b in zip(system[j], system[k], strict=True)]
    return [row[-1] for row in system]
