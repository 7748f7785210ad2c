"""The universal bound holds for any concave objective, and is tight at an optimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairopt as fo
from fairopt.certificates.universal import universal_bound


def two():
    """One server; the optimum of x1 + sqrt(x2) with x1 + x2 <= 2 is (7/4, 1/4), value 9/4."""
    return fo.Instance([[1.0], [1.0]], [[2.0]])


def gradient(x):
    return np.array([1.0, 0.5 / np.sqrt(x[1, 0])])


def test_zero_at_the_optimum_whatever_the_unit_of_money():
    x = np.array([[1.75], [0.25]])
    for scale in (1e-9, 1.0, 1e9):
        assert universal_bound(two(), gradient(x), x, np.array([[scale]])) < 1e-15


def test_by_hand_away_from_the_optimum():
    x = np.array([[1.0], [1.0]])
    # G = (1, 1/2): the price 1 covers it, B - G x = 2 - 1.5; the true loss is 9/4 - 2
    assert universal_bound(two(), gradient(x), x, np.array([[3.0]])) == pytest.approx(0.5)


def test_a_price_missing_is_raised_where_a_pair_is_short():
    inst = fo.Instance([[1.0], [1.0]], [[2.0], [3.0]], placement=[[1, 0], [0, 1]])
    x = np.array([[2.0, 0], [0, 3.0]])
    # nothing is priced on the second server: its pair, worth 5 a task, is covered by raising
    found = universal_bound(inst, np.array([1.0, 5.0]), x, np.array([[1.0], [0.0]]))
    assert found == pytest.approx(15.0)
    assert universal_bound(inst, np.array([1.0, 5.0]), x, np.array([[1.0], [5.0]])) < 1e-14


def test_limits_are_priced():
    inst = two().replace(limit=[0.5, np.inf])
    x = np.array([[0.5], [1.5]])
    g = np.array([3.0, 1.0])
    assert universal_bound(inst, g, x, np.array([[1.0]]), np.array([2.0, 0.0])) < 1e-15
    assert universal_bound(inst, g, x, np.array([[1.0]])) == pytest.approx(3.0)
    # a price on a limit that is not there proves nothing
    assert universal_bound(inst, g, x, np.array([[1.0]]), np.array([0.0, 1.0])) == np.inf


@pytest.mark.parametrize("prices", [0.0, 1e308, np.inf])
def test_prices_that_prove_nothing(prices):
    inst = two().replace(capacity=[[1e10]])
    x = np.array([[1.0], [1.0]])
    assert universal_bound(inst, gradient(x), x, np.array([[prices]])) == np.inf


def test_a_gradient_that_is_infinite_proves_nothing():
    x = np.array([[2.0], [0.0]])
    with np.errstate(divide="ignore"):
        assert universal_bound(two(), gradient(x), x, np.array([[1.0]])) == np.inf


@given(st.data())
def test_holds_for_a_concave_quadratic(data):
    """f = b x - x'Qx/2, falling nowhere on the feasible set, at random points and prices."""
    inst = fo.Instance([[1, 2], [2, 1]], [[4, 4], [3, 6]])
    unit = st.floats(0, 1)
    draw = lambda size: np.array(data.draw(st.lists(unit, min_size=size, max_size=size)))  # noqa: E731
    q = np.outer(v := draw(4), v)
    b = q @ np.full(4, 3.0) + draw(4)

    def f(tasks):
        return b @ tasks.ravel() - tasks.ravel() @ q @ tasks.ravel() / 2

    def point():
        x = draw(4).reshape(2, 2) * inst.alone
        return x / max((inst.used(x) / inst.pool).max(), 1.0)

    x, other = point(), point()
    slope = b - q @ x.ravel()
    assert (slope >= 0).all()
    bound = universal_bound(inst, slope, x, draw(4).reshape(2, 2))
    assert f(other) <= f(x) + bound + 1e-9
