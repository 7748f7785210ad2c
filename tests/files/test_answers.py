"""Answers as JSON: nothing is lost, and nothing wrong passes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt import files
from fairopt.notions import make
from tests.strategies import instances


@given(inst=instances(), data=st.data())
@settings(deadline=None)
def test_answers_come_back_bit_for_bit(inst: fo.Instance, data: Any) -> None:
    n, i, r = inst.shape
    numbers = st.lists(st.floats(0, 1e300), min_size=64, max_size=64)
    x, p, mu = (np.array(data.draw(numbers)) for _ in range(3))
    alloc = fo.Allocation(
        inst,
        {"name": "max-min", "parameters": {"criterion": "tasks"}},
        x[: n * i].reshape(n, i),
        prices=p[: i * r].reshape(i, r),
        limit_prices=mu[:n],
        level_prices=x[: 2 * i * r].reshape(2, i, r),
        steps=({"solver": "none", "gap": np.float64(np.inf)},),
    )
    text = files.dumps(alloc)
    again = files.loads(text)
    assert again == alloc
    assert files.dumps(again) == text
    fair = {"name": "alpha-fair", "parameters": {"alpha": 2.5}}
    text = files.dumps(fo.Allocation(inst, fair, alloc.tasks))
    assert '"objective": ' in text and files.dumps(files.loads(text)) == text


def _answer(**changes: Any) -> dict[str, Any]:
    inst = fo.Instance([[1.0]], [[2.0]], users=["n1"], servers=["A"], resources=["cpu"])
    plain = json.loads(files.dumps(fo.Allocation(inst, {"name": "proportional"}, [[2.0]])))
    return {key: value for key, value in {**plain, **changes}.items() if value is not None}


QUOTAS = fo.Quotas(guarantees=[fo.Guarantee("b", "cpu", 2)])


@pytest.mark.parametrize("quotas", [None, QUOTAS])
@pytest.mark.parametrize(
    "notion",
    [
        fo.ProportionalFair(),
        fo.AlphaFair(2, over="above"),
        fo.AlphaFair(0.5),
        fo.Throughput(),
        fo.AlphaFair(0, over="above"),
        fo.AlphaFair(50),
        fo.Tradeoff(t_pf=1),
        fo.Tradeoff(1, 1, g=2),
    ],
)
def test_an_objective_that_is_not_of_the_tasks_is_refused(notion: Any, quotas: Any) -> None:
    inst = fo.Instance([[1], [2]], [[7]], users=["a", "b"], resources=["cpu"], quotas=quotas)
    if quotas is not None and notion.name in ("tradeoff", "throughput"):
        return
    found = fo.solve(inst, notion)
    plain = json.loads(files.dumps(found))
    again = files.loads(json.dumps(plain))
    assert (again.objective, again.equivalent) == (found.objective, found.equivalent)
    told = [name for name in ("objective", "equivalent") if name in plain]
    assert told
    for name in told:
        for forged in (plain[name] * 1.001 + 1e-3, "inf", "nan", -plain[name] - 1, 1e300):
            with pytest.raises(fo.BadInput, match=f"{name}: found .*; wanted .* the tasks give"):
                files.loads(json.dumps({**plain, name: forged}))


def test_an_objective_that_nothing_gives_is_not_repeated() -> None:
    answer = fo.solve(fo.Instance([[1], [2]], [[7]]), fo.MaxMin())
    plain = {**json.loads(files.dumps(answer)), "objective": 5, "equivalent": 7}
    assert files.loads(json.dumps(plain)).objective is None
    assert files.dumps(files.loads(json.dumps(plain))) == files.dumps(answer)


def test_answer_has_the_stated_form_and_no_more() -> None:
    text = files.dumps(
        fo.Allocation(
            fo.Instance(
                [[1.0], [1.0]], [[2.0], [1.0]], limit=[np.inf, 3], placement=[[1, 0], [1, 1]]
            ),
            {"name": "proportional"},
            [[1, 0], [0.5, 0]],
            prices=[[1.0], [0.0]],
        )
    )
    plain = json.loads(text)
    assert plain["schema"] == "fairopt/allocation/v1"
    assert plain["tasks"] == {"u1": {"s1": 1.0}, "u2": {"s1": 0.5}}
    assert plain["prices"] == {"s1": {"r1": 1.0}}
    assert plain["instance"]["limit"] == {"u2": 3.0}
    assert plain["instance"]["placement"] == {"u1": ["s1"]}
    assert "score" not in plain and "certificate" not in plain and "steps" not in plain


def test_only_instance_notion_and_tasks_are_needed() -> None:
    whole = _answer()
    alloc = files.loads(json.dumps({key: whole[key] for key in ("instance", "notion", "tasks")}))
    assert alloc.totals.tolist() == [2.0] and alloc.prices is None and alloc.certificate is None
    for key in ("instance", "notion", "tasks"):
        with pytest.raises(fo.BadInput, match=f"{key}: found nothing; wanted what an answer is"):
            files.loads(json.dumps({k: v for k, v in whole.items() if k != key}))
        with pytest.raises(fo.BadInput, match=f"{key}: found nothing; wanted what an answer is"):
            files.loads(json.dumps({**whole, key: None}))


def test_score_is_kept_where_the_criterion_has_no_name() -> None:
    inst = fo.Instance([[1.0], [2.0]], [[2.0]])
    own = {"name": "alpha-fair", "parameters": {"alpha": 2.0, "criterion": "mine"}}
    alloc = fo.Allocation(inst, own, [[1.0], [0.5]], score=[[0.1], [0.7]])
    again = files.loads(files.dumps(alloc))
    assert again == alloc and again.score.tolist() == [[0.1], [0.7]]

    def drf(inst: fo.Instance) -> Any:
        return np.array([[0.1], [0.7]])

    # a function that shares its name with a criterion of ours, but not its scores
    alloc = fo.Allocation(inst, fo.MaxMin(drf), [[1.0], [0.5]])
    assert alloc.notion["parameters"]["criterion"] == "drf (not fairopt's)"
    assert files.loads(files.dumps(alloc)) == alloc
    plain = json.loads(files.dumps(alloc))
    del plain["score"]
    with pytest.raises(fo.BadInput, match="criterion: found the text"):
        files.loads(json.dumps(plain))


def test_a_score_that_is_not_the_criterions_is_refused() -> None:
    """(.03, 2.99) is no max-min of anything, but it is of the scores that make it so."""
    inst = fo.Instance([[1.0, 4.0], [3.0, 1.0]], [[9.0, 18.0]], users=["A", "B"], servers=["s"])
    plain = json.loads(files.dumps(fo.solve(inst, fo.MaxMin("drf"))))
    assert files.loads(json.dumps(plain)).totals == pytest.approx([3, 2])
    plain["tasks"] = {"A": {"s": 0.03}, "B": {"s": 2.99}}
    plain["score"] = {"A": {"s": 2 / 0.03}, "B": {"s": 2 / 2.99}}
    with pytest.raises(fo.BadInput) as caught:
        files.loads(json.dumps(plain))
    assert str(caught.value).splitlines()[1] == (
        "  score.A.s: found 66.6666667; wanted 0.222222222, which criterion 'drf' says, or no score"
    )
    # in Python scores may be given beside the notion: then nothing is proved of it
    forged = fo.Allocation(inst, fo.MaxMin("drf"), [[0.03], [2.99]], score=[[2 / 0.03], [2 / 2.99]])
    verdict = fo.certify(forged)
    assert verdict.verdict == "unproved"
    assert "score of A on s is not that of the criterion 'drf'" in verdict.explain()


def test_scores_may_be_rounded_in_the_last_digits_only() -> None:
    """One part in 1e9, and then the criterion's own scores are used."""
    inst = fo.Instance([[1.0], [3.0]], [[7.0]])
    plain = json.loads(files.dumps(fo.solve(inst, fo.MaxMin("drf"))))
    for off, fits in ((5e-10, True), (2e-9, False), (-5e-10, True), (-2e-9, False)):
        scores = {"u1": {"s1": 1 / 7 * (1 + off)}, "u2": {"s1": 3 / 7}}
        text = json.dumps({**plain, "score": scores})
        if fits:
            assert files.loads(text).score.tolist() == [[1 / 7], [3 / 7]]
        else:
            with pytest.raises(fo.BadInput, match=r"score\.u1\.s1"):
                files.loads(text)


def test_trade_off_answers_need_no_score_in_the_file() -> None:
    alloc = fo.solve(fo.Instance([[1.0, 4.0], [3.0, 1.0]], [[9.0, 18.0]]), fo.Tradeoff(t_drf=1))
    text = files.dumps(alloc)
    assert "score" not in json.loads(text)
    assert files.loads(text) == alloc


BAD_NOTIONS = [
    ("tradeoff", {"t_pf": -1}, "t_pf: found -1; wanted a finite number >= 0"),
    ("tradeoff", {"t_drf": "1"}, "t_drf: found the text '1'"),
    ("tradeoff", {"g": "logg"}, "g: found the text 'logg'; wanted 'log'"),
    ("tradeoff", {"equal_across": "false"}, "equal_across: found the text 'false'"),
    ("tradeoff", {"equal_within": 1}, "equal_within: found 1; wanted true or false"),
    ("tradeoff", {"t_rf": 1}, "t_rf: found an unknown parameter; wanted t_drf, the nearest of"),
    ("ps-dsf", {"division": "TDM"}, "division: found the text 'TDM'; wanted one of rdm, tdm"),
    ("ps-dsf", {"division": "tdm", "order": ["A"]}, "order, method: found given with tdm"),
    ("ps-dsf", {"order": "A"}, "order: found the text 'A'; wanted a list of server names"),
    ("ps-dsf", {"seed": 1}, "seed: found 1; wanted method algorithm-1"),
    ("ps-dsf", {"method": "algorithm-1", "seed": -1}, "seed: found -1; wanted a whole number"),
    ("ps-dsf", {"method": ["refill"]}, "method: found a list"),
    ("alpha-fair", {}, "alpha: found nothing; wanted a finite number >= 0"),
    ("alpha-fair", {"alpha": None}, "alpha: found nothing; wanted a finite number >= 0"),
    ("alpha-fair", {"alpha": -1}, "alpha: found -1"),
    ("alpha-fair", {"alpha": "two"}, "alpha: found the text 'two'"),
    ("alpha-fair", {"alpha": True}, "alpha: found true"),
    ("alpha-fair", {"alpha": 10**400}, "alpha: found a whole number of 1329 bits"),
    ("alpha-fair", {"alpha": float("inf")}, "alpha: found inf"),
    ("alpha-fair", {"alpha": {}}, "alpha: found a table"),
    ("alpha-fair", {"alpha": 1, "weight_inside": "no"}, "weight_inside: found the text 'no'"),
    ("max-min", {"criterion": "dominant"}, "criterion: found the text 'dominant'; wanted one of"),
    ("max-min", {"criterion": ["drf"]}, "criterion: found a list"),
    ("proportional", {"alpha": 1}, "alpha: found an unknown parameter; wanted one of: criterion"),
    ("throughput", {"criterion": "drf"}, "criterion: found an unknown parameter; wanted none"),
    ("bmf", {"method": "guess"}, "method: found the text 'guess'"),
    ("bmf", {"method": "levels", "objective": "n1"}, "method: found 'levels' with an objective"),
    ("bmf", {"objective": 10**400}, "objective: found a whole number of 1329 bits"),
    ("fill:drf", {"increment": float("inf")}, "increment: found inf; wanted a finite number > 0"),
    ("fill:drf", {"increment": 0}, "increment: found 0"),
    ("fill:drf", {"selection": "best"}, "selection: found the text 'best'; wanted one of joint"),
    ("fill:drf", {"seed": "1"}, "seed: found the text '1'"),
    ("fill:drf", {"user_tie": "first"}, "user_tie: found the text 'first'"),
    ("fill:optimum", {"selection": "joint"}, "selection: found an unknown parameter"),
]


@pytest.mark.parametrize(("name", "given", "message"), BAD_NOTIONS)
def test_notions_in_files_are_checked_as_when_they_are_built(
    name: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(fo.BadInput) as caught:
        files.loads(json.dumps(_answer(notion={"name": name, "parameters": given})))
    assert f"notion.parameters.{message}" in str(caught.value)
    if not name.startswith("fill:"):
        with pytest.raises((fo.BadInput, fo.UsageError, TypeError)):
            make(name, **given)
    inst = fo.Instance([[1.0]], [[2.0]])
    with pytest.raises(fo.BadInput):
        fo.Allocation(inst, {"name": name, "parameters": given}, [[1.0]])


def test_all_faults_of_a_notion_are_told_with_those_of_the_rest() -> None:
    notion = {"name": "tradeoff", "parameters": {"t_pf": -1, "equal_across": "false", "x": 1}}
    with pytest.raises(fo.BadInput) as caught:
        files.loads(json.dumps(_answer(notion=notion, objective=10**400, tasks={"n2": {}})))
    assert {fault.place for fault in caught.value.faults} == {
        "notion.parameters.t_pf",
        "notion.parameters.equal_across",
        "notion.parameters.x",
        "objective",
        "tasks.n2",
    }


@pytest.mark.parametrize(
    "machines",
    [
        3,
        {"B": []},
        {"A": {}},
        {"A": [3]},
        {"A": [{"count": 1}]},
        {"A": [{"count": 0.5, "tasks": {}}]},
        {"A": [{"count": 1, "tasks": {"n2": 1}}]},
        {"A": [{"count": 1, "tasks": {"n1": "1"}}]},
    ],
)
def test_packings_in_files_are_checked(machines: Any) -> None:
    answer = _answer(notion={"name": "fill:drf"}, steps=[{"machines": machines}])
    with pytest.raises(fo.BadInput, match=r"steps\[0\].machines"):
        files.loads(json.dumps(answer))


def test_certificate_is_kept_as_claimed() -> None:
    claimed = fo.Certificate(
        "unproved", float("inf"), 0.5, ("n1",), (fo.Check.of("capacity", 0.0, 1e-9, "A"),)
    )
    inst = fo.Instance([[1.0]], [[2.0]])
    alloc = fo.Allocation(inst, {"name": "proportional"}, [[1.0]], certificate=claimed)
    again = files.loads(files.dumps(alloc)).certificate
    assert again == claimed


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": "fairopt/allocation/v2"}, "schema: found the text 'fairopt/allocation/v2'"),
        ({"taks": {}}, "taks: found an unknown key; wanted tasks, the nearest of"),
        ({"tasks": {"n2": {"A": 1.0}}}, "tasks.n2: found an unknown user; wanted n1"),
        ({"tasks": {"n1": {"B": 1.0}}}, "tasks.n1.B: found an unknown server"),
        ({"tasks": {"n1": {"A": "1"}}}, "tasks.n1.A: found the text '1'"),
        ({"tasks": {"n1": {"A": True}}}, "tasks.n1.A: found true"),
        ({"tasks": {"n1": {"A": float("nan")}}}, "tasks.n1.A: found nan"),
        ({"tasks": {"n1": 1.0}}, "tasks.n1: found 1; wanted a table"),
        ({"tasks": [1.0]}, "tasks: found a list; wanted a table"),
        ({"tasks": {"n1": {"A": 10**400}}}, "tasks.n1.A: found a whole number of 1329 bits"),
        ({"prices": {"A": {"cpu": -1.0}}}, "prices.A.cpu: found -1; wanted a finite number >= 0"),
        ({"prices": {"A": {"gpu": 1.0}}}, "prices.A.gpu: found an unknown resource"),
        ({"level_prices": {"A": 1}}, "level_prices: found a table; wanted a list"),
        ({"limit_prices": {"n1": "a"}}, "limit_prices.n1: found the text 'a'"),
        ({"notion": "proportional"}, "notion: found the text 'proportional'; wanted a table"),
        ({"notion": {"name": 3}}, "notion.name: found 3; wanted a text"),
        ({"notion": {}}, "notion.name: found nothing; wanted one of: throughput"),
        ({"notion": {"name": "porportional"}}, "found the text 'porportional'; wanted propor"),
        ({"steps": [3]}, "steps[0]: found 3; wanted a table"),
        ({"objective": 10**400}, "objective: found a whole number of 1329 bits"),
        ({"objective": "many"}, "objective: found the text 'many'"),
        ({"certificate": {"verdict": "fine"}}, "certificate.verdict: found the text 'fine'"),
        ({"certificate": [1]}, "certificate: found a list"),
        ({"steps": 3}, "steps: found 3; wanted a list"),
        ({"instance": [1]}, "instance: found a list; wanted a table"),
        ({"instance": {}}, "users: found none; wanted at least one"),
    ],
)
def test_wrong_answers_are_refused_with_their_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(fo.BadInput) as caught:
        files.loads(json.dumps(_answer(**changes)), "answer.json")
    assert message in str(caught.value)
    assert str(caught.value).startswith("answer.json: ")


def test_instance_of_an_answer_has_the_places_of_a_model() -> None:
    plain = _answer()
    plain["instance"] |= {"demand": {"n1": {"cpu": -1}, "n2": {}}, "count": {"A": 1.5}, "colour": 1}
    with pytest.raises(fo.BadInput) as caught:
        files.loads(json.dumps(plain))
    places = {fault.place for fault in caught.value.faults}
    assert places == {
        "instance.colour",
        "instance.demand.n2",
        "servers.A.count",
        "users.n1.demand.cpu",
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "3",
        '{"a": 1, "a": 2}',
        "[" * 100_000,
        "9" * 5000,
        "\x00",
        '{"tasks": NaN}',
    ],
)
def test_junk_is_no_answer(text: str) -> None:
    with pytest.raises(fo.BadInput):
        files.loads(text)
