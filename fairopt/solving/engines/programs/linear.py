r"""Linear programs solved to the last digit: the simplex method with iterative refinement.

The tolerances of a solver are absolute: a user whose gain is 1e-12 of the largest is below them and
may get anything. So the program is solved again for the *errors* of the answer, multiplied until
they are above the tolerances (Gleixner, Steffy and Wolter 2016). With tasks x, slacks s of the rows
and prices y, the program

.. math:: \max\ \Gamma \left( (g - A^T y) z - y\, w \right), \quad A z + w = \Delta (b - A x - s),
          \quad -\Delta x \le z \le \Delta (u - x), \quad -\Delta s \le w

corrects x by z/Delta and y by its prices/Gamma. Gamma grows until every single gain agrees with the
prices, then Delta until every row that has a price is full.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt import clock
from fairopt.errors import SolverFailure
from fairopt.instance import Floats, Instance
from fairopt.notions.way import Patterns
from fairopt.solving.engines import units
from fairopt.solving.engines.point import FURTHEST, AlphaQuestion, Point, in_range
from fairopt.solving.engines.programs import conic


def best(instance: Instance, way: Patterns, gain: Floats) -> Floats:
    """Tasks (N, I) of the answer of largest gain.

    The booleans found (the pattern) are fixed and the program is solved again, so that the
    tolerance of integers does not enter the tasks.

    Parameters
    ----------
    gain : (N,) gain of one task of each user in the objective; all 0 if any answer will do.

    Raises
    ------
    SolverFailure : no pattern was found within the bound on nodes (`conic.NODES`), or no tasks are
        feasible for the one found.
    """
    import cvxpy as cp

    chosen: dict[str, Any] = {}

    def variable(name: str, size: int) -> Any:
        chosen[name] = cp.Variable(size, boolean=True, name=name)
        return chosen[name]

    def found(name: str, size: int) -> Any:
        return cp.Constant(np.round(chosen[name].value))

    searched = way.program(instance, variable, gain)
    _, status = conic.run(searched, instance, conic.INTEGER)
    if status != "optimal":  # the bound on nodes was hit: any pattern found may not be the best
        raise SolverFailure(
            f"highs: {status}: the search for a pattern was given up after {conic.NODES:,} nodes; "
            "the instance is too large for the mixed-integer program"
        )
    fixed = way.program(instance, found, gain)
    point, _ = conic.run(fixed, instance, conic.EXACT)
    told, worth = float(searched.objective.value), float(fixed.objective.value)
    if not abs(told - worth) <= conic.BOUND * max(1.0, abs(told)):
        raise SolverFailure(
            f"highs: told {told:.9g} for a pattern, which is worth {worth:.9g} once it is fixed"
        )
    return point.tasks(instance)


ROUNDS = 8
GROWTH = 1e5
"""factor by which errors are multiplied from round to round"""
AGREED = 1e-9
"""part of a gain by which its price may differ from it, and of a column that counts as nothing"""
ROUNDING = 4 * 2.0**-52
"""what may be left of a row, of which columns use parts of order 1, when it is full"""
FAR = 1e3
"""larger (scaled) errors are none: the column is not used, or the row is not full"""


def solve(question: AlphaQuestion) -> Point:
    """The answer for alpha = 0; unknowns are fractions of what the user could run there alone.

    Raises
    ------
    SolverFailure : HiGHS finds no optimum.
    """
    from scipy.sparse import coo_array, vstack

    inst = question.instance
    n, i = question.pairs
    users, servers, resources = inst.shape
    pair = np.arange(len(n))
    unit = np.minimum(inst.alone[n, i], inst.limit[n])
    places = i[:, None] * resources + np.arange(resources)
    use = coo_array(
        ((question.use * unit[:, None]).ravel(), (places.ravel(), np.repeat(pair, resources))),
        shape=(servers * resources, len(n)),
    )
    limit = coo_array((unit / inst.limit[n], (n, pair)), shape=(users, len(n)))
    log_gain = question.log_w[n] + np.log(question.share_per_task * unit)
    x, money, _ = maximum(
        np.exp(log_gain - log_gain.max()),
        vstack([use, limit]).tocsc(),
        np.ones(servers * resources + users),
        np.full(len(n), np.inf),
    )
    rows, limits = money[: servers * resources], money[servers * resources :]
    return Point(x * unit, rows.reshape(servers, resources), limits)


def at_limits(question: AlphaQuestion) -> Point | None:
    """Everybody at its limit, nothing else having a price; None where there is no room for that.

    All limits are finite, and every user has one score. The money of limits is too far apart for
    other methods where alpha is large; here it is known, once there is room.
    """
    inst, (n, _) = question.instance, question.pairs
    share = units.best(question) * inst.limit
    x = solve(question.at(0.0, -np.log(share))).x
    had = np.bincount(n, x, len(share))
    if (had < inst.limit * (1 - AGREED)).any():
        return None
    money = in_range(question.log_w + (1 - question.alpha) * np.log(share), -FURTHEST)
    return Point(x * (inst.limit / had)[n], np.zeros(inst.pool.shape), np.exp(money))


def maximum(gain: Floats, use: Any, room: Floats, most: Floats) -> tuple[Floats, Floats, Floats]:
    """max gain x, use x <= room, 0 <= x <= most: x, prices of the rows, prices of the bounds.

    Parameters
    ----------
    gain : (K,) > 0. use : (J, K) >= 0, of order 1, may be sparse. room : (J,) >= 0.
    most : (K,), may be inf.

    Raises
    ------
    SolverFailure : HiGHS finds no optimum of the program itself.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csc_array, eye_array, hstack

    unit = gain.max()
    gain = gain / unit
    rows = csc_array(use)
    both = hstack([rows, eye_array(len(room))], format="csc")
    x, y, slack = np.zeros(len(gain)), np.zeros(len(room)), room.copy()
    loud, wide = 1.0, 1.0
    for _ in clock.steps(ROUNDS):
        reduced = np.concatenate([gain - rows.T @ y, -y])
        low = -wide * np.concatenate([x, slack])
        high = wide * np.concatenate([most - x, np.full(len(room), np.inf)])
        if wide > 1:
            low, high = np.maximum(low, -FAR), np.minimum(high, FAR)
        result = linprog(
            -np.clip(loud * reduced, -FAR, FAR),
            A_eq=both,
            b_eq=wide * (room - rows @ x - slack),
            bounds=np.column_stack([low, high]),
            method="highs-ds",
            options={"time_limit": clock.left()},
        )
        if result.status != 0:
            if loud == 1.0:
                raise SolverFailure(f"HiGHS: {result.message}")
            break
        change = np.asarray(result.x) / wide
        x = np.clip(x + change[: len(x)], 0.0, most)
        slack = np.maximum(slack + change[len(x) :], 0.0)
        y = np.maximum(y - np.asarray(result.eqlin.marginals) / loud, 0.0)
        if not _priced(gain, rows, room, most, x, y):
            loud, wide = loud * GROWTH, 1.0
        elif not _full(rows, room, x, y):
            wide *= GROWTH
        else:
            break
    over = float((rows @ x / np.where(room > 0, room, 1.0)).max())
    bound = np.where(x >= most, np.maximum(gain - rows.T @ y, 0.0), 0.0)
    return x / max(1.0, over), y * unit, bound * unit


def _priced(gain: Floats, use: Any, room: Floats, most: Floats, x: Floats, y: Floats) -> bool:
    """Whether prices are right: rows that are not full cost nothing, and every column costs its
    gain (relative to its own size), or more if it is 0, or less if it is at its bound."""
    cost, left = use.T @ y, room - use @ x
    top = use.max(axis=0).toarray()
    held = x > AGREED * np.minimum(most, 1.0 / np.where(top > 0, top, 1.0))
    cheap = (cost < gain * (1 - AGREED)) & (x < most)
    dear = (cost > gain * (1 + AGREED)) & held
    return not (cheap.any() or dear.any() or ((left > AGREED) & (y > 0)).any())


def _full(use: Any, room: Floats, x: Floats, y: Floats) -> bool:
    """Whether no row is exceeded, and every row with a price is full, within rounding."""
    left = room - use @ x
    return bool((left >= -ROUNDING).all() and (left[y > 0] <= ROUNDING).all())
