"""Leaf targets of nested max-min: worked paths in fractions, and the definition by bisection."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

from fairopt.formulas.targets import Jump, PathPoint, Piece, TargetTree


def fractions(values):
    found = np.empty(np.shape(values), dtype=object)
    flat = np.asarray(values, dtype=object).ravel()
    found[...] = np.array([F(v) for v in flat], dtype=object).reshape(found.shape)
    return found


def tree(parent, weight, users, use=None):
    """The last nodes are the users."""
    parent = np.array([-1, *parent])
    leaf = np.arange(len(parent) - users, len(parent))
    return TargetTree.of(
        parent, fractions([1, *weight]), leaf, None if use is None else fractions(use)
    )


def test_a_tree_divides_the_target_of_a_group_by_weight():
    """Kueue's keps/1714 Story 3 (H1): C1{1A, 1B, 1C of weight 3}, C2{2A}."""
    kueue = tree([0, 0, 1, 1, 1, 2], [1, 1, 1, 1, 3, 1], 4)
    piece = PathPoint.start(kueue, fractions([0] * 4)).piece()
    assert isinstance(piece, Piece) and piece.until == np.inf
    assert piece.slope.tolist() == [F(1, 5), F(1, 5), F(3, 5), 1]


def test_a_group_waits_until_its_target_is_what_its_floors_hold():
    """1A is promised 80 (H4): the others of C1 begin at t = 80, 1A itself goes on at 400."""
    kueue = tree([0, 0, 1, 1, 1, 2], [1, 1, 1, 1, 3, 1], 4)
    point = PathPoint.start(kueue, fractions([80, 0, 0, 0]))
    found = []
    while (piece := point.piece()).until < np.inf:
        found.append((piece.until, piece.slope.tolist()))
        point = piece.at(piece.until)
    assert found == [(80, [0, 0, 0, 1]), (400, [0, F(1, 4), F(3, 4), 1])]
    assert point.due.tolist() == [80, 80, 240, 400]


def test_what_lags_behind_a_frozen_sibling_jumps():
    """A (weight 3, cpu) is frozen at 1/2: its group grows again when B (gpu) has caught up."""
    mixed = tree([0, 1, 1, 0], [1, 3, 1, 1], 3, [[1, 0], [0, 1], [1, 0]])
    first = PathPoint.start(mixed, fractions([0] * 3)).piece()
    assert first.slope.tolist() == [1, F(1, 3), 1]
    jump = first.at(F(1, 2)).freeze([0]).piece()
    assert isinstance(jump, Jump)
    assert jump.users.tolist() == [1]
    assert jump.start.due.tolist() == [F(1, 2), F(1, 6), F(1, 2)]
    assert jump.end.due.tolist() == [F(1, 2), F(1, 2), F(1, 2)]
    assert jump.end.piece().slope.tolist() == [0, 1, 1]
    # what is left of a line that somebody else has stopped is still ahead
    half = jump.at(F(1, 2)).freeze([2])
    assert half.due.tolist() == [F(1, 2), F(1, 3), F(1, 2)]
    assert half.piece().start.due.tolist() == half.due.tolist()
    assert half.piece().end.due.tolist() == [F(1, 2), F(1, 2), F(1, 2)]


def test_without_free_users_nothing_moves():
    flat = tree([0, 0], [1, 2], 2)
    piece = PathPoint.start(flat, fractions([1, 2]), np.zeros(2, dtype=bool)).piece()
    assert piece.slope.tolist() == [0, 0]


def by_definition(tree, point, t):
    """(N,) targets just after t: of every group the smallest v by bisection."""
    user = {int(k): n for n, k in enumerate(tree.leaf)}
    children = [np.flatnonzero(tree.parent == k).tolist() for k in range(len(tree.parent))]

    def free(k):
        return point.free[user[k]] if k in user else any([free(c) for c in children[k]])

    def at(k, target):
        if k in user:
            n = user[k]
            return {n: max(point.floor[n], target) if point.free[n] else point.floor[n]}

        def inside(v):
            return {n: s for c in children[k] for n, s in at(c, v * tree.weight[c]).items()}

        def size(v):
            return np.max(sum((tree.use[n] * s for n, s in inside(v).items()), np.zeros(1)))

        if k == 0:
            return inside(target)
        if not free(k) or size(0.0) > target:
            return inside(0.0)
        low, high = 0.0, 1.0
        while size(high) <= target:
            high *= 2
        for _ in range(44):
            middle = (low + high) / 2
            low, high = (middle, high) if size(middle) <= target else (low, middle)
        return inside(high)

    found = at(0, t * (1 + 1e-11))
    return np.array([found[n] for n in range(len(tree.leaf))])


def random_tree(rng, users, groups, depth):
    """Parents of the groups and users, by node."""
    parent, deep = [-1], [0]
    for _ in range(groups):
        above = int(rng.choice(np.flatnonzero(np.array(deep) < depth - 1)))
        parent.append(above)
        deep.append(deep[above] + 1)
    parent += rng.integers(0, groups + 1, users).tolist()
    return np.array(parent), np.arange(groups + 1, groups + 1 + users)


@pytest.mark.parametrize("seed", range(60))
def test_the_path_is_the_definition(seed):
    rng = np.random.default_rng(seed)
    users = int(rng.integers(2, 7))
    parent, leaf = random_tree(rng, users, int(rng.integers(0, 4)), 3)
    use = rng.integers(0, 3, (users, int(rng.integers(1, 4)))) / 2
    use[np.arange(users), rng.integers(0, use.shape[1], users)] = 1
    use = None if use.shape[1] == 1 else use
    floor = np.where(rng.random(users) < 0.4, rng.integers(0, 5, users) / 4, 0.0)
    nested = TargetTree.of(parent, rng.choice([0.25, 1, 1, 3, 4], len(parent)), leaf, use)
    point = PathPoint.start(nested, floor)
    before = point.due
    for _ in range(3):
        t = point.t + rng.integers(1, 5) / 8
        piece = point.piece()
        while isinstance(piece, Jump) or piece.until <= t:
            point = piece.end if isinstance(piece, Jump) else piece.at(piece.until)
            piece = point.piece()
        point = piece.at(t)
        known = np.maximum(by_definition(nested, point, t), before)
        np.testing.assert_allclose(point.due, known, rtol=1e-8, atol=1e-9)
        before = point.due
        point = point.freeze([int(rng.integers(users))])


def test_a_piece_may_be_shorter_than_the_last_digit_of_its_level() -> None:
    """A group of target 1 holds 1 - 2e-6 frozen; its two users follow at 1e-6 each, the second a
    part 1e-11 ahead: that is 1e-17 of the level until both move."""
    tree = TargetTree.of(
        np.array([-1, 0, 1, 1, 1]), np.array([1.0, 1.0, 1.0, 1.0, 1.0]), np.array([2, 3, 4])
    )
    floor = np.array([1 - 2e-6, 0.0, 1e-6 * (1 + 1e-11)])
    due = np.array([1 - 2e-6, 1e-6, floor[2]])
    here = PathPoint(
        tree, floor, due, np.array([1.0, 1e-6, 0, 0, 0]), np.array([False, True, True])
    )
    first = here.piece()
    assert isinstance(first, Piece) and first.until == here.t and not first.slope[2]
    after = first.at(first.until)
    assert after.v[1] > here.v[1] and after.t == here.t
    then = after.piece()
    assert isinstance(then, Piece) and (then.slope[1:] > 0).all()
