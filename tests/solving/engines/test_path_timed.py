"""Limits that count tasks, of users whose scores differ: jobs on kinds of machine."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.allocation import Allocation
from fairopt.certificates.proof import measure
from fairopt.instance import Floats
from fairopt.solving.best import normalised
from fairopt.solving.engines.path import plain
from fairopt.solving.engines.point import AlphaQuestion


def jobs(
    users: int, kinds: int, decades: float, seed: int, density: float = 1.0
) -> tuple[fo.Instance, Floats]:
    """Jobs of several scales, at most all their time; a score is a throughput."""
    rng = np.random.default_rng(seed)
    scale = rng.choice([1.0, 2.0, 4.0, 8.0], (users, 1))
    machines = rng.uniform(0.5, 1.5, (kinds, 1)) * scale.sum() / (1.5 * kinds)
    placement = rng.random((users, kinds)) < density
    placement[np.arange(users), rng.integers(0, kinds, users)] = True
    weight = 10 ** rng.uniform(-decades, 0, users)
    throughput = rng.lognormal(0, 0.5, (users, kinds)) * np.linspace(1, 4, kinds)
    inst = fo.Instance(scale, machines, placement, weight=weight, limit=np.ones(users))
    return inst, throughput


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 5.0, 20.0])
@pytest.mark.parametrize(
    "users, kinds, decades, density",
    [(10, 2, 6, 1.0), (100, 4, 0, 1.0), (60, 4, 2, 0.3), (40, 12, 2, 1.0)],
)
def test_proved_by_the_path_alone(alpha, users, kinds, decades, density):
    inst, score = jobs(users, kinds, decades, 5, density)
    point = plain.follow(AlphaQuestion.of(inst, score, alpha, False))
    assert point is not None
    prices = normalised(inst, *point.prices(inst))
    answer = Allocation(inst, fo.AlphaFair(alpha), point.tasks(inst), *prices, score=score)
    gap, residual = measure(answer)
    assert gap <= 1e-9
    assert residual <= 1e-7


@pytest.mark.parametrize("alpha", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("users, kinds, density", [(60, 4, 0.3), (200, 2, 0.6), (30, 20, 1.0)])
def test_six_decades_of_weights_need_no_general_solver(alpha, users, kinds, density):
    inst, score = jobs(users, kinds, 6, 5, density)
    answer = fo.solve(inst, fo.AlphaFair(alpha, criterion=lambda _: score))
    assert fo.certify(answer).certified
    own = {
        "interior, small",
        "interior",
        "nearby",
        "prices, smoothed",
        "prices, closer",
        "prices, smoothed warily",
        "polish",
    }
    assert {step["step"] for step in answer.steps} <= own


def test_the_same_as_a_general_solver():
    inst, score = jobs(40, 4, 1, 1)
    notion = fo.AlphaFair(1.0, criterion=lambda _: score)
    answer = fo.solve(inst, notion)
    own = {"interior, small", "interior", "polish"}
    assert {step["step"] for step in answer.steps} <= own
    plain = fo.solve(inst, notion, solver="clarabel")
    np.testing.assert_allclose(answer.shares, plain.shares, rtol=1e-6)


def test_one_job_alone_spends_its_time_where_its_throughput_is_largest():
    inst = fo.Instance([[1.0]], [[10.0], [10.0]], limit=[1.0])
    notion = fo.AlphaFair(1.0, criterion=lambda _: np.array([[1.0, 3.0]]))
    answer = fo.solve(inst, notion)
    np.testing.assert_allclose(answer.tasks, [[0.0, 1.0]], atol=1e-9)
    assert fo.certify(answer).certified


def test_two_jobs_share_the_faster_machine():
    """Throughputs (1, 2) and (1, 4), one machine of each kind, log utility: by hand.

    Both machines are full. With y the time of job one on the slow machine, shares are 2 - y and
    1 + 3 y, and log(2 - y) + log(1 + 3 y) is largest at 3 (2 - y) = 1 + 3 y, y = 5/6.
    """
    inst = fo.Instance([[1.0], [1.0]], [[1.0], [1.0]], limit=[1.0, 1.0])
    score = np.array([[1.0, 2.0], [1.0, 4.0]])
    answer = fo.solve(inst, fo.AlphaFair(1.0, criterion=lambda _: score))
    np.testing.assert_allclose(answer.tasks, [[5 / 6, 1 / 6], [1 / 6, 5 / 6]], rtol=1e-8)
    assert fo.certify(answer).certified
