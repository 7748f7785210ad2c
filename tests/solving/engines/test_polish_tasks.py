"""Newton on the active set: from a rough point to rounding, from a wrong one to nothing false."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.instance.generate import random_instance
from fairopt.solving.engines.path import plain
from fairopt.solving.engines.point import Point
from fairopt.solving.engines.polish.tasks import polish
from tests.engine_cases import ONE_RESOURCE, TWO_SERVERS, judged, question


def test_one_resource_to_rounding() -> None:
    rough = Point(np.array([3.0, 4.5]), np.array([[2.5]]), np.zeros(2))
    found = polish(question(ONE_RESOURCE, 1.0), rough)
    assert found is not None
    np.testing.assert_allclose(found.x, [4.0, 4.0], rtol=1e-12)
    np.testing.assert_allclose(found.rows, [[3.0]], rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 50.0])
def test_a_spoiled_answer_is_mended(alpha: float) -> None:
    alloc = fo.solve(TWO_SERVERS, fo.AlphaFair(alpha))
    rng = np.random.default_rng(1)
    asked = question(TWO_SERVERS, alpha)
    x = alloc.tasks[TWO_SERVERS.pairs]
    bad = Point(
        x * rng.uniform(0.99, 1.01, x.shape),
        alloc.prices * TWO_SERVERS.pool * rng.uniform(0.99, 1.01, alloc.prices.shape),
        alloc.limit_prices * np.where(np.isfinite(TWO_SERVERS.limit), TWO_SERVERS.limit, 0.0),
    )
    assert not judged(asked, bad).certified
    found = polish(asked, bad)
    assert found is not None
    certificate = judged(asked, found)
    assert certificate.certified and max(certificate.gap, certificate.residual) < 1e-10


def test_the_active_set_is_mended() -> None:
    """The limit is not known to bind, and the money stands on the wrong resource."""
    inst = fo.Instance([[1.0, 1.0], [1.0, 3.0]], [[10.0, 12.0]], limit=[1.0, np.inf])
    asked = question(inst, 1.0)
    found = polish(asked, Point(np.array([0.9, 3.0]), np.array([[1.0, 1.0]]), np.array([0.1, 0.0])))
    assert found is not None and judged(asked, found).certified
    np.testing.assert_allclose(found.tasks(inst).sum(axis=1), [1.0, 11 / 3], rtol=1e-9)


def test_a_point_of_nothing_ends_without_error() -> None:
    for fill in (0.0, 1e-300, 1e300):
        point = Point(np.full(4, fill), np.full((2, 2), fill), np.zeros(3))
        found = polish(question(TWO_SERVERS, 1.0), point)
        if found is not None:
            assert np.isfinite(found.tasks(TWO_SERVERS)).all()


def test_ties_that_are_not_told_yet_are_not_factored(monkeypatch) -> None:
    """Every pair held, and far fewer full rows than ties: least-norm factors would fill."""
    inst = random_instance(120, 10, 2, seed=1)
    asked = question(inst, 1.0)
    n, i = inst.pairs
    rough = Point(inst.alone[n, i] / 120, np.ones((10, 2)), np.zeros(120))

    def never(*_: object) -> None:
        raise AssertionError("factored")

    monkeypatch.setattr("fairopt.solving.engines.polish.tasks._counted", never)
    assert polish(asked, rough) is None


def test_an_active_set_that_takes_much_work_is_given_up(monkeypatch) -> None:
    """A wrong active set of many rows would take hundreds of factorisations, each of seconds."""
    inst = random_instance(400, 40, 3, density=0.05, seed=2)
    asked = question(inst, 1.0)
    near = plain.follow(asked)
    assert near is not None
    found = polish(asked, near)
    assert found is not None and judged(asked, found).certified
    monkeypatch.setattr("fairopt.solving.engines.polish.tasks.WORK", 0)
    far = Point(near.x * np.linspace(0.5, 1.5, len(near.x)), near.rows, near.limits)
    assert polish(asked, far) is None
