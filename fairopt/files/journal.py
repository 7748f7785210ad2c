"""Resume files: one JSON line per finished piece of work, kept even if the process is killed."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from fairopt.errors import UsageError
from fairopt.storage import JournalWarning, check_folder


class Journal:
    """Finished work by its key, read from a file to which more is appended; empty without a file.

    Whoever resumes long work uses this one: sweeps, trials of propositions, simulations. It decides
    what a key means, checks what it reads, and may `refuse` it. A JournalWarning names each line
    that is not used, and the work is done again.

    The first line is a head with the schema, so that no other file is overwritten. A last line that
    was cut short (power failure, full disk) is removed before anything is appended. Of several
    lines with one key the last counts.

    Parameters
    ----------
    path : the file, created if it does not exist; None keeps nothing.
    schema : what the head says, "fairopt/NAME/vN".
    fields : names of the entry that a line must have besides its key.
    older : schema of an earlier version, whose entries are left in the file and done again.
    encode : from an entry to JSON text of one line.

    Raises
    ------
    UsageError : the file is of another kind, another run has locked it, or it cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        schema: str,
        fields: tuple[str, ...] = ("result",),
        older: str | None = None,
        encode: Callable[[Any], str] = json.dumps,
    ) -> None:
        self._head = head(schema).encode()
        self._older = None if older is None else head(older).encode()
        self._fields, self._encode = fields, encode
        self.known: dict[str, dict[str, Any]] = {}
        """{field: value} by key"""
        self._line: dict[str, int] = {}
        self._file: IO[bytes] | None = None
        if path is None:
            return
        self._name = name = os.fspath(path)
        check_folder(Path(name))
        try:
            self._file = open(name, "a+b")  # noqa: SIM115 - closed by __exit__
            _lock(self._file, name)
            self._read(self._file)
        except OSError as error:
            self.__exit__()
            reason = error.strerror or error  # a device or a pipe has no reason by number
            raise UsageError(f"resume: {name} cannot be used ({reason})") from None
        except BaseException:
            self.__exit__()
            raise

    def add(self, key: str, **entry: Any) -> None:
        """Append an entry unless its key is known; a kill after this returns does not lose it."""
        if key not in self.known:
            self.known[key] = entry
            self._append((self._encode({"key": key, **entry}) + "\n").encode())

    def refuse(self, key: str, why: str) -> None:
        """Drop an entry that is not believed, with a warning."""
        del self.known[key]
        self._tell(self._line[key], why)

    def _tell(self, line: int, why: str) -> None:
        said = f"resume: {self._name}, line {line}: {why}; done again"
        warnings.warn(said, JournalWarning, stacklevel=2)

    def _append(self, line: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            raise UsageError(f"resume: {self._name} cannot be written ({error.strerror})") from None

    def _read(self, file: IO[bytes]) -> None:
        file.seek(0)
        first = file.readline(len(self._head))
        if first not in (self._head, self._older):
            # an empty file, or one with a head cut short, may be overwritten
            if not self._head.startswith(first):
                wanted = "a file that --resume made, or a name where nothing is"
                raise UsageError(f"resume: {self._name} is another kind of file; wanted {wanted}")
            file.truncate(0)
            self._append(self._head)
            return
        old, before, whole = first == self._older, 0, len(first)
        for number, line in enumerate(file, 2):
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            if not old:
                self._take(line, number)
            elif line == self._head:
                old = False
            else:
                before += 1
        file.truncate(whole)
        if old:
            self._append(self._head)
            said = f"resume: {self._name} is of an earlier version, which holds less"
            warnings.warn(
                f"{said}: its {before} entries are done again", JournalWarning, stacklevel=2
            )

    def _take(self, line: bytes, number: int) -> None:
        try:
            entry = json.loads(line)
            self.known[entry["key"]] = {name: entry[name] for name in self._fields}
            self._line[entry["key"]] = number
        except (ValueError, TypeError, KeyError, RecursionError):
            self._tell(number, "no line of a resume file")

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with suppress(OSError):  # a full disk was already reported; what is buffered is lost
                self._file.close()


def head(schema: str) -> str:
    """The first line of a resume file."""
    return json.dumps({"schema": schema}) + "\n"


def _lock(file: IO[bytes], name: str) -> None:
    """Lock an open file against other runs, on systems that have such locks."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - no such lock on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(f"resume: another run is writing {name}") from None
