"""What a room asks of a room above it, which it must not know: the front door, which names both,
says where it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Upstairs(Generic[T]):
    """A function of a higher room, fetched when it is called for."""

    def __init__(self) -> None:
        self._fetch: Callable[[], T]

    def is_fetched_by(self, fetch: Callable[[], T]) -> Callable[[], T]:
        """A decorator of the function that imports it."""
        self._fetch = fetch
        return fetch

    def __call__(self) -> T:
        """The function itself."""
        return self._fetch()


# an answer stands below all that reads it: so answers are Any here, and typed where they are asked
explain: Upstairs[Callable[[Any, str, bool], Any]] = Upstairs()
"""(answer, user, again) -> Explanation"""
duals: Upstairs[Callable[[Any], Any]] = Upstairs()
"""answer -> its multipliers"""
conditions: Upstairs[Callable[[Any, str], Any]] = Upstairs()
"""(answer, "pairs" or "rows") -> frame"""
