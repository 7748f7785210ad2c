"""`equal-m` and `sum-m` beside rows, held against the programs as written, and spoiled."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import fairopt as fo
from fairopt.certificates import certify

NOTIONS = [fo.EqualTasks(), fo.CommonTasks()]


def drawn(seed: int, spread: float = 0.0) -> tuple[fo.Instance, np.ndarray, np.ndarray]:
    """Users beside a ceiling of two, a limit on a server and a rule; and all rows, written out."""
    rng = np.random.default_rng(seed)
    users, servers = 4, 3
    demand = rng.integers(1, 4, (users, 2)).astype(float)
    capacity = rng.integers(4, 20, (servers, 2)).astype(float)
    weight = rng.integers(1, 3, users) * 10.0 ** rng.uniform(-spread, spread, users)
    most, on, power = rng.uniform(2, 9), rng.uniform(0.5, 2), rng.uniform(2, 6)
    names, where, of = ["a", "b", "c", "d"], ["x", "y", "z"], ["cpu", "gpu"]
    terms = [fo.Term(servers=["y"], times=1.5), fo.Term(users=["d"], servers=["z"], times=0.5)]
    inst = fo.Instance(
        demand,
        capacity,
        weight=weight,
        users=names,
        servers=where,
        resources=of,
        limit_on={"c": {"x": on}},
        quotas=fo.Quotas(
            groups=[fo.Group("team", weight=float(weight[:2].sum()))],
            group={"a": "team", "b": "team"},
            bounds=[fo.Bound("team", "cpu", most)],
        ),
        rules=[fo.Rule("power", most=power, terms=terms)],
    )
    rows, right = [], []
    for i in range(servers):
        for r in range(2):
            row = np.zeros((users, servers))
            row[:, i] = demand[:, r]
            rows.append(row)
            right.append(capacity[i, r])
    team, own, place = (np.zeros((users, servers)) for _ in range(3))
    team[:2] = demand[:2, :1]
    own[:, 1], own[3, 2], place[2, 0] = 1.5, 0.5, 1.0
    rows += [team, own, place]
    right += [most, power, on]
    return inst, np.array(rows).reshape(len(rows), -1), np.array(right)


def best(inst: fo.Instance, notion: fo.Notion, rows: np.ndarray, right: np.ndarray) -> float:
    """The optimum of (9) in its second step, or of (10), as the paper writes them."""
    users, servers, _ = inst.shape
    phi = inst.weight
    if notion.name == "sum-m":
        whole = np.repeat(np.eye(users), servers, axis=0)  # x_ni = M_n
        found = linprog(-1 / phi, rows @ whole, right, method="highs")
        return -found.fun
    once = np.repeat(phi, servers)
    level = float((right / (rows @ once)).min())
    gain = (inst.demand[:, None, :] / inst.capacity[None]).sum(axis=2) / phi[:, None]
    low = [(level * float(w), None) for w in once]
    found = linprog(-gain.ravel(), rows, right, bounds=low, method="highs")
    return -found.fun


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
@pytest.mark.parametrize("seed", range(25))
def test_the_programs_as_written(notion: fo.Notion, seed: int) -> None:
    inst, rows, right = drawn(seed)
    answer = fo.solve(inst, notion)
    assert answer.certificate.certified
    assert (rows @ answer.tasks.ravel() <= right * (1 + 1e-9)).all()
    assert answer.objective == pytest.approx(best(inst, notion, rows, right), rel=1e-8)


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_what_is_worse_or_does_not_fit_is_not_certified(notion: fo.Notion, seed: int) -> None:
    """Whatever prices it brings: none, others, or those of a wide spread of weights."""
    inst, rows, right = drawn(seed, spread=3.0 * (seed % 2))
    answer, rng = fo.solve(inst, notion), np.random.default_rng(seed)
    top = best(inst, notion, rows, right)
    for k in range(20):
        part = 1 - 10.0 ** rng.uniform(-4, 0, answer.tasks.shape) * (rng.random(4) < 0.5)[:, None]
        prices = {}
        if k % 2:
            prices = {
                name: own * rng.random(own.shape) ** rng.integers(0, 9)
                for name in ("prices", "bound_prices", "rule_prices", "limit_on_prices")
                if (own := getattr(answer, name)) is not None
            }
        spoiled = answer.with_(tasks=answer.tasks * part, certificate=None, **prices)
        worth = spoiled.objective
        assert worth is not None
        if worth < top * (1 - 2e-6):
            assert not certify(spoiled).certified
    over = answer.with_(tasks=answer.tasks * (1 + 1e-6), certificate=None)
    assert certify(over).verdict == "refuted"


def test_a_group_together() -> None:
    """12 CPU on x and on y; A, B and C may use both, A and B together at most 8. In fractions:
    4 M <= 8 binds before 3 M <= 12, so M = 2; and C takes the rest, 8 on each."""
    inst = fo.Instance(
        [[1.0]] * 3,
        [[12.0], [12.0]],
        users=["A", "B", "C"],
        servers=["x", "y"],
        resources=["cpu"],
        quotas=fo.Quotas(
            groups=[fo.Group("g", weight=2.0)],
            group={"A": "g", "B": "g"},
            bounds=[fo.Bound("g", "cpu", 8.0)],
        ),
    )
    found = fo.solve(inst, fo.EqualTasks())
    level = min(Fraction(8, 4), Fraction(12, 3))
    assert found.tasks == pytest.approx(np.array([[2, 2], [2, 2], [8, 8]]), rel=1e-12)
    assert found.tasks[0, 0] == pytest.approx(float(level))
    assert found.bound_prices is not None
    below = found.with_(tasks=[[1.9, 2.1], [2, 2], [8, 8]], certificate=None)
    assert certify(below).verdict == "refuted"
    common = fo.solve(inst, fo.CommonTasks())
    assert common.totals.sum() == pytest.approx(24) and common.objective == pytest.approx(12)


def test_what_has_no_meaning_is_refused_by_name() -> None:
    base = fo.Instance([[1.0], [1.0]], [[8.0]], users=["A", "B"], resources=["cpu"])
    pair = {"groups": [fo.Group("g", weight=5.0)], "group": {"A": "g"}}
    least = fo.Rule("green", least=1, terms=[fo.Term(users=["A"])])
    cases = {
        "guarantees": {"quotas": fo.Quotas(guarantees=[fo.Guarantee("A", "cpu", 5.0)])},
        "priorities": {"quotas": fo.Quotas(priority={"A": 1})},
        "whose weights": {"quotas": fo.Quotas(**pair)},
        "green": {"rules": [least]},
        "lending": {"quotas": fo.Quotas(quotas=[fo.Quota(u, "cpu", 4, lend=2) for u in "AB"])},
        "leave A nothing": {"quotas": fo.Quotas(bounds=[fo.Bound("A", "cpu", 0.0)])},
    }
    for words, rules in cases.items():
        for notion in NOTIONS:
            with pytest.raises(fo.UsageError, match=words):
                fo.solve(base.replace(**rules), notion)


def test_saved_and_read_back(tmp_path: Path) -> None:
    inst, _, _ = drawn(0)
    for notion in NOTIONS:
        answer = fo.solve(inst, notion)
        answer.save(tmp_path / "answer.json")
        again = fo.load(tmp_path / "answer.json")
        assert fo.certify(again).certified and again.objective == answer.objective
