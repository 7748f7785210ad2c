"""Lexicographic max-min: equal to exact fractions, and every known way to get it wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.certificates.exact import exact_rooms
from fairopt.certificates.exact_verdict import ALL_ROUNDS
from fairopt.certificates.levels import rooms
from fairopt.instance.generate import random_instance
from tests.rational import filled_levels, max_min_levels

CRITERIA = ("drf", "tsf", "cdrf", "dominant-share", "tasks", "ps-dsf-sum")


def distinct(alloc: fo.Allocation) -> int:
    level = np.sort(alloc.levels)
    return 1 + int((np.diff(level) > 1e-9 * level[1:]).sum())


def small(seed: int, users: int, servers: int, limits: bool = False) -> fo.Instance:
    """Numbers of few bits, so that fractions stay short; weights over six decades."""
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, 5, (users, 2)) / 4.0
    demand[demand.sum(axis=1) == 0, 0] = 1.0
    capacity = 2.0 ** rng.integers(0, 4, (servers, 2))
    placement = rng.random((users, servers)) < 0.4
    placement[np.arange(users), rng.integers(servers, size=users)] = True
    weight = 2.0 ** rng.integers(-10, 11, users)
    limit = np.where(rng.random(users) < 0.4, rng.integers(1, 9, users) / 4.0, np.inf)
    return fo.Instance(demand, capacity, placement, weight, limit if limits else None)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("criterion", ["tasks", "dominant-share"])
def test_equals_a_rational_simplex(seed: int, criterion: str) -> None:
    inst = small(seed, 3 + seed % 6, 2 + seed % 3, limits=seed % 3 == 0)
    alloc = fo.solve(inst, fo.MaxMin(criterion))
    exact = [float(level) for level in max_min_levels(inst, alloc.score)]
    # the promise is 1e-6; what an interior level leaves, up to 1.1e-9, depends on the processor
    np.testing.assert_allclose(alloc.levels, exact, rtol=1e-8)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 5))
def test_one_server_equals_progressive_filling(seed: int, users: int, resources: int) -> None:
    inst = random_instance(users, 1, resources, seed=seed, zero_demand=0.6, weight_decades=2)
    alloc = fo.solve(inst, fo.MaxMin("dominant-share"))
    exact = [float(level) for level in filled_levels(inst, alloc.score)]
    np.testing.assert_allclose(alloc.levels, exact, rtol=1e-9)


def test_the_two_exact_references_agree() -> None:
    for seed in range(5):
        inst = small(seed, 5, 1)
        score = np.ones((5, 1))
        assert filled_levels(inst, score) == max_min_levels(inst, score)


def test_random_instances_have_many_levels_and_no_room() -> None:
    families = (
        {"density": 0.06},
        {"density": 0.1, "zero_demand": 0.4},
        {"density": 0.1, "nested": True, "zero_demand": 0.4},
        {"density": 0.06, "weight_decades": 3.0},
        {"density": 0.1, "limits": 0.3},
    )
    several = 0
    for seed in range(60):
        inst = random_instance(30, 12, 3, seed=seed, **families[seed % 5])
        alloc = fo.solve(inst, fo.MaxMin(CRITERIA[seed % 6]))
        assert rooms(alloc).max() <= 1e-6, seed
        several += distinct(alloc) >= 5
    assert several >= 40


@pytest.mark.parametrize("weighted", [False, True])
def test_fifty_users_on_one_resource_are_one_level(weighted: bool) -> None:
    """Letting the others drop 0.1% each would let any one rise by 5%: nobody looks saturated."""
    weight = np.arange(1.0, 51.0) if weighted else np.ones(50)
    inst = fo.Instance(np.ones((50, 1)), [[10.0]], weight=weight)
    alloc = fo.solve(inst, fo.MaxMin("tasks"), reduce=False)
    assert len(alloc.steps) == 1
    assert set(alloc.steps[0]["users"]) == set(inst.users)
    np.testing.assert_allclose(alloc.totals, 10 * weight / weight.sum(), rtol=1e-12)


def test_all_fourteen_levels_are_found() -> None:
    """A scaled slack below a solver's tolerance would end with `optimal` after the first level."""
    inst = random_instance(50, 20, 3, density=0.1, seed=4, zero_demand=0.2)
    alloc = fo.solve(inst, fo.MaxMin("drf"))
    assert distinct(alloc) == 14
    # proved: no user can gain 1e-9, and any two levels are further apart than that
    proved = exact_rooms(alloc)
    assert all(room is not None and room < 1e-9 for room in proved)
    level = np.unique(np.round(np.log(alloc.levels), 9))
    assert len(level) == 14 and np.diff(level).min() > 1e-6


def test_no_error_grows_from_level_to_level() -> None:
    """The frozen use 999 of 1000, so a slack of theirs is 999 times as large one level up.

    By hand: user 1 fills resource 1 at 1 task; of resource 2 it leaves 1, which is 4 tasks of
    user 2; of resource 3 that leaves 1, which is 16 tasks of user 3. A slack of 1e-10 would be
    seen as 1e-4, one of 1e-7 as 10%.
    """
    demand = [[1, 999, 0], [0, 1 / 4, 999 / 4], [0, 0, 1 / 16]]
    inst = fo.Instance(demand, [[1, 1000, 1000]])
    alloc = fo.solve(inst, fo.MaxMin("tasks"))
    assert max_min_levels(inst, alloc.score) == [1, 4, 16]
    assert len(alloc.steps) == 3
    np.testing.assert_allclose(alloc.levels, [1, 4, 16], rtol=1e-9)


def test_frozen_users_keep_their_level_exactly() -> None:
    inst = random_instance(40, 15, 3, density=0.06, seed=3, zero_demand=0.4)
    alloc = fo.solve(inst, fo.MaxMin("tsf"))
    at = dict(zip(inst.users, alloc.levels, strict=True))
    names = [name for step in alloc.steps for name in step["users"]]
    assert sorted(names) == sorted(inst.users)
    for step in alloc.steps:
        for name in step["users"]:
            assert at[name] == pytest.approx(step["level"], rel=1e-9)
    values = [step["level"] for step in alloc.steps]
    assert all(a <= b * (1 + 1e-9) for a, b in zip(values, values[1:], strict=False))


def test_progress_is_told_and_ends_with_everybody() -> None:
    seen: list[tuple[int, int]] = []
    inst = random_instance(20, 8, 2, density=0.1, seed=1)
    alloc = fo.solve(inst, fo.MaxMin(), progress=lambda done, of: seen.append((done, of)))
    assert len(seen) == len(alloc.steps) > 1
    assert seen[-1] == (20, 20)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_large_alpha_comes_closer() -> None:
    for seed in range(6):
        inst = random_instance(10, 5, 2, density=0.2, seed=seed, weight_decades=1)
        wanted = fo.solve(inst, fo.MaxMin("drf")).levels
        away = {}
        for alpha in (50, 100):
            notion = fo.AlphaFair(alpha=alpha, criterion="drf", weight_inside=True)
            found = fo.solve(inst, notion).levels
            away[alpha] = float(np.abs(np.log(found / wanted)).max())
        assert away[100] < away[50], seed
        assert away[100] < 0.1, seed


def test_users_of_very_different_demand() -> None:
    alloc = fo.solve(fo.Instance([[1.0], [1e-9]], [[1.0]]), fo.MaxMin("tasks"))
    np.testing.assert_allclose(alloc.totals, 1 / (1 + 1e-9), rtol=1e-12)


@pytest.mark.parametrize("decades", [0, 6, 9, 12])
def test_one_server_over_decades_of_weights_and_demands(decades: int) -> None:
    """As in fractions, but for what the rounding of heavy users' tasks leaves of a resource. Over
    nine decades and more twice a float's digits prove not all of them, fractions do."""
    rng = np.random.default_rng(decades)
    for _ in range(40):
        users, resources = int(rng.integers(2, 9)), int(rng.integers(1, 4))
        demand = rng.uniform(0.1, 1, (users, resources))
        demand *= 10.0 ** (decades * (rng.random((users, 1)) - 0.5))
        demand[:, 1:][rng.random((users, resources - 1)) < 0.3] = 0.0
        weight = 10.0 ** (decades * (rng.random(users) - 0.5))
        inst = fo.Instance(demand, rng.uniform(0.5, 2, (1, resources)), weight=weight)
        alloc = fo.solve(inst, fo.MaxMin("tasks"), uncertified="return")
        assert alloc.certificate.certified
        exact = np.array([float(level) for level in filled_levels(inst, alloc.score)])
        need = (inst.demand / inst.pool * weight[:, None]).max(axis=1)
        apart = np.abs(alloc.levels - exact)
        assert np.all((apart <= 1e-6 * exact) | (apart * need <= 8 * 2.0**-52))


def test_several_servers_over_decades_of_weights() -> None:
    for seed in range(40):
        inst = random_instance(
            2 + seed % 7,
            2 + seed % 4,
            2,
            density=0.5,
            seed=seed,
            zero_demand=0.3,
            limits=0.3 * (seed % 2),
            weight_decades=(6.0, 9.0)[seed % 4 // 2],
        )
        assert fo.solve(inst, fo.MaxMin(CRITERIA[seed % 3])).certificate.certified


def uneven(users: int, servers: int, decades: float) -> fo.Instance:
    """Servers whose sizes differ by decades: the smallest stop a few users at every level."""
    inst = random_instance(users, servers, 2, density=0.1, seed=5)
    size = 10.0 ** (decades * (np.random.default_rng(5).random(servers) - 0.5))
    return inst.replace(capacity=inst.capacity * size[:, None])


def test_many_levels_of_a_large_part_are_one_kept_model() -> None:
    inst = uneven(800, 60, 2.5)
    assert len(inst.pairs[0]) > 3_000
    alloc = fo.solve(inst, fo.MaxMin())
    assert len(alloc.steps) > 5 and {step["status"] for step in alloc.steps} == {"kept"}
    assert alloc.certificate.gap <= 1e-8 and rooms(alloc).max() <= 1e-8
    assert alloc.certificate.certified


def test_what_many_levels_carry_on_is_nothing_in_fractions() -> None:
    """Fifteen levels: what one leaves open is estimated to reach 2.5e-6 in the last."""
    alloc = fo.solve(uneven(800, 60, 3.0), fo.MaxMin())
    assert alloc.certificate.checks[-1].name == ALL_ROUNDS
    assert alloc.certificate.residual <= 1e-9
    assert alloc.certificate.gap <= 1e-8 and rooms(alloc).max() <= 1e-8


def test_one_level_of_a_large_part_is_an_interior_level() -> None:
    alloc = fo.solve(uneven(800, 60, 0.0), fo.MaxMin())
    assert alloc.steps[0]["status"] == "interior" and alloc.certificate.residual <= 5e-7


def test_coupled_levels_of_a_large_part_take_no_other_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fairopt.solving import levels

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a program of cvxpy")

    monkeypatch.setattr(levels.sequence, "programs", refused)
    inst = random_instance(900, 8, 2, density=0.5, seed=1, zero_demand=0.4, limits=0.2)
    assert len(inst.pairs[0]) > 3_000
    alloc = fo.solve(inst, fo.MaxMin())
    assert alloc.certificate.residual <= 1e-7


def by_server(seed: int, zero: float, decades: float) -> fo.Instance:
    """Users with limits on twelve servers, weights over some decades."""
    return random_instance(
        30, 12, 3, density=0.4, limits=0.3, seed=seed, zero_demand=zero, weight_decades=decades
    )


def test_limits_by_server_are_met_to_the_last_digits() -> None:
    """A user 1e-12 below its limit would seem free to take a server of a lower score."""
    certificate = fo.solve(by_server(121, 0.0, 0.0), fo.MaxMin("dominant-share")).certificate
    assert max(certificate.gap, certificate.residual) <= 1e-6


def test_light_users_of_last_rounds_are_proved_in_fractions() -> None:
    """Over six decades no point nearby of fourteen rounds is known to twice a float's digits."""
    alloc = fo.solve(by_server(115, 0.4, 6.0), fo.MaxMin("dominant-share"))
    assert alloc.certificate.checks[-1].name == ALL_ROUNDS
    assert (alloc.instance.used(alloc.tasks) <= alloc.instance.pool * (1 + 1e-9)).all()
