"""The mutation run: what it changes, which tests see a change, and its page."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path

from benchmarks.mutation import changes, running
from benchmarks.mutation.__main__ import JUDGE, page

ROOT = Path(__file__).resolve().parents[2]


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
    assert all((ROOT / "tests" / f"{name}.py").exists() for name in named)


def test_rooms_within_the_room_are_changed_too() -> None:
    drawn = {str(mutant["module"]) for mutant in changes.sample(60, 0, ["meant"])}
    assert drawn <= {"meant/" + path.stem for path in (changes.PACKAGE / "meant").glob("*.py")}
    assert len(drawn) > 3
    files = running.tests_of("meant/lots")
    names = (*running.TESTS["meant"], *running.ALWAYS)
    assert files == [f"tests/{name}.py" for name in names]
    assert "rounds" in {str(mutant["module"]) for mutant in changes.sample(200, 0, ["rounds"])}


def test_the_page_names_survivors() -> None:
    row = {"module": "levels", "line": 7, "before": "a", "after": "b", "killed": ""}
    text = page([row, {**row, "killed": "test_x"}], "--sample 2")
    assert "1 fail a test, 1 survive" in text and "`a -> b`: not explained" in text
    assert json.dumps(row)


def test_a_change_is_shown_to_the_files_that_enter_its_function() -> None:
    path = changes.PACKAGE / "digits.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    first = next(k for k, line in enumerate(lines, 1) if line.startswith("def plus"))
    assert changes.function(ast.parse("\n".join(lines)), first + 1) == first
    files = running.tests_of("digits")
    known = running.Known(enters={files[1]: [f"digits:{first}"]})
    assert known.files({"module": "digits", "line": first + 1}) == [files[1]]
    assert known.files({"module": "digits", "line": 1}) == files  # what is loaded may be anywhere


def test_tests_that_fail_often_and_take_little_go_first() -> None:
    known = running.Known({"long": 5.0, "often": 5.0, "short": 0.1}, {}, Counter({"often": 99}))
    assert sorted(known.seconds, key=known.late) == ["often", "short", "long"]


def test_modules_that_are_changed_by_default_are_there() -> None:
    rooms = {path.name for path in changes.PACKAGE.iterdir() if path.is_dir()}
    assert all(name in rooms or (changes.PACKAGE / f"{name}.py").exists() for name in JUDGE)
