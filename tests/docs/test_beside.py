"""The table of results beside the papers: it counts itself, and names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import fairopt as fo
from fairopt.propositions import PROPOSITIONS

PAGE = Path(__file__).parents[2] / "docs" / "results" / "beside-the-papers.md"
PAPERS = ("kesidis2018", "khamse2016", "kesidis2016", "bonald2015")


def rows() -> list[tuple[str, list[str]]]:
    """(heading, cells) of every numbered row."""
    found, heading = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif re.match(r"\| \d+ \|", line):
            found.append((heading, [cell.strip() for cell in line.strip().strip("|").split("|")]))
    return found


def test_rows_are_numbered_and_counted():
    table = rows()
    assert [int(cells[0]) for _, cells in table] == list(range(1, len(table) + 1))
    assert f"\n{len(table)} rows: " in PAGE.read_text(encoding="utf-8")
    assert {heading for heading, _ in table} > set(PAPERS)


def test_every_row_says_what_came_out_and_how_it_was_checked():
    for _, cells in rows():
        number, place, *_, out, by = cells
        assert len(cells) == 6 and place and out and by, number
        lost = "text at hand" in out or "lost" in out
        assert by != "-" or lost, number


def test_statements_and_models_that_it_names_exist():
    """A name with a work before it, or after "statement"; one that ends in * stands for several."""
    there = {entry.name for entry in fo.models()} | set(PROPOSITIONS)
    works = {name.partition("/")[0] for name in there}
    known = 0
    for heading, cells in rows():
        named = [f"{heading}/{name}" for name in re.findall(r"statements? `([^`]+)`", cells[3])]
        named += [n for n in re.findall(r"`([^`]+)`", cells[3]) if n.partition("/")[0] in works]
        for name in named:
            stem = name.removesuffix("*")
            assert name in there or (stem != name and any(n.startswith(stem) for n in there)), name
            known += 1
        bare = [f"{heading}/{n.removesuffix('*')}" for n in re.findall(r"`([^`]+)`", cells[3])]
        known += sum(any(n.startswith(stem) for n in there) for stem in bare)
    assert known > 100
