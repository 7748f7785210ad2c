"""Errors of users stopped earlier in the targets of those beside them in groups."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import rounds
from tests.oracles import draws, nested

SUM = fo.MaxMin("tasks", measure="sum")


def beside(big: F, part: F) -> tuple[fo.Allocation, np.ndarray]:
    """a (weight `big`) and b share a group beside c; a alone needs disk, one of it; b and c share
    CPUs. a is short by a part, so that b, whose group is due as much as c, is given that.

    Right: a = 1, and b = t - 1, c = t with b + c all CPUs; returned beside the answer.
    """
    t = 1 + F(3, 2) / big
    cpu = 2 * t - 1
    inst = fo.Instance(
        [[1, 0], [0, 1], [0, 1]],
        [[1, float(cpu)]],
        weight=[float(big), 1, 1],
        users=list("abc"),
        quotas=fo.Quotas([fo.Group("g")], {"a": "g", "b": "g"}),
    )
    a = 1 - part
    wrong = (cpu + a) / 2
    told = [
        {"t": float((1 + 1 / big) * a), "users": ("a",), "prices": {"prices": [[1.0, 0.0]]}},
        {"t": float(wrong), "users": ("b", "c"), "prices": {"prices": [[0.0, 1.0]]}},
    ]
    found = fo.solve(inst, SUM)
    assert found.certificate.certified
    right = np.array([1.0, float(t - 1), float(t)])
    np.testing.assert_allclose(found.tasks[:, 0], right, rtol=1e-9)
    both = [{**old, **new} for old, new in zip(found.rounds, told, strict=True)]
    for each in both:
        each["prices"] = {"limit_prices": np.zeros(3), **each["prices"]}
        each["prices"]["prices"] = np.array(each["prices"]["prices"])
    tasks = np.array([[float(a)], [float(wrong - a)], [float(wrong)]])
    return found.with_(tasks=tasks, rounds=both, certificate=None), right


@pytest.mark.parametrize("big, part", [(1000, 5e-7), (10**5, 1e-8), (100, 9e-7), (10, 1e-3)])
def test_a_member_that_is_short_leaves_the_other_too_much(big: int, part: float) -> None:
    """b holds up to a hundredth too much, and no price of its round is paid by a."""
    answer, right = beside(F(big), F(part))
    off = np.abs(np.log(answer.tasks[:, 0] / right)).max()
    verdict = rounds.judge(answer)
    assert off > 1e-5 and not verdict.certified
    assert off <= verdict.residual <= 2.1 * off
    low, high = verdict.intervals.ends
    assert (low <= right * (1 + 1e-9)).all() and (right <= high * (1 + 1e-9)).all()


def test_without_errors_it_stays_certified() -> None:
    answer, right = beside(F(1000), F(0))
    np.testing.assert_allclose(answer.tasks[:, 0], right, rtol=1e-12)
    assert rounds.judge(answer).residual < 1e-9


def test_who_goes_on_after_a_full_resource_jumps_and_is_proved() -> None:
    """a and b fill the GPUs, so their group is as large as it may be: c, on CPUs, goes on by a jump
    and takes what d leaves."""
    inst = fo.Instance(
        [[1, 0], [1, 0], [0, 1], [0, 1]],
        [[8, 100]],
        limit=[np.inf, np.inf, np.inf, 30],
        users=list("abcd"),
        quotas=fo.Quotas(
            [fo.Group("ml"), fo.Group("web")], dict(zip("abcd", ["ml"] * 3 + ["web"], strict=True))
        ),
    )
    answer = fo.solve(inst, fo.MaxMin())
    assert answer.certificate.certified
    assert answer.rounds is not None and answer.rounds[-1]["jump"] > 0
    np.testing.assert_allclose(answer.tasks[:, 0], [4, 4, 70, 30], rtol=1e-12)


@pytest.mark.parametrize("big, part", [(10**5, 9e-10), (10**4, 1e-9), (10**5, 5e-9)])
def test_a_limit_that_is_nearly_reached_is_counted(big: int, part: float) -> None:
    """a stops a billionth below its limit; of b, whose group counts a `big` times, that is much."""
    t = 1 + 1.5 / big
    inst = fo.Instance(
        [[0, 1], [1, 0], [1, 0]],
        [[2 * t - 1, 10]],
        weight=[big, 1, 1],
        limit=[1, np.inf, np.inf],
        users=list("abc"),
        quotas=fo.Quotas([fo.Group("g")], {"a": "g", "b": "g"}),
    )
    right = fo.solve(inst, SUM)
    lower = fo.solve(inst.replace(limit=[1 - part, np.inf, np.inf]), SUM)
    wrong = fo.Allocation(inst, SUM, lower.tasks, score=right.score, rounds=lower.rounds)
    exact = nested.shares(nested.of_instance(inst))[0]
    off = np.abs(np.log(wrong.shares / exact.astype(float))).max()
    verdict = fo.certify(wrong)
    assert off > 3e-6 and not verdict.certified
    assert off <= verdict.residual


@pytest.mark.parametrize("seeds", [range(8), range(12, 20)])
def test_jumps_of_spoiled_answers_lie_within_the_bounds(seeds: range) -> None:
    """Answers of clusters a part smaller are told of the cluster itself: what each is off, of the
    answer in fractions, is within what is proved."""
    jumps = known = right = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        inst, above = draws.jumping(rng), bool(rng.random() < 0.3)
        notion = fo.MaxMin("drf", measure="dominant", over="above" if above else "floor")
        try:
            exact = nested.answer(inst, notion, criterion="drf", measure="dominant", above=above)
        except AssertionError as fault:
            assert "infeasible" in str(fault)
            continue
        jump = any(0 < each["jump"] < 1 and each["t"] > 0 for each in exact.rounds)
        jumps += jump
        own = fo.solve(inst, notion, uncertified="return").certificate
        assert own.certified or jump, seed
        right += own.certified
        for _ in range(4):
            size = 10.0 ** -rng.uniform(3, 10)
            less = 1 - size * (rng.random(inst.capacity.shape) < 0.4)
            limit = inst.limit * (1 - size * (rng.random(len(inst.limit)) < 0.5))
            try:
                smaller = inst.replace(capacity=inst.capacity * less, limit=limit)
                other = fo.solve(smaller, notion, uncertified="return")
            except fo.Infeasible:
                continue
            spoiled = fo.Allocation(
                inst, notion, other.tasks, score=exact.score, rounds=other.rounds
            )
            verdict = fo.certify(spoiled)
            with np.errstate(divide="ignore", invalid="ignore"):
                off = np.abs(np.log(spoiled.shares / exact.shares))
            off = float(np.where(spoiled.shares == exact.shares, 0.0, off).max())
            assert off <= 1e-6 or not verdict.certified, seed
            assert off <= verdict.residual * (1 + 1e-6) + 1e-13, seed
            known += jump and verdict.verdict == "refuted"
    assert jumps > 2 and known > 3 and right > 4
