"""Runs statements over many trials, on any executor, resumable, reproducible by the seed."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, as_completed
from functools import cache
from typing import Any

from fairopt import __version__
from fairopt.errors import FairoptError, UsageError
from fairopt.files.journal import Journal
from fairopt.propositions.counterexamples import model_of
from fairopt.propositions.statement import Statement
from fairopt.propositions.table import selected
from fairopt.propositions.trials import TrialRow, built, chunk, judged, resolved, shrunk

CHUNK = 25
"""trials per piece of work: enough to outweigh sending it, few enough to show progress"""


Told = Callable[[int, int], None]
Work = tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]


def run(
    names: Iterable[str | Statement] | None = None,
    trials: int = 1000,
    seed: int = 0,
    executor: Executor | None = None,
    resume: str | None = None,
    progress: Told | None = None,
) -> list[TrialRow]:
    """Test statements on random instances: as stated, and without each breakable hypothesis.

    Parameters
    ----------
    names : names of statements or papers, or statements themselves; None is the whole table.
    trials : number of trials for every row.
    seed : >= 0. Equal seeds give equal rows, whatever the executor.
    executor : any executor of concurrent.futures; None works in this process.
    resume : a file of JSON lines to which finished pieces of work are appended; those already in
        it are not done again.
    progress : called with (done, of), in pieces of work.

    Returns
    -------
    list of TrialRow : in the order of the table.

    Raises
    ------
    UsageError : an unknown name, fewer than one trial, a negative seed, a resume file of another
        kind or in use.

    Examples
    --------
    >>> from fairopt import propositions
    >>> (row, *_) = propositions.run(['kesidis2018/definition-1-printed'], trials=5)
    >>> row.refuted, row.trials
    (True, 5)
    """
    if trials < 1 or seed < 0:
        wanted = "at least 1 trial and a seed of at least 0"
        raise UsageError(f"propositions: found {trials} trials, seed {seed}; wanted {wanted}")
    given = None if names is None else list(names)
    plan = [
        (statement, without)
        for statement in _statements(given)
        for without in ("", *resolved(statement).breakable())
    ]
    starts = range(0, trials, CHUNK)
    work: list[Work] = [
        (chunk, (statement, without, seed, k, min(k + CHUNK, trials)))
        for statement, without in plan
        for k in starts
    ]
    with Journal(resume, "fairopt/propositions-work/v1") as journal:
        pieces = _done(work, executor, journal, progress, len(work) + len(plan))
        per = len(starts)
        counted = [_merged(pieces[k * per : (k + 1) * per]) for k in range(len(plan))]
        found = [k for k, total in enumerate(counted) if total["smallest"] is not None]
        shrinking: list[Work] = [
            (shrunk, (*plan[k], seed, counted[k]["smallest"][1])) for k in found
        ]
        told = _ahead(progress, len(work) + len(plan) - len(found))
        least = _done(shrinking, executor, journal, told, len(found))
        if progress is not None:
            progress(len(work) + len(plan), len(work) + len(plan))
    smallest = dict(zip(found, least, strict=True))
    return [
        _row(resolved(statement), without, trials, counted[k], smallest.get(k))
        for k, (statement, without) in enumerate(plan)
    ]


def _statements(given: list[str | Statement] | None) -> list[str | Statement]:
    """Names of the table in its order, as a worker can look them up; then the user's statements."""
    if given is None:
        return list(selected())
    own: list[str | Statement] = [s for s in given if isinstance(s, Statement)]
    named = [s for s in given if isinstance(s, str)]
    return [*(selected(named) if named else ()), *own]


def _key(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """The key of a piece of work: version, function, arguments, source code of the statement."""
    statement, *rest = arguments
    found = resolved(statement)
    return json.dumps([__version__, function.__name__, found.name, _source(found.check), *rest])


@cache
def _source(check: Callable[..., Any]) -> str:
    """Digest of the file that defines a check: when it is edited, the statement is tried again."""
    try:
        text = inspect.getsource(sys.modules[check.__module__])
    except (OSError, TypeError, KeyError):
        return ""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _done(
    work: list[Work], executor: Executor | None, journal: Journal, progress: Told | None, of: int
) -> list[dict[str, Any]]:
    """The results of all pieces of work in their order, from the journal where it has them."""
    keys = [_key(*piece) for piece in work]
    for key, piece in zip(keys, work, strict=True):
        if key in journal.known and not _believable(piece, journal.known[key]["result"]):
            journal.refuse(key, "no result of this piece of work")
    results = {key: journal.known[key]["result"] for key in keys if key in journal.known}
    missing = [(key, piece) for key, piece in zip(keys, work, strict=True) if key not in results]
    for key, result in _computed(missing, executor):
        results[key] = result
        journal.add(key, result=result)
        if progress is not None:
            progress(len(results), of)
    return [results[key] for key in keys]


_WORST = ((float, int, str), (int, int, str))
"""kinds of margin, trial and witness"""


def _believable(work: Work, result: Any) -> bool:
    """Whether a result of the journal is plausible: counts add up, a counterexample is one."""
    function, (statement, without, *rest) = work
    try:
        if function is shrunk:
            found, bad = resolved(statement), built(result["instance"])
            again = judged(found, bad, result["seed"])
            told = result["trial"], result["margin"], result["witness"]
            return (
                again.violated
                and again.check is not None
                and found.meets(bad, without)
                and (told == (rest[1], again.check.margin, again.check.witness))
            )
        _, start, stop = rest
        counts = result["held"], result["violated"], *result["undecided"].values()
        worst, smallest = result["worst"], result["smallest"]
        return (
            all(type(k) is int and k >= 0 for k in counts)
            and sum(counts) == stop - start
            and (worst is None) == (counts[0] + counts[1] == 0)
            and (smallest is None) == (result["violated"] == 0)
            and (worst is None or tuple(map(type, worst)) in _WORST)
            and (smallest is None or start <= smallest[1] < stop and smallest[0] >= 1)
        )
    except (FairoptError, AttributeError, KeyError, TypeError, ValueError, IndexError):
        return False


def _computed(
    missing: list[tuple[str, Work]], executor: Executor | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(key, result) of each piece as it is finished."""
    if executor is None:
        for key, (function, arguments) in missing:
            yield key, function(*arguments)
        return
    futures: dict[Future[dict[str, Any]], str] = {
        executor.submit(function, *arguments): key for key, (function, arguments) in missing
    }
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:  # after Ctrl-C or a failure, work that has not started is cancelled
        for future in futures:
            future.cancel()


def _ahead(progress: Told | None, before: int) -> Told | None:
    """Progress of a second batch of work, counted on from the first."""
    if progress is None:
        return None
    return lambda done, of: progress(before + done, before + of)


def _merged(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """The counts of several chunks as one."""
    undecided: dict[str, int] = {}
    for piece in pieces:
        for reason, times in piece["undecided"].items():
            undecided[reason] = undecided.get(reason, 0) + times
    worst = [piece["worst"] for piece in pieces if piece["worst"] is not None]
    smallest = [piece["smallest"] for piece in pieces if piece["smallest"] is not None]
    return {
        "held": sum(piece["held"] for piece in pieces),
        "violated": sum(piece["violated"] for piece in pieces),
        "undecided": undecided,
        "worst": min(worst, default=None, key=lambda w: (w[0], w[1])),
        "smallest": min(smallest, default=None),
    }


def _row(
    statement: Statement,
    without: str,
    trials: int,
    total: dict[str, Any],
    least: dict[str, Any] | None,
) -> TrialRow:
    worst = total["worst"]
    return TrialRow(
        statement.name,
        statement.words,
        statement.source,
        statement.reading,
        without,
        trials,
        total["held"],
        total["violated"],
        total["undecided"],
        None if worst is None else worst[0],
        "" if worst is None else worst[2],
        None if least is None else model_of(statement, without, least),
    )


__all__ = ["TrialRow", "run"]
