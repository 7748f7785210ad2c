"""Fillings that prices leave open: what they prove is so, of whatever prices and question."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from fairopt.whole.asking import searched
from fairopt.whole.proof import cases, claims, fillings
from fairopt.whole.proof.answer import dumps
from fairopt.whole.proof.certificate import PatternPrices
from fairopt.whole.proof.judging import PROVED, judge
from fairopt.whole.proof.search import most
from tests.whole_cases import drawn, fairest, honest, on_cards, totals, zoned

KINDS = {
    "plain": drawn,
    "some run with a few tasks or not at all": lambda seed: drawn(seed, few=True),
    "cards": on_cards,
    "zones": zoned,
}
LEAST_BY_FILLINGS = 10398
"""a problem of which prices prove four tasks short, and five are the least"""


def priced(problem, rng):
    """Random prices with their right sigma, some a little too large; of zones with differences."""
    price = tuple(rng.choice([0, 1, 2, 3, 5, 60]) for _ in problem.users)
    rows = []
    for own in problem.spreads:
        row = [rng.randint(-3, 3) for _ in own.zones]
        row[0] -= sum(row)
        rows.append(tuple(row))
    size = len(problem.classes)
    hint = tuple(tuple(rng.randint(0, 3) for _ in own.room) for own in problem.classes)
    own = PatternPrices(price, (0,) * size, hint, 0, tuple(rows) if rng.random() < 0.7 else ())
    sigma = tuple(
        most(own.items(problem, j), node.room, (), None, 10**6, node.cards)[0]
        + rng.choice([0, 0, 0, 1])
        for j, node in enumerate(problem.classes)
    )
    return replace(own, sigma=sigma)


@pytest.mark.parametrize("kind", KINDS)
def test_the_fewest_short_is_found_and_no_fewer_are_said_to_be(kind):
    """By random prices: what is not there is proved not to be, and what is there never."""
    proved = 0
    for seed in range(60):
        asked, rng = KINDS[kind](seed), random.Random(seed)
        problem, (_, short) = asked.problem, fairest(asked)
        prices = [priced(problem, rng) for _ in range(rng.choice([1, 1, 2, 3]))]
        assert not fillings.impossible(problem, prices, fillings.short_of(problem, short))
        assert not fillings.impossible(problem, prices, fillings.short_of(problem, short + 1))
        if short:
            proved += fillings.impossible(problem, prices, fillings.short_of(problem, short - 1))
    assert proved >= 10, "with no more nodes than these nothing need be left open"


@pytest.mark.parametrize("kind", KINDS)
def test_a_better_level_is_impossible_exactly_if_no_placement_has_it(kind):
    right = {False: 0, True: 0}
    for seed in range(90):
        asked, rng = KINDS[kind](seed), random.Random(seed)
        problem, every = asked.problem, sorted(totals(asked))
        prices = [priced(problem, rng)]
        found = claims.levels(problem, rng.choice(every))
        for k in range(len(found)):
            rows, last = claims.better(problem, found, k)
            wanted = fillings.rows_kept(rows, last)
            there = any(wanted.reached(one) for one in every)
            assert fillings.impossible(problem, prices, wanted) != there
            right[there] += 1
    assert min(right.values()) >= 10


def test_no_more_is_looked_at_than_the_limit():
    asked = drawn(LEAST_BY_FILLINGS)
    wanted = fillings.short_of(asked.problem, 4)
    own = searched(asked, fewest=True).certificate.prices
    assert fillings.impossible(asked.problem, own, wanted)
    assert not fillings.impossible(asked.problem, own, wanted, limit=1)
    many = tuple(replace(node, count=200) for node in asked.problem.classes)
    assert not fillings.impossible(replace(asked.problem, classes=many), own, wanted)


def test_the_least_short_that_prices_do_not_prove_stands_in_the_file():
    found = searched(drawn(LEAST_BY_FILLINGS), fewest=True)
    assert found.certificate.least == found.short == judge(found).least == 5
    by_prices = replace(found, certificate=replace(found.certificate, least=0, looked=()))
    assert judge(by_prices).least == 4
    data = json.loads(dumps(found))
    for more in (6, 10**6):
        data["certificate"]["least"] = more
        assert honest(data)


def test_levels_that_prices_do_not_prove_are_looked_at():
    found = searched(drawn(169))
    problem, proof = found.problem, found.certificate
    assert judge(found).state == PROVED
    at = claims.levels(problem, found.totals)
    by_prices = [
        cases.impossible(
            [(proof.prices[p].price, proof.prices[p].budget(problem)) for p in which],
            *claims.better(problem, at, k),
        )
        for k, which in enumerate(proof.levels)
    ]
    assert not all(by_prices)
