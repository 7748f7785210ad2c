"""The driver of a sweep: hands points to workers and collects and records the rows."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import nullcontext
from typing import Any

from fairopt import fast, threads
from fairopt.errors import BadInput, UsageError
from fairopt.files.journal import Journal
from fairopt.instance import Instance
from fairopt.storage import encoded
from fairopt.sweeping import worker
from fairopt.sweeping.points import SweepPoint, points_of, refuse_unkeyed, versions
from fairopt.sweeping.result import Sweep
from fairopt.sweeping.worker import Chunk, empty, solve_chunk

SECONDS = 0.25
"""target time of a chunk: long beside the cost of sending it, short if it is lost"""
LARGEST_CHUNK = 256
"""most points in a chunk"""
SCHEMA, OLDER = "fairopt/sweep-points/v2", "fairopt/sweep-points/v1"
"""of resume files; version 1 holds no answers that could be judged"""
Finish = Callable[[int, dict[str, Any]], None]


def sweep(
    instance: Instance | None,
    notions: Iterable[Any],
    executor: Executor | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    solver: str = "auto",
    gap: float = 1e-6,
    polish: bool = True,
    measures: bool = True,
    parameters: Iterable[Mapping[str, Any]] | None = None,
    answers: bool = False,
) -> Sweep:
    """Solve, judge and measure many points; one row each, in input order.

    Every point is solved independently, so its row does not depend on the order of points, the
    number of workers, the executor or the resume file. A point that fails is a row with the reason.
    From `fairopt.fast.MANY_ANSWERS` points on the steps of small answers are compiled, where numba
    is installed (docs/how-to/sweep.md).

    Parameters
    ----------
    instance : the cluster for entries that are notions; None if all entries are pairs.
    notions : notions, or pairs (instance, notion), or both.
    executor : any `concurrent.futures.Executor`: a ProcessPoolExecutor (use the start method
        spawn), Dask's `client.get_executor()`, ...; None solves here. It is not shut down.
    resume : a file of JSON lines: points in it are not solved again, finished points are appended.
        A point is identified by the content of instance, notion and settings and by the versions
        of fairopt and the solvers; its answer is judged again. Points without an answer are not
        kept. A line that is damaged, or whose row does not follow from its answer, is reported
        by a JournalWarning, and its point is solved again.
    progress : called in this process with (done, of), first with the points in `resume`.
    solver, gap, polish : as in `fairopt.solve`.
    measures : also compute `fairopt.measures.measure` of every answer.
    parameters : the swept values, one mapping per point, for the rows' "parameters"; default the
        parameters of the notion.
    answers : also keep the tasks and prices of every point, for `Sweep.answer` and for the servers
        on the page of `fairopt report`.

    Returns
    -------
    Sweep : `.rows`, and methods to draw, save and tabulate them.

    Raises
    ------
    BadInput : entries of `notions` that are neither a notion nor a pair.
    UsageError : an unknown solver or gap; a resume file of another kind or in use; a callable
        criterion with `resume`; a worker with other versions than this process.

    Examples
    --------
    >>> import fairopt as fo
    >>> inst = fo.read("kesidis2016/no-penalty").instance
    >>> found = fo.sweep(inst, [fo.AlphaFair(a) for a in (0.5, 1, 2)])
    >>> found
    Sweep(3 points over alpha, 3 certified)
    >>> [round(row["totals"]["n1"], 3) for row in found.rows]
    [3.411, 2.916, 2.7]
    """
    settings = {"solver": solver, "gap": gap, "polish": polish}
    _sensible(settings)
    wanted, journal = list(notions), None
    with fast.answers(len(wanted)):
        points = points_of(instance, wanted, parameters, {**settings, "measures": measures})
        if resume is not None:
            refuse_unkeyed(points)
            journal = journal_of(resume)
        with journal or nullcontext():
            rows = _SweepRun(points, settings, measures, journal, progress, answers).rows(executor)
    found = [
        {"index": k, "parameters": point.parameters, "notion": point.plain, **row}
        for k, (point, row) in enumerate(zip(points, rows, strict=True))
    ]
    if not answers:
        return Sweep(tuple(found))
    instances = {point.digest: point.instance for point in points}
    place = {digest: k for k, digest in enumerate(instances)}
    return Sweep(
        tuple({**row, "instance": place[p.digest]} for row, p in zip(found, points, strict=True)),
        tuple(instances.values()),
    )


def journal_of(path: str | os.PathLike[str]) -> Journal:
    """The resume file: rows, with the tasks and prices by which they are judged when read."""
    return Journal(path, SCHEMA, ("row", "answer"), OLDER, encoded)


def _sensible(settings: Mapping[str, Any]) -> None:
    from fairopt.solving import check_settings

    check_settings(settings["solver"], settings["gap"])


class _SweepRun:
    """One sweep under way."""

    def __init__(
        self,
        points: Sequence[SweepPoint],
        settings: Mapping[str, Any],
        measures: bool,
        journal: Journal | None,
        progress: Callable[[int, int], None] | None,
        answers: bool = False,
    ) -> None:
        self.points, self.settings, self.measures = points, settings, measures
        self.journal, self.progress, self.answers = journal, progress, answers
        self.kept = answers or journal is not None
        self.found: list[dict[str, Any] | None] = [None] * len(points)
        self.done = 0
        # equal points are solved once
        self.same: dict[str, list[int]] = {}
        for k, point in enumerate(points):
            self.same.setdefault(point.key or f"#{k}", []).append(k)

    def rows(self, executor: Executor | None) -> list[dict[str, Any]]:
        todo = []
        for key, positions in self.same.items():
            row = self._known(key, positions[0])
            if row is None:
                todo.append(positions[0])
            else:
                self._keep(positions, row)
        if self.progress is not None:
            self.progress(self.done, len(self.points))
        if executor is None:
            self._here(todo[:1])  # imports the solvers and their BLAS
            with threads.one():
                self._here(todo[1:])
        elif todo:
            _ChunkSender(executor, self.chunk, self.finish).run(todo)
        return [row for row in self.found if row is not None]

    def _known(self, key: str, k: int) -> dict[str, Any] | None:
        """The row of a point from the resume file, if it follows from the answer kept with it."""
        if self.journal is None or key not in self.journal.known:
            return None
        point, entry = self.points[k], self.journal.known[key]
        digest = point.digest if self.measures else None
        try:
            row = worker.judged(point.instance, point.plain, self.settings, digest, entry["answer"])
        except (BadInput, TypeError, ValueError) as error:
            self.journal.refuse(key, " ".join(str(error).split()))
            return None
        wrong = worker.differing(row, entry["row"])
        if wrong:
            self.journal.refuse(key, f"{', '.join(wrong)} not as its tasks and prices say")
            return None
        return {**row, "answer": entry["answer"]} if self.answers else row

    def _here(self, todo: Sequence[int]) -> None:
        for k in todo:
            point = self.points[k]
            digest = point.digest if self.measures else None
            self.finish(
                k, worker.row_of(point.instance, point.notion, self.settings, digest, self.kept)
            )

    def chunk(self, positions: Sequence[int]) -> Chunk:
        """The points as plain data, each instance once."""
        place: dict[int, int] = {}
        instances: list[Instance] = []
        digests: list[str] = []
        orders: list[tuple[int, Any]] = []
        for k in positions:
            point = self.points[k]
            if id(point.instance) not in place:
                place[id(point.instance)] = len(instances)
                instances.append(point.instance)
                digests.append(point.digest)
            orders.append((place[id(point.instance)], point.order))
        return Chunk(
            instances,
            digests,
            orders,
            self.settings,
            self.measures,
            self.kept,
            versions(),
            len(self.points),
        )

    def finish(self, k: int, row: dict[str, Any]) -> None:
        """Record the point, then count it."""
        key, answer = self.points[k].key, row.pop("answer", None)
        if self.journal is not None and key is not None and answer is not None:
            self.journal.add(key, notion=self.points[k].plain, row=row, answer=answer)
        if self.answers and answer is not None:
            row = {**row, "answer": answer}
        self._keep(self.same[key or f"#{k}"], row)
        if self.progress is not None:
            self.progress(self.done, len(self.points))

    def _keep(self, positions: Sequence[int], row: dict[str, Any]) -> None:
        for k in positions:
            self.found[k] = row
        self.done += len(positions)


class _ChunkSender:
    """Sends chunks to an executor, a few at a time, sized by how long the last ones took."""

    def __init__(
        self, executor: Executor, chunk: Callable[[Sequence[int]], Chunk], finish: Finish
    ) -> None:
        self.executor, self.chunk, self.finish = executor, chunk, finish
        self.workers = _workers(executor)
        self.size = 1
        self.queue: deque[int] = deque()
        self.alone: deque[int] = deque()
        """points of lost chunks, to be tried once more, one by one"""
        self.flight: dict[Future[Any], list[int]] = {}

    def run(self, todo: Sequence[int]) -> None:
        self.queue.extend(todo)
        try:
            while self.queue or self.alone or self.flight:
                self._submit()
                for future in wait(self.flight, return_when=FIRST_COMPLETED).done:
                    self._take(self.flight.pop(future), future)
        except BaseException:
            for future in self.flight:
                future.cancel()
            raise

    def _submit(self) -> None:
        while (self.queue or self.alone) and len(self.flight) < 2 * self.workers + 1:
            batch = self._batch()
            try:
                self.flight[self.executor.submit(solve_chunk, self.chunk(batch))] = batch
            except Exception as error:  # the executor is broken or shut down
                self._lost([*batch, *self.alone, *self.queue], error)
                self.queue.clear()
                self.alone.clear()

    def _batch(self) -> list[int]:
        if self.alone:
            return [self.alone.popleft()]
        share = math.ceil(len(self.queue) / (2 * self.workers))
        return [self.queue.popleft() for _ in range(min(self.size, share))]

    def _take(self, batch: list[int], future: Future[Any]) -> None:
        try:
            rows, seconds = future.result()
        except UsageError:  # the worker has other versions: it can solve no point
            raise
        except Exception as error:  # the worker died, or sending failed
            if len(batch) > 1 and not isinstance(error, BrokenExecutor):
                self.alone.extend(batch)
            else:
                self._lost(batch, error)
            return
        self.size = max(1, min(LARGEST_CHUNK, int(SECONDS * len(batch) / max(seconds, 1e-9))))
        for k, row in zip(batch, rows, strict=True):
            self.finish(k, row)

    def _lost(self, batch: Sequence[int], error: BaseException) -> None:
        said = " ".join(str(error).split()) or "no message"
        for k in batch:
            self.finish(k, empty("error", f"executor: {type(error).__name__}: {said}"))


def _workers(executor: Executor) -> int:
    """How many points the executor solves at a time; a guess if it does not say."""
    most = getattr(executor, "_max_workers", None)
    if isinstance(most, int):
        return max(1, most)
    client = getattr(executor, "_client", None)  # Dask: threads of all its workers
    if client is not None and hasattr(client, "nthreads"):
        return max(1, int(sum(client.nthreads().values())))
    return os.cpu_count() or 1
