"""The pages: the API reference is complete, the gallery asserts, broken links are found."""

from __future__ import annotations

import ast
import fnmatch
import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import fairopt as fo
from fairopt.notions import NOTIONS
from fairopt.whole import asking

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference" / "api.md"
GALLERY = sorted((ROOT / "examples" / "gallery").rglob("plot_*.py"))
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("notebook_*.py"))


def module(name: str):
    """A module of docs/_ext, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def listed() -> list[str]:
    """The names in the autosummary tables of the reference."""
    text = REFERENCE.read_text(encoding="utf-8")
    tables = re.findall(r"^```\{eval-rst\}\n(.*?)^```$", text, flags=re.M | re.S)
    return re.findall(r"^   ([A-Za-z_][\w.]*)$", "\n".join(tables), flags=re.M)


def test_reference_lists_every_public_name():
    names = listed()
    assert len(names) == len(set(names))
    wanted = set(fo.__all__) - {"__version__"}
    assert not wanted - set(names), "add them to docs/reference/api.md"
    for inner in ("dynamics", "propositions", "properties"):
        public = set(importlib.import_module(f"fairopt.{inner}").__all__)
        tables = {name for name in public if name.isupper()}
        missing = {f"{inner}.{name}" for name in public - tables} - set(names)
        assert not missing, "add them to docs/reference/api.md"


@pytest.mark.parametrize("name", listed())
def test_every_listed_name_exists_and_says_what_it_is(name):
    place = fo
    parts = name.split(".")
    if len(parts) > 1:
        place = importlib.import_module(".".join(["fairopt", *parts[:-1]]))
    assert getattr(place, parts[-1]).__doc__, name


def test_every_public_name_has_an_example():
    """Those of fairopt and those of the reference; run with the doctests of their modules."""

    def said(name):
        parts = name.split(".")
        place = importlib.import_module(".".join(["fairopt", *parts[:-1]]))
        found = getattr(place, parts[-1])
        # `whole` is a room that can be called
        return (asking.whole if isinstance(found, ModuleType) else found).__doc__ or ""

    names = {*listed(), *fo.__all__} - {"__version__"}
    assert not [name for name in sorted(names) if ">>> " not in said(name)]


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_gallery_scripts_have_a_title_a_picture_and_an_assertion(script):
    """They are run when the pages are built, which stops at an assertion that fails."""
    tree = ast.parse(script.read_text(encoding="utf-8"))
    title, line, *_ = ast.get_docstring(tree).splitlines()
    assert set(line) == {"="} and len(line) == len(title)
    assert any(isinstance(n, ast.Assert) for last in tree.body[-4:] for n in ast.walk(last))
    assert "plt.subplots" in script.read_text(encoding="utf-8")


def test_the_gallery_has_forty_pictures_by_subject():
    settings = (DOCS / "conf.py").read_text(encoding="utf-8")
    listed = re.findall(r"^SUBJECTS \+?= \[(.*)\]$", settings, flags=re.M)
    subjects = set(re.findall(r'"(\w+)"', " ".join(listed)))
    assert len(GALLERY) >= 40 and {script.parent.name for script in GALLERY} == subjects
    assert all((GALLERY[0].parents[1] / subject / "README.txt").exists() for subject in subjects)
    titles = [ast.get_docstring(ast.parse(script.read_text())).split("\n")[0] for script in GALLERY]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_pairs_of_jupytext_that_tell_a_question(script):
    """They are run when the pages are built; their words are Markdown and what Sphinx reads."""
    text = script.read_text(encoding="utf-8")
    head = (
        "# ---\n# jupyter:\n#   jupytext:\n#     formats: ipynb,py:percent\n# ---\n# %% [markdown]"
    )
    assert text.startswith(head)
    title, line, *_ = ast.get_docstring(ast.parse(text)).splitlines()
    assert title.endswith("?") and set(line) == {"="} and len(line) == len(title)
    cells = re.split(r"^# %%", text, flags=re.M)[2:]
    told = [cell for cell in cells if cell.startswith(" [markdown]")]
    code = [cell for cell in cells if cell not in told]
    assert len(told) >= 4 and len(code) >= 5 and "assert " in code[-1]
    # in a cell of code a comment right below its mark would be read as words
    assert not any(cell.lstrip("\n").startswith("#") for cell in code)
    words = "".join(told)
    assert not re.search(r"(?<!`)`(?!`)|\]\(|:\w+:`|\.\. ", words)


def test_there_are_six_notebooks():
    assert len(NOTEBOOKS) >= 6


@pytest.mark.parametrize("paper", ["kesidis2016", "kesidis2018", "khamse2016", "bonald2015"])
def test_tables_of_papers_are_those_of_the_models(paper):
    """Words exactly, numbers to a part in ten thousand: the last digits are not promised."""
    page = (DOCS / "papers" / f"{paper}.md").read_text(encoding="utf-8")
    made = module("papers").filled(page, paper)
    number = r"-?\d+\.\d+(?:e-?\d+)?"
    stale = "run: python docs/_ext/papers.py"
    assert re.sub(number, "#", page) == re.sub(number, "#", made), stale
    pairs = zip(re.findall(number, page), re.findall(number, made), strict=True)
    assert all(float(a) == pytest.approx(float(b), rel=1e-4) for a, b in pairs), stale


@pytest.mark.parametrize("name", NOTIONS)
def test_every_notion_has_its_page_and_stands_beside_the_others(name):
    assert (DOCS / "notions" / f"{name}.md").exists()
    places = {
        "index.md": f"\nnotions/{name}\n",
        "notions/index.md": f"({name}.md)",
        "choose/notion.md": f"(../notions/{name}.md)",
    }
    for page, link in places.items():
        assert link in (DOCS / page).read_text(encoding="utf-8"), page


def test_front_page_shows_the_commands_and_the_program_of_the_readme():
    front = (DOCS / "index.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    def blocks(page, language):
        return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.M | re.S)

    for language in ("python", "text"):
        assert blocks(front, language)[0] == blocks(readme, language)[0]
    # the same commands a line each, so that none is cut by the width of the page
    first = blocks(readme, "sh")[0].splitlines()[0]
    assert first in [" && ".join(block.splitlines()) for block in blocks(front, "sh")]
    assert all(len(line) <= 88 for block in blocks(front, "sh") for line in block.splitlines())


def test_the_readme_has_no_links_that_break_on_a_package_index():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(link.startswith("https://") for link in re.findall(r"\]\(([^)]+)\)", text))


def test_the_citation_has_the_version():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (\S+)$", cited, flags=re.M)[1] == fo.__version__


def test_numbers_of_the_front_page_are_found():
    facts = module("facts")
    assert set(facts.FACTS) < set(facts.facts())
    assert facts.mechanisms().count("](../results/mechanisms.md#") > 20


def test_links_of_built_pages(tmp_path):
    faults = module("links").faults
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "a.js").write_text("")
    (tmp_path / "two.html").write_text('<h1 id="here">two</h1>')
    good = '<a href="two.html#here">x</a><script src="_static/a.js"></script>'
    (tmp_path / "one.html").write_text(good + '<a href="https://example.org">out</a>')
    assert faults(tmp_path) == []
    bad = '<a href="two.html#there">x</a><a href="three.html">y</a>'
    (tmp_path / "one.html").write_text(bad + '<script src="https://example.org/a.js"></script>')
    assert len(faults(tmp_path)) == 3


def test_docstrings_are_turned_into_those_of_numpydoc():
    moved = module("docstrings").moved
    given = ["Text.", "", "Parameters", "----------", "tasks : (N, I), tasks.", "", "More of it."]
    assert moved(given) == [
        "Text.",
        "",
        "Parameters",
        "----------",
        "tasks",
        "    (N, I), tasks.",
        "",
        "Notes",
        "-----",
        "More of it.",
    ]
    assert moved(["a : b"]) == ["a : b"]


def test_the_files_and_folders_that_contributing_names_are_there():
    """A path is one from the root, from the package, or the end of one; `*` is anything."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w.*/-]+(?:\.(?:py|md|toml|yaml|cff|txt)|/))`", text)
    # names that stand for others
    named = {name for name in named if not re.search(r"ROOM|KEY|NAME|SUBJECT", name)}
    files = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("*.*") if path.is_file()]
    for room in ("fairopt", "tests", "docs", "benchmarks", "examples", "models", "conda"):
        files += [path.relative_to(ROOT).as_posix() for path in (ROOT / room).rglob("*.*")]
    there = {f"/{path}" for path in files}
    there |= {f"/{folder}/" for path in files for folder in list(Path(path).parents)[:-1]}
    assert len(named) > 60
    assert not {name for name in named if not fnmatch.filter(there, f"*/{name}")}
