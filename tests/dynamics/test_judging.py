"""The judge of rates: fair ones pass, spoiled ones are seen, on both sides of the tolerance."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.dynamics import class_rates, rates
from fairopt.dynamics.rates import NAMED, batched
from fairopt.instance import Floats

TWO = np.array([[0.1, 1.0], [1.0, 0.1], [1.0, 1.0], [0.0, 0.7]])
THREE = np.array([[0.1, 1.0, 0.4], [1.0, 0.1, 0.0], [0.6, 1.0, 0.9], [0.0, 0.0, 0.7]])
STATES = np.indices((3, 4, 3, 3)).reshape(4, -1).T.astype(np.float64)[1:]


def off(part: Floats, name: str, factor: Floats | float = 1.0) -> Floats:
    """(S,) the judge's residual of rates times a factor."""
    batch = batched(part, NAMED[name])
    assert batch is not None
    found, price = batch(part, STATES)
    return rates._off(part, STATES, found * factor, price, NAMED[name])


@pytest.mark.parametrize("part", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", NAMED)
def test_both_sides_of_the_tolerance(name, part):
    assert off(part, name).max() < 1e-9
    for size in (-1.0, 1.0):
        # everybody gets more, or less: every state is seen, neither more nor less than it is
        found = off(part, name, 1 + size * 2e-6)
        assert (found > rates.TOLERANCE).all()
        assert (off(part, name, 1 + size * 0.5e-6) < rates.TOLERANCE).all()


@pytest.mark.parametrize("part", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("name", NAMED)
def test_one_class_with_too_little_is_seen(name, part):
    for k in range(4):
        factor = np.ones(4)
        factor[k] = 0.99
        there = STATES[:, k] > 0
        assert (off(part, name, factor)[there] > 1e-3).all()


@pytest.mark.parametrize("judged, found", [("drf", "pf"), ("pf", "bmf"), ("bmf", "drf")])
def test_fair_by_another_notion_is_not_enough(judged, found):
    wrong, _ = batched(TWO, NAMED[found])(TWO, STATES)
    _, price = batched(TWO, NAMED[judged])(TWO, STATES)
    assert rates._off(TWO, STATES, wrong, price, NAMED[judged]).max() > 1e-2


def test_forged_prices_prove_nothing():
    found, price = batched(TWO, NAMED["pf"])(TWO, STATES)
    crowded = (STATES > 0).all(axis=1)
    endless = np.full_like(price, np.inf)
    for forged in (0.0 * price, -price, 1.01 * price, price + [[0.01, 0.0]], endless):
        with np.errstate(invalid="ignore"):
            seen = rates.priced(TWO, STATES, found, forged)[crowded]
        assert not (seen <= 1e-4).any()


def test_a_light_class_is_not_lost_in_a_crowd():
    state = np.array([[1.0, 0.0, 1e6, 0.0]])
    for name, notion in NAMED.items():
        found, price = batched(TWO, notion)(TWO, state)
        assert rates._off(TWO, state, found, price, notion).max() < 1e-7, name
        found[0, 0] *= 0.5
        assert rates._off(TWO, state, found, price, notion).max() > 0.1, name


def test_a_refused_state_is_named(monkeypatch):
    wrong = lambda part, number: (0.9 * rates.drf(part, number)[0], None)  # noqa: E731
    monkeypatch.setattr(rates, "batched", lambda part, notion: wrong)
    with pytest.raises(fo.SolverFailure, match=r"rates of state \(0, 2, 1, 0\) are off by 0.1"):
        class_rates(TWO, [[0, 2, 1, 0]], "drf")


def test_what_is_no_number_is_refused(monkeypatch):
    nothing = lambda part, number: (np.full_like(number, np.nan), None)  # noqa: E731
    monkeypatch.setattr(rates, "batched", lambda part, notion: nothing)
    with pytest.raises(fo.SolverFailure, match="off by nan"):
        class_rates(TWO, [[1, 2, 1, 0]], "drf")
