"""Instances from two frames, aligned by label, with every fault named."""

from __future__ import annotations

import math

import pytest

import fairopt as fo

pd = pytest.importorskip("pandas")
USERS = pd.DataFrame(
    {"cpu": [1, 3], "memory": [4, 1], "weight": [2.0, None], "limit": [None, 5]}, index=["A", "B"]
)
SERVERS = pd.DataFrame({"memory": [18, 7], "cpu": [9, 2], "count": [1, 4]}, index=["s", "t"])


def test_columns_are_found_by_name():
    inst = fo.Instance.from_frames(USERS, SERVERS)
    assert inst.resources == ("memory", "cpu") and inst.users == ("A", "B")
    assert inst.demand.tolist() == [[4, 1], [1, 3]] and inst.capacity.tolist() == [[18, 9], [7, 2]]
    assert inst.weight.tolist() == [2, 1] and inst.limit.tolist() == [math.inf, 5]
    assert inst.count.tolist() == [1, 4]


def test_names_may_be_a_column_and_resources_left_out():
    users = USERS.drop(columns=["memory"]).rename_axis("name").reset_index()
    inst = fo.Instance.from_frames(users, SERVERS.rename_axis("name").reset_index())
    assert inst.users == ("A", "B") and inst.servers == ("s", "t")
    assert inst.demand.tolist() == [[0, 1], [0, 3]]


@pytest.mark.parametrize(
    "placement",
    [
        pd.DataFrame({"t": [True, True], "s": [False, True]}, index=["B", "A"]),
        pd.DataFrame({"user": ["A", "A", "B"], "server": ["t", "s", "t"]}),
        {"A": ["s", "t"], "B": ["t"]},
    ],
)
def test_placement_goes_by_label(placement):
    inst = fo.Instance.from_frames(USERS, SERVERS, placement)
    assert inst.placement.tolist() == [[True, True], [False, True]]


def test_every_fault_is_named():
    users = USERS.assign(gpus=1, memory=["4", "much"])
    with pytest.raises(fo.BadInput) as caught:
        fo.Instance.from_frames(users, SERVERS)
    said = str(caught.value)
    assert "users.gpus" in said and "users.B.memory" in said
    with pytest.raises(fo.BadInput, match="DataFrame"):
        fo.Instance.from_frames([[1]], SERVERS)
    with pytest.raises(fo.BadInput, match="one column a resource"):
        fo.Instance.from_frames(USERS, SERVERS[["count"]])


def test_the_same_as_by_hand():
    by_hand = fo.Instance(
        USERS[["cpu", "memory"]],
        SERVERS[["cpu", "memory"]],
        weight=[2, 1],
        limit=[math.inf, 5],
        count=[1, 4],
    )
    tables = fo.Instance.from_frames(USERS, SERVERS[["cpu", "memory", "count"]])
    assert tables == by_hand
