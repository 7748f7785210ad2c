"""Systems in which equations multiply unknowns, beside roots that are known."""

from __future__ import annotations

from fractions import Fraction as F
from math import isqrt

import numpy as np
import pytest

from fairopt.certificates.enclosed_products import regular
from fairopt.certificates.follows import Follows


def ends(system, c: int) -> tuple[F, F]:
    low, high = system.value({c: 1})
    one = 1 << system.bits
    return F(low, one), F(high, one)


@pytest.mark.parametrize("square", [2, 3, 10**9 + 7])
@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-3])
def test_a_root_is_enclosed(square: int, off: float) -> None:
    """x y = n, x = y, z = x + 3."""
    root = square**0.5
    given = [root * (1 + off), root * (1 - off), root + 3]
    rows, right = [{}, {0: 1, 1: -1}, {2: 1, 0: -1}], [square, 0, 3]
    system = regular(rows, {0: [(1, 0, 1)]}, right, 0, [root, root, root + 3], given)
    assert system is not None
    digits = 400
    below = F(isqrt(square << (2 * digits)), 1 << digits)
    low, high = ends(system, 0)
    assert low <= below + F(1, 1 << digits) and below <= high and high - low < F(1, 1 << 480)
    assert ends(system, 2)[0] <= below + 3 + F(1, 1 << digits)
    # what other equations say follows, what products say does not
    follows = Follows(system)
    assert follows.gives({1: 1, 2: -1}, -3)
    assert not follows.gives({0: 1, 1: -1, 2: 5}, 5 * 4)
    assert Follows(system)._fewer is None


@pytest.mark.parametrize("seed", range(8))
def test_points_of_lines_are_enclosed(seed: int) -> None:
    """v = s + part (e - s), with all of them known but part, which v of another line tells."""
    rng = np.random.default_rng(seed)
    s, e, t, f = (int(v) for v in rng.integers(1, 99, 4))
    e, f = s + e, t + f
    part = F(int(rng.integers(1, 99)), 100)
    v, w = s + part * (e - s), t + part * (f - t)
    # unknowns: part, v, w, s, e, t, f
    rows = [{1: 1, 3: -1}, {2: 1, 5: -1}, {3: 1}, {4: 1}, {5: 1}, {6: 1}, {1: 100}]
    right = [0, 0, s, e, t, f, int(100 * v)]
    times = {0: [(-1, 0, 4), (1, 0, 3)], 1: [(-1, 0, 6), (1, 0, 5)]}
    exact = [part, v, w, F(s), F(e), F(t), F(f)]
    given = [float(x) * (1 + 1e-10) for x in exact]
    system = regular(rows, times, right, 0, [float(x) for x in exact], given)
    assert system is not None
    for c, x in enumerate(exact):
        low, high = ends(system, c)
        assert low <= x <= high and high - low < x / 2**400


def test_where_two_roots_meet_nothing_is_enclosed() -> None:
    """x x = 2 x - 1 touches its root, and x x = -1 has none."""
    for row, right in (({0: -2}, -1), ({}, -1)):
        assert regular([row], {0: [(1, 0, 0)]}, [right], 0, [1.0], [1.0]) is None
