"""Pages that are read without a mouse or a screen: what Sphinx, gallery and theme leave out.

Code and tables that are wider than the page scroll, so a keyboard must reach them; the pictures of
the gallery are links, whose words are hidden; captions of the sidebar are headings of some level.
"""

from __future__ import annotations

import re
from typing import Any

WORDS = re.compile(
    r'(<a class="reference internal") (href="[^"]*"><span class="doc">([^<]*)</span>)'
)


def reachable(body: str) -> str:
    """The text of a page with what a keyboard reaches, and links with words."""
    body = body.replace("<pre>", '<pre tabindex="0">')
    body = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
    if "sphx-glr-thumbcontainer" in body:
        body = WORDS.sub(r'\1 aria-label="\3" \2', body)
    return body


def levelled(sidebar: str) -> str:
    """The sidebar with the level of its headings."""
    return sidebar.replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app: Any) -> dict[str, bool]:
    def mended(app: Any, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
        for key, mend in (("body", reachable), ("furo_navigation_tree", levelled)):
            if context.get(key):
                context[key] = mend(context[key])

    app.connect("html-page-context", mended, priority=900)  # after the theme
    return {"parallel_read_safe": True}
