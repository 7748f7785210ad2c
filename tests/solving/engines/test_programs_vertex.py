"""Levels from the vertices of their bases: to thirty digits, beside fractions; jobs on kinds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import judged
from fairopt.errors import SolverFailure
from fairopt.solving.engines.polish.levels import settled
from fairopt.solving.engines.programs import kept, vertex
from fairopt.solving.engines.programs.vertex import Pair, SparseRows, product
from tests.rational import max_min_levels


def jobs(seed: int, users: int) -> tuple[fo.Instance, np.ndarray]:
    """Jobs on three kinds of machines, whose throughputs are nearly in one ratio; limits of 1."""
    rng = np.random.default_rng(seed)
    score = rng.integers(1, 9, (users, 1)) * np.array([[1.0, 2.0, 3.0]])
    score = score * (1 + 2.0**-12 * rng.integers(0, 8, (users, 3)))
    count = rng.integers(1, 4, users).astype(float)
    inst = fo.Instance(count[:, None], [[2.0], [3.0], [2.0]], limit=np.ones(users))
    return inst, score


@pytest.mark.parametrize("seed", range(6))
def test_equals_fractions(seed: int) -> None:
    inst, score = jobs(seed, 5)
    found = kept.levels(inst, score, refined=True)
    exact = np.array([float(level) for level in max_min_levels(inst, score)])
    np.testing.assert_allclose(found.level, exact, rtol=1e-14)
    alloc = fo.Allocation(
        inst,
        fo.MaxMin(criterion=lambda _: score),
        found.tasks,
        level_prices=found.level_prices,
        score=score,
    )
    verdict = judged(alloc)
    assert verdict.certified and verdict.residual <= 1e-9
    assert {step["status"] for step in found.steps} == {"refined"}


@pytest.mark.parametrize("seed, users", [(0, 40), (1, 60)])
def test_jobs_whose_limits_bind_are_certified(seed: int, users: int) -> None:
    inst, score = jobs(seed, users)
    alloc = fo.solve(inst, fo.MaxMin(criterion=lambda _: score))
    assert alloc.certificate.certified
    # one user a little lower, another a little higher: not certified
    rng = np.random.default_rng(seed)
    for _ in range(10):
        low, high = rng.choice(users, 2, replace=False)
        tasks = alloc.tasks.copy()
        tasks[low] *= 1 - 2e-6
        tasks[high] *= 1 + 2e-6
        assert not judged(
            fo.Allocation(inst, alloc.notion, tasks, level_prices=alloc.level_prices, score=score)
        ).certified


def test_a_basis_that_is_wrong_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever HiGHS says: the vertex of its basis breaks a bound by a millionth."""
    inst, score = jobs(0, 5)
    right = vertex.Data.vertex
    monkeypatch.setattr(
        vertex.Data, "vertex", lambda self, basic: right(self, basic)._replace(wrong=1e-6)
    )
    with pytest.raises(SolverFailure, match="vertex of its basis is not right"):
        kept.levels(inst, score, refined=True)
    # the plain model takes over
    assert fo.solve(inst, fo.MaxMin(criterion=lambda _: score)).certificate.certified


def test_what_is_left_of_rows_is_exact() -> None:
    rng = np.random.default_rng(3)
    for rows, entries in ((4, 12), (3, 400)):
        down, across = rng.integers(0, rows, entries), rng.integers(0, 30, entries)
        value = rng.standard_normal(entries)
        x = Pair(rng.standard_normal(30), 1e-17 * rng.standard_normal(30))
        whole = Pair(rng.standard_normal(rows), np.zeros(rows))
        found = SparseRows(down, across, value, rows).short_of(whole, x)
        for row in range(rows):
            exact = Fraction(float(whole.high[row])) - sum(
                Fraction(float(value[k]))
                * (Fraction(float(x.high[across[k]])) + Fraction(float(x.low[across[k]])))
                for k in np.flatnonzero(down == row).tolist()
            )
            assert abs(Fraction(float(found[row])) - exact) <= Fraction(1, 2**52) * abs(
                exact
            ) + Fraction(1, 2**96)


def test_products_have_twice_the_digits() -> None:
    a, b = np.array([1 / 3, 1e10 / 7]), Pair(np.array([1 / 7, 1 / 11]), np.array([1e-18, -1e-18]))
    found = product(a, b)
    for k in range(2):
        exact = Fraction(float(a[k])) * (Fraction(float(b.high[k])) + Fraction(float(b.low[k])))
        error = Fraction(float(found.high[k])) + Fraction(float(found.low[k])) - exact
        assert abs(error) <= abs(exact) / 2**100


def test_the_price_of_a_limit_is_not_forgotten() -> None:
    """Of a user at its limit the dearer server of the higher score stays."""
    score = np.array([[4.0, 3.0], [2.0, 1.0]])
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[1.0], [2.0]],
        [[True, True], [True, False]],
        limit=[1.0, 1.0],
        weight=[1.0, 0.5],
    )
    alloc = fo.solve(inst, fo.MaxMin(criterion=lambda _: score))
    assert alloc.certificate.certified
    money = alloc.level_prices[0] * inst.pool
    kept_, _ = settled(inst, score, alloc.tasks, money)
    np.testing.assert_array_equal(kept_[0] > 0, alloc.tasks[0] > 0)
