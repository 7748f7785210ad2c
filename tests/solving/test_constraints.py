"""Constraints in cvxpy: affine ones as rules, convex ones by tangents, all others refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.solving.constraints import certify_with

cp = pytest.importorskip("cvxpy")
TASKS = {"criterion": "tasks"}
R10 = fo.Instance(
    [[1], [1]], [[100], [100]], [[1, 0], [0, 1]], users=["A", "B"], servers=["x", "y"]
)


def circle(space):
    return {"circle": cp.sum_squares(space.tasks) <= 25}


def test_affine_constraints_are_rules_exactly() -> None:
    inst = fo.read("rules/r1").instance
    with_rule = fo.solve(inst, fo.ProportionalFair(**TASKS))

    def carbon(space):
        return {"carbon": cp.sum(space.tasks[:, 0]) + 3 * cp.sum(space.tasks[:, 1]) <= 30}

    own = fo.solve(inst.replace(rules=None), fo.ProportionalFair(**TASKS), constraints=carbon)
    np.testing.assert_allclose(own.shares, [7, 7], rtol=1e-9)
    np.testing.assert_allclose(own.rule_prices, with_rule.rule_prices, rtol=1e-9)
    [rule] = own.instance.rules
    assert (rule.name, rule.sense, rule.amount) == ("carbon", "most", 30)
    assert fo.certify(own).certified and certify_with(own, carbon).certified


def test_entries_of_vectors_equalities_and_shares() -> None:
    def many(space):
        return {
            "per": space.share <= np.array([25, 9.0]),
            "tied": space.tasks[0, 0] == 2 * space.tasks[1, 1],
        }

    answer = fo.solve(R10, fo.ProportionalFair(**TASKS), constraints=many)
    np.testing.assert_allclose(answer.shares, [18, 9], rtol=1e-9)
    assert [(r.name, r.sense, r.amount) for r in answer.instance.rules] == [
        ("per 1", "most", 25),
        ("per 2", "most", 9),
        ("tied", "equal", 0),
    ]


def test_r10_a_circle_is_proved_by_its_tangent() -> None:
    """Both 5/sqrt 2; a = sqrt 50 each, b = 50, price 1/25."""
    for notion in (fo.ProportionalFair(**TASKS), fo.AlphaFair(2, **TASKS), fo.MaxMin(**TASKS)):
        answer = fo.solve(R10, notion, constraints=circle)
        np.testing.assert_allclose(answer.shares, [5 / 2**0.5] * 2, rtol=1e-8)
        assert answer.certificate is not None and answer.certificate.certified
        assert "as far as circle is convex" in answer.certificate.notes[-1]
        assert certify_with(answer, circle).certified
    prices = fo.solve(R10, fo.ProportionalFair(**TASKS), constraints=circle)
    assert prices.rule_prices is not None
    assert float(prices.rule_prices.sum()) == pytest.approx(1 / 25, rel=1e-6)
    tangent = prices.instance.rules[0]
    assert tangent.amount == pytest.approx(50, rel=1e-6)
    assert [term.times for term in tangent.terms] == pytest.approx([50**0.5] * 2, rel=1e-6)


# beside the curve of seed 4 everybody's shares fit at one point alone: over 200 tangents, a minute
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6])
def test_random_curves_against_the_general_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inst = fo.Instance(rng.uniform(0.5, 2, (4, 2)).round(2), rng.uniform(5, 20, (3, 2)).round(1))
    weights = rng.uniform(0.2, 2.0, (4, 3))
    free = fo.solve(inst, fo.ProportionalFair(**TASKS))
    most = 0.5 * float((weights * free.tasks**2).sum())

    def curves(space):
        return {"bent": cp.sum(cp.multiply(weights, cp.square(space.tasks))) <= most}

    answer = fo.solve(inst, fo.ProportionalFair(**TASKS), constraints=curves)
    x = cp.Variable((4, 3), nonneg=True)
    used = [x.T @ inst.demand <= inst.capacity]
    problem = cp.Problem(
        cp.Maximize(cp.sum(cp.log(cp.sum(x, axis=1)))),
        [*used, cp.sum(cp.multiply(weights, cp.square(x))) <= most],
    )
    problem.solve(solver="CLARABEL")
    assert answer.objective == pytest.approx(problem.value, abs=1e-6)
    assert (weights * answer.tasks**2).sum() <= most * (1 + 1e-8)
    assert certify_with(answer, curves).certified


def test_a_forged_tangent_is_seen(tmp_path: Path) -> None:
    answer = fo.solve(R10, fo.ProportionalFair(**TASKS), constraints=circle)
    path = tmp_path / "a.json"
    answer.save(path)
    assert certify_with(fo.load(path), circle).certified
    data = json.loads(path.read_text(encoding="utf-8"))
    [rule] = data["instance"]["rules"].values()
    # further out: the answer that is best beside it leaves the circle
    rule["most"] = 60.0
    inst = R10.replace(
        rules=[fo.Rule.of("circle (tangent)", {("A", "x"): 50**0.5, ("B", "y"): 50**0.5}, most=60)]
    )
    out = fo.solve(inst, fo.ProportionalFair(**TASKS)).with_(steps=answer.steps)
    assert fo.certify(out).certified  # beside that rule it is best
    assert certify_with(out, circle).verdict == "refuted"
    # further in: the answer keeps the circle, but the rule is no tangent
    inst = R10.replace(
        rules=[fo.Rule.of("circle (tangent)", {("A", "x"): 50**0.5, ("B", "y"): 50**0.5}, most=40)]
    )
    low = fo.solve(inst, fo.ProportionalFair(**TASKS)).with_(steps=answer.steps)
    found = certify_with(low, circle)
    assert found.verdict == "unproved"
    assert not found.checks[-1].holds and found.checks[-1].witness == "circle (tangent)"

    # a rule of an affine constraint that is left out
    def both(space):
        return {**circle(space), "few": space.tasks[0, 0] <= 3}

    assert certify_with(answer, both).verdict == "unproved"


def test_what_is_refused_is_named() -> None:
    own = cp.Variable(name="helper")
    wrong = {
        "hole": lambda s: cp.sum_squares(s.tasks) >= 3,
        "mine": lambda s: s.tasks[0, 0] <= own,
        "cone": lambda s: cp.SOC(s.share[0], s.tasks[0]),
    }
    with pytest.raises(fo.BadInput) as error:
        fo.solve(R10, fo.MaxMin(), constraints=lambda s: {k: f(s) for k, f in wrong.items()})
    found = {fault.place: fault.found for fault in error.value.faults}
    assert found == {
        "constraints.hole": "a constraint that is not convex by cvxpy's rules (DCP)",
        "constraints.mine": "the variable helper of its own",
        "constraints.cone": "a SOC",
    }
    with pytest.raises(fo.BadInput, match="a dict of cvxpy constraints by name"):
        fo.solve(R10, fo.MaxMin(), constraints=lambda s: [s.tasks[0, 0] <= 1])
    with pytest.raises(fo.UsageError, match="found constraints; wanted a notion that knows rules"):
        fo.solve(R10, fo.PerServerDominantShare(), constraints=circle)


def test_constraints_that_do_not_fit_are_named() -> None:
    def impossible(space):
        return {"much": space.tasks[0, 0] >= 120}

    with pytest.raises(fo.Infeasible, match="rule much asks 120, r1 on x leaves 100"):
        fo.solve(R10, fo.MaxMin(), constraints=impossible)


# -- several ways to run a task, and notions of one's own -----------------------------------------


@pytest.mark.parametrize("notion", [fo.ProportionalFair(**TASKS), fo.MaxMin(**TASKS)])
def test_r4_a_budget_over_modes_written_in_cvxpy(notion) -> None:
    """A pays 3 and 1 of a budget 9: 18/5 and 22/5, as with the rule of the model."""
    inst = fo.read("rules/r4").instance

    def budget(space):
        dear, cheap = space.mode("A", "a100"), space.mode("A", "t4")
        return {"budget A": 3 * cp.sum(dear) + cp.sum(cheap) <= 9}

    answer = fo.solve(inst.replace(rules=None), notion, constraints=budget)
    np.testing.assert_allclose(answer.shares, [18 / 5, 22 / 5], rtol=1e-9)
    assert answer.certificate.certified and certify_with(answer, budget).certified
    [rule] = answer.instance.rules
    assert {(term.modes, term.times) for term in rule.terms} == {(("a100",), 3.0), (("t4",), 1.0)}


def test_a_curve_over_paths_is_proved() -> None:
    """R8, and what all pairs of sites send along the longer path: its square at most 1/16."""
    inst = fo.read("rules/r8").instance

    def longer(space):
        return {"longer": cp.square(space.mode("A", "by b")[0]) <= 1 / 16}

    answer = fo.solve(inst, fo.MaxMin(**TASKS), constraints=longer)
    # A: 1/2 straight and 1/4 by b as before
    np.testing.assert_allclose(answer.shares, [3 / 4, 3 / 4, 7 / 4], rtol=1e-6)

    def less(space):
        return {"less": cp.square(space.mode("A", "by b")[0]) <= 1 / 64}

    answer = fo.solve(inst, fo.MaxMin(**TASKS), constraints=less)
    np.testing.assert_allclose(answer.shares, [5 / 8, 7 / 8, 15 / 8], rtol=1e-6)
    assert answer.certificate.certified and certify_with(answer, less).certified
    with pytest.raises(fo.BadInput, match="'A', 'by c'; wanted a user and its mode straight, by b"):
        fo.solve(inst, fo.MaxMin(), constraints=lambda s: {"x": s.mode("A", "by c")[0] <= 1})


def test_a_notion_of_ones_own_beside_a_circle() -> None:
    from tests.notions.test_own import Judged, LogOfOneMore

    answer = fo.solve(R10, Judged(), constraints=circle)
    np.testing.assert_allclose(answer.shares, [5 / 2**0.5] * 2, rtol=1e-6)
    assert answer.certificate.certified
    gradient = Judged().gradient(R10, answer.tasks)
    assert certify_with(answer, circle, gradient).certified
    assert fo.solve(R10, LogOfOneMore(), constraints=circle).certificate.verdict == "unproved"
