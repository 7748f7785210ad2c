"""One form of an alpha-fair question, whatever the rules: the same numbers for the same rules."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.asking import asked
from fairopt.certificates.given import given, named
from fairopt.errors import UsageError

INF = np.inf
FIELDS = (
    "log_w",
    "log_size",
    "base",
    "least",
    "most",
    "nothing",
    "within",
    "share_unit",
    "weight",
    "tasks_unit",
)
RULES = {
    "demand": [[1, 4], [3, 1], [2, 2]],
    "capacity": [[9, 18], [12, 6]],
    "placement": [[1, 1], [1, 1], [0, 1]],
    "weight": [1, 2, 0.5],
    "limit": [1.5, INF, 0.25],
}
TASKS = np.array([[0.5, 0.5], [1.0, 1.0], [0.0, 0.2]])
PRICES = np.array([[1.0, 2.0], [3.0, 4.0]])


def both(criterion: str, alpha: float = 2.0) -> list[fo.Allocation]:
    """The answer on a plain instance, and on the same with a group that has no rule."""
    group = fo.Quotas([fo.Group("g")], {"u1": "g"})
    insts = [fo.Instance(**RULES), fo.Instance(**RULES, quotas=group)]
    assert insts[0].plain and not insts[1].plain
    notion = fo.AlphaFair(alpha, criterion)
    return [fo.Allocation(inst, notion, TASKS, PRICES, [1.0, 0.0, 2.0]) for inst in insts]


@pytest.mark.parametrize("criterion", ["tasks", "drf", "dominant-share"])
def test_a_group_without_a_rule_changes_no_number(criterion: str) -> None:
    allocs = both(criterion)
    grid, listed = (asked(alloc) for alloc in allocs)
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(grid, field), getattr(listed, field), field)
    # capacities are listed by server there, by resource here; limits that are rows come last
    order = np.array([0, 2, 1, 3, *range(4, len(grid.rhs))])
    for field in ("rhs", "unit", "row_unit"):
        np.testing.assert_array_equal(getattr(grid, field)[order], getattr(listed, field))
    one, two = given(allocs[0], grid), given(allocs[1], listed)
    for field in ("x", "share", "log_money"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))
    np.testing.assert_array_equal(one.price[order], two.price)
    costs = grid.columns.cost(one.price), listed.columns.cost(two.price)
    np.testing.assert_allclose(costs[0][np.isfinite(costs[0])], costs[1], rtol=1e-15)
    for n in range(3):
        cheapest = [q.columns.cheapest(c)[n] for q, c in zip((grid, listed), costs, strict=True)]
        assert cheapest[0] == pytest.approx(cheapest[1], rel=1e-15)


@pytest.mark.parametrize("criterion", ["tasks", "drf", "dominant-share"])
@pytest.mark.parametrize("which", [0, 1])
def test_what_is_asked_is_what_the_answer_says(criterion: str, which: int) -> None:
    """Units are powers of two and cancel: shares, use of rows, costs and the objective."""
    alloc = both(criterion)[which]
    inst, question = alloc.instance, asked(alloc)
    answer, columns = given(alloc, question), question.columns
    np.testing.assert_allclose(answer.share * question.share_unit, alloc.shares, rtol=1e-15)
    row, each, entry = columns.entries(answer.held)
    used = np.bincount(row, entry * answer.x[each], len(question.rhs)) * question.row_unit
    shape = (2, 2) if which == 0 else (2, 2)[::-1]
    capacity = used[:4].reshape(shape)
    np.testing.assert_allclose(capacity if which == 0 else capacity.T, inst.used(TASKS), rtol=1e-15)
    # what a task costs at the prices given, the limit's included where it is a row
    cost = np.einsum("nir,ir->ni", inst.demand_by_server, PRICES)
    most, least = (np.where(inst.eligible, alloc.score, s).T for s in (0.0, INF))
    as_row = most.max(axis=0) > least.min(axis=0)
    cost = cost + (np.array([1.0, 0.0, 2.0]) * as_row)[:, None]
    unit = question.tasks_unit[:, None] / np.exp(answer.log_money)
    found = columns.cost(answer.price)
    found = found[np.isfinite(found)]
    np.testing.assert_allclose(found, (cost * unit)[inst.eligible], rtol=1e-14)
    # differences of log W t^(1 - alpha) are those of shares in the notion's own unit
    own = question.log_w + (1 - 2.0) * np.log(answer.share)
    right = np.log(inst.weight) - np.log(alloc.shares)
    np.testing.assert_allclose(own, right, atol=1e-12)


def test_prices_go_back_as_they_came() -> None:
    for alloc in both("dominant-share"):
        question = asked(alloc)
        answer = given(alloc, question)
        found = named(question, answer.price * np.exp(answer.log_money), alloc)
        np.testing.assert_allclose(found["prices"], PRICES, rtol=1e-15)
        # the third user runs on one server alone: its limit is a bound of its share, without price
        np.testing.assert_allclose(found["limit_prices"], [1.0, 0.0, 0.0], rtol=1e-15)


def test_a_limit_is_a_bound_of_the_share_where_a_task_counts_alike() -> None:
    tasks, mixed = (asked(both(name)[0]) for name in ("tasks", "dominant-share"))
    assert len(tasks.rhs) == 4 and len(mixed.rhs) == 5
    np.testing.assert_array_equal(tasks.most * tasks.tasks_unit, [1.5, INF, 0.25])
    assert np.isinf(mixed.most[:2]).all() and mixed.most[2] * mixed.tasks_unit[2] == 0.25


def test_prices_that_are_no_numbers_above_0_are_left_out() -> None:
    alloc = both("tasks")[0]
    for price in (0.0, 5e-324):
        found = given(alloc.with_(prices=[[1.0, price], [price, 2.0]]), asked(alloc))
        kept = found.price / asked(alloc).row_unit
        assert (kept > 0).tolist()[::3] == [True, True] and (kept[1:3] <= 5e-324).all()


def test_floors_are_bounds_and_what_is_above_them_may_be_divided() -> None:
    quotas = fo.Quotas(guarantees=[fo.Guarantee("A", "gpu", 6)])
    inst = fo.Instance([[1], [1]], [[12]], users=["A", "B"], resources=["gpu"], quotas=quotas)
    for over, base in (("floor", 0.0), ("above", 6.0)):
        notion = fo.ProportionalFair("tasks", over=over)
        question = asked(fo.Allocation(inst, notion, [[7], [5]], [[1.0]]))
        assert (question.least * question.share_unit).tolist() == [6, 0]
        assert (question.base * question.share_unit).tolist() == [base, 0]


def test_another_notion_is_no_such_question() -> None:
    inst = fo.Instance([[1.0]], [[1.0]])
    with pytest.raises(UsageError, match="not alpha-fair"):
        asked(fo.Allocation(inst, fo.MaxMin(), [[1.0]]))


def test_a_flow_without_a_bound_has_that_of_all_quotas() -> None:
    """Nobody can lend more than all are given, nor borrow more than there is: with no end, a price
    that differs by its last digit between two nodes would lose without end."""
    quotas = fo.Quotas(
        quotas=[fo.Quota("u1", "r1", 0.25, borrow=0.5), fo.Quota("u2", "r1", 0.5, borrow=9.0)]
    )
    inst = fo.Instance([[1.0], [1.0]], [[2.0]], quotas=quotas)
    question = asked(fo.Allocation(inst, fo.ProportionalFair(), [[0.25], [0.5]], [[1.0]]))
    columns = question.columns
    row, each, _ = columns.entries(columns.count + np.arange(2))
    unit = question.row_unit[row[np.unique(each, return_index=True)[1]]]
    np.testing.assert_array_equal(question.high * unit, [0.75, 0.75])
    np.testing.assert_array_equal(question.low * unit, [-0.5, -2.0])


@pytest.mark.parametrize(("tasks", "shut"), [(1.0, [True, False, False]), (0.5, [False] * 3)])
def test_a_floor_that_is_the_limit_leaves_the_best_way_alone(tasks: float, shut: list) -> None:
    """A user that may run one task, which is worth twice as much in the second way, and is promised
    as much as one task of that is worth: no other way can hold anything."""
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[4.0]],
        limit=[1.0, INF],
        modes={"u1": [fo.Mode("slow"), fo.Mode("fast", (2.0,), 2.0)]},
        quotas=fo.Quotas(guarantee_tasks={"u1": tasks}),
    )
    question = asked(
        fo.Allocation(inst, fo.ProportionalFair(), [[0.5], [1.0]], way_tasks=[[0.0], [0.5], [1.0]])
    )
    assert question.columns.shut.tolist() == shut


@pytest.mark.parametrize("inside", [False, True])
def test_the_size_of_a_logarithm_is_that_of_all_that_it_was_added_up_from(inside: bool) -> None:
    """log W = log of the weight (times alpha, inside) and (1 - alpha) log of the unit of shares:
    where they cancel, the error of each stays."""
    inst = fo.Instance([[1e-9], [1.0]], [[4.0]], weight=[1e-140, 1e140])
    notion = fo.AlphaFair(3.0, weight_inside=inside)
    question = asked(fo.Allocation(inst, notion, np.ones((2, 1))))
    weight = np.log(inst.weight) * (3.0 if inside else 1.0)
    unit = -2.0 * np.log(question.share_unit)
    np.testing.assert_allclose(question.log_w, weight + unit, rtol=1e-12)
    np.testing.assert_allclose(question.log_size, np.abs(weight) + np.abs(unit), rtol=1e-12)


@pytest.mark.parametrize("hard", [{}, {"equal_across": True}, {"equal_within": True}])
def test_questions_that_differ_in_penalties_alone_are_those_of_a_fresh_instance(hard) -> None:
    """A sweep asks them one after another: what they share must not go from one to the next."""
    inst = fo.read("kesidis2016/no-penalty").instance

    def question(on: fo.Instance, *weights: float):
        return asked(fo.Allocation(on, fo.Tradeoff(*weights, **hard), np.ones(on.shape[:2])))

    for weights in ((1.0, 2.0), (30.0, 0.0), (0.0, 7.0), (3.0, 400.0), (1.0, 2.0)):
        one, other = question(inst, *weights), question(inst.replace(), *weights)
        assert (one.pulls is None) == (other.pulls is None)
        assert one.rhs.tobytes() == other.rhs.tobytes()
        assert one.log_w.tobytes() == other.log_w.tobytes()
        if one.pulls is not None:
            assert one.pulls.log_give.tobytes() == other.pulls.log_give.tobytes()
            assert one.columns.matrix.data.tobytes() == other.columns.matrix.data.tobytes()
