"""The path of `small` as loops to be compiled, of which its NumPy text says what they compute.

A small answer takes a hundred calls of NumPy a step, each of which costs more than its sums. What
comes out is the same to rounding: sums are added in another order, and a Cholesky factor stands for
the inverse.
"""

from __future__ import annotations

from contextlib import suppress
from math import inf, log, sqrt
from typing import Any

import numpy as np

from fairopt.fast import inner, loop
from fairopt.instance import Floats, Ints
from fairopt.solving.engines.compact.ends_loop import begun, ended


def followed(
    pairs: tuple[Ints, Ints, Ints, Floats],
    rows: tuple[int, int],
    users: tuple[Floats, Floats],
    alpha: float,
    ends: tuple[float, ...],
    settings: tuple[float, ...],
) -> tuple[Floats, Floats] | None:
    """The shares (P,) and prices (m,) at the end of the path, where no other alpha is on the way.

    Parameters
    ----------
    pairs : user and server (P,), rows (P, K) and what a unit of share takes of them, 0 of none
        (P, K). rows : how many, and how many of them are limits. users : weights (N,) and their
        logarithms. ends : in the order of `begun` and `ended`. settings : as of `descended`.
    """
    n, server, row, use = pairs
    whole = np.empty(2 * (len(n) + rows[0]) + len(users[0]))
    factor = np.empty(len(users[0]))
    filled, dearer, clear = ends
    with suppress(ZeroDivisionError):
        loop(begun)(whole, factor, n, server, row, use, *rows, users[0], alpha, filled, dearer)
        whole = descended(whole, (n, row, use), (factor, users[1]), alpha, settings)
        return loop(ended)(whole, factor, n, row, use, rows[0], clear)  # type: ignore[no-any-return]
    return None


def descended(
    whole: Floats,
    pairs: tuple[Ints, Ints, Floats],
    users: tuple[Floats, Floats],
    alpha: float,
    settings: tuple[float, ...],
) -> Floats:
    """The best state met from a state (`CompactState.whole`).

    Parameters
    ----------
    pairs : user (P,), rows (P, K) and what a unit of share takes of them, 0 of none (P, K).
    users : factor (N,) of share that makes a level, log of weights (N,).
    settings : in the order of `_descent`.
    """
    best = whole.copy()
    with suppress(ZeroDivisionError):  # what NumPy calls no number: then the best before it
        loop(_descent)(best, *pairs, *users, alpha, *settings)
    return best


@inner
def _factored(matrix) -> Any:  # type: ignore[no-untyped-def]
    """Into the upper triangle of a matrix its factor; whether it is positive definite."""
    size = len(matrix)
    for k in range(size):
        if not matrix[k, k] > 0.0:
            return False
        root = 1.0 / sqrt(matrix[k, k])
        matrix[k, k:] *= root
        for r in range(k + 1, size):
            if matrix[k, r] != 0.0:
                weight = matrix[k, r]
                for j in range(r, size):
                    matrix[r, j] -= weight * matrix[k, j]
    return True


@inner
def _solve(factor, right) -> Any:  # type: ignore[no-untyped-def]
    """Into a right side what solves factor^T factor x = right."""
    size = len(right)
    for k in range(size):
        right[k] /= factor[k, k]
        for j in range(k + 1, size):
            right[j] -= factor[k, j] * right[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            right[k] -= factor[k, j] * right[j]
        right[k] /= factor[k, k]


@inner
def _reach(z, step) -> Any:  # type: ignore[no-untyped-def]
    """The length of a step at which the first unknown becomes 0."""
    first = 1e-300
    for j in range(len(z)):
        first = max(first, -step[j] / z[j])
    return 1.0 / first


def _descent(  # type: ignore[no-untyped-def]
    best, n, row, use, factor, log_weight, alpha,
    enough, good, patience, most, eased, damping, last, lightest,
) -> Any:  # fmt: skip
    """Into best (2 P + 2 m + N,): the best state met from it."""
    pairs, users, width = len(n), len(factor), row.shape[1]
    size = (len(best) - users) // 2 - pairs
    many = pairs + size
    costs = many + users
    z, least, worse = best.copy(), inf, 0
    used, level, money_of = np.empty(size), np.empty(users), np.empty(users)
    dual, primal, curve = np.empty(pairs), np.empty(size), np.empty(users)
    theta, ease, cool, fall = np.empty(pairs), np.empty(users), np.empty(users), np.empty(users)
    coupled, matrix, kept = np.empty((users, size)), np.empty((size, size)), np.empty((size, size))
    aim, risen = np.empty(len(best)), np.empty(users)
    change, bend, due, square = np.empty(many), np.empty(users), np.empty(many), np.empty(many)
    pull, total, lacking, right = np.empty(pairs), np.empty(users), np.empty(size), np.empty(size)
    for _ in range(int(most)):
        # -- what is left of each condition
        used[:] = 0.0
        level[:] = 0.0
        for h in range(pairs):
            level[n[h]] += z[h]
            for k in range(width):
                used[row[h, k]] += use[h, k] * z[h]
        money, bent, gap = 0.0, 0.0, 0.0
        for u in range(users):
            level[u] *= factor[u]
            money_of[u] = z[many + u] * level[u]
            money += money_of[u]
            if not (level[u] > 0.0 and z[many + u] > 0.0):
                return
            curve[u] = log(z[many + u]) + alpha * log(level[u]) - log_weight[u]
            bent = max(bent, abs(curve[u]))
        open_, short = 0.0, 0.0
        for h in range(pairs):
            cost = 0.0
            for k in range(width):
                cost += use[h, k] * z[pairs + row[h, k]]
            dual[h] = factor[n[h]] * z[many + n[h]] - cost + z[costs + h]
            open_ += abs(dual[h]) * z[h]
        for r in range(size):
            primal[r] = 1.0 - used[r] - z[costs + pairs + r]
            short = max(short, abs(primal[r]))
        for j in range(many):
            gap += z[j] * z[costs + j]
        if not money > 0.0:
            return
        error = max(open_ / money, short, bent, gap / money)
        # a sum that is no number is none of the four's largest for sure
        if not open_ + short + bent + gap + money < inf:
            return
        if error < least:
            best[:] = z
            least, worse = error, 0
        else:
            worse += 1
        if least <= enough or worse > (0 if least <= good else patience):
            return
        # -- the matrix in the rows
        ease[:] = 0.0
        coupled[:] = 0.0
        matrix[:] = 0.0
        for h in range(pairs):
            user = n[h]
            theta[h] = z[h] / (z[costs + h] + damping * factor[user] * z[many + user])
            ease[user] += theta[h]
            for k in range(width):
                weight = theta[h] * use[h, k]
                if weight != 0.0:
                    coupled[user, row[h, k]] += weight
                    for j in range(width):
                        matrix[row[h, k], row[h, j]] += weight * use[h, j]
        for u in range(users):
            fall[u] = alpha * factor[u] * z[many + u] / level[u]
            heat = factor[u] * fall[u]
            ease[u] = 1.0 / (1.0 + heat * ease[u])
            cool[u] = heat * ease[u]
            for r in range(size):
                weight = cool[u] * coupled[u, r]
                if weight != 0.0:
                    for j in range(r, size):
                        matrix[r, j] -= weight * coupled[u, j]
        for r in range(size):
            matrix[r, r] = (matrix[r, r] + z[costs + pairs + r] / z[pairs + r]) * (1.0 + eased)
            kept[r, r:] = matrix[r, r:]
        if not _factored(matrix):
            return
        # -- towards 0, and from how far that comes to the centre
        mean, money = gap / many, money / many
        if not mean > 0.0:
            return
        for j in range(many):
            change[j] = -z[costs + j]
        for second in range(2):
            for u in range(users):
                if second:
                    dearer, rise = aim[many + u] / z[many + u], risen[u] * factor[u] / level[u]
                    bend[u] = curve[u] - min((dearer * dearer + alpha * rise * rise) / 2, 0.5)
                else:
                    bend[u] = curve[u]
                total[u] = 0.0
            if second:
                length, rest = min(1.0, _reach(z, aim)), 0.0
                for j in range(many):
                    square[j] = aim[j] * aim[costs + j]
                    rest += square[j]
                rest = (1.0 - length) * mean + length**2 * rest / many
                centre = max(mean * min(1.0, rest / mean) ** 3, last * money)
                # each product is to be as the money of its user, of a row's users the mean
                lacking[:] = 0.0
                for h in range(pairs):
                    own = money_of[n[h]] * users / (money * many)
                    due[h] = min(max(own, lightest), 1.0)
                    for k in range(width):
                        lacking[row[h, k]] += use[h, k] * z[h] / due[h]
                for r in range(size):
                    due[pairs + r] = used[r] / lacking[r]
                for j in range(many):
                    far = 10.0 * mean * due[j]
                    aimed = centre * due[j] - min(max(square[j], -far), far)
                    change[j] = aimed / z[j] - z[costs + j]
            lacking[:] = 0.0
            for h in range(pairs):
                user = n[h]
                pull[h] = theta[h] * (
                    dual[h] + change[h] - factor[user] * z[many + user] * bend[user]
                )
                total[user] += pull[h]
                for k in range(width):
                    lacking[row[h, k]] += use[h, k] * pull[h]
            for r in range(size):
                lacking[r] += change[pairs + r] - primal[r]
            for u in range(users):
                weight = cool[u] * total[u]
                for r in range(size):
                    lacking[r] -= weight * coupled[u, r]
            right[:] = lacking
            _solve(matrix, right)
            if second:  # the last digits matter
                for r in range(size):
                    lacking[r] -= kept[r, r] * right[r]
                    for j in range(r + 1, size):
                        lacking[r] -= kept[r, j] * right[j]
                        lacking[j] -= kept[r, j] * right[r]
                _solve(matrix, lacking)
                right += lacking
            for u in range(users):
                rise = total[u]
                for r in range(size):
                    rise -= coupled[u, r] * right[r]
                risen[u] = rise * ease[u]
                aim[many + u] = -fall[u] * risen[u] - z[many + u] * bend[u]
            for h in range(pairs):
                cost = factor[n[h]] * fall[n[h]] * risen[n[h]]
                for k in range(width):
                    cost += use[h, k] * right[row[h, k]]
                aim[h] = pull[h] - theta[h] * cost
            aim[pairs:many] = right
            for j in range(many):
                aim[costs + j] = change[j] - z[costs + j] * (aim[j] / z[j])
        far = min(1.0, max(mean / money, bent))
        length = min(1.0, (1.0 - min(0.05, max(far**1.5, 1e-9))) * _reach(z, aim))
        for j in range(len(z)):
            z[j] += length * aim[j]
