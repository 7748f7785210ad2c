"""fairopt check: margins, witnesses, exit codes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.properties import NOTION_PROPERTIES, PROPERTIES


@pytest.fixture
def tsf(tmp_path):
    """TSF of khamse2016 Figure 1: it misses bottleneck fairness alone."""
    inst = fo.read("khamse2016/figure-1").instance
    path = tmp_path / "tsf.json"
    fo.Allocation(inst, fo.MaxMin("tsf"), [[2, 0], [2, 0], [2, 6]]).save(path)
    return str(path)


@pytest.fixture
def fair(tmp_path):
    inst = fo.read("khamse2016/figure-1").instance
    path = tmp_path / "fair.json"
    fo.Allocation(inst, fo.PerServerDominantShare(), [[3, 0], [3, 0], [0, 6]]).save(path)
    return str(path)


def test_every_property_has_a_line(tsf, capsys):
    assert run(["check", tsf]) == 4
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == list(PROPERTIES)
    broken = [line for line in lines if line.startswith("VIOLATED")]
    assert len(broken) == 1 and "margin      -0.5  n3 holds ram on s1 at level 8" in broken[0]


def test_fair_is_0_and_expecting_a_violation_turns_it_round(tsf, fair):
    assert run(["check", fair]) == 0
    assert run(["check", fair, "--expect-violation"]) == 4
    assert run(["check", tsf, "--expect-violation"]) == 0
    assert run(["check", tsf, "--property", "envy-free"]) == 0


def test_envy_in_words(tmp_path, capsys):
    inst = fo.Instance([[1], [1]], [[4]], weight=[3, 1], users=["team-a", "team-b"])
    path = tmp_path / "even.json"
    fo.Allocation(inst, fo.ProportionalFair(), [[3.5], [0.5]]).save(path)
    assert run(["check", str(path), "--property", "envy-free"]) == 4
    said = capsys.readouterr().out
    assert "team-b would run 1.16667 tasks with team-a's share by weight, 0.5 with its own" in said


def test_json_from_stdin(tsf, monkeypatch, capsys):
    text = Path(tsf).read_text(encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run(["check", "-", "--json"]) == 4
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "fairopt/allocation/check/v1"
    assert data["notion"] == {"name": "max-min", "parameters": {"criterion": "tsf"}}
    row = next(c for c in data["checks"] if c["name"] == "bottleneck-fair")
    assert (
        not row["holds"]
        and row["margin"] == pytest.approx(-0.5, abs=1e-5)
        and row["tolerance"] == 1e-6
    )
    assert "found" not in row


def test_output_file_holds_the_object(tsf, tmp_path, capsys):
    kept = tmp_path / "checks.json"
    assert run(["check", tsf, "-o", str(kept)]) == 4
    assert json.loads(kept.read_text())["schema"] == "fairopt/allocation/check/v1"
    assert capsys.readouterr().out.startswith("holds")


def test_properties_of_the_notion(fair, capsys):
    assert run(["check", fair, "--notion-properties", "--trials", "6", "--json"]) in (0, 4)
    rows = json.loads(capsys.readouterr().out)["checks"]
    assert [row["name"] for row in rows] == [*PROPERTIES, *NOTION_PROPERTIES]
    lies = rows[len(PROPERTIES)]
    assert lies["tried"] == 6 and lies["found"]["user"] in ("n1", "n2", "n3")


def test_one_property_of_the_notion(tmp_path, capsys):
    inst = fo.Instance([[0.5, 1], [1, 0.5]], [[1, 1]])
    path = tmp_path / "pf.json"
    fo.Allocation(inst, fo.ProportionalFair(), [[2 / 3], [2 / 3]]).save(path)
    arguments = ["check", str(path), "--property", "strategy-proof", "--trials", "25"]
    assert run(arguments) == 4
    first = capsys.readouterr().out
    assert first.startswith("VIOLATED  strategy-proof") and "by claiming" in first
    assert run([*arguments, "--seed", "0"]) == 4
    assert capsys.readouterr().out == first


def test_what_exceeds_a_capacity_is_told_first(tmp_path, capsys):
    path = tmp_path / "over.json"
    fo.Allocation(fo.Instance([[1], [1]], [[2]]), fo.ProportionalFair(), [[2], [2]]).save(path)
    assert run(["check", str(path)]) == 4
    assert capsys.readouterr().out.startswith("VIOLATED  capacity")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing.json"], "nothing there"),
        (["{path}", "--property", "fair"], "--property: found 'fair'; wanted one of sharing"),
        (["{path}", "--trials", "0"], "--trials"),
        (["{text}"], "1 fault"),
    ],
)
def test_bad_input_is_2(arguments, says, tsf, tmp_path, capsys):
    text = tmp_path / "text.json"
    text.write_text("no json")
    assert run(["check", *(a.format(path=tsf, text=text) for a in arguments)]) == 2
    out = capsys.readouterr()
    assert out.out == "" and says in out.err


def test_a_scheduler_has_no_notion_to_search(tmp_path, capsys):
    path = tmp_path / "filled.json"
    fo.fill(fo.Instance([[1]], [[2]]), "drf").save(path)
    assert run(["check", str(path)]) == 0
    assert run(["check", str(path), "--notion-properties"]) == 2
    assert "is a scheduler" in capsys.readouterr().err


def test_a_negative_seed_is_a_usage_error(fair, capsys):
    assert run(["check", str(fair), "--seed", "-1"]) == 2
    assert "--seed" in capsys.readouterr().err
