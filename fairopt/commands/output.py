"""Where the commands leave their results: stdout, or a file written whole or not at all."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairopt import storage
from fairopt.commands.lazy import asked_quiet
from fairopt.errors import printable

if TYPE_CHECKING:
    from fairopt.allocation import Allocation


def early(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Before any work is done, refuse a path that cannot be written."""
    if value is not None and value != storage.STDIN:
        if Path(value).is_dir():
            raise click.BadParameter(f"{value} is a folder; wanted the name of a file")
        storage.check_folder(Path(value))
    return value


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
out = click.option(
    "-o",
    "--output",
    "path",
    metavar="FILE",
    callback=early,
    help="Write the JSON object to FILE, whole or not at all.",
)


def to_stderr(line: str) -> None:
    """Print a message to stderr, if it is open."""
    with suppress(OSError):
        click.echo(printable(line), err=True)


def remark(line: str) -> None:
    """Print to stderr what is good to know; with --quiet it is left out."""
    if not asked_quiet():
        to_stderr(line)


@contextmanager
def journal_told() -> Iterator[None]:
    """Print warnings about a resume file to stderr, one line each."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", storage.JournalWarning)
        warnings.showwarning = lambda message, *_: to_stderr(f"fairopt: {message}")
        yield


def to_stdout(text: str) -> None:
    """Write `text` to stdout, with one newline at its end."""
    storage.write_text(storage.STDIN, text.rstrip("\n") + "\n")


KKT_SCHEMA = "fairopt/kkt/v1"


def kkt_out(answer: Allocation, title: str, accepted: bool, whole: bool, as_json: bool) -> None:
    """Print the tables of the answer."""
    from fairopt import kkt

    if as_json:
        found = [table.plain() for table in kkt.tables(answer)]
        data = {"schema": KKT_SCHEMA, "notion": answer.notion, "tables": found}
        to_stdout(json.dumps(data))
        return
    from fairopt.report.kkt_text import kkt_text

    to_stdout(kkt_text(answer, title, accepted, whole))
