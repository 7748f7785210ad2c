"""Prices of limits that dwarf all others: kept right beside each other, never raised."""

from __future__ import annotations

import numpy as np

from fairopt.solving.engines.point import CUT, FURTHEST, TOGETHER, cut, in_range


def test_what_is_in_range_is_left_alone() -> None:
    money = np.array([-5.0, FURTHEST + 1.0])
    assert (in_range(money, 2.0) == money).all()


def test_the_dearest_keep_their_ratio_and_none_is_raised() -> None:
    money = np.array([2000.0, 2000.0 - 0.5 * TOGETHER, 1000.0, 10.0])
    found = in_range(money, 0.0)
    np.testing.assert_allclose(found[:2], [FURTHEST, FURTHEST - 0.5 * TOGETHER])
    np.testing.assert_allclose(found[2:], [FURTHEST - TOGETHER, 10.0])
    assert (found <= money).all()


def test_engines_cut() -> None:
    np.testing.assert_allclose(np.log(cut(np.array([1.0, 900.0]), 3.0)), [1.0, 3.0 + CUT])
