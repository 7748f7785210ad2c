"""One version everywhere: changelog, package, citation, recipe; and the files of the project."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import fairopt as fo

ROOT = Path(__file__).parent.parent
SECTIONS = re.findall(
    r"^## (\S+)(?: - (\d{4}-\d{2}-\d{2}))?$",
    (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    flags=re.M,
)


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_changelog_has_unreleased_and_then_dated_versions_newest_first() -> None:
    assert SECTIONS[0] == ("Unreleased", "")
    versions = [tuple(map(int, version.split("."))) for version, _ in SECTIONS[1:]]
    assert versions and versions == sorted(set(versions), reverse=True)
    dates = [date for _, date in SECTIONS[1:]]
    assert all(dates) and dates == sorted(dates, reverse=True)


def test_the_version_is_that_of_the_newest_section() -> None:
    assert fo.__version__ == SECTIONS[1][0]


def test_the_citation_has_version_and_date() -> None:
    cited = yaml.safe_load(text("CITATION.cff"))
    assert (cited["version"], str(cited["date-released"])) == SECTIONS[1]


def test_the_recipe_has_version_and_requirements_of_pyproject() -> None:
    recipe = yaml.safe_load(text("conda/recipe.yaml"))
    assert recipe["context"]["version"] == fo.__version__
    project = tomllib.loads(text("pyproject.toml"))
    wanted = {f"python{project['project']['requires-python']}"}
    # conda's cvxpy without its solvers, which are named here
    wanted |= {d.replace("cvxpy", "cvxpy-base") for d in project["project"]["dependencies"]}
    assert {line.replace(" ", "") for line in recipe["requirements"]["run"]} == wanted
    built = set(project["build-system"]["requires"])
    assert built <= {line.replace(" ", "") for line in recipe["requirements"]["host"]}
    (script,) = project["project"]["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [f"{script[0]} = {script[1]}"]
    assert recipe["about"]["license"] == project["project"]["license"]


def test_the_recipe_has_the_sections_of_its_format_and_no_other() -> None:
    recipe = yaml.safe_load(text("conda/recipe.yaml"))
    assert recipe["schema_version"] == 1
    known = {"schema_version", "context", "package", "source", "build", "requirements", "tests"}
    assert set(recipe) == known | {"about"}
    assert set(recipe["package"]) == {"name", "version"}


@pytest.mark.parametrize(
    "name", sorted(p.name for p in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
)
def test_issue_forms_ask_for_what_their_format_knows(name: str) -> None:
    form = yaml.safe_load(text(f".github/ISSUE_TEMPLATE/{name}"))
    if name == "config.yml":
        assert form == {"blank_issues_enabled": True}
        return
    assert set(form) == {"name", "description", "labels", "body"}
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids)
    for field in form["body"]:
        assert field["type"] in ("textarea", "input", "dropdown")
        assert field["attributes"]["label"]
    assert any(field.get("validations", {}).get("required") for field in form["body"])


@pytest.mark.parametrize(
    "name", ("SECURITY.md", "CODE_OF_CONDUCT.md", "ROADMAP.md", "CONTRIBUTING.md", "LICENSE")
)
def test_files_of_the_project_name_files_that_are_there(name: str) -> None:
    for path in re.findall(r"`?((?:docs|tests|benchmarks|conda|\.ci)/[\w./-]+\w)`?", text(name)):
        there = ROOT / path
        made = path == "docs/reference/commands.md" or "/_build/" in path or path == ".ci/venv"
        assert made or there.exists() or re.search("NAME|ROOM|KEY", path), path


def test_the_paper_has_what_its_journal_asks_for() -> None:
    """The head of JOSS, its sections, 250 to 1,750 words, and a source for every citation."""
    paper = text("paper/paper.md")
    _, head, body = paper.split("---\n", 2)
    data = yaml.safe_load(head)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(data)
    known = {place["index"] for place in data["affiliations"]}
    assert all(author["affiliation"] in known for author in data["authors"])
    heads = re.findall(r"^# (.*)$", body, flags=re.M)
    assert heads[:2] == ["Summary", "Statement of need"] and "References" in heads
    assert 250 <= len(body.split()) <= 1750
    cited = set(re.findall(r"@([\w:]+)", body))
    listed = set(re.findall(r"^@\w+\{([\w:]+),", text(f"paper/{data['bibliography']}"), flags=re.M))
    assert cited == listed
