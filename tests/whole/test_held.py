"""What runs now stays where it is as far as it can: `held` of fo.whole, its file and its judge."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace

import pytest

import fairopt as fo
from fairopt.errors import BadInput, UsageError
from fairopt.whole.asking import searched
from fairopt.whole.held import held_by, stayed
from fairopt.whole.proof.answer import dumps
from fairopt.whole.proof.judging import REFUTED, UNPROVED, judge
from fairopt.whole.proof.reading import loads
from tests.whole_cases import drawn

TWO = fo.Instance([[3], [2]], [[10]], count=[4], users=["A", "B"], resources=["cpu"])


@pytest.fixture(scope="module")
def moved():
    """Four nodes on which A has less to run now, and B more."""
    return fo.whole(TWO, [5, 10], held=fo.whole(TWO, [6, 8]))


def node_by_node(answer):
    return [own for _, count, own in answer.machines() for _ in range(count)]


def kept(before, after):
    pairs = zip(node_by_node(before), node_by_node(after), strict=True)
    return sum(min(m, now.get(user, 0)) for was, now in pairs for user, m in was.items())


def test_as_much_stays_as_can(moved):
    before = fo.whole(TWO, [6, 8])
    verdict = judge(moved)
    assert verdict.stays.proved
    assert verdict.stays.kept == kept(before, moved) == 14
    assert verdict.stays.held == sum(before.totals)
    assert kept(before, fo.whole(TWO, [5, 10])) < 14, "without it pods move for nothing"
    assert "14 of 15 stay, the most that can" in verdict.explain()
    assert verdict.plain()["stays"] == {"kept": 14, "running": 15, "most": 14, "proved": True}


def test_held_is_by_server_too(moved):
    rows = {"s1": [{"A": 3}, {"A": 3}, {"B": 5}, {"A": 1, "B": 3}]}
    assert fo.whole(TWO, [5, 10], held=rows) == moved
    one = fo.Instance([[3], [2]], [[10], [10]], users=["A", "B"])
    found = fo.whole(one, [3, 5], held={"s2": {"A": 3}})
    assert judge(found).stays.kept == 3
    assert found.tasks()["A"] == {"s2": 3}


def test_everybody_may_miss_a_part_for_it(moved):
    before = fo.whole(TWO, [6, 8])
    less = fo.whole(TWO, [5, 10], held=before, within="1/2")
    assert judge(less).stays.kept == 15
    assert all(2 * m >= d for m, d in zip(less.totals, (5, 10), strict=True))


def test_what_is_dear_stays_before_what_is_not():
    """A has a node and a half, and is due one: a pod of it must leave."""
    nodes = fo.Instance([[1], [1]], [[2], [2]], users=["A", "B"])
    held = {"s1": {"A": 2}, "s2": {"A": 1}}
    for cost, worth in (({}, 2), ({"A": 7}, 14)):
        found = fo.whole(nodes, [2, 2], [2, 2], held=held, cost=cost)
        assert judge(found).stays.kept == worth
        assert judge(found).stays.proved


def test_the_file_has_it_and_its_bound(moved):
    text = dumps(moved)
    again = loads(text, "here")
    assert dumps(again) == text
    assert judge(again) == judge(moved)


def test_drawn_problems_are_sound_and_what_is_counted_is_so():
    counted = 0
    for seed in range(60):
        asked = drawn(seed)
        if any(mode != "mode0" for row in asked.rows for _, mode, _, _ in row.kinds):
            continue
        half = replace(asked, due=tuple(d / 2 for d in asked.due))
        before = searched(half)
        found = stayed(searched(asked), held_by(before, asked))
        verdict = judge(found)
        assert verdict.sound, seed
        assert verdict.stays.kept == kept(before, found), seed
        assert verdict.stays.kept <= verdict.stays.most
        assert all(m >= f for m, f in zip(found.totals, found.running.floor, strict=True))
        counted += 1
    assert counted > 20


def test_spoiled_bounds_are_not_believed(moved):
    """Prices, worths, floors and what ran, one changed at a time: never more is said than is so."""
    rng = random.Random(0)
    states = set()
    for _ in range(300):
        data = json.loads(dumps(moved))
        own = data["running"]
        kind = rng.choice(["sigma", "price", "unit", "floor", "held"])
        if kind in ("sigma", "price"):
            k = rng.randrange(len(own["prices"][kind]))
            own["prices"][kind][k] = max(0, own["prices"][kind][k] + rng.choice([-1, -700, 1, 900]))
        elif kind == "unit":
            own["prices"]["unit"] = rng.choice([0, 999, 1001, 10**6])
        elif kind == "floor":
            own["floor"][rng.choice(["A", "B"])] += rng.choice([-2, -1, 1, 2])
        else:
            rng.choice(own["held"]["s1"])[rng.choice(["A", "B"])] = rng.randint(0, 4)
        try:
            verdict = judge(loads(json.dumps(data), "here"))
        except BadInput:  # prices of other classes of nodes
            continue
        states.add(verdict.state)
        if verdict.stays.proved:  # then so much is the most: a new search finds no more
            rows = own["held"]
            floor = [own["floor"][name] for name in "AB"]
            parts = fo.whole(TWO, floor, held=rows)
            assert judge(parts).stays.kept <= verdict.stays.kept
    assert UNPROVED in states


def test_nodes_in_another_order_keep_less(moved):
    data = json.loads(dumps(moved))
    nodes = data["classes"][0]["nodes"]
    data["classes"][0]["nodes"] = nodes[::-1]
    verdict = judge(loads(json.dumps(data), "here"))
    assert verdict.stays.kept < 14
    overfull = copy.deepcopy(data)
    overfull["classes"][0]["nodes"][0]["tasks"][0][2] += 9
    refuted = judge(loads(json.dumps(overfull), "here"))
    assert refuted.state == REFUTED
    assert refuted.stays is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"held": {"s9": {"A": 1}}}, "unknown server"),
        ({"held": {"s1": {"A": 1}}}, "1 nodes; wanted 4"),
        ({"held": {"s1": [{"A": 1}, {"C": 1}, {}, {}]}}, "unknown user"),
        ({"held": {"s1": [{"A": -1}, {}, {}, {}]}}, "whole number from 0"),
        ({"held": {}, "cost": {"C": 1}}, "unknown user"),
        ({"held": {}, "cost": {"A": -1}}, "whole number from 0"),
        ({"held": {}, "within": 2}, "from 0 to 1"),
        ({"held": {}, "within": "much"}, "from 0 to 1"),
    ],
)
def test_what_is_none_of_it_is_named(given, said):
    with pytest.raises(BadInput, match=said):
        fo.whole(TWO, [5, 10], **given)


def test_several_modes_are_refused_by_name():
    modes = {"A": [fo.Mode("x", [3]), fo.Mode("y", [1])]}
    with pytest.raises(UsageError, match="several modes"):
        fo.whole(TWO.replace(modes=modes), [5, 10], held={})


def test_files_that_say_other_things_are_refused(moved):
    for key, value in (("held", {"s1": 3}), ("cost", {}), ("floor", {"A": 1}), ("prices", 1)):
        data = json.loads(dumps(moved))
        data["running"][key] = value
        with pytest.raises(BadInput, match="running"):
            loads(json.dumps(data), "here")
