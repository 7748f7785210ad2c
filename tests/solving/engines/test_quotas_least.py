"""The least correction, and none where numbers are not finite."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fairopt.solving.engines.quotas.sharpened import MANY_ROWS, least

SIZES = (3, MANY_ROWS + 1)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_system_that_is_no_number_moves_nothing(size: int, wrong: float) -> None:
    matrix, right = np.eye(size), np.ones(size)
    matrix[1, 2] = matrix[2, 1] = wrong
    assert (least(matrix, right) == 0).all()
    right[0] = wrong
    assert (least(np.eye(size), right) == 0).all()


@pytest.mark.parametrize("size", SIZES)
def test_a_regular_system_is_solved(size: int) -> None:
    # 2 on the diagonal and 1 beside it all round: rows of equal sums 4
    matrix = 2 * np.eye(size) + np.roll(np.eye(size), 1, 0) + np.roll(np.eye(size), -1, 0)
    assert size % 2  # an even ring is singular
    assert least(matrix, np.full(size, 4.0)) == pytest.approx(np.ones(size), rel=1e-9)


@pytest.mark.parametrize("size", SIZES)
def test_of_rows_that_are_the_same_the_least_is_taken(size: int) -> None:
    found = least(np.ones((size, size)), np.ones(size))
    assert found == pytest.approx(np.full(size, float(Fraction(1, size))), rel=1e-9)
