"""One BLAS thread while something is solved, cheaply enough for a sweep of thousands of points."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_LOCK = threading.Lock()
_found: tuple[int, Any] = (-1, None)
_inside = 0
_limits: Any = None


@contextmanager
def one() -> Iterator[None]:
    """One BLAS thread inside: two on a busy two-core machine are ten times slower.

    The number is the process's, so the first to enter sets it and the last to leave restores it.
    Looking for the libraries takes as long as a small solve; it is done again only when modules
    were imported since.
    """
    global _inside, _limits
    with _LOCK:
        if _inside == 0:
            _limits = _controller().limit(limits=1)
        _inside += 1
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if _inside == 0:
                _limits.restore_original_limits()
                _limits = None


def _controller() -> Any:
    global _found
    import scipy.linalg  # noqa: F401 - its BLAS is not NumPy's: found here, not half-way

    if _found[0] != len(sys.modules):
        _found = (len(sys.modules), ThreadpoolController())
    return _found[1]
