"""The optimum of a small alpha-fair cluster to fifty digits, in decimals: Newton and Gauss.

Nothing of the judges is used but the answer that it starts from, and that only for the active set.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

import fairopt as fo

Row = list[Decimal]
DIGITS = 80
RIGHT = Decimal(10) ** -50


def optimal_shares(alloc: fo.Allocation, alpha: float) -> tuple[np.ndarray, np.ndarray] | None:
    """(N,) shares and (I, R) prices at the optimum; None where the answer's active set is not it.

    Scores are 1, weights outside, no limits.
    """
    inst = alloc.instance
    pairs = [(n, i) for n, i in zip(*np.nonzero(alloc.tasks), strict=True)]
    rows = [(i, r) for i, r in zip(*np.nonzero(alloc.prices), strict=True)]
    with localcontext() as context:
        context.prec = DIGITS
        power = Decimal(alpha)
        d = [[[Decimal(v) for v in row] for row in user] for user in inst.demand_by_server.tolist()]
        c = [[Decimal(v) for v in row] for row in inst.pool.tolist()]
        w = [Decimal(v) for v in inst.weight.tolist()]
        x = [Decimal(float(alloc.tasks[n, i])) for n, i in pairs]
        share = np.asarray(alloc.shares)
        scale = float(np.median(inst.weight * share ** (1 - alpha) / _paid(alloc)))
        p = [Decimal(float(alloc.prices[i, r]) * scale) for i, r in rows]
        for _ in range(60):
            s = [Decimal(0)] * len(w)
            for (n, _), tasks in zip(pairs, x, strict=True):
                s[n] += tasks
            if min(s) <= 0:
                return None
            value = [w[n] * s[n] ** -power for n in range(len(w))]
            right: Row = []
            matrix: list[Row] = []
            for n, i in pairs:
                cost = sum(
                    (d[n][i][r] * q for (j, r), q in zip(rows, p, strict=True) if j == i),
                    Decimal(0),
                )
                right.append(1 - cost / value[n])
                slope = [power / s[n] * (m == n) for m, _ in pairs]
                matrix.append(slope + [d[n][i][r] * (j == i) / value[n] for j, r in rows])
            for i, r in rows:
                used = sum(
                    (d[n][j][r] * t for (n, j), t in zip(pairs, x, strict=True) if j == i),
                    Decimal(0),
                )
                right.append(1 - used / c[i][r])
                line = [d[n][i][r] * (j == i) / c[i][r] for n, j in pairs]
                matrix.append(line + [Decimal(0)] * len(rows))
            if max(map(abs, right)) < RIGHT:
                break
            step = _gauss(matrix, right)
            if step is None:
                return None
            shorter = max(max(-g / t for g, t in zip(step, x + p, strict=False)), Decimal(0))
            length = min(Decimal(1), Decimal("0.9") / shorter) if shorter > 0 else Decimal(1)
            x = [t + length * g for t, g in zip(x, step[: len(x)], strict=True)]
            p = [t + length * g for t, g in zip(p, step[len(x) :], strict=True)]
        else:
            return None
        # the active set is right: what is not full has room, and no other pair is cheaper
        q = {row: price for row, price in zip(rows, p, strict=True)}
        for i in range(inst.shape[1]):
            for r in range(inst.shape[2]):
                used = sum(
                    (d[n][j][r] * t for (n, j), t in zip(pairs, x, strict=True) if j == i),
                    Decimal(0),
                )
                if used > c[i][r] * (1 + RIGHT):
                    return None
        for n, i in zip(*np.nonzero(inst.eligible), strict=True):
            cost = sum(
                (d[n][i][r] * q.get((i, r), Decimal(0)) for r in range(inst.shape[2])), Decimal(0)
            )
            if cost < value[n] * (1 - RIGHT):
                return None
        prices = np.zeros(inst.pool.shape)
        for row, price in q.items():
            prices[row] = float(price)
        return np.array([float(v) for v in s]), prices


def _paid(alloc: fo.Allocation) -> np.ndarray:
    cost = np.einsum("nir,ir->ni", alloc.instance.demand_by_server, alloc.prices)
    return np.einsum("ni,ni->n", cost, alloc.tasks)


def _gauss(matrix: list[Row], right: Row) -> Row | None:
    size = len(right)
    rows = [[*line, b] for line, b in zip(matrix, right, strict=True)]
    for k in range(size):
        pivot = max(range(k, size), key=lambda m: abs(rows[m][k]))
        if abs(rows[pivot][k]) < RIGHT:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for m in range(k + 1, size):
            factor = rows[m][k] / rows[k][k]
            if factor:
                rows[m] = [a - factor * b for a, b in zip(rows[m], rows[k], strict=True)]
    found = [Decimal(0)] * size
    for k in reversed(range(size)):
        rest = sum((rows[k][m] * found[m] for m in range(k + 1, size)), Decimal(0))
        found[k] = (rows[k][size] - rest) / rows[k][k]
    return found
