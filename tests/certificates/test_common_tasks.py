"""The judges of the programs over pools: nobody small is lost in the sum of all."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import certify
from fairopt.solving.engines.programs import common_tasks

NOTIONS = [fo.EqualTasks(), fo.CommonTasks()]


def solved(inst: fo.Instance, notion: fo.EqualTasks | fo.CommonTasks) -> fo.Allocation:
    return fo.solve(inst, notion)


@pytest.mark.parametrize("weight", [1.0, 1e6])
@pytest.mark.parametrize("part", [0.0, 0.5, 1 - 2e-6, 1 - 0.5e-6, 1.0])
def test_sum_m_user_alone_on_its_server(weight: float, part: float) -> None:
    """A heavy weight is a small gain here: M_n / phi_n."""
    inst = fo.Instance([[1.0], [1.0]], [[1.0], [3.0]], placement=np.eye(2), weight=[1, weight])
    right = solved(inst, fo.CommonTasks())
    assert right.totals == pytest.approx([1, 3])
    own = 3 * part
    for prices in (right.prices, None):
        found = certify(right.with_(tasks=[[1, 0], [0, own]], prices=prices, certificate=None))
        if prices is not None:
            assert found.certified == (part > 1 - 1e-6), found.explain()
        else:
            assert part > 1 - 1e-6 or not found.certified


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_a_user_that_gains_little_is_bounded_by_itself(notion) -> None:
    """Two servers that share nobody; what the second user makes is 1e-9 of all."""
    inst = fo.Instance([[1, 0], [0, 1], [0, 1]], [[1, 0], [0, 4]], weight=[1, 1e9, 2e9])
    right = solved(inst, notion)
    assert right.certificate.certified
    for n in (1, 2):
        for part in (0.0, 0.5, 1 - 1e-5):
            tasks = right.tasks.copy()
            if tasks[n].any():
                tasks[n] *= part
                assert not certify(right.with_(tasks=tasks)).certified, (n, part)


def test_what_equal_m_leaves_over_goes_to_somebody() -> None:
    """The first server sets the level; on the second the last user has more room than that."""
    inst = fo.Instance([[1.0], [1.0]], [[1.0], [8.0]], placement=[[1, 0], [1, 1]])
    right = solved(inst, fo.EqualTasks())
    assert right.tasks == pytest.approx(np.array([[0.5, 0], [0.5, 8]]))
    for own in (0.5, 4, 8 * (1 - 2e-6)):
        assert not certify(right.with_(tasks=[[0.5, 0], [0.5, own]])).certified
    assert certify(right.with_(tasks=[[0.5, 0], [0.5, 8 * (1 - 0.5e-6)]])).certified


def test_tasks_beyond_m_n_are_no_use_to_sum_m() -> None:
    """A user that hoards one server beyond what it runs on the other keeps another out."""
    inst = fo.Instance([[1.0], [1.0]], [[1.0], [4.0]], placement=[[1, 1], [0, 1]], weight=[1, 1e8])
    right = solved(inst, fo.CommonTasks())
    assert right.tasks == pytest.approx(np.array([[1, 1], [0, 3]]))
    assert not certify(right.with_(tasks=[[1, 4], [0, 0]])).certified
    assert not certify(right.with_(tasks=[[1, 2], [0, 2]])).certified


@pytest.mark.parametrize("part, good", [(0.5e-6, True), (2e-6, False)])
def test_nothing_of_equal_m_lies_where_it_is_clearly_dear(part: float, good: bool) -> None:
    """What the third user's server leaves is worth 1e-4 more to the second than to the first."""
    inst = fo.Instance(
        [[1.0, 1e-4], [1.0, 2e-4], [1.0, 0.0]],
        [[9.0, 9.0], [1.0, 1.0]],
        placement=[[1, 0], [1, 0], [0, 1]],
        limit=[np.inf, np.inf, 0.5],
    )
    best = solved(inst, fo.EqualTasks())
    assert best.tasks == pytest.approx(np.array([[0.5, 0], [8.5, 0], [0, 0.5]]))
    more = part * 0.5
    tasks = best.tasks + np.array([[more, 0], [-more, 0], [0, 0]])
    assert certify(best.with_(tasks=tasks)).certified == good


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_forged_prices_of_pools(notion) -> None:
    inst = fo.Instance([[1, 1], [1, 3]], [[4, 8], [8, 4]], limit=[3.0, np.inf])
    right = solved(inst, notion)
    assert right.certificate.certified
    for factor in (2.0**-900, 2.0**900):
        mu = right.limit_prices * factor
        assert certify(right.with_(prices=right.prices * factor, limit_prices=mu)).certified
    short = right.tasks * [[1.0], [0.5]] if right.tasks[1].any() else right.tasks * [[0.5], [1.0]]
    apart = np.array([[1e308, 5e-324], [5e-324, 1e308]])
    none, tiny, huge = (np.full((2, 2), p) for p in (0.0, 5e-324, 1e308))
    for forged in (none, tiny, huge, right.prices * 1e-300, apart):
        for mu in (None, np.full(2, 1e308), np.full(2, 5e-324)):
            assert not certify(right.with_(tasks=short, prices=forged, limit_prices=mu)).certified


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_answers_over_twelve_decades_are_certified(notion) -> None:
    """The simplex method alone loses the users of small gain; the judge now says so."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        demand = rng.uniform(0.1, 1, (5, 3)) * (rng.random((5, 3)) < 0.7)
        demand[demand.max(axis=1) == 0, 0] = 1.0
        limit = np.where(rng.random(5) < 0.3, 10.0 ** rng.uniform(-6, 0, 5), np.inf)
        inst = fo.Instance(
            demand,
            rng.uniform(1, 10, (3, 3)),
            weight=10.0 ** rng.uniform(-6, 6, 5),
            limit=limit,
            count=rng.integers(1, 4, 3),
        )
        assert solved(inst, notion).certificate.certified, seed


def test_the_level_of_equal_m_by_hand() -> None:
    inst = fo.Instance([[1.0], [2.0]], [[6.0]], weight=[1, 2], count=[2])
    level, base = common_tasks.equal_level(inst)
    assert level == pytest.approx(1.2) and base == pytest.approx(np.array([[2.4], [4.8]]))
