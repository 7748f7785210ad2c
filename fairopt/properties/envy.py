"""Envy-freeness: no user could run more tasks with what another holds, scaled by weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.instance import Floats
from fairopt.properties.compared import at_the_door, circles, most

TOLERANCE = 1e-6


@at_the_door
def envy_free(alloc: Allocation) -> Check:
    r"""No user prefers another's holdings, scaled by the weights, to its own.

    .. math:: x_n \ge \min\Big(\ell_n, \frac{\phi_n}{\phi_m} \sum_i \delta_{n,i}
              \min_{r: d_{n,r} > 0} \frac{x_{m,i} d_{m,r}}{d_{n,r}}\Big) \quad \forall m

    (khamse2016, with limits). Costs N^2 I R operations. Where there are groups, users of one group
    and one priority are compared, and nobody else: what a whole group is due is not its members'.
    With modes x is output, and what a user would run with another's holdings is the best mix of its
    modes. Promises and rules are not asked, nor what users already had.

    Returns
    -------
    Check : residual is the largest (a - b) / a, for a the tasks a user would run with another's
        holdings and b those it runs with its own; tolerance 1e-6.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> answer = fo.solve(inst, fo.MaxMin(criterion='drf'))
    >>> properties.envy_free(answer).holds
    True
    """
    inst = alloc.instance
    worst, witness = 0.0, ""
    circle = circles(inst)
    for n, would in enumerate(_each_would(alloc)):
        name = inst.users[n]
        would[n] = 0.0
        would[circle != circle[n]] = 0.0
        m = int(would.argmax())
        lack = (would[m] - alloc.outputs[n]) / would[m] if would[m] > 0 else 0.0
        if lack > worst:
            worst = float(lack)
            witness = (
                f"{name} would run {would[m]:.6g} tasks with {inst.users[m]}'s share by weight, "
                f"{alloc.outputs[n]:.6g} with its own"
            )
    return Check.of("envy-free", worst, TOLERANCE, witness)


def envy(alloc: Allocation) -> Floats:
    """(N, N) tasks that user n would run with the holdings of user m, scaled by the weights.

    On the diagonal are the tasks that n runs. User n envies m where the entry (n, m) is more than
    the entry (n, n). Costs N^2 I R operations, and is of no use where demand is not linear.

    Raises
    ------
    UsageError : demand that is not linear, or rules that properties do not know.
    """
    alloc.instance.only_known("properties", "the envy matrix")
    alloc.instance.only_linear("the envy matrix")
    found = np.array(list(_each_would(alloc)))
    np.fill_diagonal(found, alloc.outputs)
    return found


def _each_would(alloc: Allocation) -> Iterator[Floats]:
    """For each user n in order, (N,) the tasks it would run with what each user holds."""
    inst = alloc.instance
    held = alloc.taken(np.maximum(alloc.by_way, 0.0))
    for n in range(len(inst.users)):
        yield most(inst, n, (inst.weight[n] / inst.weight)[:, None, None] * held)
