"""The letters of a page on a notion, explained on it: rows of docs/maths/notation.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
MARK = "[Letters](../maths/notation.md)."
"""where a page asks for them: at the end of its first paragraph"""
INDEXED = re.compile(r"(\\(?!max|min|sum|log)[a-z]+|(?<![A-Za-z\\])[A-Za-z])_")
"""a letter with an index; without one a page may mean something else by it, such as a level k"""


def formulas(text: str) -> str:
    """All mathematics of a page."""
    return " ".join(a or b for a, b in re.findall(r"\$\$(.+?)\$\$|\$(.+?)\$", text, flags=re.S))


def _letters(mathematics: str) -> set[str]:
    found = set(INDEXED.findall(mathematics))
    return found | {"x"} if re.search(r"(?<![A-Za-z\\])x(?![A-Za-z])", mathematics) else found


def rows() -> list[tuple[set[str], str]]:
    """The letters that a row of the notation defines, and its first two cells."""
    text = (DOCS / "maths" / "notation.md").read_text(encoding="utf-8").split("**What")[0]
    return [
        (_letters(formulas(re.sub(r"=.*?\$", "$", letter))), f"| {letter} | {word} |")
        for letter, word in re.findall(r"^\| (\$.*?) \| (.*?) \|", text, flags=re.M)
    ]


def explained(text: str) -> str:
    """The page with a table of the letters that stand on it below its first paragraph."""
    if MARK not in text:
        return text
    head, rest = text.split(MARK, 1)
    end = rest.index("\n\n")
    there = _letters(formulas(head + rest))
    # the row of indices defines no letter with an index, and belongs to every page
    kept = [row for letters, row in rows() if letters & there or not letters]
    table = "\n".join(["| letter here | is |", "|---|---|", *kept])
    return f"{head}{MARK}{rest[:end]}\n\n{table}{rest[end:]}"


def setup(app: Any) -> dict[str, bool]:
    def read(app: Any, name: str, source: list[str]) -> None:
        if name.startswith("notions/"):
            source[0] = explained(source[0])

    app.connect("source-read", read)
    return {"parallel_read_safe": True}
