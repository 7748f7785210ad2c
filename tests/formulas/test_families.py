"""Families: who judges a notion, from plain data alone."""

from __future__ import annotations

import json

import pytest

import fairopt as fo
from fairopt.certificates import JUDGES
from fairopt.formulas import families, parameters
from fairopt.notions import NOTIONS

INST = fo.Instance([[1.0, 4.0], [3.0, 1.0]], [[9.0, 18.0]], users=["A", "B"])


@pytest.mark.parametrize("name", NOTIONS)
def test_the_judging_side_knows_what_each_notion_says_of_itself(name: str) -> None:
    kind = NOTIONS[name].family
    assert families.member({"name": name, "parameters": {}})["name"] == kind
    assert kind in JUDGES and kind in families.FAMILIES and kind in parameters.RULES
    for key, value in families.SHIPPED.get(name, {"parameters": {}})["parameters"].items():
        assert getattr(NOTIONS[name], key) == value


@pytest.mark.parametrize("family", families.FAMILIES)
def test_a_family_bears_the_name_of_a_notion(family: str) -> None:
    assert family == families.OWN or NOTIONS[family].family == family


def test_no_data_can_claim_another_judge_for_a_known_name() -> None:
    """The most tasks for B, which max-min would refute, under the name of max-min."""
    answer = fo.solve(INST, fo.Throughput())
    forged = {"name": "max-min", "parameters": {}, "family": {"name": "sum-m"}}
    family = {"name": "alpha-fair", "parameters": {"alpha": 0}}
    for claimed in (forged, {**forged, "family": family}):
        alloc = fo.Allocation(INST, claimed, answer.tasks, answer.prices)
        assert alloc.kind["name"] == "max-min"
        assert not fo.certify(alloc).certified
    assert fo.certify(fo.Allocation(INST, {"name": "throughput"}, answer.tasks)).certified


def test_a_name_that_nobody_knows_is_refused() -> None:
    unknown = fo.certify(fo.Allocation(INST, {"name": "max-mim"}, [[1.0], [1.0]]))
    assert unknown.verdict == "unproved"
    assert "no judge is known for the notion 'max-mim'" in unknown.explain()
    with pytest.raises(fo.BadInput, match=r"notion\.family: .* wanted .*alpha-fair"):
        fo.Allocation(INST, {"name": "x", "family": {"name": "max-mim"}}, [[1.0], [1.0]])
    with pytest.raises(fo.BadInput, match=r"notion\.family\.parameters\.alpha: found nothing"):
        fo.Allocation(INST, {"name": "x", "family": {"name": "alpha-fair"}}, [[1.0], [1.0]])


def test_a_file_may_name_a_family(tmp_path) -> None:  # type: ignore[no-untyped-def]
    answer = fo.solve(INST, fo.AlphaFair(2))
    path = tmp_path / "answer.json"
    answer.save(path)
    data = json.loads(path.read_text())
    data["notion"] = {"name": "mine", "parameters": {}, "family": data["notion"]}
    path.write_text(json.dumps(data))
    found = fo.load(path)
    assert fo.certify(found).certified and found.notion["name"] == "mine"
    for spoiled, word in (
        ("yes", "family"),
        ({"name": "alpha-fair", "alpha": 2}, "alpha"),
        ({"name": "alpha-fair", "parameters": {"alpha": "two"}}, "alpha"),
    ):
        data["notion"]["family"] = spoiled
        path.write_text(json.dumps(data))
        with pytest.raises(fo.BadInput, match=word):
            fo.load(path)
