"""The process of a side, seen from outside: started, asked, stopped at a time limit."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from benchmarks.peers.question import Reply
from benchmarks.peers.sides import Side

ROOT = Path(__file__).resolve().parents[2]
THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
START = 60.0
"""seconds a side may take to import and to answer the toy"""
_FIND = """
import json, sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
needs, packages = json.loads(sys.argv[1])
found = {}
for name in packages:
    with suppress(PackageNotFoundError):
        found[name] = version(name)
print(json.dumps([[name for name in needs if find_spec(name) is None], found]))
"""


def environment() -> dict[str, str]:
    """That of this process with one thread, and the checkout on the path."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    quiet = {"RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    return {**os.environ, **quiet, "PYTHONPATH": path, **dict.fromkeys(THREADS, "1")}


@cache
def found(
    python: str, needs: tuple[str, ...], distributions: tuple[str, ...]
) -> tuple[list[str], dict[str, str]]:
    """Modules that the interpreter lacks, and the versions of what it has."""
    done = subprocess.run(
        [python, "-c", _FIND, json.dumps([needs, distributions])],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=ROOT,
        timeout=60,
    )
    if done.returncode:
        return list(needs), {}
    missing, versions = json.loads(done.stdout)
    return missing, versions


def interpreter(side: Side, pythons: Sequence[str]) -> tuple[str | None, dict[str, str], str]:
    """The first interpreter that has what the side needs, its versions; else why there is none."""
    lacking: list[str] = []
    for python in pythons:
        missing, versions = found(python, side.needs, side.distributions)
        if not missing:
            return python, versions, ""
        lacking = missing
    return None, {}, f"not installed: {', '.join(lacking)}"


class Callers:
    """Processes by side: a peer's serves case after case, ours is new in each, for its memory."""

    def __init__(self) -> None:
        self.kept: dict[str, Caller] = {}

    def get(self, side: Side, python: str) -> Caller:
        """A running process of the side."""
        caller = self.kept.get(side.name)
        if caller is None or caller.stopped:
            caller = self.kept[side.name] = Caller(side, python)
        return caller

    def close(self, ours_only: bool = False) -> None:
        """End all processes, or those of ours."""
        for name in list(self.kept):
            if self.kept[name].side.ours or not ours_only:
                self.kept.pop(name).close()


class Caller:
    """The process of one side, for one case after another.

    Parameters
    ----------
    side : whom. python : interpreter.
    """

    def __init__(self, side: Side, python: str) -> None:
        self.side, self.limit, self.stopped = side, START, ""
        self.line, theirs = Pipe()
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.peers.worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=environment(),
            cwd=ROOT,
            start_new_session=True,
        )
        theirs.close()
        self.line.send((side.module, side.options))
        first = self._wait(START)
        self.stopped = first.error if first is not None else self.stopped

    def prepare(self, toy: bytes, question: bytes, limit: float) -> None:
        """Have the toy answered and the question (both pickled) ready; `limit` seconds a call."""
        if self.stopped:
            return
        self.line.send((toy, question))
        if self._wait(START) is None:
            self.stopped = f"{self.stopped} at the toy question"
        self.limit = limit

    def call(self) -> Reply:
        """Ask once; an error or a side stopped earlier answers with why."""
        if self.stopped:
            return Reply(None, error=self.stopped)
        self.line.send(())
        reply = self._wait(self.limit)
        return Reply(None, error=self.stopped) if reply is None else reply

    def _wait(self, limit: float) -> Reply | None:
        """The reply, or None with the process stopped and `stopped` set."""
        try:
            if self.line.poll(limit):
                reply: Reply = self.line.recv()
                return reply
            self.stopped = f"stopped after {limit:g} s"
        except (EOFError, ConnectionError):
            self.stopped = "its process ended"
        self.close()
        return None

    def close(self) -> None:
        """End the process, and what it started."""
        with contextlib.suppress(OSError):
            if not self.stopped:
                self.line.send(None)
        self.line.close()
        if not self.stopped:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
                return
        for pid in [*_below(self.process.pid), self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


def _below(pid: int) -> list[int]:
    """Processes started by this one, and by those, where the system tells."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *_below(child)]
    return found


@contextlib.contextmanager
def burning() -> Iterator[None]:
    """A second process that takes one core as long as this block lasts."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    time.sleep(0.2)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def plain(value: Any) -> Any:
    """What JSON can hold: NumPy numbers as Python's, what is not finite as text."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, float) and not abs(value) < float("inf"):
        return str(value)
    return value
