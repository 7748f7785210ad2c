"""Explanations of one user: numbers that follow from the answer, and what solving again gives."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.explaining import explain
from fairopt.notions import NOTIONS, make

FIGURE = fo.read("khamse2016/figure-1").instance
POOL = fo.read("ghodsi2011/example").instance


def test_what_a_user_holds_adds_up():
    alloc = fo.solve(fo.read("real/ec2-gpu").instance, fo.ProportionalFair())
    inst = alloc.instance
    total = dict.fromkeys(inst.resources, 0.0)
    for user in inst.users:
        why = alloc.explain(user, again=False)
        assert sum(tasks for _, tasks in why.places) == pytest.approx(why.tasks)
        for resource, amount, part in why.held:
            r = inst.resources.index(resource)
            assert part == pytest.approx(amount / inst.pool[:, r].sum())
            total[resource] += amount
    assert list(total.values()) == pytest.approx(alloc.used.sum(axis=0), rel=1e-6)


def test_proportional_fairness_gives_everybody_its_part_of_the_worth():
    inst = POOL.replace(weight=[3.0, 1.0])
    alloc = fo.solve(inst, fo.ProportionalFair())
    for n, user in enumerate(inst.users):
        due = alloc.explain(user, again=False).due
        assert due.worth == pytest.approx(due.weight, rel=1e-6)
        assert due.best == pytest.approx(alloc.shares[n], rel=1e-6)
        assert due.lowest <= alloc.shares[n] * (1 + 1e-9) and due.highest >= alloc.shares[n]


@pytest.mark.parametrize("alpha", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("inside", [False, True])
def test_the_best_share_at_the_prices_is_its_own(alpha, inside):
    inst = FIGURE.replace(weight=[1.0, 2.0, 3.0])
    alloc = fo.solve(inst, fo.AlphaFair(alpha, weight_inside=inside))
    for n, user in enumerate(inst.users):
        best = alloc.explain(user, again=False).due.best
        assert best == pytest.approx(alloc.shares[n], rel=1e-5)


def test_one_who_has_too_little_is_told():
    alloc = fo.solve(POOL, fo.ProportionalFair())
    less = fo.Allocation(POOL, fo.ProportionalFair(), alloc.tasks * [[0.5], [1.0]], alloc.prices)
    why = explain(less, "A", again=False)
    assert why.due.best == pytest.approx(1.5 * why.share)
    assert "would be best for it" in str(why)


def test_who_holds_what_stops_a_user():
    alloc = fo.solve(FIGURE, fo.PerServerDominantShare())
    stops = alloc.explain("n1", again=False).stops
    assert [(stop.resource, stop.server) for stop in stops] == [("ram", "s1")]
    assert stops[0].own == pytest.approx(0.5)
    assert dict(stops[0].holders) == pytest.approx({"n2": 0.5})


def test_solved_again_is_what_solving_gives():
    alloc = fo.solve(POOL, fo.MaxMin())
    changes = {change.what: change for change in alloc.explain("A").changes}
    more = fo.solve(POOL.replace(capacity=[[10.0, 18.0]]), fo.MaxMin())
    heavier = fo.solve(POOL.replace(weight=[1.1, 1.0]), fo.MaxMin())
    unit = changes["with one unit more cpu on pool"]
    assert unit.certified and unit.tasks == pytest.approx(more.totals[0])
    assert unit.gained == pytest.approx(more.totals[0] - alloc.totals[0])
    weight = changes["with 10% more weight"]
    assert weight.tasks == pytest.approx(heavier.totals[0]) and weight.loser == "B"
    assert weight.lost == pytest.approx(alloc.totals[1] - heavier.totals[1])


def test_a_user_at_its_limit():
    alloc = fo.solve(POOL.replace(limit=[1.0, np.inf]), fo.ProportionalFair())
    why = alloc.explain("A")
    assert why.stops[0].resource is None and "its own limit" in str(why)
    assert why.changes[0].gained == pytest.approx(0.1, rel=1e-5)


def test_equal_users_are_compared():
    inst = fo.Instance([[1.0], [1.0], [2.0]], [[8.0]], users=["a", "b", "c"])
    assert [user for user, *_ in fo.solve(inst, fo.MaxMin()).explain("a", False).peers] == ["b"]
    unequal = fo.Allocation(inst, fo.MaxMin(), [[4.0], [2.0], [1.0]])
    assert "b, the only one, has a share of" in str(unequal.explain("a", again=False))


@pytest.mark.parametrize("name", [name for name in NOTIONS if name != "alpha-fair"])
def test_every_notion_is_explained(name):
    why = fo.solve(POOL, make(name), uncertified="return").explain("A")
    assert why.rule.startswith(name) and len(why.changes) >= 1
    assert "&" not in str(why) and why._repr_html_().startswith("<div>")


def test_whole_tasks_are_explained_without_solving_again():
    assert fo.fill(POOL, "drf").explain("A").changes == ()


def test_bent_demand_is_explained():
    alloc = fo.solve(fo.read("kesidis2016/demand-set-up").instance, fo.ProportionalFair())
    assert alloc.explain("n1", again=False).held[0].part > 0


def test_an_unknown_user_is_refused(capsys):
    with pytest.raises(fo.UsageError, match="n1"):
        fo.solve(FIGURE, fo.MaxMin()).explain("n9")
    assert run(["explain", "khamse2016/figure-1", "n9"]) == 2
    assert "n1" in capsys.readouterr().err


def test_the_command(capsys):
    assert run(["explain", "ghodsi2011/example", "A", "--notion", "max-min", "--no-again"]) == 0
    assert capsys.readouterr().out.startswith("A gets 3 tasks")
    assert run(["explain", "ghodsi2011/example", "B", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "fairopt/explain/v1" and found["limit"] is None
    assert found["stops"][0]["resource"] and found["changes"][-1]["what"] == "with 10% more weight"


def test_solve_shows_the_certificate(capsys):
    assert run(["solve", "ghodsi2011/example", "--explain"]) == 0
    assert "A is stopped by cpu on pool" in capsys.readouterr().out


def test_rules_of_groups_are_named():
    alloc = fo.solve(fo.read("quotas/c1").instance, fo.MaxMin())
    why = alloc.explain("A")
    assert ("gpu", "org's ceiling") in [(stop.resource, stop.server) for stop in why.stops]
    assert "gpu: org's ceiling" in str(why)
    assert [user for user, *_ in why.peers] == ["B"]
    assert [change.what for change in why.changes][-1] == "with 10% more weight"
    assert not any("ceiling" in change.what for change in why.changes)


def test_a_user_with_modes_holds_cards_of_two_kinds():
    """4 A100 and 10 T4; a runs on either, on a T4 at half the speed; b on T4 alone. b gets 9 T4,
    a 4 A100 and one T4, output 9/2: prices 2/9 and 1/9."""
    inst = fo.Instance(
        [[0, 0], [0, 1]],
        [[4, 10]],
        users=["a", "b"],
        servers=["node"],
        resources=["A100", "T4"],
        modes={"a": [fo.Mode("fast", {"A100": 1}), fo.Mode("slow", {"T4": 1}, 0.5)]},
    )
    why = fo.solve(inst, fo.ProportionalFair()).explain("a")
    assert dict(why.places) == pytest.approx({"node (fast)": 4, "node (slow)": 1})
    assert (why.tasks, why.output) == (pytest.approx(5), pytest.approx(4.5))
    assert {h.resource: h.part for h in why.held} == pytest.approx({"A100": 1, "T4": 0.1})
    assert why.due.worth == pytest.approx(0.5) and why.due.best == pytest.approx(4.5)
    stops = {stop.resource: (stop.price, stop.own, dict(stop.holders)) for stop in why.stops}
    assert stops["A100"] == (pytest.approx(2 / 9), pytest.approx(1), {})
    assert stops["T4"] == (pytest.approx(1 / 9), pytest.approx(0.1), pytest.approx({"b": 0.9}))
    # with five A100 all T4 go to b: outputs 5 and 10
    gained = {change.what: change.gained for change in why.changes}
    assert gained["with one unit more A100 on node"] == pytest.approx(0.5)
    assert "output 4.5" in str(why).splitlines()[0] and "+0.5 output" in str(why)
    assert why.to_dict()["output"] == pytest.approx(4.5)


def test_a_limit_on_a_server_stops_a_user():
    """12 CPU each; A on x alone, at most 8 there: 8 and 16, one task more of A is worth 1/16."""
    inst = fo.Instance(
        [[1], [1]],
        [[12], [12]],
        placement=[[1, 0], [1, 1]],
        users=["A", "B"],
        servers=["x", "y"],
        resources=["cpu"],
        limit_on={"A": {"x": 8}},
    )
    why = fo.solve(inst, fo.ProportionalFair()).explain("A")
    assert why.stops[0][:3] == (None, "x", pytest.approx(1 / 16))
    assert "its own limit on x, price 0.0625" in str(why)
    assert why.changes[0].what == "with a limit 10% higher on x"
    assert why.changes[0].gained == pytest.approx(0.8, rel=1e-6)
    assert why.due.best is None


def test_a_share_already_had_counts_for_the_level_alone():
    """9 CPU, A had 3: both come to 6, A runs 3 more."""
    inst = fo.Instance([[1], [1]], [[9]], users=["A", "B"], start=[3, 0])
    why = fo.solve(inst, fo.MaxMin("tasks")).explain("A")
    assert (why.tasks, why.level) == (pytest.approx(3), pytest.approx(6))
    assert (why.due.lowest, why.due.highest) == (pytest.approx(3), pytest.approx(3))
    fair = fo.solve(inst, fo.ProportionalFair()).explain("A", again=False)
    assert fair.due.best == pytest.approx(3)


def test_a_ceiling_is_part_of_what_a_share_costs():
    """9 CPU, A at most 3 of them: CPU 1/6, the ceiling 1/6 more; 3 is best for A then."""
    bounds = [fo.Bound("A", "cpu", 3)]
    inst = fo.Instance(
        [[1], [1]], [[9]], users=["A", "B"], resources=["cpu"], quotas=fo.Quotas(bounds=bounds)
    )
    why = fo.solve(inst, fo.ProportionalFair()).explain("A", again=False)
    assert why.due.best == pytest.approx(3)
    assert ("cpu", "A's ceiling") in [stop[:2] for stop in why.stops]


def test_users_whom_a_rule_or_a_promise_tells_apart_are_not_alike():
    inst = fo.Instance([[1]] * 4, [[9]], users=list("abcd"), resources=["cpu"])
    own = [fo.Rule("licence", most=3, terms=[fo.Term(["a", "b"])])]
    for other, peers in (
        (inst, "bcd"),
        (inst.replace(rules=own), "b"),
        (inst.replace(quotas=fo.Quotas(guarantees=[fo.Guarantee("c", "cpu", 2)])), "bd"),
        (inst.replace(limit_on=[[3]] * 3 + [[2]]), "bc"),
        (inst.replace(start=[1, 1, 0, 0]), "b"),
        (inst.replace(modes={"a": [fo.Mode("m")], "c": [fo.Mode("m")]}), "c"),
    ):
        why = fo.solve(other, fo.MaxMin("tasks")).explain("a", again=False)
        assert [user for user, *_ in why.peers] == list(peers)
