"""`solve_partitions`: alpha-fairness of more users than fit into memory (docs/maths/many-users.md).

Users are read partition by partition in every pass, here or by the workers of an executor; what
comes back is sums of servers x resources, added in the order of the partitions. So the answer does
not depend on how many workers there are. It is written in partitions too, and judged by three
more passes over what was written.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from fairopt import __version__, threads
from fairopt.allocation.check import Certificate
from fairopt.certificates import partitions as judge
from fairopt.errors import BadInput, Fault, NotCertified, UsageError
from fairopt.files.partitions import Partitions
from fairopt.formulas import families
from fairopt.instance import Floats, Ints
from fairopt.notions import Notion
from fairopt.solving.engines.smoothed import kept, method, path, spread
from fairopt.solving.engines.smoothed.prices import Prices
from fairopt.solving.engines.smoothed.sharp import Sharp
from fairopt.solving.engines.smoothed.smooth import Smooth

Progress = Callable[[int, str], None]
CLOSER = (2e-13, 1e-12), (2e-14, 1e-13)
"""where the path goes on to while what it ended with is not certified, ten times closer each: the
judge holds the sum of all errors against the lightest user"""


@dataclass(frozen=True, eq=False)
class PartitionedAnswer:
    """An answer in partitions: `tasks-k.npy` (n, I) and `limit_prices-k.npy` (n,) of a folder.

    Parameters
    ----------
    folder : where it was written, with `prices.npy` and `answer.json`.
    prices : (I, R) per unit of resource, scaled so that all prices and limits cost sum phi.
    certificate : the verdict. users : how many. passes : over all users, without the judge's.
    """

    folder: str
    prices: Floats
    certificate: Certificate
    users: int
    passes: int

    def tasks(self, k: int) -> Floats:
        """(n, I) tasks of the users of a partition."""
        found: Floats = np.load(_file(self.folder, "tasks", k))
        return found

    def limit_prices(self, k: int) -> Floats | None:
        """(n,) prices of their limits; None where they have none."""
        name = _file(self.folder, "limit_prices", k)
        return np.load(name) if name.is_file() else None


def solve_partitions(
    partitions: Partitions | str | os.PathLike[str],
    notion: Notion,
    answer: str | os.PathLike[str],
    executor: Executor | None = None,
    progress: Progress | None = None,
    uncertified: str = "raise",
    sample: int = method.SAMPLE,
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

    Raises
    ------
    BadInput : with the faults of all partitions (the first five of each kind in each).
    UsageError : another notion. NotCertified : the judge does not accept the answer.
    """
    if uncertified not in ("raise", "return"):
        raise UsageError(f"uncertified: found {uncertified!r}; wanted 'raise' or 'return'")
    source = partitions if isinstance(partitions, Partitions) else Partitions(partitions)
    alpha, inside = _asked(notion)
    work = _Work(source, alpha, inside, executor, progress)
    folder = Path(answer)
    folder.mkdir(parents=True, exist_ok=True)
    with threads.one(), np.errstate(all="ignore"):
        kept_at = _Kept(folder / "state.npz", work.key(sample))
        now = work.solve(sample, kept_at)
        found = work.written(now, folder)
        for last, close in CLOSER:
            if found.certificate.verdict != "certified":
                now = path.follow(now, work.part, last, close, keep=kept_at.write)
                found = work.written(now, folder)
    if found.certificate.verdict != "certified" and uncertified == "raise":
        checks = "; ".join(str(c) for c in found.certificate.checks if not c.holds)
        raise NotCertified(f"{notion.name}: {found.certificate.verdict}; {checks}", None)
    return found


def _asked(notion: Any) -> tuple[float, bool]:
    """alpha, and whether weights count inside the power."""
    if not isinstance(notion, Notion):
        raise BadInput([Fault("notion", repr(notion), "a notion of fairopt")])
    kind = families.member(notion.plain())
    alpha = float(kind["parameters"].get("alpha", 0.0)) if kind["name"] == "alpha-fair" else 0.0
    if alpha < method.FLATTEST or notion.criterion != "tasks":
        raise UsageError(
            f"notion: found {notion.name} (criterion {notion.criterion!r}); users in partitions "
            f"are answered for proportional and alpha-fair, alpha >= {method.FLATTEST}, of tasks"
        )
    return alpha, bool(kind["parameters"].get("weight_inside", False))


class _Work:
    """One call: the passes, wherever they are computed."""

    def __init__(
        self, source: Partitions, alpha: float, inside: bool, executor: Executor | None,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        self.source, self.executor, self.progress = source, executor, progress
        self.parts, self.passes, self.doing = range(len(source)), 0, "check"
        self.alpha, self.inside = alpha, inside
        self.total = source.capacity.sum(axis=0)
        self.terms = spread.Terms(alpha, inside, self.total)
        checked = self.each(_checked, [source] * len(self.parts), list(self.parts))
        faults = [fault for _, found, _ in checked for fault in found]
        if faults:
            raise BadInput(faults, source.folder)
        self.sizes = [size for size, _, _ in checked]
        self.digests = [digest for _, _, digest in checked]

    def key(self, sample: int) -> str:
        """What a place on the path belongs to: the users, what is asked, and the version."""
        asked = (__version__, self.alpha, self.inside, sample, self.digests)
        capacity = self.source.capacity.tobytes()
        return hashlib.sha256(repr(asked).encode() + capacity).hexdigest()

    def each(self, function: Callable[..., Any], *args: list[Any]) -> list[Any]:
        """The results of a function of every partition, in the order of partitions."""
        if self.executor is None:
            found = list(map(function, *args))
        else:
            found = list(self.executor.map(_alone, [function] * len(args[0]), *args))
        self.passes += 1
        if self.progress is not None:
            self.progress(self.passes, self.doing)
        return found

    # -- the answer ---------------------------------------------------------------------------

    @property
    def part(self) -> Floats:
        """(I, R) capacity in the units of the path."""
        return np.asarray(self.source.capacity / self.total)

    def solve(self, sample: int, before: _Kept) -> path.Where:
        """The end of the path, begun anew or where it was left."""
        size, capacity = sum(self.sizes), self.part
        rng = np.random.default_rng(1)
        pick = rng.choice(size, min(size, sample), replace=False)
        firsts = np.cumsum([0, *self.sizes])
        rows = [
            np.sort(pick[(pick >= firsts[k]) & (pick < firsts[k + 1])]) - firsts[k]
            for k in self.parts
        ]
        some = self.each(_picked, *self._same(self.terms), rows)
        users = spread.joined(some)
        users = users.some(rng.permutation(len(users)))
        prices, none = Prices.apart(1 / capacity), users.some(np.zeros(0, np.int64))
        told = spread.Spread(
            self.source, len(self.parts), self.terms, self.each, size, users, prices, 1.0,
            Sharp(none, Smooth(none), prices, 1.0), [np.zeros(0, np.int64)] * len(self.parts),
        )  # fmt: skip
        self.doing = "prices"
        now = before.read(told)
        if now is None:
            begun = method.begin(users, capacity, size)
            told = replace(told, prices=Prices.apart(begun.prices), tau=begun.tau)
            now = path.Where(told, told.prices, begun.free, begun.tau)
        return path.follow(now, capacity, method.LAST, keep=before.write)

    def _same(self, *rest: Any) -> list[list[Any]]:
        """Arguments (source, k, ..) for every partition."""
        count = len(self.parts)
        return [[self.source] * count, list(self.parts), *([one] * count for one in rest)]

    def written(self, now: path.Where, folder: Path) -> PartitionedAnswer:
        """Write the answer, made feasible, and judge what was written."""
        told, passes = now.told, self.passes
        assert isinstance(told, spread.Spread)
        (folder / "answer.json").unlink(missing_ok=True)
        ends = np.cumsum([len(at) for at in told.at])[:-1]
        sharp = np.split(np.column_stack([told.sharp.x, told.sharp.mu]), ends)
        args = [
            (self.source, k, self.terms, told.at[k], now.prices, now.tau) for k in self.parts
        ]
        self.doing = "answer"
        raw = self.each(_write, args, sharp, [folder] * len(args))
        pool = self.source.capacity
        used, money, weight = (sum(part[j] for part in raw) for j in range(3))
        over = np.maximum((used / pool).max(axis=1), 1.0)
        prices = now.prices.all / self.total
        factor = float(weight / ((prices * pool).sum() + money))
        prices = prices * factor
        np.save(folder / "prices.npy", prices)
        self.each(_fit, *self._same(folder, over, factor))
        certificate = self.judged(folder, prices)
        found = PartitionedAnswer(
            os.fspath(folder), prices, certificate, sum(self.sizes), passes
        )
        told_of = {
            "users": found.users, "passes": passes, "verdict": certificate.verdict,
            "gap": certificate.gap, "residual": certificate.residual,
            "checks": {c.name: [c.holds, c.residual] for c in certificate.checks},
        }  # fmt: skip
        (folder / "answer.json").write_text(json.dumps(told_of, indent=1) + "\n", encoding="utf-8")
        (folder / "state.npz").unlink(missing_ok=True)
        return found

    def judged(self, folder: Path, prices: Floats) -> Certificate:
        """The verdict on the files of an answer."""
        self.doing = "judge"
        terms = judge.Terms(self.alpha, self.inside, prices, self.source.capacity)
        first, *rest = self.each(_first, *self._same(folder, terms))
        for one in rest:
            first = first + one
        second, *others = self.each(_second, *self._same(folder, terms, first))
        for one in others:
            second = second + one
        last = self.each(_third, *self._same(folder, terms, first, second))
        third, before = last[0], self.sizes[0]
        for one, size in zip(last[1:], self.sizes[1:], strict=True):
            third, before = third.after(one, before), before + size
        return judge.verdict(terms, first, second, third)


@dataclass(frozen=True)
class _Kept:
    """The place on the path in a file, until the answer is written."""

    file: Path
    key: str

    def read(self, begin: spread.Spread) -> path.Where | None:
        """The place, or None if there is none, or not of this question, or it was damaged."""
        try:
            with np.load(self.file) as found:
                arrays = {name: found[name] for name in found.files}
            return kept.place(arrays, begin) if arrays["key"].item() == self.key else None
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None

    def write(self, now: path.Where) -> None:
        """Replace the file by the present place."""
        part = self.file.with_suffix(".part")
        with open(part, "wb") as file:
            np.savez(file, key=self.key, **kept.arrays(now))
        os.replace(part, self.file)


# -- what is done with one partition, here or by a worker ------------------------------------------


def _alone(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with one BLAS thread, so that sums are the same everywhere."""
    with threads.one(), np.errstate(all="ignore"):
        return function(*args)


def _checked(source: Partitions, k: int) -> tuple[int, list[Fault], str]:
    """Number of users, faults, and digest of a partition."""
    part, digest = source.read(k), hashlib.sha256()
    for array in (part.demand, part.placement, part.weight, part.limit):
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return len(part), part.faults(source.name(k), source.capacity), digest.hexdigest()


def _picked(source: Partitions, k: int, terms: spread.Terms, rows: Ints) -> Any:
    return terms.users(source.read(k)).some(rows)


def _file(folder: str | os.PathLike[str], name: str, k: int) -> Path:
    return Path(folder, f"{name}-{k:05d}.npy")


def _write(args: spread.Args, sharp: Floats, folder: Path) -> tuple[Floats, float, float]:
    """Write tasks as computed; use (I, R), money of limits, sum of weights."""
    source, k = args[0], args[1]
    tasks, mu = spread.answered(args, sharp)
    part = source.read(k)
    np.save(_file(folder, "tasks", k), tasks)
    money = 0.0
    if mu is not None:
        np.save(_file(folder, "limit_prices", k), mu)
        money = float(mu[mu > 0] @ part.limit[mu > 0])
    else:
        _file(folder, "limit_prices", k).unlink(missing_ok=True)
    return tasks.T @ part.demand, money, float(part.weight.sum())


def _fit(source: Partitions, k: int, folder: Path, over: Floats, factor: float) -> None:
    """Scale tasks server by server, then user by user, and prices of limits."""
    tasks = np.load(_file(folder, "tasks", k)) / over
    tasks /= np.maximum(tasks.sum(axis=1) / source.read(k).limit, 1.0)[:, None]
    np.save(_file(folder, "tasks", k), tasks)
    mu = _file(folder, "limit_prices", k)
    if mu.is_file():
        np.save(mu, np.load(mu) * factor)


def _shown(source: Partitions, k: int, folder: Path) -> judge.Shown:
    mu = _file(folder, "limit_prices", k)
    prices = np.load(mu) if mu.is_file() else None
    return judge.Shown(source.read(k), np.load(_file(folder, "tasks", k)), prices)


def _first(source: Partitions, k: int, folder: Path, terms: judge.Terms) -> judge.Used:
    return judge.used(_shown(source, k, folder), terms)


def _second(
    source: Partitions, k: int, folder: Path, terms: judge.Terms, first: judge.Used
) -> judge.Proved:
    return judge.proved(_shown(source, k, folder), terms, first)


def _third(
    source: Partitions, k: int, folder: Path, terms: judge.Terms, first: judge.Used,
    second: judge.Proved,
) -> judge.Errors:  # fmt: skip
    return judge.errors(_shown(source, k, folder), terms, first, second)
