"""A progress bar on stderr, shown only where stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from fairopt.commands.lazy import asked_quiet


def _looked_at() -> bool:
    """Whether somebody sees stderr and did not ask for quiet."""
    return sys.stderr is not None and sys.stderr.isatty() and not asked_quiet()


@contextmanager
def shown(
    what: str, unit: str = "users", left: bool = False
) -> Iterator[Callable[[int, int], None] | None]:
    """A callable (done, of) that moves a bar; None where stderr is no terminal, or --quiet.

    Parameters
    ----------
    what : the words before the bar. The bar appears at the first call and is removed at the end.
    unit : what is counted, in the plural.
    left : whether to show the time left.
    """
    if not _looked_at():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    remaining = [TextColumn("left"), TimeRemainingColumn()] if left else []
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        *remaining,
        console=Console(stderr=True),
        transient=True,
    )

    def told(done: int, of: int) -> None:
        if not bar.task_ids:
            bar.start()
            bar.add_task(what, total=of, completed=done)
        bar.update(bar.task_ids[0], completed=done)

    try:
        yield told
    finally:
        bar.stop()


@contextmanager
def counted(unit: str) -> Iterator[Callable[[int, str], None] | None]:
    """A callable (done, what is done now) that shows both, or None as above."""
    if not _looked_at():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("begins") as status:
        yield lambda done, doing: status.update(f"{doing}: {done} {unit}")


@contextmanager
def worded(unit: str) -> Iterator[Callable[[str], None] | None]:
    """A callable (words) that shows what is done now, and how often it was called."""
    with counted(unit) as told:
        if told is None:
            yield None
            return
        steps = count(1)
        yield lambda words: told(next(steps), words)
