"""Judging an answer in partitions from its files alone: a few passes over what was written.

The answer's folder holds `prices.npy` (I, R), `tasks-k.npy` (n, I) and perhaps `limit_prices-k.npy`
(n,) of every partition, and `answer.json` with the notion and where the partitions are. A verdict
in it is not believed.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fairopt import arrays, storage, threads
from fairopt.allocation import Allocation
from fairopt.allocation.check import Certificate
from fairopt.certificates import fair, filled, filled_rows
from fairopt.certificates import partitions as judge
from fairopt.certificates.partitions import JudgedTerms, Shown
from fairopt.errors import BadInput, Fault
from fairopt.formulas import asked as asking
from fairopt.formulas.asked import AlphaAsked
from fairopt.instance import Floats, Instance, Ints
from fairopt.instance.partition import Partition

ANSWER = "answer.json"
SCHEMA = "fairopt/partitions/v1"
KILLED = "a worker was killed, perhaps for want of memory: this process does what is left, alone"
Each = Callable[..., list[Any]]
"""calls a function with each of a list of arguments, and returns the results in their order"""


class PartitionSource(Protocol):
    """The partitions of a folder: `files.partitions.Partitions`."""

    @property
    def capacity(self) -> Floats:
        """(I, R)."""

    @property
    def count(self) -> Ints:
        """(I,)."""

    def read(self, k: int) -> Partition:
        """The users of a partition."""

    def __len__(self) -> int: ...


def file(folder: str | os.PathLike[str], name: str, k: int) -> Path:
    """A file of an answer in partitions."""
    return Path(folder, f"{name}-{k:05d}.npy")


def head(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What `answer.json` says: the notion, checked, and where the partitions are.

    Raises
    ------
    BadInput : no such file, or not of this form.
    """
    path = Path(folder, ANSWER)
    text = storage.read_text(path, storage.MEBIBYTE, "the answer.json of an answer in partitions")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    given = found if isinstance(found, dict) else {}
    notion = given.get("notion")
    faults = []
    if given.get("schema") != SCHEMA:
        faults.append(Fault("schema", repr(given.get("schema")), SCHEMA))
    if not (
        isinstance(notion, dict)
        and isinstance(notion.get("name"), str)
        and isinstance(notion.get("parameters", {}), dict)
    ):
        faults.append(Fault("notion", repr(notion), 'an object {"name", "parameters"}'))
    else:
        faults.extend(asking.faults(notion))
    if not isinstance(given.get("partitions"), str):
        faults.append(Fault("partitions", repr(given.get("partitions")), "the name of a folder"))
    if faults:
        raise BadInput(faults, ANSWER)
    return given


def read(
    source: PartitionSource, k: int, folder: str | os.PathLike[str]
) -> tuple[Shown | None, list[Fault]]:
    """The users of a partition beside their answer; or what is wrong with the files."""
    try:
        users = source.read(k)
    except BadInput as error:
        return None, list(error.faults)
    faults = users.faults(f"partition {k:05d}", source.capacity)
    wanted = {"tasks": users.placement.shape, "limit_prices": (len(users),)}
    given: dict[str, Floats | None] = {"limit_prices": None}
    for name, shape in wanted.items():
        path = file(folder, name, k)
        if name == "limit_prices" and not storage.there(path):
            continue
        given[name], found = _numbers(path, shape)
        faults.extend(found)
    tasks = given.get("tasks")
    if faults or tasks is None:
        return None, faults
    return Shown(users, tasks, given["limit_prices"]), []


def _numbers(path: Path, shape: tuple[int, ...]) -> tuple[Floats | None, list[Fault]]:
    wanted = f"numbers of shape {shape}"
    try:
        found = arrays.read(path, wanted)
    except BadInput as error:
        return None, list(error.faults)
    if found.shape == shape and found.dtype.kind == "f":
        return found.astype(np.float64, copy=False), []
    return None, [Fault(path.name, f"{found.dtype} {found.shape}", wanted)]


def certify_partitions(
    answer: str | os.PathLike[str],
    partitions: PartitionSource | str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, str], None] | None = None,
) -> Certificate:
    """Judge an answer in partitions by its files alone, with NumPy, in passes over them.

    Parameters
    ----------
    answer : the folder that `solve_partitions` wrote, or anybody in the same form. A verdict in it
        is not believed.
    partitions : the users; None for the folder that `answer.json` names, seen from the answer's.
    executor, progress : as of `solve_partitions`. The verdict has the same digits wherever its
        sums are computed.

    Raises
    ------
    BadInput : every file of either that is missing, cut short, or holds other numbers.

    Examples
    --------
    >>> import fairopt as fo
    >>> import tempfile, pathlib
    >>> cluster = fo.Instance([[1, 4], [3, 1], [2, 2]], [[9, 18]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder)
    ...     _ = fo.write_partitions(cluster, path / "cluster", users=2)
    ...     _ = fo.solve_partitions(path / "cluster", fo.ProportionalFair(), path / "answer")
    ...     verdict = fo.certify_partitions(path / "answer").verdict
    >>> verdict
    'certified'
    """
    said = head(answer)
    if partitions is None:
        partitions = Path(answer, said["partitions"])
    if isinstance(partitions, str | os.PathLike):
        from fairopt.files.partitions import Partitions

        partitions = Partitions(partitions)
    source = partitions
    asked = AlphaAsked.of(said["notion"], source.capacity, source.count)
    each = each_of(executor)
    passes = count(1)

    def counted(*given: Any) -> list[Any]:
        found = each(*given)
        if progress is not None:
            progress(next(passes), "judge")
        return found

    with threads.one(), np.errstate(all="ignore"):
        return certify(source, answer, asked, counted)


def alone(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with one BLAS thread, so that sums are the same everywhere."""
    with threads.one(), np.errstate(all="ignore"):
        return function(*args)


def each_of(executor: Executor | None) -> Each:
    """Calls a function with each of a list of arguments, here or by an executor, in their order.

    A pool of processes of which one was killed computes nothing more. What it has not computed is
    then computed here, to the same bytes.
    """

    def each(function: Callable[..., Any], *args: list[Any]) -> list[Any]:
        if executor is None:
            return list(map(function, *args))
        try:
            return list(executor.map(alone, [function] * len(args[0]), *args))
        except BrokenExecutor:
            warnings.warn(KILLED, RuntimeWarning, stacklevel=2)
            return list(map(alone, [function] * len(args[0]), *args))

    return each


def certify(
    source: PartitionSource, folder: str | os.PathLike[str], asked: AlphaAsked, each: Each
) -> Certificate:
    """The verdict on the files of an answer, in passes over them.

    Raises
    ------
    BadInput : every file that is missing, cut short or of another shape.
    """
    parts = len(source)
    prices, faults = _numbers(Path(folder, "prices.npy"), asked.pool.shape)
    places: list[list[Any]] = [[source] * parts, list(range(parts)), [folder] * parts]

    def passed(function: Callable[..., Any], *rest: Any) -> list[Any]:
        return each(function, *places, *([one] * parts for one in rest))

    terms = JudgedTerms.of(asked, asked.pool if prices is None else prices)
    checked = passed(_first, terms)
    faults += [fault for found, _, _ in checked for fault in found]
    if faults:
        raise BadInput(faults, os.fspath(folder))
    sizes = [size for _, size, _ in checked]
    first = _added([one for _, _, one in checked])
    if not all(check.holds for check in judge.feasible(first, terms)):
        return judge.verdict(terms, first, np.inf, 0)
    pairs = sum(sizes) * len(asked.capacity)
    if judge.fits(pairs):
        return together([_shown(source, k, os.fspath(folder)) for k in range(parts)], terms)
    second = _added(passed(_asked, judge.spent, terms, first))
    filling = filled_rows.Filling.of(terms, first, second, pairs)
    full, eps, _ = filled_rows.fill(FilePasses(passed), terms, filling)
    if full is not None:
        found = passed(_worst, filled.farthest, terms, first, full, eps)
    else:
        third = _added(passed(_asked, judge.errors, terms, first, second))
        found = passed(
            _worst, judge.farthest, terms, first, second, third.whole(terms, first, second)
        )
    worst = int(np.argmax([off for off, _ in found]))
    return judge.verdict(terms, first, found[worst][0], sum(sizes[:worst]) + found[worst][1])


def together(shown: Sequence[Shown], terms: JudgedTerms) -> Certificate:
    """The verdict on all partitions as one instance."""
    asked = terms.asked
    parts = [one.users for one in shown]
    demand, placement, weight, limit = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("demand", "placement", "weight", "limit")
    )
    inst = Instance(demand, asked.capacity, placement, weight, limit, asked.count)
    notion = {
        "name": "alpha-fair",
        "parameters": {
            "alpha": asked.alpha,
            "weight_inside": asked.inside,
            "criterion": asked.criterion,
        },
    }
    tasks, mu = (np.concatenate([getattr(one, name) for one in shown]) for name in ("tasks", "mu"))
    return fair.judge(Allocation(inst, notion, tasks, terms.prices, mu))


@dataclass(frozen=True, eq=False)
class FilePasses:
    """Passes over the files of an answer, whose tasks are those after some fillings: a pass works
    them out again, as nothing is written."""

    passed: Callable[..., list[Any]]
    before: tuple[filled_rows.Filling, ...] = ()

    def summed(self, terms: JudgedTerms, filling: filled_rows.Filling) -> filled_rows.RowSums:
        """The sums of all users at a filling."""
        found: filled_rows.RowSums = _added(
            self.passed(_asked, filled.summed_after, self.before, terms, filling)
        )
        return found

    def moved(self, terms: JudgedTerms, filling: filled_rows.Filling) -> FilePasses:
        """The same with the tasks of the point of this filling."""
        return FilePasses(self.passed, (*self.before, filling))


def _added(found: list[Any]) -> Any:
    """The sum, in the order of partitions."""
    first, *others = found
    for one in others:
        first = first + one
    return first


def _shown(source: PartitionSource, k: int, folder: str) -> Shown:
    found, faults = read(source, k, folder)
    if found is None:
        raise BadInput(faults, os.fspath(folder))
    return found


def _first(
    source: PartitionSource, k: int, folder: str, terms: JudgedTerms
) -> tuple[list[Fault], int, judge.Used | None]:
    shown, faults = read(source, k, folder)
    if shown is None:
        return faults, 0, None
    return [], len(shown.users), _added([judge.used(some, terms) for some in shown.pieces()])


def _asked(
    source: PartitionSource, k: int, folder: str, of: Callable[..., Any], *known: Any
) -> Any:
    """What a question (`judge.spent`, `filled.summed_after`, ...) finds in a partition."""
    return _added([of(some, *known) for some in _shown(source, k, folder).pieces()])


def _worst(
    source: PartitionSource, k: int, folder: str, of: Callable[..., Any], *known: Any
) -> tuple[float, int]:
    """The user of a partition who may be farthest, by `judge.farthest` or `filled.farthest`."""
    found = [of(some, *known) for some in _shown(source, k, folder).pieces()]
    worst = int(np.argmax([off for off, _ in found]))
    return found[worst][0], worst * judge.PIECE + found[worst][1]
