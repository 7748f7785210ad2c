"""The loss of a share beside the best one, and its inverse, against 60 digits."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from fairopt.certificates.losses import ends, loss, loss_above


def exact_loss(z: float, alpha: float) -> Decimal:
    with localcontext() as context:
        context.prec = 60
        log_t, power = Decimal(float(z)), Decimal(alpha)
        if alpha == 1:
            return log_t.exp() - 1 - log_t
        return log_t.exp() - 1 - (((1 - power) * log_t).exp() - 1) / (1 - power)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 10.0, 100.0])
def test_the_loss_is_bounded_above_on_both_sides(alpha: float) -> None:
    z = 10.0 ** np.linspace(-15, 0.3, 60)
    upper = loss_above(z, alpha)
    for one, most in zip(z, upper, strict=True):
        truth = max(exact_loss(one, alpha), exact_loss(-one, alpha))
        assert truth <= Decimal(float(most)) <= truth * Decimal("1.1") * 2
    far = z[z > 1e-4]
    for one in (*far, *-far):
        computed = float(loss(np.array([one]), alpha)[0])
        assert computed == pytest.approx(float(exact_loss(one, alpha)), rel=1e-6)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 10.0, 100.0])
def test_ends_are_outside_and_close(alpha: float) -> None:
    """At an end the exact loss is at least eps, a fiftieth nearer it is less; none is open that
    need not be."""
    eps = 10.0 ** np.linspace(-25, 2, 80)
    with np.errstate(all="ignore"):
        below, above = ends(eps, alpha)
    for side, sign in ((below, -1), (above, 1)):
        for one, wanted in zip(side, eps, strict=True):
            if np.isinf(one):  # the loss of having less is bounded for alpha < 1
                assert sign < 0 and alpha < 1 and wanted >= alpha / (1 - alpha) * (1 - 1e-9)
                continue
            assert exact_loss(sign * one, alpha) >= Decimal(float(wanted)) * Decimal("0.99999")
            assert exact_loss(sign * one * 0.97, alpha) < Decimal(float(wanted))
