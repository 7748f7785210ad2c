"""Whole tasks beside own rules and limits on servers: kept, proved, held against all there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import fairopt as fo
from fairopt.filling import optimum
from fairopt.whole.beside import beside_nodes, simple
from fairopt.whole.proof.answer import dumps
from fairopt.whole.proof.judging import judge
from fairopt.whole.proof.reading import loads

NAMES = {"users": ["A", "B", "C"], "servers": ["x", "y"], "resources": ["cpu", "gpu"]}


def drawn(seed: int) -> fo.Instance:
    rng = np.random.default_rng(seed)
    rules = [
        fo.Rule("power", most=float(rng.integers(2, 9)), terms=[fo.Term(servers=["x"], times=1.5)])
    ]
    if rng.random() < 0.5:
        terms = [fo.Term(users=["A"], servers=["y"]), fo.Term(servers=["y"], times=0.5)]
        rules.append(fo.Rule("mixed", most=float(rng.integers(1, 5)), terms=terms))
    if rng.random() < 0.5:
        rules.append(fo.Rule("few", most=float(rng.integers(1, 4)), terms=[fo.Term(users=["B"])]))
    return fo.Instance(
        rng.integers(1, 4, (3, 2)),
        rng.integers(4, 10, (2, 2)),
        **NAMES,
        rules=rules,
        limit_on={"C": {"x": float(rng.uniform(0.5, 3))}} if rng.random() < 0.7 else None,
    )


def fitting(inst: fo.Instance) -> Iterator[np.ndarray]:
    """All whole tasks (N, I) that keep every rule, in fractions."""
    most = np.floor(inst.alone + 1e-9).astype(int).ravel()
    for given in product(*(range(m + 1) for m in most)):
        tasks = np.array(given).reshape(3, 2)
        if (tasks.T @ inst.demand > inst.capacity).any():
            continue
        if inst.limit_on is not None and (tasks > inst.limit_on).any():
            continue
        if all(
            sum(
                Fraction(v) * int(tasks[k, i])
                for k, i, v in zip(row.way, row.server, row.value.tolist(), strict=True)
            )
            <= Fraction(row.amount)
            for row in inst.own_rows
        ):
            yield tasks


@pytest.mark.parametrize("seed", range(12))
def test_the_most_tasks_of_all_there_are(seed: int) -> None:
    inst = drawn(seed)
    best = max(int(tasks.sum()) for tasks in fitting(inst))
    found = optimum(inst)
    assert found.proved and found.total == best
    assert any((found.allocation.tasks == tasks).all() for tasks in fitting(inst))


@pytest.mark.parametrize("seed", range(12))
def test_the_lowest_part_of_a_due_is_as_high_as_can_be(seed: int) -> None:
    inst = drawn(seed)
    due = [4, 3, 3]
    found = fo.whole(inst, due)
    verdict = judge(found)
    assert verdict.proved
    parts = sorted(Fraction(m, d) for m, d in zip(found.totals, due, strict=True))
    assert parts == max(
        sorted(
            min(Fraction(int(m), d), Fraction(1)) for m, d in zip(t.sum(axis=1), due, strict=True)
        )
        for t in fitting(inst)
    )
    tasks = np.zeros((3, 2))
    for user, there in found.tasks().items():
        for server, m in there.items():
            tasks[NAMES["users"].index(user), NAMES["servers"].index(server)] = m
    assert any((tasks == own).all() for own in fitting(inst))


def test_a_file_keeps_the_rules_and_a_forged_one_is_refuted() -> None:
    """Node x has 6 of "power", of which a task takes 3/2: four tasks, whatever is free beside."""
    inst = fo.Instance(
        [[1, 1]] * 3,
        [[20, 20], [1, 1]],
        **NAMES,
        rules=[fo.Rule("power", most=6, terms=[fo.Term(servers=["x"], times=1.5)])],
    )
    found = fo.whole(inst, [5, 5, 5])
    assert sum(found.totals) == 5 and judge(found).proved
    again = loads(dumps(found), "file")
    assert judge(again).proved and again.totals == found.totals
    (j,) = (k for k, row in enumerate(again.asked.rows) if "rule power" in row.capacity)
    nodes = tuple(
        (k, count, tuple(m + 1 for m in tasks) if k == j else tasks)
        for k, count, tasks in again.nodes
    )
    assert judge(replace(again, nodes=nodes)).state == "refuted"
    # a rule left out of the file is another question, in which more fit
    without = [
        replace(
            row,
            kinds=tuple(
                (n, m, {k: v for k, v in d.items() if "rule" not in k}, c)
                for n, m, d, c in row.kinds
            ),
        )
        for row in again.asked.rows
    ]
    looser = replace(again, asked=replace(again.asked, rows=tuple(without)))
    assert not judge(looser).proved


def test_rules_that_count_tasks_alike_wherever_they_run() -> None:
    """At most 5 tasks of A and B together, on both servers: who asks for no more than what it is
    due keeps it; dues that break it are refused."""
    rule = fo.Rule("licences", most=5, terms=[fo.Term(users=["A", "B"])])
    inst = fo.Instance([[1, 1]] * 3, [[9, 9], [9, 9]], **NAMES, rules=[rule])
    due = fo.solve(inst, fo.ProportionalFair())
    found = fo.whole(inst, due)
    assert found.totals[0] + found.totals[1] <= 5 and judge(found).proved
    with pytest.raises(fo.UsageError, match="rule licences counts 7"):
        fo.whole(inst, [4, 3, 1])
    with pytest.raises(fo.UsageError, match="looks at several nodes"):
        optimum(inst)


def test_what_no_node_can_keep_is_refused_by_name() -> None:
    uneven = fo.Rule("link", most=4, terms=[fo.Term(servers=["x"]), fo.Term(["A"], ["y"], times=2)])
    asks = fo.Rule("green", least=1, terms=[fo.Term(users=["A"])])
    base = fo.Instance([[1, 1]] * 3, [[9, 9], [9, 9]], **NAMES)
    many = fo.Instance([[1, 1]] * 3, [[9, 9], [9, 9]], count=[3, 1], **NAMES)
    power = fo.Rule("power", most=6, terms=[fo.Term(servers=["x"], times=1.5)])
    for inst, words in (
        (base.replace(rules=[uneven]), "rule link, which looks at several nodes"),
        (base.replace(rules=[asks]), "rule green, which less of everything may break"),
        (many.replace(rules=[power]), "rule power, which looks at several nodes"),
    ):
        with pytest.raises(fo.UsageError, match=words):
            fo.whole(inst, [1, 1, 1])
        with pytest.raises(fo.UsageError, match=words):
            optimum(inst)


def test_a_ceiling_of_a_group_on_one_node() -> None:
    """12 CPU on x of flavor f and 3 on y; A and B together at most 4 on f: 4, and 8 of C, and 3."""
    inst = fo.Instance(
        [[1, 0]] * 3,
        [[12, 0], [3, 0]],
        **NAMES,
        placement=[[1, 1], [1, 1], [1, 0]],
        quotas=fo.Quotas(
            groups=[fo.Group("g")],
            group={"A": "g", "B": "g"},
            flavors={"f": ["x"]},
            bounds=[fo.Bound("g", "cpu", 4.0, flavor="f")],
        ),
        limit=[np.inf, np.inf, 7],
    )
    found = optimum(inst)
    assert found.proved and found.total == 4 + 7 + 3


def test_numbers_are_what_was_meant() -> None:
    assert simple(1.5 * 0.1) == Fraction(3, 20)
    assert simple(1 / 3) == Fraction(1, 3)
    assert simple(0.3) == Fraction(3, 10)
    inst = fo.Instance(
        [[0.1], [0.3]],
        [[1.0]],
        users=["A", "B"],
        rules=[fo.Rule("r", most=0.15, terms=[fo.Term(resource="r1", times=1.5)])],
        resources=["r1"],
    )
    (own,) = beside_nodes(inst, "somebody", due=False).on[0]
    assert own.takes[0, ""] == Fraction(3, 20) == own.amount
    assert optimum(inst).total == 1


def test_a_ceiling_on_a_flavor_is_kept_where_tasks_run() -> None:
    """A is due 2 on x, which is of flavor f, and 3 on y: five tasks, of which x may have two."""
    bounds = [fo.Bound("A", "cpu", 2.0, flavor="f")]
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[10.0], [3.0]],
        users=["A", "B"],
        servers=["x", "y"],
        resources=["cpu"],
        quotas=fo.Quotas(flavors={"f": ["x"]}, bounds=bounds),
    )
    due = fo.solve(inst, fo.MaxMin(criterion="tasks"))
    assert due.tasks == pytest.approx(np.array([[2, 3], [8, 0]]))
    found = fo.whole(inst, due)
    assert found.tasks() == {"A": {"x": 2, "y": 3}, "B": {"x": 8}} and judge(found).proved
    lent = [fo.Quota(user, "cpu", 5.0, flavor="f", lend=1.0) for user in "AB"]
    with pytest.raises(fo.UsageError, match="lending on a flavor"):
        fo.whole(inst.replace(quotas=fo.Quotas(flavors={"f": ["x"]}, quotas=lent)), [1, 1])
