"""fairopt import: from what a scheduler prints to a plain model."""

from __future__ import annotations

from typing import Any

import click

from fairopt import files as models_on_disk
from fairopt.commands import cluster_options, output
from fairopt.connect.readers.sources import FORMATS
from fairopt.errors import UsageError


@click.command("import", context_settings={"max_content_width": 100})
@click.argument("kind", type=click.Choice(tuple(FORMATS)))
@click.argument("files", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "path",
    required=True,
    metavar="MODEL",
    help="Where the model goes: a folder of CSV files, NAME.toml, or - for stdout.",
)
@click.option("--title", default="", help="Title of the model.")
@cluster_options.options
def command(kind: str, files: tuple[str, ...], path: str, title: str, **given: Any) -> int:
    """Read FILES as those of `fairopt plan` are read, and write the model they make.

    The model is plain: users are workloads, servers are shapes of nodes with a count, a limit is
    what is held and waited for. It can be read, changed by hand, solved and planned. FILES without
    anything of the KIND named are refused, with what they are.
    """
    from fairopt.connect.plan import models

    if models.is_model(files):
        raise UsageError(f"import: found {files[0]!r}; wanted files of a cluster, not a model")
    found = cluster_options.problem(files, given, kind)
    models_on_disk.write(models.model(found, title or f"imported from {kind}"), path)
    for name, _, why in found.stuck:
        output.to_stderr(f"left out: {name}: {why}")
    return 0
