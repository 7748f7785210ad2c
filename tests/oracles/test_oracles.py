"""Nested max-min by three roads: rational simplex, filling of one pool, task by task.

And what must not change an answer, and lies."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from tests.oracles import by_class, draws, lies, nested, pool, task_by_task

DOMINANT = {"criterion": "drf", "measure": "dominant"}


@pytest.mark.parametrize("seed", range(12))
def test_one_pool_is_filled_to_the_exact_answer(seed):
    rng = np.random.default_rng(seed)
    kind = draws.HONEST[seed % (len(draws.HONEST))]
    inst = draws.one_pool(rng, kind)
    how = {
        "criterion": "drf",
        "measure": "sum" if "sum" in kind else "dominant",
        "above": "above" in kind,
    }
    if not lies.fits(inst, draws.notion(how)):
        return
    exact = nested.shares(nested.of_instance(inst, **how))[0].astype(float)
    found = pool.tasks(inst, draws.notion(how)) * fo.criteria.drf(inst)[:, 0]
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(15))
def test_task_by_task_comes_as_near_as_a_task_is_small(seed):
    inst = draws.tree(np.random.default_rng(seed))
    problem = nested.of_instance(inst, **DOMINANT)
    right = nested.shares(problem)[0].astype(float)
    use, tree = np.array(problem.use, dtype=float), inst.tree
    found = task_by_task.shares(tree.parent, tree.weight, tree.leaf, use, 1 / 400)
    assert np.abs(found - right).max() < 6 / 400


def test_without_the_cures_a_group_starves():
    """What the naive form gives, n1 1, n22 0, is not what task by task gives here."""
    parent, leaf = np.array([-1, 0, 0, 1, 2, 2]), np.array([3, 4, 5])
    use = np.array([[0.0, 1], [1, 0], [0, 1]])
    found = task_by_task.shares(parent, np.ones(6), leaf, use, 1 / 1000)
    assert found == pytest.approx([0.5, 1, 0.5], abs=2e-3)


def changed(inst, quotas):
    given = inst.quotas or fo.Quotas()
    fields = {name: getattr(given, name) for name in given.__dataclass_fields__}
    return inst.replace(quotas=fo.Quotas(**{**fields, **quotas}))


@pytest.mark.parametrize("seed", range(20))
def test_what_must_not_change_an_answer(seed):
    """Floors of 0, groups of a single child, and a user split in two siblings of half weight."""
    rng = np.random.default_rng(seed)
    inst = draws.tree(rng)
    right = nested.shares(nested.of_instance(inst, **DOMINANT))[0].tolist()
    nothing = changed(inst, {"guarantees": [fo.Guarantee(u, "r0", 0) for u in inst.users]})
    assert nested.shares(nested.of_instance(nothing, **DOMINANT))[0].tolist() == right
    # a group of one child has the child's weight, the child any weight
    groups, inside = list(inst.quotas.groups), dict(inst.quotas.group)
    weight = inst.weight.copy()
    n = int(rng.integers(len(inst.users)))
    user = inst.users[n]
    groups.append(fo.Group("alone", inside.get(user), float(weight[n])))
    weight[n] = 7
    alone = changed(inst, {"groups": groups, "group": {**inside, user: "alone"}})
    alone = alone.replace(weight=weight)
    assert nested.shares(nested.of_instance(alone, **DOMINANT))[0].tolist() == right
    # split: the halves hold together what the whole did
    users = [*inst.users, "half"]
    rows = [*range(len(inst.users)), n]
    weight = inst.weight[rows].copy()
    weight[[n, -1]] /= 2
    group = {**inside, **({"half": inside[user]} if user in inside else {})}
    quotas = fo.Quotas(inst.quotas.groups, group)
    split = fo.Instance(
        inst.demand[rows],
        inst.capacity,
        weight=weight,
        users=users,
        resources=inst.resources,
        quotas=quotas,
    )
    found = nested.shares(nested.of_instance(split, **DOMINANT))[0].tolist()
    assert found[-1] == found[n]
    found[n] += found.pop()
    assert found == right


@pytest.mark.parametrize("kind", draws.HONEST)
def test_no_lie_about_demand_pays_where_guarantees_are_bundles(kind):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        inst = draws.one_pool(rng, kind)
        measure = "sum" if "sum" in kind else "dominant"
        notion = fo.MaxMin("drf", measure=measure, over="above" if "above" in kind else "floor")
        if not lies.fits(inst, notion):
            continue
        user = int(rng.integers(len(inst.users)))
        for claim in lies.claims(rng, inst.demand[user], 4):
            assert lies.gain(inst, notion, user, claim) < 1e-9


def test_who_is_promised_only_what_it_does_not_need_gains_by_claiming_to_need_it():
    """A bundle holds nobody back by a resource that it does not name (here cpu). A needs cpu alone
    and is promised 6 GPUs: of no use, until it claims a little of each."""
    quotas = fo.Quotas(guarantees=[fo.Guarantee("A", "gpu", 6)])
    inst = fo.Instance(
        [[1, 0], [1, 0], [1, 0]],
        [[12, 12]],
        users=["A", "B", "C"],
        resources=["cpu", "gpu"],
        quotas=quotas,
    )
    notion = fo.MaxMin("drf")
    assert pool.tasks(inst, notion).tolist() == [4, 4, 4]
    assert lies.gain(inst, notion, 0, np.array([1.0, 1.0])) == pytest.approx(6 / 4 - 1)


def test_the_known_lie_pays_where_guarantees_are_tasks():
    """12 GPUs, one a task, A guaranteed 4 tasks: truth 6, 6; claiming 5/2 it holds 10 GPUs (G4)."""
    inst = fo.Instance(
        [[1], [1]],
        [[12]],
        users=["A", "B"],
        resources=["gpu"],
        quotas=fo.Quotas(guarantee_tasks={"A": 4}),
    )
    notion = fo.MaxMin("drf")
    assert pool.tasks(inst, notion).tolist() == [6, 6]
    assert lies.gain(inst, notion, 0, np.array([2.5])) == pytest.approx(10 / 6 - 1)


def test_classes_have_what_those_before_leave_them() -> None:
    """Of 12 GPUs A takes the 3 it can run, and B and C divide 9 as 2 to 1 at alpha 2; where A takes
    all, they have nothing."""
    inst = fo.Instance(
        [[1.0]] * 3,
        [[12.0]],
        weight=[1, 4, 1],
        limit=[3, np.inf, np.inf],
        users=list("ABC"),
        quotas=fo.Quotas(priority={"A": 1}),
    )
    found = by_class.shares(inst, np.ones((3, 1)), 2.0, False)
    assert found is not None and np.allclose(found, [3, 6, 3], rtol=1e-12)
    all_ = by_class.shares(inst.replace(limit=None), np.ones((3, 1)), 2.0, False)
    assert all_ is not None and np.allclose(all_, [12, 0, 0], atol=0, rtol=1e-12)
