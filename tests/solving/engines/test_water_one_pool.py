"""Bottleneck max fairness: the paper's examples, three forms, and the judge."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from benchmarks.trust.draws import Asked
from fairopt.allocation import Allocation
from fairopt.certificates import certify
from fairopt.errors import BadInput, SolverFailure, UsageError
from fairopt.instance import Instance
from fairopt.notions.bottleneck import BottleneckMaxFair
from fairopt.solving.engines.water import one_pool as water_levels
from fairopt.solving.engines.water.one_pool import enumerate_all

BMF = BottleneckMaxFair()
FAMILY = Instance([[1, 1, 1], [1, 0.5, 0.75], [0.5, 1, 0.75]], [[1, 1, 1]], users=list("abc"))


def family(t: float) -> np.ndarray:
    return np.array([2 / 5 - t / 15, 2 / 5 + 2 * t / 45, 2 / 5 + 2 * t / 45])[:, None]


def solved(instance: Instance, notion: BottleneckMaxFair = BMF) -> Allocation:
    return fo.solve(instance, notion, reduce=False, uncertified="return")


def random_pool(seed: int, users: int, resources: int, limits: bool = False) -> Instance:
    rng = np.random.default_rng(seed)
    demand = rng.uniform(0.05, 1, (users, resources)) * (rng.random((users, resources)) < 0.8)
    demand[:, 0] += 0.01
    limit = np.where(rng.random(users) < 0.3, rng.uniform(0.05, 2, users), np.inf)
    weight = rng.uniform(0.2, 3, users)
    return Instance(
        demand, rng.uniform(0.5, 4, (1, resources)), None, weight, limit if limits else None
    )


def test_two_types_are_proportional_fair() -> None:
    alloc = solved(Instance([[0.5, 1], [1, 0.5]], [[1, 1]]))
    assert alloc.totals == pytest.approx([2 / 3, 2 / 3], abs=1e-12)
    assert certify(alloc).certified


@pytest.mark.parametrize("t", np.linspace(0, 1, 11))
def test_family_of_section_2_5_is_accepted(t: float) -> None:
    assert certify(Allocation(FAMILY, BMF, family(t))).certified


@pytest.mark.parametrize(
    "tasks",
    [
        family(-0.1),
        family(1.1),
        family(0.5) * 0.99,
        family(0.5) * 1.01,
        family(0.5) + [[0.0], [-0.01], [0.01]],
    ],
)
def test_points_outside_the_family_are_refused(tasks: np.ndarray) -> None:
    certificate = certify(Allocation(FAMILY, BMF, tasks))
    assert not certificate.certified
    assert certificate.verdict == "refuted"


@pytest.mark.parametrize("method", ["milp", "enumeration"])
def test_an_objective_chooses_an_end_of_the_family(method: str) -> None:
    most = solved(FAMILY, BottleneckMaxFair(method, "most-tasks"))
    fewest = solved(FAMILY, BottleneckMaxFair(method, "fewest-tasks"))
    assert most.tasks == pytest.approx(family(1.0), abs=1e-8)
    assert fewest.tasks.sum() == pytest.approx(1.2, abs=1e-8)
    favoured = solved(FAMILY, BottleneckMaxFair(method, "a"))
    assert favoured.tasks == pytest.approx(family(0.0), abs=1e-8)
    for alloc in (most, fewest, favoured):
        assert certify(alloc).certified


@pytest.mark.parametrize("seed", range(20))
def test_five_users_three_forms(seed: int) -> None:
    """Unique for two resources (Proposition 4); for three every form is certified."""
    inst = random_pool(seed, 5, 2 + seed % 2, limits=seed % 4 > 1)
    part = inst.pair_demand / inst.pool
    forms = [
        solved(inst).totals,
        solved(inst, BottleneckMaxFair("milp")).totals,
        *(tasks for tasks, _ in enumerate_all(part, inst.weight, inst.limit)),
    ]
    for tasks in forms:
        assert certify(Allocation(inst, BMF, tasks[:, None])).certified
    if inst.shape[2] == 2:
        assert forms[1] == pytest.approx(forms[0], rel=1e-7)
        assert len(forms) == 3
    assert any(np.allclose(forms[0], tasks, rtol=1e-6) for tasks in forms[2:]) or len(forms) > 3


def test_water_levels_settle_on_random_pools() -> None:
    for seed in range(150):
        inst = random_pool(seed, 2 + seed % 30, 1 + seed % 5, limits=seed % 2 == 0)
        assert certify(solved(inst)).certified, seed


def test_100_000_users() -> None:
    inst = random_pool(1, 100_000, 4)
    assert certify(solved(inst)).certified


def test_weight_stands_in_both_places() -> None:
    alloc = solved(Instance([[1, 1], [1, 1]], [[3, 3]], weight=[2, 1]))
    assert alloc.totals == pytest.approx([2, 1])
    assert certify(alloc).certified
    assert not certify(alloc.with_(tasks=[[1.5], [1.5]])).certified


def test_refusals() -> None:
    with pytest.raises(UsageError, match="found 2 servers; wanted one"):
        solved(Instance([[1]], [[1], [1]]))
    with pytest.raises(UsageError, match="maps of users"):
        solved(random_pool(0, 40, 3), BottleneckMaxFair("enumeration"))
    with pytest.raises(BadInput, match="objective"):
        solved(FAMILY, BottleneckMaxFair("milp", "nobody"))
    with pytest.raises(BadInput, match="levels"):
        BottleneckMaxFair("levels", "most-tasks")
    with pytest.raises(SolverFailure, match="did not settle"):
        water_levels.water_levels(FAMILY.pair_demand, FAMILY.weight, FAMILY.limit, sweeps=1)


def test_levels_that_go_to_and_fro_by_their_last_digits_have_settled() -> None:
    """Two rows that are nearly just as full: 4e-14 of a level came back every other sweep."""
    inst, notion = Asked("bmf", "just full", 12, 12).drawn()
    answer = fo.solve(inst, notion)
    assert answer.certificate is not None and answer.certificate.certified
    assert answer.steps[-1]["sweeps"] < 1_000
