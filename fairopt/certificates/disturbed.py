r"""How far the small errors of heavy users and full rows reach: what they may cost each user.

A share off by a millionth of itself, a billionth of a row left idle: nothing beside a heavy user's
money, and yet all that a light one has. So errors are followed in money, from where they are to
everybody they can reach. A row's disturbance is its idle money, and what its holders are off by,

.. math:: D_g = p_g\,\mathrm{left}_g + \sum_n \kappa_{n,g} E_n, \qquad
          \kappa_{n,g} = p_g d_{n,g} / \mathrm{rent}_n ,

E_n the money that user n may have to move: its error times what it pays, tasks that would cost
clearly less elsewhere, room to a limit that has a price. Who pays for a disturbed row passes it on
to the other rows it uses, at most all its money. User n may lose, of what it pays a for a row, the
part D / (a + D), with D the row's disturbance by others: of a row that it has for itself that is
the part left idle.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation, task_cost
from fairopt.certificates.displaced import misheld_money
from fairopt.certificates.money import LEAST, ROUNDING, left_over
from fairopt.formulas import rows
from fairopt.instance import Floats, Ints

NOISE = 64 * 2.0**-52
"""relative error of a share, idle part of a row, that rounding of powers and sums may leave"""
DIGITS = 12
"""of demands and scores by which users are told apart"""
NEAR = 1e-6
"""part above its cheapest price within which a user may come to a server"""


def idle_money(alloc: Allocation, error: Floats) -> tuple[Floats, Floats]:
    """(I, R) money of what is left of priced rows, and (N,) money that users are off by.

    Parameters
    ----------
    error : (N,) relative error of each user's share.
    """
    inst = alloc.instance
    assert alloc.prices is not None
    left = np.where(alloc.utilisation >= 1 - NOISE, 0.0, left_over(inst, alloc.used))
    idle = alloc.prices * left
    own, misheld = np.zeros(len(inst.users)), misheld_money(alloc)
    for users in inst.blocks():
        rent, off = _rent(alloc, users), error[users]
        held = alloc.held[users]
        paid = rows.total(rent * held)
        off = np.where(np.abs(off) > NOISE, np.minimum(np.abs(off), 1.0), 0.0)
        own[users] = off * paid + np.minimum(misheld[users], paid)
        if alloc.limit_prices is not None:
            limit = inst.limit[users]
            room = np.where(np.isfinite(limit), limit - alloc.totals[users], 0.0)
            room = np.where(room > ROUNDING * limit, room, 0.0)
            cheapest = rows.least(np.where(inst.eligible[users], rent, np.inf))
            own[users] += np.minimum(alloc.limit_prices[users], cheapest) * room
    return idle, own


def disturbed(alloc: Allocation, idle: Floats, own: Floats) -> Floats:
    """(N,) part of its money each user may lose by what rows and the others are off by.

    Users alike in all but weight count as one: prices move for all of them together.
    """
    inst = alloc.instance
    assert alloc.prices is not None
    rent = _rent(alloc, slice(None))
    mu = 0.0 if alloc.limit_prices is None else alloc.limit_prices[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        price = np.where(inst.eligible, (rent + mu) / alloc.score, np.inf)
        there = inst.eligible & (price <= rows.least(price)[:, None] * (1 + NEAR))
        cost = inst.demand_by_server * alloc.prices
        there = (there | (alloc.held > 0))[:, :, None] & (cost > 0)
        part = np.where(there, cost / rent[:, :, None], 0.0)
    alike = _alike(alloc)
    first = np.unique(alike, return_index=True)[1]
    paid = _added(cost * alloc.held[:, :, None], alike)
    own, part, most = _added(own, alike), part[first], paid.sum(axis=(1, 2))
    mine = part * own[:, None, None]
    spread = idle + mine.sum(axis=0)
    others = np.maximum(spread - mine, 0.0)
    for _ in range(len(first)):
        reached = np.minimum(np.where(part > 0, spread, 0.0).max(axis=(1, 2)), most)
        passed = part * reached[:, None, None]
        further = np.maximum(spread, passed.max(axis=0))
        others = np.maximum(others, _without_own(passed))
        if np.array_equal(further, spread):
            break
        spread = further
    lost = np.divide(others, paid + others, out=np.zeros_like(paid), where=paid > 0)
    money = most + _added(np.broadcast_to(mu, rent.shape)[:, 0] * alloc.totals, alike)
    lost = (paid * lost).sum(axis=(1, 2))
    found: Floats = np.divide(lost, money, out=np.zeros_like(money), where=most > 0)[alike]
    return found


def _without_own(passed: Floats) -> Floats:
    """(users, I, R) the largest of what the others pass on to each row."""
    if len(passed) == 1:
        return np.zeros_like(passed)
    second, top = np.partition(passed, -2, axis=0)[-2:]
    found: Floats = np.where(passed < top, top, second)
    return found


def _alike(alloc: Allocation) -> Ints:
    """(N,) a number for each kind of user: what it needs of rows that have a price or are nearly
    full, placement and scores, up to a factor. Who has a priced limit is like nobody: its price
    takes up what disturbs the others."""
    assert alloc.prices is not None
    scarce = (alloc.prices > 0) | (alloc.utilisation >= 1 - NEAR)
    demand = alloc.instance.demand_by_server * alloc.instance.eligible[:, :, None] * scarce
    score = np.where(alloc.instance.eligible, alloc.score, 0.0)
    kind = np.hstack([
        part / np.maximum(part.max(axis=1, keepdims=True), LEAST)
        for part in (demand.reshape(len(demand), -1), score)
    ])  # fmt: skip
    if alloc.limit_prices is not None:
        limited = np.where(alloc.limit_prices > 0, np.arange(1, len(kind) + 1), 0)
        kind = np.column_stack([kind, limited])
    found: Ints = np.unique(kind.round(DIGITS), axis=0, return_inverse=True)[1].ravel()
    return found


def _added(amount: Floats, kind: Ints) -> Floats:
    """The sum over the users of each kind."""
    found = np.zeros((int(kind.max()) + 1, *amount.shape[1:]))
    np.add.at(found, kind, amount)
    return found


def _rent(alloc: Allocation, users: slice) -> Floats:
    """(users, I) price of a task's resources, without that of its limit."""
    assert alloc.prices is not None
    rent = task_cost(alloc.instance, alloc.prices, users, None)
    rent[rent < LEAST] = 0.0
    return rent
