"""Errors of users stopped earlier in the targets of those beside them in groups."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import rounds
from fairopt.certificates.ruled.shifted import Reached, Shift
from fairopt.formulas.targets import Point, Tree

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


def alone(at: np.ndarray, user: np.ndarray, each: np.ndarray, up: np.ndarray) -> np.ndarray:
    return np.asarray(each * up[user])


def drawn(seed: int, dominant: bool) -> tuple[Tree, Point]:
    """A tree of three depths, of which some users are frozen at what they were due."""
    rng = np.random.default_rng(seed)
    parent, users = [-1, 0, 0, 1, 1, 2], int(rng.integers(5, 10))
    leaf = 6 + np.arange(users)
    parent += rng.integers(0, 6, users).tolist()
    weight = rng.choice([0.5, 1.0, 2.0, 5.0], len(parent))
    use = rng.uniform(0.1, 1.0, (users, 3)) if dominant else None
    tree = Tree.of(np.array(parent), weight, leaf, use)
    point = Point.start(tree, np.zeros(users))
    for k in rng.permutation(users)[: int(rng.integers(1, users))]:
        point = moved(point, float(rng.uniform(0.2, 1.0)))
        point = point.freeze(np.array([k]))
    return tree, moved(point, float(rng.uniform(0.2, 1.0)))


def moved(point: Point, step: float) -> Point:
    """The point that much further, jumps taken whole."""
    end = point.t + step
    while point.t < end:
        piece = point.piece()
        point = piece.end if not hasattr(piece, "until") else piece.at(min(end, piece.until))
    return point


@pytest.mark.parametrize("dominant", [False, True])
def test_targets_of_spoiled_trees_lie_within_the_bounds(dominant: bool) -> None:
    """What was frozen is changed, and the same level is looked for anew: nobody is due more or less
    than the bounds say; where one user changes, one bound is nearly met."""
    tight = 0
    for seed in range(60):
        tree, point = drawn(seed, dominant)
        rng = np.random.default_rng(seed)
        frozen = ~point.free
        if not point.free.any():
            continue
        size = 10.0 ** -rng.uniform(4, 8)
        up, down = (np.where(frozen, size * rng.random(len(frozen)), 0.0) for _ in range(2))
        shift = Shift(Reached(point, None, 0.0, np.zeros(len(frozen))), up, down, alone)
        above, below = shift.above(), shift.below(0.0)
        for sign in (1.0, -1.0, 0.0):
            part = np.where(rng.random(len(frozen)) < 0.5, 1.0, -1.0) if sign == 0 else sign
            changed = point.due * (1 + np.where(part > 0, up, -down))
            floor = np.where(frozen, changed, 0.0)
            again = Point(tree, floor, floor, 0 * tree.weight, point.free)
            again = moved(again, point.t)
            off = again.due / point.due - 1
            off = np.where(frozen, 0.0, off)
            assert (off <= above * (1 + 1e-3) + 1e-11).all(), seed
            assert (-off <= below * (1 + 1e-3) + 1e-11).all(), seed
            tight += bool((np.abs(off) > 0.5 * np.maximum(above, below)).any() and off.any())
    assert tight > 30
