"""Vectors of schedulers: all given by their definitions, all differences explained, by hand too."""

from __future__ import annotations

import copy
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.conformance import checks, divisions, pages, pools, preemption
from benchmarks.conformance.divisions import Asker, Overpromised, Pool

ROOT = Path(__file__).resolve().parents[2]

ROWS = checks.rows()


def test_there_are_enough_and_each_has_a_definition_with_words() -> None:
    assert len(ROWS) >= 250
    assert {(r.product, r.what) for r in ROWS} == set(pages.FOLLOWS)
    assert Counter(r.product for r in ROWS)["KAI"] == 90
    assert Counter((r.product, r.what) for r in ROWS)["Kueue", "preemption"] == 37


@pytest.mark.parametrize("product", sorted({r.product for r in ROWS}))
def test_every_vector_is_given_by_its_definition(product: str) -> None:
    assert [r for r in ROWS if r.product == product and not r.holds] == []


def test_every_difference_between_rules_has_a_reason() -> None:
    for pool in pools.pools():
        for rule in divisions.RULES if pool.total else ():
            if pages.compared(pool, rule) not in ("equal", "rounded"):
                assert pages.why(pool, rule) != "not explained", (pool.name, rule)


def test_a_promise_is_a_first_part_to_kai_and_a_floor_to_hadoop() -> None:
    """8 units, one of two equal queues is promised 2: (5, 3) and (4, 4), by hand."""
    pool = Pool("", "", 8, {"a": Asker(100, 2), "b": Asker(100)}, {})
    assert divisions.kai(pool) == {"a": 5, "b": 3}
    assert divisions.hadoop(pool) == {"a": 4, "b": 4}
    assert divisions.above(pool) == pytest.approx({"a": 5, "b": 3})
    assert divisions.floor(pool) == pytest.approx({"a": 4, "b": 4})
    assert divisions.armada(pool) == {"a": 4, "b": 4}


def test_promises_that_do_not_fit_are_told() -> None:
    pool = Pool("", "", 1, {"a": Asker(5, 2)}, {})
    with pytest.raises(Overpromised, match="2 are promised of 1"):
        divisions.above(pool)
    assert pages.why(pool, "above").startswith("promises are more")


def test_a_spoiled_vector_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more for the first queue of every division, and none is equal any more."""
    given = pools.hadoop()
    spoiled = [
        Pool(p.source, p.name, p.total, p.queues, {n: x + (n == "0") for n, x in p.want.items()})
        for p in given
        if p.want
    ]
    monkeypatch.setattr(pools, "pools", lambda: spoiled)
    assert not any(row.holds for row in checks._divided())


def test_who_gives_way_by_hand() -> None:
    """Quotas of 3 each. A wants a fourth cpu beside B, who runs seven: B borrows 4, A would 1."""
    queue = {"parent": "all", "weight": "1", "within": "LowerPriority", "reclaim": "Any"}
    queue |= {"quotas": [{"flavor": "f", "resource": "cpu", "nominal": "3"}]}
    one = {"cpu": "1", "priority": 0, "flavor": "f"}
    case = {
        "queues": [queue | {"name": "a"}, queue | {"name": "b"}],
        "cohorts": [
            {"name": "all", "parent": "", "weight": "1"}
            | {"quotas": [{"flavor": "f", "resource": "cpu", "nominal": "4"}]}
        ],
        "running": [one | {"name": f"a{k}", "queue": "a"} for k in range(3)]
        + [one | {"name": f"b{k}", "queue": "b"} for k in range(7)],
        "incoming": one | {"name": "new", "queue": "a"},
        "rules": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
    }
    assert preemption.preempted(case) == {"b0": "InCohortFairSharing"}
    # who is within its quota asks no share; where both borrow alike nobody gives way
    case["running"] = case["running"][1:] + [one | {"name": "b7", "queue": "b"}]
    assert preemption.preempted(case) == {"b0": "InCohortReclamation"}
    even = [one | {"name": f"{q}{k}", "queue": q} for q in "ab" for k in range(5)]
    assert preemption.preempted(case | {"running": even}) == {}


def test_a_spoiled_vector_of_preemption_is_noticed() -> None:
    """Weights, priorities, quotas and rules matter: turned round, some vectors are missed."""

    def missed(spoil) -> int:
        cases = copy.deepcopy(pools.vectors("kueue_preemption")["cases"])
        for case in cases:
            spoil(case)
        return sum(preemption.preempted(case) != case["want"] for case in cases)

    assert missed(lambda case: None) == 0
    assert missed(lambda case: case["rules"].reverse()) > 0
    assert missed(lambda case: [w.update(priority=-w["priority"]) for w in case["running"]]) > 3
    assert missed(lambda case: [q.update(weight="1") for q in case["queues"]]) > 2
    assert missed(lambda case: [q.update(reclaim="Never") for q in case["queues"]]) > 10


def test_armada_estimates_a_third_too_much() -> None:
    """Three equal queues that want 1, 40 and all of 100: with endless demand the first has 1/3."""
    row = next(r for r in pools.vectors("armada")["fair_shares"] if "iterations" in r["name"])
    assert checks._boundless(row, "queueA") == pytest.approx(float(Fraction(1, 3)), rel=1e-9)
    assert checks._rounds(row)["queueA"] == pytest.approx(row["uncapped"]["queueA"], rel=1e-12)


def test_the_page_is_that_of_the_command() -> None:
    text, missed = pages.page()
    assert missed == 0 and "not explained" not in text
    assert (ROOT / "docs/results/conformance.md").read_text(encoding="utf-8") == text
