"""A dict that nobody can change, so that what holds it can be compared, hashed and pickled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Table(Mapping[K, V], Generic[K, V]):
    """A frozen mapping; equal content is equal, in whatever order.

    Examples
    --------
    >>> Table({"A": "org"}) == {"A": "org"}
    True
    """

    __slots__ = ("_held",)
    _held: dict[K, V]

    def __init__(self, given: Mapping[K, V] | None = None) -> None:
        object.__setattr__(self, "_held", dict(given or {}))

    def __getitem__(self, key: K) -> V:
        return self._held[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Table is frozen")

    def __hash__(self) -> int:
        return hash(frozenset(self._held.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Table, (self._held,))

    def __repr__(self) -> str:
        return repr(self._held)
