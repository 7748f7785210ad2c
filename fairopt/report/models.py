"""The shipped models as text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from typing import Any


def models_text(shipped: Sequence[Any], left: int = 0, width: int | None = None) -> str:
    """Shipped models (name, title, source) in groups by the first part of their names.

    Parameters
    ----------
    left : number of counterexamples that are not listed.
    width : longest line, or None for whole lines.
    """
    lines = []
    longest = max((len(model.name) for model in shipped), default=0)
    for group, models in groupby(shipped, key=lambda model: model.name.partition("/")[0]):
        several = list(models)
        sources = {model.source for model in several}
        common = _common(sources)
        lines += ["", f"{group}: {common}" if common else group]
        lines += [f"  {model.name:<{longest}}  {model.title}" for model in several]
    if left:
        lines += ["", f"and {left} counterexamples: fairopt models --all"]
    lines.append("sources: fairopt models --json")
    cut = [
        line if width is None or len(line) <= width else line[: width - 1] + "…" for line in lines
    ]
    return "\n".join(cut).lstrip("\n")


def _common(sources: set[str]) -> str:
    """What all sources of a group begin with, up to a comma."""
    common = os.path.commonprefix(list(sources))
    return common if len(sources) == 1 else common.rpartition(",")[0]
