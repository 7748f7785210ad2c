"""The measured process of one side: answers one question as often as it is asked.

Started by `calls.Caller` with the number of a socket; reads (side's module, options), then for
every case (toy question, question): the toy is answered at once, so that imports are not measured,
and the question at every empty request, unpickled afresh each time. Needs NumPy and the side's own
modules only.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import re
import sys
import time
import traceback
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.peers.question import Reply


def peak_megabytes() -> float:
    """Largest resident memory of this process so far; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        # the other figure below may be that of the process that started this one
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return float(line.split()[1]) / 2**10
    try:
        import resource
    except ImportError:
        return 0.0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(used) / (2**20 if sys.platform == "darwin" else 2**10)


def named(error: Exception) -> str:
    """The error in a line, without addresses and paths; of a long one the cause, which is last."""
    lines = "".join(traceback.format_exception_only(error)).strip().splitlines()
    line = lines[0] if len(lines) < 3 else f"{type(error).__name__}: {lines[-1].strip()}"
    return re.sub(r"\x1b\[\d+m|\([^()]*\bip=[^()]*\)?|(?<!\w)/[\w./-]+", "", line)[:200]


def measured(solve: Any, question: bytes, options: dict[str, Any], before: float) -> Reply:
    """One call of a side."""
    given = pickle.loads(question)
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        answer = solve(given, **options)
    except Exception as error:
        wall = time.perf_counter() - wall
        return Reply(None, wall, peak=peak_megabytes(), before=before, error=named(error))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Reply(answer, wall, cpu, peak_megabytes(), before)


def main() -> None:
    # a solver that prints must not hold us up
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    warnings.simplefilter("ignore")
    line = Connection(int(sys.argv[1]))
    module, options = line.recv()
    try:
        solve = importlib.import_module(f"benchmarks.peers.sides.{module}").solve
    except ImportError as error:
        line.send(Reply(None, error=f"{type(error).__name__}: {error}"))
        return
    line.send(Reply(None))
    question, before = b"", 0.0
    while (asked := line.recv()) is not None:
        if asked:
            toy, question = asked
            measured(solve, toy, options, 0.0)
            before = peak_megabytes()
            line.send(Reply(None))
        else:
            line.send(measured(solve, question, options, before))


if __name__ == "__main__":
    main()
