"""Whole tasks: exact, within every machine, and near to the fluid answer."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.connect.plan import packing
from fairopt.connect.plan.packing import pack, whole_part
from fairopt.whole.machines import integers


def packed(instance, tasks=None):
    if tasks is None:
        tasks = fo.solve(instance, fo.MaxMin()).tasks
    demand, capacity = (
        [
            {
                key: Fraction(repr(float(x)))
                for key, x in zip(instance.resources, row, strict=True)
                if x
            }
            for row in array
        ]
        for array in (instance.demand, instance.capacity)
    )
    levels = tasks.sum(axis=1) / instance.weight
    return pack(instance, demand, capacity, tasks, levels), demand, capacity


def check(instance, found, demand, capacity):
    """Every machine counted and within its capacity, in fractions; totals that add up."""
    total = np.zeros(len(instance.users), dtype=int)
    for i, machines in enumerate(found.machines):
        assert sum(count for count, _ in machines) == instance.count[i]
        for count, tasks in machines:
            for key in instance.resources:
                used = sum(k * demand[n].get(key, 0) for n, k in tasks.items())
                assert used <= capacity[i].get(key, 0)
            for n, k in tasks.items():
                assert instance.placement[n, i]
                assert k > 0
                total[n] += k * count
    assert total.tolist() == found.totals.tolist()
    assert (found.totals <= instance.limit).all()


amounts = st.integers(1, 40).map(lambda k: k / 10)


@given(
    st.lists(st.tuples(amounts, amounts), min_size=1, max_size=5),
    st.lists(
        st.tuples(st.integers(4, 30), st.integers(4, 30), st.integers(1, 30)),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 50),
)
@settings(deadline=None, max_examples=40)
def test_what_is_placed_fits(demand, servers, limit):
    instance = fo.Instance(
        demand,
        [row[:2] for row in servers],
        count=[row[2] for row in servers],
        limit=[limit] * len(demand),
    )
    found, *exact = packed(instance)
    check(instance, found, *exact)
    due = fo.solve(instance, fo.MaxMin()).totals
    assert (found.totals <= np.ceil(due + 1e-6)).all()


def test_a_whole_answer_is_taken_as_it_is():
    instance = fo.Instance([[1, 4], [3, 1]], [[9, 18]], count=[50])
    tasks = np.array([[150.0], [100.0]])
    found, *exact = packed(instance, tasks)
    check(instance, found, *exact)
    assert found.totals.tolist() == [150, 100]
    assert found.machines == (((50, {0: 3, 1: 2}),),)


def test_rounding_is_spread_over_the_machines():
    # 2.5 tasks a machine: half of the machines hold 3 and 2, half 2 and 3
    instance = fo.Instance([[1.0], [1.0]], [[5.0]], count=[10])
    found, *exact = packed(instance, np.array([[25.0], [25.0]]))
    check(instance, found, *exact)
    assert found.totals.tolist() == [25, 25]


def test_exact_where_floats_are_not():
    # ten times 0.1 is one, of which floats know nothing
    instance = fo.Instance([[0.1]], [[1.0]])
    found, *exact = packed(instance, np.array([[10 * (1 - 1e-12)]]))
    assert found.totals.tolist() == [10]
    # ten tasks of a hair more do not fit, however near the fluid answer is to ten
    instance = fo.Instance([[0.1000000001]], [[1.0]])
    found, *exact = packed(instance, np.array([[10 * (1 - 1e-9)]]))
    check(instance, found, *exact)
    assert found.totals.tolist() == [9]


def test_lowest_level_is_rounded_up_first():
    instance = fo.Instance([[2.0], [2.0]], [[10.0]], weight=[1, 1])
    found, *exact = packed(instance, np.array([[2.5], [2.5]]))
    check(instance, found, *exact)
    assert sorted(found.totals.tolist()) == [2, 3]


def test_integers_are_exact():
    third = {"a": Fraction(1, 3), "b": Fraction(10**30)}
    table, more = integers(["a", "b"], [third], [{"a": Fraction(1, 2)}])
    assert table.tolist() == [[2, 10**30]]
    assert more.tolist() == [[3, 0]]
    assert integers(["a"], [{"a": Fraction(1, 4)}], [])[0].dtype == np.int64


@pytest.mark.parametrize(("amount", "whole"), [(0.0, 0), (0.9999999, 1), (0.999, 0), (7.0, 7)])
def test_whole_part(amount, whole):
    assert whole_part(amount) == whole


def test_few_machines_are_filled_as_well_as_can_be():
    """Tasks of 6 and 4 on machines of 10: each wants one on each, and only that mix fits all."""
    instance = fo.Instance([[6.0], [4.0]], [[10.0]], count=[3])
    found, *exact = packed(instance, np.array([[3.0], [3.0]]))
    check(instance, found, *exact)
    assert found.totals.tolist() == [3, 3]


def _most_even(sizes, room, wanted):
    """By trying all: the best smallest part of what is wanted, on two machines of one resource."""
    one = [
        y
        for y in itertools.product(*(range(w + 1) for w in wanted))
        if sum(k * s for k, s in zip(y, sizes, strict=True)) <= room
    ]
    return max(
        min(min(a + b, w) / w for a, b, w in zip(y, z, wanted, strict=True))
        for y in one
        for z in one
    )


@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=3),
    st.integers(6, 12),
    st.lists(st.integers(1, 4), min_size=3, max_size=3),
)
@settings(deadline=None, max_examples=25)
def test_the_program_finds_the_most_even_placement(sizes, room, wanted):
    wanted = wanted[: len(sizes)]
    found = packing.searched_small(
        np.array(sizes)[:, None],
        np.array([[room]]),
        np.array([2]),
        np.ones((len(sizes), 1), dtype=bool),
        wanted,
    )
    total = np.zeros(len(sizes), dtype=int)
    for tasks in found[0]:
        assert sum(k * sizes[n] for n, k in tasks.items()) <= room
        for n, k in tasks.items():
            total[n] += k
    assert (total <= wanted).all()
    least = min(t / w for t, w in zip(total.tolist(), wanted, strict=True))
    assert least == pytest.approx(_most_even(sizes, room, wanted))


def test_many_machines_are_not_modelled_one_by_one():
    need, offer = np.array([[1]]), np.array([[10]])
    assert packing.searched_small(need, offer, np.array([401]), np.ones((1, 1), bool), [9]) is None
