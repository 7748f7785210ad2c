"""Many users in prices alone: the same answers as the interior method, certified."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.allocation import Allocation
from fairopt.certificates import told
from fairopt.certificates.proof import measure
from fairopt.instance import Floats
from fairopt.solving.best import normalised
from fairopt.solving.engines.compact import small as compact
from fairopt.solving.engines.path import plain
from fairopt.solving.engines.point import AlphaQuestion, Point
from fairopt.solving.engines.smoothed import newton


def cluster(users: int, density: float, seed: int = 2, servers: int = 5) -> fo.Instance:
    """Servers that are not alike, demand over some decades, everybody placed at random."""
    rng = np.random.default_rng(seed)
    capacity = rng.uniform(1, 10, (servers, 3)) * users
    demand = rng.lognormal(0, 1, (users, 3))
    placement = rng.random((users, servers)) < density
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    return fo.Instance(demand, capacity, placement)


def judged(question: AlphaQuestion, point: Point) -> tuple[Allocation, float]:
    """The answer, and the larger of gap and residual."""
    inst = question.instance
    p, mu = normalised(inst, *point.prices(inst))
    notion = fo.AlphaFair(question.alpha)
    found = Allocation(inst, notion, point.tasks(inst), p, mu, score=question.score)
    return found, max(measure(found))


def both(inst: fo.Instance, alpha: float, score: Floats | None = None) -> tuple[Floats, Floats]:
    """(N,) shares by prices alone and by the interior method, both proved."""
    score = np.ones(inst.shape[:2]) if score is None else score
    question = AlphaQuestion.of(inst, score, alpha, False)
    found = newton.follow(question)
    other = plain.follow(question)
    assert found is not None and other is not None
    one, error = judged(question, found.point)
    assert error < 1.1e-8, found.told  # of many users the judge is content with a bound of 1e-8
    two, error = judged(question, other)
    assert error < 1e-8
    return one.shares, two.shares


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("density", [0.2, 0.6, 1.0])
def test_it_agrees_with_the_interior_method(alpha: float, density: float) -> None:
    np.testing.assert_allclose(*both(cluster(500, density), alpha), rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_scores_may_depend_on_the_server(alpha: float) -> None:
    inst = cluster(400, 0.6)
    score = np.random.default_rng(0).lognormal(0, 0.5, inst.shape[:2])
    np.testing.assert_allclose(*both(inst, alpha, score), rtol=1e-8)


def test_zero_demands_weights_and_users_of_one_server() -> None:
    inst = cluster(400, 0.5)
    rng = np.random.default_rng(1)
    demand = inst.demand * (rng.random(inst.demand.shape) < 0.7)
    demand[:, 0] = np.maximum(demand[:, 0], 0.1)
    placement = inst.placement.copy()
    placement[:150] = np.eye(5, dtype=bool)[rng.integers(0, 5, 150)]
    weight = 10.0 ** rng.uniform(-2, 1, 400)
    inst = inst.replace(demand=demand, placement=placement, weight=weight)
    np.testing.assert_allclose(*both(inst, 1.0), rtol=1e-8)


def test_equal_servers_get_equal_prices() -> None:
    inst = cluster(600, 0.7)
    inst = inst.replace(capacity=np.tile(inst.capacity[:1], (5, 1)))
    question = AlphaQuestion.of(inst, np.ones(inst.shape[:2]), 1.0, False)
    found = newton.follow(question)
    assert found is not None and judged(question, found.point)[1] < 1e-9
    money = found.point.rows
    np.testing.assert_allclose(money, np.tile(money[:1], (5, 1)), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 5.0])
def test_limits_are_one_more_price_a_user(alpha: float) -> None:
    inst = cluster(300, 0.6)
    free = fo.solve(inst, fo.AlphaFair(alpha), reduce=False).totals
    rng = np.random.default_rng(3)
    limit = np.where(rng.random(300) < 0.5, free * rng.uniform(0.3, 1.5, 300), np.inf)
    one, two = both(inst.replace(limit=limit), alpha)
    np.testing.assert_allclose(one, two, rtol=1e-8)
    assert (one > limit * (1 - 1e-9)).sum() > 50


def test_limits_that_leave_room_everywhere() -> None:
    inst = cluster(300, 0.6)
    question = AlphaQuestion.of(
        inst.replace(limit=np.full(300, 1e-3)), np.ones((300, 5)), 1.0, False
    )
    found = newton.follow(question)
    assert found is not None
    alloc, error = judged(question, found.point)
    off = float(np.abs(np.log(alloc.totals / 1e-3)).max())
    assert off <= error + 1e-12 and error < 1e-6


def jobs(users: int, kinds: int, seed: int) -> tuple[fo.Instance, Floats]:
    """Jobs on kinds of machines: each at most all the time, throughput by kind."""
    rng = np.random.default_rng(seed)
    inst = fo.Instance(
        rng.choice([1.0, 2.0, 4.0], (users, 1)),
        rng.uniform(0.15, 0.5, (kinds, 1)) * users,
        limit=np.ones(users),
    )
    return inst, rng.lognormal(0, 1, (users, kinds))


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("users", [5, 60, 700])
def test_jobs_on_kinds_of_machines(users: int, alpha: float) -> None:
    inst, score = jobs(users, 4, seed=users)
    question = AlphaQuestion.of(inst, score, alpha, False)
    found = newton.follow(question)
    assert found is not None
    assert found.iterations < 40
    assert judged(question, found.point)[1] < 1e-8


def test_many_jobs_need_no_other_engine() -> None:
    inst, score = jobs(5_000, 4, seed=1)
    found = fo.solve(inst, fo.AlphaFair(1.0, criterion=lambda _: score))
    assert [step["step"] for step in found.steps] == ["prices, smoothed"]
    assert found.certificate.certified


def test_a_sample_gives_the_first_prices() -> None:
    question = AlphaQuestion.of(cluster(3000, 0.4), np.ones((3000, 5)), 1.0, False)
    found = newton.follow(question, sample=600)
    assert found is not None and judged(question, found.point)[1] < 1e-9
    assert found.passes < 40


def test_many_users_take_this_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "USERS", 300)
    monkeypatch.setattr(compact, "MOST_PAIRS", 0)
    monkeypatch.setattr(newton, "PER_ROW", 6)
    inst = cluster(400, 0.2)
    found = fo.solve(inst, fo.ProportionalFair())
    assert [step["step"] for step in found.steps] == ["prices, smoothed"]
    assert found.certificate.certified
    assert found.steps[0]["gap"] < 1e-9 and found.steps[0]["residual"] < 1e-9


def test_where_it_does_not_end_the_interior_method_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "USERS", 100)
    monkeypatch.setattr(compact, "MOST_PAIRS", 0)
    monkeypatch.setattr(newton, "PER_ROW", 6)
    monkeypatch.setattr(newton.path, "MOST_ITERATIONS", 3)
    monkeypatch.setattr(told, "FEW_USERS", 0)  # judged as very many users are
    found = fo.solve(cluster(120, 0.2), fo.ProportionalFair())
    steps = [step["step"] for step in found.steps]
    tried = [step for step in steps if step not in ("prices, closer", "nearby")]
    assert tried[:3] == ["prices, smoothed", "prices, smoothed warily", "interior"]
    assert found.certificate.certified


def test_not_tried_where_it_does_not_apply() -> None:
    inst = cluster(300, 0.4)
    score = np.ones(inst.shape[:2])
    assert newton.worthwhile(AlphaQuestion.of(inst, score, 1.0, False), users=100)
    assert not newton.worthwhile(AlphaQuestion.of(inst, score, 1.0, False))
    assert not newton.worthwhile(AlphaQuestion.of(inst, score, 0.0, False), users=100)
    sparse = cluster(5_000, 0.2)
    assert newton.worthwhile(AlphaQuestion.of(sparse, np.ones(sparse.shape[:2]), 1.0, False))
    # where most pairs are eligible the interior method is the faster one for longer
    dense = sparse.replace(placement=np.ones(sparse.shape[:2], bool))
    assert not newton.worthwhile(AlphaQuestion.of(dense, np.ones(sparse.shape[:2]), 1.0, False))
    one = fo.Instance(inst.demand[:10], inst.capacity[:1])
    assert not newton.worthwhile(AlphaQuestion.of(one, np.ones((10, 1)), 1.0, False), users=5)
