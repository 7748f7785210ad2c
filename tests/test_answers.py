"""Answers as JSON: nothing is lost, and nothing wrong passes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances

import fairopt as fo
from fairopt import files


@given(inst=instances(), data=st.data())
@settings(deadline=None)
def test_answers_come_back_bit_for_bit(inst: fo.Instance, data: Any) -> None:
    n, i, r = inst.shape
    numbers = st.lists(st.floats(0, 1e300), min_size=64, max_size=64)
    x, p, mu = (np.array(data.draw(numbers)) for _ in range(3))
    alloc = fo.Allocation(
        inst, {"name": "max-min", "parameters": {"criterion": "tasks"}},
        x[: n * i].reshape(n, i), prices=p[: i * r].reshape(i, r), limit_prices=mu[:n],
        level_prices=x[: 2 * i * r].reshape(2, i, r), objective=-np.inf, equivalent=0.1,
        steps=({"solver": "none", "gap": np.float64(np.inf)},),
    )  # fmt: skip
    text = files.dumps(alloc)
    again = files.loads(text)
    assert again == alloc
    assert again.objective == -np.inf and again.equivalent == 0.1
    assert files.dumps(again) == text


def _answer(**changes: Any) -> dict[str, Any]:
    inst = fo.Instance([[1.0]], [[2.0]], users=["n1"], servers=["A"], resources=["cpu"])
    plain = json.loads(files.dumps(fo.Allocation(inst, {"name": "proportional"}, [[2.0]])))
    return {key: value for key, value in {**plain, **changes}.items() if value is not None}


def test_answer_has_the_stated_form_and_no_more() -> None:
    text = files.dumps(
        fo.Allocation(
            fo.Instance([[1.0], [1.0]], [[2.0], [1.0]], limit=[np.inf, 3],
                        placement=[[1, 0], [1, 1]]),
            {"name": "proportional"}, [[1, 0], [0.5, 0]], prices=[[1.0], [0.0]],
        )
    )  # fmt: skip
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
        with pytest.raises(fo.BadInput, match=f"{key}: found nothing; wanted needed to judge"):
            files.loads(json.dumps({k: v for k, v in whole.items() if k != key}))


def test_score_is_kept_where_the_criterion_has_no_name() -> None:
    inst = fo.Instance([[1.0], [2.0]], [[2.0]])
    own = {"name": "alpha-fair", "parameters": {"alpha": 2.0, "criterion": "mine"}}
    alloc = fo.Allocation(inst, own, [[1.0], [0.5]], score=[[0.1], [0.7]])
    again = files.loads(files.dumps(alloc))
    assert again == alloc and again.score.tolist() == [[0.1], [0.7]]
    # a callable that shares its name with a criterion of ours, but not its scores
    same = {"name": "alpha-fair", "parameters": {"alpha": 2.0, "criterion": "drf"}}
    alloc = fo.Allocation(inst, same, [[1.0], [0.5]], score=[[0.1], [0.7]])
    assert files.loads(files.dumps(alloc)) == alloc
    plain = json.loads(files.dumps(alloc))
    del plain["score"]
    plain["notion"]["parameters"]["criterion"] = "dfr"
    with pytest.raises(fo.BadInput, match="criterion: found the text 'dfr'; wanted drf"):
        files.loads(json.dumps(plain))


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
        ({"notion": {"name": "x", "parameters": {"a": {}}}}, "notion.parameters.a: found a table"),
        (
            {"notion": {"name": "x", "parameters": {"alpha": "two"}}},
            "parameters.alpha: found the text",
        ),
        (
            {"notion": {"name": "x", "parameters": {"criterion": ["drf"]}}},
            "criterion: found a list",
        ),
        (
            {"notion": {"name": "x", "parameters": {"weight_inside": "no"}}},
            "inside: found the text",
        ),
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
        "instance.colour", "instance.demand.n2", "servers.A.count", "users.n1.demand.cpu",
    }  # fmt: skip


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
