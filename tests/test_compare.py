"""fairopt compare: a row for every notion and scheduler, and its exit code."""

from __future__ import annotations

import csv
import io
import json

import pytest

import fairopt as fo
from fairopt import solving
from fairopt.allocation.check import UNPROVED, Certificate
from fairopt.certificates import RULED
from fairopt.cli import run
from fairopt.compare import rows as compared
from fairopt.filling import SCHEDULERS
from fairopt.notions import NOTIONS
from fairopt.properties import PROPERTIES


def test_every_notion_and_scheduler_has_a_row(capsys):
    assert run(["compare", "khamse2016/figure-1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    rows = {(row["name"], *row["parameters"].values()): row for row in data["rows"]}
    assert data["schema"] == "fairopt/compare/v1" and data["model"] == "khamse2016/figure-1"
    assert {key[0] for key in rows} == {*NOTIONS, *(f"fill:{name}" for name in SCHEDULERS)}
    psdsf = rows["ps-dsf", "rdm"]
    assert psdsf["totals"] == pytest.approx({"n1": 3, "n2": 3, "n3": 6})
    assert psdsf["efficiency"] == pytest.approx(3 + 3 + 2 * 6) and psdsf["fails"] == []
    # all RAM, 12 of 21 CPU, 33 of the network's 100
    used = {"cpu": 12 / 21, "ram": 1, "network": 0.33}
    assert psdsf["utilisation"] == pytest.approx(used)
    assert (psdsf["least"], psdsf["most"]) == pytest.approx((6 / 12 / 2, 3 / 6))
    assert rows["max-min", "tsf"]["fails"] == ["bottleneck-fair"]
    assert "n3" in rows["max-min", "tsf"]["properties"]["bottleneck-fair"]["witness"]
    refused = rows["bmf",]
    assert refused["status"] == "refused" and "2 servers" in refused["reason"]
    assert all(row["verdict"] == "certified" for row in rows.values() if "verdict" in row)


@pytest.mark.parametrize(
    ("form", "mark"),
    [
        ("terminal", "NJC no-justified-complaints"),
        ("markdown", "| --- |"),
        ("latex", r"\begin{tabular}"),
        ("csv", "notion or scheduler,A,B,efficiency"),
    ],
)
def test_forms(form, mark, capsys):
    assert run(["compare", "ghodsi2011/example", "--format", form]) == 0
    shown, told = capsys.readouterr()
    assert ("docs/choose/notion.md" in told) == (form == "terminal")
    assert mark in shown and "max-min (drf)" in shown and "fill:bf-drf (best-fit)" in shown
    if form == "csv":
        lines = list(csv.reader(io.StringIO(shown)))
        assert {len(line) for line in lines} == {9}


def test_many_users_have_no_columns(tmp_path, capsys):
    model = tmp_path / "five.toml"
    users = "".join(f"[users.u{n}]\ndemand = {{ cpu = 1 }}\n" for n in range(5))
    model.write_text(f'resources = ["cpu"]\n[servers.s]\ncapacity = {{ cpu = 10 }}\n{users}')
    assert run(["compare", str(model), "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("notion or scheduler,efficiency,used")
    assert run(["compare", str(model), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"][0]["totals"]) == 5


def test_an_uncertified_row_is_exit_code_4(monkeypatch, capsys):
    monkeypatch.setattr(solving, "certify", lambda *_: Certificate(UNPROVED, 1.0, 1.0))
    assert run(["compare", "ghodsi2011/example"]) == 4
    assert "unproved" in capsys.readouterr().out


def test_a_failed_solver_is_a_row_and_exit_code_4(monkeypatch, capsys):
    def fail(*_: object) -> None:
        raise fo.SolverFailure("stopped without an answer")

    monkeypatch.setattr(solving, "certify", fail)
    assert run(["compare", "ghodsi2011/example", "--json"]) == 4
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["status"] for row in rows if row["name"] in NOTIONS} <= {"failed", "refused"}
    assert all(row["status"] == "answered" for row in rows if row["name"].startswith("fill:"))


def test_schedulers_are_compared_beside_a_ceiling_of_a_group():
    """A and B of org use at most 6 GPUs; every scheduler keeps that, as every notion does."""
    inst = fo.read("quotas/c1").instance
    table = compared(inst)
    fills = [row for row in table if row["name"].startswith("fill:")]
    assert {(row["status"], row.get("verdict")) for row in fills} == {("answered", "certified")}
    bounds = inst.tree.bounds
    most = float(bounds.amount[0])
    for row in table:
        if row["status"] == "answered":
            members = [inst.users[n] for n in inst.tree.below(int(bounds.node[0]))]
            assert sum(row["totals"][user] for user in members) <= most * (1 + 1e-9)
            assert set(row["properties"]) == set(PROPERTIES)


@pytest.mark.parametrize("name", ["quotas/g1", "quotas/gavel", "quotas/m1"])
def test_quotas_and_modes_are_compared_by_those_who_know_them(name):
    """Who does not take them says why; properties that are not defined there are left out."""
    table = compared(fo.read(name).instance)
    answered = {row["name"] for row in table if row["status"] == "answered"}
    assert answered == {name for name, notion in NOTIONS.items() if notion.family in RULED}
    assert all(row["verdict"] == "certified" for row in table if row["status"] == "answered")
    assert all("found" in row["reason"] for row in table if row["status"] == "refused")
