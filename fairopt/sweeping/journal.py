"""The resume file: one JSON line per finished point, judged again when it is read.

The first line is a head that names the format. Every other line holds a row of the sweep and the
tasks and prices of its answer, from which the row is computed and judged anew. A last line that was
cut short (power failure, full disk) is removed before anything is appended. Files of version 1 have
no answers: their points are solved again and appended after a second head.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from fairopt import storage
from fairopt.errors import UsageError
from fairopt.storage import JournalWarning

SCHEMA = "fairopt/sweep-points/v2"
HEAD = json.dumps({"schema": SCHEMA}) + "\n"
OLD = json.dumps({"schema": "fairopt/sweep-points/v1"}) + "\n"


class Journal:
    """A resume file, locked by one sweep at a time.

    Parameters
    ----------
    path : the file; created if it does not exist.

    Raises
    ------
    UsageError : the file is not a resume file, another sweep has locked it, or it cannot be
        read or written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.entries: dict[str, dict[str, Any]] = {}
        """{"row", "answer"} by key, as in the file"""
        self._line: dict[str, int] = {}
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

    def add(
        self, key: str, notion: Mapping[str, Any], row: Mapping[str, Any], answer: Any
    ) -> None:
        """Append one finished point; once this returns, killing the process does not lose it."""
        if key in self.entries:
            return
        self.entries[key] = {"row": row, "answer": answer}
        line = {"key": key, "notion": notion, "row": row, "answer": answer}
        self._append(encoded(line) + "\n")

    def refuse(self, key: str, why: str) -> None:
        """Drop an entry that is not believed, with a warning."""
        del self.entries[key]
        self._tell(self._line[key], why)

    def _tell(self, line: int, why: str) -> None:
        said = f"resume: {self.path}, line {line}: {why}; solved again"
        warnings.warn(said, JournalWarning, stacklevel=2)

    def close(self) -> None:
        """Close the file; the points appended so far stay in it."""
        with suppress(OSError):  # a full disk was already reported; what is buffered is lost
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
        if first not in (HEAD.encode(), OLD.encode()):
            # an empty file or a head cut short may be overwritten; anything else is another file
            if not HEAD.encode().startswith(first):
                raise UsageError(f"resume: {self.path} is no resume file of a sweep; wanted one, "
                                 "or a name where nothing is")  # fmt: skip
            self._file.truncate(0)
            self._append(HEAD)
            return
        old, before, whole = first == OLD.encode(), 0, len(first)
        for number, line in enumerate(self._file, 2):
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            if old and line == HEAD.encode():
                old = False
            elif old:
                before += 1
            else:
                self._take(line, number)
        self._file.truncate(whole)
        self._file.seek(0, os.SEEK_END)
        if old:
            self._append(HEAD)
            said = f"resume: {self.path} is of version 1, which keeps no answers to judge"
            warnings.warn(f"{said}: its {before} points are solved again", JournalWarning,
                          stacklevel=2)  # fmt: skip

    def _take(self, line: bytes, number: int) -> None:
        """Keep the entry of a line; of several lines with one key the last counts."""
        try:
            found = json.loads(line)
            key = found["key"]
            self.entries[key] = {"row": found["row"], "answer": found["answer"]}
            self._line[key] = number
        except (ValueError, KeyError, TypeError, RecursionError):
            self._tell(number, "no line of a resume file")


def differing(row: Mapping[str, Any], kept: Any) -> list[str]:
    """Keys whose values in the kept row differ from those computed from its answer."""
    if not isinstance(kept, Mapping):
        return ["row"]
    keys = dict.fromkeys([*row, *map(str, kept)])
    return [key for key in keys if key not in row or key not in kept
            or json.loads(encoded(row[key])) != kept[key]]  # fmt: skip


def encoded(value: Any) -> str:
    """JSON text; infinities and NaN, which JSON lacks, become the texts inf, -inf and nan."""
    return json.dumps(_written(value), allow_nan=False, ensure_ascii=False)


def _written(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {k: _written(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_written(v) for v in value]
    return value
