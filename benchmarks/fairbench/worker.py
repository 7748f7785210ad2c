"""The measured process of one run: one entrant, one instance, one answer, and it ends.

Started by `running.run` with the name of the entrant's module; reads a line, the JSON text of a
problem. A toy is answered first, so that imports are not measured. Then it says which libraries are
in use, waits for another line, and the time begins.
Needs NumPy, SciPy and what the entrant imports.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
import warnings
from importlib import metadata
from typing import Any

import numpy as np

from benchmarks.fairbench.problem import Cannot, Problem, read
from benchmarks.peers.worker import named, peak_megabytes

LIBRARIES = ("cvxpy", "clarabel", "ecos", "scs", "highspy", "scipy", "numpy", "fairopt")
LIBRARIES += ("linopy", "cvxpy_leximin", "dede", "ray", "resalloc", "torch", "casadi")


def toy(alpha: float) -> Problem:
    """Two users on a server, asked the same notion."""
    words = dict.fromkeys(("name", "family", "title", "source", "licence"), "toy")
    return Problem(
        **words,
        alpha=alpha,
        weight=np.ones(2),
        limit=np.full(2, np.inf),
        pool=np.array([[9.0, 18.0]]),
        user=np.array([0, 1]),
        server=np.array([0, 0]),
        demand=np.array([[1.0, 4.0], [3.0, 1.0]]),
        share=np.ones(2),
    )


def asked(solve: Any, problem: Problem) -> tuple[Any, Any]:
    """Tasks and prices (None without) as plain arrays, whatever the entrant gives."""
    found = solve(problem)
    tasks, prices = found if isinstance(found, tuple) else (found, None)
    if tasks is None:
        raise ValueError("no answer")
    return np.ravel(np.asarray(tasks, float)), prices


def uses() -> dict[str, str]:
    """Versions of the libraries that are loaded, of those that entrants solve with."""
    found = {}
    for name in LIBRARIES:
        if name in sys.modules:
            with contextlib.suppress(metadata.PackageNotFoundError):
                found[name] = metadata.version(name.replace("_", "-"))
    return found


def main() -> None:
    # what a solver prints goes nowhere
    told = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    warnings.simplefilter("ignore")

    def say(what: dict[str, Any]) -> None:
        told.write(json.dumps(what) + "\n")
        told.flush()

    problem = read(sys.stdin.readline())
    try:
        solve = importlib.import_module(sys.argv[1]).solve
    except ImportError as error:
        say({"absent": f"not installed: {error.name or error}"})
        return
    try:
        asked(solve, toy(problem.alpha))
    except ImportError as error:
        say({"absent": f"not installed: {error.name or error}"})
        return
    except Exception:  # the toy is not scored, even if the entrant cannot state it
        pass
    say({"uses": uses()})
    sys.stdin.readline()
    before = peak_megabytes()
    start, processor = time.perf_counter(), time.process_time()
    try:
        tasks, prices = asked(solve, problem)
    except Cannot as error:
        say({"cannot": str(error)})
        return
    except Exception as error:
        say({"failed": named(error), "seconds": time.perf_counter() - start})
        return
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    found = {"seconds": seconds, "processor": processor, "memory": peak_megabytes() - before}
    found["tasks"] = tasks.tolist()
    if prices is not None:
        found["prices"] = np.ravel(np.asarray(prices, float)).tolist()
    say(found)


if __name__ == "__main__":
    main()
