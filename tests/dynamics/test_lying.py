"""Lies under random demand: closed forms and the chain agree; the best lie is found."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.dynamics.lying import Lie, Others

OTHER = [[1.0, 0.5]]
TRUE, CLAIMED = (0.0, 1.0), (2 / 3, 1.0)


def figure_3(p: float) -> Lie:
    """Closed forms of Figure 3: a user (0, 1) claims (2/3, 1) beside a class (1, 1/2) of load p.

    Under proportional fairness; 0 < p < 1.
    """
    return Lie(
        (2 / 3, 1.0),
        1 / (1 + p),
        (1 - p) / (1 - 2 * p / 3 + p * p / 3),
        1 - p / 2,
        (1 - p) * (1 + p / 2),
    )


@pytest.mark.parametrize("p", [0.1, 0.2679491924311227, 0.5, 0.8])
def test_both_ways_agree(p):
    chain = Others(OTHER, [p], "pf", edge=1e-15).lie(TRUE, CLAIMED)
    closed = figure_3(p)
    for name in ("short_true", "short_lie", "long_true", "long_lie"):
        assert getattr(chain, name) == pytest.approx(getattr(closed, name), rel=1e-11), name


def test_the_largest_gain_and_where_it_ends():
    grid = np.linspace(0.01, 0.99, 99)
    best = max(grid, key=lambda p: figure_3(float(p)).short_gain)
    assert best == pytest.approx(2 - np.sqrt(3), abs=0.006)
    assert figure_3(2 - np.sqrt(3)).short_gain == pytest.approx(0.098076, abs=1e-6)
    assert figure_3(0.5).short_gain == pytest.approx(0.0, abs=1e-12)
    assert figure_3(0.49).short_gain > 0 > figure_3(0.51).short_gain
    assert max(figure_3(float(p)).long_gain for p in grid) < 0


def test_the_best_lie_is_at_least_that_of_the_figure():
    others = Others(OTHER, [0.25], "pf", edge=1e-9)
    best = others.best_lie(TRUE)
    given = others.lie(TRUE, CLAIMED)
    assert best.short_gain >= given.short_gain > 0.09
    # a search by hand finds nothing better
    for more in np.linspace(0.0, 3.0, 31):
        assert others.short(np.array(TRUE), np.array([more, 1.0])) <= best.short_lie * (1 + 1e-6)


def test_units_of_a_claim_do_not_matter():
    others = Others(OTHER, [0.25], "pf")
    one = others.lie(TRUE, CLAIMED)
    other = others.lie(TRUE, (2.0, 3.0))
    assert other.short_lie == pytest.approx(one.short_lie, rel=1e-9)
    assert other.long_lie == pytest.approx(one.long_lie, rel=1e-9)


def test_under_drf_a_lie_gains_nothing_when_demand_is_positive():
    others = Others([[1.0, 0.5], [0.4, 1.0]], [0.2, 0.2], "drf")
    assert others.best_lie((0.5, 1.0)).short_gain <= 1e-9


def test_mixed_demand():
    """The paper: gains are small in mixed demand (its largest in Figure 3 is 9.8%)."""
    mixed = Others([[0.1, 1.0], [1.0, 0.1], [1.0, 1.0]], np.full(3, 0.5 / 2.1), "pf", edge=1e-6)
    gain = mixed.best_lie((0.1, 1.0)).short_gain
    assert 0 <= gain < 0.1


def test_a_user_that_cannot_be():
    others = Others(OTHER, [0.25], "pf", edge=1e-4)
    for true, claimed in (
        ((0.0, 0.0), CLAIMED),
        (TRUE, (1.0,)),
        (TRUE, (1.0, 0.0)),
        ((-1.0, 1.0), CLAIMED),
    ):
        with pytest.raises(fo.BadInput):
            others.lie(true, claimed)


def test_plain_data():
    plain = figure_3(0.25).plain()
    assert set(plain) == {
        "claimed",
        "short_true",
        "short_lie",
        "short_gain",
        "long_true",
        "long_lie",
        "long_gain",
    }
