"""Text in and out of files: size limits on the way in, whole files or none on the way out."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import IO

from fairopt.errors import BadInput, Fault, UsageError

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
    BadInput : missing, a folder, not readable, too large, or not UTF-8.
    """
    path = os.fspath(path)
    name = source_name(path)
    try:
        if path == STDIN:
            stream = getattr(sys.stdin, "buffer", None)
            raw = sys.stdin.read(most + 1).encode() if stream is None else stream.read(most + 1)
        else:
            if os.path.isfile(path) and os.path.getsize(path) > most:
                raise _too_large(name, os.path.getsize(path), most, wanted)
            with open(path, "rb") as file:
                raw = file.read(most + 1)
    except FileNotFoundError:
        raise BadInput([Fault("file", "nothing there", wanted)], name) from None
    except IsADirectoryError:
        raise BadInput([Fault("file", "a folder", wanted)], name) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput([Fault("file", f"no way to read it ({reason})", wanted)], name) from None
    if len(raw) > most:
        raise _too_large(name, len(raw), most, wanted)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault = Fault(f"byte {error.start}", "bytes that are no UTF-8 text", wanted)
        raise BadInput([fault], name) from None


def source_name(path: str | os.PathLike[str]) -> str:
    """What messages call the file: its own name, so that they are the same on every machine."""
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
        sys.stdout.write(text)
        return
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file of bytes whole or not at all; "-" is standard output.

    Raises
    ------
    UsageError : as of `write_text`.
    """
    path = os.fspath(path)
    if path == STDIN:
        sys.stdout.buffer.write(content)
        return
    target = Path(os.path.realpath(path))  # replace what a link points to, not the link
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


def check_folder(target: Path) -> None:
    """Raise UsageError unless the folder that is to hold `target` exists."""
    if not target.parent.is_dir():
        raise UsageError(f"output: the folder {target.parent} does not exist")


def _mode(target: Path) -> int:
    """Permissions of the file replaced, or those a new file gets here."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

def hold(file: IO[bytes], name: str) -> None:
    """Keep other runs off an open file, where the system can.

    Raises
    ------
    UsageError : another run is writing it.
    """
    try:
        import fcntl
    except ImportError:  # pragma: no cover - no such lock on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(f"resume: another run is writing {name}") from None
