"""Pages of measurements are written one by one below docs/results and read folded into a few pages.

A page below docs/measured lists its parts as links to docs/results. When the pages are built, the
parts stand below that list in its order, their headings one level deeper, and every link to a part,
from wherever it comes, leads to its place. A part that no page lists stands on the last page.
"""

from __future__ import annotations

import re
from os.path import relpath
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from markdown_it import MarkdownIt
from myst_parser.mdit_to_docutils.base import github_slugify, unique_slug

DOCS = Path(__file__).parents[1]
PAGES = ("time", "trust", "peers", "schedulers", "many", "rules", "papers", "project")
"""files of docs/measured, in the order of the table of contents; the last takes what is left"""
LINK = re.compile(r"\]\(([^()\s#]*)(?:#([^()\s]*))?\)")
FIGURE = re.compile(r"^(```\{(?:figure|image)\} )([\w.-]+)$", flags=re.M)
PART = re.compile(r"\]\(\.\./results/([\w-]+)\.md\)")


def parts() -> dict[str, list[str]]:
    """page -> the names of its parts, each part on one page."""
    found = {
        page: PART.findall((DOCS / "measured" / f"{page}.md").read_text(encoding="utf-8"))
        for page in PAGES
    }
    listed = {part for row in found.values() for part in row}
    there = {path.stem for path in (DOCS / "results").glob("*.md")}
    found[PAGES[-1]] += sorted(there - listed)
    return found


def _headings(text: str) -> list[tuple[int, str]]:
    """The line and words of each heading, code left out."""
    tokens = MarkdownIt("commonmark").parse(text)
    return [
        (
            token.map[0],
            "".join(c.content for c in inline.children if c.type in ("text", "code_inline")),
        )
        for token, inline in zip(tokens, tokens[1:], strict=False)
        if token.type == "heading_open"
    ]


class Folded:
    """Where each heading of each part stands."""

    def __init__(self) -> None:
        self.parts = parts()
        self.page_of = {part: page for page, row in self.parts.items() for part in row}
        self.text = {
            part: (DOCS / "results" / f"{part}.md").read_text(encoding="utf-8")
            for part in self.page_of
        }
        self.anchor: dict[tuple[str, str], str] = {}
        for page, row in self.parts.items():
            own = (DOCS / "measured" / f"{page}.md").read_text(encoding="utf-8")
            taken: set[str] = set()
            for _, words in _headings(own):
                taken.add(unique_slug(github_slugify(words), taken))
            for part in row:
                inside: set[str] = set()
                for _, words in _headings(self.text[part]):
                    slug = github_slugify(words)
                    before, now = unique_slug(slug, inside), unique_slug(slug, taken)
                    inside.add(before)
                    taken.add(now)
                    if not any(name == part for name, _ in self.anchor):
                        self.anchor[part, ""] = now
                    self.anchor[part, before] = now

    def relinked(self, text: str, name: str) -> str:
        """The text of the page `name` (such as "how-to/solve") with its links to parts mended."""
        here = dirname(name)

        def mend(match: re.Match[str]) -> str:
            path, fragment = match[1], match[2] or ""
            if not path or "://" in path:
                return match[0]
            folder, _, file = normpath(join(here, path)).rpartition("/")
            part = file.removesuffix(".md")
            if folder != "results" or (part, "") not in self.anchor or not file.endswith(".md"):
                return match[0]
            place = self.anchor.get((part, fragment))
            if place is None:
                raise LookupError(f"docs/{name}.md: docs/results/{file} has no heading #{fragment}")
            page = f"measured/{self.page_of[part]}"
            return f"](#{place})" if page == name else f"]({relpath(page, here or '.')}.md#{place})"

        return LINK.sub(mend, text)

    def part(self, part: str, page: str) -> str:
        """A part as it stands on its page."""
        lines = self.text[part].splitlines()
        for line, _ in _headings(self.text[part]):
            lines[line] = "#" + lines[line]

        def mend(match: re.Match[str]) -> str:
            path, fragment = match[1], match[2]
            if "://" in path:
                return match[0]
            if not path:
                return f"](#{self.anchor[part, fragment]})"
            end = f"#{fragment}" if fragment else ""
            path = relpath(normpath(join("results", path)), "measured")
            return f"]({path.replace('../results/index.md', 'index.md')}{end})"

        text = LINK.sub(mend, "\n".join(lines))
        text = FIGURE.sub(r"\1../results/\2", text)
        return self.relinked(text, f"measured/{page}")

    def page(self, text: str, page: str) -> str:
        """A page of docs/measured with its parts."""
        whole = [self.relinked(text, f"measured/{page}")]
        return "\n\n".join(whole + [self.part(part, page) for part in self.parts[page]]) + "\n"


def setup(app: Any) -> dict[str, bool]:
    folded = Folded()

    def read(app: Any, name: str, source: list[str]) -> None:
        if Path(app.env.doc2path(name)).suffix != ".md":
            return
        folder, _, page = name.rpartition("/")
        if folder == "measured" and page in folded.parts:
            source[0] = folded.page(source[0], page)
            for part in folded.parts[page]:
                app.env.note_dependency(DOCS / "results" / f"{part}.md")
        else:
            source[0] = folded.relinked(source[0], name)

    app.connect("source-read", read)
    return {"parallel_read_safe": True}
