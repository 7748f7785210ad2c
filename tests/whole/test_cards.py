"""Parts of single cards: packed exactly, proved, and never split; spoiled answers are refuted."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction

import pytest

import fairopt as fo
from fairopt.errors import BadInput
from fairopt.whole.asking import searched
from fairopt.whole.proof import cards
from fairopt.whole.proof.answer import dumps
from fairopt.whole.proof.cards import Cards, Unsure, bounds, laid, lie, pieces
from fairopt.whole.proof.judging import PROVED, REFUTED, judge
from fairopt.whole.proof.problem import Kind, NodeClass
from fairopt.whole.proof.search import TooLong, most
from tests.whole_cases import fairest, honest, judged, of, on_cards, split_by_none, spoil


@pytest.mark.parametrize("seed", range(4))
def test_pieces_lie_on_cards_exactly_where_some_order_of_them_does(seed):
    rng = random.Random(seed)
    both = set()
    for _ in range(300):
        size, count = rng.choice([10, 12, 30]), rng.randint(1, 4)
        given = [rng.randint(1, size) for _ in range(rng.randint(1, 8))]
        many = tuple(sorted(((x, given.count(x)) for x in set(given)), reverse=True))
        found = laid(count, size, many)
        assert (found is not None) == split_by_none([Fraction(x, size) for x in given], count)
        if found is not None:
            assert len(found) <= count
            assert all(sum(x * m for x, m in own) <= size for own in found)
            every = [x for own in found for x, m in own for _ in range(m)]
            assert sorted(every) == sorted(given)
        both.add(found is None)
    assert both == {True, False}


def test_no_card_holds_more_than_what_bounds_it():
    size = 12
    every = range(1, size // 2 + 1)
    full = bounds(size, size, every)
    for many in range(1, 5):
        for own in itertools.combinations_with_replacement(range(1, size + 1), many):
            if sum(own) <= size:
                columns = zip(*(bounds(x, size, every) for x in own), strict=True)
                counted = [sum(column) for column in columns]
                assert all(x <= c for x, c in zip(counted, full, strict=True)), own
    assert bounds(3 * size, size, every) == [3 * c for c in full]


def test_large_and_middle_pieces_are_counted_together():
    """Four of .55 and four of .47: no two of .55 on a card, nor one of each: six cards."""
    inst = fo.Instance([[0.55], [0.47]], [[5]], limit=[4, 4], resources=["card"])
    found = fo.whole(inst, [4, 4], cards=["card"])
    verdict = judge(found)
    assert (found.short, verdict.least) == (1, 1)


@pytest.mark.parametrize("block", range(3))
def test_small_problems_on_cards_reach_the_fairest_of_all_placements(block):
    proved = 0
    for seed in range(40 * block, 40 * block + 40):
        asked = on_cards(seed)
        found = searched(asked)
        best, short = fairest(asked)
        assert of(found) == best, seed
        verdict = judge(found)
        assert verdict.sound
        assert verdict.least <= short
        proved += verdict.proved
    assert proved >= 38


def test_no_false_claim_on_cards_is_accepted():
    rng = random.Random(1)
    answers = [json.loads(dumps(searched(on_cards(seed)))) for seed in range(30)]
    for _ in range(300):
        data = json.loads(json.dumps(rng.choice(answers)))
        for _ in range(rng.choice([1, 1, 2])):
            spoil(data, rng)
        assert honest(data), data


def on_one_node(parts, many=1, count=2):
    """An answer as data in which a node of some cards holds so many tasks of each part."""
    inst = fo.Instance([[x] for x in parts], [[count]], limit=[9] * len(parts), resources=["card"])
    names = inst.users
    data = json.loads(dumps(fo.whole(inst, [many] * len(parts), cards=["card"])))
    own = data["classes"][0]
    own["nodes"] = [{"count": 1, "tasks": [[name, "", many] for name in names]}]
    for name in names:
        data["users"][name]["asked"] = many
    return data


@pytest.mark.parametrize(
    ("parts", "state"),
    [
        ([0.501, 0.499, 0.5], "proved"),
        ([0.501, 0.501, 0.499, 0.499], "proved"),
        ([0.501, 0.501, 0.5, 0.498], REFUTED),  # 2 cards in all, one of them overfull by one unit
        ([0.6, 0.6, 0.6], REFUTED),  # 1.8 of 2 cards: one would be on both
        ([1, 0.5, 0.6], REFUTED),
        ([1, 0.5, 0.5], "proved"),
    ],
)
def test_a_card_that_is_overfull_and_a_task_on_two_are_refuted(parts, state):
    verdict = judged(on_one_node(parts))[0]
    assert verdict.state == state
    if state == REFUTED:
        failed = {check.name for check in verdict.checks if not check.holds}
        assert "whole tasks fit on every node" in failed


def test_without_the_key_the_same_tasks_fit():
    """What refutes is the single card, nothing else."""
    data = on_one_node([0.6, 0.6, 0.6])
    del data["cards"]
    data["certificate"] = {}
    assert judged(data)[0].state == PROVED


def test_a_sigma_that_only_whole_nodes_would_allow_is_no_proof():
    model = fo.read("whole/parts-of-cards")
    found = fo.whole(model.instance, model.whole.due, cards=model.whole.cards)
    data = json.loads(dumps(found))
    assert judged(data)[0].state == PROVED
    for row in data["certificate"]["prices"]:
        row["sigma"] = [max(0, x - 1) for x in row["sigma"]]
    assert judged(data)[0].state != PROVED


def test_what_is_no_card_is_refused_by_name():
    inst = fo.Instance([[1.5], [0.5]], [[2.5], [3]], users=["A", "B"], resources=["card"])
    with pytest.raises(BadInput) as found:
        fo.whole(inst, [1, 1], cards=["card"])
    places = {fault.place for fault in found.value.faults}
    assert places == {"users.A.demand.card", "s1.capacity.card"}
    with pytest.raises(BadInput, match="'gpu'"):
        fo.whole(inst, [1, 1], cards=["gpu"])


def test_a_search_that_is_given_up_accepts_nothing(monkeypatch):
    """Of cards that are filled to the last unit nothing is said: not that they can be, nor not."""
    monkeypatch.setattr(cards, "_BRANCHES", 10)
    rng = random.Random(4)
    own = (Cards(0, 9973, 12),)
    given = []
    for _ in range(12):
        a, b = rng.randint(2000, 4000), rng.randint(2000, 4000)
        given += [((x,), 1) for x in (a, b, 9973 - a - b)]
    with pytest.raises(Unsure):
        lie(own, pieces(own, given))
    node = NodeClass("node", (12 * 9973,), 1, tuple(Kind(0, x, 1) for x, _ in given), own)
    assert not node.fits([1] * len(given))
    items = [(1, need, 1) for need, _ in given]
    with pytest.raises(TooLong):
        most(items, node.room, (), None, 10**6, own)
