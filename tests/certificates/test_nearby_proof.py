"""What a point nearby proves and how far that reaches, beside the same sums in plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.levels import Order
from fairopt.certificates.nearby import judged
from fairopt.certificates.nearby.points import NearbyPoint, whole
from fairopt.certificates.nearby.proof import Left, _room
from fairopt.certificates.nearby.reach import reach
from fairopt.certificates.nearby.rows import Lot
from fairopt.certificates.nearby.system import System
from fairopt.formulas.entitled import entitled
from fairopt.formulas.targets import TargetTree
from fairopt.instance import Bools, Floats
from tests.certificates.test_nearby import draw

Asked = tuple[System, NearbyPoint, Left, TargetTree]


def asked(seed: int, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Points, and what is left open there, of an answer in several rounds, scores by server."""
    inst = draw(seed)
    score = np.random.default_rng(seed).uniform(0.3, 3.0, inst.shape[:2])
    alloc = fo.solve(inst, fo.MaxMin(criterion=lambda _: score))
    seen: list[Asked] = []
    with monkeypatch.context() as patch:
        patch.setattr(judged, "reach", lambda *a: (seen.append(a), reach(*a))[1])
        judged.nearby(alloc, entitled(inst, alloc.score, alloc.kind), Order(alloc))
    return seen[0]


def in_use(system: System, point: NearbyPoint) -> Bools:
    """The columns in use."""
    found = np.zeros(system.tasks, dtype=bool)
    found[point.columns[point.columns < system.tasks]] = True
    return found


def room(
    system: System, point: NearbyPoint, lot: Lot, done: Bools, left: Floats
) -> tuple[float, Floats] | None:
    """What is open at the prices of a lot."""
    at = np.flatnonzero(in_use(system, point))
    place = np.full(system.tasks, -1)
    place[at] = np.arange(len(at))
    return _room(system, at, lot, done, left, point.amount[0], place)


@pytest.mark.parametrize("seed", range(4))
def test_it_reaches_as_much_further_as_systems_are_nearer_to_singular(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, point, left, tree = asked(seed, monkeypatch)
    near = reach(system, point, left, tree)
    far = reach(system, replace(point, least=point.least / 4), left, tree)
    assert (near > 0).any()
    np.testing.assert_allclose(far, 4 * near)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_open_of_money_is_that_of_plain_loops(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At values that are too high by a thousandth, and of users whom some column costs nothing:
    nobody's is above its cheapest column."""
    system, point, left, _ = asked(seed, monkeypatch)
    of, x = system.columns, point.amount[0]
    amount, error = system.left(point.columns, point.amount)
    every = np.arange(system.tasks)
    owner, worth = of.owner(every), of.worth(every)
    idle = 0
    for lot in [lot for lot in left.lots for _ in range(2)]:
        lot = whole(system, lot, [], left.stage, in_use(system, point))
        lot = replace(lot, value=lot.value * (1 + 1e-3))
        if (idle := 1 - idle) == 0:
            lot.value[0][lot.value[0] == 0] = 1.0
        done = left.stage <= left.stage[lot.users[0]]
        cost, value = of.cost(lot.price[0]), lot.value[0].copy()
        for c in every[~of.shut]:
            if value[owner[c]] > 0:
                value[owner[c]] = min(value[owner[c]], cost[c] / worth[c])
        wanted = float(lot.price[0] @ (amount + error))
        for c, tasks in zip(point.columns.tolist(), x.tolist(), strict=True):
            n = owner[c]
            wanted += tasks * (cost[c] - (value[n] * worth[c] if done[n] else 0.0))
        found = room(system, point, lot, done, amount + error)
        assert found is not None
        assert found[0] == pytest.approx(wanted, rel=1e-6, abs=1e-12 * float(cost.max()))
        np.testing.assert_allclose(found[1], value, rtol=1e-12)


def test_who_is_paid_for_by_a_rule_may_run_as_often_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """b, who counts four times, may run no more than a does. Prices that pay a for more than it
    costs leave open what all that it could still run would bring."""
    rule = fo.Rule("b as a", most=0, terms=[fo.Term(["b"]), fo.Term(["a"], times=-1)])
    inst = fo.Instance([[1.0], [1.0]], [[10.0]], weight=[1, 4], users=["a", "b"], rules=[rule])
    alloc = fo.solve(inst, fo.MaxMin("tasks"))
    np.testing.assert_allclose(alloc.totals, [5, 5])
    seen: list[Asked] = []
    monkeypatch.setattr(judged, "reach", lambda *a: (seen.append(a), reach(*a))[1])
    judged.nearby(alloc, entitled(inst, alloc.score, alloc.kind))
    system, point, left, _ = seen[0]
    lot = next(lot for lot in left.lots if (lot.price[0] > 0).sum() == 2)
    more = np.where(system.low.signed, 1 + 1e-6, 1.0)
    lot = replace(lot, price=lot.price * more)
    amount, error = system.left(point.columns, point.amount)
    cost, of = system.columns.cost(lot.price[0]), system.columns
    a, b = np.argsort(of.of_column).tolist()
    held = dict(zip(point.columns.tolist(), point.amount[0].tolist(), strict=True))
    assert cost[a] < 0 and system.most[a] == pytest.approx(2 * held[a])
    wanted = -cost[a] * (system.most[a] - held[a])
    wanted += held[b] * (cost[b] - lot.value[0][1] * of.worth(np.array([b]))[0])
    done = left.stage <= left.stage[lot.users[0]]
    found = room(system, point, lot, done, amount + error)
    assert found is not None and found[0] == pytest.approx(wanted, rel=1e-6)


def test_the_ends_of_a_point_hold_all_that_it_leaves_open() -> None:
    share, far = np.array([2.0, 3.0, 5.0, 0.0]), np.array([0.25, 1.5, np.inf, 0.0])
    none = np.zeros(4)
    point = judged.Nearby(share, np.zeros((4, 1)), none, far, np.zeros(1, np.int64), none)
    low, top = point.ends()
    np.testing.assert_array_equal(low, [1.5, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(top, [2.5, 7.5, np.inf, 0.0])
