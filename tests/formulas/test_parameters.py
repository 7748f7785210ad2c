"""The table of parameters: the same rules for notions, answers and files, and none forgotten."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

import fairopt as fo
from fairopt.certificates import JUDGES
from fairopt.filling import SCHEDULERS
from fairopt.formulas import families, parameters
from fairopt.notions import NOTIONS

NEEDED = {"alpha-fair": {"alpha": 2}}


@pytest.mark.parametrize("name", NOTIONS)
def test_every_parameter_of_every_notion_has_a_rule(name):
    rules, own = parameters.RULES[name], fields(NOTIONS[name])
    assert list(rules) == [f.name for f in own]
    assert {k for k, rule in rules.items() if rule.needed} == {
        f.name for f in own if f.default is MISSING
    }


@pytest.mark.parametrize("name", NOTIONS)
def test_what_a_notion_writes_is_what_it_may_be_given(name):
    notion = NOTIONS[name](**NEEDED.get(name, {}))
    plain = notion.plain()
    assert parameters.faults(name, plain["parameters"]) == []
    # what is left out means the same on both sides
    kept = {k: v for k, v in plain["parameters"].items() if k != "criterion"}
    criterion = getattr(notion, "criterion", "tasks")
    assert parameters.criterion_of({"name": name, "parameters": kept}) == criterion


def test_every_name_in_a_file_has_a_judge():
    fillings = {f"fill:{name}" for name in (*SCHEDULERS, "optimum")}
    assert set(parameters.names()) == {*NOTIONS, *fillings}
    judged = {families.member({"name": name})["name"] for name in NOTIONS}
    assert {*judged, "fill:", families.OWN} == set(JUDGES)


@pytest.mark.parametrize("name", parameters.names())
def test_a_known_name_means_what_it_means_whatever_family_is_claimed(name):
    claimed = {"name": name, "family": {"name": "own", "parameters": {}}}
    assert families.member(claimed)["name"] != "own"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("max-min", "found the text 'max-min'; wanted fo.MaxMin()"),
        (fo.MaxMin, "found the class MaxMin; wanted fo.MaxMin()"),
        ("alpha-fair", "found the text 'alpha-fair'; wanted fo.AlphaFair(alpha=...)"),
        ("maxmin", "found the text 'maxmin'; wanted a notion, such as fo.MaxMin()"),
        (None, "found nothing; wanted a notion, such as fo.MaxMin()"),
        ({"name": "max-min"}, "found a table; wanted a notion"),
    ],
)
def test_what_is_no_notion_is_refused_with_the_notion_meant(given, wanted):
    inst = fo.Instance([[1]], [[1]])
    with pytest.raises(fo.BadInput) as caught:
        fo.solve(inst, given)
    assert f"notion: {wanted}" in str(caught.value)
    with pytest.raises(fo.BadInput) as caught:
        fo.sweep(inst, [given])
    assert f"notions[0]: {wanted}" in str(caught.value)
    if not isinstance(given, dict):
        with pytest.raises(fo.BadInput, match="wanted a notion such as fo.MaxMin()"):
            fo.Allocation(inst, given, [[1]])


def test_an_instance_that_is_none_is_refused():
    with pytest.raises(fo.BadInput, match="instance: found a list; wanted a fairopt.Instance"):
        fo.solve([[1]], fo.MaxMin())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: fo.MaxMin("dominant"), "criterion: found the text 'dominant'; wanted one of task"),
        (lambda: fo.MaxMin(None), "criterion: found nothing"),
        (lambda: fo.AlphaFair(-1), "alpha: found -1; wanted a finite number >= 0, at most 1e+150"),
        (lambda: fo.AlphaFair(1e308), "alpha: found 1e+308; wanted a finite number >= 0, at most"),
        (lambda: fo.AlphaFair(float("nan")), "alpha: found nan"),
        (lambda: fo.AlphaFair(1j), "alpha: found an object of type complex"),
        (lambda: fo.AlphaFair(10**400), "alpha: found a whole number of 1329 bits"),
        (lambda: fo.Tradeoff(g=None), "g: found nothing; wanted 'log', or alpha"),
        (lambda: fo.PerServerDominantShare("TDM"), "division: found the text 'TDM'"),
        (lambda: fo.PerServerDominantShare(order="s1"), "order: found the text 's1'"),
        (lambda: fo.BottleneckMaxFair(3), "method: found 3; wanted one of levels"),
    ],
)
def test_notions_are_refused_when_they_are_built(build, message):
    with pytest.raises(fo.BadInput) as caught:
        build()
    assert message in str(caught.value)


def test_the_largest_parameter_is_the_last():
    assert fo.AlphaFair(1e150).alpha == 1e150
    with pytest.raises(fo.BadInput):
        fo.AlphaFair(1.01e150)


@pytest.mark.parametrize("weight", [5e-324, 0.99e-150, 1.01e150, 1e308])
def test_weights_that_products_cannot_hold_are_refused(weight):
    with pytest.raises(fo.BadInput, match="users.u1.weight: found .*; wanted between 1e-150 and"):
        fo.Instance([[1], [1]], [[2]], weight=[weight, 1])
    fo.Instance([[1], [1]], [[2]], weight=[1e-150, 1e150])
