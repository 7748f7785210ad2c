"""Targets in groups to twice a float's digits: each group by itself, and all of them together."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.nearby.begun import of_rounds
from fairopt.certificates.nearby.pieces import AnyPiece, UsersPiece, first
from fairopt.certificates.nearby.system import System
from fairopt.certificates.nearby.targets import DIGITS, ApartWalk, Nested, NestedWalk
from fairopt.formulas.entitled import entitled
from fairopt.formulas.targets import PathPoint, Piece, TargetTree
from tests.solving.engines.test_quotas_cuts import in_groups


@pytest.mark.parametrize("seed", range(6))
def test_groups_apart_and_together_are_due_the_same(seed: int) -> None:
    """Who is stopped where is one path: what all are due in the end, how fast their own level
    moves those who are stopped, who is settled by then and who still moves."""
    answer = fo.solve(in_groups(seed), fo.MaxMin("drf"))
    asked = entitled(answer.instance, answer.score, answer.kind)
    with localcontext() as context:
        context.prec = DIGITS
        system = System.of(answer, answer.shares)
        lots = sorted(of_rounds(system, answer, asked), key=lambda lot: lot.place)
        lots = [lot for lot in lots if lot.part is None and not lot.jumped]
        none = np.zeros(len(answer.shares), dtype=bool)
        of = Nested(asked, system.share_unit, none)
        together, apart = NestedWalk(of), ApartWalk(of, 0)
        for lot in lots:
            due, slope = together.to(lot)
            own_due, own_slope = apart.to(lot)
            np.testing.assert_array_equal(own_due[:, lot.users], due[:, lot.users])
            np.testing.assert_allclose(own_slope[lot.users], slope[lot.users], rtol=1e-15)
            together.stop(lot), apart.stop(lot)
        np.testing.assert_array_equal(together.due, apart.due)
        for one, other in zip(together.settled(lots), apart.settled(lots), strict=True):
            assert one.settled is not None and other.by is not None
            np.testing.assert_array_equal(one.settled, other.settled)
            np.testing.assert_array_equal(one.moving, other.moving)
            np.testing.assert_allclose(one.by, other.by, rtol=1e-14)


def test_each_group_by_itself_is_one_of_the_whole_tree() -> None:
    """The first pieces of the groups are those of the whole, until the first of them ends."""
    inst = in_groups(3)
    tree = entitled(inst, fo.solve(inst, fo.MaxMin("drf")).score, fo.MaxMin("drf").plain()).tree
    nothing = np.zeros(len(tree.leaf))
    whole = PathPoint.start(tree, nothing).piece()
    assert isinstance(whole, Piece)
    seen, until = np.zeros(len(tree.leaf), dtype=bool), []
    for users, own in tree.apart():
        piece = PathPoint.start(own, nothing[users]).piece()
        assert isinstance(piece, Piece)
        np.testing.assert_allclose(piece.slope, whole.slope[users], rtol=1e-15)
        assert not seen[users].any()
        seen[users], until = True, [*until, piece.until]
    assert seen.all() and min(until) == whole.until and len(until) > 1


def test_a_group_of_users_is_followed_as_its_whole_tree_is() -> None:
    """Stopped one after another, also where whoever is left uses nothing of what there is most of,
    so that the group jumps."""
    jumped = [followed_as_its_tree(seed) for seed in range(40)]
    assert any(jumped) and not all(jumped)


def followed_as_its_tree(seed: int) -> bool:
    """One group drawn from a seed, piece by piece; whether it jumps."""
    rng = np.random.default_rng(seed)
    users, grouped = 6, seed % 4 > 0
    use = rng.integers(0, 3, (users, 3)) * (rng.random((users, 3)) < 0.7) + np.eye(3)[[0, 1, 2] * 2]
    parent = np.array([-1, 0] + [1] * users) if grouped else np.array([-1] + [0] * users)
    weight = rng.integers(1, 8, len(parent)) / 4
    leaf = np.arange(len(parent) - users, len(parent))
    jumped = False
    with localcontext() as context:
        context.prec = DIGITS
        tree = TargetTree.of(parent, decimals(weight), leaf, decimals(use))
        nothing, free = decimals(np.zeros(users)), np.ones(users, dtype=bool)
        free[seed % users] = seed % 3 > 0  # of another class
        piece = first(tree, nothing, free)
        whole = AnyPiece.after(PathPoint.start(tree, nothing, free))
        assert isinstance(piece, UsersPiece)
        while piece.free.any():
            assert (piece.free == whole.free).all()
            at = np.flatnonzero(piece.free)
            assert piece.until == whole.until or abs(piece.until / whole.until - 1) < Decimal(
                "1e-40"
            )
            step = Decimal(float(rng.uniform(0.1, 1)))
            t = min(piece.until, piece.t + step)
            for told, other in (
                (piece.due(t, at), whole.due(t, at)),
                (piece.line(at), whole.line(at)),
            ):
                assert max(np.abs(told - other)) <= Decimal("1e-40")
            stopped = at[:1] if t < piece.until else at[:0]
            piece, whole = piece.next(t, stopped), whole.next(t, stopped)
            jumped |= isinstance(piece, AnyPiece)
        assert piece.until == Decimal("Infinity")
    return jumped


def decimals(values: Any) -> Any:
    """Floats as an array of decimals."""
    found = np.empty(np.shape(values), dtype=object)
    found.ravel()[:] = [Decimal(float(v)) for v in np.ravel(values)]
    return found
