"""The descent of `absolute` on few unknowns as one loop to be compiled: its steps by `whole`, which
say what it computes, to rounding."""

from __future__ import annotations

from contextlib import suppress
from math import inf, log
from typing import Any

import numpy as np

from fairopt.fast import inner, loop
from fairopt.formulas.square_loop import factored, solved
from fairopt.instance import Floats, Ints


def descended(
    whole: Floats,
    linear: tuple[Floats, Floats, Floats],
    shares: tuple[Floats, Floats, Ints],
    soft: tuple[Floats, Floats],
    log_weight: Floats,
    alpha: float,
    settings: tuple[float, ...],
) -> Floats:
    """The best state met from a state (`CentringState.whole`).

    Parameters
    ----------
    linear : `Whole.linear`, `Positions.constant`, `Whole.newton`.
    shares : of_user (P, N), use (P, rows), user of each (P,). soft : 1 / w of users and shares,
        empty of no force. settings : in the order of `_whole_descent`.
    """
    best = whole.copy()
    with suppress(ZeroDivisionError):  # what NumPy calls no number: then the best before it
        loop(_whole_descent)(best, *linear, *shares, *soft, log_weight, alpha, *settings)
    return best


def _whole_descent(  # type: ignore[no-untyped-def]
    best, linear, constant, newton, of_user, use, owner, across, within, log_weight, alpha,
    enough, good, patience, most, last, lightest,
) -> Any:  # fmt: skip
    """Into best, in the order of `CentringState`: the best state met from it."""
    (pairs, users), rows, unknowns = of_user.shape, use.shape[1], len(newton)
    many = pairs + rows
    value, pull, apart = 2 * many, 2 * many + users, 2 * many + 2 * users
    z, least, worse, missing = best.copy(), inf, 0, inf
    every, curve, bend = np.empty(len(linear)), np.empty(users), np.empty(users)
    matrix, order = np.empty((unknowns, unknowns)), np.empty(unknowns, np.int64)
    aim, due, change, rise = np.empty(unknowns), np.empty(many), np.empty(many), np.empty(users)
    harder = np.empty(rows)
    for _ in range(int(most)):
        for k in range(len(linear)):
            every[k] = constant[k]
            for j in range(unknowns):
                every[k] += linear[k, j] * z[j]
        level = every[unknowns:]
        money, bent, top = 0.0, 0.0, 0.0
        for n in range(users):
            if not (level[n] > 0.0 and z[value + n] > 0.0):
                return
            money += z[value + n] * level[n]
            curve[n] = log(z[value + n]) + alpha * log(level[n]) - log_weight[n]
            bent = max(bent, abs(curve[n]))
            top = max(top, level[n])
        open_, short, gap, largest = 0.0, 0.0, 0.0, 0.0
        for h in range(pairs):
            open_ += abs(every[h]) * z[h]
            largest = max(largest, z[h])
        for r in range(rows):
            short = max(short, abs(every[pairs + r]))
        for j in range(many):
            gap += z[j] * z[many + j]
        error = max(open_ / money, short, bent, gap / money)
        total = open_ + short + bent + gap + money
        for n in range(len(across)):
            away = abs(every[pull + n]) / (1.0 + z[value + n] / level[n] * across[n])
            error, total = max(error, away / top), total + away
        for h in range(len(within)):
            n = owner[h]
            stiff = of_user[h, n] * of_user[h, n] * alpha * z[value + n] / level[n]
            away = abs(every[apart + h]) / (1.0 + stiff * within[h])
            error, total = max(error, away / largest), total + away
        if not total < inf:
            return
        lack = (open_ + gap) / money
        if error < least:
            best[:] = z
            least, worse = error, 0
        elif lack < missing:
            worse = 0
        else:
            worse += 1
        missing = min(missing, lack)
        if least <= enough or worse > (1 if least <= good else patience):
            return
        # -- the matrix of all conditions
        matrix[:] = newton
        for j in range(many):
            matrix[many + j, j] = z[many + j]
            matrix[many + j, many + j] = z[j]
        for n in range(users):
            for h in range(pairs):
                matrix[value + n, h] = alpha * z[value + n] / level[n] * of_user[h, n]
        mean = gap / many
        if not mean > 0.0 or not factored(matrix, order):
            return
        # -- towards 0, and from how far that comes to the centre
        for j in range(many):
            change[j] = -z[j] * z[many + j]
        for second in range(2):
            if second:  # where the first ends is known only now, and both have the same factors
                rest, length = 0.0, min(1.0, _reach(z, aim, pull))
                for j in range(many):
                    rest += aim[j] * aim[many + j]
                rest = (1.0 - length) * mean + length**2 * rest / many
                centre = max(mean * min(1.0, rest / mean) ** 3, last * money / many)
                harder[:] = 0.0
                for h in range(pairs):
                    own = z[value + owner[h]] * level[owner[h]] * users / money
                    due[h] = min(max(own, lightest), 1.0)
                    for r in range(rows):
                        harder[r] += z[h] / due[h] * use[h, r]
                for r in range(rows):
                    due[pairs + r] = 0.0
                    for h in range(pairs):
                        due[pairs + r] += z[h] * use[h, r] / harder[r]
                for j in range(many):
                    far, square = 10.0 * mean * due[j], aim[j] * aim[many + j]
                    change[j] = centre * due[j] - z[j] * z[many + j] - min(max(square, -far), far)
            for n in range(users):
                bend[n] = curve[n]
                if second:
                    rise[n] = 0.0
                    for h in range(pairs):
                        rise[n] += aim[h] * of_user[h, n] / level[n]
                    dearer = aim[value + n] / z[value + n]
                    bend[n] -= min((dearer * dearer + alpha * rise[n] * rise[n]) / 2, 0.5)
            for k in range(unknowns):
                aim[k] = -every[k]
            for j in range(many):
                aim[many + j] = change[j]
            for n in range(users):
                aim[value + n] = -z[value + n] * bend[n]
            if not solved(matrix, order, aim):
                return
        far = min(1.0, max(mean * many / money, bent))
        length = min(1.0, (1.0 - min(0.05, max(far**1.5, 1e-9))) * _reach(z, aim, pull))
        for k in range(unknowns):
            z[k] += length * aim[k]


@inner
def _reach(z, step, positive) -> Any:  # type: ignore[no-untyped-def]
    """The length of a step at which the first of the positive unknowns becomes 0."""
    first = 1e-300
    for j in range(positive):
        first = max(first, -step[j] / z[j])
    return 1.0 / first
