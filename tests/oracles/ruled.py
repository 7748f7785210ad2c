"""Properties of max-min under trees, guarantees, ceilings, lending and priorities, searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

import fairopt as fo
from tests.oracles import draws, lies, pool

TRIED = 8
"""lies, and growths of capacity, of each instance"""
LEAST_PART = 1e-6
KINDS = {
    "tree, sum": ("tree, sum", {"measure": "sum"}),
    "tree, dominant": ("tree, dominant", {"measure": "dominant"}),
    "guarantees, floor": ("tree, bundles, dominant", {"over": "floor"}),
    "guarantees, above": ("tree, bundles, dominant", {"over": "above"}),
    "guarantees, proportion": ("tree, bundles, dominant", {"over": "proportion"}),
    "ceilings": ("tree, ceilings, dominant", {}),
    "lending and borrowing": ("lending", {}),
    "priority classes": ("tree, priorities", {}),
}
"""mechanism -> what is drawn, and the parameters of max-min by the criterion drf"""


def notion(label: str) -> fo.MaxMin:
    """Max-min of a mechanism."""
    return fo.MaxMin("drf", **KINDS[label][1])


def drawn(label: str, rng: np.random.Generator) -> fo.Instance:
    """A random instance of a mechanism."""
    kind = KINDS[label][0]
    inst = draws.one_pool(rng, kind if kind != "lending" else "no guarantees")
    if kind == "lending":
        most = inst.pool[0, 0]
        lent = [
            fo.Quota(
                user,
                inst.resources[0],
                float(rng.integers(0, most / 2)),
                *(float(rng.integers(0, 8)) if rng.random() < 0.5 else np.inf for _ in range(2)),
            )
            for user in inst.users
        ]
        return inst.replace(quotas=fo.Quotas(quotas=lent))
    if "priorities" in kind:
        first = {user: int(rng.integers(0, 2)) for user in inst.users}
        told = inst.quotas or fo.Quotas()
        return inst.replace(quotas=fo.Quotas(told.groups, told.group, priority=first))
    return inst


def divided(inst: fo.Instance, label: str) -> np.ndarray | None:
    """(N,) tasks; None where guarantees do not fit or are missing, or lending is not certified."""
    if "lending" in label:
        answer = fo.solve(inst, notion(label), uncertified="return")
        return answer.totals if answer.certificate.certified else None
    try:
        fits = lies.fits(inst, notion(label))
    except fo.UsageError:  # in proportion to nothing
        return None
    return pool.tasks(inst, notion(label)) if fits else None


# -- properties: each gives how much is wrong, relative to a user's own tasks; 0 is nothing -------


def unused(inst: fo.Instance, tasks: np.ndarray, rules: bool = True) -> float:
    """How much all users together could have more, in parts of what each could run alone."""
    alone, rows, most = inst.alone[:, 0], [*inst.demand.T], [*inst.pool[0]]
    tree, users = inst.tree, len(tasks)
    if rules:
        for b in range(len(tree.bounds)):
            inside = np.isin(np.arange(users), tree.below(int(tree.bounds.node[b])))
            rows.append(np.where(inside, inst.demand[:, tree.bounds.resource[b]], 0.0))
            most.append(tree.bounds.amount[b])
    # one more column for each quota: what its user passes up, within its limits; all sum to 0
    lent = list(inst.quotas.quotas) if rules and inst.quotas and inst.quotas.quotas else []
    left = np.zeros((len(rows) + len(lent), users + len(lent)))
    left[: len(rows), :users] = rows
    for k, quota in enumerate(lent):
        n, r = inst.users.index(quota.member), inst.resources.index(quota.resource)
        left[len(rows) + k, n], left[len(rows) + k, users + k] = inst.demand[n, r], 1.0
        most.append(quota.nominal)
    passed = [(-quota.borrow, quota.lend) for quota in lent]
    kept = tasks * (1 - 1e-9)
    found = linprog(
        np.r_[-1 / alone, np.zeros(len(lent))],
        left,
        np.array(most) * (1 + 1e-12),
        np.r_[np.zeros(users), np.ones(len(lent))][None] if lent else None,
        [0.0] if lent else None,
        [*zip(kept, np.maximum(inst.limit, kept), strict=True), *passed],
    )
    assert found.status == 0, found.message
    return float(-found.fun - (tasks / alone).sum())


def part_missing(inst: fo.Instance, tasks: np.ndarray) -> float:
    """What the worst group lacks of its part, relative to it."""
    tree, worst = inst.tree, 0.0
    for node in range(len(tree.parent)):
        below = tree.below(node)
        if node in tree.leaf or tree.parent[node] < 0 or not len(below):
            continue
        part = float(_part(inst, node))
        held = (tasks[below] @ inst.demand[below] / inst.pool[0]).max()
        if (tasks[below] < inst.limit[below] * (1 - LEAST_PART)).any():
            worst = max(worst, 1 - held / part)
    return worst


def _part(inst: fo.Instance, node: int) -> float:
    """A node's weight by that of its siblings with users, times its parent's part."""
    tree = inst.tree
    if tree.parent[node] < 0:
        return 1.0
    siblings = [
        k for k in np.flatnonzero(tree.parent == tree.parent[node]) if len(tree.below(int(k)))
    ]
    own = tree.weight[node] / tree.weight[siblings].sum()
    return float(own * _part(inst, int(tree.parent[node])))


def faults(inst: fo.Instance, label: str, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    """(property, how much is wrong) of everything that is tried on one instance."""
    tasks = divided(inst, label)
    if tasks is None:
        return
    alloc = fo.Allocation(inst, notion(label), tasks[:, None])
    yield "POR", unused(inst, tasks)
    yield "PO", unused(inst, tasks, rules=False)
    yield "SI", fo.properties.sharing_incentive(alloc).residual
    yield "GP", part_missing(inst, tasks)
    yield "EF", fo.properties.envy_free(alloc).residual
    user = int(rng.integers(len(tasks)))
    for claim in lies.claims(rng, inst.demand[user], TRIED):
        demand = inst.demand.copy()
        demand[user] = claim
        lied = divided(inst.replace(demand=demand), label)
        if lied is not None:
            need = inst.demand[user] > 0
            runs = (lied[user] * claim[need] / inst.demand[user, need]).min()
            yield "SP", min(runs, inst.limit[user]) / max(tasks[user], 1e-9) - 1
    for _ in range(TRIED):
        grown = inst.capacity * rng.choice([1.0, 1.5, 3.0], inst.capacity.shape)
        more = divided(inst.replace(capacity=grown), label)
        if more is not None:
            yield (
                "RM",
                float((1 - more / np.maximum(tasks, 1e-9))[tasks > LEAST_PART].max(initial=0)),
            )
    for gone in range(len(tasks)) if len(tasks) > 1 else ():
        stay = [n for n in range(len(tasks)) if n != gone]
        less = divided(inst.select(stay, [0]), label)
        if less is not None:
            held = tasks[stay]
            yield (
                "PM",
                float((1 - less / np.maximum(held, 1e-9))[held > LEAST_PART].max(initial=0)),
            )


def searched(label: str, count: int) -> dict[str, tuple[int, int, float]]:
    """Property -> (tried, refuted, the worst) on so many random instances."""
    tried: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    worst: dict[str, float] = {}
    for seed in range(max(count // 10, 1) if "lending" in label else count):
        rng = np.random.default_rng(seed)
        inst = drawn(label, rng)
        for name, fault in faults(inst, label, rng):
            tried[name] += 1
            wrong[name] += fault > LEAST_PART
            worst[name] = max(worst.get(name, 0.0), fault)
    return {name: (tried[name], int(wrong[name]), worst.get(name, 0.0)) for name in tried}
