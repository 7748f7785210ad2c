"""`solve_partitions`: alpha-fairness of more users than fit into memory (docs/maths/many-users.md).

Users are read partition by partition in every pass, here or by the workers of an executor; what
comes back is sums of servers x resources, added in the order of the partitions. So the answer does
not depend on how many workers there are. It is written in partitions too, and judged by three
more passes over what was written.
"""

from __future__ import annotations

import os
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairopt import arrays, clock, storage, threads
from fairopt.allocation.check import Certificate
from fairopt.certificates import partitioned
from fairopt.errors import BadInput, Fault, NotCertified, UsageError
from fairopt.files.partitions import Partitions
from fairopt.formulas import asked as asking
from fairopt.formulas.asked import AlphaAsked
from fairopt.instance import Floats
from fairopt.notions import Notion, on_its_own
from fairopt.solving.engines.smoothed import newton, path
from fairopt.solving.partitions.work import STAGES, KeptPlace, Progress, Work, write_whole

TWICE = 2
"""stages after which users who are read one by one are known as well as floats can be"""


@dataclass(frozen=True, eq=False)
class PartitionedAnswer:
    """An answer in partitions: `tasks-k.npy` (n, I) and `limit_prices-k.npy` (n,) of a folder.

    Parameters
    ----------
    folder : where it was written, with `prices.npy` and `answer.json`.
    prices : (I, R) per unit of resource, scaled so that all prices and limits cost sum phi.
    certificate : the verdict. users : how many. passes : over all users until the
        answer, without those that write and judge it.

    Examples
    --------
    >>> import fairopt as fo, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder)
    ...     cluster = fo.write_partitions(fo.Instance([[1], [2]], [[9]]), path / "in", users=1)
    ...     answer = fo.solve_partitions(cluster, fo.ProportionalFair(), path / "out")
    >>> answer.users, answer.certificate.verdict
    (2, 'certified')
    """

    folder: str
    prices: Floats
    certificate: Certificate
    users: int
    passes: int

    def tasks(self, k: int) -> Floats:
        """(n, I) tasks of the users of a partition."""
        return np.asarray(arrays.read(partitioned.file(self.folder, "tasks", k), "tasks (n, I)"))

    def limit_prices(self, k: int) -> Floats | None:
        """(n,) prices of their limits; None where they have none."""
        name = partitioned.file(self.folder, "limit_prices", k)
        return np.asarray(arrays.read(name, "prices (n,)")) if storage.there(name) else None


def solve_partitions(
    partitions: Partitions | str | os.PathLike[str],
    notion: Notion,
    answer: str | os.PathLike[str],
    executor: Executor | None = None,
    progress: Progress | None = None,
    uncertified: str = "raise",
    sample: int = newton.SAMPLE,
    limit_s: float | None = None,
) -> PartitionedAnswer:
    """Solve an instance whose users are in partitions on disk, and write the answer beside them.

    Parameters
    ----------
    partitions : a folder of partitions, or `fo.Partitions` of it (the layout is described there).
    notion : proportional or alpha-fair (alpha >= 0.1) of tasks.
    answer : folder for the answer; files of the same names are replaced.
    executor : any `concurrent.futures.Executor` whose workers see the same folders: a
        ProcessPoolExecutor, Dask's `client.get_executor()`, ..; None computes here. The bytes of
        the answer are the same.
    progress : called with (passes so far, what is done now).
    uncertified : "raise" NotCertified, or "return" an answer that is not certified.
    sample : how many users give the first prices.
    limit_s : seconds by the clock after which no further step begins, > 0. What the path has
        reached is written and judged, with the bound that is proved of it (`uncertified` decides);
        the next call goes on from there.

    Raises
    ------
    BadInput : with the faults of all partitions (the first five of each kind in each).
    UsageError : another notion. NotCertified : the judge does not accept the answer.

    Examples
    --------
    >>> import fairopt as fo
    >>> import tempfile, pathlib
    >>> cluster = fo.Instance([[1, 4], [3, 1], [2, 2]], [[9, 18]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder)
    ...     _ = fo.write_partitions(cluster, path / "cluster", users=2)
    ...     answer = fo.solve_partitions(path / "cluster", fo.ProportionalFair(), path / "answer")
    >>> answer.certificate.verdict
    'certified'
    """
    if limit_s is not None:
        with clock.limit(clock.checked(limit_s)):
            return solve_partitions(
                partitions, notion, answer, executor, progress, uncertified, sample
            )
    if uncertified not in ("raise", "return"):
        raise UsageError(f"uncertified: found {uncertified!r}; wanted 'raise' or 'return'")
    source = partitions if isinstance(partitions, Partitions) else Partitions(partitions)
    if not isinstance(notion, Notion):
        raise BadInput([Fault("notion", repr(notion), "a notion of fairopt")])
    plain = notion.plain()
    wrong = asking.faults(plain)
    if wrong or on_its_own(notion):
        own = "found a program of its own; wanted the alpha-fair program"
        said = "; ".join(map(str, wrong)) or own
        raise UsageError(f"{notion.name} of users in partitions: {said}")
    work = Work(source, AlphaAsked.of(plain, source.capacity, source.count), executor, progress)
    folder = storage.made_folder(answer)
    with threads.one(), np.errstate(all="ignore"):
        kept_at = KeptPlace(folder / "state.npz", work.key(sample))
        now, stage = work.begin(sample, kept_at)
        while True:
            now = work.follow(now, stage, kept_at)
            ended = work.ended(now)
            found = _judged(work, ended, folder, plain)
            stage += 1
            # read one by one, users are known as well as floats can be once the corner is there
            known = not work.together and (ended is not now or stage == TWICE)
            if found.certificate.certified or known or work.few or stage == len(STAGES):
                break
            if clock.over():
                break
    late = clock.over() and not found.certificate.certified
    if not found.certificate.certified and work.few and not late:
        work.doing = "as one"
        if write_whole(source, notion, folder):
            with threads.one(), np.errstate(all="ignore"):
                prices = arrays.read(folder / "prices.npy", "prices (I, R)")
                found = _said(work, np.asarray(prices), folder, plain, work.passes)
    if not late:
        kept_at.file.unlink(missing_ok=True)
    if not found.certificate.certified and uncertified == "raise":
        checks = "; ".join(str(c) for c in found.certificate.checks if not c.holds)
        raise NotCertified(f"{notion.name}: {found.certificate.said}; {checks}", None)
    return found


def _judged(work: Work, now: path.Where, folder: Path, notion: dict[str, Any]) -> PartitionedAnswer:
    """The answer at a place on the path, written and judged by what was written."""
    passes = work.passes
    with storage.writing(folder / partitioned.ANSWER):
        (folder / partitioned.ANSWER).unlink(missing_ok=True)
    return _said(work, work.write(now, folder), folder, notion, passes)


def _said(
    work: Work, prices: Floats, folder: Path, notion: dict[str, Any], passes: int
) -> PartitionedAnswer:
    """The answer whose tasks and prices are written, judged, with what it says of itself."""
    work.doing = "judge"
    certificate = partitioned.certify(work.source, folder, work.asked, work.each)
    users = sum(work.sizes)
    where = os.path.relpath(work.source.folder, folder)
    text = storage.encoded(
        {
            "schema": partitioned.SCHEMA,
            "notion": notion,
            "partitions": where,
            "users": users,
            "passes": passes,
            "certificate": certificate.to_dict(),
        }
    )
    storage.write_text(folder / partitioned.ANSWER, text + "\n")
    return PartitionedAnswer(os.fspath(folder), prices, certificate, users, passes)
