"""The central path: near the answer whatever alpha and weights, from nothing."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.solving.engines.interior import central
from fairopt.solving.engines.polish.tasks import polish
from tests.engine_cases import ONE_RESOURCE, TWO_SERVERS, judged, question


def test_one_resource() -> None:
    found = central.follow(question(ONE_RESOURCE, 1.0))
    assert found is not None
    np.testing.assert_allclose(found.x, [4.0, 4.0], rtol=1e-8)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 10.0, 100.0])
def test_it_ends_certified_without_polish(alpha: float, inside: bool) -> None:
    asked = question(TWO_SERVERS, alpha, inside)
    found = central.follow(asked)
    assert found is not None and judged(asked, found, inside).certified


def test_weights_over_twelve_decades() -> None:
    """The order of every share, for the user due 1e-12 of the cluster too; polished, all of it."""
    demand = [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]]
    asked = question(fo.Instance(demand, [[10.0, 10.0]], weight=[1e-6, 1, 1e6]), 1.0)
    found = central.follow(asked)
    # only the first row is full, of which all but 1e-6 is the third user's: its price is 1e5
    due = [1e-6 / 1e5, 1 / 2e5, 10.0]
    assert found is not None
    np.testing.assert_allclose(found.x, due, rtol=0.5)
    # a row with room for no more than the lightest user's tasks is told from a full one
    mended = polish(asked, found)
    assert mended is not None and judged(asked, mended).certified
    np.testing.assert_allclose(mended.x, due, rtol=1e-5)


def test_a_short_path_ends_tau_from_the_optimum() -> None:
    """The gap falls with tau: the promise of the path."""
    asked = question(TWO_SERVERS, 1.0)
    gaps = [judged(asked, central.follow(asked, last)).gap for last in (1e-3, 1e-5, 1e-7)]
    assert gaps[0] > 10 * gaps[1] > 100 * gaps[2] > 0
