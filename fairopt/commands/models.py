"""fairopt models: the models shipped with the package."""

from __future__ import annotations

import json

import click

from fairopt import files
from fairopt.commands.output import as_json, to_stdout


@click.command("models")
@as_json
def command(as_json: bool) -> int:
    """List the models shipped with fairopt, with title and source.

    Each name can stand for MODEL in the other commands.
    """
    shipped = files.models()
    if as_json:
        rows = [model._asdict() for model in shipped]
        to_stdout(json.dumps({"schema": "fairopt/models/v1", "models": rows}, indent=2))
    else:
        from fairopt.report.tables import models_text

        to_stdout(models_text(shipped))
    return 0
