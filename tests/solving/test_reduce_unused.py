"""Resources that can never bind: each proof is right, and none is circular."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import fairopt as fo
from fairopt.solving import alpha_fair
from fairopt.solving.reduce import reduce
from fairopt.solving.reduce.unused import UsedRows, never_binding


def dropped(inst: fo.Instance, alone_matters: bool = False) -> list[int]:
    rows = UsedRows(inst.demand, inst.pool, inst.eligible, inst.limit)
    return sorted(never_binding(rows, alone_matters).tolist())


def most_used(inst: fo.Instance, i: int, r: int, kept: list[int]) -> float:
    """Largest use of r on server i that the other resources and the limits allow."""
    n = np.flatnonzero(inst.eligible[:, i])
    d = inst.demand_by_server[n, i]
    # a row of nothing stands in where no resource kept is there
    rows = [d[:, 0] * 0.0, *(d[:, k] / inst.pool[i, k] for k in kept if inst.pool[i, k] > 0)]
    bounds = [(0, None if np.isinf(t) else t) for t in inst.limit[n]]
    found = linprog(-d[:, r] / inst.pool[i, r], np.array(rows), np.ones(len(rows)), bounds=bounds)
    return np.inf if found.status == 3 else -float(found.fun)


@st.composite
def clusters(draw: st.DrawFn) -> fo.Instance:
    n, i, r = draw(st.integers(1, 4)), draw(st.integers(1, 2)), draw(st.integers(2, 3))
    amount = st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0, 2.0, 4.0])
    by_server = draw(st.booleans())
    shape = (n, i, r) if by_server else (n, r)
    size = int(np.prod(shape))
    demand = np.array(draw(st.lists(amount, min_size=size, max_size=size))).reshape(shape)
    demand[..., 0] = np.where((demand > 0).any(axis=-1), demand[..., 0], 0.3)
    capacity = np.reshape(
        draw(
            st.lists(
                st.sampled_from([0.0, 0.3, 1.0, 2.0, 5.0, 50.0]), min_size=i * r, max_size=i * r
            )
        ),
        (i, r),
    )
    # whoever is eligible somewhere
    there = ((capacity > 0) | (demand.reshape(n, -1, r) == 0)).all(axis=2).any(axis=1)
    demand, n = demand[there], int(there.sum())
    assume(n)
    limit = draw(st.lists(st.sampled_from([0.5, 2.0, np.inf]), min_size=n, max_size=n))
    return fo.Instance(demand, capacity, limit=limit)


@settings(max_examples=150, deadline=None)
@given(clusters(), st.booleans())
def test_what_is_dropped_never_binds(inst: fo.Instance, alone_matters: bool) -> None:
    gone = dropped(inst, alone_matters)
    kept = [r for r in range(inst.shape[2]) if r not in gone]
    assert kept
    for i in range(inst.shape[1]):
        for r in gone:
            if (inst.demand_by_server[inst.eligible[:, i], i, r] > 0).any():
                assert most_used(inst, i, r, kept) <= 1 + 1e-9
    if gone and alone_matters:
        fewer = inst.replace(
            demand=inst.demand[..., kept],
            capacity=inst.capacity[:, kept],
            placement=inst.eligible,
            resources=[inst.resources[r] for r in kept],
        )
        np.testing.assert_array_equal(fewer.alone, inst.alone)


def test_two_equal_resources_do_not_prove_each_other_away() -> None:
    assert dropped(fo.Instance([[1, 1, 1], [2, 2, 2]], [[4, 4, 4]])) == [1, 2]


def test_a_resource_that_one_user_needs_more_of_stays() -> None:
    assert dropped(fo.Instance([[1, 0.5], [1, 1.5]], [[4, 4]])) == []
    assert dropped(fo.Instance([[1, 0.5], [1, 1.0]], [[4, 4]])) == [1]
    # on one of two servers only: it stays on both
    assert dropped(fo.Instance([[1, 0.5], [1, 1.0]], [[4, 4], [4, 3]])) == []
    # whoever is not eligible there does not count
    two = fo.Instance([[1, 0.5], [1, 1.0]], [[4, 4], [4, 3]], [[True, True], [True, False]])
    assert dropped(two) == [1]


def test_what_a_server_has_none_of_proves_nothing() -> None:
    """0 <= 0 holds of a resource that is neither demanded nor there; it bounds nobody."""
    assert dropped(fo.Instance([[1, 0], [0, 1]], [[1, 0], [0, 1]])) == []
    # the third is there on one machine only, and implied by the first on that one
    kinds = fo.Instance([[1, 4, 0], [4, 8, 1]], [[32, 64, 0], [64, 256, 16]])
    assert dropped(kinds) == [2]
    assert dropped(kinds.replace(capacity=[[32, 64, 0], [64, 256, 15]])) == []


@pytest.mark.parametrize("size", [(100, 1), (1, 100)])
def test_the_last_of_many_counts(size: tuple[int, int]) -> None:
    """Users and servers beyond the first few that are looked at."""
    demand, capacity = np.ones((size[0], 2)), np.full((size[1], 2), [4.0, 8.0])
    assert dropped(fo.Instance(demand, capacity)) == [1]
    (demand if size[0] > 1 else capacity)[-1, 1] = 3.0
    assert dropped(fo.Instance(demand, capacity)) == []


def test_room_for_all_at_once() -> None:
    # alone 4 and 2 tasks by the first resource: 4 + 4 of the second
    assert dropped(fo.Instance([[1, 1], [2, 2]], [[4, 8.1]])) == [1]
    crossed = [[1, 2], [4, 1]]
    assert dropped(fo.Instance(crossed, [[4, 9.1]])) == [1]
    assert dropped(fo.Instance(crossed, [[4, 7.0]])) == []
    # limits leave room, but not where what a user could run alone matters
    held = fo.Instance([[2, 1], [1, 3]], [[10, 10]], limit=[1, 2])
    assert dropped(held) == [1] and dropped(held, alone_matters=True) == []
    # somebody who demands nothing else is held back by nothing else
    assert 1 not in dropped(fo.Instance([[1, 0], [0, 1]], [[4, 9]], limit=[1, 1]))


@pytest.mark.parametrize("few", [0, 400])
def test_the_answer_has_price_zero_there_and_is_certified(few: int, monkeypatch: Any) -> None:
    """Whether it is reduced first or, being small, asked as it is."""
    monkeypatch.setattr(alpha_fair, "FEW_PLACES", few)
    inst = fo.Instance([[1, 4, 1], [3, 1, 0.5]], [[9, 18, 100]], resources=["cpu", "mem", "disk"])
    small = reduce(inst, fo.ProportionalFair(), np.ones((2, 1)))
    assert small.instance.resources == ("cpu", "mem")
    alloc = fo.solve(inst, fo.ProportionalFair())
    assert alloc.certificate is not None and alloc.certificate.certified
    assert alloc.prices is not None and alloc.prices[0, 2] == 0
    told = {"step": "reduce", "users": [2, 2], "servers": [1, 1], "never binding": ["disk"]}
    assert (alloc.steps[0] == told) == (few == 0)


@pytest.mark.parametrize("notion", [fo.PerServerDominantShare(), fo.PerServerDRF()])
def test_limits_do_not_change_what_levels_are_compared_with(notion: fo.MaxMin) -> None:
    inst = fo.Instance([[2, 1], [1, 3]], [[10, 10]], limit=[1, 2])
    assert reduce(inst, notion).steps == ()


def test_users_that_differ_only_in_what_never_binds_are_one() -> None:
    inst = fo.Instance([[1, 0.1], [1, 0.2], [2, 0.1]], [[9, 9], [5, 5]])
    small = reduce(inst, fo.ProportionalFair(), np.ones((3, 2)))
    assert small.instance.shape == (2, 1, 1)
    assert small.users.of.tolist() == [0, 0, 1] and small.servers.of.tolist() == [0, 0]
    alloc = fo.solve(inst, fo.ProportionalFair())
    np.testing.assert_allclose(alloc.totals, [14 / 3, 14 / 3, 7 / 3], rtol=1e-9)
