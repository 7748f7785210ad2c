"""Throughput: what prices prove of the objective, against linear programs solved elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fairopt as fo
from fairopt.certificates.asking import asked
from fairopt.certificates.given import given
from fairopt.certificates.linear import Linear, linear

INF = np.inf


def drawn(rng: np.random.Generator) -> fo.Instance:
    n, i, r = (int(rng.integers(1, high)) for high in (5, 4, 4))
    demand = rng.uniform(0.1, 1, (n, r)) * (rng.random((n, r)) < 0.8)
    demand[:, 0] += 0.1
    placement = rng.random((n, i)) < 0.7
    placement[np.arange(n), rng.integers(0, i, n)] = True
    limit = np.where(rng.random(n) < 0.4, rng.uniform(0.5, 5, n), INF)
    weight = 10.0 ** rng.uniform(-1, 1, n)
    return fo.Instance(demand, rng.uniform(1, 5, (i, r)), placement, weight, limit)


def program(inst: fo.Instance) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """The best weighted number of tasks, such tasks (N, I), and prices of rows and of limits."""
    n, i, r = inst.shape
    rows = np.zeros((i * r + n, n * i))
    for user in range(n):
        for server in range(i):
            rows[server * r : (server + 1) * r, user * i + server] = inst.demand[user]
            rows[i * r + user, user * i + server] = 1.0
    most = np.concatenate([inst.pool.ravel(), np.minimum(inst.limit, 1e6)])
    bounds = [(0, None if ok else 0) for ok in inst.eligible.ravel()]
    found = linprog(-np.repeat(inst.weight, i), rows, most, bounds=bounds)
    assert found.status == 0
    dual = -found.ineqlin.marginals
    return -found.fun, found.x.reshape(n, i), dual[: i * r].reshape(i, r), dual[i * r :]


def said(inst: fo.Instance, tasks: np.ndarray, prices: np.ndarray, mu: np.ndarray) -> Linear:
    alloc = fo.Allocation(inst, fo.Throughput(), tasks, prices, np.where(inst.limit < INF, mu, 0))
    question = asked(alloc)
    return linear(question, given(alloc, question))


@pytest.mark.parametrize("seed", range(40))
def test_the_gap_is_never_too_small_and_exact_at_the_prices_of_the_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inst = drawn(rng)
    top, right, prices, mu = program(inst)
    tasks = right * rng.uniform(0.3, 1.0)
    own = float(inst.weight @ tasks.sum(axis=1))
    found = said(inst, tasks, prices, mu)
    assert found.gap == pytest.approx(top / own - 1, rel=1e-7, abs=1e-9)
    for _ in range(5):
        forged = said(inst, tasks, rng.random(prices.shape), rng.random(mu.shape))
        assert forged.gap >= top / own - 1 - 1e-9
    # limits of tasks need no price
    bare = said(inst, tasks, prices, mu * 0)
    assert bare.gap == pytest.approx(found.gap, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_the_program_is_certified_and_a_part_of_it_is_not(seed: int) -> None:
    inst = drawn(np.random.default_rng(seed))
    top, right, prices, mu = program(inst)
    mu = np.where(inst.limit < INF, mu, 0)
    alloc = fo.Allocation(inst, fo.Throughput(), right * (1 - 1e-12), prices, mu)
    found = fo.certify(alloc)
    assert found.certified, found.explain()
    for part in (1 - 1e-5, 0.5):
        less = fo.certify(alloc.with_(tasks=right * part))
        assert not less.certified and less.gap == pytest.approx(1 / part - 1, rel=1e-3)


def test_who_could_have_more_is_told_apart_however_little_it_is() -> None:
    """A user of a ten-thousandth of all that is made, alone on its server, short by a part."""
    inst = fo.Instance([[1.0], [1.0]], [[1e4], [1.0]], placement=np.eye(2))
    for part in (0.0, 1e-3, 0.5, 1.0):
        found = said(inst, np.diag([1e4, 1 - part]), np.ones((2, 1)), np.zeros(2))
        assert found.gap == pytest.approx(part / 1e4, rel=1e-3, abs=1e-12)
        assert (found.off[1] > 1e-6) == (part > 0) and found.off[0] <= 1e-9


def test_no_prices_prove_what_everybody_could_have_alone() -> None:
    inst = fo.Instance([[1.0], [2.0]], [[6.0]])
    found = said(inst, np.array([[2.0], [2.0]]), np.zeros((1, 1)), np.zeros(2))
    assert found.gap == pytest.approx((6 + 3) / 4 - 1, rel=1e-12)
