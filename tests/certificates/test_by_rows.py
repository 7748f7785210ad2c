"""A Newton step with users eliminated solves the system that it was made from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairopt as fo
from fairopt import fast
from fairopt.certificates import active, steps
from fairopt.certificates import by_rows as module
from fairopt.certificates.by_rows import Missing, by_rows
from fairopt.instance.generate import random_instance


def system(rng: np.random.Generator, users: int, limited: float, flows: int = 0) -> Missing:
    """Users with 1 to 4 columns in 5 shared rows, some with a row of their own."""
    owner = np.concatenate([np.full(int(rng.integers(1, 5)), n) for n in range(users)])
    owner = np.concatenate([owner, np.full(flows, -1)])
    held = len(owner)
    each = np.repeat(np.arange(held), 2)
    row = np.argsort(rng.random((held, 5)), axis=1)[:, :2].ravel()
    entry = rng.uniform(0.1, 1, len(row))
    own = np.flatnonzero(rng.random(users) < limited)
    at = np.full(users, -1)
    at[own] = 5 + np.arange(len(own))
    mine = np.flatnonzero((owner >= 0) & (at[owner] >= 0))
    row = np.concatenate([row, at[owner[mine]]])
    each = np.concatenate([each, mine])
    entry = np.concatenate([entry, rng.uniform(0.5, 2, len(mine))])
    rows = 5 + len(own)
    return Missing(
        owner,
        rng.uniform(0.1, 1, held),
        np.arange(rows),
        row,
        each,
        entry,
        1e-6 * rng.normal(size=held),
        1e-6 * rng.normal(size=rows),
        1e-6 * rng.normal(size=users),
        rng.uniform(0.2, 2, users),
        np.ones(held),
        np.ones(rows),
        np.ones(users),
        rows,
        np.zeros(rows),
    )


def missed(wanted: Missing, step: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[np.ndarray]:
    """What the step leaves of each block of the system, in its own words."""
    dz, dp, dv = step
    tied = wanted.owner >= 0
    paid = np.bincount(wanted.each, wanted.entry * dp[wanted.row], len(dz))
    value = np.where(tied, dv[np.where(tied, wanted.owner, 0)], 0.0)
    used = np.bincount(wanted.row, wanted.entry * dz[wanted.each], len(dp))
    risen = np.bincount(wanted.owner[tied], dz[tied], len(dv))
    return [
        module.PULL * dz / wanted.part + paid - value - wanted.error,
        used - module.LOOSE * dp - wanted.left,
        risen + wanted.bend * dv - wanted.miss,
    ]


@pytest.mark.parametrize(("chunk", "full"), [(1 << 20, module.DENSE), (64, 0)])
@pytest.mark.parametrize("flows", [0, 3])
@pytest.mark.parametrize("limited", [0.0, 0.5, 1.0])
def test_the_step_solves_the_system(
    monkeypatch, limited: float, flows: int, chunk: int, full: int
) -> None:
    monkeypatch.setattr(module, "OWN", 20)
    monkeypatch.setattr(module, "CHUNK", chunk)
    monkeypatch.setattr(module, "DENSE", full)
    for seed in range(5):
        wanted = system(np.random.default_rng([seed, flows]), 60, limited, flows)
        step = by_rows(wanted)
        assert step is not None
        size = 1 + np.abs(step[0]).max()  # contradicting errors move columns by 1e-6 / PULL
        for left in missed(wanted, step):
            assert np.abs(left).max() <= 1e-12 * size


@pytest.mark.parametrize("density", [0.5, 1.0])
def test_first_steps_row_by_row_are_those_of_the_whole_system(monkeypatch, density: float) -> None:
    """The same prices and values; columns that cost the same may lie elsewhere."""
    met, honest = [], steps.solved

    def noted(wanted, floats, nearing):
        met.append(wanted)
        return honest(wanted, floats, nearing)

    monkeypatch.setattr(active, "solved", noted)
    fo.solve(random_instance(30, 10, 3, density=density, seed=1), fo.ProportionalFair())
    whole = [honest(wanted) for wanted in met]
    monkeypatch.setattr(steps, "_whole", lambda *_: pytest.fail("formed whole"))
    first = [honest(wanted, nearing=True) for wanted in met]
    assert met
    for one, other in zip(whole, first, strict=True):
        for a, b in zip(one[1:], other[1:], strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * np.abs(a).max())


def test_without_rows_of_their_own_it_is_the_same_step(monkeypatch) -> None:
    wanted = system(np.random.default_rng(1), 60, 0.5)
    steps = []
    for own in (20, 1000):
        monkeypatch.setattr(module, "OWN", own)
        steps.append(by_rows(wanted))
    for a, b in zip(*steps, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_too_many_shared_rows_are_left_alone(monkeypatch) -> None:
    monkeypatch.setattr(module, "ROWS", 4)
    assert by_rows(system(np.random.default_rng(1), 60, 0.0)) is None


def jobs(users: int, seed: int) -> tuple[fo.Instance, fo.AlphaFair]:
    """Jobs on four kinds of machines, each at most all of its time, throughput by kind."""
    rng = np.random.default_rng(seed)
    scale = rng.choice([1.0, 2.0, 4.0, 8.0], users)
    machines = rng.uniform(0.5, 1.5, (4, 1)) * scale.sum() / 6
    score = rng.lognormal(0, 0.5, (users, 4)) * [1.0, 1.5, 2.0, 4.0]
    inst = fo.Instance(scale[:, None], machines, limit=np.ones(users))
    return inst, fo.AlphaFair(1.0, criterion=lambda _: score)


def test_limits_that_are_rows_of_many_users() -> None:
    """6,000 limits, more than 3,000 reached: more rows than a matrix is made of."""
    inst, notion = jobs(6_000, 0)
    found = fo.solve(inst, notion)
    assert found.certificate.certified
    assert (found.totals > 1 - 1e-9).sum() > 3_000
    less = found.tasks.copy()
    less[7] *= 1 - 1e-4
    assert not fo.certify(found.with_(tasks=less, certificate=None)).certified


def one_light(weight: float) -> fo.Instance:
    """500 users on 60 servers, of whom one has a weight of its own."""
    rng = np.random.default_rng(3)
    demand, capacity = rng.uniform(0.1, 1, (500, 4)), rng.uniform(5, 20, (60, 4))
    placement = rng.random((500, 60)) < 0.1
    placement[np.arange(500), rng.integers(0, 60, 500)] = True
    weights = np.ones(500)
    weights[5] = weight
    return fo.Instance(demand, capacity, placement, weight=weights)


@pytest.mark.parametrize("weight", [1e-7, 1e-12, 1e-20])
def test_one_light_user_among_many_is_proved(weight: float) -> None:
    """What is left by a step is refined, and of the lightest more floats are taken."""
    alloc = fo.solve(one_light(weight), fo.ProportionalFair())
    assert alloc.certificate.certified
    tasks = alloc.tasks.copy()
    tasks[5] *= 0.99
    short = fo.certify(alloc.with_(tasks=tasks))
    assert short.verdict == "refuted"
    assert short.residual >= 0.01


def test_no_minutes_for_what_no_other_method_finds_better() -> None:
    """A user of 1e-30 of the weight needs more floats than are tried of so many users."""
    alloc = fo.solve(one_light(1e-30), fo.ProportionalFair(), uncertified="return")
    assert not alloc.certificate.certified
    assert {step["step"] for step in alloc.steps} <= {"interior", "nearby", "polish"}


@pytest.mark.skipif(not fast.available(), reason="numba is not installed")
def test_a_compiled_step_is_the_same(monkeypatch):
    rng = np.random.default_rng(12)
    for size in (40, 400):
        wanted = system(rng, size, 0.0)
        plain = by_rows(wanted)
        monkeypatch.setenv(fast.CHOICE, "1")
        assert module.kernels.applies(wanted.owner, wanted.each)
        loops = by_rows(wanted)
        monkeypatch.delenv(fast.CHOICE)
        assert not module.kernels.applies(wanted.owner, wanted.each)  # too little to do
        assert plain is not None and loops is not None
        for one, other in zip(plain, loops, strict=True):
            np.testing.assert_allclose(other, one, atol=1e-12)
        for left, other in zip(missed(wanted, plain), missed(wanted, loops), strict=True):
            assert np.abs(other).max() < 1e-14 * size + 10 * np.abs(left).max()


def test_loops_sum_up_what_matrices_do():
    """The loops as plain Python, beside A and V as matrices."""
    rng = np.random.default_rng(13)
    wanted = system(rng, 30, 0.0)
    held, users, rows = len(wanted.owner), len(wanted.miss), len(wanted.rows)
    a = np.zeros((rows, held))
    a[wanted.row, wanted.each] = wanted.entry
    apart, ratio = rng.random(held) * (rng.random(held) < 0.5), rng.random(held)
    together = rng.normal(size=users) * (np.arange(users) % 3 > 0)
    v = np.zeros((rows, users))
    np.add.at(v.T, wanted.owner, (a * ratio).T)
    found = np.zeros((rows, rows))
    module.kernels._squares(
        wanted.row, wanted.each, wanted.entry, wanted.owner, apart, ratio, together, found
    )
    np.testing.assert_allclose(found, (a * apart) @ a.T + (v * together) @ v.T, atol=1e-13)


def test_flows_and_disorder_are_left_to_matrices(monkeypatch):
    monkeypatch.setenv(fast.CHOICE, "1")
    owner, each = np.array([0, 0, 1]), np.array([0, 1, 2])
    assert module.kernels.applies(owner, each) == fast.available()
    assert not module.kernels.applies(np.array([0, 1, -1]), each)
    assert not module.kernels.applies(np.array([1, 0, 2]), each)
    assert not module.kernels.applies(owner, each[::-1])


def test_users_move_where_no_row_is_full() -> None:
    """Nobody shares a row: each user's columns are brought to what it misses, by themselves."""
    rng = np.random.default_rng(3)
    wanted = system(rng, 40, 0.0)
    none = np.zeros(0, dtype=np.int64)
    empty = np.zeros(0)
    alone = replace(
        wanted,
        rows=none,
        row=none,
        each=none,
        entry=empty,
        left=empty,
        norm=empty,
        give=empty,
        count=0,
    )
    step = by_rows(alone)
    assert step is not None
    assert step[1].shape == (0,)
    size = 1 + np.abs(step[0]).max()
    for left in missed(alone, step):
        assert np.abs(left).max(initial=0.0) <= 1e-12 * size


def test_everybody_at_a_limit_but_for_rounding_is_proved_exactly() -> None:
    """No row is full: what rounding of sums leaves of limits was never made up for, of many."""
    rng = np.random.default_rng(1)
    users, servers = 2_000, 4
    limit = rng.lognormal(0, 1, users)
    inst = fo.Instance(rng.uniform(0.1, 1, (users, 2)), np.full((servers, 2), 1e4), limit=limit)
    part = rng.uniform(0.1, 1, (users, servers))
    tasks = part / part.sum(axis=1)[:, None] * limit[:, None]
    assert (tasks.sum(axis=1) < limit).any()
    alloc = fo.Allocation(
        inst, fo.AlphaFair(0.5), tasks, np.zeros((servers, 2)), limit_prices=limit**-0.5
    )
    verdict = fo.certify(alloc)
    assert verdict.certified
    assert verdict.residual < 1e-15
