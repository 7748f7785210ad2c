r"""The most output of a user with several modes alone on a server row: a small linear program.

.. math:: \max_{x \ge 0} \sum_k a_k x_k, \quad \sum_k d_{k,r} x_k \le c_r

It is solved exactly, by the simplex method with Bland's rule, for one server at a time. A basis
that is optimal for one server is optimal for every other on which its tasks are not negative, so
that few are solved. Limits are left aside, as everywhere in `Instance.alone`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ZERO = 1e-12
"""a reduced cost or a number of tasks below this, where all are about 1, is taken for 0"""


def most_output(demand: Floats, speed: Floats, pool: Floats, eligible: Bools) -> Floats:
    """(I,) the most output alone on each row.

    Parameters
    ----------
    demand : (K, R) of each mode, or (K, I, R). speed : (K,) > 0. pool : (I, R).
    eligible : (K, I), which mode may run where and finds what it demands.
    """
    found = np.zeros(len(pool))
    by_server = demand.ndim == 3
    patterns: dict[bytes, list[int]] = {}
    for i in np.flatnonzero(eligible.any(axis=0)).tolist():
        own = demand[:, i].tobytes() if by_server else b""
        patterns.setdefault(eligible[:, i].tobytes() + own, []).append(i)
    for rows in patterns.values():
        ways = eligible[:, rows[0]]
        d = demand[ways, rows[0]] if by_server else demand[ways]
        found[rows] = _best(d, speed[ways], pool[rows])
    return found


def _best(demand: Floats, speed: Floats, pool: Floats) -> Floats:
    """(H,) the most output of modes that may all run on all H rows."""
    needed = (demand > 0).any(axis=0)
    with np.errstate(over="ignore", under="ignore"):
        cost, c = demand[:, needed] / speed[:, None], pool[:, needed]  # of a unit of output
        alone = _alone(cost, c)
    found: Floats = alone.max(axis=1)
    # one mode, or numbers beyond floating point, of which the instance's checks say so
    sane = ((alone > 1e-150) & (alone < 1e150)).all(axis=1)
    left = np.flatnonzero(sane) if len(cost) > 1 else np.empty(0, dtype=np.int64)
    while len(left):
        # resources in units of the first row's, output in units of what each mode can do there
        first, unit = c[left[0]], alone[left[0]]
        most = unit.max()
        columns = np.hstack([(cost / first * unit[:, None]).T, np.eye(cost.shape[1])])
        gain = np.concatenate([unit / most, np.zeros(cost.shape[1])])
        basis = _optimal(columns, gain)
        square, have = columns[:, basis], c[left] / first
        price = np.linalg.solve(square.T, gain[basis])
        tasks = np.linalg.solve(square, have.T)
        good = (tasks >= -ZERO * have.max(axis=1)).all(axis=0)
        good[0] = True
        found[left[good]] = have[good] @ price * most
        left = left[~good]
    return found


def _alone(cost: Floats, pool: Floats) -> Floats:
    """(H, K) the most output of one mode alone."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.nanmin(pool[:, None, :] / cost, axis=2))


def _optimal(columns: Floats, gain: Floats) -> list[int]:
    """The basis of max gain x, columns x = 1, x >= 0; the slacks are the last columns."""
    rows, size = columns.shape
    basis = list(range(size - rows, size))
    for _ in range(1000 * size):
        square = columns[:, basis]
        price = np.linalg.solve(square.T, gain[basis])
        better = np.flatnonzero(gain - price @ columns > ZERO)
        if not len(better):
            break
        entering = int(better[0])
        change = np.linalg.solve(square, columns[:, entering])
        tasks = np.linalg.solve(square, np.ones(rows))
        ratio = np.where(change > ZERO, tasks / np.where(change > ZERO, change, 1.0), np.inf)
        least = ratio.min()
        tied = [k for k in range(rows) if ratio[k] <= least + ZERO * (1 + abs(least))]
        basis[min(tied, key=lambda k: basis[k])] = entering
    return basis
