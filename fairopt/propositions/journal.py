"""Finished work in a file of JSON lines, {"key", "result"}: what is there is not done again."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any, TextIO

from fairopt.errors import UsageError


class Journal:
    """The results known from a file, and where new ones are added; without a file, nothing.

    A last line cut short by a kill is dropped.

    Raises
    ------
    UsageError : the file is something else, or cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else os.fspath(path)
        self.known: dict[str, Any] = {}
        self._file: TextIO | None = None

    def __enter__(self) -> Journal:
        if self.path is None:
            return self
        try:
            file = open(self.path, "a+", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"resume: {self.path} cannot be used ({error.strerror})") from None
        self._file = file
        file.seek(0)
        whole = 0
        for number, line in enumerate(iter(file.readline, ""), 1):
            if not line.endswith("\n"):
                break
            try:
                entry = json.loads(line)
                self.known[entry["key"]] = entry["result"]
            except (ValueError, TypeError, KeyError):
                file.close()
                wanted = "a file that --resume wrote"
                raise UsageError(
                    f"resume: {self.path}, line {number}: found other text; wanted {wanted}"
                ) from None
            whole = file.tell()
        file.truncate(whole)
        return self

    def add(self, key: str, result: Any) -> None:
        """Write a result down at once."""
        self.known[key] = result
        if self._file is not None:
            self._file.write(json.dumps({"key": key, "result": result}) + "\n")
            self._file.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
