"""The judge of whole tasks against answers spoiled in every way: nothing false is accepted."""

from __future__ import annotations

import copy
import json
import random

import pytest

from fairopt.errors import BadInput
from fairopt.whole.asking import searched
from fairopt.whole.proof.answer import dumps
from fairopt.whole.proof.judging import PROVED, REFUTED, UNPROVED, judge
from fairopt.whole.proof.reading import loads
from tests.whole_cases import drawn, honest, judged, spoil


@pytest.fixture(scope="module")
def answers():
    return [json.loads(dumps(searched(drawn(seed)))) for seed in range(24)]


def test_answers_are_honest_before_they_are_spoilt(answers):
    assert all(honest(data) for data in answers)
    assert sum(judged(data)[0].state == PROVED for data in answers) >= 22


@pytest.mark.parametrize("seed", range(8))
def test_no_false_claim_is_accepted(answers, seed):
    rng = random.Random(seed)
    for _ in range(60):
        data = copy.deepcopy(rng.choice(answers))
        for _ in range(rng.choice([1, 1, 2, 3])):
            spoil(data, rng)
        assert honest(data), data


def changed(name, change):
    """The model's answer as data, changed."""
    import fairopt as fo

    model = fo.read(f"whole/{name}")
    data = json.loads(dumps(fo.whole(model.instance, model.whole.due, gang=model.whole.gang)))
    assert judged(data)[0].state == PROVED
    change(data)
    return judged(data)[0]


def test_a_sigma_that_is_one_too_small_is_no_proof():
    def change(data):
        for row in data["certificate"]["prices"]:
            row["sigma"] = [max(0, x - 1) for x in row["sigma"]]

    verdict = changed("one-short", change)
    assert verdict.state == UNPROVED
    assert verdict.least == 0
    assert not any(holds for _, holds in verdict.levels)


def test_a_node_that_is_overfull_by_one_unit_is_refuted():
    def change(data):
        data["classes"][0]["capacity"]["cpu"] = "47/5"  # 9.4, where 2 x 3 + 2 x 2 is 10

    assert changed("one-node", change).state == REFUTED


def test_a_gang_that_is_cut_is_refuted():
    def change(data):
        data["users"]["A"]["gang"] = 3

    assert changed("gangs", change).state == REFUTED


def test_nodes_counted_twice_are_refuted():
    def change(data):
        data["classes"][0]["nodes"][0]["count"] += 1

    assert changed("last-jobs", change).state == REFUTED


def test_a_gang_left_out_is_refuted():
    def change(data):
        data["classes"][0]["nodes"] = [{"count": 3, "tasks": []}]

    verdict = changed("half-empty", change)
    assert verdict.state == REFUTED
    assert {c.name for c in verdict.checks if not c.holds} == {"no further gang fits"}


def test_a_search_that_is_given_up_is_unproved():
    import fairopt as fo

    model = fo.read("whole/one-short")
    found = fo.whole(model.instance, model.whole.due)
    assert judge(found, limit=0).state == UNPROVED


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d["certificate"]["prices"][0]["price"].__setitem__(0, -1), "price[0]"),
        (lambda d: d["certificate"]["prices"][0]["price"].__setitem__(0, 10**100), "price[0]"),
        (lambda d: d["certificate"]["prices"][0]["price"].append(1), "price"),
        (lambda d: d["certificate"]["prices"][0]["sigma"].__setitem__(0, 0.5), "sigma[0]"),
        (lambda d: d["certificate"]["prices"][0]["hint"].pop(), "hint"),
        (lambda d: d["certificate"].__setitem__("levels", [[99]]), "levels[0]"),
        (lambda d: d["users"]["A"].__setitem__("due", "-1"), "users.A.due"),
        (lambda d: d["users"]["A"].__setitem__("due", "1e999"), "users.A.due"),
        (lambda d: d["users"]["A"].__setitem__("asked", 1.5), "users.A.asked"),
        (lambda d: d["classes"][0].__setitem__("count", True), "classes[0].count"),
        (lambda d: d["classes"][0]["nodes"][0]["tasks"].append(["Z", "", 1]), "tasks"),
        (lambda d: d["classes"].__setitem__(0, 5), "classes[0]"),
        (lambda d: d.__setitem__("surprise", 1), "surprise"),
        (lambda d: d.__setitem__("schema", "fairopt/whole/v2"), "schema"),
    ],
)
def test_what_is_no_answer_is_refused_by_name(change, place):
    import fairopt as fo

    model = fo.read("whole/one-short")
    data = json.loads(dumps(fo.whole(model.instance, model.whole.due)))
    change(data)
    with pytest.raises(BadInput) as found:
        loads(json.dumps(data), "here")
    assert any(place in fault.place for fault in found.value.faults)


def test_text_that_is_no_json_is_refused():
    with pytest.raises(BadInput, match="not JSON"):
        loads("{", "here")
    with pytest.raises(BadInput, match="not JSON"):
        loads("[" * 100_000, "here")
