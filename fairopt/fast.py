"""Inner loops compiled by numba where it is installed (extra `fast`), plain Python where not.

The loops are written in the part of Python that numba knows: numbers and NumPy arrays, no objects.
Nothing in them depends on which of the two runs: no arithmetic is fused or reordered, and random
numbers come in as arrays. So the bytes of a result are the same with and without numba.

Passes over very many users, and steps of small answers, have a NumPy text as well, which says what
they compute and is used where numba is not installed, or where there is too little to do (`chosen`,
`often`). A loop adds in another order than NumPy does: both have the same numbers to rounding, and
each has its own bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


@cache
def available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


CHOICE = "FAIROPT_COMPILED"
"""the environment variable that asks for compiled loops (1) or NumPy (0), whatever there is to
do"""
MANY_PAIRS = 3_000_000
"""pairs from which it pays to load the compiler, half a second, measured"""


MANY_ANSWERS = 10_000
"""answers of one call from which loops of small ones pay, half a millisecond each: their machine
code is made once for an installation, in some thirty seconds, measured, and loaded in half a one"""
_answers: ContextVar[int] = ContextVar("_answers", default=1)


def chosen(pairs: int) -> bool:
    """Whether passes over so many pairs of users and servers are compiled."""
    return _wanted(pairs >= MANY_PAIRS)


def often() -> bool:
    """Whether the loops of small answers are compiled: where the call wants many (`answers`)."""
    return _wanted(_answers.get() >= MANY_ANSWERS)


def _wanted(pays: bool) -> bool:
    asked = os.environ.get(CHOICE, "")
    return (asked == "1" if asked in ("0", "1") else pays) and available()


@contextmanager
def answers(count: int) -> Iterator[None]:
    """Inside, one call wants so many answers, here and in its workers; how many are done does not
    matter, so that each has the same bytes wherever it is made."""
    before = _answers.set(count)
    try:
        yield
    finally:
        _answers.reset(before)


def inner(plain: FunctionT) -> FunctionT:
    """Decorates what a loop calls: still Python, but numba may compile it into the loop. It learns
    of it with the first loop that is compiled, so that nobody else loads it."""
    _called.append(plain)
    return plain


_called: list[Callable[..., Any]] = []


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
    from numba.extending import register_jitable

    while _called:
        register_jitable(_called.pop())
    made: Callable[..., Any]
    name = plain.__name__.strip("_")
    try:
        made = numba.njit(cache=True)(plain)
    except RuntimeError:  # no folder to keep the machine code in: every process compiles anew
        made = numba.njit(plain)
    else:
        _load_alone(made)

    def run(*args: Any) -> Any:
        _ran.get().add(name)
        return made(*args)

    return run


def _load_alone(made: Any) -> None:
    """Have machine code that was kept loaded by itself: before that numba would load all that it
    can compile, and half of SciPy, which takes longer than most passes. To compile, it still does.
    """
    from numba.core import caching, runtime

    class KeptCode(caching.FunctionCache):  # type: ignore[misc]
        """A numba cache that needs no compiler to be read."""

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """The machine code kept for types of arguments, None if there is none."""
            runtime.rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)

    made._cache = KeptCode(made.py_func)


_ran: ContextVar[set[str]] = ContextVar("_ran", default=set())  # noqa: B039 - read by nobody


@contextmanager
def noted() -> Iterator[set[str]]:
    """The names of the compiled loops that run meanwhile, so that an answer can say so."""
    names: set[str] = set()
    before = _ran.set(names)
    try:
        yield names
    finally:
        _ran.reset(before)
