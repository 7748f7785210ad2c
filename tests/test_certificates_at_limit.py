"""Users at limits worth 1e500 times what others pay: answers certified, spoiled ones refused."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.allocation import Allocation

TINY = fo.Instance([[1.0], [1.0], [1.0]], [[1.0]], limit=[1e-5, np.inf, np.inf])


def answer(shares: list[float], alpha: float = 100.0) -> Allocation:
    """Prices of the optimum: 1 for the resource, and a limit dearer than any resource."""
    return Allocation(
        TINY, fo.AlphaFair(alpha), np.array(shares)[:, None], np.array([[1.0]]),
        np.array([1e200, 0.0, 0.0]),
    )  # fmt: skip


RIGHT = [1e-5, (1 - 1e-5) / 2, (1 - 1e-5) / 2]


def test_the_right_answer_is_certified() -> None:
    assert fo.certify(answer(RIGHT)).certified


@pytest.mark.parametrize(
    "shares",
    [
        [1e-5, RIGHT[1] * (1 + 1e-5), RIGHT[2] * (1 - 1e-5)],  # one of the others has more
        [1e-5, RIGHT[1] * (1 - 1e-5), RIGHT[2] * (1 - 1e-5)],  # both have less
        [1e-5 * (1 - 1e-5), RIGHT[1], RIGHT[2]],  # not at the limit, and the resource has room
        [0.0, RIGHT[1], RIGHT[2]],
    ],
)
def test_a_spoiled_answer_is_refused(shares: list[float]) -> None:
    assert not fo.certify(answer(shares)).certified


def test_nobody_below_a_limit_needs_no_price() -> None:
    inst = fo.Instance([[1.0], [1.0]], [[4.0]], limit=[1e-5, 1.0])
    alloc = Allocation(inst, fo.AlphaFair(100.0), [[1e-5], [1.0]], [[0.0]], [1.0, 0.0])
    assert fo.certify(alloc).certified
    low = alloc.with_(tasks=np.array([[1e-5], [0.9]]), certificate=None)
    assert not fo.certify(low).certified


def test_what_is_at_a_limit() -> None:
    for short, at in ((0.5 * AT, True), (2 * AT, False)):
        assert at_limit(answer([1e-5 * (1 - short), 0.1, 0.1]))[0] == at


def test_the_scale_follows_from_the_others() -> None:
    alloc = answer(RIGHT, alpha=2.0)
    # W s^-2 = t q with q = 1
    found = log_scale_below(alloc, np.zeros(3), np.zeros(3), 2.0)
    assert np.isclose(found, -2 * np.log(RIGHT[1]))
    assert log_scale_below(alloc.with_(tasks=alloc.tasks * 0.5), np.zeros(3), np.zeros(3), 2.0) != (
        found
    )


@pytest.mark.parametrize("alpha", [50.0, 100.0])
@pytest.mark.parametrize("limit", [[1e-5, np.inf], [1e-3, np.inf], [1e-9, 0.5]])
def test_tiny_limits_at_large_alpha_are_solved(alpha: float, limit: list[float]) -> None:
    inst = fo.Instance([[1], [1]], [[1]], limit=limit)
    alloc = fo.solve(inst, fo.AlphaFair(alpha))
    first = limit[0]
    np.testing.assert_allclose(alloc.shares, [first, min(1 - first, limit[1])], rtol=1e-6)


def test_three_limits_of_many_decades() -> None:
    inst = fo.Instance([[1], [1], [1]], [[1]], limit=[0.5, np.inf, 1e-3])
    alloc = fo.solve(inst, fo.AlphaFair(100))
    np.testing.assert_allclose(alloc.shares, [0.4995, 0.4995, 1e-3], rtol=1e-6)
