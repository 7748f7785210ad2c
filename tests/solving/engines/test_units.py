"""Natural units: what users have alone, and the max-min level."""

from __future__ import annotations

import numpy as np

import fairopt as fo
from fairopt.solving.engines import units
from tests.engine_cases import ONE_RESOURCE, TWO_SERVERS, question


def test_alone() -> None:
    np.testing.assert_allclose(units.alone(question(ONE_RESOURCE, 1.0)), [12.0, 6.0])
    # user 2: 3 on the first server, 4/3 on the second; user 3 is held by its limit
    np.testing.assert_allclose(units.alone(question(TWO_SERVERS, 1.0)), [4.5, 3 + 4 / 3, 0.25])


def test_max_min_level_follows_the_weights() -> None:
    # L (1 * 1 + 2 * 2) = 12
    np.testing.assert_allclose(units.max_min(question(ONE_RESOURCE, 1.0)), [2.4, 4.8], rtol=1e-9)
    root = np.sqrt(2)
    wanted = 12 / (1 + 2 * root) * np.array([1, root])
    np.testing.assert_allclose(units.max_min(question(ONE_RESOURCE, 2.0)), wanted, rtol=1e-9)


def test_users_held_by_their_limit_are_set_aside() -> None:
    inst = fo.Instance([[1.0], [1.0]], [[10.0]], limit=[1.0, np.inf])
    # the other's level no longer stops at that limit, and what the limit allows is kept
    np.testing.assert_allclose(units.max_min(question(inst, 1.0)), [1.0, 9.0], rtol=1e-9)


def test_units_are_positive_over_twelve_decades() -> None:
    inst = fo.Instance([[1.0], [1e-6], [1e6]], [[10.0]], weight=[1e-6, 1.0, 1e6])
    for alpha in (1.0, 2.0, 100.0):
        for unit in (units.max_min(question(inst, alpha)), units.alone(question(inst, alpha))):
            assert np.isfinite(unit).all() and (unit > 0).all()
