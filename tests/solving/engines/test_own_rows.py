"""A system most of whose rows are of one user alone, user by user, beside the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import fairopt as fo
from fairopt.solving.engines.path import own


def system(seed, two=False):
    """Rows of three users alone and four shared ones, what couples them, and the whole matrix."""
    rng = np.random.default_rng(seed)
    owner = np.sort(rng.integers(0, 3, 15))
    owner[:3] = [0, 1, 2]
    owner.sort()
    a = np.zeros((10, 17))  # two flows at the end
    for row in range(6):
        a[row, np.flatnonzero(owner == row % 3)] = rng.uniform(0.5, 1, (owner == row % 3).sum())
    a[6:] = rng.uniform(0, 1, (4, 17)) * (rng.random((4, 17)) < 0.7)
    theta, rho = rng.uniform(0.1, 1, 17), rng.uniform(0.5, 1, 10)
    held = np.zeros((1 + two, 3, 10))
    for k in range(1 + two):
        for n in range(3):
            held[k, n] = 0.3 / (1 + k) * (a[:, :15] * theta[:15]) @ (owner == n)
    flat = held.reshape(-1, 10)
    return a, owner, theta, rho, held, a * theta @ a.T - flat.T @ flat + np.diag(rho)


@pytest.mark.parametrize("two", [False, True])
def test_the_solution_is_that_of_the_whole(two):
    for seed in range(5):
        a, owner, theta, rho, held, whole = system(seed, two)
        row, column = np.nonzero(a)
        lone = own.alone(row, np.append(owner, [-1, -1])[column], 10)
        assert lone[:6].tolist() == [0, 1, 2, 0, 1, 2] and (lone[6:] == -1).all()
        shared = np.flatnonzero(lone < 0)
        among = (a[shared] * theta) @ a[shared].T
        users = own.users_of(csr_array(a), owner, lone)
        found = own.OwnFactors(users, shared, among, theta, held, rho, 1e-15)
        right = np.random.default_rng(seed).normal(size=10)
        np.testing.assert_allclose(found.solve(right), np.linalg.solve(whole, right), rtol=1e-9)


def test_what_is_not_positive_definite_is_told():
    a, owner, theta, rho, held, _ = system(0)
    row, column = np.nonzero(a)
    lone = own.alone(row, np.append(owner, [-1, -1])[column], 10)
    shared = np.flatnonzero(lone < 0)
    users = own.users_of(csr_array(a), owner, lone)
    with pytest.raises(ArithmeticError):
        own.OwnFactors(users, shared, np.zeros((4, 4)), theta, held, -rho, 0.0)


def test_the_answer_is_the_same(monkeypatch):
    rng = np.random.default_rng(2)
    base = fo.Instance(rng.uniform(0.2, 2, (5, 3)), [[2.5] * 3], limit=[np.inf, 9, 9, 9, 9])
    wants = rng.uniform(0.1, 2, (12, 5)) * (rng.random((12, 5)) < 0.7)
    wants[0] += 0.1
    for carry in (False, True):
        inst = fo.horizon(base, wants, carry=carry).instance.replace(limit=[9, np.inf, 8, 7, 6])
        before = fo.solve(inst, fo.ProportionalFair()).totals
        asked = []

        class Seen(own.OwnFactors):
            def __init__(self, *given, told=asked):
                told.append(1)
                super().__init__(*given)

        with monkeypatch.context() as patch:
            patch.setattr("fairopt.solving.engines.path.frame.SMALL", 1)
            patch.setattr(own, "LARGE", 1)
            patch.setattr("fairopt.solving.engines.path.system.OwnFactors", Seen)
            found = fo.solve(inst, fo.ProportionalFair())
        assert found.certificate.certified and bool(asked) == carry
        np.testing.assert_allclose(found.totals, before, rtol=1e-7)


def test_few_rows_or_many_shared_ones_are_left_whole():
    assert not own.fits(np.zeros(own.LARGE - 1, dtype=int))
    assert not own.fits(np.full(own.LARGE, -1))
    assert own.fits(np.zeros(own.LARGE, dtype=int))
