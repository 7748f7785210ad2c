"""Answers of instances with quotas and modes as JSON: nothing is lost, forged ones are refused."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt import files
from fairopt.allocation.fields import shapes
from tests.allocation.test_fields import TASKS, answer
from tests.quota_cases import cards
from tests.strategies import AMOUNTS, promised


@settings(deadline=None, max_examples=60)
@given(inst=promised(), data=st.data())
def test_answers_come_back_bit_for_bit(inst: fo.Instance, data: Any) -> None:
    def array(shape: tuple[int, ...]) -> np.ndarray:
        size = int(np.prod(shape))
        return np.array(data.draw(st.lists(AMOUNTS, min_size=size, max_size=size))).reshape(shape)

    def prices() -> dict[str, np.ndarray]:
        kinds = data.draw(st.sets(st.sampled_from(sorted(shapes(inst)))))
        return {kind: array(shapes(inst)[kind]) for kind in sorted(kinds)}

    rounds = [
        {
            "t": data.draw(AMOUNTS),
            "jump": data.draw(st.sampled_from([0.0, 0.5, 1.0])),
            "priority": data.draw(st.integers(0, 2)),
            "prices": prices(),
            "users": data.draw(st.lists(st.sampled_from(inst.users), unique=True)),
        }
        for _ in range(data.draw(st.integers(0, 2)))
    ]
    ways = array((len(inst.ways), len(inst.servers)))
    tasks = {"tasks": None, "way_tasks": ways} if inst.modes else {"tasks": ways}
    alloc = fo.Allocation(inst, TASKS, **tasks, **prices(), rounds=rounds or None)
    again = files.loads(files.dumps(alloc))
    assert again == alloc and again.instance.digest() == inst.digest()
    assert files.dumps(again) == files.dumps(alloc)


def test_the_form_of_what_groups_and_modes_bring() -> None:
    plain = json.loads(files.dumps(answer()))
    assert plain["instance"]["groups"]["C1"] == {"nominal": {"gpu": 150}, "most": {"gpu": 200}}
    assert plain["instance"]["quotas"]["2A"] == {
        "group": "C2",
        "on": {"f": {"nominal": {"gpu": 100}}},
    }
    assert plain["bound_prices"] == [{"member": "C1", "resource": "gpu", "price": 0.25}]
    nodes = dict.fromkeys(["", "C2", "C1", "1A", "1B", "1C", "2A"], 1.0)
    assert plain["node_prices"] == [
        {"resource": "gpu", "prices": nodes},
        {"resource": "gpu", "flavor": "f", "prices": nodes},
    ]
    assert plain["floor_prices"] == {"1A": 2}
    first, second = plain["rounds"]
    assert (first["t"], first["users"]) == (1.5, ["1A", "1C"]) and "jump" not in first
    assert first["prices"]["prices"] == {"pool": {"gpu": 0.5}}
    assert second == {"t": 2, "jump": 1, "priority": 1, "users": [], "prices": {}}
    mixed = cards().replace(demand=[[0, 0, 0], [1, 0, 0]], modes={"a": cards().modes["a"]})
    alloc = fo.Allocation(mixed, TASKS, None, way_tasks=[[4.0], [1], [3]])
    plain = json.loads(files.dumps(alloc))
    assert plain["tasks"] == {"a": {"node": {"A100": 4, "T4": 1}}, "b": {"node": 3}}
    assert plain["instance"]["modes"]["a"][1] == {
        "name": "T4",
        "speed": 0.4,
        "demand": {"cpu": 1, "T4": 1},
    }


def forged(plain: dict[str, Any], *place: Any) -> list[str]:
    """The faults of the answer with the value put at the place."""
    data = copy.deepcopy(plain)
    holder: Any = data
    *path, last, value = place
    for key in path:
        holder = holder[key]
    holder[last] = value
    with pytest.raises(fo.BadInput) as error:
        files.loads(json.dumps(data))
    return [f"{f.place}: {f.found}" for f in error.value.faults]


def test_forged_answers_are_refused_with_their_place() -> None:
    plain = json.loads(files.dumps(answer()))
    row = {"member": "C1", "resource": "gpu", "price": 1}
    assert forged(plain, "bound_prices", [row, row, {**row, "member": "C3"}, 3]) == [
        "bound_prices[1]: the text 'C1', the text 'gpu', no name a second time",
        "bound_prices[2]: the text 'C3', the text 'gpu', no name",
        "bound_prices[3]: 3",
        "bound_prices[3].price: nothing",
        "bound_prices[3]: no name, no name, no name",
    ]
    assert forged(plain, "bound_prices", 0, "price", -1) == ["bound_prices[0].price: -1"]
    assert forged(plain, "bound_prices", 0, "member", ["C1"]) == [
        "bound_prices[0]: a list, the text 'gpu', no name"
    ]
    assert forged(plain, "node_prices", 1, "prices", {"C4": 1, "C1": -2}) == [
        "node_prices[1].prices.C4: an unknown group or user",
        "node_prices[1].prices.C1: -2",
    ]
    assert forged(plain, "node_prices", 1, "flavor", "g") == [
        "node_prices[1]: the text 'gpu', the text 'g'"
    ]
    assert forged(plain, "floor_prices", {"C1": 1}) == ["floor_prices.C1: an unknown user"]
    assert forged(plain, "rounds", 0, "t", -1) == ["rounds[0].t: -1"]
    assert forged(plain, "rounds", 0, "users", ["nobody"]) == [
        "rounds[0].users: the unknown user 'nobody'"
    ]
    assert forged(plain, "rounds", 0, "prices", "prices", {"pool": {"gpu": -1}}) == [
        "rounds[0].prices.prices.pool.gpu: -1"
    ]
    assert forged(plain, "rounds", 0, "prices", "price", 1) == [
        "rounds[0].prices.price: an unknown key"
    ]
    assert forged(plain, "rounds", 3) == ["rounds: 3"]
    assert forged(plain, "instance", "quotas", {"2B": {}}) == [
        "instance.quotas.2B: an unknown user"
    ]
    assert forged(plain, "instance", "groups", "C1", "parent", "C1") == [
        "groups.C1.parent: a circle: C1 in C1"
    ]


def test_forged_tasks_by_mode_are_refused() -> None:
    alloc = fo.Allocation(cards(), TASKS, None, way_tasks=[[4.0], [1], [0], [3]])
    plain = json.loads(files.dumps(alloc))
    assert forged(plain, "tasks", "a", {"node": 5}) == ["tasks.a.node: 5"]
    assert forged(plain, "tasks", "a", {"node": {"V100": 5}}) == [
        "tasks.a.node.V100: an unknown mode"
    ]
    assert forged(plain, "tasks", {"c": {"node": 1}}) == ["tasks.c: an unknown user"]
    assert forged(plain, "tasks", "a", {"node": {"A100": "x"}}) == [
        "tasks.a.node.A100: the text 'x'"
    ]
