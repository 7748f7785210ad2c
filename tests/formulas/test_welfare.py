"""Alpha-fair welfare in logarithms: by hand, and where floating point would end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairopt.formulas import welfare

ZERO = np.zeros(2)


def test_alpha_of():
    assert welfare.alpha_of({"name": "throughput"}) == 0
    assert welfare.alpha_of({"name": "proportional"}) == 1
    assert welfare.alpha_of({"name": "alpha-fair", "parameters": {"alpha": 2}}) == 2
    assert welfare.alpha_of({"name": "bmf", "parameters": {}}) is None


def test_log_sum_exp():
    assert welfare.log_sum_exp(np.log([1.0, 2, 3])) == pytest.approx(np.log(6))
    assert welfare.log_sum_exp(np.array([1e5, 1e5])) == pytest.approx(1e5 + np.log(2))
    assert welfare.log_sum_exp(np.array([-1e5, -1e5])) == pytest.approx(-1e5 + np.log(2))
    assert welfare.log_sum_exp(np.array([-np.inf, -np.inf])) == -np.inf
    assert welfare.log_sum_exp(np.array([-np.inf, 3.0])) == 3
    assert welfare.log_sum_exp(np.array([np.inf, 3.0])) == np.inf


def test_the_weight_outside_and_inside():
    weight = np.array([2.0, 3.0])
    assert np.exp(welfare.log_weight(weight, 3, False)) == pytest.approx([2, 3])
    assert np.exp(welfare.log_weight(weight, 3, True)) == pytest.approx([8, 27])
    # phi g(s / phi) = phi^alpha g(s)
    s = np.array([5.0, 7.0])
    inside = np.sum(weight * (s / weight) ** -2 / -2)
    assert welfare.objective(welfare.log_weight(weight, 3, True), s, 3) == pytest.approx(inside)


@pytest.mark.parametrize(
    ("alpha", "mean"),
    [(0, 2.5), (0.5, 2.25), (1, 2.0), (2, 1.6)],
    ids=["arithmetic", "half", "geometric", "harmonic"],
)
def test_the_equivalent_is_a_mean(alpha, mean):
    assert welfare.equivalent(ZERO, np.array([1.0, 4.0]), alpha) == pytest.approx(mean)


@pytest.mark.parametrize(("alpha", "value"), [(0, 5), (0.5, 6), (1, np.log(4)), (2, -1.25)])
def test_the_objective_by_hand(alpha, value):
    assert welfare.objective(ZERO, np.array([1.0, 4.0]), alpha) == pytest.approx(value)


@pytest.mark.parametrize("share", [1e-300, 2900.0, 1e300])
@pytest.mark.parametrize("alpha", [0, 0.99, 1, 1.01, 50, 100])
def test_equal_shares_are_their_equivalent(alpha, share):
    log_w = np.log([1e-12, 1e12])
    shares = np.array([share, share])
    assert welfare.equivalent(log_w, shares, alpha) == pytest.approx(share, rel=1e-12)
    assert not np.isnan(welfare.objective(log_w, shares, alpha))


def test_the_objective_may_end_where_the_equivalent_does_not():
    shares = np.array([2900.0, 3000.0])
    assert welfare.objective(ZERO, shares, 100) == 0
    assert welfare.equivalent(ZERO, shares, 100) == pytest.approx(2900 * 2 ** (1 / 99), rel=1e-3)
    assert welfare.objective(ZERO, shares / 1e7, 100) == -np.inf


def test_somebody_with_nothing():
    shares = np.array([0.0, 4.0])
    assert welfare.equivalent(ZERO, shares, 0) == 2
    assert welfare.equivalent(ZERO, shares, 0.5) == pytest.approx(1)
    for alpha in (1, 2, 100):
        assert welfare.equivalent(ZERO, shares, alpha) == 0
        assert welfare.objective(ZERO, shares, alpha) == -np.inf
    assert welfare.objective(ZERO, np.zeros(2), 0.5) == 0


@given(
    st.lists(st.floats(1e-6, 1e6), min_size=3, max_size=3),
    st.lists(st.floats(1e-6, 1e6), min_size=3, max_size=3),
    st.sampled_from([0.0, 0.1, 0.99, 1.0, 1.01, 2.0, 10.0, 100.0]),
)
def test_a_mean_lies_between_scales_and_falls_with_alpha(weight, share, alpha):
    log_w, s = np.log(weight), np.array(share)
    e = welfare.equivalent(log_w, s, alpha)
    assert s.min() * (1 - 1e-9) <= e <= s.max() * (1 + 1e-9)
    assert welfare.equivalent(log_w, 7 * s, alpha) == pytest.approx(7 * e, rel=1e-9)
    assert welfare.equivalent(log_w + 5, s, alpha) == pytest.approx(e, rel=1e-9)
    assert welfare.equivalent(log_w, s, alpha + 1) <= e * (1 + 1e-9)
