"""The compiled descent of the trade-off's small method ends where its text does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairopt as fo
from fairopt import criteria, fast
from fairopt.formulas.penalties import Terms
from fairopt.instance.generate import random_instance
from fairopt.solving.engines.penalties import absolute

pytestmark = pytest.mark.skipif(not fast.available(), reason="numba is not installed")


def ends(monkeypatch, inst, terms):
    """The points without and with the loop, and the names of the loops that ran with it."""
    score, found, ran = criteria.score(inst, "dominant-share"), [], set()
    for choice in "01":
        monkeypatch.setenv(fast.CHOICE, choice)
        with fast.noted() as names:
            found.append(absolute.follow(inst, score, terms))
        ran |= names
    return score, found, ran


@pytest.mark.parametrize("alpha", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("weights", [(0, 0), (3, 0), (0, 3), (100, 1000), (1e9, 1e9)])
def test_it_ends_where_the_text_does(monkeypatch, alpha, weights):
    for seed in range(4):
        inst = random_instance(4, 2, 2, density=0.7, seed=seed, limits=0.3, weight_decades=1)
        terms = replace(Terms.of(fo.Tradeoff(*map(float, weights)).plain()), alpha=alpha)
        score, (text, loop), names = ends(monkeypatch, inst, terms)
        assert names == {"whole_descent"}
        share = [np.bincount(inst.pairs[0], p.x * score[inst.pairs], 4) for p in (text, loop)]
        np.testing.assert_allclose(*share, rtol=1e-8)


def test_hard_forms_too_and_what_is_large_is_left_to_the_text(monkeypatch):
    inst = random_instance(3, 2, 2, density=1.0, seed=1)
    across = Terms.of(fo.Tradeoff(0.0, 5.0, equal_across=True).plain())
    score, (text, loop), names = ends(monkeypatch, inst, across)
    assert names == {"whole_descent"}
    share = [np.bincount(inst.pairs[0], p.x * score[inst.pairs], 3) for p in (text, loop)]
    np.testing.assert_allclose(*share, rtol=1e-8)
    within = Terms.of(fo.Tradeoff(5.0, 0.0, equal_within=True).plain())
    assert not ends(monkeypatch, inst, within)[2]
    large = random_instance(20, 5, 2, density=1.0, seed=1)
    assert not ends(monkeypatch, large, Terms.of(fo.Tradeoff(1.0, 1.0).plain()))[2]
