"""Equal lines are found exactly, whatever the hash says; products are compared without error."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairopt.solving.reduce import groups as module
from fairopt.solving.reduce.groups import Groups, equal_lines
from fairopt.solving.reduce.merging import at_most, equal_products

NUMBERS = st.one_of(
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.6, 1.0, 1 / 3, 2 / 3, 3.0, 6.0, 7.0]),
    st.floats(1e-300, 1e300),
)


def exactly(a: float, b: float, c: float, d: float) -> int:
    """-1, 0 or 1 as a b is below, equal to or above c d."""
    difference = Fraction(a) * Fraction(b) - Fraction(c) * Fraction(d)
    return (difference > 0) - (difference < 0)


@given(st.lists(NUMBERS, min_size=4, max_size=4))
def test_what_is_claimed_of_products_is_true(numbers: list[float]) -> None:
    arrays = [np.array([x]) for x in numbers]
    sign = exactly(*numbers)
    if equal_products(*arrays)[0]:
        assert sign == 0
    if at_most(*arrays)[0]:
        assert sign <= 0
    if all(x == 0 or 1e-130 < x < 1e130 for x in numbers):
        # in the range where nothing can over- or underflow the answer is complete
        assert equal_products(*arrays)[0] == (sign == 0)
        assert at_most(*arrays)[0] == (sign <= 0)


def test_products_that_only_round_to_the_same_number() -> None:
    a, b = np.array([1.0 + 2.0**-30]), np.array([1.0 - 2.0**-30])
    one = np.array([1.0])
    assert a * b == one * one  # exactly 1 - 2^-60
    assert not equal_products(a, b, one, one)[0]
    assert at_most(a, b, one, one)[0] and not at_most(one, one, a, b)[0]
    assert equal_products(a, b, b, a)[0]


def partition(lines: list[tuple[object, ...]]) -> list[int]:
    """Group numbers in the order of first appearance, the plain way."""
    seen: dict[tuple[object, ...], int] = {}
    return [seen.setdefault(line, len(seen)) for line in lines]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dear", [False, True])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [40, 300])
def test_groups_are_those_of_equal_tuples(size: int, axis: int, dear: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = int(rng.integers(1, 40))
    of = rng.integers(kinds, size=size)
    blocks = [
        rng.integers(3, size=(kinds, 2)).astype(float)[of],
        (rng.random((kinds, 13)) < 0.5)[of],
        rng.integers(2, size=(kinds, 3))[of] * 0.1,
    ]
    lines = [tuple(map(tuple, (block[k] for block in blocks))) for k in range(size)]
    turned = blocks if axis == 0 else [np.ascontiguousarray(block.T) for block in blocks]
    found = equal_lines(turned[:1], turned[1:], axis) if dear else equal_lines(turned, (), axis)
    assert found.of.tolist() == partition(lines)
    assert found.first.tolist() == [found.of.tolist().index(g) for g in range(len(found.first))]


@pytest.mark.parametrize("axis", [0, 1])
def test_a_hash_that_collides_changes_nothing(axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    block, more = rng.integers(3, size=(60, 2)) * 1.0, rng.random((60, 70)) < 0.02
    lines = [(tuple(a), tuple(b)) for a, b in zip(block, more, strict=True)]
    blocks = [block, more] if axis == 0 else [block.T, more.T]
    monkeypatch.setattr(module, "FEW_LINES", 0)
    monkeypatch.setattr(
        module, "_hash", lambda b, axis: np.zeros(b[0].shape[axis], dtype=np.uint64)
    )
    assert equal_lines(blocks, (), axis).of.tolist() == partition(lines)


def test_pieces_of_a_large_array_hash_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    wide = rng.random((200, 90))[rng.integers(200, size=400)]
    whole = equal_lines([wide])
    monkeypatch.setattr(module, "BLOCK", 1000)
    np.testing.assert_array_equal(equal_lines([wide]).of, whole.of)
    np.testing.assert_array_equal(equal_lines([wide.T], (), 1).of, whole.of)
    assert whole.merged


@pytest.mark.parametrize("axis", [0, 1])
def test_bytes_and_hash_find_the_same_groups(axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    block = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    blocks = [block if axis == 0 else block.T, np.ones((4, 4), bool)]
    by_bytes = equal_lines(blocks, (), axis)
    monkeypatch.setattr(module, "FEW_LINES", 0)
    by_hash = equal_lines(blocks, (), axis)
    assert by_bytes.of.tolist() == by_hash.of.tolist() == [0, 0, 1, 0]
    assert by_bytes.first.tolist() == by_hash.first.tolist() == [0, 2]


def test_sums_and_largest_of_groups() -> None:
    found = Groups(np.array([0, 1, 0, 2]), np.array([0, 1, 3]))
    assert found.sums(np.array([1.0, 2.0, 4.0, np.inf])).tolist() == [5.0, 2.0, np.inf]
    assert found.largest(np.array([1.0, -2.0, 4.0, 0.0])).tolist() == [4.0, -2.0, 0.0]
    assert found.merged and not Groups.single(3).merged
