r"""A level that all users can have at once under both hard forms (14) and (15), in exact fractions.

There every eligible user of server i has the same share b_i, and sum_{i in E(n)} b_i = phi_n L of
every user. At a point of floats both hold only nearly. So the largest b_i are solved for with exact
fractions, the others kept, and all made smaller or larger until they just fit: a feasible answer,
whose level is a bound of the optimum's from below.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairopt.allocation import Allocation
from fairopt.instance import Floats

MOST_SERVERS = 40
"""most servers that are solved for"""
HELD = 1e-9
"""a share below this part of the largest is left out"""


def level(alloc: Allocation) -> float:
    """A common level that is feasible, near the answer's; 0 where none was found."""
    inst = alloc.instance
    may = inst.eligible
    dominant = np.where(may, alloc.score * np.maximum(alloc.tasks, 0.0), np.inf)
    share = np.where(may.any(axis=0), dominant.min(axis=0), 0.0)
    share = np.where(share > HELD * float(share.max(initial=0.0)), share, 0.0)
    used = np.flatnonzero(share)
    if not len(used):
        return 0.0
    found = _solved(may[:, used], inst.weight, share[used])
    if found is None:
        return 0.0
    shares, common = found
    exact = [Fraction(0)] * len(share)
    for i, b in zip(used.tolist(), shares, strict=True):
        exact[i] = b
    over = _most_used(alloc, exact)
    return float(common / over) * (1 - 2.0**-50)


def _solved(
    may: np.ndarray, weight: Floats, share: Floats
) -> tuple[list[Fraction], Fraction] | None:
    """Shares and their level, exactly: unknown are as many shares as there are equations."""
    from scipy.linalg import qr

    rows = np.unique(np.column_stack([may, weight]), axis=0)
    matrix = rows[:, :-1] * share
    common = float((may @ share / weight).mean())
    # which equations determine which shares: those that are largest
    _, r, order = qr(matrix, mode="economic", pivoting=True)
    size = np.abs(np.diag(r))
    rank = int((size > 1e-9 * size[0]).sum())
    if rank > MOST_SERVERS:
        return None
    unknown = np.sort(order[:rank])
    _, _, which = qr(matrix[:, unknown].T, mode="economic", pivoting=True)
    taken = np.sort(which[:rank])
    shares = [Fraction(float(b)) for b in share]
    wanted = Fraction(common)
    known = [i for i in range(len(share)) if i not in set(unknown.tolist())]
    system = []
    for k in taken.tolist():
        row = [Fraction(int(rows[k, i])) for i in unknown.tolist()]
        right = Fraction(float(rows[k, -1])) * wanted - sum(
            (shares[i] for i in known if rows[k, i]), Fraction(0)
        )
        system.append([*row, right])
    solution = _eliminated(system)
    if solution is None or any(b < 0 for b in solution):
        return None
    for i, b in zip(unknown.tolist(), solution, strict=True):
        shares[i] = b
    for row in rows:  # the equations left out hold as well, or nothing is found
        total = sum((b for b, on in zip(shares, row[:-1], strict=True) if on), Fraction(0))
        if total != Fraction(float(row[-1])) * wanted:
            return None
    return shares, wanted


def _eliminated(system: list[list[Fraction]]) -> list[Fraction] | None:
    """The solution of a square system, by Gauss and Jordan; None where it is singular."""
    size = len(system)
    for k in range(size):
        pivot = next((j for j in range(k, size) if system[j][k]), None)
        if pivot is None:
            return None
        system[k], system[pivot] = system[pivot], system[k]
        system[k] = [a / system[k][k] for a in system[k]]
        for j in range(size):
            if j != k and system[j][k]:
                factor = system[j][k]
                system[j] = [a - factor * b for a, b in zip(system[j], system[k], strict=True)]
    return [row[-1] for row in system]


def _most_used(alloc: Allocation, shares: list[Fraction]) -> Fraction:
    """The largest part of a capacity or a limit that these shares b (I,) use."""
    inst = alloc.instance
    demand, eligible = inst.demand, inst.eligible
    most, tasks = Fraction(0), [Fraction(0)] * inst.shape[0]
    for i, b in enumerate(shares):
        if not b:
            continue
        use = [Fraction(0)] * inst.shape[2]
        for n in np.flatnonzero(eligible[:, i]).tolist():
            x = b / Fraction(float(alloc.score[n, i]))
            tasks[n] += x
            need = demand[n] if demand.ndim == 2 else demand[n, i]
            use = [u + x * Fraction(float(d)) for u, d in zip(use, need.tolist(), strict=True)]
        for u, c in zip(use, inst.pool[i].tolist(), strict=True):
            if u:
                most = max(most, u / Fraction(float(c)))
    for total, limit in zip(tasks, inst.limit.tolist(), strict=True):
        if np.isfinite(limit):
            most = max(most, total / Fraction(limit))
    return most


__all__ = ["level"]
