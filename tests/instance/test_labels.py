"""What has labels is put in order by them, or refused by name; what has none is by position."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.instance.labels import by_name
from tests.strategies import instances

pd = pytest.importorskip("pandas")

DEMAND = pd.DataFrame([[1, 4], [3, 1]], ["a", "b"], ["cpu", "memory"])
CAPACITY = pd.DataFrame([[9, 18], [4, 2]], ["big", "small"], ["cpu", "memory"])
PLAIN = {
    "demand": {"a": {"cpu": 1, "memory": 4}, "b": {"cpu": 3, "memory": 1}},
    "capacity": {"big": {"cpu": 9, "memory": 18}, "small": {"cpu": 4, "memory": 2}},
}


def faults(*arguments: Any, **more: Any) -> list[str]:
    with pytest.raises(fo.BadInput) as caught:
        fo.Instance(*arguments, **more)
    return [str(fault) for fault in caught.value.faults]


def test_names_are_taken_from_the_labels() -> None:
    inst = fo.Instance(DEMAND, CAPACITY)
    assert inst == fo.Instance(
        [[1, 4], [3, 1]],
        [[9, 18], [4, 2]],
        users=["a", "b"],
        servers=["big", "small"],
        resources=["cpu", "memory"],
    )


def test_permuted_columns_and_reordered_weights_change_nothing() -> None:
    """The numbers of the issue: both used to be read by position, without a word."""
    inst = fo.Instance(DEMAND, CAPACITY, weight=[2, 1], count=[1, 3])
    assert inst == fo.Instance(
        DEMAND,
        CAPACITY.loc[["small", "big"], ["memory", "cpu"]].loc[["big", "small"]],
        weight=pd.Series({"b": 1, "a": 2}),
        count=pd.Series({"small": 3, "big": 1}),
    )


def frames(inst: fo.Instance, rng: np.random.Generator) -> dict[str, Any]:
    """The instance as frames and series, the rows and columns of each in an order of its own."""

    def mixed(values: Any, *axes: Any) -> Any:
        found = pd.DataFrame(values, *axes) if len(axes) == 2 else pd.Series(values, *axes)
        for k in range(len(axes)):
            found = found.take(rng.permutation(found.shape[k]), axis=k)
        return found

    users, servers, resources = (list(names) for names in inst.names.values())
    rows, demand = users, inst.demand
    if demand.ndim == 3:
        rows = pd.MultiIndex.from_product([users, servers])
        demand = demand.reshape(-1, len(resources))
    return {
        "demand": mixed(demand, rows, resources),
        "capacity": mixed(inst.capacity, servers, resources),
        "placement": mixed(inst.placement, users, servers),
        "weight": mixed(inst.weight, users),
        "limit": mixed(inst.limit, users),
        "count": mixed(inst.count, servers),
    }


def dicts(given: dict[str, Any]) -> dict[str, Any]:
    """Frames as plain dicts by name, without what a dict may leave out."""
    found: dict[str, Any] = {}
    for key, each in given.items():
        if key == "placement":
            found[key] = {
                user: [s for s, on in row.items() if on]
                for user, row in each.T.to_dict().items()
                if not all(row.values())
            } or None
        elif each.ndim == 1:
            found[key] = {name: x for name, x in each.to_dict().items() if x not in (1, np.inf)}
            if key == "limit":
                found[key] = each[np.isfinite(each)].to_dict()
        else:
            found[key] = {}
            for name, row in each.T.to_dict().items():
                at = found[key]
                if isinstance(name, tuple):
                    at, name = at.setdefault(name[0], {}), name[1]
                at[name] = {r: x for r, x in row.items() if x != 0}
    return found


@settings(max_examples=80)
@given(instances(), st.integers(0, 2**32))
def test_any_order_gives_the_same_instance(inst: fo.Instance, seed: int) -> None:
    mixed = frames(inst, np.random.default_rng(seed))
    assert fo.Instance(**mixed, **inst.names) == inst
    assert fo.Instance(**dicts(mixed), **inst.names) == inst
    # without names the first frame gives the order, and the instance is the same but for it
    found = fo.Instance(**mixed)
    assert {key: sorted(names) for key, names in found.names.items()} == {
        key: sorted(names) for key, names in inst.names.items()
    }
    at = [
        [mine.index(name) for name in names]
        for mine, names in zip(found.names.values(), inst.names.values(), strict=True)
    ]
    again = found.select(at[0], at[1])
    np.testing.assert_array_equal(again.demand[..., at[2]], inst.demand)
    np.testing.assert_array_equal(again.capacity[:, at[2]], inst.capacity)
    assert (again.placement == inst.placement).all() and (again.count == inst.count).all()
    assert (again.weight == inst.weight).all() and (again.limit == inst.limit).all()


def test_answers_do_not_depend_on_the_order() -> None:
    inst = fo.Instance(DEMAND, CAPACITY, weight=pd.Series({"b": 1, "a": 3}))
    turned = fo.Instance(DEMAND.iloc[::-1, ::-1], CAPACITY.iloc[::-1], weight={"a": 3})
    one, two = (
        fo.solve(i, fo.ProportionalFair()).to_frame("tasks").sum(axis=1) for i in (inst, turned)
    )
    pd.testing.assert_series_equal(one, two[["a", "b"]], rtol=1e-9)


def test_dicts_leave_out_what_is_the_default() -> None:
    inst = fo.Instance(
        {"a": {"cpu": 1}, "b": {"cpu": 3, "gpu": 1}},
        {"x": {"cpu": 9, "gpu": 2}, "y": {"cpu": 4}},
        placement={"a": ["y"]},
        weight={"b": 2},
        limit={"a": 5},
        count={"y": 3},
    )
    assert inst == fo.Instance(
        [[1, 0], [3, 1]],
        [[9, 2], [4, 0]],
        [[False, True], [True, True]],
        [1, 2],
        [5, np.inf],
        [1, 3],
        ["a", "b"],
        ["x", "y"],
        ["cpu", "gpu"],
    )
    assert "is not allowed" in faults(**PLAIN, placement={"a": []})[0]


def test_arrays_have_no_labels_and_numbering_is_none() -> None:
    plain = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    assert fo.Instance(pd.DataFrame([[1, 4], [3, 1]]), pd.DataFrame([[9, 18]])) == plain
    assert fo.Instance([[1, 4], [3, 1]], [[9, 18]], weight=pd.Series([1, 1])) == plain
    arrays = {"demand": [[1.0]], "weight": None}
    found, names = by_name(arrays, {"users": None})
    assert found["demand"] is arrays["demand"] and names == {"users": None}


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        (
            {"weight": pd.Series({"b": 1, "c": 2})},
            [
                "weight.users: found the unknown c; wanted a, b",
                "weight.users: found nothing for a; wanted a, b",
            ],
        ),
        ({"weight": {"c": 2}}, ["weight.users: found the unknown c; wanted a, b"]),
        (
            {"weight": pd.Series([1, 2, 3], ["a", "b", "a"])},
            ["weight.users: found a a second time; wanted every label once"],
        ),
        (
            {"weight": pd.Series([1, 2], [1, 0])},
            ["weight.users: found labels like 1; wanted texts, as names are"],
        ),
        (
            {"weight": {"a": {"b": 1}}},
            ["weight: found a dict of another form; wanted a dict by name"],
        ),
        (
            {"placement": {"a": ["bug"]}},
            ["placement.servers: found the unknown bug; wanted big, small"],
        ),
        (
            {"placement": {"a": "big", "b": 3}},
            [
                "placement.a: found 'big'; wanted a list of servers",
                "placement.b: found 3; wanted a list of servers",
            ],
        ),
        (
            {"users": ["b", "x"]},
            [
                "demand.users: found the unknown a; wanted b, x",
                "demand.users: found nothing for x; wanted b, x",
            ],
        ),
        (
            {"capacity": CAPACITY.rename(columns={"cpu": "gpu"}), "count": pd.Series({"big": 1})},
            [
                "capacity.resources: found the unknown gpu; wanted cpu, memory",
                "capacity.resources: found nothing for cpu; wanted cpu, memory",
                "count.servers: found nothing for small; wanted big, small",
            ],
        ),
        (
            {
                "demand": pd.DataFrame(
                    [[1, 2]] * 3,
                    pd.MultiIndex.from_tuples([("a", "big"), ("a", "small"), ("b", "big")]),
                    ["cpu", "memory"],
                )
            },
            ["demand: found no row for b/small; wanted every user and server"],
        ),
        (
            {
                "demand": pd.DataFrame(
                    [[1, 2]] * 2,
                    pd.MultiIndex.from_tuples([("a", "big"), ("a", "big")]),
                    ["cpu", "memory"],
                )
            },
            ["demand: found a user and server a second time; wanted every pair once"],
        ),
        (
            {"demand": {"a": 1}},
            ["demand: found a dict of another form; wanted a dict by name of dicts by name"],
        ),
        (
            {"weight": {"a": "x"}},
            [
                "weight: found something that is no array of numbers (text among the numbers); "
                "wanted numbers"
            ],
        ),
        (
            {"demand": pd.Series({"a": 1})},
            ["demand: found shape (1,); wanted (users, resources) or (users, servers, resources)"],
        ),
        (
            {"weight": pd.Series({"a": np.nan, "b": 1})},
            ["users.a.weight: found nan; wanted a finite number > 0"],
        ),
        ({"users": 3}, ["users: found 3; wanted a list of names"]),
    ],
)
def test_faults_are_named_all_at_once(changes: dict[str, Any], wanted: list[str]) -> None:
    assert faults(**{"demand": DEMAND, "capacity": CAPACITY, **changes}) == wanted


def test_answers_from_anywhere_are_put_in_order() -> None:
    inst = fo.Instance(DEMAND, CAPACITY)
    alloc = fo.solve(inst, fo.ProportionalFair())
    again = fo.Allocation(
        inst,
        alloc.notion,
        alloc.to_frame("tasks").iloc[::-1, ::-1],
        alloc.to_frame("prices").iloc[::-1, ::-1],
        pd.Series({"b": 0.0, "a": 0.0}),
        score=pd.DataFrame(1.0, ["b", "a"], ["small", "big"]),
    )
    np.testing.assert_array_equal(again.tasks, alloc.tasks)
    np.testing.assert_array_equal(again.prices, alloc.prices)
    assert fo.certify(again).certified
    some = fo.Allocation(inst, alloc.notion, {"b": {"small": 1}})
    np.testing.assert_array_equal(some.tasks, [[0, 0], [0, 1]])
    with pytest.raises(fo.BadInput, match=r"tasks\.users: found nothing for b; wanted a, b"):
        fo.Allocation(inst, alloc.notion, alloc.to_frame("tasks").iloc[:1])


def test_scores_of_a_callable_are_put_in_order() -> None:
    inst = fo.Instance(DEMAND, CAPACITY)

    def mine(_: fo.Instance) -> Any:
        return pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], ["b", "a"], ["small", "big"])

    np.testing.assert_array_equal(fo.criteria.score(inst, mine), [[4, 3], [2, 1]])


def test_columns_without_an_index_count() -> None:
    """As polars has them: columns are labels, rows are by position."""

    class Columns:
        columns = ("memory", "cpu")
        shape = (2, 2)

        def to_numpy(self) -> Any:
            return np.array([[4.0, 1.0], [1.0, 3.0]])

    inst = fo.Instance(Columns(), CAPACITY, users=["a", "b"], resources=["cpu", "memory"])
    assert inst == fo.Instance(DEMAND, CAPACITY)


def test_pandas_is_not_imported() -> None:
    code = (
        "import sys, fairopt as fo; fo.solve(fo.Instance({'a': {'r': 1}}, {'s': {'r': 2}}), "
        "fo.ProportionalFair()); assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
