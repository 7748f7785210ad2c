"""How far a long sequence of programs is, on stderr, and only where someone is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown(
    what: str, unit: str = "users", left: bool = False
) -> Iterator[Callable[[int, int], None] | None]:
    """A callable (done, of) that moves a bar; None where stderr is no terminal.

    Parameters
    ----------
    what : said before the bar. The bar is removed at the end, and not drawn before the first call.
    unit : what is counted.
    left : also tell the time left.
    """
    if sys.stderr is None or not sys.stderr.isatty():
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
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit),
        TimeElapsedColumn(), *remaining, console=Console(stderr=True), transient=True,
    )  # fmt: skip

    def told(done: int, of: int) -> None:
        if not bar.task_ids:
            bar.start()
            bar.add_task(what, total=of, completed=done)
        bar.update(bar.task_ids[0], completed=done)

    try:
        yield told
    finally:
        bar.stop()
