"""Square systems by elimination, as plain Python here."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairopt.formulas.square_loop import factored, solved


@given(st.integers(1, 12), st.integers(0, 10_000), st.floats(0.1, 1.0))
def test_it_solves_what_numpy_does(size, seed, filled):
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((size, size)) < filled, rng.normal(size=(size, size)), 0.0)
    matrix += np.roll(np.diag(rng.uniform(5, 10, size)), 1, axis=0)  # rows have to be exchanged
    factors, order = matrix.copy(), np.empty(size, np.int64)
    if not factored(factors, order):
        assert np.linalg.matrix_rank(matrix) < size
        return
    for _ in range(2):  # one factor, several right sides
        right = rng.normal(size=size)
        found = right.copy()
        assert solved(factors, order, found)
        np.testing.assert_allclose(matrix @ found, right, atol=1e-9 * np.linalg.cond(matrix))


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_what_has_no_solution_is_said(bad):
    matrix = np.array([[1.0, 2.0], [1.0, 2.0]])
    assert not factored(matrix.copy(), np.empty(2, np.int64))
    matrix[:, 0] = bad
    assert not factored(matrix, np.empty(2, np.int64))
