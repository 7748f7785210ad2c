"""Who had more than it is due, and next to no weight: what it had is priced at what it is worth."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo

TRUTH = np.array([5.0, 3.0, 0.0])


def cluster() -> fo.Instance:
    """8 on top of 1, 3 and 9: the first two are filled up to 6."""
    return fo.Instance([[1.0], [1.0], [1.0]], [[8.0]], weight=[1, 1, 1e-12], start=[1, 3, 9e-3])


@pytest.mark.parametrize("alpha", [2.0, 5.0, 10.0])
def test_a_light_user_that_is_due_nothing_more_hides_nothing(alpha: float) -> None:
    notion = fo.AlphaFair(alpha, weight_inside=True)
    answer = fo.solve(cluster(), notion)
    np.testing.assert_allclose(answer.shares, TRUTH, atol=1e-6)
    # by the tasks alone, and with prices that say too little or too much
    for price in (None, [[1e-3]], [[5.0]]):
        assert fo.certify(fo.Allocation(cluster(), notion, TRUTH[:, None], price)).certified


@pytest.mark.parametrize("moved", [1e-5, 1e-2, 1.0])
@pytest.mark.parametrize("to", [1, 2])
def test_what_is_moved_to_another_is_seen(moved: float, to: int) -> None:
    tasks = TRUTH.copy()
    tasks[0] -= moved
    tasks[to] += moved
    given = fo.Allocation(
        cluster(), fo.AlphaFair(10.0, weight_inside=True), tasks[:, None], [[1.0]]
    )
    assert fo.certify(given).verdict == ("refuted" if to == 1 else "unproved")
