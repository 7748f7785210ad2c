"""Tasks spread over zones: beside every placement, and proofs of them spoiled."""

from __future__ import annotations

import copy
import itertools
import json
import random
from dataclasses import replace
from fractions import Fraction

import pytest

import fairopt as fo
from fairopt.errors import BadInput
from fairopt.whole.asking import searched
from fairopt.whole.proof.answer import dumps
from fairopt.whole.proof.certificate import PatternPrices, Prices
from fairopt.whole.proof.judging import PROVED, REFUTED, UNPROVED, judge
from fairopt.whole.proof.reading import loads
from fairopt.whole.proof.staying import judge as judge_stay
from fairopt.whole.proof.staying import staying
from fairopt.whole.proof.zones import Spread, lowered, raised
from fairopt.whole.stay import keep
from tests.whole_cases import fairest, honest, judged, of, spoil, zoned


def by_zone(found, name):
    """Tasks of a user by the zone of their server, from the answer's own words."""
    (own,) = (own for own in found.asked.spreads if found.asked.users[own.user] == name)
    at = {
        server: own.zone[j] for j, servers in enumerate(found.asked.servers) for server in servers
    }
    counts = [0] * len(own.zones)
    for server, m in found.tasks()[name].items():
        assert at[server] >= 0
        counts[at[server]] += m
    return counts


@pytest.mark.parametrize("block", range(3))
def test_small_problems_reach_the_fairest_of_all_placements(block):
    drawn = proved = 0
    for seed in range(60 * block, 60 * block + 60):
        asked = zoned(seed)
        found = searched(asked)
        best, short = fairest(asked)
        assert of(found) == best, seed
        verdict = judge(found)
        assert verdict.sound
        assert verdict.least <= short <= found.short
        for own in asked.spreads:
            counts = by_zone(found, asked.users[own.user])
            assert max(counts) - min(counts) <= own.skew
            drawn += max(counts) > 0
        proved += verdict.state == PROVED
    assert proved >= 57
    assert drawn > 40


def test_no_false_claim_is_accepted():
    spoiled = 0
    for seed in range(60):
        asked = zoned(seed)
        if not asked.spreads:
            continue
        data, rng = json.loads(dumps(searched(asked))), random.Random(seed)
        for k in range(10):
            other = copy.deepcopy(data)
            kinds = [spoil(other, rng) for _ in range(rng.choice([1, 1, 2, 3]))]
            spoiled += other != data
            assert honest(other), (seed, k, kinds)
    assert spoiled > 300


def three(due=(5, 2), skew=1, **more):
    """A is spread over zones of 4, 2 and 1 places; B is not."""
    inst = fo.Instance([[1], [1]], [[4], [2], [1]], users=["A", "B"], servers=["a", "b", "c"])
    zones = {"x": ["a"], "y": ["b"], "z": ["c"], **more}
    return fo.whole(inst, due, asked=[9, 9], spread={"A": skew}, zones=zones)


def test_a_zone_with_little_room_holds_all_others_back():
    found = three((7, 0))
    assert by_zone(found, "A") == [2, 2, 1]
    assert (found.totals, found.short) == ((5, 2), 2)
    verdict = judge(found)
    assert (verdict.state, verdict.least) == (PROVED, 2)
    # the proof needs the zones: the same prices without their differences are none
    rows = [replace(own, zones=()) for own in found.certificate.prices if any(own.zones)]
    assert rows
    plain = replace(found, certificate=Prices(tuple(rows), ((0,),) * len(verdict.levels)))
    assert not judge(plain).proved


def test_a_zone_without_a_node_counts_as_empty():
    found = three((5, 2), north=[])
    assert by_zone(found, "A") == [1, 1, 1, 0]
    assert judge(found).state == PROVED


def test_servers_of_no_zone_hold_no_task():
    inst = fo.Instance([[1]], [[4], [9]], users=["A"], servers=["a", "b"])
    found = fo.whole(inst, [6], asked=[6], spread={"A": 2}, zones={"x": ["a"]})
    assert found.totals == (4,)
    assert judge(found).proved


def test_tasks_in_other_zones_than_they_may_be_are_refuted():
    data = json.loads(dumps(three((5, 0))))
    zones = data["users"]["A"]["spread"]
    zones["zones"]["w"] = []
    verdict, _ = judged(data)
    assert verdict.state == REFUTED
    assert any(c.name == "tasks are spread over zones" and not c.holds for c in verdict.checks)


def test_differences_that_do_not_add_up_prove_nothing():
    found = three((7, 0))
    some = [k for k, own in enumerate(found.certificate.prices) if any(map(any, own.zones))]
    own = found.certificate.prices[some[0]]
    off = replace(own, zones=((own.zones[0][0] - 1, *own.zones[0][1:]),))
    rows = list(found.certificate.prices)
    rows[some[0]] = off
    assert judge(replace(found, certificate=Prices(tuple(rows)))).state == UNPROVED


def test_no_prices_with_zones_are_below_what_can_be():
    """The bound itself: for any prices and differences, every even placement is worth no more."""
    rng = random.Random(0)
    for _ in range(300):
        zones, skew = rng.randint(1, 4), rng.randint(1, 3)
        price = rng.randint(0, 9)
        more = [rng.randint(-9, 9) for _ in range(zones)]
        more[0] -= sum(more)
        budget = Spread(0, tuple("abcd"[:zones]), tuple(range(zones)), skew).budget(more)
        for m in itertools.product(range(4), repeat=zones):
            if max(m) - min(m) <= skew:
                worth = sum((price + x) * k for x, k in zip(more, m, strict=True))
                assert price * sum(m) <= worth + budget


def test_what_is_added_and_taken_away_keeps_zones_even():
    rng = random.Random(1)
    for _ in range(500):
        size, skew = rng.randint(1, 4), rng.randint(1, 3)
        low = rng.randint(0, 4)
        counts = [low + rng.randint(0, skew) for _ in range(size)]
        room = [rng.randint(0, 5) for _ in range(size)]
        many = rng.randint(0, 12)
        more = raised(counts, room, skew, many)
        after = [a + b for a, b in zip(counts, more, strict=True)]
        most = max(
            sum(x)
            for x in itertools.product(*(range(r + 1) for r in room))
            if max(a + b for a, b in zip(counts, x, strict=True))
            - min(a + b for a, b in zip(counts, x, strict=True))
            <= skew
        )
        assert sum(more) == min(many, most)
        assert all(0 <= b <= r for b, r in zip(more, room, strict=True))
        assert max(after) - min(after) <= skew
        less = lowered(counts, min(many, sum(counts)))
        after = [a - b for a, b in zip(counts, less, strict=True)]
        assert sum(less) == min(many, sum(counts))
        assert min(after) >= 0
        assert max(after) - min(after) <= skew


def test_what_stays_is_spread_too():
    problem = three((5, 2)).problem
    held = [[{0: 4}], [{1: 2}], [{}]]
    plain = [[{0: 2, 1: 2}], [{0: 2}], [{0: 1}]]
    question = staying(problem, held, (5, 2), (1, 1))
    nodes, prices = keep(question, plain)
    verdict = judge_stay(question, nodes, prices)
    assert (verdict.kept, verdict.held, verdict.proved) == (2, 6, True)
    # where all that runs stays, zones are uneven, which is said
    there = tuple(
        (j, 1, tuple(kind.most if kind.bonus else 0 for kind in own.kinds))
        for j, own in enumerate(question.problem.classes)
    )
    empty = PatternPrices((0, 0), (0,) * 3, ((0,),) * 3, 1)
    assert any("spread" in words for words in judge_stay(question, there, empty).wrong)


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"spread": {"A": 0}, "zones": {"x": ["a"]}}, "spread.A"),
        ({"spread": {"C": 1}, "zones": {"x": ["a"]}}, "spread.C"),
        ({"spread": {"A": 1}, "zones": {"x": ["q"]}}, "zones.x"),
        ({"spread": {"A": 1}, "zones": {"x": ["a"], "y": ["a"]}}, "zones.y"),
        ({"spread": {"A": 1}}, "zones"),
    ],
)
def test_what_is_no_spread_is_refused_by_name(more, place):
    inst = fo.Instance([[1]], [[4]], users=["A"], servers=["a"])
    with pytest.raises(BadInput) as refused:
        fo.whole(inst, [1], **more)
    assert place in [fault.place for fault in refused.value.faults]


@pytest.mark.parametrize(
    "spread",
    [
        {"skew": 0, "zones": {"x": [0, 1, 2]}},
        {"skew": 1, "zones": {"x": [0], "y": [0, 1, 2]}},
        {"skew": 1, "zones": {"x": [3]}},
        {"skew": 1, "zones": {}},
        {"skew": 1, "zones": {"x": [True]}},
        {"zones": {"x": [0]}},
        [],
    ],
)
def test_spreads_of_a_file_that_are_none_are_refused(spread):
    data = json.loads(dumps(three()))
    data["users"]["A"]["spread"] = spread
    with pytest.raises(BadInput) as refused:
        loads(json.dumps(data), "here")
    assert all(fault.place.startswith("users.A.spread") for fault in refused.value.faults)


@pytest.mark.parametrize("zones", [[[1, -1]], [[1, -1, 0.0]], [[10**70, 0, 0]], [[0] * 3] * 2])
def test_differences_of_a_file_that_are_none_are_refused(zones):
    data = json.loads(dumps(three((7, 0))))
    data["certificate"]["prices"][0]["zones"] = zones
    with pytest.raises(BadInput):
        loads(json.dumps(data), "here")


def test_most_tasks_of_all_are_spread_too():
    from fairopt.whole.optima import optimum

    inst = fo.Instance([[1]], [[4], [1]], users=["A"], servers=["a", "b"], limit=[9])
    found = optimum(inst, "most", spread={"A": 1}, zones={"x": ["a"], "y": ["b"]})
    assert found.totals == (3,)
    assert judge(found).proved
    assert found.asked.due == (Fraction(5),)


def test_keys_of_a_model_are_written_and_read_back(tmp_path):
    text = """
resources = ["cpu"]
[zones]
east = ["s1"]
west = ["s2"]
north = []
[servers.s1]
capacity = { cpu = 4 }
[servers.s2]
capacity = { cpu = 4 }
[users.web]
demand = { cpu = 1 }
limit = 8
due = 8
spread = 3
"""
    (tmp_path / "zones.toml").write_text(text)
    model = fo.read(tmp_path / "zones.toml")
    assert model.whole.zones == {"east": ("s1",), "west": ("s2",), "north": ()}
    for name in ("again.toml", "folder"):
        fo.write(model, tmp_path / name)
        assert fo.read(tmp_path / name).whole == model.whole
    found = fo.whole(
        model.instance, model.whole.due, spread=model.whole.spread, zones=model.whole.zones
    )
    assert found.totals == (6,)
    (tmp_path / "zones.toml").write_text(text.replace('"s2"', '"s1"'))
    with pytest.raises(BadInput, match="zones.west"):
        fo.read(tmp_path / "zones.toml")
