"""Whole tasks of a plan with their proof: what the judge asks again, and what it refuses."""

from __future__ import annotations

import copy
import json
from importlib import resources
from pathlib import Path

import pytest

from fairopt.cli import run
from fairopt.connect import judging, plan, plan_rows, problem, sources
from fairopt.connect.whole_plan import Proving
from fairopt.errors import BadInput, UsageError

CLUSTER = str(Path(__file__).parent.parent / "examples" / "kubernetes" / "cluster.json")


@pytest.fixture(scope="module")
def made():
    own = problem.problem(sources.cluster([CLUSTER]))
    return plan.make(own), plan.make(own, proving=Proving())


@pytest.fixture
def data(made):
    return json.loads(plan.dumps(made[1]))


def judged(data):
    return judging.judge(plan_rows.loads(json.dumps(data), "plan"))


def test_the_proof_is_judged_from_the_plan_alone(data):
    found = judged(data)
    assert found.certified, found.explain()
    assert found.whole is not None
    assert found.whole.verdict.proved
    assert "proved: 1 task short of whole parts, the least there can be" in found.explain()
    assert found.plain()["whole"]["state"] == "proved"


def test_nobody_is_worse_off_than_with_the_heuristic(made):
    plain, whole = made

    def lowest(own):
        return min(
            min(1, row["whole"] / int(row["due"] + 1e-6))
            for row in own["workloads"] if row["due"] >= 1
        )  # fmt: skip

    assert "proof" not in plain
    assert lowest(whole) >= lowest(plain)


def test_the_schema_knows_the_proof(data):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(
        resources.files("fairopt.connect").joinpath("plan-v1.schema.json").read_text()
    )
    jsonschema.Draft202012Validator(schema).validate(data)


def test_what_a_plan_claims_of_its_whole_tasks_is_checked(data):
    proof = data["proof"]
    name = next(iter(proof["due"]))
    for key, value in (
        ("state", "gap"), ("short", proof["short"] + 1), ("least", proof["least"] + 1),
        ("due", {**proof["due"], name: "1/7"}), ("due", {}),
    ):  # fmt: skip
        other = copy.deepcopy(data)
        other["proof"][key] = value
        found = judged(other)
        assert not found.certified, key
        assert next(c for c in found.checks if not c.holds).name.startswith("whole tasks")


def test_prices_that_prove_less_are_no_proof(data):
    rows = data["proof"]["certificate"]["prices"]
    assert rows
    for row in rows:
        row["sigma"] = [max(0, x - 1) for x in row["sigma"]]
    assert not judged(data).certified
    data["proof"]["certificate"] = []
    with pytest.raises(BadInput, match="proof"):
        judged(data)


def test_one_task_taken_away_is_found(data):
    for shape in data["shapes"]:
        for own in shape["machines"]:
            if own["tasks"]:
                name = next(iter(own["tasks"]))
                own["tasks"][name] -= 1
                found = judged(data)
                assert not found.certified
                return


def test_on_the_command_line(capsys, tmp_path):
    path = tmp_path / "plan.json"
    assert run(["plan", CLUSTER, "--whole", "-o", str(path)]) == 0
    said = "whole tasks proved: 1 task short of whole parts, the least there can be"
    assert said in capsys.readouterr().out
    assert run(["verify", str(path)]) == 0
    assert "whole tasks:\n  proved" in capsys.readouterr().out
    assert run(["plan", CLUSTER, "--seconds", "3"]) == 2
    assert "--seconds belongs to --whole" in capsys.readouterr().err


def test_cards_of_several_speeds_are_refused():
    from fairopt.connect import kinds

    cards = [kinds.parsed("nvidia.com/gpu.product=A100:1,T4:.4")]
    own = problem.problem(sources.cluster([CLUSTER]), cards)
    with pytest.raises(UsageError, match="several speeds"):
        plan.make(own, proving=Proving())
