"""Files that should hold an array and hold anything else: refused by name, at once."""

from __future__ import annotations

import gc
import io
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt import arrays


def header(shape, kind="<f8") -> bytes:
    out = io.BytesIO()
    told = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, told)
    return out.getvalue()


def zipped() -> bytes:
    out = io.BytesIO()
    np.savez(out, limit=np.ones(10))
    return out.getvalue()


def to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere.npy")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def bytes_of(content: bytes):
    return lambda path: path.write_bytes(content)


def saved(array):
    return lambda path: np.save(path, array)


UNLIKE = {
    "dangling link": (to_nothing, "a link to nothing"),
    "pipe": (pipe, "a pipe or device"),
    "device": (device, "a pipe or device"),
    "folder": (Path.mkdir, "a folder"),
    "zip": (bytes_of(zipped()), "no whole NumPy array"),
    "damaged zip": (bytes_of(b"PK\x03\x04aaaa"), "no whole NumPy array"),
    "cut short": (bytes_of(header((10,)) + b"1234"), "no whole NumPy array"),
    "more than any memory": (bytes_of(header((2**40, 2)) + b"1234"), "no whole NumPy array"),
    "more than a whole number": (bytes_of(header((2**80,))), "no whole NumPy array"),
    "less than nothing": (bytes_of(header((-1,)) + bytes(80)), "no whole NumPy array"),
    "no header": (bytes_of(b"\x93NUMPY\x01\x00\x10\x00{'shape': (((((("), "no whole NumPy array"),
    "empty": (bytes_of(b""), "no whole NumPy array"),
    "objects": (saved(np.array([{}, 1], dtype=object)), "no whole NumPy array"),
    "texts": (saved(np.array(["a"] * 10)), "<U1"),
    "a single number": (saved(np.float64(3)), "a single number"),
}


@pytest.mark.parametrize("kind", UNLIKE)
def test_what_is_no_array_is_refused(tmp_path: Path, kind: str) -> None:
    make, found = UNLIKE[kind]
    path = tmp_path / "limit.npy"
    make(path)
    for read in (arrays.read, arrays.opened):
        with pytest.raises(fo.BadInput) as caught:
            read(path, "an array")
        assert caught.value.faults[0].place == "limit.npy"
        assert caught.value.faults[0].found.startswith(found)


@pytest.mark.parametrize(
    "array", [np.ones((3, 2)), np.zeros((0, 2)), np.arange(4), np.ones(2, bool)]
)
def test_what_was_written_is_read(tmp_path: Path, array: np.ndarray) -> None:
    path = tmp_path / "x.npy"
    arrays.write(path, array)
    assert arrays.read(path, "an array").tobytes() == array.tobytes()
    assert arrays.opened(path, "an array").shape == array.shape


def test_an_output_is_replaced_whatever_it_was(tmp_path: Path) -> None:
    pipe(tmp_path / "x.npy")
    pipe(tmp_path / "x.part")
    arrays.write(tmp_path / "x.npy", np.ones(3))
    assert arrays.read(tmp_path / "x.npy", "an array").tolist() == [1, 1, 1]
    (tmp_path / "y.npy").mkdir()
    with pytest.raises(fo.UsageError, match="y.npy cannot be written"):
        arrays.write(tmp_path / "y.npy", np.ones(3))


def test_more_than_there_is_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    arrays.write(tmp_path / "x.npy", np.ones(2**18))
    monkeypatch.setattr(np, "array", full)
    with pytest.raises(fo.BadInput, match="2 MiB, more than there is memory; wanted smaller part"):
        arrays.read(tmp_path / "x.npy", "an array")


def test_many_threads_read_headers_at_once(tmp_path: Path) -> None:
    """Python 3.11's parser of literals ends in a SystemError if two threads are inside it, as
    happens where somebody listens to the collection of garbage, as Dask does."""
    np.save(tmp_path / "a.npy", np.arange(3.0))
    between, often = sys.getswitchinterval(), gc.get_threshold()

    def listens(*_: object) -> None:
        sum(range(50))

    def read_all(_: int) -> float:
        return sum(arrays.read(tmp_path / "a.npy", "numbers").sum() for _ in range(200))

    gc.callbacks.append(listens)
    try:
        sys.setswitchinterval(1e-6)
        gc.set_threshold(20)
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(read_all, range(16))) == [600.0] * 16
    finally:
        gc.callbacks.remove(listens)
        sys.setswitchinterval(between)
        gc.set_threshold(*often)
