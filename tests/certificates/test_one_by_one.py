"""Classes of one user each: every notion of shares is one linear program after another there, and
these are written out here. Users have modes on three kinds of server, as under a ledger that serves
who used least first."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fairopt as fo

KINDS = ["t4", "a100", "v100"]


def drawn(seed: int, ties: bool = False) -> fo.Instance:
    """Two to four users, most with a mode for each of some kinds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    users = list("ABCD")[:n]
    demand = rng.integers(1, 3, (n, 2)).astype(float)
    modes = {}
    for user in users:
        if rng.random() < 0.75:
            modes[user] = [
                fo.Mode(
                    kind,
                    None if k == 0 else rng.integers(1, 4, 2).astype(float).tolist(),
                    float(rng.integers(1, 5)),
                    [kind],
                )
                for k, kind in enumerate(KINDS[: int(rng.integers(2, 4))])
            ]
    rank = rng.permutation(n)
    if ties:
        rank[rank == rank.max()] = 0
    return fo.Instance(
        demand,
        rng.integers(3, 9, (3, 2)).astype(float),
        limit=rng.integers(1, 6, n).astype(float),
        users=users,
        servers=KINDS,
        resources=["gpu", "cpu"],
        modes=modes or None,
        quotas=fo.Quotas(priority={u: int(p) for u, p in zip(users, rank.tolist(), strict=True)}),
    )


def in_order(inst: fo.Instance) -> np.ndarray:
    """(N,) the most that each can have, those of a higher class first."""
    ways, (n, i, r) = inst.ways, inst.shape
    columns = [(k, s) for k in range(len(ways)) for s in range(i) if ways.eligible[k, s]]
    left, right = [], []
    for s in range(i):
        for c in range(r):
            left.append([ways.demand[k, c] if t == s else 0.0 for k, t in columns])
            right.append(inst.capacity[s, c])
    for u in range(n):
        left.append([1.0 if ways.owner[k] == u else 0.0 for k, _ in columns])
        right.append(inst.limit[u])
    found = np.zeros(n)
    for u in np.argsort(inst.tree.rank).tolist():
        gain = np.array([ways.speed[k] if ways.owner[k] == u else 0.0 for k, _ in columns])
        best = linprog(-gain, np.array(left), right, method="highs")
        assert best.status == 0
        found[u] = -best.fun
        left.append((-gain).tolist())
        right.append(-found[u] * (1 - 1e-12))
    return found


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(40))
def test_every_notion_is_one_program_after_another(seed):
    inst = drawn(seed)
    due = in_order(inst)
    for notion in (fo.ProportionalFair(), fo.AlphaFair(2), fo.MaxMin("tasks")):
        answer = fo.solve(inst, notion)
        assert answer.certificate.certified
        np.testing.assert_allclose(answer.shares, due, rtol=1e-8, atol=1e-8)


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(20))
def test_nothing_else_is_certified(seed):
    """What a later class takes from an earlier one, and what nobody takes, with the right prices,
    with those of another round, and with none."""
    inst = drawn(seed)
    answer = fo.solve(inst, fo.ProportionalFair())
    rng = np.random.default_rng(seed)
    order = np.argsort(inst.tree.rank)
    ways = answer.by_way
    plans = [ways * 0.999, ways * rng.uniform(0.99, 1, ways.shape)]
    first = ways.copy()
    first[inst.ways.owner == order[0]] *= 1 - 1e-4
    plans.append(first)
    told = answer.rounds
    turned = tuple({**one, "prices": told[-1 - k]["prices"]} for k, one in enumerate(told))
    own = inst.modes is None
    for plan in plans:
        for rounds in (told, turned, None):
            given = {"rounds": rounds} if own else {"rounds": rounds, "way_tasks": plan}
            tasks = plan if own else None
            lie = fo.Allocation(inst, answer.notion, tasks, **given)
            apart = np.abs(np.log(np.maximum(lie.shares, 1e-12) / np.maximum(answer.shares, 1e-12)))
            if apart.max() > 2e-6:
                assert not fo.certify(lie).certified


@pytest.mark.parametrize("seed", [3, 7, 22])
def test_a_class_of_two_after_single_ones(seed):
    """Columns that classes before leave to nobody are nobody's cheapest: where they counted, what
    users held elsewhere was shut, and nothing was left to prove."""
    inst = drawn(seed, ties=True)
    assert 1 < len(np.unique(inst.tree.rank)) < len(inst.users)
    assert fo.solve(inst, fo.ProportionalFair()).certificate.certified
