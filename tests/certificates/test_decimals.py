"""Powers and weights in decimals, beside fractions."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.asking import asked
from fairopt.certificates.decimals import _power, _weights, exactly
from fairopt.certificates.given import given
from fairopt.certificates.search import search


@pytest.mark.parametrize("alpha", [-3.5, -2.0, -0.5, 0.0, 0.5, 1.0, 2.5, 7.0, 0.3, -0.7])
@pytest.mark.parametrize("t", [0.3, 7.0, 1e-200])
def test_a_power_is_right_to_all_digits(alpha: float, t: float) -> None:
    """Its twentieth power where alpha is a multiple of a twentieth, its square else."""
    with localcontext() as context:
        context.prec = 80
        times = round(20 * alpha)
        found = _power(Decimal(t), Decimal(times) / 20)
        back = Fraction(found) ** 20
    true = Fraction(t) ** times
    assert abs(back / true - 1) < Fraction(1, 10**70)


@pytest.mark.parametrize("alpha", [0.3, 0.5, 1.0, 2.0, 7.25])
@pytest.mark.parametrize("inside", [False, True])
def test_weights_count_their_unit_with_all_digits_of_alpha(alpha: float, inside: bool) -> None:
    inst = fo.Instance(
        [[1.0, 2.0], [3.0, 1.0], [0.1, 0.1]], [[4.0, 7.0], [1.0, 2.0]], weight=[1.0, 1e-9, 3e7]
    )
    question = asked(fo.solve(inst, fo.AlphaFair(alpha, weight_inside=inside)))
    assert question.inside == inside
    with localcontext() as context:
        context.prec = 60
        for weight, unit, found in zip(
            question.weight.tolist(),
            question.share_unit.tolist(),
            _weights(question, 60, 0.25),
            strict=True,
        ):
            a = Decimal(alpha)
            log = (a if inside else 1) * Decimal(weight).ln() + (1 - a) * Decimal(unit).ln()
            assert abs(found.ln() - (log - Decimal("0.25"))) < Decimal("1e-54")


def test_the_distance_from_what_is_best_at_a_price_is_that_of_logarithms() -> None:
    inst = fo.Instance([[1.0, 2.0], [3.0, 1.0]], [[4.0, 7.0]], weight=[1.0, 5.0])
    alloc = fo.solve(inst, fo.AlphaFair(2.0))
    question = asked(alloc)
    place = search(question, given(alloc, question)).at()
    assert place is not None
    value = place.value * 1.5
    far = exactly(question, place.columns, place.amount, value, place.log_unit)
    share = np.bincount(question.columns.owner(place.columns), place.amount[0], 2)
    log_best = (question.log_w - place.log_unit - np.log(value[0])) / 2
    np.testing.assert_allclose(far, np.log(share) - log_best, rtol=1e-12)
    np.testing.assert_allclose(far, math.log(1.5) / 2, rtol=1e-12)
