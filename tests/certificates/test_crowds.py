"""What the errors of those stopped earlier take of full rows without a price, beside fractions.

m is short of one unit by a part, and n holds what m leaves of a row of which m takes a thousand
times as much; n is stopped by a resource of its own as well, and that is all its prices name.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import rounds
from tests.rational import max_min_levels

BIG, PART = 1000.0, 9e-7
BOTH = {"m": "g", "n": "g"}
ROOM = BIG + 2 - BIG * PART


def quotas(kind: str) -> fo.Quotas:
    """Groups, with a rule that gives both ROOM of r1."""
    groups = [fo.Group("g")]
    if kind == "ceiling":
        return fo.Quotas(groups, BOTH, bounds=[fo.Bound("g", "r1", ROOM)])
    if kind == "ceiling above":
        above = [fo.Group("all"), fo.Group("g", "all")]
        return fo.Quotas(above, {"m": "g", "n": "all"}, bounds=[fo.Bound("all", "r1", ROOM)])
    if kind == "borrowing":
        lent = [fo.Quota("g", "r1", ROOM - 7, borrow=7.0), fo.Quota("spare", "r1", 20.0)]
        return fo.Quotas([*groups, fo.Group("spare")], BOTH, quotas=lent)
    if kind == "lending to users":
        lent = [fo.Quota("g", "r1", 1.0), fo.Quota("m", "r1", ROOM - 1, lend=BIG)]
        return fo.Quotas(groups, BOTH, quotas=lent)
    return fo.Quotas(groups, BOTH)


def short(kind: str, part: float) -> fo.Allocation:
    """m has 1 - part, and n 2; right are 1 and 2 - BIG PART."""
    pool = [[1.0, ROOM if kind == "capacity" else 1e4, 2.0]]
    demand = [[1, BIG, 0], [0, 1, 1]]
    users, resources = list("mn"), ["r0", "r1", "r2"]
    inst = fo.Instance(demand, pool, users=users, resources=resources, quotas=quotas(kind))
    answer = fo.solve(inst, fo.MaxMin("tasks", measure="sum"))
    np.testing.assert_allclose(answer.totals, [1, 2 - BIG * PART], rtol=1e-9)
    assert answer.certificate.certified
    both = []
    for user, t, row in zip("mn", (2 * (1 - part), 3 - part), (0, 2), strict=True):
        prices = {k: np.zeros_like(v) for k, v in answer.rounds[0]["prices"].items()}
        prices["prices"][0, row] = 1.0
        both.append({"t": t, "jump": 0.0, "users": (user,), "prices": prices, "priority": 0})
    return answer.with_(tasks=np.array([[1 - part], [2.0]]), rounds=both, certificate=None)


@pytest.mark.parametrize(
    "kind", ["capacity", "ceiling", "ceiling above", "borrowing", "lending to users"]
)
def test_a_full_row_without_a_price_passes_errors_on(kind: str) -> None:
    off = np.log(2 / (2 - BIG * PART))
    verdict = rounds.judge(short(kind, PART))
    assert off > 4e-4 and not verdict.certified
    assert off <= verdict.residual < 4 * off
    low, high = verdict.intervals.ends
    assert low[1] <= 2 - BIG * PART <= high[1] * (1 + 1e-12)


def forged(
    inst: fo.Instance, score: np.ndarray, tasks: Sequence, prices: Sequence, grouped: bool
) -> fo.Certificate:
    """The verdict on an answer whose rounds stop the users in their order; in a group or plain."""
    prices = [np.array(each, dtype=float) for each in prices]
    if not grouped:
        kind = fo.MaxMin(criterion=lambda _: score)
        return rounds.judge(fo.Allocation(inst, kind, tasks, score=score, level_prices=prices))
    quotas = fo.Quotas([fo.Group("g")], dict.fromkeys(inst.users, "g"))
    kind = fo.MaxMin(criterion=lambda _: score, measure="sum")
    answer = fo.Allocation(inst.replace(quotas=quotas), kind, tasks, score=score)
    told, level = [], answer.shares / inst.weight
    stopped = np.arange(len(level))
    limited = np.isfinite(inst.limit).astype(float)
    for k, user in enumerate(inst.users):
        due = np.where(stopped <= k, answer.shares, level[k] * inst.weight)
        alone = {"prices": prices[k], "limit_prices": limited * (prices[k].max() == 0)}
        told.append({"t": due.sum(), "jump": 0.0, "priority": 0, "users": (user,), "prices": alone})
    return rounds.judge(answer.with_(rounds=told))


@pytest.mark.parametrize("grouped", [False, True])
def test_what_is_left_of_a_dear_row_may_buy_much_of_a_free_one(grouped: bool) -> None:
    """m lacks a part of 9e-7 of its share, which is 900 tasks on the second server: then n has one
    task there instead of 900."""
    score = np.array([[1.0, 1e-9], [1.0, 1.0]])
    demand = np.array([[[1, 0, 0], [1, 1, 0]], [[0, 1, 1], [0, 1, 1]]], dtype=float)
    pool = [[1, 0, 0], [1000, 1000, 900]]
    inst = fo.Instance(demand, pool, placement=[[1, 1], [0, 1]], users=list("mn"))
    prices = [[[1, 0, 0], [1e-9, 0, 0]], [[0, 0, 0], [0, 0, 1]]]
    right = [float(level) for level in max_min_levels(inst, score)]
    np.testing.assert_allclose(right, [1 + 1e-6, 1], rtol=1e-5)
    verdict = forged(inst, score, [[1, 100], [0, 900]], prices, grouped)
    assert not verdict.certified and verdict.residual >= np.log(899)


@pytest.mark.parametrize("grouped", [False, True])
def test_tasks_that_are_too_dear_may_go_where_they_cost_nothing(grouped: bool) -> None:
    """m has 5e-7 tasks where n wants to run; on the other server they need 500 of what z holds."""
    part = 5e-7
    demand = np.zeros((3, 2, 3))
    demand[:2, 0, 0], demand[0, 1, 1], demand[2, 1, 1:] = 1, 1e9, 1
    inst = fo.Instance(
        demand,
        [[1, 0, 0], [0, 1e9, 500]],
        placement=[[1, 1], [1, 0], [0, 1]],
        users=list("mnz"),
        limit=[1, np.inf, np.inf],
        weight=[2, 1, 1],
    )
    score = np.ones((3, 2))
    right = [float(level) for level in max_min_levels(inst, score)]
    np.testing.assert_allclose(right, [0.5, 1, 1], rtol=1e-8)
    prices = np.zeros((3, 2, 3))
    prices[1, 0, 0] = prices[2, 1, 2] = 1
    tasks = [[part, 1 - part], [1 - part, 0], [0, 500]]
    verdict = forged(inst, score, tasks, [*prices], grouped)
    assert not verdict.certified and verdict.residual >= np.log(499)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_user_at_its_limit_may_move_to_any_server_of_a_higher_score(grouped: bool) -> None:
    """a has 3 of 1,000 tasks where they are worth least; the best server is b's. On the other one
    those three need 3 of what z holds."""
    part = 3e-3
    score = np.array([[1, 1, 1], [3, 3.0001, 5], [1, 1, 1]])
    demand = np.zeros((3, 3, 2))
    demand[0, 2, 0], demand[1, :, 0], demand[2, 1] = 1, [1, 1000, 1], 1
    inst = fo.Instance(
        demand,
        [[5, 0], [1000 * (1 - part) + 10, 10], [5, 0]],
        placement=[[0, 0, 1], [1, 1, 1], [0, 1, 0]],
        users=list("baz"),
        limit=[np.inf, 1, np.inf],
        weight=[2, 1, 1],
    )
    right = [float(level) for level in max_min_levels(inst, score)]
    np.testing.assert_allclose(right, [2.5, 3.0001, 7], rtol=1e-12)
    prices = np.zeros((3, 3, 2))
    prices[:2, 2, 0] = prices[2, 1, 1] = 1
    tasks = [[0, 0, 5], [part, 1 - part, 0], [0, 10, 0]]
    verdict = forged(inst, score, tasks, [*prices], grouped)
    assert not verdict.certified and verdict.residual >= np.log(10 / 7)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("part, factor, held", [(2**-31, 2**30, 0.0), (2**-31, 2**15, 0.25)])
def test_a_tied_server_to_which_others_are_pushed(
    part: float, factor: float, held: float, grouped: bool
) -> None:
    """a is short of what b has too much, on another server. c, who is as well off on both, moves
    there to make room: what it needs there is z's."""
    demand = np.zeros((4, 2, 3))
    demand[:2, 0, 0] = demand[1:3, 1, 0] = demand[3, 1, 1:] = 1
    demand[1, 1, 1] = factor
    moved = held + part
    inst = fo.Instance(
        demand,
        [[2 - moved, 0, 0], [1 + moved, factor * moved + 1, 1 + factor * part]],
        placement=[[1, 0], [1, 1], [0, 1], [0, 1]],
        users=list("acbz"),
        weight=[1, 1, 1, 0.5],
    )
    score = np.ones((4, 2))
    right = [float(level) for level in max_min_levels(inst, score)]
    np.testing.assert_allclose(right, [1, 1, 1, 2], rtol=1e-8)
    prices = np.zeros((4, 2, 3))
    prices[:3, :, 0] = prices[3, 1, 2] = 1
    tasks = [[1 - part, 0], [1 - held, held], [0, 1 + part], [0, 1 + factor * part]]
    verdict = forged(inst, score, tasks, [*prices], grouped)
    assert not verdict.certified and verdict.residual >= np.log1p(factor * part)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(
    "part, factor, heavy", [(2**-31, 2**15, 4), (2**-21, 2**10, 4), (2**-21, 2**10, 1)]
)
def test_who_is_at_its_limit_makes_room_and_runs_elsewhere(
    part: float, factor: float, heavy: float, grouped: bool
) -> None:
    """a is short of a part of its server, and of a row there that c fills. c, which is stopped by
    its limit before or after a, goes to the other server: what it needs there is z's."""
    demand = np.zeros((3, 2, 2))
    demand[0, 0] = demand[2, 1] = 1
    demand[1, 0, 1], demand[1, 1, 0] = 1, factor
    moved = 0.25 + part
    pool = [[1, 2 - moved], [factor * moved + 1, 1 + factor * part]]
    order = [1, 0, 2] if heavy > 1 else [0, 1, 2]
    limit, weight = np.array([np.inf, 1, np.inf]), np.array([1, heavy, 0.5])
    inst = fo.Instance(
        demand[order],
        pool,
        placement=np.array([[1, 0], [1, 1], [0, 1]])[order],
        users=["acz"[n] for n in order],
        limit=limit[order],
        weight=weight[order],
    )
    score = np.ones((3, 2))
    right = [float(level) for level in max_min_levels(inst, score)]
    np.testing.assert_allclose(right, np.array([1, 1 / heavy, 2])[order], rtol=1e-12)
    prices = np.zeros((3, 2, 2))
    prices[0, 0, 0] = prices[2, 1, 1] = 1
    tasks = np.array([[1 - part, 0], [0.75, 0.25], [0, 1 + factor * part]])
    verdict = forged(inst, score, tasks[order], prices[order], grouped)
    assert not verdict.certified and verdict.residual >= np.log1p(factor * part)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("part, much, factor", [(2**-34, 2**10, 2**10), (2**-48, 2**24, 2**10)])
def test_users_in_nearly_one_ratio_change_places_many_times(
    part: float, much: float, factor: float, grouped: bool
) -> None:
    """a needs one of two dear resources, and gets a part of it if c, who needs as much of both,
    leaves and b comes, who needs little more of the other: `much` times that part. Where c goes,
    it needs what is z's."""
    ratio, come, leave = 1 + 1 / much, much * part, (much + 1) * part
    demand = np.zeros((5, 2, 4))
    demand[0, 0, 0] = demand[3, 1, 0] = demand[4, 1, 2:] = 1
    demand[1, :, :2], demand[2, :, :2], demand[1, 1, 2] = 1, [1, ratio], factor
    inst = fo.Instance(
        demand,
        [
            [2 - leave + come, 1 - leave + ratio * come, 0, 0],
            [2 + leave - come, leave + ratio * (1 - come), factor * leave + 1, 1 + factor * leave],
        ],
        placement=[[1, 0], [1, 1], [1, 1], [0, 1], [0, 1]],
        users=list("acbdz"),
        weight=[1, 1, 1, 1, 0.5],
    )
    score = np.ones((5, 2))
    right = [float(level) for level in max_min_levels(inst, score)]
    np.testing.assert_allclose(right, [1, 1, 1, 1, 2], rtol=1e-7)
    prices = np.zeros((5, 2, 4))
    prices[:4, :, :2] = prices[4, 1, 3] = 1
    tasks = [[1 - part, 0], [1, 0], [0, 1], [0, 1 + part], [0, 1 + factor * leave]]
    verdict = forged(inst, score, tasks, [*prices], grouped)
    assert not verdict.certified and verdict.residual >= 0


def test_of_many_pairs_how_much_must_move_is_not_worked_out() -> None:
    """More than 400 pairs that pay, in rounds with two prices on a server: certified as before."""
    rng = np.random.default_rng(5)
    placement = rng.random((1000, 50)) < 0.03
    placement[np.arange(1000), rng.integers(50, size=1000)] = True
    inst = fo.Instance(
        rng.uniform(0.1, 1, (1000, 2)), rng.uniform(1, 50, (50, 2)), placement=placement
    )
    assert fo.solve(inst, fo.MaxMin("tasks")).certificate.certified


def test_many_users_apart_hide_nothing() -> None:
    """What is refuted alone is refuted beside 250 users on two other servers."""
    part, much, factor, more = 2.0**-40, 2.0**20, 2.0**10, 250
    ratio, come, leave = 1 + 1 / much, much * part, (much + 1) * part
    demand = np.zeros((5 + more, 4, 4))
    demand[0, 0, 0] = demand[3, 1, 0] = demand[4, 1, 2:] = demand[5:, 2:, 0] = 1
    demand[1, :2, :2], demand[2, :2, :2], demand[1, 1, 2] = 1, [1, ratio], factor
    capacity = np.zeros((4, 4))
    capacity[0, :2] = [2 - leave + come, 1 - leave + ratio * come]
    capacity[1] = [
        2 + leave - come,
        leave + ratio * (1 - come),
        factor * leave + 1,
        1 + factor * leave,
    ]
    capacity[2:, 0] = more / 2
    may = np.zeros((5 + more, 4))
    may[:5, :2], may[5:, 2:] = [[1, 0], [1, 1], [1, 1], [0, 1], [0, 1]], 1
    tasks = np.full((5 + more, 4), 0.5) * may
    tasks[:5, :2] = [[1 - part, 0], [1, 0], [0, 1], [0, 1 + part], [0, 1 + factor * leave]]
    weight = np.ones(5 + more)
    weight[4] = 0.5
    prices = np.zeros((5 + more, 4, 4))
    prices[:, :2, :2] = prices[:, 2:, 0] = 1
    prices[4] = 0
    prices[4, 1, 3] = 1
    inst = fo.Instance(demand, capacity, placement=may, weight=weight)
    verdict = forged(inst, np.ones((5 + more, 4)), tasks, [*prices], False)
    # z holds this much more than it is due, by exact fractions of the five users alone
    assert not verdict.certified and verdict.residual >= 0
