"""The figures of the house, on small houses whose circles and floors are plain to see."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

from benchmarks import house


def test_imports_are_read_wherever_they_stand(tmp_path: Path) -> None:
    package = tmp_path / "fairopt"
    (package / "room").mkdir(parents=True)
    texts = {
        "__init__": "from fairopt import low",
        "low": "def late():\n    from fairopt.room import inner",
        "room/__init__": "import importlib\nimportlib.import_module('fairopt.low')",
        "room/inner": "from fairopt.room import thing",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    arrows = house.imports(package)
    assert arrows == {
        "fairopt.low": {"fairopt.room.inner"},
        "fairopt.room": {"fairopt.low"},
        "fairopt.room.inner": {"fairopt.room"},
    }
    assert house.by_room(arrows) == {"low": {"room"}, "room": {"low"}}
    assert house.circles(arrows) == [set(arrows)]


def test_floors_and_circles() -> None:
    arrows = {"a": {"b", "d"}, "b": {"c"}, "c": {"b", "d"}, "d": {"e"}, "e": set[str]()}
    assert house.circles(arrows) == [{"b", "c"}]
    assert house.floors(arrows) == 4
    assert house.floors({"a": {"b"}, "b": set()}) == 2 and not house.circles({"a": set()})


def test_files_crossed_are_those_of_which_a_line_runs(tmp_path, monkeypatch) -> None:
    (tmp_path / "far_away.py").write_text("def f():\n    return 1\n", encoding="utf-8")
    (tmp_path / "not_asked.py").write_text("def g():\n    return 2\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import far_away  # type: ignore[import-not-found]
    import not_asked  # type: ignore[import-not-found]

    found = house.crossed(tmp_path, far_away.f)
    assert found == {"files": 1, "lines": 2, "changes": 1}
    found = house.crossed(tmp_path, lambda: (far_away.f(), not_asked.g(), far_away.f()))
    assert found == {"files": 2, "lines": 4, "changes": 3}


def test_the_page_has_a_column_for_each_tree() -> None:
    one = {"files": 2, "of rooms": {"low": [2, 2000]}}
    two = {"files": 1, "of rooms": {"high": [1, 7]}}
    shown = house.page({"before": one, "now": two})
    assert "| files | 2 | 1 |" in shown
    assert "| `low` | 2, 2,000 |  |" in shown and "| `high` |  | 1, 7 |" in shown
