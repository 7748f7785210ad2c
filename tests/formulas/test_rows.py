"""Sums and extremes of rows, column by column or not."""

from __future__ import annotations

import numpy as np
import pytest

from fairopt.formulas import rows


@pytest.mark.parametrize("columns", [1, 2, 9, rows.SHORT, rows.SHORT + 1, 200])
def test_rows_are_those_of_numpy_and_do_not_depend_on_their_neighbours(columns):
    matrix = np.random.default_rng(columns).normal(size=(37, columns))
    assert (rows.least(matrix) == matrix.min(axis=1)).all()
    assert (rows.largest(matrix) == matrix.max(axis=1)).all()
    total = rows.total(matrix)
    assert total == pytest.approx(matrix.sum(axis=1), rel=1e-12, abs=1e-12)
    assert (np.concatenate([rows.total(matrix[:5]), rows.total(matrix[5:])]) == total).all()


def test_what_is_no_number_is_not_passed_over():
    matrix = np.array([[1.0, np.nan, -3.0], [np.inf, 2.0, 5.0]])
    for found in (rows.least(matrix), rows.largest(matrix), rows.total(matrix)):
        assert np.isnan(found[0]) and not np.isnan(found[1])


def test_the_matrix_stays_as_it_was():
    matrix = np.ones((3, 4))
    rows.total(matrix)
    assert (matrix == 1).all()
