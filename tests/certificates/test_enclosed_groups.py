"""Levels in groups that are enclosed, beside the definition in fractions; a chain beside a group,
which an estimate of how far errors reach once certified."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import judged
from fairopt.certificates.enclosed_search import enclosed_levels
from fairopt.certificates.exact_verdict import ALL_ROUNDS
from tests.certificates.test_nearby import giving_way
from tests.oracles import draws, nested, spoils
from tests.quota_draws import drawn


def beside_a_group(n: int, stages: int, more: int) -> tuple[fo.Allocation, float]:
    """The chain of `giving_way`, beside a group that has nothing to do with it; what z is due."""
    inst, due = giving_way(n, stages, 512)
    users, servers, resources = inst.demand_by_server.shape
    whole = users + more, servers + 1
    demand, may = np.zeros((*whole, resources)), np.zeros(whole)
    demand[:users, :servers], may[:users, :servers] = inst.demand_by_server, inst.placement
    demand[users:, servers, 0] = may[users:, servers] = 1
    capacity = np.vstack([inst.capacity, [8.0 * more, 1]])
    limit, weight = (
        np.append(each, np.full(more, rest))
        for each, rest in ((inst.limit, np.inf), (inst.weight, 1))
    )
    names = [f"u{k}" for k in range(whole[0])]
    tasks = np.zeros(whole)
    tasks[[0, 1], 0], tasks[2, 1] = (n + 2) / (n + 1), (n + 1) / n
    tasks[np.arange(3, 3 + stages), np.arange(1, 1 + stages)] = 1
    tasks[users - 1, servers - 1], tasks[users:, servers] = 1, 8
    prices, limits = np.zeros((4, servers + 1, resources)), np.zeros((4, whole[0]))
    prices[1, :2, 0] = prices[2, servers - 1, 1] = prices[3, servers, 0] = 1
    limits[0, 3 : 3 + stages] = 1
    stopped = [names[3 : 3 + stages], names[:3], [names[users - 1]], names[users:]]
    rounds = [
        {"t": t, "jump": 0.0, "users": who, "prices": {"prices": p, "limit_prices": mu}}
        for t, who, p, mu in zip((1, (n + 2) / (n + 1), 4, 8), stopped, prices, limits, strict=True)
    ]
    quotas = fo.Quotas([fo.Group("g", weight=float(more))], dict.fromkeys(names[users:], "g"))
    score = np.ones(whole)
    inst = fo.Instance(
        demand, capacity, placement=may, limit=limit, weight=weight, users=names, quotas=quotas
    )
    kind = fo.MaxMin(criterion=lambda _: score, measure="sum")
    return fo.Allocation(inst, kind, tasks, score=score, rounds=rounds), due


@pytest.mark.parametrize("more", [4, 40])
def test_a_chain_beside_a_group_is_proved_in_fractions_or_not_at_all(more: int) -> None:
    """1 % off, and certified with 2e-15, as long as in groups nothing was asked in fractions."""
    forged, due = beside_a_group(2**48, 10, more)
    assert 1 / due - 1 > 1e-2 and not judged(forged).certified


@pytest.mark.parametrize("seed", range(60))
def test_levels_in_groups_are_those_of_the_definition(seed: int) -> None:
    """Run in exact fractions: rules, classes, lending, both measures, jumps."""
    rng = np.random.default_rng([seed, 7])
    inst = draws.draw(rng)
    how = draws.how(rng, inst)
    problem = nested.of_instance(inst, **how)
    try:
        exact = nested.shares(problem)[0]
    except AssertionError as fault:
        assert "infeasible" in str(fault)
        return
    answer = nested.answer(inst, draws.notion(how), **how)
    if inst.tree.flat or answer.rounds is None:
        return
    found = enclosed_levels(answer)
    assert found is not None
    for low, high, share in zip(found.low, found.high, exact, strict=True):
        assert low <= share <= high
    for name, spoiled in spoils.ways(answer, rng):
        assert not fo.certify(spoiled).certified, name


LINES = [24, 25, 48, 65, 68, 69, 93, 96, 102, 115, 143, 174]
"""seeds of clusters with rounds in the midst of jumps"""


def jumping(seed: int) -> fo.Instance:
    """Groups in groups whose members need different resources, so that targets jump; some with
    guarantees or classes."""
    rng = np.random.default_rng([seed, 11])
    n, i, r = int(rng.integers(4, 8)), int(rng.integers(1, 3)), int(rng.integers(2, 4))
    users, resources = [f"u{k}" for k in range(n)], [f"r{k}" for k in range(r)]
    demand = rng.integers(1, 4, (n, r)) * (rng.random((n, r)) < 0.5)
    demand[np.arange(n), rng.integers(0, r, n)] += 1
    capacity = rng.integers(8, 30, (i, r)).astype(float)
    placement = rng.random((n, i)) < 0.7
    placement[np.arange(n), rng.integers(0, i, n)] = True
    groups = []
    for k in range(int(rng.integers(2, 5))):
        parent = None if k == 0 or rng.random() < 0.2 else f"g{rng.integers(0, k)}"
        groups.append(fo.Group(f"g{k}", parent, float(rng.integers(1, 4))))
    more: dict = {}
    if seed % 3 == 0:
        more["guarantees"] = [fo.Guarantee(str(rng.choice(users)), "r0", 1.0)]
    if seed % 3 == 1:
        more["priority"] = {user: int(rng.integers(0, 2)) for user in users}
    return fo.Instance(
        demand.astype(float),
        capacity,
        placement,
        rng.integers(1, 4, n).astype(float),
        np.where(rng.random(n) < 0.3, rng.integers(1, 8, n), np.inf),
        users=users,
        resources=resources,
        quotas=fo.Quotas(groups, {user: rng.choice(groups).name for user in users}, **more),
    )


@pytest.mark.parametrize("seed", [*range(12), *LINES])
def test_jumps_of_several_levels_are_those_of_the_definition(seed: int) -> None:
    inst = jumping(seed)
    how = {"criterion": "drf", "measure": "dominant", "above": seed % 4 == 0}
    notion = fo.MaxMin(over="above" if how["above"] else "floor", measure="dominant")
    exact = nested.shares(nested.of_instance(inst, **how))[0]
    answer = nested.answer(inst, notion, **how)
    found = enclosed_levels(answer)
    assert found is not None
    for low, high, share in zip(found.low, found.high, exact, strict=True):
        assert low <= share <= high
    for name, spoiled in spoils.ways(answer, np.random.default_rng(seed)):
        assert not fo.certify(spoiled).certified, name
    if seed in LINES:
        assert any(0 < one["jump"] < 1 for one in answer.rounds or ())


KINDS = ("tree", "tree limit", "tree bound quota", "tree priority", "tree limit quota priority")


@pytest.mark.parametrize("measure", ["sum", "dominant"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_own_answers_in_groups_are_certified_by_fractions(
    kind: str, measure: str, seed: int
) -> None:
    alloc = fo.solve(drawn(seed, kind), fo.MaxMin(measure=measure))
    found = alloc.certificate
    assert found is not None and found.certified
    assert len(alloc.rounds or ()) < 2 or found.checks[-1].name == ALL_ROUNDS
