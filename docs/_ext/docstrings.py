"""Docstrings as numpydoc reads them.

In the package a parameter is one line, `name : what it is`, for the types stand in the signature.
numpydoc takes the text after the colon for a type, so it is moved to the line below.
"""

from __future__ import annotations

import re
from typing import Any

SECTIONS = {"Parameters", "Returns", "Raises", "Yields", "Attributes", "Other Parameters"}


def moved(lines: list[str]) -> list[str]:
    """The lines of a docstring with `name : text` on two lines, in sections of that form."""
    out: list[str] = []
    inside = False
    for k, line in enumerate(lines):
        below = lines[k + 1] if k + 1 < len(lines) else ""
        if below.strip() and set(below.strip()) == {"-"}:
            inside = line.strip() in SECTIONS
        found = re.match(r"^(\w[\w.*, ]*?) : (.*\S)$", line) if inside else None
        if found:
            out += [found[1], f"    {found[2]}"]
        elif inside and _prose(line) and out and not out[-1].strip():
            inside = False  # a paragraph after the list belongs to no parameter
            out += ["Notes", "-----", line]
        else:
            out.append(line)
    return out


def _prose(line: str) -> bool:
    return bool(line) and not line[0].isspace() and " " in line and " : " not in line


def signature(
    app: Any, what: str, name: str, obj: Any, options: Any, given: str | None, back: str | None
) -> tuple[str | None, str | None]:
    """Names of types, where the standard library writes how it keeps them."""
    plain = [
        text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (given, back)
    ]
    return plain[0], plain[1]


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = moved(lines)


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", process, priority=100)  # before numpydoc's
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True}
