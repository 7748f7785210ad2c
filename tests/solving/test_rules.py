"""Answers beside own rules: worked examples, other solvers, restated rules, conflicts."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairopt as fo
from tests.rule_draws import Rows, draw, fits, levels, rows

TASKS = {"criterion": "tasks"}


# -- worked examples ----------------------------------------------------------------------------
# levels of max-min and their prices in fractions, normalised so that all money is 1

LEVELS: dict[str, list[tuple[list[str], dict[str, Fraction]]]] = {
    "rules/r2": [(["B"], {"y": Fraction(1, 3)}), (["A", "C"], {"power": Fraction(1, 10)})],
    "rules/r7b": [
        (["B", "C"], {"pool": Fraction(1, 3), "least A": Fraction(1, 3)}),
        (["A"], {"pool": Fraction(1, 8)}),
    ],
    "rules/r8c": [(["A", "B"], {"conduit": Fraction(4, 5)})],
}


@pytest.mark.parametrize("name", LEVELS)
def test_prices_of_each_level(name: str) -> None:
    """Prices of a level are told so that all that is priced is worth 1."""
    inst = fo.read(name).instance
    answer = fo.solve(inst, fo.MaxMin(**TASKS))
    assert answer.rounds is not None
    for each, (users, prices) in zip(answer.rounds, LEVELS[name], strict=False):
        assert sorted(each["users"]) == users
        own = {
            row.name: p for row, p in zip(inst.own_rows, each["prices"]["rule_prices"], strict=True)
        }
        at = {**dict(zip(inst.servers, each["prices"]["prices"].max(axis=1), strict=True)), **own}
        found = {key: value for key, value in at.items() if value > 1e-9}
        assert found == pytest.approx({k: float(v) for k, v in prices.items()}, rel=1e-9)


# -- other solvers ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_max_min_is_that_of_programs_level_by_level(seed: int) -> None:
    inst = draw(seed)
    answer = fo.solve(inst, fo.MaxMin(**TASKS))
    wanted = levels(rows(inst), answer.score[inst.pairs], inst.weight)
    np.testing.assert_allclose(answer.shares, wanted, rtol=2e-6)


@pytest.mark.parametrize("solver", ["clarabel", "scs"])
@pytest.mark.parametrize("seed", [25, 26, 27])
def test_alpha_fairness_is_that_of_a_general_solver(seed: int, solver: str) -> None:
    """The objective of a program written out by hand, to that solver's digits."""
    cp = pytest.importorskip("cvxpy")
    inst = draw(seed)
    answer = fo.solve(inst, fo.ProportionalFair(**TASKS))
    table = rows(inst)
    x = cp.Variable(len(table.owner), nonneg=True)
    of = np.zeros((len(inst.users), len(table.owner)))
    of[table.owner, np.arange(len(table.owner))] = answer.score[inst.pairs]
    goal = cp.Maximize(inst.weight @ cp.log(of @ x))
    problem = cp.Problem(goal, [table.left @ x <= table.right])
    problem.solve(solver=solver.upper())
    assert answer.objective == pytest.approx(problem.value, abs=2e-3 if solver == "scs" else 1e-6)
    assert (answer.objective or 0.0) >= problem.value - (1e-2 if solver == "scs" else 1e-7)


@pytest.mark.parametrize("seed", range(30, 50))
def test_every_notion_is_certified(seed: int) -> None:
    """solve raises otherwise; prices alone prove the throughput, whatever its tasks."""
    inst = draw(seed)
    for notion in (fo.ProportionalFair(**TASKS), fo.AlphaFair(4, **TASKS), fo.Throughput()):
        answer = fo.solve(inst, notion)
        assert fo.certify(answer).certified
    table = rows(inst)
    from scipy.optimize import linprog

    best = linprog(
        -(inst.weight[table.owner] * answer.score[inst.pairs]),
        A_ub=table.left,
        b_ub=table.right,
        method="highs",
    )
    assert answer.objective == pytest.approx(-best.fun, rel=1e-9)


# -- ceilings, limits, guarantees and budgets said as rules ----------------------------------------


def restated(seed: int) -> tuple[fo.Instance, fo.Instance]:
    """A ceiling of a group, a limit and a guarantee in tasks, and the same as rules."""
    rng = np.random.default_rng(seed)
    users, servers = 5, 3
    demand = rng.uniform(0.3, 2.0, (users, 2)).round(2)
    capacity = rng.uniform(5.0, 15.0, (servers, 2)).round(1)
    names = [f"u{n + 1}" for n in range(users)]
    plain = fo.Instance(demand, capacity, users=names)
    free = fo.solve(plain, fo.ProportionalFair(**TASKS))
    most = round(float(free.tasks[:2].sum() * rng.uniform(0.5, 0.9) * demand[:2, 0].mean()), 3)
    limit = round(float(free.totals[2] * rng.uniform(0.4, 0.9)), 3)
    least = round(float(free.totals[3] * rng.uniform(1.02, 1.1)), 3)
    limits = np.full(users, np.inf)
    limits[2] = limit
    quotas = fo.Quotas(
        [fo.Group("g", weight=2)],
        {"u1": "g", "u2": "g"},
        bounds=[fo.Bound("g", "r1", most)],
        guarantee_tasks={"u4": least},
    )
    own = [
        fo.Rule("ceiling", most=most, terms=[fo.Term(["u1", "u2"], resource="r1")]),
        fo.Rule("limit", most=limit, terms=[fo.Term("u3")]),
        fo.Rule("guarantee", least=least, terms=[fo.Term("u4")]),
    ]
    return plain.replace(limit=limits, quotas=quotas), plain.replace(rules=own)


@pytest.mark.parametrize("seed", range(20))
def test_restated_rules_give_the_same_shares_and_prices(seed: int) -> None:
    said, own = restated(seed)
    for notion in (fo.ProportionalFair(**TASKS), fo.MaxMin(**TASKS)):
        one, two = fo.solve(said, notion), fo.solve(own, notion)
        np.testing.assert_allclose(two.shares, one.shares, rtol=1e-6)
        if two.rule_prices is None or one.bound_prices is None:
            continue
        assert one.limit_prices is not None and one.floor_prices is not None
        ceiling = float(one.bound_prices[0])
        prices = [ceiling, float(one.limit_prices[2]), float(one.floor_prices[3])]
        np.testing.assert_allclose(two.rule_prices, prices, rtol=1e-4, atol=1e-7)


# -- rules that do not fit -------------------------------------------------------------------------


def impossible(seed: int) -> fo.Instance:
    """A draw of which one rule asks for more than is there."""
    inst = draw(seed, rules=4)
    assert inst.rules is not None
    table = rows(inst.replace(rules=None))
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    a = rng.uniform(0.5, 2.0, inst.shape[:2]) * inst.eligible
    most = -linprog(-a[inst.pairs], A_ub=table.left, b_ub=table.right, method="highs").fun
    rule = fo.Rule.of("too much", a, least=float(most * rng.uniform(1.05, 2.0)))
    return inst.replace(rules=[*inst.rules, rule])


def members(inst: fo.Instance, conflict: list[str], table: Rows) -> dict[str, Any]:
    """The rows of `rows` that each thing in conflict stands for."""
    found: dict[str, list[int]] = {}
    k = 0
    for server in inst.servers:
        for resource in inst.resources:
            found[f"{resource} on {server}"] = [k]
            k += 1
    for rule in inst.rules or ():
        count = 2 if rule.sense == "equal" else 1
        found[f"rule {rule.name}"] = list(range(k, k + count))
        k += count
    assert k == len(table.right)
    return {name: found[name] for name in conflict}


@pytest.mark.parametrize("seed", range(25))
def test_a_conflict_is_impossible_and_possible_without_any_member(seed: int) -> None:
    inst = impossible(seed)
    with pytest.raises(fo.Infeasible, match="all would fit if what is asked were cut") as error:
        fo.solve(inst, fo.ProportionalFair(**TASKS))
    proof = error.value.proof
    assert proof is not None and proof["proved"] and 0 <= proof["cut"] < 1
    table = rows(inst)
    each = members(inst, proof["conflict"], table)
    every = sorted(sum(each.values(), []))
    assert not fits(table, every)
    for name, own in each.items():
        assert fits(table, [k for k in every if k not in own]), name


def test_the_command_line_names_the_conflict(capsys: pytest.CaptureFixture[str]) -> None:
    from fairopt.cli import run

    assert run(["solve", "rules/r9a"]) == 3
    said = capsys.readouterr().err
    assert "rule green A asks 6, rule licence leaves 5" in said
    assert "all would fit if what is asked were cut to 5/6" in said


# -- saved, judged again -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rules/r1", "rules/r4", "rules/r6", "rules/r7"])
def test_answers_are_saved_with_their_prices(name: str, tmp_path: Path) -> None:
    from fairopt.cli import run

    inst = fo.read(name).instance
    for notion in (fo.ProportionalFair(**TASKS), fo.MaxMin(**TASKS)):
        answer = fo.solve(inst, notion)
        path = tmp_path / "answer.json"
        answer.save(path)
        assert fo.load(path) == answer
        assert "rule_prices" in path.read_text(encoding="utf-8")
        assert run(["verify", str(path)]) == 0


def test_without_rules_nothing_is_said_of_them(tmp_path: Path) -> None:
    answer = fo.solve(fo.read("kesidis2018/example").instance, fo.ProportionalFair())
    answer.save(tmp_path / "a.json")
    assert "rule" not in json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["instance"]
    assert "rule_prices" not in (tmp_path / "a.json").read_text(encoding="utf-8")


# -- on the command line: explained, changed, swept ----------------------------------------------


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    from fairopt.cli import run

    assert run(list(arguments)) == 0
    return capsys.readouterr().out


def test_tables_show_what_rules_count_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "solve", "rules/r1")
    assert "rule carbon" in text
    assert "carbon  at most 30      30  0.047619         71.4%" in text  # 30/21 of 2
    assert "rule power" in told(capsys, "solve", "rules/r2")


def test_explain_says_what_a_little_more_of_a_rule_would_bring(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = told(capsys, "explain", "rules/r1", "A")
    assert "rule carbon, price 0.047619" in text
    # 31 carbon: 6 + 3 (A + B - 6) = 31, so each has 43/6, 1/6 more than 7
    assert "with one unit more allowed by rule carbon: +0.1667 tasks (+2.4%)" in text
    # with 1 less asked A has 2 on z and 4 on w
    least = told(capsys, "explain", "rules/r6", "A")
    assert "with one unit less asked by rule half in zone: +2 tasks (+50%)" in least


def test_what_if_sets_the_amount_of_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    from fairopt.auditing.changes import changed

    inst = fo.read("rules/r1").instance
    assert changed(inst, ["rule.carbon=25"]).rules[0].amount == 25  # type: ignore[index]
    text = told(capsys, "what-if", "rules/r1", "--set", "rule.carbon=25")
    assert "6.16667" in text  # (25 + 12)/6
    with pytest.raises(fo.BadInput, match="the unknown rule 'carbn'; wanted carbon"):
        changed(inst, ["rule.carbn=25"])
    gone = changed(inst, dropped=["hydro"]).rules
    assert gone == (fo.Rule("carbon", most=30.0, terms=[fo.Term(servers=["coal"], times=3.0)]),)


def test_a_sweep_over_the_amount_of_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "sweep", "rules/r1", "--over", "rule.carbon=10,30,60")
    rows_ = [line.split()[:3] for line in text.splitlines()[1:]]
    # A takes hydro alone while carbon is dear: 5 and (10 - 5)/3
    assert rows_ == [["10", "5", "1.66667"], ["30", "7", "7"], ["60", "9", "9"]]
    from fairopt.cli import run

    assert run(["sweep", "rules/r1", "--over", "rule.carbn=10,30"]) == 2
    assert "found 'carbn'; wanted carbon" in capsys.readouterr().err
