"""fairopt models: the models shipped with the package."""

from __future__ import annotations

import json
import shutil
import sys

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
    from fairopt.report.models import models_text

    left = [] if every or words else [m for m in shipped if m.name.startswith(f"{APART}/")]
    shown = [model for model in shipped if model not in left]
    # only a terminal has an end of the line; what is piped is whole
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    to_stdout(models_text(shown, len(left), width))
    return 0
