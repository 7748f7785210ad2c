"""All linear rules as one system: against the instance's own amounts, and lending node by node."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.formulas.lowered import BOUND, CAPACITY, LIMIT, QUOTA, lower
from tests.quota_draws import drawn

EVERYTHING = "tree bound quota limit mode"


def system(inst):
    return lower(inst, np.ones(inst.shape[:2]))


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_the_amounts_of_the_instance(seed):
    inst = drawn(seed, EVERYTHING)
    low = system(inst)
    x = np.random.default_rng(seed).random(low.columns)
    tasks = low.tasks(x, len(inst.ways))
    used = low.matrix[:, : low.columns] @ x
    for m in np.flatnonzero(low.kind == CAPACITY):
        assert used[m] == pytest.approx(inst.ways.used(tasks)[low.one[m], low.two[m]])
        assert low.rhs[m] == inst.pool[low.one[m], low.two[m]]
    for m in np.flatnonzero(low.kind == LIMIT):
        assert used[m] == pytest.approx(tasks[inst.ways.owner == low.one[m]].sum())
    bounds = inst.tree.bounds
    demand = inst.ways.demand
    for m in np.flatnonzero(low.kind == BOUND):
        b = low.one[m]
        below = np.isin(inst.ways.owner, inst.tree.below(bounds.node[b]))
        taken = (tasks * demand[:, [bounds.resource[b]]])[below][:, bounds.servers[b]].sum()
        assert used[m] == pytest.approx(taken) and low.rhs[m] == bounds.amount[b]


@pytest.mark.parametrize("seed", range(40))
def test_lending_is_the_rule_of_each_node(seed):
    """A point fits the rows with some flows exactly when Kueue's recursion lets it in."""
    from scipy.optimize import linprog

    inst = drawn(seed, "tree quota")
    tree, low = inst.tree, system(inst)
    rng = np.random.default_rng(seed)
    rows = low.kind == QUOTA
    if not rows.any():
        return
    answers = set()
    for size in (0.1, 0.5, 1, 2, 4, 8):
        x = size * rng.random(low.columns)
        left = (low.rhs - low.matrix[:, : low.columns] @ x)[rows]
        flows = low.matrix[rows][:, low.columns :]
        bounds = list(zip(low.low, low.high, strict=True))
        fits = (
            linprog(np.zeros(len(bounds)), flows, left, bounds=bounds).status == 0
            if bounds
            else bool((left >= 0).all())
        )
        answers.add(fits == admitted(inst, low.tasks(x, len(inst.ways)), tree))
    assert answers == {True}


def admitted(inst, tasks, tree) -> bool:
    """T(v) = nominal - use + sum of min(lend, T) of children; T >= -borrow, root >= 0."""
    for row in tree.quotas:
        use = (tasks * inst.demand[:, [row.resource]])[:, row.servers].sum(axis=1)
        free = row.nominal.copy()
        free[tree.leaf] -= use
        for v in range(len(free) - 1, 0, -1):
            if free[v] < -row.borrow[v]:
                return False
            free[tree.parent[v]] += min(row.lend[v], free[v])
        if free[0] < 0:
            return False
    return True


def test_a_node_that_borrows_and_lends_at_will_has_its_parent_s_price():
    inst = fo.Instance(
        [[1], [1]],
        [[9]],
        users=["A", "B"],
        resources=["gpu"],
        quotas=fo.Quotas([fo.Group("g")], {"A": "g"}, quotas=[fo.Quota("g", "gpu", 5, borrow=0)]),
    )
    low = system(inst)
    price = np.where(low.kind == QUOTA, 1.0 + np.arange(len(low.rhs)), 0.0)
    nodes = low.named(price).nodes[0]
    names = inst.tree.nodes
    assert nodes[names.index("A")] == nodes[names.index("g")] > nodes[names.index("B")] == nodes[0]


def test_a_plain_instance_has_rows_of_capacity_and_limits_alone():
    inst = fo.read("edge/limits").instance
    low = system(inst)
    assert set(low.kind) == {CAPACITY, LIMIT} and not len(low.low)
    assert low.columns == inst.eligible.sum()
