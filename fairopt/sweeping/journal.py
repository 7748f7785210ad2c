"""The resume file: one JSON line a finished point, appended as it finishes, never trusted blindly.

The first line says what the file is. A line that was cut (the machine went down, the disk was
full) is taken off before anything is appended.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from fairopt import storage
from fairopt.errors import UsageError

SCHEMA = "fairopt/sweep-points/v1"
HEAD = json.dumps({"schema": SCHEMA}) + "\n"
KEPT = ("answered", "refused", "infeasible", "failed")
"""status of rows that are the same whenever the point is solved; anything else is tried again"""
_NUMBERS = ("gap", "residual", "objective", "equivalent", "totals", "shares", "levels")


class Journal:
    """A resume file, held by one sweep at a time.

    Parameters
    ----------
    path : the file; made if it is not there.

    Raises
    ------
    UsageError : something else stands in the file, another sweep holds it, or it cannot be
        read or written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.rows: dict[str, dict[str, Any]] = {}
        storage.check_folder(Path(self.path))
        try:
            self._file: IO[bytes] = open(self.path, "a+b")  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise UsageError(f"resume: {self.path} cannot be opened ({error.strerror})") from None
        try:
            storage.hold(self._file, self.path)
            self._read()
        except OSError as error:  # a device, a pipe
            self._file.close()
            raise UsageError(f"resume: {self.path} is no file to add to ({error})") from None
        except BaseException:
            self._file.close()
            raise

    def add(self, key: str, notion: Mapping[str, Any], row: Mapping[str, Any]) -> None:
        """Append one finished point; a SIGKILL after this returns does not lose it."""
        if row["status"] not in KEPT or key in self.rows:
            return
        self.rows[key] = dict(row)
        self._append(encoded({"key": key, "notion": notion, "row": row}) + "\n")

    def close(self) -> None:
        """Close the file; rows recorded so far stay."""
        self._file.close()

    def _append(self, line: str) -> None:
        try:
            self._file.write(line.encode())
            self._file.flush()
        except OSError as error:
            raise UsageError(f"resume: {self.path} cannot be written ({error.strerror})") from None

    def _read(self) -> None:
        self._file.seek(0)
        first = self._file.readline(len(HEAD))
        if first != HEAD.encode():
            # nothing, or a head cut short, is ours to write; anything else is somebody's file
            if not HEAD.encode().startswith(first):
                raise UsageError(f"resume: {self.path} is no resume file of a sweep; wanted one, "
                                 "or a name where nothing is")  # fmt: skip
            self._file.truncate(0)
            self._append(HEAD)
            return
        whole = len(HEAD)
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            self._take(line)
        self._file.truncate(whole)
        self._file.seek(0, os.SEEK_END)

    def _take(self, line: bytes) -> None:
        """Keep what a line holds; a line that makes no sense is solved again."""
        try:
            found = json.loads(line)
            key, row = found["key"], found["row"]
            if isinstance(key, str) and row["status"] in KEPT:
                self.rows[key] = decoded(row)
        except (ValueError, KeyError, TypeError, RecursionError):
            return


def encoded(value: Any) -> str:
    """JSON text; numbers that JSON has not are the texts inf, -inf and nan."""
    return json.dumps(_written(value), allow_nan=False, ensure_ascii=False)


def _written(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {k: _written(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_written(v) for v in value]
    return value


def decoded(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row that `encoded` wrote, bit for bit."""
    found = dict(row)
    for name in _NUMBERS:
        value = found[name]
        if isinstance(value, str):
            found[name] = float(value)
        elif isinstance(value, dict):
            found[name] = {k: float(v) for k, v in value.items()}
    return found
