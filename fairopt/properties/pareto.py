"""Pareto optimality: no user can have more unless another has less."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.formulas.linear_program import FINE, LinearProgram
from fairopt.formulas.lowered import lower
from fairopt.instance import Floats
from fairopt.properties.compared import at_the_door

TOLERANCE = 1e-6
_LOSS = 1e-9
"""part of its tasks that a user may lose to rounding in the dominating allocation"""


@at_the_door
def pareto_optimal(alloc: Allocation) -> Check:
    r"""No feasible allocation gives somebody more and nobody less.

    .. math:: \max_{y \ge 0} \sum_n \frac{y_n - x_n}{\gamma_n} \quad \text{s.t. } y_n \ge x_n,
              \ y_n \le \ell_n, \ \sum_n y_{n,i} d_{n,r} \le c_{i,r}

    with gamma_n the most tasks of user n alone: one linear program (HiGHS). Where there are limits
    on servers, ceilings, lending and own rules, y keeps them as well; with modes x and y are
    output. A guarantee is no row: who has more than it asks keeps that. Its answer is scaled down
    into the rows in NumPy where all of them allow less, and the gain computed from its tasks. Tasks
    are fluid here, so an allocation of whole tasks may fail by a fraction of a task.

    Returns
    -------
    Check : residual is the sum of gains, each divided by gamma_n; tolerance 1e-6. NaN (does not
        hold) if the linear program fails.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> answer = fo.solve(inst, fo.MaxMin(criterion='drf'))
    >>> properties.pareto_optimal(answer).holds
    True
    """
    inst = alloc.instance
    better = _dominating(alloc)
    if better is None:
        return Check.of("pareto-optimal", np.nan, TOLERANCE, "the linear program failed")
    gain = better - alloc.outputs
    part = gain / inst.alone.sum(axis=1)
    lost = gain < -_LOSS * alloc.outputs
    residual = 0.0 if lost.any() else max(float(part.sum()), 0.0)
    witness = ""
    if residual > 0:
        order = [n for n in np.argsort(-part, kind="stable")[:3] if part[n] > TOLERANCE / len(part)]
        rises = ", ".join(
            f"{inst.users[n]} from {alloc.outputs[n]:.6g} to {better[n]:.6g} tasks" for n in order
        )
        witness = f"without loss to anybody {rises}" if rises else ""
    return Check.of("pareto-optimal", residual, TOLERANCE, witness)


def _dominating(alloc: Allocation) -> Floats | None:
    """(N,) output of the linear program, within all rows; None if it has no answer."""
    inst = alloc.instance
    low = lower(inst, np.ones(inst.shape[:2]))
    # rows in parts of their size, users in parts of what they could have alone
    rows = low.matrix.multiply(1.0 / low.unit[:, None]).tocsr()[:, : low.columns]
    whole = inst.alone.sum(axis=1)
    mine, rhs = low.of_user(), low.rhs / low.unit
    start = np.maximum(alloc.by_way, 0.0)[low.way, low.server]
    allowing = not len(low.low) and not low.signed.any() and bool((rhs >= 0).all())
    if allowing:
        start = start / _beyond(rows @ start, rhs)
    floor = mine @ start
    if not allowing:  # what the answer is beyond a row by rounding is no loss of anybody
        floor = floor * (1 - _LOSS / 2)
    gain = low.score / whole[low.owner]
    found = LinearProgram(low).most(gain, floor, unit=whole, tolerance=FINE)
    if found is None:
        return None
    x = found.x / _beyond(rows @ found.x, rhs) if allowing else found.x
    return np.asarray(mine @ x)


def _beyond(used: Floats, rhs: Floats) -> float:
    """By how much tasks have to be divided to fit rows that allow at most `rhs`; at least 1."""
    over = np.divide(used, rhs, out=np.ones_like(used), where=rhs > 0)
    return max(float(over.max(initial=1.0)), 1.0)
