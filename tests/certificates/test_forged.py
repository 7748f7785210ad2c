"""An attack on the judge of alpha-fair answers: users of little money spoilt, prices forged to fit.

The truth is computed to fifty digits (`decimal_truth`). Whatever is certified must give every user
its share within a millionth, and the truth itself, rounded to floats, must be certified. A small
run of the campaign of forged answers is below (`benchmarks/forged`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import nnls

import fairopt as fo
from benchmarks.forged import __main__ as campaign
from benchmarks.forged import pages
from benchmarks.forged.draws import HOWS, SOURCES, case
from benchmarks.forged.ways import Forger, forged
from fairopt.certificates.feasibility import feasibility
from tests.decimal_truth import optimal_shares

Array = np.ndarray


def optimal(rng: np.random.Generator, alpha: float, light: float) -> fo.Allocation:
    """A server and its answer, built from tasks and prices: some users hold a part `light` of what
    the others do; some rows have room for about as much as those; some prices are as small; heavy
    users' demands are sometimes nearly the same."""
    users, resources = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    demand = rng.uniform(0.1, 1, (users, resources))
    if rng.random() < 0.4 and users > 2:
        demand[1] = demand[0] * (1 + 10.0 ** rng.uniform(-3, -1) * rng.normal(size=resources))
    tasks = rng.uniform(0.5, 2, users)
    tasks[rng.choice(users, int(rng.integers(1, users)), replace=False)] *= light
    prices = rng.uniform(0.5, 2, resources) * rng.choice([1, 0, light], resources)
    prices[0] = 1.0
    prices[users:] = 0.0
    room = rng.choice([1.0, light], resources) * rng.uniform(0.1, 5, resources)
    capacity = tasks @ demand * (1 + np.where(prices > 0, 0.0, room))
    weight = (demand @ prices) * tasks**alpha
    inst = fo.Instance(demand, capacity[None, :], weight=weight)
    return fo.Allocation(inst, fo.AlphaFair(alpha), tasks[:, None], prices[None, :])


def refilled(inst: fo.Instance, tasks: Array, heavy: int) -> Array | None:
    """The heavy user's tasks made to fill what the others leave."""
    other = tasks.copy()
    other[heavy] = 0
    left = inst.pool - np.einsum("ni,nir->ir", other, inst.demand_by_server)
    if (left < 0).any():
        return None
    most = (left / inst.demand_by_server[heavy]).min(axis=1)
    found = tasks.copy()
    found[heavy] = np.where(tasks[heavy] > 0, most, 0.0)
    return found


def fitting(inst: fo.Instance, tasks: Array, alpha: float, room: float) -> Array | None:
    """Prices of rows with little room that come nearest to what every user's share is worth."""
    value = inst.weight * tasks.sum(axis=1) ** -alpha
    left = inst.pool - np.einsum("ni,nir->ir", tasks, inst.demand_by_server)
    rows = np.argwhere(left <= room * inst.pool)
    pairs = np.argwhere(tasks > 0)
    if not len(rows):
        return None
    matrix = [
        [inst.demand_by_server[n, i, r] * (i == j) / value[n] for j, r in rows] for n, i in pairs
    ]
    prices = np.zeros(inst.pool.shape)
    prices[tuple(rows.T)] = nnls(np.array(matrix), np.ones(len(pairs)))[0]
    return prices if prices.any() else None


def forgeries(
    rng: np.random.Generator, inst: fo.Instance, right: Array, prices: Array, alpha: float
) -> Iterator[tuple[Array, Array]]:
    """Tasks and prices: money moved to other rows, or one user spoilt, the heaviest filling up."""
    heavy = int(np.argmax(inst.weight))
    factor = np.ones(len(inst.users))
    forged: list[Array | None] = [prices]
    if rng.random() < 0.4:
        part, elsewhere = 10.0 ** -rng.uniform(0.3, 6), rng.random(prices.shape)
        elsewhere *= (prices * inst.pool).sum() / (elsewhere * inst.pool).sum()
        mixed = (1 - part) * prices + part * elsewhere
        cost = np.einsum("nir,ir->ni", inst.demand_by_server, mixed)
        cheapest = np.where(inst.eligible, cost, np.inf).min(axis=1)
        factor = (inst.weight / cheapest) ** (1 / alpha) / right.sum(axis=1)
        factor[heavy] = 1
        forged.append(mixed)
    else:
        factor[rng.integers(len(factor))] = 1 + rng.choice([-0.5, 1]) * 10.0 ** -rng.uniform(0, 6)
    tasks = refilled(inst, right * factor[:, None], heavy)
    if tasks is None or not (tasks.sum(axis=1) > 0).all():
        return
    forged += [fitting(inst, tasks, alpha, room) for room in (1e-12, 1e-6, 10.0)]
    yield from ((tasks, p) for p in forged if p is not None)


@pytest.mark.every(5)
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("light", [1e-3, 1e-7, 1e-11])
def test_nothing_forged_is_certified_and_the_truth_is(alpha: float, light: float) -> None:
    rng = np.random.default_rng([int(10 * alpha), int(-np.log10(light))])
    notion = fo.AlphaFair(alpha)
    known = wrongs = refuted = 0
    for _ in range(10):
        alloc = optimal(rng, alpha, light)
        inst = alloc.instance
        truth = optimal_shares(alloc, alpha)
        if truth is None:  # a capacity was rounded, and another row is full
            continue
        known += 1
        shares, prices = truth
        right = shares[:, None]
        assert fo.certify(fo.Allocation(inst, notion, right, prices)).certified
        for _ in range(4):
            for tasks, p in forgeries(rng, inst, right, prices, alpha):
                given = fo.Allocation(inst, notion, tasks, p)
                wrong = float(np.abs(given.totals / shares - 1).max())
                if wrong <= 1.01e-6 or not all(check.holds for check in feasibility(given)):
                    continue
                verdict = fo.certify(given)
                assert not verdict.certified, (inst.to_dict(), tasks, p, wrong)
                wrongs, refuted = wrongs + 1, refuted + (verdict.verdict == "refuted")
    assert known > 2 and wrongs > 10
    assert refuted > 0.8 * wrongs  # over all of them more than nine in ten


# -- the campaign of forged answers, small --------------------------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("source", ["parallel", "just full", "light", "steep"])
def test_no_forged_answer_is_certified(source: str, how: str) -> None:
    said: Counter[str] = Counter()
    for seed in range(2):
        row = campaign.outcome(source, how, seed)
        if row["asked"]:
            assert row["wrong"] == [], row
            assert row["truth"][0] != "refuted", row
            said.update(row["forged"])
    assert said["certified"] == 0 and said["refuted"] + said["unproved"] > 4


def test_rules_are_forged_too() -> None:
    rows = [campaign.outcome("rules", "whole", seed) for seed in range(4)]
    assert sum(row["asked"] for row in rows) > 2
    assert all(row["wrong"] == [] for row in rows if row["asked"]), rows


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_forged_fits_and_is_off(source: str) -> None:
    """Forged answers keep the rules, and many are off by more than the tolerance."""
    off = fits = count = 0
    for seed in range(6):
        one = case(source, "whole", seed)
        if one is None:
            continue
        forger = Forger(one)
        assert forger.share(forger.right) == pytest.approx(one.truth.share, rel=1e-12)
        for _, x, _ in forged(forger, np.random.default_rng(seed), 4):
            count += 1
            far = np.abs(np.log(forger.share(x) / one.truth.share)).max()
            off, fits = off + (far > 1.01e-6), fits + bool(forger.q.low or campaign.fits(forger, x))
    assert fits == count > 30 and off > 0.3 * count


def test_a_campaign_is_resumed_and_its_page_names_what_is_wrong(tmp_path: Path) -> None:
    journal, page = tmp_path / "forged.jsonl", tmp_path / "forged.md"
    given = ["--source", "parallel", "--each", "2", "--journal", str(journal)]
    assert campaign.main([*given, "--write", str(page)]) == 0
    before = journal.read_text()
    with pytest.raises(SystemExit):
        campaign.main(given)
    assert campaign.main([*given, "--resume"]) == 0 and journal.read_text() == before
    assert "| parallel | 2 |" in page.read_text() and "None." in page.read_text()
    row = {**json.loads(before.splitlines()[0]), "wrong": [["a pair by 1e-05", 1e-5]]}
    text = pages.page([row])
    assert "a pair by 1e-05: 1e-05 (`--source 'parallel' --how 'whole' --seed 0`)" in text
