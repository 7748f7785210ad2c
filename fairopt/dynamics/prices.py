r"""Proportional fairness by prices that the resources set on their own ((6) of bonald2015).

Every step each resource moves its price by how much too much is asked of it, and each user asks
for what its money buys at these prices:

.. math:: \nu_j \leftarrow \max\Big(\nu_j + \theta \Big(\sum_n x_n a_{n,j} - 1\Big), 0\Big),
          \qquad x_n = \frac{\phi_n}{\sum_j a_{n,j} \nu_j}

with :math:`a_{n,j} = d_{n,j} / c_j` and a start at :math:`\nu = 1`. On one pool this is steepest
descent on the dual. Near the answer a step multiplies the error by :math:`1 - \theta H` where
:math:`H_{jk} = \sum_n x_n^2 a_{n,j} a_{n,k} / \phi_n` over the resources with a price, so that it
stays there below :math:`\theta = 2 / \lambda_{\max}(H)` and not above. From afar it may need less.

On several servers a user buys where it is cheapest. It then changes its mind between servers that
are equally cheap, and no constant step settles: tasks stay off by about the step size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairopt.allocation import Allocation
from fairopt.dynamics import needed
from fairopt.errors import BadInput, Fault
from fairopt.formulas.parameters import amount, words
from fairopt.instance import Floats, Instance, sealed
from fairopt.notions import ProportionalFair

WITHIN = 1e-6
"""settled: every user's tasks are this near to the exact ones, relative to its own"""
HOLD = 200
"""steps that must stay so near before it is believed"""
SETTLED, RESTLESS, FREE = "settled", "restless", "free"
CEILING = 1e12
"""a user who could buy this many times what it is due has found everything free"""
LONGEST = 64
"""prices that are remembered, so that a shorter cycle of them is followed once"""


@dataclass(frozen=True, eq=False)
class Priced:
    """What became of one step size.

    Parameters
    ----------
    theta : the step size.
    ended : "settled", "restless" (still moving after the last step) or "free" (all that a user
        demands had the price 0, so that it asked for more than any number).
    steps : after which everything stays within `WITHIN` of the exact tasks; None unless settled.
    tasks, mean : (N,) tasks at the end, and their mean over the second half of the steps.
    off, mean_off : how far these are from the exact tasks, relative to each user's own.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> answer = fo.solve(fo.Instance([[1, 4], [3, 1]], [[9, 18]]), fo.ProportionalFair())
    >>> dynamics.by_prices(answer, 0.01).tasks.round(3)
    array([4.091, 1.636])
    """

    theta: float
    ended: str
    steps: int | None
    tasks: Floats
    mean: Floats
    off: float
    mean_off: float


def by_prices(exact: Allocation, theta: float, most: int = 100_000) -> Priced:
    """Let the prices move by steps of `theta` until they settle, or for `most` steps.

    Parameters
    ----------
    exact : the proportionally fair answer, of any solver, to compare with.

    Raises
    ------
    BadInput : another notion, limits (they have no price here), theta or most out of range.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> answer = fo.solve(fo.Instance([[1, 4], [3, 1]], [[9, 18]]), fo.ProportionalFair())
    >>> dynamics.by_prices(answer, 0.01).ended
    'settled'
    """
    exact.instance.only_plain("prices by themselves")
    inst = _checked(exact, theta, most)
    needed.check(1e3 * most, 1, 0.0, "steps")  # a step is a few calls of NumPy, not an event
    part, due = inst.part_of_row(), exact.totals
    price = np.where(inst.pool > 0, 1.0, 0.0)
    tasks, mean, averaged, last = due, np.zeros(len(due)), 0, -1
    known: dict[bytes, _Step | None] = {}
    for step in range(most):
        key = price.tobytes()
        if key not in known:
            if len(known) == LONGEST:
                known.clear()
            known[key] = _step(inst, part, due, price, theta)
        found = known[key]
        if found is None:
            return Priced(theta, FREE, None, tasks, mean, np.inf, np.inf)
        tasks, away, price = found
        if away:
            last = step
        elif step - last > HOLD:
            break
        if 2 * step >= most:
            averaged += 1
            mean += (tasks - mean) / averaged
    settled = last + 1 < most - HOLD
    if settled or not averaged:
        mean = tasks
    off, mean_off = (float(np.abs(x / due - 1).max()) for x in (tasks, mean))
    ended = SETTLED if settled else RESTLESS
    return Priced(
        theta, ended, last + 1 if settled else None, sealed(tasks), sealed(mean), off, mean_off
    )


class _Step(NamedTuple):
    """Tasks (N,) bought, whether they are away from what is due, and the prices (I, R) after."""

    tasks: Floats
    away: bool
    price: Floats


def _step(inst: Instance, part: Floats, due: Floats, price: Floats, theta: float) -> _Step | None:
    """A step of the prices (I, R); None where somebody pays next to nothing."""
    cost = np.where(inst.eligible, (part * price).sum(axis=2), np.inf)
    least = cost.min(axis=1)
    if (least * due * CEILING < inst.weight).any():
        return None
    tasks = inst.weight / least
    bought = cost <= least[:, None] * (1 + 1e-12)
    placed = tasks[:, None] * bought / bought.sum(axis=1, keepdims=True)
    excess = np.einsum("ni,nir->ir", placed, part) - 1.0
    after = np.where(inst.pool > 0, np.maximum(price + theta * excess, 0.0), 0.0)
    return _Step(tasks, bool(np.abs(tasks / due - 1).max() > WITHIN), after)


def edge(exact: Allocation) -> float | None:
    """The step size 2 / lambda_max(H) above which one pool does not settle; None on several."""
    inst = exact.instance
    if len(inst.servers) > 1 or exact.prices is None:
        return None
    a = inst.part_of_row()[:, 0]
    paid = exact.prices[0] * inst.pool[0] > 1e-9 * inst.weight.sum()
    h = (a[:, paid].T * (exact.totals**2 / inst.weight)) @ a[:, paid]
    return 2.0 / float(np.linalg.eigvalsh(h).max())


def _checked(exact: Allocation, theta: float, most: int) -> Instance:
    faults = []
    if exact.notion != ProportionalFair().plain():
        faults.append(Fault("exact", str(exact.notion["name"]), "an answer to ProportionalFair()"))
    limited = np.flatnonzero(np.isfinite(exact.instance.limit))
    if len(limited):
        name = exact.instance.users[int(limited[0])]
        faults.append(Fault(f"users.{name}.limit", "a limit", "no limits: they have no price"))
    if not amount(theta):
        faults.append(Fault("theta", words(theta), "a finite number > 0"))
    if isinstance(most, bool) or not isinstance(most, int) or most < 2 * HOLD:
        faults.append(Fault("most", words(most), f"a whole number >= {2 * HOLD}"))
    if faults:
        raise BadInput(faults)
    return exact.instance
