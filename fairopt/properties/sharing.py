"""Sharing incentive: every user has at least what its own part of every server gives."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.properties.linear import of_linear_demand

TOLERANCE = 1e-6


@of_linear_demand
def sharing_incentive(alloc: Allocation) -> Check:
    r"""Every user has at least the tasks that its part of every server would run.

    .. math:: x_n \ge \min\Big(\ell_n, \frac{\phi_n}{\sum_m \phi_m} \sum_i \gamma_{n,i}\Big)

    with gamma over the servers where the user is eligible (khamse2016, with limits). Where there
    are groups a user's part is the product of its weights down the tree, each by its siblings'
    sum: its part of its group's part.

    Returns
    -------
    Check : residual is the largest part of its due that a user lacks; tolerance 1e-6.
    """
    inst = alloc.instance
    part = inst.weight / inst.weight.sum() if inst.plain else inst.tree.normalised
    due = np.minimum(inst.limit, part * inst.alone.sum(axis=1))
    lack = (due - alloc.totals) / due
    n = int(lack.argmax())
    witness = ""
    if lack[n] > 0:
        witness = (
            f"{inst.users[n]} runs {alloc.totals[n]:.6g} tasks; "
            f"its part of every server would run {due[n]:.6g}"
        )
    return Check.of("sharing-incentive", max(float(lack[n]), 0.0), TOLERANCE, witness)
