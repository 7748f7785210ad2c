"""Inner loops compiled by numba where it is installed (extra `fast`), plain Python where not.

The loops are written in the part of Python that numba knows: numbers and NumPy arrays, no objects.
Nothing in them depends on which of the two runs: no arithmetic is fused or reordered, and random
numbers come in as arrays. So the bytes of a result are the same with and without numba.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


def inner(plain: FunctionT) -> FunctionT:
    """Decorates what a loop calls: still Python, but numba may compile it into the loop."""
    if not available():
        return plain
    from numba.extending import register_jitable

    known: FunctionT = register_jitable(plain)
    return known


@cache
def loop(plain: Callable[..., Any], compiled: bool | None = None) -> Callable[..., Any]:
    """A loop ready to run.

    Parameters
    ----------
    plain : the loop as Python; what it calls is decorated with `inner`.
    compiled : whether to compile it; None where numba is installed.
    """
    if not (available() if compiled is None else compiled):
        return plain
    import numba

    made: Callable[..., Any]
    try:
        made = numba.njit(cache=True)(plain)
    except RuntimeError:  # no folder to keep the machine code in: every process compiles anew
        made = numba.njit(plain)
    return made
