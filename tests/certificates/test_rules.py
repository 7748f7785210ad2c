"""What the judge says of answers beside own rules that are right, broken, forged or spoilt."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.conflict import impossible
from fairopt.formulas.lowered import lower
from tests.rule_draws import draw, levels, rows

TASKS = {"criterion": "tasks"}
NOTIONS = [fo.ProportionalFair(**TASKS), fo.MaxMin(**TASKS), fo.AlphaFair(3, **TASKS)]


def solved(name: str, notion: object) -> fo.Allocation:
    return fo.solve(fo.read(name).instance, notion)


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda n: n.name)
@pytest.mark.parametrize(("part", "verdict"), [(1e-6, "refuted"), (1e-10, "certified")])
def test_a_rule_broken_by_little(notion: object, part: float, verdict: str) -> None:
    """A rule may be missed by one part in 1e9 of its amount and of what it counts."""
    inst = fo.read("rules/r5").instance
    tasks = np.array([[2.0], [2.0], [8.0]])
    tasks[:2] *= 1 + 2 * part  # measured against 4 + 4
    tasks[2] -= 8 * part
    answer = fo.solve(inst, notion).with_(tasks=tasks)
    found = fo.certify(answer)
    assert found.verdict == verdict, found.explain()
    [check] = [check for check in found.checks if check.name == "rules"]
    assert check.holds == (verdict == "certified")
    assert check.witness == "together"


def test_a_price_of_the_wrong_sign_is_no_answer() -> None:
    answer = solved("rules/r1", NOTIONS[0])
    with pytest.raises(fo.BadInput, match=r"rule_prices.carbon: found -1; wanted a number >= 0"):
        answer.with_(rule_prices=[-1.0])
    rounds = solved("rules/r7b", fo.MaxMin(**TASKS)).rounds
    assert rounds is not None
    forged = [{**each, "prices": {**each["prices"], "rule_prices": [-0.5]}} for each in rounds]
    with pytest.raises(fo.BadInput, match=r"rounds\[0\].prices.rule_prices.least A"):
        solved("rules/r7b", fo.MaxMin(**TASKS)).with_(rounds=forged)


@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.5, 2.0, 1e6])
def test_forged_prices_of_levels_prove_nothing(factor: float) -> None:
    """A price of `equal` of the other sign, or of another size, in the first round. A search begins
    at prices: the right tasks may be proved all the same, no others that keep the rules are."""
    inst = fo.read("rules/r5").instance
    inst = inst.replace(rules=[fo.Rule("together", equal=4, terms=[fo.Term(["A", "B"])])])
    answer = fo.solve(inst, fo.MaxMin(**TASKS))
    assert answer.rounds is not None
    rounds = [dict(each) for each in answer.rounds]
    prices = dict(rounds[0]["prices"])
    capacity = np.array(prices["prices"])
    rounds[0]["prices"] = {
        **prices,
        "prices": np.maximum(capacity, 0.02),
        "rule_prices": factor * prices["rule_prices"],
    }
    if factor <= 0:
        assert not fo.certify(answer.with_(rounds=rounds)).certified
    for moved in (-0.5, -1e-3, -3e-6, 3e-6, 1e-3, 0.5):
        tasks = answer.tasks + [[moved], [-moved], [0.0]]
        assert not fo.certify(answer.with_(rounds=rounds, tasks=tasks)).certified


@pytest.mark.parametrize("size", [1e-4, 0.3, 1.0, 1e3])
def test_paying_somebody_more_than_tasks_cost_proves_nothing(size: float) -> None:
    """R7b with A paid beyond the price of the pool: its tasks would cost less than nothing, so that
    no value bounds what it gets; and shares that are not max-min stay unproved or are refuted."""
    answer = solved("rules/r7b", fo.MaxMin(**TASKS))
    assert answer.rounds is not None
    wrong = np.array([[6.0], [1.0], [1.0]])
    rounds = [dict(each) for each in answer.rounds]
    rounds[0] = {
        **rounds[0],
        "t": 1.0,
        "prices": {
            **rounds[0]["prices"],
            "rule_prices": rounds[0]["prices"]["rule_prices"] * (1 + size),
        },
    }
    rounds[1] = {**rounds[1], "t": 6.0}
    assert not fo.certify(answer.with_(tasks=wrong, rounds=rounds)).certified
    assert not fo.certify(answer.with_(tasks=wrong)).certified
    alone = solved("rules/r7b", NOTIONS[0])
    for price in (float(alone.rule_prices[0]) * (1 + size), 0.0):  # type: ignore[index]
        assert not fo.certify(alone.with_(tasks=wrong, rule_prices=[price])).certified


@pytest.mark.parametrize("name", ["r1", "r3", "r5", "r6", "r7"])
@pytest.mark.parametrize("part", [3e-6, 1e-3, 0.2])
def test_shares_that_are_off_are_not_certified(name: str, part: float) -> None:
    """One user gives a part to another, within every row where that is possible."""
    for notion in NOTIONS:
        answer = solved(f"rules/{name}", notion)
        for n in range(len(answer.instance.users)):
            tasks = np.array(answer.tasks)
            tasks[n] *= 1 - part
            assert not fo.certify(answer.with_(tasks=tasks)).certified


@pytest.mark.parametrize("seed", range(100, 112))
def test_a_verdict_on_random_tasks_is_never_wrong(seed: int) -> None:
    """Mixtures of the right answer and others that keep all rules: what is certified is right."""
    inst, rng = draw(seed), np.random.default_rng(seed)
    right = fo.solve(inst, fo.MaxMin(**TASKS))
    fair = fo.solve(inst, fo.ProportionalFair(**TASKS))
    wanted = {
        "max-min": levels(rows(inst), right.score[inst.pairs], inst.weight),
        "proportional": fair.shares,
    }
    for answer, other in ((right, fair), (fair, right)):
        for part in (1e-9, 1e-7, 1e-5, 1e-3, 0.5):
            mixed = answer.with_(tasks=(1 - part) * answer.tasks + part * other.tasks)
            found = fo.certify(mixed)
            off = np.abs(np.log(mixed.shares / wanted[answer.notion["name"]])).max()
            assert not (found.certified and off > 3e-6)
    noise = rng.uniform(0.0, 5.0, answer.tasks.shape) * inst.eligible
    assert not fo.certify(answer.with_(tasks=noise)).certified


def test_rules_swapped_in_a_saved_answer(tmp_path: Path) -> None:
    inst = fo.read("rules/r5").instance
    rules = [*(inst.rules or ()), fo.Rule("of C", most=9, terms=[fo.Term("C")])]
    answer = fo.solve(inst.replace(rules=rules), fo.ProportionalFair(**TASKS))
    answer.save(tmp_path / "a.json")
    data = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    own = data["instance"]["rules"]
    own["together"]["most"], own["of C"]["most"] = 9.0, 4.0
    (tmp_path / "b.json").write_text(json.dumps(data), encoding="utf-8")
    assert fo.certify(fo.load(tmp_path / "b.json")).verdict == "refuted"
    # a rule that is taken out leaves another question
    del own["together"]
    data["rule_prices"].pop("together")
    (tmp_path / "c.json").write_text(json.dumps(data), encoding="utf-8")
    assert not fo.certify(fo.load(tmp_path / "c.json")).certified


def test_an_answer_without_prices_is_judged_by_those_that_are_guessed() -> None:
    inst = fo.read("rules/r6").instance
    bare = fo.Allocation(inst, fo.ProportionalFair(**TASKS), [[2.0, 2.0], [0.0, 8.0]])
    assert fo.certify(bare).certified
    assert fo.certify(bare.with_(tasks=[[1.9, 1.9], [0.0, 8.1]])).verdict == "refuted"


def test_a_conflict_is_proved_in_fractions_and_by_nothing_else() -> None:
    """R9c: z 2, half in zone 2, least A 1 (vectors); forged prices prove no more than is true."""
    inst = fo.read("rules/r9c").instance
    low = lower(inst, np.ones((2, 2)))
    none, most = np.zeros(2), np.full(low.columns, np.inf)
    price = np.zeros(len(low.rhs))
    price[[0, 2, 3]] = 2.0, 2.0, 1.0
    assert impossible(low, none, price, none, most) == (True, 0.8)
    rng = np.random.default_rng(1)
    for _ in range(200):
        forged = rng.random(len(low.rhs)) * 10.0 ** rng.integers(-12, 12, len(low.rhs))
        assert impossible(low, none, forged, none, most)[1] >= 0.8
    loose = inst.replace(rules=[inst.rules[0], fo.Rule("least A", least=4, terms=[fo.Term("A")])])
    low = lower(loose, np.ones((2, 2)))
    for _ in range(200):
        forged = rng.random(len(low.rhs)) * 10.0 ** rng.integers(-12, 12, len(low.rhs))
        assert not impossible(low, none, forged, none, most)[0]


# -- overruns within what is feasible, made large by the numbers of a rule -------------------------


@pytest.mark.parametrize("large", [1e4, 1e6, 1e8])
def test_a_rule_that_binds_nobody_does_not_hide_an_overrun(large):
    """A = 1, B = 2 by hand; gb overrun by 9e-10 of its capacity brings B up to 4 % more."""
    inst = fo.Instance(
        [[1, large], [0, 1]],
        [[1, large + 2]],
        users=["A", "B"],
        resources=["cpu", "gb"],
        rules=[fo.Rule("idle least", least=0.1, terms=[fo.Term("A")])],
    )
    right = fo.solve(inst, fo.MaxMin("tasks"))
    assert right.certificate.certified
    np.testing.assert_allclose(right.totals, [1, 2], rtol=1e-6)
    more = 2 + 0.9e-9 * (large + 2)
    tasks = np.array(right.tasks)
    tasks[1, 0] = more
    rounds = [{**r, "t": more} if r["users"] == ("B",) else r for r in right.rounds]
    assert not fo.certify(right.with_(tasks=tasks, rounds=rounds, certificate=None)).certified


@pytest.mark.parametrize("large", [1e4, 1e8])
@pytest.mark.parametrize("notion", [fo.MaxMin("tasks"), fo.Throughput()])
def test_a_rule_of_large_numbers_is_kept_to_rounding(large, notion):
    """C = K (A - B) = 1 by hand; within a part 1e-9 of what the rule counts C is 17 % more."""
    inst = fo.Instance(
        [[1], [1], [1]],
        [[1], [1 - 1 / large], [10]],
        {"A": ["a"], "B": ["b"], "C": ["c"]},
        users=["A", "B", "C"],
        servers=["a", "b", "c"],
        resources=["cpu"],
        rules=[
            fo.Rule.of("diff", {("C", "c"): 1.0, ("A", "a"): -large, ("B", "b"): large}, most=0),
            fo.Rule("B all", least=1 - 1 / large, terms=[fo.Term("B")]),
        ],
    )
    part = 1 + 1.7e-9 * large
    tasks = [[1, 0, 0], [0, 1 - 1 / large, 0], [0, 0, part]]
    forged = fo.Allocation(inst, notion, tasks)
    assert not fo.certify(forged).certified
