"""One BLAS thread during a solve, set cheaply enough for a sweep of thousands of points."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_LOCK = threading.Lock()
_here = threading.local()
_found: tuple[int, Any] = (-1, None)
_inside = 0
_first: Any = None
"""the thread numbers, and the libraries, before the first thread entered `one`"""
_NUMBERS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
_told: dict[str, str | None] = {}
"""what the environment said that was not 1 before the first thread entered `one`"""


@contextmanager
def one() -> Iterator[None]:
    """Let BLAS use one thread inside: two on a busy two-core machine are ten times slower.

    Most BLAS libraries have one thread number for the whole process. So the numbers found when the
    first thread enters are restored when the last one leaves. Finding the libraries takes as long
    as a small solve, and is repeated only after further modules were imported. A library that is
    loaded inside (SciPy brings a BLAS of its own) reads its first number from the environment;
    when the last thread leaves, it gets the largest number that the other libraries had.
    """
    if getattr(_here, "inside", False):
        yield
        return
    _enter()
    _here.inside = True
    try:
        yield
    finally:
        _here.inside = False
        _leave()


def _enter() -> None:
    global _inside, _first
    with _LOCK:
        controller = _controller()
        before = [(library, library.num_threads) for library in controller.lib_controllers]
        _set((library, 1) for library, number in before if number not in (1, None))
        if _inside == 0:
            _first = before, controller
            _told.clear()
            for name in _NUMBERS:
                number = os.environ.get(name)
                if number != "1":
                    _told[name], os.environ[name] = number, "1"
        _inside += 1


def _leave() -> None:
    global _inside, _first
    with _LOCK:
        _inside -= 1
        if _inside > 0:
            return
        for name, value in _told.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        numbers, before = _first
        _set((library, number) for library, number in numbers if number not in (1, None))
        _first = None
        _since(before)


def _since(before: Any) -> None:
    """Give libraries that were loaded inside the largest number of threads any had before."""
    after = _controller()
    if after is before:
        return
    known = {library.filepath for library in before.lib_controllers}
    most = max((library.num_threads or 1 for library in before.lib_controllers), default=None)
    for library in after.lib_controllers:
        if library.filepath not in known and most is not None:
            library.set_num_threads(most)


def _set(numbers: Iterable[tuple[Any, int]]) -> None:
    """Set thread numbers; newer threadpoolctl reserves that to one thread unless it is cleared."""
    for library, number in numbers:
        clear = getattr(library, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)
        library.set_num_threads(number)
        if clear is not None:
            clear(force=True)


def _controller() -> Any:
    global _found
    if _found[0] != len(sys.modules):
        _found = (len(sys.modules), ThreadpoolController())
    return _found[1]
