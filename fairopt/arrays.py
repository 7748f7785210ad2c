"""Arrays in and out of NumPy files that anybody may have written: whole, or refused by name."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairopt import storage
from fairopt.errors import BadInput, Fault

NUMBERS = "numbers, and no other kind of value"
_BROKEN = (ValueError, EOFError, OverflowError, TypeError, SyntaxError, RecursionError, TokenError)
"""what NumPy raises of bytes that are no array: of their magic number, header, length"""

_ONE_HEADER = threading.Lock()
"""NumPy reads a header by Python's own parser of literals, which in Python 3.11 counts its depth
for all threads together: two at once end in a SystemError"""


def read(path: Path, wanted: str) -> NDArray[Any]:
    """The array of numbers in a file.

    Parameters
    ----------
    path : the file. wanted : what the array should be, for the message.

    Raises
    ------
    BadInput : no file, no regular file (which is not opened: a pipe might never end), cut short,
        no array of numbers with at least one axis, or more than fits into memory.
    """
    header = opened(path, wanted)
    try:
        return np.array(header)
    except MemoryError:
        size = f"{header.nbytes / storage.MEBIBYTE:,.0f} MiB, more than there is memory"
        raise BadInput([Fault(path.name, size, "smaller partitions")]) from None


def opened(path: Path, wanted: str) -> NDArray[Any]:
    """The same without reading more than its header: a map of the file.

    Raises
    ------
    BadInput : as `read`, but for memory.
    """
    unlike = storage.irregular(path)
    if unlike:
        raise BadInput([Fault(path.name, unlike, wanted)])
    try:
        # a map is as long as the file: a header that promises more is refused, nothing reserved
        with _ONE_HEADER:
            found: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except (OSError, *_BROKEN) as error:
        said = " ".join(str(error).split())[:120] or "nothing in it"
        raise BadInput([Fault(path.name, f"no whole NumPy array ({said})", wanted)]) from None
    if found.dtype.kind not in "fiub":
        raise BadInput([Fault(path.name, f"{found.dtype}", NUMBERS)])
    if found.ndim == 0:
        raise BadInput([Fault(path.name, "a single number", wanted)])
    return found


def write(path: Path, array: NDArray[Any]) -> None:
    """Write an array whole or not at all, so that a call that was killed leaves no half of it.

    Raises
    ------
    UsageError : it cannot be written.
    """
    part = path.with_suffix(".part")
    with storage.writing(path):
        part.unlink(missing_ok=True)  # a pipe of that name would wait for a reader
        with open(part, "xb") as file:
            np.save(file, array)
        os.replace(part, path)
