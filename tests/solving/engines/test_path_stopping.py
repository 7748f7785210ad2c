"""One max-min level on the frame of the path and whom it stops, against the linear program."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, hstack, vstack

import fairopt as fo
from fairopt.errors import SolverFailure
from fairopt.instance import Instance
from fairopt.instance.generate import random_instance
from fairopt.program import usage_matrix
from fairopt.solving.engines.path.level import stopping
from fairopt.solving.engines.point import AlphaQuestion


def by_program(inst: Instance) -> float:
    n, _ = inst.pairs
    rows = usage_matrix(inst)[0]  # nobody has a limit
    of_user = coo_array((-np.ones(len(n)), (n, np.arange(len(n)))), (inst.shape[0], len(n)))
    matrix = vstack(
        [hstack([rows, coo_array((rows.shape[0], 1))]), hstack([of_user, inst.weight[:, None]])]
    )
    right = np.concatenate([np.ones(rows.shape[0]), np.zeros(inst.shape[0])])
    goal = np.zeros(len(n) + 1)
    goal[-1] = -1
    return float(-linprog(goal, matrix.tocsr(), right, method="highs").fun)


@pytest.mark.parametrize("seed", range(16))
def test_the_level_is_the_program_s(seed):
    inst = random_instance(12, 5, 3, density=0.4, seed=seed, weight_decades=2, zero_demand=0.3)
    question = AlphaQuestion.of(inst, np.ones(inst.shape[:2]), 1.0, False)
    level = stopping(question, np.zeros(len(inst.users)))
    assert level is not None
    share = np.bincount(question.pairs[0], level.x)
    assert (share / inst.weight).min() == pytest.approx(by_program(inst), rel=1e-8)
    assert level.stopped.any()
    # nobody who is stopped is above, and whoever is above is not stopped
    above = share / inst.weight > (share / inst.weight).min() * (1 + 1e-6)
    if level.clear:
        assert (above == ~level.stopped).all()


def test_prices_pay_for_the_level():
    inst = random_instance(20, 6, 2, density=0.3, seed=3)
    question = AlphaQuestion.of(inst, np.ones(inst.shape[:2]), 1.0, False)
    level = stopping(question, np.zeros(len(inst.users)))
    n, i = question.pairs
    cost = np.einsum("hr,hr->h", question.use, level.money[i])
    cheapest = np.full(20, np.inf)
    np.minimum.at(cheapest, n, cost)
    share = np.bincount(n, level.x)
    assert cheapest @ share == pytest.approx(level.money.sum(), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_who_keeps_a_share_rises_no_more(seed):
    """As in the program in which the share of some is a row of its own."""
    inst = random_instance(12, 5, 3, density=0.4, seed=seed)
    question = AlphaQuestion.of(inst, np.ones(inst.shape[:2]), 1.0, False)
    everybody = stopping(question, np.zeros(12))
    kept = np.where(np.arange(12) < 4, 0.5 * everybody.t, 0.0)
    level = stopping(question, kept)
    n, i = inst.pairs
    share = np.bincount(n, level.x)
    assert (share[:4] >= kept[:4] * (1 - 1e-9)).all()
    goal = np.append(np.zeros(len(n)), -1.0)
    of_user = (np.arange(12)[:, None] == n).astype(float)
    rows = np.hstack(
        [usage_matrix(inst)[0].toarray(), np.zeros((usage_matrix(inst)[0].shape[0], 1))]
    )
    least = np.hstack([-of_user, np.where(kept == 0, inst.weight, 0.0)[:, None]])
    right = np.concatenate([np.ones(len(rows)), -kept])
    wanted = -linprog(goal, np.vstack([rows, least]), right, method="highs").fun
    assert (share / inst.weight)[4:].min() == pytest.approx(wanted, rel=1e-8)
    assert wanted > everybody.t


@pytest.mark.parametrize("seed", range(6))
def test_levels_peeled_are_levels_of_programs(seed):
    inst = random_instance(30, 15, 2, density=0.08, seed=seed)
    ours = fo.solve(inst, fo.MaxMin(), solver="interior", uncertified="return")
    theirs = fo.solve(inst, fo.MaxMin(), solver="highs")
    assert {step["status"] for step in ours.steps if step["step"] == "level"} <= {
        "interior",
        "filled",
    }
    if ours.certificate.certified:  # prices of several levels multiply their rounding
        np.testing.assert_allclose(ours.levels, theirs.levels, rtol=1e-6)
    best = fo.solve(inst, fo.MaxMin())
    assert best.certificate.certified
    np.testing.assert_allclose(best.levels, theirs.levels, rtol=1e-6)


def test_what_it_cannot_peel_goes_to_a_kept_model():
    # u1 fills the cpu of both; u2 asks for memory only, and finds it there
    inst = Instance([[1.0, 1.0], [0.0, 1.0]], [[1.0, 9.0], [2.0, 9.0]])
    with pytest.raises(SolverFailure, match="auto or highs"):
        fo.solve(inst, fo.MaxMin("tasks"), solver="interior")
    alloc = fo.solve(inst, fo.MaxMin("tasks"))
    np.testing.assert_allclose(alloc.totals, [3.0, 15.0], rtol=1e-9)
    assert "kept" in {step["status"] for step in alloc.steps if step["step"] == "level"}


def test_a_slow_start_is_no_standstill():
    """The gap falls by a third an iteration for long: it must not be given up as stalled."""
    rng = np.random.default_rng(3)
    demand = rng.uniform(0.1, 1, (1000, 4)) * rng.lognormal(0, 0.5, (1000, 1))
    capacity = rng.uniform(5, 20, (100, 4))
    placement = rng.random((1000, 100)) < 0.06
    placement[np.arange(1000), rng.integers(0, 100, 1000)] = True
    inst = Instance(demand, capacity, placement, rng.uniform(0.5, 2, 1000))
    question = AlphaQuestion.of(inst, fo.criteria.score(inst, "drf"), 1.0, False)
    level = stopping(question, np.zeros(len(inst.users)))
    assert level is not None and level.clear
