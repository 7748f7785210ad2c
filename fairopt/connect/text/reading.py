"""Files in: plain or gzip, JSON, YAML or CSV, standard input; with a progress bar by bytes."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, cast

from fairopt import storage
from fairopt.connect.text import streams
from fairopt.errors import BadInput, Fault

WANTED = "JSON or YAML as kubectl prints it, or a CSV file"
GZIP = b"\x1f\x8b"
LARGEST_YAML = 256 * storage.MEBIBYTE
"""YAML is parsed some thirty times more slowly than JSON"""

Told = Callable[[int, int], None] | None


class _CountedStream(io.RawIOBase):
    """A stream that tells how many of its bytes have been read."""

    def __init__(self, stream: IO[bytes], size: int, told: Told, done: int) -> None:
        self.stream, self.size, self.told, self.done = stream, size, told, done

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.stream.read(len(buffer))
        buffer[: len(chunk)] = chunk
        self.done += len(chunk)
        if self.told is not None:
            self.told(self.done, max(self.size, self.done))
        return len(chunk)


class _Bounded(io.RawIOBase):
    """A stream that ends in an error where more follows than is accepted."""

    def __init__(self, stream: IO[bytes], most: int, source: str) -> None:
        self.stream, self.left, self.most, self.source = stream, most, most, source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.stream.read(len(buffer))
        self.left -= len(chunk)
        if self.left < 0:
            found = f"more than {self.most // storage.MEBIBYTE} MiB of YAML"
            wanted = "JSON at this size (kubectl -o json)"
            raise BadInput([Fault("file", found, wanted)], self.source)
        buffer[: len(chunk)] = chunk
        return len(chunk)


def sizes(paths: Sequence[str]) -> int:
    """The bytes of all files together; those of standard input are not known."""
    return sum(os.stat(p).st_size for p in paths if p != storage.STDIN and os.path.isfile(p))


@contextmanager
def opened(path: str, told: Told = None, size: int = 0, done: int = 0) -> Iterator[IO[bytes]]:
    """A file as a stream of bytes, unpacked if it is gzip; "-" is standard input.

    Parameters
    ----------
    told : called with (bytes read, bytes in all).
    size, done : bytes in all, and those that were read before.

    Raises
    ------
    BadInput : missing, a folder, not readable, or gzip that is damaged.
    """
    source = storage.source_name(path)
    try:
        if path == storage.STDIN:
            raw = cast("IO[bytes]", getattr(sys.stdin, "buffer", sys.stdin))
            if raw is None:
                raise BadInput([Fault("file", "standard input closed", WANTED)], source)
        else:
            open_already = path == "/dev/stdin" or path.startswith("/dev/fd/")
            if not (open_already or stat.S_ISREG(os.stat(path).st_mode)):
                raise BadInput([Fault("file", "no regular file", WANTED)], source)
            raw = open(path, "rb")  # noqa: SIM115 closed below
        try:
            counted = io.BufferedReader(_CountedStream(raw, size, told, done), streams.BUFFER)
            packed = counted.peek(2)[:2] == GZIP
            unpacked = gzip.GzipFile(fileobj=counted) if packed else None
            yield cast("IO[bytes]", unpacked or counted)
        finally:
            if path != storage.STDIN:
                raw.close()
    except FileNotFoundError:
        raise BadInput([Fault("file", "nothing there", WANTED)], source) from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise BadInput([Fault("file", f"damaged gzip ({error})", WANTED)], source) from None
    except OSError as error:
        said = f"unreadable ({error.strerror or error})"
        raise BadInput([Fault("file", said, WANTED)], source) from None


def head(stream: IO[bytes]) -> bytes:
    """The first bytes of a stream, which stay in it."""
    return cast("io.BufferedReader", stream).peek(4096)


def objects(stream: IO[bytes], source: str) -> Iterator[streams.Found]:
    """The objects of a stream of JSON or YAML; errors as of `streams.objects`."""
    first = head(stream)
    if not first.strip():
        raise BadInput([Fault("file", "nothing in it", WANTED)], source)
    if first.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
        stream = cast("IO[bytes]", io.BufferedReader(_Bounded(stream, LARGEST_YAML, source)))
    return streams.objects(stream, first, source)
