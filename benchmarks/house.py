"""The house measured: files, lines, rooms, arrows, circles, and what a small question crosses.

    python -m benchmarks.house
    python -m benchmarks.house --before 082c8c8 --write docs/results/house.md

A room is a module or package right below `fairopt`; an arrow an import of one room by another, late
imports and those for types included; a circle some files or rooms that import each other in the
end. A floor is the longest way down over arrows. Crossed are the files of which a line runs, once
everything is imported; a change is a line that runs in another file than the line before it.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LONG, TINY = 350, 60
MODEL = """
title = "Three users"
source = "made for this"
resources = ["cpu", "memory"]
[servers]
s1 = { capacity = { cpu = 9.0, memory = 18.0 } }
s2 = { capacity = { cpu = 12.0, memory = 6.0 } }
[users]
A = { demand = { cpu = 1.0, memory = 4.0 }, servers = ["s1"] }
B = { demand = { cpu = 3.0, memory = 1.0 } }
C = { demand = { cpu = 2.0, memory = 2.0 }, weight = 2.0 }
"""
Arrows = dict[str, set[str]]


def imports(package: Path) -> Arrows:
    """Modules -> the modules that they import anywhere; `fairopt` itself, which only names things,
    is left out."""
    paths = {_named(path, package): path for path in package.rglob("*.py")}
    del paths[package.name]
    found = {}
    for name, path in paths.items():
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                each = (f"{node.module}.{alias.name}" for alias in node.names)
                names |= {inner if inner in paths else str(node.module) for inner in each}
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                names |= {ast.literal_eval(a) for a in node.args if isinstance(a, ast.Constant)}
        found[name] = (names & paths.keys()) - {name}
    return found


def _named(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def by_room(arrows: Arrows) -> Arrows:
    rooms: Arrows = {}
    for name, found in arrows.items():
        here = rooms.setdefault(name.split(".")[1], set())
        here |= {other.split(".")[1] for other in found} - {name.split(".")[1]}
    return rooms


def reached(arrows: Arrows, start: str) -> set[str]:
    """What can be reached over one arrow or more."""
    seen, left = set[str](), [start]
    while left:
        for name in arrows[left.pop()] - seen:
            seen.add(name)
            left.append(name)
    return seen


def circles(arrows: Arrows) -> list[set[str]]:
    """Sets of two or more that all reach each other."""
    all_of = {name: reached(arrows, name) for name in arrows}
    found = {frozenset(b for b in all_of[a] if a in all_of[b]) for a in arrows if a in all_of[a]}
    return sorted(map(set, found), key=len, reverse=True)


def floors(arrows: Arrows) -> int:
    """The longest way down; a circle counts as one floor."""
    all_of = {name: reached(arrows, name) for name in arrows}

    @cache
    def depth(name: str) -> int:
        below = (other for other in all_of[name] if name not in all_of[other])
        return 1 + max(map(depth, below), default=0)

    return max(map(depth, arrows))


def crossed(package: Path, question: Callable[[], Any]) -> dict[str, int]:
    """{"files", "lines of them", "changes"} of a question, asked a second time."""
    question()
    files: set[str] = set()
    last, changes, inside = "", 0, f"{package}/"

    def line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal last, changes
        name = frame.f_code.co_filename
        if not name.startswith(inside):
            return None
        if event == "line":
            files.add(name)
            changes += name != last
            last = name
        return line

    sys.settrace(line)
    try:
        question()
    finally:
        sys.settrace(None)
    lines = sum(len(Path(name).read_text(encoding="utf-8").splitlines()) for name in files)
    return {"files": len(files), "lines": lines, "changes": changes}


def questions(folder: str) -> dict[str, Callable[[], Any]]:
    import fairopt as fo
    from fairopt.cli import run

    model = Path(folder, "three.toml")
    model.write_text(MODEL, encoding="utf-8")
    instance = fo.Instance(
        [[1, 4], [3, 1], [2, 2]], [[9, 18], [12, 6]], [[1, 0], [1, 1], [1, 1]], [1, 1, 2]
    )

    def plan() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            assert run(["plan", str(model)]) == 0

    return {
        "AlphaFair(2)": lambda: fo.solve(instance, fo.AlphaFair(2)),
        "MaxMin()": lambda: fo.solve(instance, fo.MaxMin()),
        "plan": plan,
    }


def measured(tree: Path) -> dict[str, Any]:
    """All figures of a tree, of which `fairopt` is imported."""
    package = tree / "fairopt"
    lines = {
        path.relative_to(package).parts: len(path.read_text(encoding="utf-8").splitlines())
        for path in package.rglob("*.py")
    }
    arrows = imports(package)
    rooms = by_room(arrows)
    sizes: dict[str, list[int]] = {}
    for parts, count in lines.items():
        sizes.setdefault(parts[0].removesuffix(".py"), []).append(count)
    with tempfile.TemporaryDirectory() as folder:
        asked = {name: crossed(package, q) for name, q in questions(folder).items()}
    return {
        "files": len(lines),
        "lines": sum(lines.values()),
        f"files of more than {LONG} lines": sum(count > LONG for count in lines.values()),
        f"files of fewer than {TINY} lines": sum(count < TINY for count in lines.values()),
        "rooms": len(rooms),
        "floors of rooms": floors(rooms),
        "arrows between rooms": sum(map(len, rooms.values())),
        "circles of rooms (rooms in them)": _told(circles(rooms)),
        "circles of files (files in them)": _told(circles(arrows)),
        **{f"{q}: {what}": asked[q][key] for q in asked for key, what in CROSSED.items()},
        "of rooms": {name: [len(found), sum(found)] for name, found in sorted(sizes.items())},
    }


CROSSED = {"files": "files crossed", "lines": "lines of them", "changes": "changes of file"}


def _told(found: list[set[str]]) -> str:
    return f"{len(found)} ({', '.join(str(len(one)) for one in found)})" if found else "0"


def at(revision: str) -> dict[str, Any]:
    """The figures of a commit, in a fresh interpreter on a copy of its tree."""
    packed = subprocess.run(
        ["git", "archive", revision, "fairopt", "models"], cwd=ROOT, capture_output=True, check=True
    )
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
            tar.extractall(folder, filter="data")
        return _fresh(Path(folder))


def _fresh(tree: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, "--tree", str(tree)],
        env={"PYTHONPATH": str(tree), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def page(columns: dict[str, dict[str, Any]]) -> str:
    heads, each = list(columns), list(columns.values())
    rows = [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for name in (name for name in each[-1] if name != "of rooms"):
        rows.append(f"| {name} | {' | '.join(_shown(one.get(name, '')) for one in each)} |")
    rows += ["", f"| room: files, lines | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for room in sorted(set().union(*(one["of rooms"] for one in each))):
        sizes = (one["of rooms"].get(room) for one in each)
        told = ("" if s is None else f"{s[0]}, {s[1]:,}" for s in sizes)
        rows.append(f"| `{room}` | {' | '.join(told)} |")
    return "\n".join(rows)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


HEAD = """# The house: how much there is to hold in mind

What a reader of the code meets, counted: files, rooms (a module or package right below `fairopt`),
arrows (imports between rooms, late ones and those for types included), circles (what imports each
other in the end), and what a question on three users crosses: the files of which a line runs, and
how often the next line runs in another file. The model of `plan` stands in the script.

"""


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", action="append", default=[], metavar="REVISION")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    parser.add_argument("--tree", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args(given)
    if asked.tree is not None:
        print(json.dumps(measured(asked.tree)))
        return
    columns = {f"`{revision}`": at(revision) for revision in asked.before}
    text = page({**columns, "now": _fresh(ROOT)})
    if asked.write is None:
        print(text)
        return
    before = "".join(f" --before {revision}" for revision in asked.before)
    how = f"\n\nMeasured by `python -m benchmarks.house{before} --write {asked.write}`.\n"
    # what is said below the figures stays
    said = asked.write.read_text(encoding="utf-8").partition("\n## ")
    asked.write.write_text(HEAD + text + how + "".join(said[1:]), encoding="utf-8")


if __name__ == "__main__":
    main()
