"""The interior method against the certificate, against the programs, and part by part."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from benchmarks.tail import cluster
from fairopt.allocation import Allocation
from fairopt.certificates.proof import measure
from fairopt.instance import Instance
from fairopt.instance.generate import random_instance
from fairopt.notions import AlphaFair
from fairopt.solving.engines.interior import layout, schur
from fairopt.solving.engines.interior import method as interior
from fairopt.solving.engines.interior.marginal import MarginalValue
from fairopt.solving.engines.interior.state import Products
from fairopt.solving.engines.point import Point, Question
from fairopt.solving.engines.polish.tasks import polish
from fairopt.solving.engines.smoothed import method as smoothed
from fairopt.solving.prices import normalised

ALPHAS = (0.0, 0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 5.0, 10.0, 20.0)


def judged(inst: Instance, notion: AlphaFair, point: Point, score: np.ndarray):
    p, mu = point.prices(inst)
    alloc = Allocation(inst, notion, point.tasks(inst), p, mu, score=score)
    p, mu = normalised(inst, p, mu)
    return measure(alloc.with_(prices=p, limit_prices=mu))


def family(seed: int, limits: float, decades: float = 2) -> Instance:
    rng = np.random.default_rng(seed)
    users, servers = int(rng.choice([2, 5, 20])), int(rng.choice([1, 3, 6]))
    inst = random_instance(
        users,
        servers,
        int(rng.integers(1, 5)),
        density=float(rng.choice([0.3, 0.6, 1.0])),
        seed=seed,
        weight_decades=float(rng.choice([0, decades])),
        zero_demand=float(rng.choice([0, 0.3])),
        limits=limits,
        nested=bool(rng.random() < 0.2),
    )
    return inst.select(*max(inst.parts(), key=lambda part: len(part[0])))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("limits", [0.0, 0.4])
def test_proved_without_polish(alpha, limits):
    inst = family(7, limits)
    score = np.ones(inst.shape[:2])
    question = Question.of(inst, score, alpha, False)
    point = interior.follow(question)
    gap, residual = judged(inst, AlphaFair(alpha), point, score)
    assert gap <= 1e-9
    if alpha == 0.1 or (alpha, limits) == (20.0, 0.4):
        # beside money of limits, and of users of 1e10 times the money, the last parts in a million
        # million of a server are the polish's to decide; what is polished is held to 1e-6
        assert residual <= 1e-5 or alpha == 0.1
        gap, residual = judged(inst, AlphaFair(alpha), polish(question, point), score)
    assert residual <= 1e-6


@pytest.mark.parametrize("alpha", [50.0, 100.0])
@pytest.mark.parametrize("seed", range(4))
def test_steepest_with_polish(seed, alpha):
    # users whose money is 1e-30 of others' are left to the polish and the central path
    inst = family(seed, 0.0, decades=0)
    assert fo.solve(inst, AlphaFair(alpha), solver="interior").certificate.certified


@pytest.mark.parametrize("seed", range(12))
def test_families(seed):
    inst = family(seed, 0.0 if seed % 2 else 0.4)
    score = np.ones(inst.shape[:2])
    for alpha in (0.5, 1.0, 5.0):
        point = interior.follow(Question.of(inst, score, alpha, False))
        gap, residual = judged(inst, AlphaFair(alpha), point, score)
        assert gap <= 1e-9
        assert residual <= 1e-6


def test_light_users_are_not_lost():
    inst = Instance([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]], [[4.0, 5.0]], weight=[1e-6, 1.0, 1e6])
    alloc = fo.solve(inst, fo.ProportionalFair(), solver="interior")
    other = fo.solve(inst, fo.ProportionalFair(), solver="clarabel")
    np.testing.assert_allclose(alloc.shares, other.shares, rtol=1e-6)


def test_everybody_at_the_limit():
    inst = Instance([[1.0], [2.0]], [[100.0]], limit=[1.0, 2.0])
    for alpha in (0.0, 1.0, 3.0, 50.0):
        alloc = fo.solve(inst, fo.AlphaFair(alpha), solver="interior")
        np.testing.assert_allclose(alloc.totals, [1.0, 2.0], rtol=1e-9)


def test_named_alone_it_falls_back_on_its_own_kin_only():
    inst = random_instance(4, 3, 2, seed=3, limits=1.0)
    notion = fo.AlphaFair(2.0, criterion="dominant-share")
    steps = {step["step"] for step in fo.solve(inst, notion, solver="interior").steps}
    assert steps <= {"interior", "interior, small", "central path", "polish"}


# -- many near ties -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "users, servers, density, seed",
    [(1_000, 100, 0.1, 5), (1_000, 100, 0.1, 6), (5_000, 10, 0.2, 0), (300, 30, 0.2, 5)],
)
def test_clusters_with_many_near_ties_need_no_other_method(
    users, servers, density, seed, monkeypatch
):
    """The first: it stopped at 6e-5 and went into a polish without end."""
    monkeypatch.setattr(smoothed, "USERS", 10**9)
    alloc = fo.solve(cluster(users, servers, density, seed), fo.ProportionalFair())
    tried = [step["step"] for step in alloc.steps if step["step"] != "pool"]
    # a polish of what is 1e-10 short may follow; no general solver does
    assert tried[0] in ("interior", "interior, small")
    assert set(tried[1:]) <= {"interior", "polish", "nearby"}
    assert max(alloc.certificate.gap, alloc.certificate.residual) < 1e-8


def test_products_come_back_to_within_a_factor_of_their_goals():
    goal = np.full(5, 2.0)
    found = Products(*[np.array([0.0, 0.1, 3.0, 25.0, 1e9])] * 4)
    change = found.back_within(10.0, Products(*[goal] * 4))
    for one in (change.y, change.s, change.l, change.e):
        # below a tenth up, within a factor of ten nothing, above down by ten goals at most
        np.testing.assert_allclose(one, [0.2, 0.1, 0.0, -5.0, -20.0])


# -- layouts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(30, 12, 3, 0.7), (5, 4, 2, 1.0)])
def test_both_layouts_do_the_same(shape):
    inst = random_instance(*shape[:3], density=shape[3], seed=1)
    users, servers, resources = inst.shape
    rng = np.random.default_rng(0)
    score = rng.uniform(1, 2, (users, servers))
    question = Question.of(inst, score, 1.0, False)
    unit = rng.uniform(1, 2, users)
    grid, pairs = layout.GridLayout(question, unit), layout.Pairs(question, unit)
    y, rows = rng.random(pairs.shape), rng.random((servers, resources))
    full = grid.from_pairs(y)
    assert (grid.rows == pairs.rows).all()
    np.testing.assert_allclose(grid.used(full), pairs.used(y))
    np.testing.assert_allclose(grid.to_pairs(grid.cost(rows)), pairs.cost(rows))
    np.testing.assert_allclose(grid.blocks(full), pairs.blocks(y))
    np.testing.assert_allclose(grid.of_user(full), pairs.of_user(y))
    np.testing.assert_allclose(grid.least(full), pairs.least(y))
    inverse, root = rng.random((servers, resources, resources)), rng.random(users)
    np.testing.assert_allclose(grid.coupling(full, inverse, root), pairs.coupling(y, inverse, root))


def test_sparse_coupling_is_the_dense_one(monkeypatch):
    inst = random_instance(60, 30, 2, density=0.03, seed=4)
    question = Question.of(inst, np.ones(inst.shape[:2]), 1.0, False)
    pairs = layout.Pairs(question, np.ones(60))
    rng = np.random.default_rng(0)
    given = rng.random(pairs.shape), rng.random((30, 2, 2)), rng.random(60)
    dense = pairs.coupling(*given)
    monkeypatch.setattr(layout, "DENSE", 0)
    monkeypatch.setattr(layout, "THICK", 1.0)
    np.testing.assert_allclose(pairs.coupling(*given).toarray(), dense)


# -- the step ------------------------------------------------------------------------------------


@pytest.mark.parametrize("tiny", [0, 1000])
@pytest.mark.parametrize("shape", [(6, 9, 3), (40, 3, 2)])
def test_a_step_solves_its_equations(monkeypatch, tiny, shape):
    monkeypatch.setattr(schur, "TINY", tiny)
    inst = random_instance(*shape, density=0.6, seed=2)
    question = Question.of(inst, np.ones(inst.shape[:2]), 1.0, False)
    pairs = layout.Pairs(question, np.ones(shape[0]))
    rng = np.random.default_rng(1)
    theta = 10.0 ** rng.uniform(-2, 2, pairs.shape)
    heat, rho = 10.0 ** rng.uniform(-2, 2, shape[0]), 10.0 ** rng.uniform(-2, 2, pairs.rows.shape)
    z, a = rng.normal(size=pairs.shape), rng.normal(size=shape[0])
    b = np.where(pairs.rows, rng.normal(size=pairs.rows.shape), 0.0)
    system = schur.SchurSystem(pairs, theta, heat, rho, pairs.rows)
    dy, dx, dlam, dcost = system.step(z, a, b)
    np.testing.assert_allclose(pairs.of_user(dy), dx, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(
        dy, z - theta * (dcost + pairs.spread(heat * dx - a)), rtol=1e-7, atol=1e-8
    )
    np.testing.assert_allclose(
        np.where(pairs.rows, pairs.used(dy) - rho * dlam, 0.0), b, rtol=1e-8, atol=1e-9
    )
    np.testing.assert_allclose(dcost, pairs.cost(dlam))


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 2.5, 10.0])
def test_relation_is_linearised_right(alpha):
    rng = np.random.default_rng(5)
    v, x, e = rng.uniform(1, 2, (3, 4))
    marginal = MarginalValue(alpha, rng.normal(size=4), np.ones(4), np.zeros(4, bool))
    miss, slope, _ = marginal.relation(v, x, e)
    partner, target = marginal.partner(v, x), rng.uniform(0, 0.1, 4)
    # a small step that keeps the linearised relation keeps the relation to second order
    t = 1e-5
    dx = rng.normal(size=4)
    dv = marginal.intercept(np.zeros(4), slope, target, partner, 0.0) - slope * dx
    de = marginal.slack(e, target, partner, dx, dv)
    moved, _, _ = marginal.relation(v + t * dv, x + t * dx, e + t * de)
    np.testing.assert_allclose(moved, miss, atol=50 * t**2 * max(1, alpha) ** 2)
