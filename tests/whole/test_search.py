"""The bounded search of one node beside looking at everything, and its limits."""

from __future__ import annotations

import itertools
import random

import pytest

from fairopt.whole.proof.search import TooLong, most, root_bound


def every(items, room):
    """The largest worth, by looking at all numbers of all items."""
    return max(
        sum(m * item[0] for m, item in zip(tasks, items, strict=True))
        for tasks in itertools.product(*(range(item[2] + 1) for item in items))
        if all(
            sum(m * item[1][r] for m, item in zip(tasks, items, strict=True)) <= c
            for r, c in enumerate(room)
        )
    )


def drawn(rng):
    size = rng.randint(1, 3)
    room = [rng.randint(0, 9) for _ in range(size)]
    items = [
        (rng.randint(-1, 6), tuple(rng.randint(0, 5) for _ in range(size)), rng.randint(0, 4))
        for _ in range(rng.randint(1, 4))
    ]
    return items, room, [rng.randint(0, 3) for _ in range(size)]


@pytest.mark.parametrize("seed", range(5))
def test_the_search_finds_the_largest_worth(seed):
    rng = random.Random(seed)
    for _ in range(200):
        items, room, hint = drawn(rng)
        top, tasks = most(items, room, hint)
        assert top == every(items, room)
        assert sum(m * item[0] for m, item in zip(tasks, items, strict=True)) == top
        assert all(
            sum(m * item[1][r] for m, item in zip(tasks, items, strict=True)) <= c
            for r, c in enumerate(room)
        )
        # no hint changes what is found, and nothing above the largest is
        assert most(items, room)[0] == top
        assert most(items, room, hint, above=top) == (top, None)
        if top > 0:
            assert most(items, room, hint, above=top - 1)[1] is not None


@pytest.mark.parametrize("seed", range(4))
def test_of_many_items_that_are_one_each_the_best_are_found(seed):
    """A few of many fit, as items in bins; some of a kind may be there several times."""
    rng = random.Random(50 + seed)
    for _ in range(40):
        size = rng.randint(1, 4)
        room = [rng.randint(5, 12) for _ in range(size)]
        items = [
            (
                rng.randint(1, 9),
                tuple(rng.randint(0, 6) for _ in range(size)),
                rng.choice([1, 1, 2]),
            )
            for _ in range(8)
        ]
        hint = [rng.randint(0, 3) for _ in range(size)]
        top, tasks = most(items, room, hint)
        assert top == every(items, room)
        assert sum(m * item[0] for m, item in zip(tasks, items, strict=True)) == top
        bound = root_bound(items, room, hint)
        assert bound >= top
        assert most(items, room, hint, above=bound, limit=1) == (bound, None)


def test_items_that_do_not_fit_any_more_are_no_branches():
    """Of 60 items three fit at most: a judge looks at thousands of branches, not at millions."""
    rng = random.Random(3)
    items = [
        (rng.randint(300, 500), tuple(rng.randint(20, 60) for _ in range(6)), 1) for _ in range(60)
    ]
    top, tasks = most(items, [100] * 6, [1] * 6, limit=20_000)
    assert sum(tasks) <= 4
    assert most(items, [100] * 6, [1] * 6, above=top, limit=20_000) == (top, None)


@pytest.mark.parametrize("seed", range(3))
def test_the_first_bound_is_safe_and_checked_at_once(seed):
    rng = random.Random(100 + seed)
    for _ in range(100):
        items, room, hint = drawn(rng)
        bound = root_bound(items, room, hint)
        assert bound >= every(items, room)
        assert most(items, room, hint, above=bound, limit=1) == (bound, None)


def test_an_item_that_takes_nothing_does_not_push_out_others():
    # 4 of the first at most, so the second is worth having beside it
    assert most([(3, (0,), 4), (1, (2,), 2)], [3])[0] == 13


def test_a_search_that_is_too_long_proves_nothing():
    rng = random.Random(7)
    items = [(rng.randint(50, 99), (rng.randint(50, 99), rng.randint(50, 99)), 3) for _ in range(9)]
    with pytest.raises(TooLong) as found:
        most(items, [400, 400], limit=5)
    assert found.value.best <= most(items, [400, 400])[0]


def test_numbers_beyond_floats_are_exact():
    big = 10**400
    assert most([(big + 1, (1,), 1), (big, (1,), 1)], [1])[0] == big + 1
