"""What stops users under groups, quotas and modes, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt import measures
from fairopt.formulas.blocked import Blocked
from fairopt.formulas.blocked_rules import free
from tests.quota_cases import cards

TASKS = fo.MaxMin("tasks")


def cluster(gpus: float = 12.0, limit=None, **quotas) -> fo.Instance:
    """Users a and b in org, and c beside it."""
    return fo.Instance(
        [[1], [1], [1]],
        [[gpus]],
        limit=limit,
        users=["a", "b", "c"],
        servers=["pool"],
        resources=["gpu"],
        quotas=fo.Quotas([fo.Group("org")], {"a": "org", "b": "org"}, **quotas),
    )


def stops(inst: fo.Instance, tasks, **prices) -> list[tuple[str, str | None]]:
    found = fo.Allocation(inst, TASKS, np.reshape(tasks, (-1, 1)), **prices).blocked
    return [(stop.user, stop.server) for stop in found]


def test_ceilings_stop_those_below_them():
    inst = cluster(bounds=[fo.Bound("org", "gpu", 6), fo.Bound("a", "gpu", 5)])
    assert stops(inst, [3, 3, 5]) == [("a", "org's ceiling"), ("b", "org's ceiling")]
    assert stops(inst, [5, 0, 5]) == [("a", "a's ceiling")]
    assert stops(inst, [3, 2, 7]) == [("a", "pool"), ("b", "pool"), ("c", "pool")]
    kinds = cluster(bounds=[fo.Bound("org", "gpu", 6, "none")], flavors={"none": []})
    assert stops(kinds, [3, 3, 5]) == []


def test_a_limit_stops_alone_and_prices_tell_what_matters():
    inst = cluster(limit=[3, 99, 99], bounds=[fo.Bound("org", "gpu", 6)])
    alloc = fo.Allocation(
        inst, TASKS, [[3], [3], [6]], prices=[[0.5]], bound_prices=[0.25], limit_prices=[1, 0, 0]
    )
    assert alloc.blocked == (
        Blocked("a", None, None, 1.0),
        Blocked("b", "pool", "gpu", 0.5),
        Blocked("b", "org's ceiling", "gpu", 0.25),
        Blocked("c", "pool", "gpu", 0.5),
    )
    # a full resource without a price stops nobody
    free = alloc.with_(prices=[[0.0]])
    assert [stop.server for stop in free.blocked] == [None, "org's ceiling"]


def test_quotas_stop_where_nothing_is_left_on_the_way_up():
    inst = cluster(100, quotas=[fo.Quota("org", "gpu", 4), fo.Quota("c", "gpu", 6, lend=2)])
    # org has 4 and c lends 2; c has what it does not lend, until it uses more than 4
    assert stops(inst, [3, 3, 1]) == [("a", "the quota of all"), ("b", "the quota of all")]
    assert stops(inst, [2, 2, 6]) == [
        ("a", "the quota of all"),
        ("b", "the quota of all"),
        ("c", "the quota of all"),
    ]
    assert stops(inst, [2, 2, 1]) == []
    own = cluster(100, quotas=[fo.Quota("org", "gpu", 4, borrow=1), fo.Quota("c", "gpu", 6)])
    assert stops(own, [3, 2, 1]) == [("a", "org's quota"), ("b", "org's quota")]
    kinds = cluster(
        100, quotas=[fo.Quota("org", "gpu", 4, borrow=0, flavor="all")], flavors={"all": ["pool"]}
    )
    alloc = fo.Allocation(kinds, TASKS, [[4], [0], [0]], node_prices=[[1, 2, 3, 4, 5]])
    assert alloc.blocked[0] == Blocked("a", "org's quota of all", "gpu", 2.0)


def test_a_user_with_modes_is_stopped_by_what_any_of_them_needs():
    x = [[4.0], [0], [0], [0]]
    alloc = fo.Allocation(cards(), TASKS, None, way_tasks=x)
    assert [(s.user, s.resource) for s in alloc.blocked] == [("a", "A100"), ("b", "A100")]


def test_a_frame_of_an_answer_with_modes_has_a_row_for_each_mode():
    pytest.importorskip("pandas")
    alloc = fo.Allocation(cards(), TASKS, None, way_tasks=[[4.0], [1], [0], [3]])
    rows = alloc.to_frame().values.tolist()
    assert [row[:4] for row in rows] == [
        ["a", "node", "A100", 4],
        ["a", "node", "T4", 1],
        ["b", "node", "T4", 3],
    ]
    assert list(alloc.to_frame().columns) == ["user", "server", "mode", "tasks", "output", "share"]
    assert alloc.to_frame()["output"].tolist() == pytest.approx([4, 0.4, 2.4])


def test_who_is_free_to_get_more():
    inst = cluster(
        bounds=[fo.Bound("org", "gpu", 6)],
        limit=[99, 99, 5],
        quotas=[fo.Quota("org", "gpu", 5, borrow=0), fo.Quota("c", "gpu", 99)],
    )
    for tasks, wanted in (
        ([1, 1, 1], [True, True, True]),
        ([2, 3, 1], [False, False, True]),
        ([1, 1, 5], [True, True, False]),
        ([1, 1, 10], [False, False, False]),
    ):
        x = np.reshape(tasks, (-1, 1)).astype(float)
        assert free(inst, x).tolist() == wanted
        alloc = fo.Allocation(inst, TASKS, x)
        assert measures.measure(alloc)["blocked_users"] == 3 - sum(wanted)


def test_a_rule_of_one_kind_of_server_leaves_the_other_free():
    inst = fo.Instance(
        [[1]],
        [[4], [4]],
        quotas=fo.Quotas(bounds=[fo.Bound("u1", "r1", 2, "f")], flavors={"f": ["s1"]}),
    )
    assert free(inst, np.array([[2.0, 1.0]])).tolist() == [True]
    assert free(inst, np.array([[2.0, 4.0]])).tolist() == [False]


def test_measures_of_answers_with_modes():
    alloc = fo.Allocation(cards(), TASKS, None, way_tasks=[[4.0], [1], [0], [3]])
    found = measures.measure(alloc)
    assert found["efficiency"] == pytest.approx(4.4 + 2.4) and found["sqrt_var_f"] is None
    assert found["utilisation.A100"] == 1 and found["blocked_users"] == 2
