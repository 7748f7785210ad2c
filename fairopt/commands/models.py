"""fairopt models: the models shipped with the package."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import click

from fairopt import files
from fairopt.commands.output import as_json, to_stdout
from fairopt.errors import UsageError

APART = "counterexamples"
"""models found by search, which are many and listed only when asked for"""


@click.command("models", context_settings={"max_content_width": 100})
@click.option(
    "--filter",
    "words",
    metavar="WORDS",
    help="Only models with all these words in name, title or source.",
)
@click.option("--all", "every", is_flag=True, help="Also the counterexamples.")
@as_json
def command(words: str | None, every: bool, as_json: bool) -> int:
    """List the models shipped with fairopt, by the paper or the place they come from.

    Each name can stand for MODEL in the other commands. Counterexamples, which a search found, are
    listed with --all or with a filter. --json has every model, or those of the filter.
    """
    shipped = files.models()
    if words:
        wanted = words.lower().split()
        shipped = [
            model for model in shipped if all(word in " ".join(model).lower() for word in wanted)
        ]
        if not shipped:
            raise UsageError(f"--filter: no model has {words!r} in name, title or source")
    if as_json:
        rows = [model._asdict() for model in shipped]
        to_stdout(json.dumps({"schema": "fairopt/models/v1", "models": rows}, indent=2))
        return 0
    left = [] if every or words else [m for m in shipped if m.name.startswith(f"{APART}/")]
    shown = [model for model in shipped if model not in left]
    # only a terminal has an end of the line; what is piped is whole
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    to_stdout(models_text(shown, len(left), width))
    return 0


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
