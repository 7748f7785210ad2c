"""Gaps in exact fractions, against answers redone by hand and the judges in floats."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.exact import exact_gap, exact_rooms
from fairopt.certificates.levels import rooms
from fairopt.instance.generate import random_instance

ONE = fo.Instance(np.ones((2, 1)), [[6.0]])


def test_rooms_by_hand() -> None:
    alloc = fo.Allocation(ONE, fo.MaxMin("tasks"), [[2], [4]], level_prices=[[[1.0]]])
    assert exact_rooms(alloc) == [Fraction(2), Fraction(0)]
    assert exact_gap(alloc) == 2
    assert exact_gap(alloc.with_(tasks=[[3], [3]])) == 0


def test_overfull_is_shrunk_exactly() -> None:
    """10 of 6 shrinks by 6/10 in fractions, where 0.6 in floats would not be it."""
    alloc = fo.Allocation(ONE, fo.MaxMin("tasks"), [[5], [5]], level_prices=[[[1.0]]])
    assert exact_gap(alloc) == 0
    alloc = fo.Allocation(ONE, fo.MaxMin("tasks"), [[1], [9]], level_prices=[[[1.0]]])
    assert exact_rooms(alloc)[0] == Fraction(54, 10) / Fraction(6, 10)


@pytest.mark.parametrize("seed", range(6))
def test_max_min_agrees_with_floats(seed: int) -> None:
    inst = random_instance(
        20, 8, 2, density=0.1, seed=seed, zero_demand=0.3, limits=0.4 * (seed % 2)
    )
    alloc = fo.solve(inst, fo.MaxMin(("dominant-share", "tsf")[seed % 2]))
    assert 0 <= exact_gap(alloc) <= Fraction(1, 10**6)
    tasks = alloc.tasks.copy()
    tasks[seed] *= 0.9
    cut = alloc.with_(tasks=tasks, certificate=None)
    exact = np.array([float(room) for room in exact_rooms(cut) if room is not None])
    # nobody can pass its limit; the judge in floats says so only of those that are at it
    wanted = np.minimum(rooms(cut), inst.limit / cut.totals - 1)
    np.testing.assert_allclose(exact, wanted, rtol=1e-6, atol=1e-8)
    if cut.totals[seed] < inst.limit[seed] and alloc.totals[seed] < inst.limit[seed] * 0.999:
        assert exact[seed] >= 0.11


def test_levels_a_rounding_apart_are_one() -> None:
    third = np.nextafter(2.0, 3.0)
    inst = fo.Instance(np.ones((3, 1)), [[6.0]])
    alloc = fo.Allocation(inst, fo.MaxMin("tasks"), [[2], [2], [third]], level_prices=[[[1.0]]])
    assert 0 < exact_gap(alloc) < Fraction(1, 10**15)


def test_levels_are_by_weight() -> None:
    """Shares 2 and 4 at weights 1 and 2, up to a rounding, are one level."""
    inst = fo.Instance(np.ones((2, 1)), [[6.0]], weight=[1, 2])
    tasks = [[2.0], [np.nextafter(4.0, 5.0)]]
    alloc = fo.Allocation(inst, fo.MaxMin("tasks"), tasks, level_prices=[[[1.0]]])
    assert 0 < exact_gap(alloc) < Fraction(1, 10**15)


def test_throughput_by_hand() -> None:
    inst = ONE.replace(weight=[1, 2])
    best = fo.Allocation(inst, fo.Throughput(), [[0], [6]], prices=[[2.0]])
    assert exact_gap(best) == 0
    # all to the light user: 6 where 12 can be had, and prices too low are raised
    assert exact_gap(best.with_(tasks=[[6], [0]], prices=[[0.5]])) == 1
    assert exact_gap(best.with_(tasks=[[6], [0]], prices=[[0.0]])) == 1


def test_proportional_by_hand() -> None:
    """2 and 4 of 6: the mean of 3/2 and 3/4 is 9/8; the geometric one, which is less, 1.0607."""
    alloc = fo.Allocation(ONE, fo.ProportionalFair(), [[2], [4]], prices=[[0.7]])
    assert exact_gap(alloc) == Fraction(1, 8)
    assert fo.certify(alloc).gap <= 1 / 8
    assert exact_gap(alloc.with_(tasks=[[3], [3]])) == 0


@pytest.mark.parametrize("notion", [fo.ProportionalFair("drf"), fo.Throughput()])
@pytest.mark.parametrize("limits", [0.0, 0.5])
def test_solved_answers_have_tiny_exact_gaps(notion: fo.AlphaFair, limits: float) -> None:
    for seed in range(3):
        inst = random_instance(8, 4, 2, density=0.5, seed=seed, limits=limits)
        alloc = fo.solve(inst, notion)
        assert 0 <= exact_gap(alloc) <= Fraction(1, 10**6)
        worse = exact_gap(alloc.with_(tasks=alloc.tasks * 0.5))
        # half of everything can be doubled; raised prices may say more, never less
        assert worse >= Fraction(999, 1000)
        if notion.name == "proportional":
            assert worse <= Fraction(1001, 1000)


def test_what_is_refused() -> None:
    with pytest.raises(fo.UsageError, match="no level prices"):
        exact_rooms(fo.Allocation(ONE, fo.MaxMin("tasks"), [[3], [3]]))
    with pytest.raises(fo.UsageError, match="not eligible"):
        exact_gap(fo.Allocation(ONE, fo.Throughput(), [[-1], [3]], prices=[[1.0]]))
    with pytest.raises(fo.UsageError, match="alpha 2"):
        exact_gap(fo.Allocation(ONE, fo.AlphaFair(alpha=2), [[3], [3]], prices=[[1.0]]))
    with pytest.raises(fo.NotCertified, match="no prices"):
        exact_gap(fo.Allocation(ONE, fo.Throughput(), [[3], [3]]))
    free = fo.Allocation(ONE, fo.MaxMin("tasks"), [[3], [3]], level_prices=[[[0.0]]])
    assert exact_rooms(free) == [None, None]
    with pytest.raises(fo.NotCertified, match="nothing is proved"):
        exact_gap(free)
    many = fo.Instance(np.ones((101, 1)), np.ones((100, 1)))
    with pytest.raises(fo.UsageError, match="10,100 pairs"):
        exact_gap(fo.Allocation(many, fo.Throughput(), np.zeros((101, 100)), np.ones((100, 1))))
