"""Independent replications over an executor, kept in a resume file, and what may be said of them.

A replication is a function of plain data and gives plain data; its random numbers come from the
seed and its own number alone, so that nothing depends on who runs it, or in which order.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from fairopt.files.journal import Journal

SCHEMA = "fairopt/simulation-work/v1"
Piece = Mapping[str, Any]
Progress = Callable[[int, int], None]


def generator(seed: int, number: int) -> np.random.Generator:
    """The random numbers of replication `number`; every rule is given the same."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


def run(
    function: Callable[[Piece], dict[str, Any]],
    pieces: Sequence[Piece],
    executor: Executor | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    believed: Callable[[Any], bool] = lambda result: True,
) -> list[dict[str, Any]]:
    """What `function` makes of every piece, in their order.

    Parameters
    ----------
    function : of a module, so that another process finds it; from JSON data to JSON data.
    executor : any `concurrent.futures.Executor` (start method spawn); None works here.
    resume : a file of JSON lines: what it holds is not done again, what finishes is added. Pieces
        are found again by the function's name, their content and the version of fairopt.
    progress : called with (done, of).
    believed : whether a result may be one; what the file holds and is not believed is told by a
        JournalWarning and done again, a new one that is not is an error of ours.
    """
    keys = [_key(function, piece) for piece in pieces]
    with Journal(resume, SCHEMA) as journal:
        for key in keys:
            if key in journal.known and not believed(journal.known[key]["result"]):
                journal.refuse(key, "its numbers contradict one another")
        found = {key: journal.known[key]["result"] for key in keys if key in journal.known}
        missing = {k: p for k, p in zip(keys, pieces, strict=True) if k not in found}
        if progress is not None:
            progress(len(found), len(pieces))
        for key, result in _finished(function, missing, executor):
            if not believed(result):
                raise RuntimeError(f"a simulation contradicts itself: {result}")
            journal.add(key, result=result)
            found[key] = result
            if progress is not None:
                progress(len(found), len(pieces))
    return [found[key] for key in keys]


def _key(function: Callable[..., Any], piece: Piece) -> str:
    from fairopt import __version__

    named = [function.__module__, function.__qualname__, __version__, piece]
    return sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:24]


def _finished(
    function: Callable[[Piece], dict[str, Any]],
    missing: Mapping[str, Piece],
    executor: Executor | None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    if executor is None:
        for key, piece in missing.items():
            yield key, function(piece)
        return
    futures: dict[Future[dict[str, Any]], str] = {
        executor.submit(function, piece): key for key, piece in missing.items()
    }
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:  # interrupted, or one failed: what has not begun is not begun
        for future in futures:
            future.cancel()


class Estimate(NamedTuple):
    """A mean over replications and its 95% interval by Student's t; one replication has none.

    Examples
    --------
    >>> from fairopt.dynamics import Estimate
    >>> Estimate(2.0, 1.5, 2.5)
    Estimate(mean=2.0, low=1.5, high=2.5)
    """

    mean: float
    low: float
    high: float

    def apart(self, other: Estimate) -> bool:
        """Whether the intervals do not touch."""
        return self.high < other.low or other.high < self.low

    def over(self, work: float) -> Estimate:
        """work / this: a mean rate from a mean time, with the interval's ends swapped."""
        return Estimate(
            work / self.mean, work / self.high, work / self.low if self.low > 0 else math.inf
        )


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and interval of independent values; NaN where there are none."""
    from scipy.stats import t

    sample = np.asarray(values, dtype=np.float64)
    if not len(sample) or np.isnan(sample).any():
        return Estimate(math.nan, math.nan, math.nan)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Estimate(mean, -math.inf, math.inf)
    half = float(t.ppf(0.975, len(sample) - 1) * sample.std(ddof=1) / math.sqrt(len(sample)))
    return Estimate(mean, mean - half, mean + half)
