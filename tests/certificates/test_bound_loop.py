"""What the compiled bound proves is what the text proves, of right points and of wrong ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt import fast
from fairopt.certificates import bound_loop, near_loop, search
from fairopt.certificates.asking import asked
from fairopt.certificates.bound import bound
from fairopt.certificates.given import read
from fairopt.certificates.places import sums
from fairopt.formulas import doubles_loop
from fairopt.instance.generate import random_instance

pytestmark = pytest.mark.skipif(not fast.available(), reason="numba is not installed")

NOTIONS = [fo.AlphaFair(0.5), fo.ProportionalFair("drf"), fo.AlphaFair(3.0, "dominant-share")]
PENALISED = [fo.Tradeoff(1.0, 0.0), fo.Tradeoff(0.0, 30.0), fo.Tradeoff(100.0, 1000.0)]


def places(monkeypatch, notion, seed):
    """A question, and the place to which the first steps lead from its answer."""
    monkeypatch.setenv(fast.CHOICE, "1")
    limits = 0.5 if notion is NOTIONS[2] else 0.0
    inst = random_instance(7, 3, 2, density=1.0, seed=seed, weight_decades=2, limits=limits)
    answer = fo.solve(inst, notion)
    question = asked(answer)
    with np.errstate(all="ignore"):
        point = near_loop.near(question, read(answer, question), 1.0)
    return question, None if point is None else point.place


def text(question, place):
    with np.errstate(all="ignore"):
        fitting, fits = search._within(question, place, sums(question, place))
        return bound(question, fits, fitting)


@pytest.mark.parametrize("notion", [*NOTIONS, *PENALISED], ids=str)
def test_it_proves_what_the_text_does(monkeypatch, notion):
    told = 0
    for seed in range(6):
        question, place = places(monkeypatch, notion, seed)
        if place is None or question.bounded:
            continue
        found = bound_loop.proved(question, place)
        if found is None:
            continue
        told += 1
        proved, eps = text(question, place)
        np.testing.assert_allclose(found[0].log_share, proved.log_share, rtol=0, atol=1e-13)
        for one, other in ((found[0].below, proved.below), (found[0].above, proved.above)):
            np.testing.assert_allclose(one, other, rtol=0.02, atol=1e-12)  # its sums are wider
        assert found[2] == pytest.approx(eps, rel=0.02, abs=1e-26)
    assert told >= 3


@pytest.mark.parametrize("notion", [NOTIONS[1], PENALISED[2]], ids=str)
def test_of_a_wrong_point_it_proves_no_more_than_the_text(monkeypatch, notion):
    """Tasks, prices or values that are off, and rows overrun: wider ends, or none."""
    for seed in range(4):
        question, place = places(monkeypatch, notion, seed)
        if place is None:
            continue
        best = text(question, place)[0].log_share
        for name in ("amount", "price", "value"):
            for factor in (1 - 1e-3, 1 - 1e-9, 1 + 1e-9, 1 + 1e-3):
                wrong = replace(place, **{name: getattr(place, name) * factor})
                found, (proved, _) = bound_loop.proved(question, wrong), text(question, wrong)
                if found is None:
                    continue
                for one, other in ((found[0].below, proved.below), (found[0].above, proved.above)):
                    assert (one >= other * (1 - 1e-6) - 1e-12).all()
                # and what it proves holds the optimum
                assert (best >= found[0].log_share - found[0].below - 1e-12).all()
                assert (best <= found[0].log_share + found[0].above + 1e-12).all()


def test_an_overrun_row_proves_nothing(monkeypatch):
    question, place = places(monkeypatch, NOTIONS[1], 0)
    assert bound_loop.proved(question, place) is not None
    assert bound_loop.proved(question, replace(place, amount=place.amount * (1 + 1e-9))) is None
    assert bound_loop.proved(question, replace(place, price=-place.price)) is None
    assert bound_loop.proved(question, replace(place, value=place.value * np.nan)) is None


def test_it_leaves_hard_forms_to_the_text(monkeypatch):
    question, place = places(monkeypatch, fo.Tradeoff(1.0, equal_across=True), 0)
    assert place is None or bound_loop.proved(question, place) is None


def _summed(a, b):
    high, middle, low = 0.0, 0.0, 0.0
    for k in range(len(a)):
        high, middle, low = doubles_loop.added(high, middle, low, a[k], b[k])
    return high + (middle + low)


def test_compiled_sums_of_products_are_as_near_as_is_said():
    """Terms that cancel to a part in 1e32 of their size: nothing is fused or reordered."""
    rng = np.random.default_rng(0)
    added = fast.loop(_summed)
    for _ in range(50):
        a, b = rng.normal(size=(2, 41)) * 10.0 ** rng.integers(-6, 6, (2, 41))
        for _ in range(3):  # what is left, and what is left of that
            left = sum(Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True))
            a, b = np.append(a, -float(left)), np.append(b, 1.0)
        left = sum(Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True))
        size = sum(abs(Fraction(x) * Fraction(y)) for x, y in zip(a, b, strict=True))
        wrong = abs(Fraction(float(added(a, b))) - left)
        terms = len(a) + bound_loop.MORE
        assert wrong <= Fraction(bound_loop.LAST) * Fraction(terms) * size + abs(left) / 2**52
