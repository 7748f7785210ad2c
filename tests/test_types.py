"""What a type checker sees of the public names: real types, so that a misspelt word is found."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fairopt as fo

SCRIPT = """\
import fairopt as fo

cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
answer = fo.solve(cluster, fo.AlphaFair(alpha=2))
total: float = float(answer.totals.sum())
verdict: str = fo.certify(answer).verdict
model = fo.read("ghodsi2011/example")
names: tuple[str, ...] = model.instance.users
for check in fo.certify(answer).checks:
    print(check.name, check.holds)
"""
RIGHT, WRONG = "right", "wrong"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What mypy says of one script without a mistake and one with a mistake on every line."""
    folder = tmp_path_factory.mktemp("consumer")
    (folder / f"{RIGHT}.py").write_text(SCRIPT)
    (folder / f"{WRONG}.py").write_text(
        SCRIPT
        + "fo.AlphaFair(alhpa=1)\n"
        + "print(answer.totls)\n"
        + "fo.solve(cluster, 2)\n"
        + "fo.slove(cluster, fo.MaxMin())\n"
        + "fo.Instance([[1]], [[1]], wieght=[1])\n"
        + "fo.properties.envy_fre(answer)\n"
    )
    root = Path(fo.__file__).parents[1]
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--config-file",
            str(root / "pyproject.toml"),
            "--cache-dir",
            str(root / ".mypy_cache"),
            f"{RIGHT}.py",
            f"{WRONG}.py",
        ],
        capture_output=True,
        text=True,
        cwd=folder,
        env=None,
    )
    assert not run.stderr, run.stderr
    return run.stdout.splitlines()


def test_a_right_script_passes(told):
    assert not [line for line in told if line.startswith(RIGHT)]


@pytest.mark.parametrize("word", ["alhpa", "totls", '"int"', "slove", "wieght", "envy_fre"])
def test_a_mistake_is_found(told, word):
    assert [line for line in told if line.startswith(WRONG) and word in line]


def test_both_tables_of_names_agree():
    """Lazy names and typed names are written twice; nothing may stand in one alone."""
    tree = ast.parse(Path(fo.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.asname: f"{node.module}.{alias.name}"
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = {name: f"fairopt.{module}.{name}" for name, module in fo._PUBLIC.items()}
    assert typed == lazy | {name: f"fairopt.{module}" for name, module in fo._MODULES.items()}
    for name in typed:
        assert getattr(fo, name) is not None
