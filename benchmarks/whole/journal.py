"""A journal: one line of JSON for each question, so that a run that was stopped goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def answered(path: Path | None, names: Iterable[str], ask: Callable[[str], Row]) -> list[Row]:
    """The rows of all questions: those in the journal as they are, the others asked."""
    known: dict[str, Row] = {}
    if path is not None and path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            known[row["name"]] = row
    rows = []
    for name in names:
        if name not in known:
            known[name] = {"name": name, **ask(name)}
            if path is not None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(known[name]) + "\n")
        rows.append(known[name])
    return rows
