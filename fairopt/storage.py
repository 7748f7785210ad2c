"""Text in and out of files: size limits on the way in, whole files or none on the way out."""

from __future__ import annotations

import codecs
import json
import math
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairopt.errors import BadInput, Fault, UsageError, escaped, printable

STDIN = "-"
"""the path that means standard input, or standard output"""
MEBIBYTE = 2**20


def read_text(path: str | os.PathLike[str], most: int, wanted: str) -> str:
    """The text of a file, or of standard input for "-".

    Parameters
    ----------
    path : the file.
    most : largest size accepted, in bytes; more is refused before anything is parsed.
    wanted : what the file should be, for the message ("a model file").

    Raises
    ------
    BadInput : missing, a folder, not readable, too large, not UTF-8, or a pipe or device, which
        might never end. Streams that are already open (/dev/stdin, /dev/fd/63) are read.
    """
    path = os.fspath(path)
    name = source_name(path)
    try:
        if path == STDIN:
            given: Any = sys.stdin
            if given is None:
                raise BadInput([Fault("file", "standard input closed", wanted)], name)
            stream = getattr(given, "buffer", None)
            raw: bytes = given.read(most + 1).encode() if stream is None else stream.read(most + 1)
        else:
            found = os.stat(path)
            if not _readable(path, found.st_mode):
                fault = Fault("file", "a pipe or device", f"{wanted}: a regular file")
                raise BadInput([fault], name)
            if found.st_size > most:
                raise _too_large(name, found.st_size, most, wanted)
            with open(path, "rb") as file:
                raw = file.read(most + 1)
    except BadInput:
        raise
    except FileNotFoundError:
        raise BadInput([Fault("file", "nothing there", wanted)], name) from None
    except IsADirectoryError:
        raise BadInput([Fault("file", "a folder", wanted)], name) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput([Fault("file", f"unreadable ({reason})", wanted)], name) from None
    if len(raw) > most:
        raise _too_large(name, len(raw), most, wanted)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault = Fault(f"byte {error.start}", "bytes that are not UTF-8 text", wanted)
        raise BadInput([fault], name) from None


def there(path: str | os.PathLike[str]) -> bool:
    """Whether anything stands under this name, if only a link to nothing.

    For files that may be left out: what is there and cannot be read is a fault of the input, and
    not the same as a file that was left out.
    """
    return os.path.lexists(path)


def irregular(path: str | os.PathLike[str]) -> str:
    """What stands under a name instead of a regular file, in words; empty for a regular file."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "a link to nothing" if os.path.lexists(path) else "no such file"
    except (OSError, ValueError) as error:
        return f"unreadable ({getattr(error, 'strerror', None) or error})"
    if stat.S_ISREG(mode):
        return ""
    return "a folder" if stat.S_ISDIR(mode) else "a pipe or device"


def _readable(path: str, mode: int) -> bool:
    """Whether the path is a regular file, or a stream that the caller has already opened."""
    regular = stat.S_ISREG(mode) or stat.S_ISDIR(mode)  # folders are refused when opened
    return regular or path == "/dev/stdin" or path.startswith("/dev/fd/")


def source_name(path: str | os.PathLike[str]) -> str:
    """The file's own name, without its folder, so that messages are the same on every machine."""
    path = os.fspath(path)
    return "<stdin>" if path == STDIN else Path(path).name or path


def _too_large(name: str, size: int, most: int, wanted: str) -> BadInput:
    found = f"at least {size / MEBIBYTE:.0f} MiB"
    return BadInput([Fault("file", found, f"{wanted} of at most {most // MEBIBYTE} MiB")], name)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file whole or not at all; "-" is standard output.

    Raises
    ------
    UsageError : the folder does not exist, or the file cannot be written.
    """
    if os.fspath(path) == STDIN:
        _to_stdout(text)
        return
    write_bytes(path, text.encode("utf-8"))


def _to_stdout(text: str) -> None:
    """Print text, with escapes for characters that act on a terminal or that it cannot show."""
    out: Any = sys.stdout
    if out is None:
        raise UsageError("output: standard output is closed")
    text = printable(text)
    coding = getattr(out, "encoding", None) or "utf-8"
    try:
        text.encode(coding)
    except UnicodeEncodeError:
        plain = text.replace("\N{BOX DRAWINGS LIGHT HORIZONTAL}", "-")
        text = plain.encode(coding, _ESCAPES).decode(coding)
    try:
        out.write(text)
        out.flush()
    except BrokenPipeError:
        raise  # the reader closed the pipe, which is no error
    except OSError as error:
        reason = error.strerror
        raise UsageError(f"output: standard output cannot be written ({reason})") from None


def _escape(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(escaped, error.object[error.start : error.end])), error.end


_ESCAPES = "fairopt.escapes"
codecs.register_error(_ESCAPES, _escape)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file of bytes whole or not at all.

    Raises
    ------
    UsageError : as of `write_text`.
    """
    path = os.fspath(path)
    target = Path(os.path.realpath(path))  # replace the file a link points to, not the link
    check_folder(target)
    if target.is_dir():
        raise UsageError(f"output: {path} is a folder; wanted the name of a file")
    temporary = None
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            target.write_bytes(content)  # a pipe or device cannot be replaced
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise UsageError(f"output: {path} cannot be written ({error.strerror})") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the system while something is written there, as UsageError that names it."""
    try:
        yield
    except OSError as error:
        said = error.strerror or " ".join(str(error).split())
        raise UsageError(f"output: {os.fspath(path)} cannot be written ({said})") from None


def made_folder(path: str | os.PathLike[str]) -> Path:
    """The folder, made if it is not there.

    Raises
    ------
    UsageError : it cannot be made, or a file of that name is there.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"output: {folder} is a file; wanted the name of a folder")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def check_folder(target: Path) -> None:
    """Raise UsageError unless the folder that is to hold `target` exists."""
    if not target.parent.is_dir():
        raise UsageError(f"output: the folder {target.parent} does not exist")


def _mode(target: Path) -> int:
    """Permissions of the file that is replaced, or of a new file in this process."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


class JournalWarning(UserWarning):
    """A line of a resume file is not used: the message names the line and the reason."""


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
