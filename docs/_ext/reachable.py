"""Pages that are read without a mouse or a screen: what Sphinx, gallery and theme leave out.

Code and tables that are wider than the page scroll, so a keyboard must reach them; the pictures of
the gallery are links, whose words are hidden; captions of the sidebar are headings; the
empty corner of a table is no heading; two sidebars are told apart by their names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

WORDS = re.compile(
    r'(<a class="reference internal") (href="[^"]*"><span class="doc">([^<]*)</span>)'
)

CORNER = re.compile(r'<th(?: class="head[^"]*")?>(?:<p></p>)?</th>')
SIDEBARS = {"sidebar-drawer": "All pages", "toc-drawer": "On this page"}
"""names of the theme's sidebars, by class"""


def reachable(body: str) -> str:
    """The text of a page with what a keyboard reaches, and links with words."""
    body = body.replace("<pre>", '<pre tabindex="0">')
    body = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
    body = CORNER.sub("<td></td>", body)
    if "sphx-glr-thumbcontainer" in body:
        body = WORDS.sub(r'\1 aria-label="\3" \2', body)
    return body


def levelled(sidebar: str) -> str:
    """The sidebar with the level of its headings."""
    return sidebar.replace('role="heading"', 'role="heading" aria-level="2"')


def named(page: str) -> str:
    """A whole page with the names of its sidebars."""
    for kind, name in SIDEBARS.items():
        # the class may have more words behind it
        page = re.sub(rf'<aside (?=class="{kind}\b)', f'<aside aria-label="{name}" ', page)
    return page


def setup(app: Any) -> dict[str, bool]:
    def mended(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
        for key, mend in (("body", reachable), ("furo_navigation_tree", levelled)):
            if context.get(key):
                context[key] = mend(context[key])

    def renamed(app: Any, error: Exception | None) -> None:
        # the theme writes its sidebars behind everything that a context can change
        if error is None and app.builder.format == "html":
            for file in Path(app.outdir).rglob("*.html"):
                page = file.read_text(encoding="utf-8")
                if (again := named(page)) != page:
                    file.write_text(again, encoding="utf-8")

    app.connect("html-page-context", mended, priority=900)  # after the theme
    app.connect("build-finished", renamed)
    return {"parallel_read_safe": True}
