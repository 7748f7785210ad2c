"""What a point proves about the optimum is never false; near the optimum it is sharp."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from decimal_truth import optimal_shares
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.certificates import nearby, others

DEMAND = [[1.0, 2.0, 0.3], [2.0, 1.0, 0.5], [1.0, 1.5, 0.0], [0.2, 0.4, 1.0]]
ALPHAS = (0.5, 1.0, 2.0, 5.0)


@cache
def solved(alpha: float, light: float = 1.0, servers: int = 1) -> fo.Allocation:
    capacity = [[2.0, 4.0, 1.0], [3.0, 2.0, 1.0]][:servers]
    weight = [1.0, light**alpha, 2.0, 0.5]
    return fo.solve(fo.Instance(DEMAND, capacity, weight=weight), fo.AlphaFair(alpha))


def market_of(alloc: fo.Allocation, alpha: float) -> tuple[Market, Duality]:
    dual = Duality.of(alloc)
    return dual.market, dual


def log_truth(alloc: fo.Allocation, alpha: float) -> np.ndarray:
    near = nearer(alloc)
    assert near is not None
    found = optimal_shares(near, alpha)
    assert found is not None
    return np.log(found[0])


@given(
    st.sampled_from(ALPHAS), st.floats(-9, -2), st.integers(0, 2**32 - 1),
    st.sampled_from([1.0, 1e-6]),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_no_point_proves_anything_false(
    alpha: float, away: float, seed: int, light: float
) -> None:
    """The optimum with every number off by 10^away: the bound holds wherever there is one."""
    alloc = solved(alpha, light)
    market, dual = market_of(alloc, alpha)
    truth = log_truth(alloc, alpha)
    rng = np.random.default_rng(seed)
    n, i = np.nonzero(alloc.tasks)
    assert alloc.prices is not None
    cost = (alloc.prices[0] * DEMAND).sum(axis=1)
    scale = np.exp(market.log_w[0] - alpha * truth[0]) / cost[0]
    p = alloc.prices.ravel() * scale

    def off(number: np.ndarray) -> Twofold:
        return Twofold.of(number * (1 + 10**away * rng.uniform(-1, 1, len(number))))

    tasks = off(alloc.tasks[n, i] * (1 - 10**away))
    where, bound = located(market, Place((n, i), tasks, off(p), Twofold.of(np.zeros(4))))
    assert (np.abs(where - truth) <= bound + 1e-13).all()


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("light", [1.0, 1e-4, 1e-8, 1e-12])
def test_the_optimum_is_found_to_the_last_digit(alpha: float, light: float) -> None:
    alloc = solved(alpha, light)
    market, dual = market_of(alloc, alpha)
    found = nearby.optimum(dual.alloc, market, dual.log_share, nearby_scale(dual))
    assert found.away.max() < 1e-7
    truth = log_truth(alloc, alpha)
    assert (np.abs(found.log_share - truth) <= found.away + 1e-13).all()


def nearby_scale(dual: Duality) -> float:
    return own_scale(dual) - dual.market.unit


def test_tasks_that_overrun_prove_nothing() -> None:
    alloc = solved(1.0)
    market, _ = market_of(alloc, 1.0)
    n, i = np.nonzero(alloc.tasks)
    assert alloc.prices is not None
    price = Twofold.of(alloc.prices.ravel() * np.exp(-market.unit))
    over = Place((n, i), Twofold.of(alloc.tasks[n, i] * 1.001), price, Twofold.of(np.zeros(4)))
    assert np.isinf(located(market, over)[1]).all()


def test_negative_prices_prove_nothing() -> None:
    alloc = solved(1.0)
    market, _ = market_of(alloc, 1.0)
    n, i = np.nonzero(alloc.tasks)
    assert alloc.prices is not None
    price = np.where(alloc.prices.ravel() > 0, alloc.prices.ravel(), -1e-9)
    place = Place((n, i), Twofold.of(alloc.tasks[n, i]), Twofold.of(price), Twofold.of(np.zeros(4)))
    assert np.isinf(located(market, place)[1]).all()


def test_an_exact_answer_proves_itself_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    inst = fo.Instance(DEMAND, [[2.0, 4.0, 1.0], [3.0, 2.0, 1.0]])
    alloc = fo.solve(inst, fo.ProportionalFair())
    asked = []

    def counted(*given: object) -> object:
        asked.append(given)
        return nearby.optimum(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(others, "optimum", counted)

    def judged(tasks: np.ndarray) -> fo.Certificate:
        return fo.certify(
            fo.Allocation(inst, fo.ProportionalFair(), tasks, alloc.prices, alloc.limit_prices)
        )

    right = judged(np.array(alloc.tasks))
    assert right.certified and right.residual < 1e-9 and not asked
    # a share that is off by 1e-7 is not proved by the answer itself, one by 1e-5 not at all
    near = judged(alloc.tasks * np.array([1 - 1e-7, 1, 1, 1])[:, None])
    assert asked and near.residual > 5e-8
    assert not judged(alloc.tasks * np.array([1 - 1e-5, 1, 1, 1])[:, None]).certified
