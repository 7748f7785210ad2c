"""Whole tasks beside looking at every placement; what is asked; what the room promises."""

from __future__ import annotations

import importlib
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt import files
from fairopt.errors import BadInput, UsageError
from fairopt.whole.asking import asking, searched, taken, whole
from fairopt.whole.proof import claims
from fairopt.whole.proof.answer import EXACT, MULTIPLE, dumps
from fairopt.whole.proof.judging import GAP, PROVED, REFUTED, judge
from fairopt.whole.proof.reading import loads
from tests.whole_cases import drawn, fairest, of

MODELS = [row.name for row in fo.models() if row.name.startswith("whole/")]


@pytest.mark.parametrize("name", MODELS)
def test_the_models_are_proved(name):
    model = fo.read(name)
    found = fo.whole(
        model.instance,
        model.whole.due,
        gang=model.whole.gang,
        per_node=model.whole.per_node,
        cards=model.whole.cards,
        at_least=model.whole.at_least or None,
    )
    (case,) = (case for case in model.cases if case.kind == "whole")
    assert case.name == "given"
    expect = case.expected
    if "totals" in expect:
        assert dict(zip(model.instance.users, found.totals, strict=True)) == expect["totals"]
    parts, dues = of(found)
    assert [float(x) for x in parts] == pytest.approx(expect["parts"], rel=1e-15)
    assert [float(x) for x in dues] == pytest.approx(expect["dues"], rel=1e-15)
    assert found.short == expect["short"]
    verdict = judge(found)
    assert verdict.state == PROVED
    assert verdict.least == found.short


@pytest.mark.parametrize("block", range(6))
def test_small_problems_reach_the_fairest_of_all_placements(block):
    """Every answer is the fairest; nothing is claimed that is not so; nearly all are proved."""
    proved = 0
    for seed in range(20 * block, 20 * block + 20):
        asked = drawn(seed)
        found = searched(asked)
        best, short = fairest(asked)
        assert of(found) == best, seed
        verdict = judge(found)
        assert verdict.sound, (seed, verdict)
        assert verdict.least <= short
        if verdict.highest is not None:  # a gap that is stated is no smaller than what is true
            level = next(level for level, holds in verdict.levels if not holds)
            assert verdict.highest >= level.value
        proved += verdict.state == PROVED
    assert proved >= 19


@pytest.mark.parametrize("block", range(2))
def test_users_that_run_with_a_few_tasks_or_not_at_all(block):
    """Each alone or beside gangs: the fairest of all placements in which nobody runs with fewer."""
    proved = 0
    for seed in range(30 * block, 30 * block + 30):
        asked = drawn(seed, few=True)
        found = searched(asked)
        best, short = fairest(asked)
        assert of(found) == best, seed
        assert all(
            m == 0 or m >= s for m, s in zip(found.totals, asked.at_least or [0] * 9, strict=False)
        )
        verdict = judge(found)
        assert verdict.sound
        assert verdict.least <= short
        proved += verdict.proved
    assert proved >= 28


def test_fewer_than_the_fewest_are_refuted():
    inst = fo.Instance([[1], [1]], [[4]], limit=[6, 2], users=["A", "B"])
    found = fo.whole(inst, [3, 2], at_least={"A": 3})
    assert found.totals == (3, 1)
    assert judge(found).proved
    data = json.loads(dumps(found))
    data["users"]["A"]["at_least"] = 4
    assert judge(loads(json.dumps(data), "here")).state == REFUTED
    data["users"]["A"]["at_least"] = 0
    with pytest.raises(BadInput, match=r"users\.A\.at_least"):
        loads(json.dumps(data), "here")
    with pytest.raises(BadInput, match=r"at_least\.A"):
        fo.whole(inst, [3, 2], at_least={"A": 0})


def test_the_fewest_short_are_another_question():
    """As few tasks short as any placement has, proved nearly always."""
    proved = 0
    for seed in range(60):
        asked = drawn(seed)
        found = searched(asked, fewest=True)
        _, short = fairest(asked)
        assert found.short == short, seed
        proved += judge(found).least == short
    assert proved >= 58


def test_the_same_question_gives_the_same_bytes():
    asked = drawn(3)
    assert dumps(searched(asked)) == dumps(searched(asked))


def test_a_file_of_an_answer_is_read_back():
    found = searched(drawn(11))
    again = loads(dumps(found), "here")
    assert again.totals == found.totals
    assert again.certificate == found.certificate
    assert judge(again) == judge(found)


def test_an_answer_of_a_notion_is_due():
    inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"], resources=["cpu", "memory"])
    answer = fo.solve(inst, fo.MaxMin())
    found = fo.whole(inst, answer)
    # dominant resource fairness: 3 tasks and 2 (Ghodsi et al., 2011), whole as they are
    assert found.asked.due == (3, 2)
    assert found.asked.taken == (MULTIPLE, MULTIPLE)
    assert found.totals == (3, 2)
    assert found.tasks() == {"A": {"s1": 3}, "B": {"s1": 2}}


@pytest.mark.parametrize(
    ("due", "gang", "part", "wanted"),
    [
        (125 * (1 - 1e-9), 1, 1e-8, (Fraction(125), MULTIPLE)),
        (125 * (1 - 1e-7), 1, 1e-8, (Fraction(125 * (1 - 1e-7)), EXACT)),
        (8.0, 4, 0.0, (Fraction(8), MULTIPLE)),
        (9.0, 4, 1e-6, (Fraction(9), EXACT)),
        (0.0, 3, 1e-6, (Fraction(0), MULTIPLE)),
    ],
)
def test_a_due_is_a_whole_number_of_gangs_where_the_proof_allows(due, gang, part, wanted):
    assert taken(due, gang, part) == wanted


@pytest.mark.parametrize("due", [-1.0, math.nan, math.inf])
def test_a_due_that_is_none_is_refused(due):
    inst = fo.Instance([[1]], [[1]])
    with pytest.raises(BadInput, match=r"due\.u1"):
        whole(inst, [due])


def test_everything_wrong_is_refused_at_once_and_by_name():
    inst = fo.Instance([[1], [1]], [[1]], users=["A", "B"])
    with pytest.raises(BadInput) as found:
        whole(inst, {"A": -1, "C": 1}, gang={"A": 0}, per_node={"B": 0.5, "D": 1})
    places = {fault.place for fault in found.value.faults}
    assert places == {"due.A", "due.B", "due.C", "gang.A", "per_node.B", "per_node.D"}


def test_a_gang_of_half_a_task_is_refused():
    inst = fo.Instance([[1]], [[1]], users=["A"])
    with pytest.raises(BadInput, match=r"gang\.A: found 1\.5; wanted a whole number >= 1"):
        whole(inst, [1], gang=[1.5])


def test_demand_that_is_not_linear_is_refused():
    inst = fo.Instance([[1]], [[1]], demand_power=[[0.5]])
    with pytest.raises(UsageError, match="not linear"):
        whole(inst, [1])


def test_nodes_alike_are_one_kind():
    inst = fo.Instance([[1]], [[2], [2], [3]], count=[1, 4, 1])
    asked = asking(inst, [7])
    assert [(row.count, dict(own)) for row, own in zip(asked.rows, asked.servers, strict=True)] == [
        (5, {"s1": 1, "s2": 4}),
        (1, {"s3": 1}),
    ]
    found = whole(inst, [13])
    assert found.tasks() == {"u1": {"s1": 2, "s2": 8, "s3": 3}}


def test_most_on_a_node_is_kept():
    inst = fo.Instance([[1], [1]], [[10]], count=[3], users=["A", "B"], limit=[9, 9])
    found = fo.whole(inst, [9, 9], per_node={"A": 1})
    assert found.totals == (3, 9)
    assert all(own.get("A", 0) <= 1 for _, _, own in found.machines())
    assert judge(found).state == PROVED


def test_modes_of_one_speed_are_ways_to_run():
    modes = {"A": [fo.Mode("wide", [2, 1]), fo.Mode("tall", [1, 2])]}
    inst = fo.Instance([[0, 0]], [[3, 3]], modes=modes, users=["A"], limit=[9])
    found = fo.whole(inst, [2])
    assert found.totals == (2,)  # one of each: two of one kind take 4 of a resource
    fast = {"A": [fo.Mode("fast", [2, 1], speed=2.0), fo.Mode("slow", [1, 2])]}
    with pytest.raises(UsageError, match="speeds"):
        fo.whole(inst.replace(modes=fast), [2])


def test_ceilings_are_kept_as_nobody_gets_more_than_it_is_due():
    quotas = fo.Quotas(bounds=[fo.Bound("A", "r1", 2.5)])
    inst = fo.Instance([[1], [1]], [[9]], users=["A", "B"], quotas=quotas)
    found = fo.whole(inst, ["5/2", "13/2"])
    assert found.totals == (2, 6)


def test_no_seconds_leave_what_the_heuristic_found():
    asked = drawn(5)
    found = searched(asked, seconds=1e-9)
    assert found.stopped
    assert judge(found).sound


def test_an_interrupted_search_keeps_the_best_so_far():
    def told(words):
        raise KeyboardInterrupt

    model = fo.read("whole/one-short")
    found = fo.whole(model.instance, model.whole.due, told=told)
    assert found.stopped
    assert found.short >= 1
    assert judge(found).state == GAP


def test_levels_are_those_of_the_definition():
    asked = drawn(3)
    found = searched(asked)
    parts, dues = of(found)
    for measure, values in ((claims.PARTS, parts), (claims.DUES, dues)):
        own = [one for one in claims.levels(found.problem, found.totals) if one.measure == measure]
        told = [one.value for one in own for _ in one.users]
        assert told == [x for x in values if x < 1]
        assert [one.below for one in own] == list(
            np.cumsum([0, *(len(one.users) for one in own)])[:-1]
        )


def test_the_room_is_called_as_its_function():
    inst = fo.Instance([[1]], [[2]])
    room = importlib.import_module("fairopt.whole")
    for function in (whole, fo.whole, room):
        assert function(inst, [2]).totals == (2,)


def test_keys_of_a_model_are_written_and_read_back(tmp_path):
    model = fo.read("whole/gangs")
    path = tmp_path / "again.toml"
    files.write(model, path)
    assert fo.read(path).whole == model.whole
    files.write(model, tmp_path / "folder")
    assert fo.read(tmp_path / "folder").whole == model.whole


def test_faults_of_the_keys_are_refused_by_name(tmp_path):
    text = (
        'resources = ["cpu"]\n[servers.s]\ncapacity = { cpu = 1 }\n'
        "[users.A]\ndemand = { cpu = 1 }\ndue = 'much'\ngang = 0\nper_node = 1.5\n"
    )
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(BadInput) as found:
        fo.read(tmp_path / "wrong.toml")
    places = {fault.place for fault in found.value.faults}
    assert places == {"users.A.due", "users.A.gang", "users.A.per_node"}
