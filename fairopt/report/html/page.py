"""The page: data, style and script in one HTML file that asks nothing of a network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files
from typing import Any

SCRIPTS = (
    "words",
    "dom",
    "scales",
    "tables",
    "servers",
    "levels",
    "users",
    "answer",
    "frontier",
    "sweep",
    "comparison",
    "replay",
    "ask",
    "plan",
    "start",
)
"""the parts of the script, in order, in the folder `static`"""

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; {live}\
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="main"><noscript><p>This page draws its data with the script that it contains; allow \
scripts to see it.</p></noscript></main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page(results: list[dict[str, Any]], title: str) -> str:
    """The whole file.

    Parameters
    ----------
    results : plain data, one a result, each with "kind" "answer", "sweep", "comparison",
        "replay" or "plan"; a plan that can be asked where it is served has its number as "live".
    title : of the window.

    Returns
    -------
    str : HTML. Its policy allows the one script and the one style by their hashes and nothing else,
        so a browser loads nothing and runs nothing that a name in the data could contain. Only a
        plan that is served may ask its own server.
    """
    script, style = code(), _static("report.css")
    live = any(each.get("live") for each in results)
    return PAGE.format(
        live="connect-src 'self'; " if live else "",
        title=html.escape(title),
        style=style,
        script=script,
        data=embedded({"results": results}),
        script_hash=digest(script),
        style_hash=digest(style),
    )


def embedded(data: Any) -> str:
    r"""JSON that is harmless inside a script element.

    `<`, `>` and `&` are written as \u003c and so on, which mean the same in JSON: no text in the
    data can end the element or begin a comment. All characters beyond ASCII, among them the line
    ends U+2028 and U+2029, are escaped as well.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


@cache
def code() -> str:
    """The script: its parts in order, inside one function."""
    parts = "\n".join(_static(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();'


def digest(text: str) -> str:
    """The hash by which a policy names an inline script or style."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _static(name: str) -> str:
    return files("fairopt.report.html").joinpath("static", name).read_text(encoding="utf-8")
