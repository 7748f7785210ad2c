"""Exact sums over users times servers, in pieces that stay in the cache.

What a row uses is a product of two tables, tasks and demands. Both are cut into slices of so few
digits that products of slices, and their sums over a piece, are exact floats in whatever order a
matrix product adds them (Ozaki, Ogita, Oishi, Rump, Error-free transformations of matrix
multiplication, 2012). The price of a task is a short sum, of all tasks of a piece at once.
"""

from __future__ import annotations

import numpy as np

from fairopt import fast
from fairopt.certificates.digits import SURE, exact_product, exact_sum
from fairopt.instance import Floats, Ints

USERS = 1 << 12
"""users of a piece"""
BITS, SLICES = 20, 3
"""digits of a slice: twice as many, and 12 for the sum over a piece, are below 53; slices that are
exact, before what is left"""
TASKS = 1 << 14
"""columns whose prices are worked out at once"""


def used(
    demand: Floats, servers: int, columns: Ints, amount: Floats, pairs: int = 0
) -> tuple[Floats, ...]:
    """What tasks use of each resource of each server.

    Parameters
    ----------
    demand : (N, R). columns : (C,) in order, n servers + i. amount : (2, C) tasks, each a sum of
        two floats. pairs : of all users, where these are some of them.

    Returns
    -------
    high, low, error : (servers, R); the sum is high + low, wrong by at most error.
    """
    users, resources = demand.shape
    if fast.chosen(max(pairs, users * servers)):
        from fairopt.certificates import compiled

        return compiled.used(demand, servers, columns, amount)
    high, low, error, whole, terms = (np.zeros((servers, resources)) for _ in range(5))
    starts = np.arange(0, users, USERS)
    ends = np.searchsorted(columns, np.append(starts, users) * servers)
    exact = bool(amount[1].any())
    table = np.empty((2, USERS * servers))
    for start, a, b in zip(starts.tolist(), ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        if a == b:
            continue
        d = demand[start : start + USERS]
        x = table[:, : len(d) * servers]
        x[:] = 0.0
        x[:, columns[a:b] - start * servers] = amount[:, a:b]
        x0, x1 = x.reshape(2, len(d), servers)
        tasks, fine = _slices(x0)
        need, finer = _slices(d)
        if exact:
            tasks[SLICES] += x1
        products = np.concatenate(tasks, axis=1).T @ np.concatenate(need, axis=1)
        each = products.reshape(SLICES + 1, servers, SLICES + 1, resources)
        for both in range(2 * SLICES + 1):
            for k in range(max(0, both - SLICES), min(both, SLICES) + 1):
                high, more = exact_sum(high, each[k, :, both - k])
                low += more
        # what is left of slices, and what the second floats hold, is added in floats
        x = np.abs(x0)
        size = x.T @ d
        left = fine[:, None] * d.sum(axis=0) + x.sum(axis=0)[:, None] * finer + 2.0**-52 * size
        error += len(d) * 2.0**-51 * left
        whole += size
        terms += ((x > 0) | (x1 != 0)).T.astype(np.float64) @ (d > 0)
    error += len(starts) * SLICES**2 * 2.0**-102 * whole
    # what nobody uses is nothing exactly, as it has to be on servers that have none
    return high, low, np.where(terms > 0, error, 0.0)


def _slices(table: Floats) -> tuple[list[Floats], Floats]:
    """Slices of each column of a table (n, m) and what is left; (m,) above what is left."""
    top = np.frexp(np.abs(table).max(axis=0))[1]
    found, rest = [], table
    for _ in range(SLICES):
        sigma = np.ldexp(1.5, top + (53 - BITS))
        part = (rest + sigma) - sigma
        found.append(part)
        rest = rest - part
        top = top - BITS
    return [*found, rest], np.ldexp(1.0, top)


def profits(
    demand: Floats, price: Floats, worth: Floats, value: Floats, more: Floats | None, columns: Ints
) -> tuple[Floats, Floats]:
    """(K,) what tasks are worth less what they cost, and (K,) how wrong it may be.

    Parameters
    ----------
    demand : (N, R) or (N, I, R). price : (2, I, R). worth : (K,). value : (2, N). more : (2, N)
        cost of any task of a user besides, or None. columns : (K,) n I + i.
    """
    resources = price.shape[2]
    if demand.ndim == 2 and fast.chosen(len(demand) * price.shape[1]):
        from fairopt.certificates import compiled

        found, size = compiled.profits(demand, price, worth, value, more, columns)
        return found, SURE * size
    found, error = np.empty(len(columns)), np.empty(len(columns))
    for start in range(0, len(columns), TASKS):
        some = slice(start, start + TASKS)
        n, i = np.divmod(columns[some], price.shape[1])
        need = demand[n] if demand.ndim == 2 else demand[n, i]
        high, rest = exact_product(worth[some], value[0][n])
        rest += worth[some] * value[1][n]
        size = np.abs(high)
        if more is not None:
            high, wrong = exact_sum(high, -more[0][n])
            rest += wrong - more[1][n]
            size += more[0][n]
        for r in range(resources):
            d, p = np.ascontiguousarray(need[:, r]), price[0, i, r]
            product, wrong = exact_product(d, p)
            size += product
            high, lost = exact_sum(high, -product)
            rest += (lost - wrong) - d * price[1, i, r]
        found[some], error[some] = high + rest, SURE * size
    return found, error


__all__ = ["profits", "used"]
