"""Pages of measurements: they name what stands in the code, and their benchmarks run."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import summary, tail
from benchmarks.crossovers import __main__ as crossovers
from benchmarks.crossovers.lines import CROSSOVERS, constant

ROOT = Path(__file__).resolve().parents[2]

RESULTS = ROOT / "docs" / "results"


def test_constants_on_the_page_of_crossovers_are_those_of_the_code() -> None:
    text = (RESULTS / "crossovers.md").read_text(encoding="utf-8")
    named = re.findall(r"`(fairopt[\w.]+:[A-Z_]+) = ([^`]+)`", text)
    assert {place for line in CROSSOVERS for place in line.constants} <= {at for at, _ in named}
    for place, value in named:
        assert constant(place) == ast.literal_eval(value), f"{place}: measure again"


def test_a_crossover_is_measured_on_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    crossovers.main(["--only", "tiny", "--first", "1"])
    shown = capsys.readouterr().out
    assert "system:TINY" in shown and "| 30 |" in shown and "no answer" not in shown


def test_a_way_that_loses_clearly_is_named() -> None:
    line = next(line for line in CROSSOVERS if line.name == "tiny")
    below, above = line.value / 2, line.value * 2
    good = [crossovers.Row(below, 1.0, 2.0), crossovers.Row(above, 2.0, 1.0)]
    assert "at every size" in crossovers.stands(line, good)
    bad = [crossovers.Row(below, 3.0, 1.0), crossovers.Row(above, 2.0, float("inf"))]
    assert f"3.0 times at {below:g}" in crossovers.stands(line, bad)


def test_the_tail_is_measured_once_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = {
        name: replace(family, sizes=((8, 3), (12, 4)), each=1)
        for name, family in tail.FAMILIES.items()
    }
    monkeypatch.setattr(tail, "FAMILIES", tiny)
    journal = tmp_path / "some.jsonl"
    tail.main(["--journal", str(journal), "--write", str(tmp_path)])
    page, kept = (tmp_path / "tail.md").read_text("utf-8"), journal.read_text("utf-8")
    assert len(kept.splitlines()) == 2 * 2 * 2 * len(tail.DENSITIES)
    assert "48 of 48 are certified" in page and "**12 x 4, all**" in page
    monkeypatch.setattr(tail, "solved", lambda row: pytest.fail("asked again") if row.seed else row)
    tail.main(["--journal", str(journal), "--write", str(tmp_path)])
    assert (tmp_path / "tail.md").read_text("utf-8") == page


def test_the_summary_says_what_the_other_pages_say() -> None:
    shown = (RESULTS / "speed.md").read_text(encoding="utf-8")
    assert shown == summary.page(RESULTS), "run: python -m benchmarks.summary --write docs/results"


def test_the_summary_names_where_a_peer_is_faster(tmp_path: Path) -> None:
    case = {
        "page": "engine-speed",
        "case": "some",
        "words": "density 0.7",
        "users": 3,
        "servers": 2,
        "resources": 2,
        "pairs": 6,
        "notion": {"name": "alpha-fair"},
        "sides": [
            {"side": "fairopt", "wall": 2.0, "peak": 50.0, "gap": 1e-9},
            {"side": "cvxpy plain", "wall": 1.0, "gap": 1e-8},
            {"side": "HiGHS", "wall": 0.1, "gap": 1e-2},
        ],
    }
    (tmp_path / "engine-speed.json").write_text(json.dumps({"cases": [case]}), encoding="utf-8")
    text = summary.page(tmp_path)
    assert "cvxpy plain takes 0.5 times ours" in text and "HiGHS" not in text
    case["sides"][0]["wall"] = 0.5
    (tmp_path / "engine-speed.json").write_text(json.dumps({"cases": [case]}), encoding="utf-8")
    assert "In no case of these pages" in summary.page(tmp_path)
    summary.draw(summary.lines(tmp_path), tmp_path / "speed.svg")
    assert (tmp_path / "speed.svg").read_text("utf-8").startswith("<?xml")
