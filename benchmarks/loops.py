"""Asks for loops compiled, or for NumPy alone, for as long as one side of a benchmark runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from fairopt import fast


@contextmanager
def loops(compiled: bool) -> Iterator[None]:
    """Inside, loops are compiled, or nothing is."""
    before = os.environ.get(fast.CHOICE)
    os.environ[fast.CHOICE] = str(int(compiled))
    try:
        yield
    finally:
        os.environ.pop(fast.CHOICE)
        if before is not None:
            os.environ[fast.CHOICE] = before
