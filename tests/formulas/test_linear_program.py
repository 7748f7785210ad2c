"""Linear programs over all rules: their prices prove their optimum, whatever the rules are."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.formulas import linear_program
from fairopt.formulas.linear_program import FINE, LinearProgram
from fairopt.formulas.lowered import Lowered, lower

MODELS = ["quotas/g5-borrow", "quotas/h1", "rules/r5", "kesidis2018/example"]


def of(name: str) -> tuple[Lowered, np.ndarray]:
    inst = fo.read(name).instance
    return lower(inst, np.ones(inst.shape[:2])), inst.alone.sum(axis=1)


@pytest.mark.parametrize("name", MODELS)
def test_prices_prove_the_most_t(name: str) -> None:
    """t <= budget / sum of slope times the cheapest price of a share, by weak duality."""
    low, alone = of(name)
    found = LinearProgram(low).most(
        floor=np.zeros(len(alone)), slope=alone, unit=alone, tolerance=FINE
    )
    assert found is not None
    share = low.of_user() @ found.x
    assert (share >= found.t * alone * (1 - 1e-8)).all() and found.t > 0
    cheapest = np.full(len(alone), np.inf)
    np.minimum.at(cheapest, low.owner, low.cost(found.price) / low.score)
    assert float(low.budget(found.price)) / (cheapest @ alone) == pytest.approx(found.t)
    assert found.paid @ alone == pytest.approx(1.0)  # a unit of t costs one unit of t


def test_what_is_asked_and_what_a_column_may_run_is_kept() -> None:
    low, alone = of("kesidis2018/example")
    gain = np.where(low.owner == 0, 1.0, 0.0)
    free = LinearProgram(low).most(gain)
    assert free is not None and gain @ free.x == pytest.approx(alone[0])
    floor = np.where(np.arange(len(alone)) == 1, alone / 2, -np.inf)
    kept = LinearProgram(low).most(gain, floor, within=np.full(low.columns, alone[0] / 3))
    assert kept is not None and (kept.x <= alone[0] / 3 * (1 + 1e-9)).all()
    assert (low.of_user() @ kept.x)[1] >= alone[1] / 2 * (1 - 1e-9)
    assert gain @ kept.x < gain @ free.x


def test_more_than_everything_is_none() -> None:
    low, alone = of("kesidis2018/example")
    assert LinearProgram(low).most(floor=2 * alone) is None


@pytest.mark.parametrize("seed", range(6))
def test_many_columns_have_the_same_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the interior method, and by the simplex where that finds nothing: too much is asked."""
    rng = np.random.default_rng(seed)
    inst = fo.Instance(rng.uniform(0.1, 1, (9, 2)), rng.uniform(5, 20, (4, 2)))
    program = LinearProgram(lower(inst, np.ones((9, 4))))
    slope = rng.uniform(0.5, 2, 9)
    by_simplex = program.most(None, np.zeros(9), slope, tolerance=FINE)
    monkeypatch.setattr(linear_program, "WIDE", 0)
    found = program.most(None, np.zeros(9), slope, tolerance=FINE)
    assert found is not None and by_simplex is not None
    assert found.t == pytest.approx(by_simplex.t, rel=1e-9)
    assert program.most(None, np.full(9, 1e9), 0 * slope) is None
