"""A user of next to no money is found what the others leave it, wherever they stand.

Two heavy users share the cpu of two servers, and pay the same on either. The first needs a gpu on
server 1 alone, where a third, light user has gpus and nothing else: at the optimum the first is on
server 2, and the light one has all gpus.
"""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.asking import asked
from fairopt.certificates.given import given
from fairopt.certificates.lighter import lighter
from fairopt.certificates.proof import nearer, proof

TRUTH = np.array([2.0, 2.0, 10.0])


def cluster() -> fo.Instance:
    demand = np.array([[[1, 1], [1, 0]], [[1, 0], [1, 0]], [[0, 1], [0, 1]]], dtype=float)
    placement = [[True, True], [True, True], [True, False]]
    return fo.Instance(demand, [[2.0, 10.0], [2.0, 1.0]], placement)


def away(alpha: float, moved: float) -> fo.Allocation:
    """The optimum but that so much of the first user stands in the light one's way."""
    tasks = [[moved, 2 - moved], [2 - moved, moved], [10 - moved, 0.0]]
    return fo.Allocation(cluster(), fo.AlphaFair(alpha), tasks, [[1.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize("alpha", [10.0, 20.0, 50.0])
@pytest.mark.parametrize("moved", [0.5, 1.0, 2.0])
def test_who_is_in_the_way_of_a_light_user_is_found(alpha: float, moved: float) -> None:
    alloc = away(alpha, moved)
    found = fo.certify(alloc)
    assert found.verdict == "refuted"
    assert found.undetermined == ("u3",)
    off = proof(alloc)
    assert off.surely[2] == pytest.approx(-np.log1p(-moved / 10), rel=1e-6)
    assert off.off[:2].max() <= 1e-6
    fields = nearer(alloc)
    assert fields is not None
    np.testing.assert_allclose(fields["tasks"].sum(axis=1), TRUTH, rtol=1e-9)


@pytest.mark.parametrize("alpha", [10.0, 50.0])
def test_the_truth_is_certified(alpha: float) -> None:
    assert fo.certify(away(alpha, 0.0)).certified


def test_where_all_or_nobody_is_unknown_nothing_is_asked() -> None:
    for alpha, off in ((50.0, 0.0), (1.0, np.inf)):
        alloc = away(alpha, 1.0)
        question = asked(alloc)
        answer = given(alloc, question)
        assert lighter(question, answer, np.full(3, off)) is answer
