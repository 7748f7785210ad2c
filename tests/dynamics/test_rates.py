"""Rates of many states at once are those of certified answers, state by state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairopt as fo
from fairopt.dynamics import class_rates
from fairopt.dynamics.rates import NAMED, batched, notion_of
from fairopt.instance import Floats

PAPER = np.array([[0.1, 1.0], [1.0, 0.1], [1.0, 1.0]])


def drawn(seed: int, resources: int) -> tuple[Floats, Floats]:
    """Requirements with zeros, and states with classes that are not there."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(1, 5))
    part = rng.uniform(0.05, 1, (classes, resources)) * (rng.random((classes, resources)) > 0.3)
    part[~(part > 0).any(axis=1), 0] = 0.5
    return part, rng.integers(0, 8, (5, classes)).astype(np.float64)


def certified(part: Floats, state: Floats, notion: fo.ProportionalFair) -> Floats:
    """Rates of a state by `solve`: a user of weight n_k for every class that is there."""
    there = state > 0
    rates = np.zeros(len(state))
    if there.any():
        inst = fo.Instance(part[there], np.ones((1, part.shape[1])), weight=state[there])
        rates[there] = fo.solve(inst, notion).totals
    return rates


@pytest.mark.parametrize("resources", [1, 2, 3, 4])
@pytest.mark.parametrize("name", NAMED)
def test_rates_are_the_certified_ones(name, resources):
    # 13 seeds of 5 states: 65 states for each number of resources and notion
    for seed in range(13):
        part, states = drawn(100 * resources + seed, resources)
        found = class_rates(part, states, name)
        for state, rates in zip(states, found, strict=True):
            np.testing.assert_allclose(rates, certified(part, state, NAMED[name]), rtol=1e-7)


@pytest.mark.parametrize("name", NAMED)
def test_a_block_is_as_its_states(name):
    states = np.indices((5, 5, 5)).reshape(3, -1).T
    whole = class_rates(PAPER, states, name)
    alone = np.vstack([class_rates(PAPER, state[None], name) for state in states])
    np.testing.assert_allclose(whole, alone, rtol=1e-12)
    assert ((whole @ PAPER).max(axis=1)[1:] > 1 - 1e-9).all()  # Pareto: something is full
    assert (whole @ PAPER).max() <= 1 + 1e-9
    assert (whole[states == 0] == 0).all()


@given(st.integers(0, 10_000), st.sampled_from(sorted(NAMED)), st.integers(2, 5))
def test_rates_depend_on_proportions_alone(seed, name, factor):
    part, states = drawn(seed, 2)
    np.testing.assert_allclose(
        class_rates(part, states, name), class_rates(part, factor * states, name), rtol=1e-9
    )


def test_any_other_notion_is_solved_once_for_each_proportion(monkeypatch):
    from fairopt import solving

    asked = []
    solve = solving.solve
    monkeypatch.setattr(solving, "solve", lambda *a, **k: asked.append(a) or solve(*a, **k))
    states = np.array([[1, 1, 0], [2, 2, 0], [0, 0, 3], [0, 0, 0]])
    found = class_rates(PAPER, states, fo.MaxMin("tasks"))
    assert len(asked) == 2
    np.testing.assert_allclose(found[0], found[1])
    np.testing.assert_allclose(found[2:], [[0, 0, 1], [0, 0, 0]], atol=1e-9)


def test_weights_of_any_notion_stand_for_copies():
    """alpha = 2: n_k copies are one user of weight n_k^2, and not of weight n_k."""
    rates = class_rates(np.array([[1.0], [1.0]]), np.array([[3, 1]]), fo.AlphaFair(2.0))
    np.testing.assert_allclose(rates, [[0.75, 0.25]], rtol=1e-6)


def test_the_general_way_agrees_with_the_short_ones():
    states = np.array([[1, 2, 3], [0, 2, 1], [4, 0, 0]])
    for notion in NAMED.values():
        from fairopt.dynamics.rates import solved

        batch = batched(PAPER, notion)
        assert batch is not None
        general = solved(PAPER, states.astype(float), notion)
        np.testing.assert_allclose(batch(PAPER, states.astype(float))[0], general, atol=1e-7)


def test_names():
    assert notion_of("drf") == fo.MaxMin("drf")
    with pytest.raises(fo.BadInput, match="drf, pf, bmf"):
        notion_of("ps")
