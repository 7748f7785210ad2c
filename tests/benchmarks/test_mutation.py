"""The mutation run: changes are what they say, tests that judge them exist, its page counts."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from benchmarks.mutation import __main__ as campaign
from benchmarks.mutation import changes, running


def test_mutants_are_what_they_say(tmp_path: Path) -> None:
    path = tmp_path / "judge.py"
    path.write_text("TOLERANCE = 1e-6\ndef f(a, b):\n    return max(a - b, 0) <= TOLERANCE\n")
    whole = ast.unparse(ast.parse(path.read_text()))
    found = {(before, after): source for _, before, after, source in changes.mutants(path)}
    assert set(found) == {
        ("1e-06", "9.999999999999999e-05"),
        ("0", "1"),
        ("a - b", "a + b"),
        ("a - b", "a"),
        ("max(a - b, 0)", "a - b"),
        ("max(a - b, 0) <= TOLERANCE", "max(a - b, 0) > TOLERANCE"),
    }
    for (before, after), source in found.items():
        bare = whole.replace(f" {before})", f" {after})")
        assert source in (whole.replace(before, after, 1), bare)
    assert ast.unparse(ast.parse(path.read_text())) == whole


def test_judges_have_their_tests() -> None:
    judges = {path.stem for path in changes.PACKAGE.glob("*")} - {"__init__", "words"}
    assert set(running.TESTS) <= judges
    named = {name for names in running.TESTS.values() for name in names} | set(running.ALWAYS)
    assert all((changes.ROOT / "tests" / f"{name}.py").exists() for name in named)


def test_rooms_within_the_room_are_changed_too() -> None:
    drawn = {str(mutant["module"]) for mutant in changes.sample(60, 0, ["nearby"])}
    assert drawn <= {"nearby/" + path.stem for path in (changes.PACKAGE / "nearby").glob("*.py")}
    assert len(drawn) > 3
    files = [f"tests/{name}.py" for name in (*running.NEARBY, *running.ALWAYS)]
    assert running.tests_of("nearby/proof") == files
    assert "rounds" in {str(mutant["module"]) for mutant in changes.sample(200, 0, ["rounds"])}


def test_the_page_names_survivors() -> None:
    row = {"module": "levels", "line": 7, "before": "a", "after": "b", "killed": ""}
    text = campaign.page([row, {**row, "killed": "test_x"}], "--sample 2")
    assert "1 fail a test, 1 survive" in text and "`a -> b`: not explained" in text
    assert json.dumps(row)
