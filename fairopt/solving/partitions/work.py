"""One call of `solve_partitions`: its passes, wherever they are computed, and what it keeps."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from fairopt import __version__, arrays, fast, storage
from fairopt.certificates import partitions as judge
from fairopt.certificates.partitioned import each_of, file
from fairopt.errors import BadInput, FairoptError, Fault
from fairopt.files.partitions import Partitions
from fairopt.formulas.asked import AlphaAsked
from fairopt.formulas.rows import total as total_of_rows
from fairopt.instance import Floats, Instance, Ints
from fairopt.notions import Notion
from fairopt.solving.engines.smoothed import kept, newton, path, spread
from fairopt.solving.engines.smoothed.corner import corner
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.sharp import Sharp
from fairopt.solving.engines.smoothed.smooth import Smooth

Progress = Callable[[int, str], None]
STAGES = (newton.LAST, path.CLOSE), (2e-13, 1e-12), (2e-14, 1e-13)
"""tau and miss of capacities at the end; the path goes on to the next, ten times closer, while the
corner it leads to is not certified"""
CORNER_TAU = 1e-9
"""tau from which the corner is looked for"""
MOST_ITERATIONS = 400
"""iterations; more than of users in memory, which begin again with another method"""


class Work:
    """The passes of one call.

    Raises
    ------
    BadInput : with the faults of all partitions, before anything is solved.
    """

    def __init__(
        self,
        source: Partitions,
        asked: AlphaAsked,
        executor: Executor | None,
        progress: Progress | None,
    ) -> None:
        self.source, self._each, self.progress = source, each_of(executor), progress
        self.parts, self.passes, self.doing = range(len(source)), 0, "check"
        self.asked = asked
        self.total = asked.pool.sum(axis=0)
        found_each = self.each(checked, [source] * len(self.parts), list(self.parts))
        faults = [fault for _, found, _ in found_each for fault in found]
        if faults:
            raise BadInput(faults, source.folder)
        self.sizes = [size for size, _, _ in found_each]
        self.digests = [digest for _, _, digest in found_each]
        compiled = fast.chosen(sum(self.sizes) * len(asked.capacity))
        self.terms = spread.SpreadTerms(asked, self.total, compiled)

    def key(self, sample: int) -> str:
        """What a place on the path belongs to: the users, what is asked, and the version."""
        asked = self.asked
        how = asked.criterion, sample, self.terms.compiled
        all_of = (__version__, asked.alpha, asked.inside, *how, self.digests)
        servers = asked.capacity.tobytes() + asked.count.tobytes()
        return hashlib.sha256(repr(all_of).encode() + servers).hexdigest()

    def each(self, function: Callable[..., Any], *args: list[Any]) -> list[Any]:
        """The results of a function of every partition, in the order of partitions."""
        found = self._each(function, *args)
        self.passes += 1
        if self.progress is not None:
            self.progress(self.passes, self.doing)
        return found

    def same(self, *rest: Any) -> list[list[Any]]:
        """Arguments (source, k, ..) for every partition."""
        count = len(self.parts)
        return [[self.source] * count, list(self.parts), *([one] * count for one in rest)]

    @property
    def few(self) -> bool:
        """Whether all users are few enough to be solved as one instance."""
        return bool(sum(self.sizes) <= FEW_USERS)

    @property
    def together(self) -> bool:
        """Whether all users are judged together, with all digits."""
        return judge.fits(sum(self.sizes) * len(self.asked.capacity))

    @property
    def part(self) -> Floats:
        """(I, R) capacity in the units of the path."""
        return np.asarray(self.asked.pool / self.total)

    def begin(self, sample: int, kept_at: KeptPlace) -> tuple[path.Where, int]:
        """The place to go on from, and the stage it belongs to: kept, or that of a sample."""
        size, capacity = sum(self.sizes), self.part
        rng = np.random.default_rng(1)
        pick = rng.choice(size, min(size, sample), replace=False)
        firsts = np.cumsum([0, *self.sizes])
        some_of = [
            np.sort(pick[(pick >= firsts[k]) & (pick < firsts[k + 1])]) - firsts[k]
            for k in self.parts
        ]
        some = self.each(picked, *self.same(self.terms), some_of)
        users = spread.joined(some)
        users = users.some(rng.permutation(len(users)))
        prices, none = ServerPrices.apart(1 / capacity), users.some(np.zeros(0, np.int64))
        told = spread.SpreadPrices(
            self.source,
            len(self.parts),
            self.terms,
            self.each,
            size,
            users,
            prices,
            1.0,
            Sharp(none, Smooth(none), prices, 1.0),
            [np.zeros(0, np.int64)] * len(self.parts),
        )
        self.doing = "prices"
        before = kept_at.read(told)
        if before is not None:
            now, stage, self.passes = before
            return now, stage
        begun = newton.begin(users, capacity, size)
        told = replace(told, prices=ServerPrices.apart(begun.prices), tau=begun.tau)
        return path.Where(told, told.prices, begun.free, begun.tau), 0

    def follow(self, now: path.Where, stage: int, kept_at: KeptPlace) -> path.Where:
        """The end of a stage of the path."""
        last, close = STAGES[stage]
        self.doing = "prices"
        return path.follow(
            now,
            self.part,
            last,
            close,
            MOST_ITERATIONS,
            keep=lambda place: kept_at.write(place, stage, self.passes),
        )

    def ended(self, now: path.Where) -> path.Where:
        """The corner that the end of the path belongs to; the end itself where none is found."""
        if now.tau > CORNER_TAU:
            return now
        self.doing = "corner"
        try:
            return corner(now, self.part) or now
        except np.linalg.LinAlgError:
            return now

    def write(self, now: path.Where, folder: Path) -> Floats:
        """Write tasks and prices of limits, made feasible, and the prices (I, R) returned."""
        told = now.told
        assert isinstance(told, spread.SpreadPrices)
        ends = np.cumsum([len(at) for at in told.at])[:-1]
        sharp = np.split(np.column_stack([told.sharp.x, told.sharp.mu]), ends)
        args = [(self.source, k, self.terms, told.at[k], now.prices, now.tau) for k in self.parts]
        self.doing = "answer"
        raw = self.each(write, args, sharp, [folder] * len(args))
        pool = self.asked.pool
        used, money, weight = (sum(part[j] for part in raw) for j in range(3))
        over = np.maximum((used / pool).max(axis=1), 1.0)
        prices = np.where(self.asked.capacity > 0, now.prices.all / self.total, 0.0)
        factor = float(weight / ((prices * pool).sum() + money))
        arrays.write(folder / "prices.npy", prices * factor)
        self.each(fit, *self.same(folder, over, factor))
        return prices * factor


@dataclass(frozen=True)
class KeptPlace:
    """The place on the path in a file, until the answer is written."""

    file: Path
    key: str

    def read(self, begin: spread.SpreadPrices) -> tuple[path.Where, int, int] | None:
        """The place, its stage, and the passes until there; None if there is none, or not of this
        question, or it was damaged."""
        if storage.irregular(self.file):
            return None
        try:
            with np.load(self.file) as found:
                arrays = {name: found[name] for name in found.files}
            if arrays["key"].item() != self.key:
                return None
            numbers = int(arrays["stage"]), int(arrays["passes"])
            return kept.place(arrays, begin), *numbers
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None

    def write(self, now: path.Where, stage: int, passes: int) -> None:
        """Replace the file by the present place."""
        part = self.file.with_suffix(".part")
        with storage.writing(self.file):
            part.unlink(missing_ok=True)
            with open(part, "xb") as file:
                np.savez(file, key=self.key, stage=stage, passes=passes, **kept.arrays(now))
            os.replace(part, self.file)


# What is done with one partition, here or by a worker of an executor.


WRITTEN, RAW = "what was just written", "raw_"
"""in messages; before the names of files that `fit` makes into the answer's"""


def checked(source: Partitions, k: int) -> tuple[int, list[Fault], str]:
    """Number of users, faults, and digest of a partition."""
    try:
        part = source.read(k)
    except BadInput as error:
        return 0, list(error.faults), ""
    digest = hashlib.sha256()
    for array in (part.demand, part.placement, part.weight, part.limit):
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return len(part), part.faults(source.name(k), source.capacity), digest.hexdigest()


def picked(source: Partitions, k: int, terms: spread.SpreadTerms, rows: Ints) -> Any:
    """Some users of a partition, for the sample."""
    return terms.users(source.read(k)).some(rows)


def write(args: spread.Args, sharp: Floats, folder: Path) -> tuple[Floats, float, float]:
    """Write tasks as computed; use (I, R), money of limits, sum of weights."""
    source, k = args[0], args[1]
    tasks, mu = spread.answered(args, sharp)
    part = source.read(k)
    with storage.writing(folder):  # of an earlier stage: not both on the disk
        file(folder, "tasks", k).unlink(missing_ok=True)
    arrays.write(file(folder, RAW + "tasks", k), tasks)
    money = 0.0
    if mu is not None:
        arrays.write(file(folder, RAW + "limit_prices", k), mu)
        money = float(mu[mu > 0] @ part.limit[mu > 0])
    else:
        with storage.writing(folder):
            file(folder, "limit_prices", k).unlink(missing_ok=True)
    return tasks.T @ part.demand, money, float(part.weight.sum())


def fit(source: Partitions, k: int, folder: Path, over: Floats, factor: float) -> None:
    """Scale tasks server by server, then user by user, and prices of limits.

    Done twice, as where a worker was killed before it could say so, it is done once.
    """
    raw, raw_mu = file(folder, RAW + "tasks", k), file(folder, RAW + "limit_prices", k)
    if not storage.there(raw):
        return
    tasks = arrays.read(raw, WRITTEN) / over
    tasks /= np.maximum(total_of_rows(tasks) / source.read(k).limit, 1.0)[:, None]
    arrays.write(file(folder, "tasks", k), tasks)
    if storage.there(raw_mu):
        arrays.write(file(folder, "limit_prices", k), arrays.read(raw_mu, WRITTEN) * factor)
    with storage.writing(folder):
        raw_mu.unlink(missing_ok=True)
        raw.unlink(missing_ok=True)


# Users in partitions who are few: solved as one instance where the path does not end right.


FEW_USERS = 20_000
"""users who are solved as one instance without a thought of memory"""


def instance_of(source: Partitions) -> Instance:
    """All users of all partitions, in their order."""
    parts = [source.read(k) for k in range(len(source))]
    demand, placement, weight, limit = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("demand", "placement", "weight", "limit")
    )
    return Instance(demand, source.capacity, placement, weight, limit, source.count)


def write_whole(source: Partitions, notion: Notion, folder: Path) -> bool:
    """Solve as one instance and write the answer in partitions; whether there is one."""
    from fairopt.solving import solve

    inst = instance_of(source)
    try:
        found = solve(inst, notion, uncertified="return")
    except FairoptError:
        return False
    if found.prices is None:
        return False
    first = 0
    arrays.write(folder / "prices.npy", found.prices)
    for k in range(len(source)):
        rows = slice(first, first + source.users(k))
        first = rows.stop
        arrays.write(file(folder, "tasks", k), found.tasks[rows])
        mu = file(folder, "limit_prices", k)
        if found.limit_prices is not None and np.isfinite(inst.limit[rows]).any():
            arrays.write(mu, found.limit_prices[rows])
        else:
            with storage.writing(mu):
                mu.unlink(missing_ok=True)
    return True
