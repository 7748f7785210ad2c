"""Long work of a command: its processes, its bar, its journal, and what Ctrl-C leaves of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import IO, Any

import click

from fairopt.commands import output, progress, sweep_workers

jobs = click.option(
    "-j",
    "--jobs",
    "jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of local processes. The output does not depend on it.",
)
dask = click.option(
    "--dask", metavar="ADDRESS", help="Work on the Dask cluster with the scheduler at ADDRESS."
)
resume = click.option(
    "--resume",
    metavar="FILE",
    help="Keep what is done in FILE; skip what FILE already holds.",
)


class Interrupted(click.ClickException):
    """Ctrl-C, with what it leaves."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        """Say so in the words of the other messages."""
        click.echo(f"fairopt: interrupted: {self.format_message()}", file=file)


@contextmanager
def at_work(
    what: str,
    unit: str,
    number: int,
    jobs: int = 1,
    dask: str | None = None,
    resume: str | None = None,
) -> Iterator[tuple[Executor | None, Callable[[int, int], None]]]:
    """The executor asked for (None: this process), and what is told of each piece that is done.

    Parameters
    ----------
    what, unit : the words before the bar, and what is counted, in the plural. number : of pieces.
    resume : the file that keeps finished pieces.

    Raises
    ------
    Interrupted : Ctrl-C.
    """
    done = 0
    try:
        with (
            sweep_workers.executor(jobs, dask, number) as executor,
            progress.shown(what, unit, left=True) as shown,
            output.journal_told(),
        ):

            def told(now: int, of: int) -> None:
                nonlocal done
                done = now
                if shown is not None:
                    shown(now, of)

            yield executor, told
    except KeyboardInterrupt:
        raise Interrupted(_left(done, number, unit, resume)) from None


def _left(done: int, number: int, unit: str, resume: str | None) -> str:
    if resume is None:
        lost = "were done and are lost; --resume FILE keeps them next time"
        return f"{done} of {number} {unit} {lost}"
    kept = f"are done and kept in {resume}; the same command goes on from there"
    return f"{done} of {number} {unit} {kept}"
