"""Users whose money is lost beside that of others get what those leave."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.solving import remainder


@pytest.mark.parametrize("alpha", [20.0, 50.0, 100.0])
@pytest.mark.parametrize("reduce", [True, False])
def test_what_only_the_richest_can_use_is_not_left(alpha: float, reduce: bool) -> None:
    """One GPU of each kind for a user each; the third needs cores alone: 4, 6 and 22 tasks."""
    inst = fo.Instance([[1, 1, 0], [1, 0, 1], [1, 0, 0]], [[8, 4, 0], [8, 0, 6], [16, 0, 0]])
    alloc = fo.solve(inst, fo.AlphaFair(alpha), reduce=reduce)
    np.testing.assert_allclose(alloc.totals, [4, 6, 22], rtol=1e-9)


@pytest.mark.parametrize("alpha", [50.0, 100.0])
def test_no_answer_leaves_what_a_user_could_have_for_nothing(alpha: float) -> None:
    inst = fo.read("counterexamples/strategy-proof-5").instance
    # at 50 not certified: KNOWN_UNCERTIFIED of test_solving.py says why
    alloc = fo.solve(inst, fo.AlphaFair(alpha), uncertified="return")
    left = inst.pool - alloc.used
    for n, i in np.argwhere(inst.eligible):
        need = inst.demand_by_server[n, i]
        room = min(left[i, r] / need[r] for r in np.flatnonzero(need))
        assert room <= 1e-6 * alloc.totals[n]


def test_lighter_users_are_those_apart_in_money() -> None:
    inst = fo.Instance(np.eye(3), [[1.0, 1.0, 1.0]], weight=[1, 1e-3 / 2, 1e-9])
    alloc = fo.Allocation(inst, fo.ProportionalFair(), np.ones((3, 1)), [[1, 5e-4, 1e-9]])
    assert remainder.lighter(alloc, np.array([2])).tolist() == [2]
    assert remainder.lighter(alloc, np.array([1])).tolist() == [1, 2]
    assert remainder.lighter(alloc, np.array([0, 2])).tolist() == []
    assert remainder.left_for(alloc, np.array([2])).pool.tolist() == [[0, 0, 1]]
    full = fo.Instance([[1.0], [1.0]], [[1.0]], weight=[1, 1e-9])
    alloc = fo.Allocation(full, fo.ProportionalFair(), [[1.0], [0.0]], [[1.0]])
    assert remainder.left_for(alloc, np.array([1])) is None
