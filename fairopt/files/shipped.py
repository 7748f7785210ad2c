"""Where the models are that come with the package, and which is meant by a name."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple


class Shipped(NamedTuple):
    """A model that comes with the package."""

    name: str
    title: str
    source: str


def shipped_root() -> Path:
    """The folder of shipped models: in the package (a wheel), else beside it (a checkout)."""
    package = Path(str(importlib.resources.files("fairopt")))
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"


def all_shipped() -> Iterator[tuple[str, Path]]:
    """Name and path of every shipped model, in order of name."""
    root = shipped_root()
    found = [(p.with_suffix(""), p) for p in root.rglob("*.toml") if p.name != "model.toml"]
    found += [(p.parent, p.parent) for p in root.rglob("model.toml")]
    for name, path in sorted(found):
        yield name.relative_to(root).as_posix(), path


def near_models(given: str, shipped: Mapping[str, Path]) -> str:
    """The shipped names nearest to an unknown one."""
    import difflib

    known = [name for name in shipped if not name.startswith("invalid/")]
    close = [name for name in known if given and (given in name or name in given)][:3]
    last = {name.rpartition("/")[2]: name for name in known}
    close += difflib.get_close_matches(given, known, 3, 0.4)
    close += [last[k] for k in difflib.get_close_matches(given.rpartition("/")[2], last, 2, 0.6)]
    shown_names = list(dict.fromkeys(close))[:3]
    if not shown_names:
        return "one of the shipped models (fairopt models lists them)"
    return f"a shipped model (nearest: {', '.join(shown_names)})"
