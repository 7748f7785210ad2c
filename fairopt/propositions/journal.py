"""Finished work in a file of JSON lines, {"key", "result"}: what is there is not done again."""

from __future__ import annotations

import json
import os
import warnings
from contextlib import suppress
from typing import IO, Any

from fairopt.errors import UsageError
from fairopt.storage import JournalWarning, hold

HEAD = json.dumps({"schema": "fairopt/propositions-work/v1"}) + "\n"


class Journal:
    """The results known from a file, and where new ones are added; without a file, nothing.

    Counts of trials are believed where they add up (only doing the work again would tell more);
    counterexamples are checked again by whoever reads them, who may `refuse` a result. A line that
    is not believed is named by a JournalWarning.

    The first line says what the file is, so that nobody else's file is touched; a last line cut
    short by a kill is taken off.

    Raises
    ------
    UsageError : the file is something else, another run holds it, or it cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
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
        """Write a result down at once: a kill after this returns does not lose it."""
        self.known[key] = result
        self._append(json.dumps({"key": key, "result": result}) + "\n")

    def refuse(self, key: str, why: str) -> None:
        """Drop a result that is not believed, and say so."""
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
        first = self._file.readline(len(HEAD))
        if first != HEAD.encode():
            # nothing, or a head cut short, is ours to write
            if not HEAD.encode().startswith(first):
                wanted = "a file that --resume made, or a name where nothing is"
                raise UsageError(f"resume: {name} is another kind of file; wanted {wanted}")
            self._file.truncate(0)
            self._append(HEAD)
            return
        whole = len(HEAD)
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
            with suppress(OSError):  # a full disk has been told of; what is buffered is lost
                self._file.close()
