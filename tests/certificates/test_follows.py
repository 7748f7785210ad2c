"""Unknowns that are multiples of others, along chains of links."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairopt.certificates.follows import _linked


@given(st.integers(0, 10_000))
def test_every_unknown_is_the_multiple_that_links_say(seed: int) -> None:
    """Links in random order, so that chains grow at both ends: of true values, each a power of two
    times others."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 12))
    group = rng.integers(0, 3, size)
    base = [Fraction(3, 7), Fraction(5), Fraction(11, 2)]
    value = [
        base[g] * Fraction(2) ** int(e)
        for g, e in zip(group, rng.integers(-9, 9, size), strict=True)
    ]
    links = [
        (j, k, value[j] / value[k])
        for j, k in rng.permutation([(a, b) for a in range(size) for b in range(size)]).tolist()
        if j != k and group[j] == group[k] and rng.random() < 0.6
    ]
    found = _linked(size, links)
    for j, (top, times) in enumerate(found):
        assert group[top] == group[j]
        assert value[j] == times * value[top]
    for j, k, _ in links:
        assert found[j][0] == found[k][0]
