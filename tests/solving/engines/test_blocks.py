"""A system in blocks, solved user by user, beside the same system in one matrix."""

from __future__ import annotations

import numpy as np
from scipy.sparse import block_diag

import fairopt as fo
from fairopt.solving.engines.path import blocks


def test_the_solution_is_that_of_the_whole():
    """Forty blocks of two or three rows, two columns in each; one user holds back nothing."""
    rng = np.random.default_rng(1)
    parts = [rng.uniform(0.5, 1, (2 + n % 2, 2)) for n in range(40)]
    a = block_diag(parts).toarray()
    row, column = np.nonzero(a)
    found = blocks.of(8, len(a), row, column, a.shape[1])
    assert found is not None and found.shape == (40, 3)
    k = a @ a.T
    i, j = np.nonzero(np.tril(k))
    held, rho = rng.uniform(0, 0.02, (8, len(a))), rng.uniform(0.5, 1, len(a))
    held[2] = 0.0
    right = rng.normal(size=len(a))
    made = blocks.BlockFactors(found, i, j, k[i, j], rho, held)
    whole = k + np.diag(rho) - held.T @ held
    np.testing.assert_allclose(made.solve(right), np.linalg.solve(whole, right), rtol=1e-9)


def horizon(seed, users=6, slices=9):
    rng = np.random.default_rng(seed)
    base = fo.Instance(rng.uniform(0.2, 2, (users, 3)), [[users / 2] * 3])
    wants = rng.uniform(0.1, 2, (slices, users)) * (rng.random((slices, users)) < 0.7)
    wants[0] += 0.1
    return fo.horizon(base, wants).instance


def test_the_answer_is_the_same_in_blocks(monkeypatch):
    inst = horizon(2)
    monkeypatch.setattr(blocks, "WIDEST", 0)
    before = fo.solve(inst, fo.ProportionalFair()).totals
    monkeypatch.setattr(blocks, "WIDEST", 40)
    monkeypatch.setattr(blocks, "LEAST_ROWS", 1)
    asked = []
    made = blocks.BlockFactors.__init__
    monkeypatch.setattr(
        blocks.BlockFactors, "__init__", lambda self, *a: (asked.append(1), made(self, *a))[1]
    )
    found = fo.solve(inst, fo.ProportionalFair())
    assert asked and found.certificate.certified
    np.testing.assert_allclose(found.totals, before, rtol=1e-7)


def test_few_rows_many_users_or_large_blocks_are_left_whole():
    row, column = np.nonzero(np.eye(100))
    assert blocks.of(5, 100, row, column, 100) is not None
    assert blocks.of(200, 100, row, column, 100) is None
    assert blocks.of(5, 30, row[:30], column[:30], 30) is None
    assert blocks.of(5, 100, row, np.zeros(100, dtype=int), 1) is None
