"""Finished work in a file of JSON lines, {"key", "result"}: what is there is not done again."""

from __future__ import annotations

import json
import os
from typing import IO, Any

from fairopt.errors import UsageError
from fairopt.storage import hold

HEAD = json.dumps({"schema": "fairopt/propositions-work/v1"}) + "\n"


class Journal:
    """The results known from a file, and where new ones are added; without a file, nothing.

    The first line says what the file is, so that nobody else's file is touched; a last line cut
    short by a kill is taken off.

    Raises
    ------
    UsageError : the file is something else, another run holds it, or it cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.known: dict[str, Any] = {}
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
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            try:
                entry = json.loads(line)
                self.known[entry["key"]] = entry["result"]
            except (ValueError, TypeError, KeyError):
                continue  # done again
        self._file.truncate(whole)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
