"""How much every share could rise: a bound at any prices, exact at the right ones."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.asking import asked
from fairopt.certificates.duality import bill
from fairopt.certificates.given import given
from fairopt.certificates.proof import gap_by_prices
from tests.two_users import best

INF = np.inf


def equivalent(weight: np.ndarray, share: np.ndarray, alpha: float) -> float:
    """The share that is worth as much if everybody has it."""
    if alpha == 1:
        return float(np.exp(weight @ np.log(share) / weight.sum()))
    return float((weight @ share ** (1 - alpha) / weight.sum()) ** (1 / (1 - alpha)))


@pytest.mark.every(3)
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("alpha", [0.3, 0.5, 1.0, 2.0, 5.0])
def test_no_prices_prove_too_little_and_the_right_ones_prove_just_enough(
    alpha: float, limited: bool
) -> None:
    rng = np.random.default_rng([int(10 * alpha), limited])
    sharp = 0
    for _ in range(60):
        demand, capacity = rng.uniform(0.1, 1, (2, 2)), rng.uniform(1, 3, 2)
        weight, most = 10.0 ** rng.uniform(-1, 1, 2), np.full(2, INF)
        if limited:
            free = best(demand, capacity, weight, alpha, most, np.zeros(2))
            most[rng.integers(2)] = free.min() * rng.uniform(0.5, 1.5)
        right = best(demand, capacity, weight, alpha, most, np.zeros(2))
        inst = fo.Instance(demand, [capacity], weight=weight, limit=most)
        tasks = right * rng.uniform(0.5, 1, 2)
        rise = equivalent(weight, right, alpha) / equivalent(weight, tasks, alpha) - 1
        for prices in (rng.random(2), rng.random(2) * [1, 0], rng.random(2) * [0, 1]):
            alloc = fo.Allocation(inst, fo.AlphaFair(alpha), tasks[:, None], [prices])
            assert gap_by_prices(alloc) >= rise - 1e-9
        if limited:
            continue
        # where one row alone is full, its price is all; where both are, what fits their worth
        full = (right @ demand / capacity) > 1 - 1e-12
        fit = np.zeros(2)
        fit[full] = np.linalg.lstsq(demand[:, full], weight * right**-alpha, rcond=None)[0]
        alloc = fo.Allocation(inst, fo.AlphaFair(alpha), tasks[:, None], [np.maximum(fit, 0)])
        assert gap_by_prices(alloc) == pytest.approx(rise, rel=1e-6, abs=1e-9)
        sharp += 1
    assert limited or sharp == 60


def test_the_gap_in_closed_form() -> None:
    """One resource: the best is known, so the gap is what is missing, at any scale of the price."""
    inst = fo.Instance([[1.0], [2.0]], [[6.0]], weight=[1, 2])
    for price in (1e-200, 1.0, 7e150):
        alloc = fo.Allocation(inst, fo.ProportionalFair(), [[1.0], [1.0]], [[price]])
        # due are 2 and 2
        assert gap_by_prices(alloc) == pytest.approx(1.0, rel=1e-12)
    right = fo.Allocation(inst, fo.ProportionalFair(), [[2.0], [2.0]], [[1.0]])
    assert gap_by_prices(right) <= 1e-15


def test_prices_of_nothing_prove_nothing() -> None:
    inst = fo.Instance([[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]])
    for prices in ([[0.0, 0.0]], [[1.0, 0.0]]):  # the second user costs nothing
        alloc = fo.Allocation(inst, fo.ProportionalFair(), [[1.0], [1.0]], prices)
        assert gap_by_prices(alloc) == INF


def test_what_is_lent_is_worth_its_bound() -> None:
    """A quota of 20 of 100 that may not borrow: 20 at its price, and 80 of the others'."""
    quotas = fo.Quotas(
        [fo.Group("research"), fo.Group("production")],
        {"r": "research", "p": "production"},
        quotas=[fo.Quota("research", "gpu", 20, borrow=0), fo.Quota("production", "gpu", 80)],
    )
    inst = fo.Instance([[1], [1]], [[100]], users=["r", "p"], resources=["gpu"], quotas=quotas)
    at = {name: k for k, name in enumerate(inst.tree.nodes)}
    nodes = np.zeros((1, len(at)))
    nodes[0, [at["research"], at["r"]]] = 1 / 20 - 1 / 80
    alloc = fo.Allocation(
        inst, fo.ProportionalFair("tasks"), [[20], [80]], prices=[[1 / 80]], node_prices=nodes
    )
    question = asked(alloc)
    answer = given(alloc, question)
    q, budget = bill(question, answer.price)
    # each unit of money buys one user's share: two in all
    assert budget * np.exp(answer.log_money) == pytest.approx(2.0, rel=1e-12)
    shares = q * np.exp(answer.log_money) / question.share_unit * [20, 80]
    np.testing.assert_allclose(shares, [1.0, 1.0], rtol=1e-12)
    assert gap_by_prices(alloc) <= 1e-12
