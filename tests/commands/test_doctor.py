"""fairopt doctor: what is installed here, held to pyproject.toml and to the README."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from fairopt.cli import run
from fairopt.commands import doctor

ROOT = Path(__file__).parents[2]


def named(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def test_the_packages_are_those_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(doctor.REQUIRED) <= named(project["dependencies"])
    extras = project["optional-dependencies"]
    for extra, packages in doctor.EXTRAS.items():
        assert set(packages) == named(extras[extra])


def test_the_lines_are_those_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("\\|", "|")
    for line in doctor.LINES:
        assert line in readme, line


def test_everything_is_here_where_tests_run(capsys) -> None:
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "MISSING" not in out and "not installed" not in out
    assert "works: fairopt solve real/google2011" in out


def test_what_is_missing_is_named_with_what_to_type(monkeypatch, capsys) -> None:
    real = doctor.version
    absent = {"matplotlib", "scs", "ijson"}
    monkeypatch.setattr(doctor, "version", lambda p: None if p in absent else real(p))
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)
    assert run(["doctor"]) == 2
    out = capsys.readouterr().out
    assert re.search(r"^scs +MISSING", out, flags=re.M)
    assert "not installed: pip install 'fairopt[plot]'" in out
    assert "needs matplotlib: fairopt sweep kesidis2016/t-drf" in out
    assert "needs kubectl, ijson: kubectl get nodes" in out
    assert run(["doctor", "--json"]) == 2
    data = json.loads(capsys.readouterr().out)
    assert data["extras"]["plot"] == {"matplotlib": None} and data["required"]["scs"] is None


def test_nothing_is_imported(monkeypatch) -> None:
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    assert doctor.version("cvxpy") is None


@pytest.mark.parametrize("line", doctor.LINES)
def test_lines_are_commands(line: str) -> None:
    assert re.match(r"(fairopt|kubectl) \w+", line)
