"""fairbench: the format, references by hand, proofs that notice spoiled answers, entrants, runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fairbench import entrants, pages, proof, reference, running, scoring, tables
from benchmarks.fairbench.__main__ import main
from benchmarks.fairbench.catalogue import catalogue, forty
from benchmarks.fairbench.entrants import cvxpy_clarabel, ours
from benchmarks.fairbench.kept import kept
from benchmarks.fairbench.problem import read
from benchmarks.fairbench.worker import toy

ROOT = Path(__file__).resolve().parents[2]

LINES = kept()
FOLDER = Path(entrants.__file__).parent
SMALL = ("papers/khamse2016-figure-2/alpha-2", "hard/limits-0/max-min", "trees/6-0/alpha-1")


# -- the format and the set -----------------------------------------------------------------------


def test_there_are_200_instances_of_every_family_and_the_forty_are_among_them() -> None:
    names = list(catalogue())
    assert len(LINES) >= 200 and set(LINES) <= set(names)
    assert {name.split("/")[0] for name in names} == {name.split("/")[0] for name in LINES}
    chosen = forty(list(LINES))
    assert len(chosen) == len(set(chosen)) == 40 and set(chosen) <= set(LINES)
    assert 10 <= sum(name.endswith("max-min") for name in chosen) <= 16


def test_every_instance_is_the_one_of_its_reference_and_names_source_and_licence() -> None:
    for name, line in LINES.items():
        problem = catalogue()[name]()
        assert problem.name == name and problem.digest() == line["digest"], name
        assert problem.source and problem.licence and problem.title
        assert len(line["share"]) == problem.users
        assert line["within"] <= reference.ENOUGH


@pytest.mark.parametrize("name", SMALL)
def test_text_gives_the_same_problem_back(name: str) -> None:
    given = catalogue()[name]()
    again = read(given.text())
    assert again.plain() == given.plain() and again.digest() == given.digest()
    with pytest.raises(ValueError, match="wanted 'fairbench/v1'"):
        read(json.dumps(given.plain() | {"schema": "other"}))


def test_a_changed_number_changes_the_digest_and_a_word_does_not() -> None:
    given = toy(1.0)
    assert replace(given, title="other").digest() == given.digest()
    assert replace(given, pool=given.pool * (1 + 1e-15)).digest() == given.digest()
    assert replace(given, pool=given.pool * (1 + 1e-8)).digest() != given.digest()


# -- references -----------------------------------------------------------------------------------


def test_proportional_fairness_of_the_toy_is_that_of_the_paper() -> None:
    """9 CPU and 18 GB, tasks (1, 4) and (3, 1): 45/11 and 18/11, both rows full."""
    found = reference.reference(toy(1.0))
    assert found["proof"] == "digits"
    assert found["share"] == pytest.approx([45 / 11, 18 / 11], rel=1e-14)


def test_max_min_of_the_toy_by_hand() -> None:
    """Equal tasks x: 4 x <= 9 and 5 x <= 18, so x = 9/4, and both users take the full CPU."""
    assert [float(s) for s in reference.levels(toy(np.inf))] == [9 / 4, 9 / 4]


@pytest.mark.parametrize("name", SMALL)
def test_references_are_made_again(name: str) -> None:
    found = reference.reference(catalogue()[name]())
    off, _ = reference.distance(found["share"], np.array(LINES[name]["share"]))
    assert off <= 1e-12


@pytest.mark.parametrize(
    "name", ("drawn/10x4x3-1/alpha-1", "drawn/10x4x3-0.3/alpha-5", "hard/limits-0/alpha-2")
)
def test_duality_proves_the_answer_and_how_far_a_spoiled_one_is(name: str) -> None:
    """Against an exact reference: what is proved is never less than the true distance."""
    problem, wanted = catalogue()[name](), np.array(LINES[name]["share"])
    assert LINES[name]["proof"] == "digits"
    tasks, prices = ours.solve(problem)
    assert proof.alpha_bound(problem, problem.fitted(tasks), prices) < 1e-5
    for by in (0.5, 0.9, 0.999):
        spoiled = tasks * np.where(problem.user == 0, by, 1.0)
        true = np.abs(np.log(problem.shares(spoiled) / wanted)).max()
        assert proof.alpha_bound(problem, spoiled, prices) >= true * (1 - 1e-9)
        other = prices * np.linspace(0.5, 2, len(prices))
        assert proof.alpha_bound(problem, spoiled, other) >= true * (1 - 1e-9)


def test_without_prices_nothing_is_proved() -> None:
    problem = catalogue()["drawn/10x4x3-1/alpha-1"]()
    assert proof.alpha_bound(problem, problem.alone / 99, np.zeros(len(problem.rows[1]))) == np.inf


def test_linear_programs_prove_levels_and_notice_a_spoiled_one() -> None:
    name = "hard/limits-0/max-min"
    problem, wanted = catalogue()[name](), np.array(LINES[name]["share"])
    assert proof.levels_bound(problem, wanted) < 1e-9
    spoiled = wanted.copy()
    spoiled[0] *= 0.99
    assert proof.levels_bound(problem, spoiled) >= 0.01


# -- scores ---------------------------------------------------------------------------------------


def scored(problem, tasks, line, **more):
    reply = {"seconds": 1.0, "memory": 0.0, "tasks": list(tasks), **more}
    return scoring.score(problem, reply, line)


def test_outcomes() -> None:
    problem = toy(1.0)
    line = {"share": [45 / 11, 18 / 11], "within": 1e-15}
    exact = np.array(line["share"])
    assert scored(problem, exact, line)["outcome"] == "exact"
    assert scored(problem, exact * (1 - 1e-5), line)["outcome"] == "solved"
    low = scored(problem, exact * [1, 0.9], line)
    assert low["outcome"] == "far" and low["user"] == 1 and low["words"].startswith("user 2")
    assert low["gap"] == pytest.approx(1 - 0.9**0.5)
    assert scored(problem, exact * 1.001, line)["outcome"] == "overrun"
    assert scored(problem, exact[:1], line)["outcome"] == "failed"
    assert scored(problem, [np.nan, 1], line)["outcome"] == "failed"
    assert scored(problem, [-1.0, 1.0], line)["outcome"] == "overrun"
    assert scoring.score(problem, {"late": "x"}, line)["outcome"] == "late"


@pytest.mark.parametrize("alpha", (0.5, 1.0, 2.0, 5.0))
def test_the_gap_of_all_shares_a_tenth_too_low_is_a_tenth(alpha: float) -> None:
    wanted = np.array([4.0, 2.0])
    assert scoring.gap(toy(alpha), wanted * 0.9, wanted) == pytest.approx(0.1)


# -- entrants and runs ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", entrants.SHIPPED)
def test_an_entrant_is_one_file_of_forty_lines(name: str) -> None:
    lines = (FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40 and lines[0].startswith('"""')


def test_every_file_is_shipped() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} - {"__init__"} == set(entrants.SHIPPED)


@pytest.mark.parametrize("name", SMALL)
def test_two_methods_meet_the_references(name: str) -> None:
    problem, line = catalogue()[name](), LINES[name]
    for entrant, most in ((ours, 1e-9), (cvxpy_clarabel, 1e-3)):
        found = entrant.solve(problem)
        tasks = found[0] if isinstance(found, tuple) else found
        off, _ = reference.distance(problem.shares(tasks), np.array(line["share"]))
        assert off <= most and problem.overrun(tasks) <= scoring.FITS


@pytest.mark.parametrize(
    ("name", "alpha", "outcome"),
    (
        ("greedy", 1.0, "far"),
        ("equal_parts", np.inf, "far"),
        ("pop", 1.0, "far"),
        ("proximal", 2.0, "exact"),
        ("price_updates", 1.0, "solved"),
        ("slsqp", 1.0, "exact"),
        ("highs_levels", np.inf, "exact"),
        ("highs_tangents", 1.0, "far"),
        ("cvxpy_plain", 1.0, "solved"),
        ("highs_levels", 1.0, "cannot"),
        ("resalloc_adapter", 1.0, "absent"),
    ),
)
def test_entrants_on_a_problem_in_a_process(name: str, alpha: float, outcome: str) -> None:
    problem = replace(toy(alpha), weight=np.array([1.0, 2.0]))
    exact = {**reference.reference(problem)}
    reply = running.run(problem, f"benchmarks.fairbench.entrants.{name}", 20)
    record = scoring.score(problem, reply, exact)
    better = {"solved": ("solved", "exact")}.get(outcome, (outcome,))
    assert record["outcome"] in better, record


def entrant(folder: Path, name: str, body: str) -> str:
    (folder / f"{name}.py").write_text(f"import time\ndef solve(problem):\n    {body}\n")
    return name


def test_what_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    problem = replace(toy(1.0), pool=np.array([[9.0, 17.0]]))
    only = "if problem.pool[0, 1] == 17: "
    asked = {
        "slow": (only + "time.sleep(60)\n    return problem.alone / 3", "late"),
        "broken": (only + "raise ValueError('no')\n    return problem.alone", "failed"),
        "gone": (only + "__import__('os')._exit(3)\n    return problem.alone", "failed"),
        "empty": ("return None", "failed"),
    }
    for name, (body, word) in asked.items():
        reply = running.run(problem, entrant(tmp_path, name, body), 1.0)
        assert word in reply, (name, reply)


def test_a_campaign_goes_on_where_it_was_and_writes_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text("def solve(problem):\n    return problem.alone / 99\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    journal = tmp_path / "runs.jsonl"
    words = ["--entrants", "ours,mine,resalloc_adapter", "--instances", *SMALL[:2]]
    words += ["--journal", str(journal)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "| fairopt | 2 | 2 |" in out and "| mine | 2 | 0 | 0 | 2 |" in out
    lines = journal.read_text().splitlines()
    assert len(lines) == 6
    assert main([*words, "--write", str(tmp_path)]) == 0
    # only who was absent is asked again
    more = journal.read_text().splitlines()
    assert more[:6] == lines and all('"absent"' in line for line in more[6:]) and len(more) == 8
    page = (tmp_path / "fairbench.md").read_text()
    assert "Measured on" in page and "not scored: resalloc" in page
    assert (tmp_path / "fairbench.svg").read_text().lstrip().startswith("<?xml")


def test_the_mean_counts_what_is_not_solved_as_the_limit() -> None:
    records = [{"outcome": "exact", "seconds": 0.0}, {"outcome": "far", "seconds": 0.0}]
    assert tables.mean(records, 10.0) == pytest.approx((0.1 * 10.1) ** 0.5 - 0.1)


def test_unknown_names_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["--entrants", "nobody"], "found nobody; wanted ours"),
        (["--instances", "none"], "found none; wanted names of --list"),
    ):
        with pytest.raises(SystemExit):
            main(words)
        assert said in capsys.readouterr().err


def test_instances_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: LINES[name] for name in SMALL}
    monkeypatch.setattr("benchmarks.fairbench.__main__.kept", lambda: few)
    assert main(["--export", str(tmp_path)]) == 0
    for name in SMALL:
        assert read((tmp_path / f"{name}.json").read_text()).digest() == LINES[name]["digest"]


# -- what is written about it ---------------------------------------------------------------------


def test_the_example_of_the_readme_is_an_entrant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copied as it stands into a file of its own, by the commands of the README alone."""
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    body = re.findall(r"^```python\n(.*?)^```$", readme, flags=re.M | re.S)[-1]
    assert len(body.splitlines()) <= 40
    (tmp_path / "my_entrant.py").write_text(body, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ["--entrants", "my_entrant", "--instances", "papers/ghodsi2011-example/alpha-1"]
    assert main([*words, "papers/ghodsi2011-example/max-min"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "my_entrant" in line)
    cells = [cell.strip() for cell in row.split("|")[2:10]]
    assert cells[0] == "2" and int(cells[1]) + int(cells[2]) == 1 and cells[7] == "1"


def test_numbers_that_are_written_elsewhere_are_those_of_the_page() -> None:
    page = (ROOT / "docs/results/fairbench.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (fairopt|cvxpy, Clarabel) \| 40 \| (\d+ \| \d+) \|", page, re.M))
    exact, solved = map(int, rows["cvxpy, Clarabel"].split(" | "))
    assert rows["fairopt"].startswith("40 ")
    paper = " ".join((ROOT / "paper/paper.md").read_text(encoding="utf-8").split())
    assert f"on {exact} (and within a thousandth on {exact + solved})" in paper
    for name in ("benchmarks/fairbench/README.md", "docs/index.md", "paper/paper.md"):
        assert f"{len(LINES)} instances" in (ROOT / name).read_text(encoding="utf-8")
    asked = page[page.index("| entrant |") : page.index("Where the candidate")]
    assert asked.count("\n| ") == len(entrants.SHIPPED) == 18
    for name in ("benchmarks/fairbench/README.md", "docs/index.md"):
        assert "eighteen entrants" in (ROOT / name).read_text(encoding="utf-8")


def test_the_page_is_made_from_the_runs_that_are_kept() -> None:
    """All of it: nothing on it is written by hand, and nothing is older than its runs."""
    journal = running.Journal(FOLDER.parent / "runs.jsonl").records
    records = [
        journal[entrant, name] for name in forty(list(LINES)) for entrant in entrants.SHIPPED
    ]
    assert all(r["digest"] == LINES[r["name"]]["digest"] for r in journal.values())
    limit = {r["limit"] for r in journal.values()}
    made = pages.text(records, LINES, limit.pop(), list(journal.values()))
    page = (ROOT / "docs/results/fairbench.md").read_text(encoding="utf-8")
    assert page == "\n".join(made) + "\n" and not limit


def test_who_was_absent_is_asked_again(tmp_path: Path) -> None:
    problem = toy(1.0)
    journal = running.Journal(tmp_path / "new" / "runs.jsonl")
    line = {"digest": problem.digest()}
    head = {"entrant": "a", "name": problem.name, **line}
    journal.add(head | {"outcome": "absent", "words": ""})
    assert not journal.has("a", problem, line)
    journal.add(head | {"outcome": "far", "words": "", "uses": {"numpy": "2"}, "seconds": 1 / 3})
    journal.add(head | {"outcome": "far", "words": "", "uses": {"numpy": "2"}})
    again = running.Journal(tmp_path / "new" / "runs.jsonl")
    assert again.has("a", problem, line) and not again.has("b", problem, line)
    assert not again.has("a", problem, {"digest": "another"})
    # libraries are written once, numbers to four digits
    text = (tmp_path / "new" / "runs.jsonl").read_text()
    assert text.count("numpy") == 1 and "0.3333}" in text
