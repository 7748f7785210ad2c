"""Equal rows, or equal columns, of several arrays at once: found by hashing, then checked exactly.

Equal means equal bytes: there is no tolerance. Rows with the same hash are compared with the first
of their group; if two of them differ (a collision), the rows are sorted instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairopt.instance import Bools, Floats, Ints

Words = NDArray[np.uint64]
BLOCK = 1 << 17
"""entries processed at a time, so that they stay in the cache"""
FEW_LINES, SMALL = 200, 50_000
"""lines, and entries, up to which lines are told apart by a dict of their bytes"""
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Groups:
    """A partition: `of` (K,) the group of each member, `first` (G,) the first member of each group.

    Groups are numbered in the order of their first members.
    """

    of: Ints
    first: Ints

    @property
    def merged(self) -> bool:
        """Whether any group has several members."""
        return len(self.first) < len(self.of)

    def sums(self, values: Floats) -> Floats:
        """(G,) sum of `values` (K,) over each group."""
        return np.asarray(np.bincount(self.of, values, len(self.first)), dtype=np.float64)

    def largest(self, values: Floats) -> Floats:
        """(G,) largest of `values` (K,) in each group."""
        top = np.full(len(self.first), -np.inf)
        np.maximum.at(top, self.of, values)
        return top

    @classmethod
    def single(cls, size: int) -> Groups:
        """The partition in which every member is a group of its own."""
        return cls(np.arange(size), np.arange(size))


def equal_lines(
    cheap: Sequence[NDArray[Any]], dear: Sequence[NDArray[Any]] = (), axis: int = 0
) -> Groups:
    """Groups of lines (rows for axis 0, columns for axis 1) that are equal in every array.

    Parameters
    ----------
    cheap, dear : 2-D arrays of float64 or bool with the same length along `axis`. Lines are grouped
        by the cheap ones. The dear ones are large and usually equal where the cheap ones are: they
        are only compared, and hashed if that finds a difference.
    """
    blocks = [*cheap, *dear]
    many = blocks[0].shape[axis]
    if many <= FEW_LINES and sum(block.size for block in blocks) <= SMALL:
        return _by_bytes(blocks, axis)
    for hashed in (list(cheap), blocks) if dear else (blocks,):
        groups = _by_key(_hash(hashed, axis))
        if not groups.merged or not _differ(blocks, groups, axis).any():
            return groups
    lines = [_words(block if axis == 0 else block.T, 0) for block in blocks]
    _, key = np.unique(np.concatenate(lines, axis=1), axis=0, return_inverse=True)
    return _by_key(key.ravel().astype(np.uint64))


def _by_bytes(blocks: Sequence[NDArray[Any]], axis: int) -> Groups:
    """Groups of lines with equal bytes, without a hash of our own and without sorting."""
    lines = []
    for block in blocks:
        # -0.0 is 0.0
        across = block if axis == 0 else block.T
        data = (across if across.dtype == np.bool_ else across + 0.0).tobytes()
        width = len(data) // len(across)
        lines.append([data[k : k + width] for k in range(0, len(data), width)] if width else [])
    keys = list(zip(*(some for some in lines if some), strict=True))
    first: dict[tuple[bytes, ...], int] = {}
    place = [first.setdefault(key, k) for k, key in enumerate(keys)]
    if len(first) == len(place):
        return Groups.single(len(place))
    position = {k: number for number, k in enumerate(first.values())}
    return Groups(np.array([position[k] for k in place]), np.array(list(first.values())))


def _by_key(key: Words) -> Groups:
    """Groups of equal keys."""
    ordered = np.sort(key)  # several times as fast as to order, and mostly all are different
    if (ordered[1:] != ordered[:-1]).all():
        return Groups.single(len(key))
    order = np.argsort(key, kind="stable")
    start = np.ones(len(key), bool)
    start[1:] = key[order[1:]] != key[order[:-1]]
    first = order[start]
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    of = np.empty(len(key), dtype=np.int64)
    of[order] = rank[np.cumsum(start) - 1]
    return Groups(of, np.sort(first))


def _differ(blocks: Sequence[NDArray[Any]], groups: Groups, axis: int) -> Bools:
    """(K,) whether a line differs from the first of its group."""
    like = groups.first[groups.of]
    found = np.zeros(len(like), bool)
    others = np.flatnonzero(like != np.arange(len(like)))
    if axis == 1:
        first = like[others]
        for block in blocks:
            step = max(1, BLOCK // max(len(others), 1))
            for begin in range(0, len(block), step):
                lines = block[begin : begin + step]
                found[others] |= (lines[:, others] != lines[:, first]).any(axis=0)
        return found
    for block in blocks:
        step = max(1, BLOCK // max(block.shape[1], 1))
        for begin in range(0, len(others), step):
            rows = others[begin : begin + step]
            found[rows] |= (block[rows] != block[like[rows]]).any(axis=1)
    return found


def _hash(blocks: Sequence[NDArray[Any]], axis: int) -> Words:
    """(K,) one word for each line: random odd multiples of its mixed words, summed modulo 2^64."""
    draw = np.random.default_rng(0)
    total = np.zeros(blocks[0].shape[axis], dtype=np.uint64)
    for block in blocks:
        total = _mixed(total) + (_row_hash if axis == 0 else _column_hash)(block, draw)
    return total


def _row_hash(block: NDArray[Any], draw: np.random.Generator) -> Words:
    found = np.empty(len(block), dtype=np.uint64)
    factor = _odd(draw, _words(block[:1], 0).shape[1])
    step = max(1, BLOCK // max(block.shape[1], 1))
    for begin in range(0, len(block), step):
        rows = slice(begin, begin + step)
        found[rows] = _mixed(_words(block[rows], 0)) @ factor
    return found


def _column_hash(block: NDArray[Any], draw: np.random.Generator) -> Words:
    found = np.zeros(block.shape[1], dtype=np.uint64)
    step = 64 * max(1, BLOCK // max(block.shape[1], 1) // 64)
    for begin in range(0, len(block), step):
        words = _words(block[begin : begin + step], 1)
        found += _odd(draw, len(words)) @ _mixed(words)
    return found


def _odd(draw: np.random.Generator, size: int) -> Words:
    return draw.integers(2**63, size=size, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _mixed(words: Words) -> Words:
    """Words in which every bit depends on many bits: the low bits of most floats are zeros."""
    spread = words * _MIX
    return spread ^ (spread >> np.uint64(32))


def _words(block: NDArray[Any], axis: int) -> Words:
    """The array as words of 64 bits; booleans are packed along the lines that are compared."""
    if block.dtype != np.bool_:
        return np.ascontiguousarray(block + 0.0).view(np.uint64)
    packed = np.packbits(block, axis=1 - axis)
    if axis == 1:
        return packed.astype(np.uint64)
    padded = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
