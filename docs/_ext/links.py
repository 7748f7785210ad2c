"""Check built pages: every link and anchor inside them leads somewhere, nothing needs a network.

    python docs/_ext/links.py docs/_build/html

Exit code 1 with one line a fault.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""what a browser loads by itself; a link to click may lead to another site, these may not"""


class Page(HTMLParser):
    """The anchors of a page, the links to click, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in LOADED and LOADED[tag] in given and given.get("rel") != "canonical":
            self.loads.append(given[LOADED[tag]])


def faults(folder: Path) -> list[str]:
    """One line for each link that leads nowhere and each thing that only a network has."""
    folder = folder.resolve()
    files = set(folder.rglob("*")) | {folder}
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(files)
        if path.suffix == ".html" and "_static" not in path.parts
    }
    found = []
    for path, page in pages.items():
        where = path.relative_to(folder)
        for target in page.loads:
            if urlsplit(target).netloc:
                found.append(f"{where}: loads {target} from a network")
        for target in dict.fromkeys(page.links + page.loads):
            link = urlsplit(target)
            if link.scheme or link.netloc:
                continue
            file = Path(normpath(path.parent / unquote(link.path))) if link.path else path
            if file not in files:
                found.append(f"{where}: {target} does not exist")
                continue
            other = pages.get(file)
            if link.fragment and other and unquote(link.fragment) not in other.anchors:
                found.append(f"{where}: {target} has no such anchor")
    return found


if __name__ == "__main__":
    wrong = faults(Path(sys.argv[1]))
    print("\n".join(wrong) or "all links inside the pages lead somewhere; nothing needs a network")
    sys.exit(1 if wrong else 0)
