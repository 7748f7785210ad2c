"""What floats prove of one round, and nothing of several: beside levels in exact fractions."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import judged, rounds
from fairopt.certificates.bounds import Paid, of_one_round
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
    assert not certificate.bounded or certificate.residual >= far(alloc)
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
    assert not certificate.certified
    assert not certificate.bounded or certificate.residual >= far(tight)


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
        assert not certificate.bounded or off <= certificate.residual * (1 + 1e-3) + 1e-14, seed
        assert not (certificate.certified and off > 1e-6), seed
        wrong += off > 1e-6
    assert 10 <= wrong < 60


def test_sums_by_hand() -> None:
    """What one gives up may all go to the other; rounding as well; nothing is known of a third."""
    money = np.array([3.0, 2.0])
    paid = Paid(np.array([0, 1]), money, np.array([0, 1]), money, money)
    room, drop = np.array([1e-3, 1e-5, np.inf]), np.array([1e-4, 0.0, 0.0])
    found = of_one_round(room, drop, [paid])
    np.testing.assert_allclose(found.up, [1e-3, 1e-5 + 3e-4 / 2, np.inf])
    np.testing.assert_allclose(found.down, [1e-4, 0, 1])
    np.testing.assert_allclose(found.rounding[:2], found.rounding[2] * 5 / money)
    low, high = found.ends(np.ones(3))
    assert low[2] == 0 and high[2] == np.inf and (low <= 1).all() and (high >= 1).all()


def test_of_one_level_rounding_may_be_all_one_users() -> None:
    """Two last digits of a row are left for a user of as little: it is due twice what it holds."""
    left = 4 * 2.0**-52
    inst = fo.Instance([[1.0, 1.0], [1.0, 0.0]], [[1.0 + left, 1.0]], weight=[1.0, left / 2])
    for part, right in ((0.5, False), (1.0, True)):
        tasks, prices = [[1.0], [left * part]], [[[1.0, 0.0]], [[0.0, 1.0]]]
        alloc = fo.Allocation(inst, fo.MaxMin("tasks"), tasks, level_prices=prices)
        assert fo.certify(alloc).certified == right
