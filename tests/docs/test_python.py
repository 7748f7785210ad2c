"""The programs of the pages run: every `python` block without prompts, a page from top to bottom.

Blocks with prompts are doctests, and those of the front page are the README's.
"""

from __future__ import annotations

import re
from contextlib import chdir
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BESIDE = {
    "index.md",  # test_docs.py: the same as in the README, which test_readme.py runs
    "how-to/more-than-memory.md",  # about files of the reader's
}


def programs(page: Path) -> list[str]:
    """The blocks of a page that are programs, in order."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)
    return [block for block in blocks if ">>> " not in block]


def pages() -> list[str]:
    found = (page for page in sorted(DOCS.rglob("*.md")) if programs(page))
    return [page.relative_to(DOCS).as_posix() for page in found]


@pytest.mark.parametrize("name", [name for name in pages() if name not in BESIDE])
def test_the_programs_of_a_page_run(name, tmp_path):
    known: dict[str, object] = {}
    with chdir(tmp_path):
        for block in programs(DOCS / name):
            exec(compile(block, name, "exec"), known)  # noqa: S102


def test_few_moves_is_among_them():
    assert "how-to/few-moves.md" in pages()
    assert set(pages()) >= BESIDE
