"""Errors of earlier rounds in later ones: the proved bound beside levels in exact fractions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import judged, rounds
from fairopt.certificates.carried import Paid, Turn, Uses, carried, crowded
from tests.rational import max_min_levels

TASKS = fo.MaxMin("tasks")


def far(alloc: fo.Allocation) -> float:
    """The largest |log(level / level in fractions)| of any user."""
    exact = np.array([float(level) for level in max_min_levels(alloc.instance, alloc.score)])
    return float(np.abs(np.log(alloc.levels / exact)).max())


def short(factor: float, part: float) -> fo.Allocation:
    """The first user is short by a part; the second, who needs a resource of which the first takes
    `factor` times as much, has what that leaves."""
    inst = fo.Instance([[1, factor], [0, 1]], [[1, factor + 1]])
    return fo.Allocation(
        inst, TASKS, [[1 - part], [1 + factor * part]], level_prices=[[[1, 0]], [[0, 1]]]
    )


@pytest.mark.parametrize("factor, part", [(1e6, 5e-12), (1e3, 1e-8), (1e8, 1e-13), (10, 1e-3)])
def test_a_slack_that_is_multiplied_in_the_next_level_is_seen(factor: float, part: float) -> None:
    alloc = short(factor, part)
    certificate = judged(alloc)
    assert far(alloc) > 1e-6 and not certificate.certified
    assert certificate.residual >= far(alloc)
    assert certificate.residual <= 1.3 * far(alloc) + 1e-6
    # worked out, it is known who has too much
    assert fo.certify(alloc).verdict == "refuted"


@pytest.mark.parametrize("factor", [1.0, 1e3, 1e6])
def test_a_right_answer_stays_certified(factor: float) -> None:
    assert judged(short(factor, 0.0)).certified


def test_a_tolerance_is_asked_for() -> None:
    alloc = short(1e3, 1e-8)
    assert not rounds.judge(alloc).certified
    assert rounds.judge(alloc, tolerance=2e-5).certified
    assert not rounds.judge(short(1e3, 0.0), tolerance=1e-30).certified


def test_a_user_at_its_limit_that_must_move_its_tasks_to_rise() -> None:
    """It is short by 2e-7 of its share, and has that only if a hundredth of its tasks move: then
    the other has a hundredth less, though its row was not full."""
    score = np.array([[3.00009155, 3.00004578], [3.0, 2.0]])
    inst = fo.Instance(
        [[2.0, 1.0], [2.0, 0.0]], [[2.0, 3.0], [8.0, 3.0]], limit=[0.75, 0.25], weight=[1e5, 1e-7]
    )
    some = fo.Allocation(
        inst,
        fo.MaxMin(criterion=lambda _: score),
        [[0.74, 0.01], [0.25, 0.0]],
        score=score,
        level_prices=np.zeros((1, 2, 2)),
    )
    tight = some.with_(instance=inst.replace(capacity=[[1.99, 3.0], [8.0, 3.0]]))
    assert far(some) < 1e-6 and judged(some).certified  # there is room for both
    assert far(tight) > 1e-3
    certificate = judged(tight)
    assert not certificate.certified and certificate.residual >= far(tight)


def chains(seed: int) -> fo.Allocation:
    """The first user takes of every resource, 1 to a million times what the others take of theirs;
    it is short by 1e-7 to 1e-13 of its share, and one of the others has what that leaves."""
    rng = np.random.default_rng(seed)
    users = int(rng.integers(2, 5))
    demand = np.eye(users)
    demand[0, 1:] = 2.0 ** rng.integers(0, 21, users - 1)
    inst = fo.Instance(demand, [demand[0] + np.append(0.0, 1.0 + rng.integers(1, 4, users - 1))])
    alloc = fo.solve(inst, TASKS)
    part, who = 10.0 ** -rng.uniform(7, 13), int(rng.integers(1, users))
    tasks = alloc.tasks.copy()
    tasks[0] *= 1 - part
    tasks[who] += demand[0, who] * part
    return alloc.with_(tasks=tasks, certificate=None)


def test_the_residual_bounds_the_distance_in_fractions() -> None:
    wrong = 0
    for seed in range(60):
        alloc = chains(seed)
        certificate, off = judged(alloc), far(alloc)
        assert off <= certificate.residual * (1 + 1e-3) + 1e-14, seed
        assert not (certificate.certified and off > 1e-6), seed
        wrong += off > 1e-6
    assert 10 <= wrong < 60


def test_sums_by_hand() -> None:
    """Two rounds: 3 of money of the first beside 2 of the second."""
    stage = np.array([0, 1])
    first = Paid(np.array([0]), np.array([4.0]), np.array([0]), np.array([4.0]), np.array([4.0]))
    both = np.array([3.0, 2.0])
    second = Paid(np.array([1]), both[1:], np.array([0, 1]), both, both)
    found = carried(stage, np.array([1e-3, 1e-5]), np.zeros(2), [second, first], None)
    np.testing.assert_allclose(found.up, [1e-3, 1e-5])
    np.testing.assert_allclose(found.down, [0.0, 3 * 1e-3 / 2])
    dropped = carried(stage, np.zeros(2), np.array([1e-4, 0.0]), [second, first], None)
    np.testing.assert_allclose(dropped.up, [0.0, 3 * 1e-4 / 2])
    # a full row of which the first holds 3/4 and the second the rest
    uses = Uses(
        np.array([0, 1]),
        np.array([0, 0]),
        np.array([0.75, 0.25]),
        np.ones(2),
        np.array([0.75, 0.25]),
        np.zeros(1),
    )
    np.testing.assert_allclose(crowded(stage, np.array([0.75e-3, 0.0]), uses), [0, 3e-3])
    half = uses._replace(left=np.array([0.75e-3 / 2]))
    np.testing.assert_allclose(crowded(stage, np.array([0.75e-3, 0.0]), half), [0, 1.5e-3])
    turn = Turn(0, np.array([0]), np.array([0.1]))
    np.testing.assert_allclose(crowded(stage, np.zeros(2), uses, [turn]), [0, 0.4])


def test_who_is_stopped_later_gives_first() -> None:
    """Three on a full row, a half, a quarter and a quarter of it; the first asks for a hundredth of
    its part more. The last holds twice what it is due when the second is stopped, and gives half
    of what it can do without; the second is hit only where more is asked for than that."""
    stage, row = np.arange(3), np.zeros(3, dtype=np.int64)
    part = np.array([0.5, 0.25, 0.25])
    plain = Uses(np.arange(3), row, part, np.ones(3), part, np.zeros(1))
    asked = np.array([0.5e-2, 0.0, 0.0])
    np.testing.assert_allclose(crowded(stage, asked, plain), [0, 1e-2, 2e-2])
    due = np.array([[1.0, 0.4, 0.4], [1.0, 1.0, 0.5], [1.0, 1.0, 1.0]])
    levels = np.array([1.0, 2.0, 4.0])
    for uses in (plain._replace(due=due), plain._replace(level=levels)):
        np.testing.assert_allclose(crowded(stage, asked, uses), [0, 0, 2e-2], atol=1e-15)
        much = np.array([0.1, 0.0, 0.0])
        hit = (0.1 - 0.0625) / (0.5 - 0.0625)
        np.testing.assert_allclose(crowded(stage, much, uses), [0, hit, 0.4], rtol=1e-9)


def test_what_the_same_prices_prove_is_missing_once() -> None:
    """Two are proved by one price, which leaves 1e-3 of money open; either could have all of it,
    and together they cannot have it twice. The third pays beside them."""
    stage = np.array([0, 0, 1])
    two, three = np.arange(2), np.arange(3)
    money = np.array([1.0, 4.0])
    alone = Paid(two, money, two, money, money)
    third = Paid(np.array([2]), np.ones(1), three, np.array([2.0, 8.0, 1.0]), np.ones(3))
    room = np.array([1e-3, 0.25e-3, 0.0])
    found = carried(stage, room, np.zeros(3), [alone, third], None)
    np.testing.assert_allclose(found.down[2], 2e-3 + 2e-3)
    shared = replace(alone, open=np.full(2, 1e-3))
    found = carried(stage, room, np.zeros(3), [shared, third], None)
    np.testing.assert_allclose(found.up[:2], room[:2])
    np.testing.assert_allclose(found.down[2], 2e-3)
    # a limit that makes what is next dearer: alone
    some = replace(alone, open=np.array([np.nan, 1e-3]))
    found = carried(stage, room, np.zeros(3), [some, third], None)
    np.testing.assert_allclose(found.down[2], 4e-3)


def test_of_one_level_rounding_may_be_all_one_users() -> None:
    """Two last digits of a row are left for a user of as little: it is due twice what it holds."""
    left = 4 * 2.0**-52
    inst = fo.Instance([[1.0, 1.0], [1.0, 0.0]], [[1.0 + left, 1.0]], weight=[1.0, left / 2])
    for part, right in ((0.5, False), (1.0, True)):
        tasks, prices = [[1.0], [left * part]], [[[1.0, 0.0]], [[0.0, 1.0]]]
        alloc = fo.Allocation(inst, fo.MaxMin("tasks"), tasks, level_prices=prices)
        assert fo.certify(alloc).certified == right
