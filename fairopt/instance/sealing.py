"""Arrays that nobody can write to, not even on purpose."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_T = TypeVar("_T", bound=np.generic)


FEW_BYTES = 1 << 15
"""up to which an array is copied into an object of bytes, which nobody can write to either: that
takes less than to lend it"""


class _Sealed:
    """Owner of an array's memory that lends it read-only: no view of it can be made writable."""

    __slots__ = ("_array",)

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        lent = dict(self._array.__array_interface__)
        lent["data"] = (lent["data"][0], True)
        return lent


def sealed(fresh: NDArray[_T]) -> NDArray[_T]:
    """An array just made, read-only for good; if it is not small, without a copy.

    Not even `flags.writeable = True` makes the result writable. Whoever keeps `fresh` itself could
    still write to it, so pass only arrays that nobody else holds.
    """
    if not fresh.size:  # nothing to write to
        return fresh
    if fresh.nbytes <= FEW_BYTES:
        return np.ndarray(fresh.shape, fresh.dtype, fresh.tobytes())
    return np.asarray(_Sealed(np.ascontiguousarray(fresh)))


def frozen(array: NDArray[_T]) -> NDArray[_T]:
    """A sealed copy of an array; the array itself if it is sealed already."""
    return array if is_sealed(array) else sealed(np.array(array, order="C"))


def is_sealed(array: NDArray[Any]) -> bool:
    """Whether this is a sealed array, or part of one."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return type(base) in (_Sealed, bytes)
