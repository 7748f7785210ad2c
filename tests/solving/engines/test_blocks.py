"""A system in blocks, solved user by user, beside the same system in one matrix."""

from __future__ import annotations

import numpy as np
from scipy.sparse import block_diag, csr_array

import fairopt as fo
from fairopt.solving.engines.path import blocks


def test_the_solution_is_that_of_the_whole():
    rng = np.random.default_rng(1)
    parts = [rng.uniform(0.5, 1, (3, 3)) for _ in range(20)]
    k = csr_array(block_diag([p @ p.T + np.eye(3) for p in parts]))
    v, p = rng.uniform(0, 0.05, (60, 8)), rng.uniform(0.1, 1, 8)
    p[2] = 0.0
    right = rng.normal(size=60)
    found = blocks.Blocks(k, v, p).solved(right)
    whole = k.toarray() - v @ np.diag(p) @ v.T
    np.testing.assert_allclose(found, np.linalg.solve(whole, right), rtol=1e-10)


def horizon(seed, users=6, slices=9):
    rng = np.random.default_rng(seed)
    base = fo.Instance(rng.uniform(0.2, 2, (users, 3)), [[users / 2] * 3])
    wants = rng.uniform(0.1, 2, (slices, users)) * (rng.random((slices, users)) < 0.7)
    wants[0] += 0.1
    return fo.horizon(base, wants).instance


def test_the_answer_is_the_same_in_blocks(monkeypatch):
    inst = horizon(2)
    before = fo.solve(inst, fo.ProportionalFair()).totals
    asked = []
    monkeypatch.setattr(blocks, "LARGE", 1)
    made = blocks.Blocks.__init__
    monkeypatch.setattr(
        blocks.Blocks, "__init__", lambda self, *a: (asked.append(1), made(self, *a))[1]
    )
    found = fo.solve(inst, fo.ProportionalFair())
    assert asked and found.certificate.certified
    np.testing.assert_allclose(found.totals, before, rtol=1e-7)


def test_few_rows_or_large_blocks_are_left_whole():
    assert not blocks.fits(5, csr_array(np.ones((30, 40))))
