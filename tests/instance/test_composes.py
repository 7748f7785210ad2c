"""What goes with what is measured: run as a script, this file writes the table of the page."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from fairopt.notions import NOTIONS
from tests.composes import ANSWERS, FEATURES, INSTANCES, told
from tests.spoils import ONE_SERVER

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "what-goes-with-what.md"
MARKS = (
    "<!-- made by `python -m tests.instance.test_composes` -->",
    "<!-- end of what is made -->",
)
REASONS = {
    "a": r"several priority classes|^prices: this answer has none",
    "b": r"^tradeoff: found",
    "c": r"^(per-server-drf|drf-hug): found",
    "d": r"^ps-dsf: found",
    "e": r"^(equal-m|sum-m): found",
    "f": r"^start: not used",
    "g": r"^near: found modes|^start: found rules",
    "i": r"^merging: every user",
    "j": r"^kkt: found|^kkt: .* no prices",
    "k": r"^a horizon: found",
    "l": r"^whole tasks: found",
    "m": r"^filling: found",
    "n": r"^the most whole tasks: found",
}
"""letter of the page -> how the refusal begins; what each means is said there"""
ROWS = [(room, name) for room, features in FEATURES.items() for name in features]


def letter(words: str) -> str:
    """ "yes" where nothing was said, else the letter of the one reason that it is."""
    if not words:
        return "yes"
    (found,) = [key for key, pattern in REASONS.items() if re.search(pattern, words)]
    return found


def row(room: str, name: str) -> str:
    """A row of the page."""
    cells = [letter(told(FEATURES[room][name], column)) for column in INSTANCES]
    return f"| {name} | {' | '.join(cells)} |"


def tables() -> str:
    """The tables, room by room."""
    head = [
        f"| | {' | '.join(INSTANCES)} |",
        f"|---|{'---|' * len(INSTANCES)}",
    ]
    found = []
    for room, features in FEATURES.items():
        found += [f"## {room}", "", *head, *(row(room, name) for name in features), ""]
    return "\n".join(found)


@pytest.mark.parametrize(("room", "name"), ROWS, ids=[name for _, name in ROWS])
def test_the_page_says_what_is_measured(room: str, name: str) -> None:
    """Each feature works beside each kind of instance, or says why not, as the page does."""
    assert row(room, name) in PAGE.read_text(encoding="utf-8").splitlines()


def test_every_notion_has_a_row() -> None:
    assert {notion.name for notion in ANSWERS.values()} == set(NOTIONS) - set(ONE_SERVER)


def test_every_reason_is_told_and_needed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    made, rest = text.split(MARKS[1])[0], text.split(MARKS[1])[1]
    used = set(re.findall(r"\| ([a-z]) (?=\|)", made))
    assert used <= set(REASONS)
    assert {key for key in REASONS if f"**{key}**" in rest} == used
    assert sum(line.startswith("| ") for line in made.splitlines()) == len(ROWS) + len(FEATURES)


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{tables()}\n{MARKS[1]}{after}", encoding="utf-8")
    sys.exit(0)
