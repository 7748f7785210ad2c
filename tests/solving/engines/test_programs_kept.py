"""The kept HiGHS model: levels as in fractions and as by programs, whoever is tiny or limited."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt import criteria
from fairopt.certificates import judged
from fairopt.instance.generate import random_instance
from fairopt.solving.engines.programs import kept, sequence
from tests.rational import max_min_levels

CRITERIA = ("drf", "tasks", "ps-dsf-sum")


def answer(inst: fo.Instance, criterion: str = "tasks") -> fo.Allocation:
    notion = fo.MaxMin(criterion)
    score = criteria.score(inst, criterion)
    found = kept.levels(inst, score)
    return fo.Allocation(
        inst, notion, found.tasks, level_prices=found.level_prices, score=score, steps=found.steps
    )


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 8),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from(CRITERIA),
)
def test_equals_one_program_a_level(
    seed: int, users: int, servers: int, limits: float, criterion: str
) -> None:
    inst = random_instance(
        users, servers, 2, density=0.4, seed=seed, zero_demand=0.3, limits=limits, weight_decades=2
    )
    found, score = answer(inst, criterion), criteria.score(inst, criterion)
    wanted = sequence.programs(inst, fo.MaxMin(criterion).heights, score)
    np.testing.assert_allclose(found.levels, wanted.level, rtol=1e-8)
    verdict = judged(found)
    assert verdict.certified and max(verdict.gap, verdict.residual) <= 1e-7


def test_equals_fractions_where_limits_stop_most_levels() -> None:
    """Limits alone stop a level: prices of rows are noise there, and noise stops nobody."""
    inst = fo.Instance(
        [[1, 2], [2, 1], [1, 1], [3, 1]],
        [[8, 8], [4, 16], [2, 2]],
        [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]],
        limit=[0.5, 0.25, np.inf, 0.75],
    )
    found = answer(inst)
    exact = [float(level) for level in max_min_levels(inst, found.score)]
    np.testing.assert_allclose(found.levels, exact, rtol=1e-12)
    assert [step["at limit"] for step in found.steps] == [["u2"], ["u1"], ["u4"], []]


@pytest.mark.parametrize("light", [1e-3, 1e-6, 1e-9])
def test_a_light_user_stops_with_the_heavy_ones(light: float) -> None:
    """Its money is below the tolerances; that all its servers have a price stops it."""
    inst = fo.Instance(np.ones((3, 1)), [[1.0], [1.0]], weight=[1.0, 1.0, light])
    found = answer(inst)
    assert len(found.steps) == 1
    np.testing.assert_allclose(found.levels, 2 / (2 + light), rtol=1e-6)


def test_is_the_same_every_time() -> None:
    inst = random_instance(40, 15, 3, density=0.1, seed=3, zero_demand=0.4, limits=0.2)
    first, again = answer(inst), answer(inst)
    assert first.tasks.tobytes() == again.tasks.tobytes()
    assert first.level_prices.tobytes() == again.level_prices.tobytes()


def test_the_judge_sees_a_user_frozen_too_early() -> None:
    """Stopped a level too low, a user has room at every price; the answer is not certified."""
    inst = random_instance(12, 6, 2, density=0.2, seed=1)
    found = answer(inst)
    assert judged(found).certified
    last = np.flatnonzero(found.levels == found.levels.max())
    tasks = found.tasks.copy()
    tasks[last] *= 0.99
    assert not judged(found.with_(tasks=tasks)).certified


def test_small_parts_take_no_other_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels that are coupled or limited, with scores by server, are answered without cvxpy."""
    from fairopt.solving import levels

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a program of cvxpy")

    monkeypatch.setattr(levels.sequence, "programs", refused)
    for seed in range(6):
        inst = random_instance(20, 8, 3, density=0.2, seed=seed, zero_demand=0.4, limits=0.3)
        for criterion in CRITERIA:
            alloc = fo.solve(inst, fo.MaxMin(criterion))
            assert {step["status"] for step in alloc.steps} <= {"kept", "filled"}


def test_a_thousand_limits_are_a_few_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reaches its limit below a level found without limits does reach it."""
    runs = 0
    highest = kept.KeptModel.highest

    def counted(
        model: kept.KeptModel,
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        nonlocal runs
        runs += 1
        return highest(model)

    monkeypatch.setattr(kept.KeptModel, "highest", counted)
    inst = random_instance(300, 6, 2, density=0.4, seed=2, limits=0.5)
    found = answer(inst)
    assert len(found.steps) > 100 and runs < 20
    np.testing.assert_array_less(found.totals, inst.limit * (1 + 1e-12))
    verdict = judged(found)
    assert verdict.certified and max(verdict.gap, verdict.residual) <= 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_any_first_basis_leads_to_the_same_levels(seed: int) -> None:
    inst, rng = random_instance(30, 8, 3, density=0.5, seed=seed), np.random.default_rng(seed)
    score = fo.criteria.score(inst, "drf")
    cold = kept.levels(inst, score)
    users, servers, resources = inst.shape
    guesses = (
        kept.Begin(*(rng.random(size) < 0.5 for size in (len(inst.pairs[0]), users)), rows)
        for rows in (np.zeros((servers, resources), bool), np.ones((servers, resources), bool))
    )
    for begin in guesses:
        found = kept.levels(inst, score, begin=begin)
        np.testing.assert_allclose(found.level, cold.level, rtol=1e-9)
