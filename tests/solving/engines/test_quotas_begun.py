"""Max-min beside rules from the last answer: as without it, whatever the last answer was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import fairopt as fo
from fairopt.formulas import families
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import lower
from fairopt.solving.answering import scores
from fairopt.solving.engines import units
from fairopt.solving.engines.quotas import begun
from fairopt.solving.engines.quotas.rounds import RoundsQuestion

NOTION = fo.MaxMin(criterion="tasks", measure="sum")


def ruled(seed: int, users: int = 16) -> fo.Instance:
    """Users with one more rule, or several, of every kind."""
    rng = np.random.default_rng(seed)
    names, servers = [f"u{n}" for n in range(users)], ["x", "y", "z"]
    placement = rng.random((users, 3)) < 0.7
    placement[np.arange(users), rng.integers(0, 3, users)] = True
    quotas = {
        "groups": [fo.Group("a", weight=2.0), fo.Group("b"), fo.Group("c", "a")],
        "group": {name: "abc"[n % 3] for n, name in enumerate(names) if n % 5},
        "bounds": [fo.Bound("a", "cpu", 4.0), fo.Bound("u1", "cpu", 0.3)],
        "guarantees": [fo.Guarantee("u2", "cpu", 1.0)],
        "priority": {name: n % 2 for n, name in enumerate(names)},
    }
    if rng.random() < 0.3:
        quotas["quotas"] = [fo.Quota(name, "cpu", 1.5, lend=0.5) for name in names]
        del quotas["groups"], quotas["group"], quotas["bounds"]
    for key in list(quotas):
        if rng.random() < 0.4 and key not in ("groups", "group"):
            del quotas[key]
    rule = fo.Rule("power", most=6, terms=[fo.Term(servers=["x"], times=1.5)])
    slow = fo.Mode("slow", {"cpu": 1, "gpu": 1}, 0.5)
    return fo.Instance(
        rng.choice([0.25, 0.5, 1, 2], (users, 2)),
        rng.integers(6, 15, (3, 2)),
        placement,
        rng.choice([1.0, 1.0, 2.0], users),
        limit=np.where(rng.random(users) < 0.2, 2.0, np.inf),
        users=names,
        servers=servers,
        resources=["cpu", "gpu"],
        quotas=fo.Quotas(**quotas) if quotas else None,
        rules=[rule] if rng.random() < 0.4 else None,
        modes={"u0": [fo.Mode("fast"), slow]} if rng.random() < 0.4 else None,
    )


def changes(inst: fo.Instance, seed: int) -> Iterator[fo.Instance]:
    rng = np.random.default_rng(seed)
    n, i = rng.integers(len(inst.users)), rng.integers(len(inst.servers))
    weight, capacity, demand = inst.weight.copy(), inst.capacity.copy(), inst.demand.copy()
    weight[n] *= 1.5
    capacity[i] *= 1.2
    demand[n] *= rng.choice([0.5, 1.5], 2)
    yield inst.replace(weight=weight)
    yield inst.replace(capacity=capacity)
    yield inst.replace(demand=demand)
    if inst.quotas is not None and inst.quotas.bounds:
        first, *rest = inst.quotas.bounds
        bounds = [replace(first, most=first.most * 1.3), *rest]
        yield inst.replace(quotas=replace(inst.quotas, bounds=bounds))


def same(found: fo.Allocation, cold: fo.Allocation) -> bool:
    return bool(np.allclose(found.shares, cold.shares, rtol=1e-7, atol=1e-12))


def test_as_without_a_start() -> None:
    asked = used = 0
    for seed in range(24):
        inst = ruled(seed)
        last = fo.solve(inst, NOTION)
        for changed in changes(inst, seed):
            cold = fo.solve(changed, NOTION)
            found = fo.solve(changed, NOTION, start=last)
            assert found.certificate.certified
            assert same(found, cold), seed
            assert found.steps[0]["step"] == "start"
            asked, used = asked + 1, used + (found.steps[0]["status"] == "used")
    assert used > 0.8 * asked


@pytest.mark.parametrize("seed", range(6))
def test_a_forged_start_does_no_harm(seed: int) -> None:
    inst, rng = ruled(seed), np.random.default_rng(seed)
    last = fo.solve(inst, NOTION)
    for power in (0.0, 1.0, 8.0):
        rounds = [
            {
                **one,
                "t": one["t"] * rng.uniform(0, 3),
                "users": one["users"][::-1],
                "prices": {k: v * rng.random(v.shape) ** power for k, v in one["prices"].items()},
            }
            for one in last.rounds[::-1]
        ]
        spoiled: dict[str, np.ndarray] = {"tasks": last.tasks * rng.uniform(0, 2, last.tasks.shape)}
        if last.way_tasks is not None:
            spoiled = {"way_tasks": last.way_tasks * rng.uniform(0, 2, last.way_tasks.shape)}
            spoiled["tasks"] = inst.ways.running(spoiled["way_tasks"])
        found = fo.solve(inst, NOTION, start=last.with_(rounds=tuple(rounds), **spoiled))
        assert found.certificate.certified
        assert same(found, last)


def test_somebody_came_and_somebody_left() -> None:
    inst = ruled(3)
    fewer = inst.replace(weight=inst.weight)
    rest = np.arange(1, len(inst.users) - 1)
    names = {inst.users[n] for n in rest}
    quotas = inst.quotas
    if quotas is not None:
        quotas = replace(
            quotas,
            group={name: of for name, of in quotas.group.items() if name in names},
            priority={name: of for name, of in quotas.priority.items() if name in names},
        )
    fewer = fo.Instance(
        inst.demand[rest],
        inst.capacity,
        inst.placement[rest],
        inst.weight[rest],
        users=[inst.users[n] for n in rest],
        servers=inst.servers,
        resources=inst.resources,
        quotas=quotas,
    )
    for before, after in ((inst, fewer), (fewer, inst)):
        found = fo.solve(after, NOTION, start=fo.solve(before, NOTION))
        assert found.certificate.certified
        assert same(found, fo.solve(after, NOTION))


def question(inst: fo.Instance) -> RoundsQuestion:
    score = scores(inst, NOTION)
    of, low = entitled(inst, score, families.member(NOTION.plain())), lower(inst, score)
    alone = units.beside_rules(low)
    return RoundsQuestion(low, of.tree, of.floor, of.added, of.rank, alone)


def test_prices_that_say_nothing_lead_nowhere() -> None:
    asked = question(ruled(0))
    nothing, x = np.zeros(len(asked.low.rhs)), np.zeros(asked.low.columns)
    assert begun.solve(asked, [], x) is None
    assert begun.solve(asked, [nothing, nothing], x) is None


def test_two_users_from_one_price() -> None:
    """8 CPU, B's ceiling 2: B has 2 of them and A 6; A's weight changes nothing of that, and of a
    ceiling of 3 A has 5. The price of the first round is that of the ceiling, of the second CPU."""
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[8.0]],
        users=["A", "B"],
        servers=["x"],
        resources=["cpu"],
        quotas=fo.Quotas(bounds=[fo.Bound("B", "cpu", 2.0)]),
    )
    last = fo.solve(inst, NOTION)
    assert last.totals.tolist() == [6.0, 2.0]
    for ceiling, weight, due in ((2.0, 3.0, [6.0, 2.0]), (3.0, 1.0, [5.0, 3.0])):
        bounds = fo.Quotas(bounds=[fo.Bound("B", "cpu", ceiling)])
        changed = inst.replace(weight=[weight, 1.0], quotas=bounds)
        found = fo.solve(changed, NOTION, start=last)
        assert found.totals == pytest.approx(due, rel=1e-14)
        assert found.steps[0]["status"] == "used" and found.steps[-1]["step"] == begun.NAME
        assert found.steps[-1]["programs"] == 0
