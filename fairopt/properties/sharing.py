"""Sharing incentive: every user has at least what its own part of every server gives."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.properties.compared import at_the_door, most, parts

TOLERANCE = 1e-6


@at_the_door
def sharing_incentive(alloc: Allocation) -> Check:
    r"""Every user has at least the tasks that its part of every server would run.

    .. math:: x_n \ge \min\Big(\ell_n, \frac{\phi_n}{\sum_m \phi_m} \sum_i \gamma_{n,i}\Big)

    with gamma over the servers where the user is eligible (khamse2016, with limits). Where there
    are groups a user's part is the product of its weights down the tree, each by its siblings'
    sum: its part of its group's part. With modes x is output, and what a part would give is the
    best mix of its modes. Promises and rules do not change what a user is due here, so that they
    may break it; nor does what it already had.

    Returns
    -------
    Check : residual is the largest part of its due that a user lacks; tolerance 1e-6.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> answer = fo.solve(inst, fo.MaxMin(criterion='drf'))
    >>> properties.sharing_incentive(answer).holds
    True
    """
    inst = alloc.instance
    part = parts(inst)
    due = np.minimum(inst.limit, part * inst.alone.sum(axis=1))
    many = inst.modes or ()
    for n, user in enumerate(inst.users if many or inst.limit_on is not None else ()):
        if user in many or inst.limit_on is not None:
            due[n] = most(inst, n, part[n] * inst.pool[None])[0]
    lack = (due - alloc.outputs) / due
    n = int(lack.argmax())
    witness = ""
    if lack[n] > 0:
        witness = (
            f"{inst.users[n]} runs {alloc.outputs[n]:.6g} tasks; "
            f"its part of every server would run {due[n]:.6g}"
        )
    return Check.of("sharing-incentive", max(float(lack[n]), 0.0), TOLERANCE, witness)
