"""Users at their own limits beside one level: beside fractions, and a plain linear program."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import fairopt as fo
from fairopt.certificates.levels import Order


def draw(seed: int, users: int = 40, servers: int = 3) -> fo.Instance:
    """Users of about a third of whom reach their limits, before resources stop all others."""
    rng = np.random.default_rng(seed)
    demand = rng.lognormal(0.0, 1.0, (users, 2))
    capacity = rng.uniform(1.0, 10.0, (servers, 2)) * users
    limit = rng.uniform(0.2, 2.0, users) * capacity.sum() / users / 3
    return fo.Instance(demand, capacity, limit=limit, weight=rng.uniform(0.5, 2.0, users))


def by_programs(inst: fo.Instance) -> np.ndarray:
    """(N,) tasks of the max-min optimum where one level stops all that no limit does: what all can
    have, again and again with those at their limits that have less."""
    users, servers, resources = inst.shape
    full = np.zeros(users, dtype=bool)
    rows = np.zeros((servers * resources, users * servers + 1))
    for n, i, r in np.ndindex(users, servers, resources):
        rows[i * resources + r, n * servers + i] = inst.demand[n, r]
    own = np.zeros((users, users * servers + 1))
    for n in range(users):
        own[n, n * servers : (n + 1) * servers] = 1.0
    while not full.all():
        own[:, -1] = np.where(full, 0.0, -inst.weight)
        due = np.where(full, inst.limit, 0.0)
        goal = np.append(np.zeros(users * servers), -1.0)
        found = linprog(goal, rows, inst.pool.ravel(), own, due, (0, None), method="highs-ds")
        reached = ~full & (inst.limit <= inst.weight * found.x[-1])
        if not reached.any():
            return np.where(full, inst.limit, inst.weight * found.x[-1])
        full |= reached
    return inst.limit


@pytest.mark.parametrize("seed", range(12))
def test_one_level_beside_limits_is_one_round(seed: int) -> None:
    inst = draw(seed)
    alloc = fo.solve(inst, fo.MaxMin("tasks"))
    order = Order(alloc)
    assert int(order.stage.max()) > 2
    assert order.rounds == 1
    assert alloc.certificate.residual < 1e-9
    np.testing.assert_allclose(alloc.totals, by_programs(inst), rtol=1e-7)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("part", [1e-5, 0.3])
def test_less_for_anybody_is_not_certified(seed: int, part: float) -> None:
    """Neither for one at its limit nor for one of the level, whoever could have what is left."""
    inst = draw(seed)
    alloc = fo.solve(inst, fo.MaxMin("tasks"))
    for user in (0, 13, 26, 39):
        tasks = alloc.tasks.copy()
        tasks[user] *= 1 - part
        assert not fo.certify(alloc.with_(tasks=tasks)).certified, user


def test_what_the_limit_still_allows_is_what_another_has_too_much() -> None:
    """One short by 5e-12 of its limit leaves the other 5e-6 too much; short by a digit of rounding
    it leaves nothing that matters."""
    inst = fo.Instance(
        [[1.0, 1e6], [0.0, 1.0]], [[2.0, 1e6 + 1]], limit=[1.0, np.inf], weight=[9, 1]
    )
    for short, right in ((5e-12, False), (2.0**-53, True), (0.0, True)):
        mine = 1.0 - short
        tasks = [[mine], [float(Fraction(1e6 + 1) - Fraction(mine) * 10**6)]]
        alloc = fo.Allocation(inst, fo.MaxMin("tasks"), tasks, level_prices=[[[0.0, 1.0]]])
        assert fo.certify(alloc).certified == right, short
        assert (Order(alloc).rounds == 1) == right


def test_users_that_nothing_connects_are_apart() -> None:
    """Each of two servers has a level of its own, beside a limit of one user there."""
    inst = fo.Instance(
        np.ones((4, 1)),
        [[3.0], [10.0]],
        [[1, 0], [1, 0], [0, 1], [0, 1]],
        limit=[1.0, np.inf, 2.0, np.inf],
    )
    right = fo.Allocation(
        inst,
        fo.MaxMin("tasks"),
        [[1.0, 0], [2.0, 0], [0, 2.0], [0, 8.0]],
        level_prices=[[[1.0], [0.0]], [[0.0], [1.0]]],
    )
    assert Order(right).rounds == 1
    assert fo.certify(right).certified
    wrong = right.with_(tasks=np.array([[1.0, 0], [2.0, 0], [0, 1.9], [0, 8.1]]))
    assert Order(wrong).rounds > 1
    assert not fo.certify(wrong).certified


def test_two_levels_that_resources_stop_are_rounds() -> None:
    """Users 2 and 3 are stopped by different servers, so that the errors of one reach the other."""
    inst = fo.Instance(
        np.ones((3, 1)), [[3.0], [10.0]], [[1, 0], [1, 0], [1, 1]], limit=[1.0, np.inf, np.inf]
    )
    alloc = fo.solve(inst, fo.MaxMin("tasks"))
    np.testing.assert_allclose(alloc.totals, [1.0, 2.0, 10.0])
    assert Order(alloc).rounds == 3
    assert alloc.certificate.certified


def test_limits_that_fill_a_row_alone_are_no_single_round() -> None:
    """As floats these limits ask for more than there is: nobody can be exactly at all of them."""
    inst = fo.Instance([[1.0], [0.3]], [[3.3]], limit=[3.0, 1.0])
    alloc = fo.solve(inst, fo.MaxMin("tasks"))
    assert Order(alloc).rounds == 2
    assert alloc.certificate.certified


@pytest.mark.parametrize("tied", [False, True])
def test_what_sums_of_floats_hide_is_still_left(tied: bool) -> None:
    """Users of next to nothing at their limits, added to a half one by one in floats, come to
    4e-13 too much. That much of the row is left, and a light user is due 4e-5 more of it: whether
    those at limits are of its level or below it."""
    users, each, light = 15_000, 2.9e-17, 1e-8
    tasks = np.concatenate([[0.5], np.full(users, each), [1.0], [light - 3.98e-13]])
    demand = np.zeros((users + 3, 2))
    demand[:, 0] = 1.0
    demand[-2] = 0.5 - users * each - light, 1.0  # whom the second resource stops
    weight = tasks.copy()
    if not tied:
        weight[: users + 1] *= 2.0
    limit = np.append(tasks[: users + 1], [np.inf, np.inf])
    inst = fo.Instance(demand, [[1.0, 1.0]], limit=limit, weight=weight)
    prices = [[[1.0, 0.0]], [[0.0, 1.0]]]
    alloc = fo.Allocation(inst, fo.MaxMin("tasks"), tasks[:, None], level_prices=prices)
    left = 1 - sum(Fraction(d) * Fraction(x) for d, x in zip(demand[:, 0], tasks, strict=True))
    assert left > Fraction(3.9e-5) * Fraction(light) and alloc.used[0, 0] > 1 - 1e-15
    assert Order(alloc).bounds.residual[-1] > 3.9e-5
