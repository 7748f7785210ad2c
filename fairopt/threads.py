"""One BLAS thread while something is solved, cheaply enough for a sweep of thousands of points."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_LOCK = threading.Lock()
_here = threading.local()
_found: tuple[int, Any] = (-1, None)
_inside = 0
_first: Any = None
"""what was before the first thread came in"""


@contextmanager
def one() -> Iterator[None]:
    """One BLAS thread inside: two on a busy two-core machine are ten times slower.

    The number mostly belongs to the process, so what was before the first thread came in is
    restored when the last has left. Looking for the libraries takes as long as a small solve; it
    is done again only when modules were imported since.
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
        _open(controller)
        limits = controller.limit(limits=1)
        _first = limits if _inside == 0 else _first
        _inside += 1


def _leave() -> None:
    global _inside, _first
    with _LOCK:
        _inside -= 1
        if _inside == 0:
            _open(_found[1])
            _first.restore_original_limits()
            _open(_found[1])
            _first = None


def _open(controller: Any) -> None:
    """Let this thread set the number too: newer threadpoolctl keeps it for one."""
    for library in controller.lib_controllers:
        clear = getattr(library, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)


def _controller() -> Any:
    global _found
    import scipy.linalg  # noqa: F401 - its BLAS is not NumPy's: found here, not half-way

    if _found[0] != len(sys.modules):
        _found = (len(sys.modules), ThreadpoolController())
    return _found[1]
