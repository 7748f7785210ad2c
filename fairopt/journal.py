"""The resume file of trials: one JSON line {"key", "result"} per finished piece of work."""

from __future__ import annotations

import json
import os
import warnings
from contextlib import suppress
from typing import IO, Any

from fairopt.errors import UsageError
from fairopt.storage import JournalWarning, hold


class Journal:
    """Known results, read from a file to which new ones are appended; empty without a file.

    Counts of trials are accepted if they add up, as only repeating the work could tell more. The
    caller checks counterexamples again and may `refuse` a result. A JournalWarning names each line
    that is not used.

    The first line is a head of `schema`, so that no other file is overwritten; a last line that was
    cut short is removed.

    Raises
    ------
    UsageError : the file is of another kind, another run has locked it, or it cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str] | None, schema: str) -> None:
        self._head = json.dumps({"schema": schema}) + "\n"
        self.known: dict[str, Any] = {}
        self._line: dict[str, int] = {}
        self._file: IO[bytes] | None = None
        if path is None:
            return
        self._name = name = os.fspath(path)
        try:
            self._file = open(name, "a+b")  # noqa: SIM115 - closed by __exit__
            hold(self._file, name)
            self._read(name)
        except OSError as error:
            self.__exit__()
            raise UsageError(f"resume: {name} cannot be used ({error.strerror})") from None
        except BaseException:
            self.__exit__()
            raise

    def add(self, key: str, result: Any) -> None:
        """Append a result; once this returns, killing the process does not lose it."""
        self.known[key] = result
        self._append(json.dumps({"key": key, "result": result}) + "\n")

    def refuse(self, key: str, why: str) -> None:
        """Drop a result that is not believed, with a warning."""
        del self.known[key]
        self._tell(self._line[key], why)

    def _tell(self, line: int, why: str) -> None:
        said = f"resume: {self._name}, line {line}: {why}; done again"
        warnings.warn(said, JournalWarning, stacklevel=2)

    def _append(self, line: str) -> None:
        if self._file is None:
            return
        try:
            self._file.write(line.encode())
            self._file.flush()
        except OSError as error:
            raise UsageError(f"resume: {self._name} cannot be written ({error.strerror})") from None

    def _read(self, name: str) -> None:
        assert self._file is not None
        self._file.seek(0)
        first = self._file.readline(len(self._head))
        if first != self._head.encode():
            # an empty file, or one with a head cut short, may be overwritten
            if not self._head.encode().startswith(first):
                wanted = "a file that --resume made, or a name where nothing is"
                raise UsageError(f"resume: {name} is another kind of file; wanted {wanted}")
            self._file.truncate(0)
            self._append(self._head)
            return
        whole = len(self._head)
        for number, line in enumerate(self._file, 2):
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            try:
                entry = json.loads(line)
                self.known[entry["key"]] = entry["result"]
                self._line[entry["key"]] = number
            except (ValueError, TypeError, KeyError, RecursionError):
                self._tell(number, "no line of a resume file")
        self._file.truncate(whole)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with suppress(OSError):  # a full disk was already reported; what is buffered is lost
                self._file.close()
