"""An instance: faults all at once, frozen for real, the arrays derived from it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import fairopt as fo
from fairopt.errors import BadInput

NAN, INF = float("nan"), float("inf")


def faults(*args, **kwargs):
    """{place: (found, wanted)} of an input that is refused."""
    with pytest.raises(BadInput) as error:
        fo.Instance(*args, **kwargs)
    found = error.value.faults
    assert len({f.place + f.found for f in found}) == len(found)
    return {f.place: (f.found, f.wanted) for f in found}


def small(**changes):
    return fo.Instance(
        **{
            "demand": [[1, 4], [3, 1]],
            "capacity": [[9, 18], [6, 6]],
            "weight": [1, 2],
            "users": ["A", "B"],
            "resources": ["cpu", "memory"],
            **changes,
        }
    )


def test_every_wrong_number_is_reported_with_its_place():
    found = faults(
        [[1, NAN], [INF, 1], [-2, 1], [0, 0]],
        [[9, 18], [9, 18]],
        weight=[0, -1, NAN, INF],
        limit=[0, -1, NAN, INF],
        count=[0, 2.5],
        placement=[[1, 0], [1, 2], [1, 1], [1, 1]],
        users=["a", "b", "b", ""],
        servers=["s", "t"],
        resources=["cpu", "memory"],
    )
    assert found == {
        "users[2]": ("the name 'b' a second time", "every name once"),
        "users[3]": ("the name ''", "a printable text"),
        "placement[1,1]": ("2", "true or false"),
        "count[0]": ("0", "a whole number >= 1"),
        "count[1]": ("2.5", "a whole number >= 1"),
        "users.a.demand.memory": ("nan", "a finite number >= 0"),
        "users.b.demand.cpu": ("-2", "a finite number >= 0"),  # the second of that name
        "users.a.weight": ("0", "a finite number > 0"),
        "users.b.weight": ("nan", "a finite number > 0"),
        "users..weight": ("inf", "a finite number > 0"),
        "users.a.limit": ("0", "a number > 0"),
        "users.b.limit": ("nan", "a number > 0"),
        "users..demand": ("nothing demanded", "at least one resource > 0"),
    }


def test_demand_that_is_wrong_on_one_server_and_capacity():
    demand = np.ones((2, 2, 2))
    demand[1, 0, 1] = -1
    found = faults(demand, [[1, INF], [NAN, -1]], users=["a", "b"])
    assert found == {
        "users.b.demand_on.s1.r2": ("-1", "a finite number >= 0"),
        "servers.s1.capacity.r2": ("inf", "a finite number >= 0"),
        "servers.s2.capacity.r1": ("nan", "a finite number >= 0"),
        "servers.s2.capacity.r2": ("-1", "a finite number >= 0"),
    }


def test_every_wrong_shape_is_reported():
    found = faults([[1, 2, 3]], [[1, 2]], placement=[1], weight=[1, 2], limit=[[1]], count=[1, 1])
    assert found == {
        "demand": ("3 resources", "2, as in capacity"),
        "placement": ("shape (1,)", "shape (1, 1)"),
        "weight": ("shape (2,)", "shape (1,)"),
        "limit": ("shape (1, 1)", "shape (1,)"),
        "count": ("shape (2,)", "shape (1,)"),
    }


def test_wrong_dimensions_hide_nothing_else():
    found = faults([1, 2], [[[1]]], weight=[[1]], limit=["much"])
    assert set(found) == {"demand", "capacity", "weight", "limit"}
    assert found["demand"][0] == "shape (2,)"


def test_servers_of_demand_and_capacity_differ():
    assert faults(np.ones((1, 3, 2)), [[1, 1]]) == {"demand": ("3 servers", "1, as in capacity")}


@pytest.mark.parametrize("empty", ["users", "servers", "resources"])
def test_nobody_and_nothing(empty):
    size = {"users": 2, "servers": 2, "resources": 2, empty: 0}
    demand = np.ones((size["users"], size["resources"]))
    capacity = np.ones((size["servers"], size["resources"]))
    assert faults(demand, capacity) == {empty: ("none", "at least one")}


@pytest.mark.parametrize(
    "value",
    [
        "much",
        [["1", "2"]],
        [[1, "2"]],
        [[1, 2], [3]],
        [[{}]],
        [[1j, 1]],
        [[10**400, 1]],
        np.ma.array([[1, 2]], mask=[[False, True]]),
    ],
)
def test_what_is_no_array_of_numbers(value):
    found = faults(value, [[9, 18]])
    assert set(found) == {"demand"}
    assert found["demand"][1] == "numbers"


@pytest.mark.parametrize(
    ("names", "place"),
    [
        ("AB", "users"),
        (7, "users"),
        (["A"], "users"),
        (["A", 3], "users[1]"),
        (["A", ["B"]], "users[1]"),
        (["A", "a\nb"], "users[1]"),
        (["A", "A"], "users[1]"),
    ],
)
def test_names_that_are_no_good(names, place):
    assert set(faults([[1], [1]], [[1]], users=names)) == {place}


def test_users_who_can_run_nowhere_and_why():
    found = faults(
        [[1, 0], [0, 1], [0, 0]],
        [[1, 0], [1, 0], [1, 0], [1, 0], [1, 1]],
        placement=[[1] * 5, [1, 1, 0, 1, 0], [1] * 5],
        resources=["cpu", "gpu"],
    )
    assert set(found) == {"users.u2", "users.u3.demand"}
    assert found["users.u2"][0] == (
        "eligible on no server: s1 has no gpu; s2 has no gpu; s3 is not allowed by placement; "
        "s4 has no gpu; and 1 more"
    )


def test_nothing_demanded_on_one_server():
    demand = np.ones((1, 2, 1))
    demand[0, 1] = 0
    assert set(faults(demand, [[1], [1]])) == {"users.u1.demand_on.s2"}
    # where the user may not run it says nothing
    assert fo.Instance(demand, [[1], [1]], placement=[[1, 0]]).eligible.tolist() == [[True, False]]


def test_numbers_beyond_floating_point():
    assert set(faults([[1e-200]], [[1.0]])) == {"users.u1.demand"}
    assert "capacity" in faults([[1e200]], [[1e260]])
    assert set(faults([[1e-308]], [[1e308]], count=[10**6])) >= {"capacity"}


def arrays(instance):
    names = (
        "demand",
        "capacity",
        "placement",
        "weight",
        "limit",
        "count",
        "pool",
        "alone",
        "eligible",
        "pair_demand",
    )
    yield from ((name, getattr(instance, name)) for name in names)
    yield from (("pairs", half) for half in instance.pairs)


@pytest.mark.parametrize(
    "copied",
    [
        lambda a: a,
        copy.copy,
        copy.deepcopy,
        lambda a: pickle.loads(pickle.dumps(a)),
        lambda a: a.select([0, 1], [0, 1]),
    ],
    ids=["itself", "copy", "deepcopy", "pickle", "select"],
)
def test_frozen_for_real(copied):
    instance = copied(small())
    assert instance == small()
    for name, array in arrays(instance):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
        with pytest.raises(AttributeError):
            setattr(instance, name, array)


def test_the_givers_arrays_stay_the_givers():
    demand = np.array([[1.0, 4.0]])
    instance = fo.Instance(demand, [[9, 18]])
    demand[0, 0] = 7
    assert instance.demand[0, 0] == 1


def test_derived_arrays_by_hand():
    instance = small(count=[1, 3], placement=[[1, 1], [0, 1]], limit=[INF, 5])
    assert instance.shape == (2, 2, 2)
    assert instance.pool.tolist() == [[9, 18], [18, 18]]
    assert instance.alone.tolist() == [[4.5, 4.5], [0, 6]]
    assert [half.tolist() for half in instance.pairs] == [[0, 0, 1], [0, 1, 1]]
    assert instance.pair_demand.tolist() == [[1, 4], [1, 4], [3, 1]]
    assert instance.used(np.array([[1.0, 2.0], [0.0, 1.0]])).tolist() == [[1, 4], [5, 9]]
    assert repr(instance) == "Instance(2 users, 2 servers, 2 resources, 3 eligible pairs)"
    assert repr(fo.Instance([[1]], [[1]])) == (
        "Instance(1 user, 1 server, 1 resource, 1 eligible pairs)"
    )


def test_demand_by_server():
    flat = small()
    full = small(demand=np.array(flat.demand_by_server))
    tasks = np.array([[1.0, 0.5], [0.25, 2.0]])
    assert full.demand.shape == (2, 2, 2)
    assert np.array_equal(full.alone, flat.alone)
    assert np.array_equal(full.pair_demand, flat.pair_demand)
    assert np.allclose(full.used(tasks), flat.used(tasks), rtol=1e-15)
    assert full != flat  # stated differently
    by_server = np.array(flat.demand_by_server)
    by_server[0, 1] = [0, 6]
    other = small(demand=by_server)
    assert other.alone.tolist() == [[4.5, 1.0], [3.0, 2.0]]
    assert np.array_equal(other.select([0], [1]).demand, [[[0, 6]]])


def test_missing_resources_decide_who_is_eligible():
    instance = fo.Instance([[1, 0], [1, 1]], [[1, 0], [1, 1], [0, 0]])
    assert instance.eligible.tolist() == [[True, True, False], [False, True, False]]


def test_parts_share_no_server():
    instance = fo.Instance(
        [[1]] * 4,
        [[1]] * 5,
        placement=[[0, 0, 0, 1, 0], [1, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 1, 0, 0, 1]],
    )
    found = [(users.tolist(), servers.tolist()) for users, servers in instance.parts()]
    # server 2 is nobody's
    assert found == [([0, 2], [3]), ([1, 3], [0, 1, 4])]


def test_select_keeps_the_order_asked_for():
    instance = small(count=[1, 3], limit=[INF, 5])
    part = instance.select([1, 0], [1])
    assert (part.users, part.servers) == (("B", "A"), ("s2",))
    assert part.demand.tolist() == [[3, 1], [1, 4]]
    assert (part.weight.tolist(), part.limit.tolist()) == ([2, 1], [5, INF])
    assert part.count.tolist() == [3]


def test_replace_judges_again():
    assert small().replace(weight=[3, 4]).weight.tolist() == [3, 4]
    with pytest.raises(BadInput):
        small().replace(weight=[3, -4])


def test_equal_content_has_an_equal_digest():
    assert small().digest() == small(demand=np.array([[1, 4], [3, 1]], np.float32)).digest()
    assert small(demand=[[-0.0, 4], [3, 1]]).digest() == small(demand=[[0.0, 4], [3, 1]]).digest()
    assert hash(small()) == hash(small())


@pytest.mark.parametrize(
    "change",
    [
        {"demand": [[1, 4], [3, 2]]},
        {"capacity": [[9, 18], [6, 7]]},
        {"weight": [2, 1]},
        {"limit": [1, INF]},
        {"count": [1, 2]},
        {"placement": [[1, 1], [0, 1]]},
        {"users": ["A", "C"]},
        {"servers": ["a", "b"]},
        {"resources": ["cpu", "memory "]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_change_anywhere_makes_another_instance(change):
    assert small(**change) != small()
    assert small(**change).digest() != small().digest()
    assert small() != "an instance"
