"""fairopt fill: one filling, trials, and the table of all schedulers."""

from __future__ import annotations

import json

import pytest

from fairopt.cli import run


def test_one_filling_is_shown_judged_and_can_be_verified(tmp_path, capsys):
    saved = tmp_path / "filled.json"
    assert run(["fill", "ghodsi2011/example", "--scheduler", "drf", "-o", str(saved)]) == 0
    assert "certified" in capsys.readouterr().out
    assert run(["verify", str(saved)]) == 0
    data = json.loads(saved.read_text())
    assert data["tasks"] == {"A": {"pool": 3}, "B": {"pool": 2}}
    assert data["notion"]["name"] == "fill:drf"


def test_trials_as_json(capsys):
    words = ["fill", "kesidis2018/example", "--scheduler", "rps-dsf", "--trials", "5", "--json"]
    assert run(words) == 0
    data = json.loads(capsys.readouterr().out)
    assert [row["mean"] for row in data["tasks"]] == [19, 2, 2, 19]
    assert data["total"] == {"mean": 42, "sd": 0}


@pytest.mark.parametrize(
    ("form", "mark"),
    [
        ("terminal", "integer optimum"),
        ("markdown", "| --- |"),
        ("latex", r"\begin{tabular}"),
        ("csv", "scheduler,selection"),
    ],
)
def test_all_schedulers_side_by_side(form, mark, capsys):
    code = run(["fill", "kesidis2018/example", "--all", "--trials", "3", "--format", form])
    shown = capsys.readouterr().out
    assert code == 0 and mark in shown and "rps-dsf" in shown and "42" in shown


def test_unknown_scheduler_is_a_usage_error(capsys):
    assert run(["fill", "ghodsi2011/example", "--scheduler", "drff"]) == 2
    assert "rps-dsf" in capsys.readouterr().err


def test_a_scheduler_that_cannot_fill_this_cluster_says_so_in_its_row(capsys):
    """A cluster whose tasks run on either kind of GPU: one scheduler is for other demands."""
    assert run(["fill", "edge/gpu-of-either-kind", "--all", "--trials", "2"]) == 0
    shown = capsys.readouterr().out
    assert "fill:rdrf: rdrf needs demands that are the same on every server" in shown
    assert len([line for line in shown.splitlines() if " refused " in line]) == 1
