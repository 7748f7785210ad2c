"""The statements of random demand: that their checks are sharp."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.propositions import find
from fairopt.propositions.bonald2015 import dynamics as dynamics


def test_a_wrong_order_is_found():
    inst = dynamics.scenario("unbalanced")(np.random.default_rng(0))
    assert dynamics.Ordered(1, ("drf", "bmf", "pf"))(inst, 0).holds
    assert not dynamics.Ordered(1, ("drf", "pf", "bmf"))(inst, 0).holds


def test_requirements_and_loads_of_an_instance():
    inst = dynamics.AtLoad(((0.1, 1.0), (1.0, 0.5)), (3.0, 1.0), 0.5, 0.5)(np.random.default_rng(0))
    requirements, rho = dynamics.classes(inst)
    np.testing.assert_allclose(requirements, [[0.1, 1.0], [1.0, 0.5]])
    np.testing.assert_allclose(rho, np.array([3.0, 1.0]) * 0.5 / 3.5)


def test_the_largest_gain_is_reached():
    inst = fo.Instance(np.array([[1.0, 0.5]]) * (2 - np.sqrt(3)), [[1.0, 1.0]])
    found = find("bonald2015/lie-short").check(inst, 0)
    assert found.holds
    assert found.margin == pytest.approx(1e-6, abs=1e-7)  # no room but the tolerance


def test_what_a_long_liar_loses():
    inst = fo.Instance(np.array([[1.0, 0.5]]) * 0.5, [[1.0, 1.0]])
    found = find("bonald2015/lie-long").check(inst, 0)
    assert found.margin == pytest.approx(1 / 6, abs=1e-6)


def test_drf_is_moved_more(monkeypatch):
    """The check sees the law of the work where it matters: under DRF it moves rates by 1%."""
    statement = find("bonald2015/nearly-insensitive")
    requirements = dynamics.scenario("balanced").requirements
    inst = dynamics.AtLoad(requirements, (1.0, 1.0, 1.0), 0.5, 0.5)(np.random.default_rng(0))
    seeds = (1, 4, 5)
    assert min(statement.check(inst, seed).margin for seed in seeds) > 0.0195
    whole = dynamics.service_rates
    monkeypatch.setattr(
        dynamics,
        "service_rates",
        lambda part, loads, rule, *rest, **named: whole(part, loads, "drf", *rest, **named),
    )
    assert min(statement.check(inst, seed).margin for seed in seeds) < 0.015
