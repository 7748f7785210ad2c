"""Alpha-fair rates of many states at once, against certified answers and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.cli import run as command
from fairopt.dynamics import service_rates
from fairopt.dynamics.rate_formulas import pf_two
from fairopt.dynamics.rates import Alpha, class_rates, off, solved

ALPHAS = (0.1, 0.5, 1.0, 3.0, 20.0)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("resources", [1, 2])
def test_as_certified_answers(alpha, resources):
    rng = np.random.default_rng(int(10 * alpha))
    for _ in range(3):
        part = rng.uniform(0.05, 1, (3, resources)) * (rng.random((3, resources)) > 0.2)
        part[part.sum(axis=1) == 0] = 0.5
        states = rng.integers(0, 6, (4, 3))
        found = class_rates(part, states, fo.AlphaFair(alpha))
        exact = solved(part, states.astype(float), fo.AlphaFair(alpha))
        assert found == pytest.approx(exact, abs=1e-7)


def test_alpha_1_is_proportional():
    rng = np.random.default_rng(0)
    part, number = rng.uniform(0, 1, (4, 2)), rng.integers(0, 50, (200, 4)).astype(float)
    assert Alpha(1.0)(part, number)[0] == pytest.approx(pf_two(part, number)[0], abs=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_resource_by_hand(alpha):
    """Rates go as a^(-1/alpha): (1, 1/4) at alpha = 1/2 as 1 to 16."""
    part, number = np.array([[1.0], [0.25]]), np.array([[1.0, 1.0]])
    one = part[:, 0] ** (-1 / alpha)
    assert Alpha(alpha)(part, number)[0][0] == pytest.approx(one / (part[:, 0] @ one))


def test_the_judge_refuses_other_rates():
    part, number = np.array([[0.5, 1.0], [1.0, 0.5]]), np.array([[1.0, 3.0]])
    rates, prices = Alpha(2.0)(part, number)
    assert off(part, number, rates, prices, 2.0) == pytest.approx([0], abs=1e-12)
    assert off(part, number, rates * [1.01, 1], prices, 2.0)[0] > 1e-3
    assert off(part, number, rates, prices * 1.1, 2.0)[0] > 1e-3
    assert off(part, number, 0.9 * rates, prices, 2.0)[0] > 1e-3
    assert off(part, number, rates, prices, 3.0)[0] > 1e-3


def test_one_class_alone_is_insensitive_to_alpha():
    for alpha in ALPHAS:
        found = service_rates([[1.0, 0.5]], [0.4], fo.AlphaFair(alpha))
        assert found.rates == pytest.approx([0.6], abs=1e-6)
        assert found.stable == "proved"


def test_the_command(capsys):
    asked = ["simulate", "markov", "bonald2015/scenario-balanced", "--load", "0.2"]
    assert command([*asked, "--rule", "alpha=1", "--rule", "pf"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if " 0." in line]
    assert rows[0][2:5] == rows[1][2:5]
    assert command([*asked, "--rule", "alpha=x"]) == 2
    assert "wanted alpha= and a number" in capsys.readouterr().err
    assert command([*asked, "--rule", "alpha=-1"]) == 2
    capsys.readouterr()
