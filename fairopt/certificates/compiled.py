"""The sums of `dense` as loops to be compiled (`fast`). Unlike what `kernels` make, these prove.

Products and sums are split into their rounded value and its rounding error by the very operations
of `formulas.doubles`, in the order in which they stand here: nothing is fused or reordered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt import fast
from fairopt.formulas.doubles import SPLIT
from fairopt.instance import Floats, Ints

PIECE = 4096
"""users whose use is summed up first, so that the error of what is left over stays small"""
LEFT = 2.0**-102
"""part of the sum of all terms by which `used` may be wrong: 2^-104 for what is rounded of a term
beyond its two floats and of the result, and n^3 2^-157 for third floats of n terms that are added
up in floats, of a piece and then of all pieces"""
NONE = np.zeros((0, 0))


def used(demand: Floats, servers: int, columns: Ints, amount: Floats) -> tuple[Floats, ...]:
    """`dense.used`: high, low and error, (servers, R) each."""
    sums = np.zeros((8, servers, demand.shape[1]))
    fast.loop(_used)(demand, columns, np.ascontiguousarray(amount), sums, PIECE)
    high, rest, low, size = sums[4:]
    total = high + rest
    part = total - high
    lost = (high - (total - part)) + (rest - part)
    return total, lost + low, LEFT * size


def profits(
    demand: Floats, price: Floats, worth: Floats, value: Floats, more: Floats | None, columns: Ints
) -> tuple[Floats, Floats]:
    """`dense.profits`, to the last digit: what tasks bring, and the size of all terms of each."""
    found, size = np.empty(len(columns)), np.empty(len(columns))
    besides = NONE if more is None else np.ascontiguousarray(more)
    # arrays of one layout, so that one loop is compiled
    worth, value = np.ascontiguousarray(worth), np.ascontiguousarray(value)
    fast.loop(_profits)(demand, price, worth, value, besides, columns, found, size)
    return found, size


@fast.inner
def two_sum(a, b) -> Any:  # type: ignore[no-untyped-def]
    """`exact_sum` of two numbers."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@fast.inner
def two_product(a, b) -> Any:  # type: ignore[no-untyped-def]
    """`exact_product` of two numbers."""
    product = a * b
    shifted = SPLIT * a
    a1 = shifted - (shifted - a)
    a2 = a - a1
    shifted = SPLIT * b
    b1 = shifted - (shifted - b)
    b2 = b - b1
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _used(demand, columns, amount, sums, piece) -> Any:  # type: ignore[no-untyped-def]
    """Into sums (8, I, R): three floats and the size of what a piece uses, and of all."""
    servers, resources = sums.shape[1], sums.shape[2]
    end = piece
    for c in range(len(columns) + 1):
        n = columns[c] // servers if c < len(columns) else len(demand) + piece
        if n >= end:
            for i in range(servers):
                for r in range(resources):
                    high, over = two_sum(sums[4, i, r], sums[0, i, r])
                    rest, lost = two_sum(sums[5, i, r], over)
                    rest, gone = two_sum(rest, sums[1, i, r])
                    sums[4, i, r], sums[5, i, r] = high, rest
                    sums[6, i, r] += (lost + gone) + sums[2, i, r]
                    sums[7, i, r] += sums[3, i, r]
                    for k in range(4):
                        sums[k, i, r] = 0.0
            end = (n // piece + 1) * piece
        if c == len(columns):
            break
        i = columns[c] - n * servers
        x, y = amount[0, c], amount[1, c]
        for r in range(resources):
            d = demand[n, r]
            product, wrong = two_product(d, x)
            high, over = two_sum(sums[0, i, r], product)
            rest, lost = two_sum(sums[1, i, r], over)
            rest, gone = two_sum(rest, wrong + d * y)
            sums[0, i, r], sums[1, i, r] = high, rest
            sums[2, i, r] += lost + gone
            sums[3, i, r] += abs(product) + abs(d * y)


def _profits(demand, price, worth, value, more, columns, found, size) -> Any:  # type: ignore[no-untyped-def]
    """Into found and size (K,)."""
    servers, resources = price.shape[1], price.shape[2]
    for k in range(len(columns)):
        n = columns[k] // servers
        i = columns[k] - n * servers
        high, rest = two_product(worth[k], value[0, n])
        rest += worth[k] * value[1, n]
        whole = abs(high)
        if len(more):
            high, wrong = two_sum(high, -more[0, n])
            rest += wrong - more[1, n]
            whole += more[0, n]
        for r in range(resources):
            d = demand[n, r]
            product, wrong = two_product(d, price[0, i, r])
            whole += product
            high, lost = two_sum(high, -product)
            rest += (lost - wrong) - d * price[1, i, r]
        found[k], size[k] = high + rest, whole


__all__ = ["profits", "two_product", "two_sum", "used"]
