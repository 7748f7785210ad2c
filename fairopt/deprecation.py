"""Names on their way out: they work, and warn once a place, until the version that drops them.

The policy is docs/reference/stability.md. A test fails when the version that drops a name is
reached and the name is still there.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
LEAST_VERSIONS = 2
"""minor versions for which a deprecated name works, the one that deprecates it included"""


class FairoptDeprecationWarning(FutureWarning):
    """A name of fairopt's public API that a later version drops; shown by default."""


def _release(version: str) -> tuple[int, int]:
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def words(name: str, since: str, until: str, instead: str) -> str:
    """What the warning says.

    Parameters
    ----------
    name : as it is written by who uses it. instead : what to write. since, until : versions
        "major.minor" that deprecates it, and that drops it.

    Raises
    ------
    ValueError : `until` is less than LEAST_VERSIONS minor versions after `since`, and no new major
        one.

    Examples
    --------
    >>> words("fo.old", "0.2", "0.4", "fo.new")
    'fo.old is deprecated since fairopt 0.2 and goes in 0.4; write fo.new'
    """
    first, last = _release(since), _release(until)
    if last[0] == first[0] and last[1] < first[1] + LEAST_VERSIONS:
        raise ValueError(
            f"{name}: found until {until}; wanted {LEAST_VERSIONS} minor versions after {since}"
        )
    return f"{name} is deprecated since fairopt {since} and goes in {until}; write {instead}"


def warn(name: str, since: str, until: str, instead: str, depth: int = 2) -> None:
    """Warn at the place that uses the name: `depth` calls above this one."""
    said = words(name, since, until, instead)
    warnings.warn(said, FairoptDeprecationWarning, stacklevel=depth + 1)


def deprecated(
    since: str, until: str, instead: str, name: str = ""
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function that goes; `name` is how it is called by who uses it."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        called = name or function.__qualname__
        said = words(called, since, until, instead)

        @functools.wraps(function)
        def wrapped(*args: P.args, **options: P.kwargs) -> T:
            warnings.warn(said, FairoptDeprecationWarning, stacklevel=2)
            return function(*args, **options)

        wrapped.__doc__ = f"Deprecated: {said}.\n\n{function.__doc__ or ''}"
        return wrapped

    return decorate


def renamed(since: str, until: str, **names: str) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Decorate a function whose parameters were renamed: old="new". Both at once is an error.

    Examples
    --------
    >>> @renamed("0.2", "0.4", colour="color")
    ... def paint(color):
    ...     return color
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     paint(colour="red")
    'red'
    >>> print(seen[0].message)
    colour= of paint is deprecated since fairopt 0.2 and goes in 0.4; write color=
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        called = function.__qualname__
        said = {
            old: words(f"{old}= of {called}", since, until, f"{new}=") for old, new in names.items()
        }

        @functools.wraps(function)
        def wrapped(*args: Any, **options: Any) -> T:
            for old in _used(names, options):
                if names[old] in options:
                    raise TypeError(f"{called}: found {old}= and {names[old]}=; wanted one of them")
                warnings.warn(said[old], FairoptDeprecationWarning, stacklevel=2)
                options[names[old]] = options.pop(old)
            return function(*args, **options)

        return wrapped

    return decorate


def _used(names: Iterable[str], options: dict[str, Any]) -> list[str]:
    return [name for name in names if name in options]


__all__ = ["FairoptDeprecationWarning", "deprecated", "renamed", "warn"]
