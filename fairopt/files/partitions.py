"""Users in partitions on disk: NumPy arrays, or Parquet; answers beside them in the same way.

A folder holds `capacity.npy` (I, R), perhaps `count.npy` (I,), and, for each partition k = 00000,
00001, .., either `demand-k.npy` (n, R) and perhaps `placement-k.npy` (n, I), `weight-k.npy` and
`limit-k.npy` (n,), or `users-k.parquet` with the columns demand.1 .. demand.R and perhaps
placement.1 .. placement.I, weight and limit. What is left out is everywhere, 1 and no limit; a
count left out is 1. `names.json` may hold the names of servers and resources.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from fairopt import arrays, storage
from fairopt.errors import BadInput, Fault
from fairopt.files import partition_reading as reading
from fairopt.instance import Floats, Instance, Ints
from fairopt.instance.partition import Partition

LARGEST_COUNT = 2.0**53
"""a number of machines from which not every whole number is one of floating point"""
_FILE = re.compile(r"(demand|placement|weight|limit|users)-(\d{5})\.(npy|parquet)")


@dataclass(frozen=True)
class Partitions:
    """The partitions of a folder. Nothing is read but what is asked for.

    Parameters
    ----------
    folder : see the module.

    Raises
    ------
    BadInput : no folder, no capacity, no partition, or a partition that is missing between others;
        capacities that are not >= 0, counts that are no whole numbers >= 1.

    Examples
    --------
    >>> import fairopt as fo, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = fo.write_partitions(fo.Instance([[1], [2]], [[9]]), folder, users=1)
    ...     print(fo.Partitions(folder).capacity)
    [[9.]]
    """

    folder: str

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        object.__setattr__(self, "folder", os.fspath(folder))
        faults = [*self._servers(), *self._gaps()]
        if faults:
            raise BadInput(faults, self.folder)

    @cached_property
    def capacity(self) -> Floats:
        """(I, R) capacity of one machine of every row of servers."""
        path = Path(self.folder, "capacity.npy")
        return np.asarray(arrays.read(path, "numbers (servers, resources)"), dtype=np.float64)

    @cached_property
    def count(self) -> Ints:
        """(I,) machines of every row."""
        path = Path(self.folder, "count.npy")
        if not storage.there(path):
            return np.ones(len(self.capacity), dtype=np.int64)
        given = arrays.read(path, "whole numbers (servers,)")
        whole = (given >= 1) & (given < LARGEST_COUNT) & (given == np.floor(given))
        if given.shape != self.capacity.shape[:1] or not whole.all():
            raise BadInput([Fault("count.npy", "other numbers", "whole numbers >= 1, (I,)")])
        return given.astype(np.int64)

    @property
    def pool(self) -> Floats:
        """(I, R) capacity of all machines of every row together."""
        return np.asarray(self.capacity * self.count[:, None])

    @cached_property
    def parts(self) -> int:
        """How many partitions there are."""
        return len(self._found[0] | self._found[1])

    def __len__(self) -> int:
        return self.parts

    def name(self, k: int) -> str:
        """The name of a partition in messages."""
        return f"partition {k:05d}"

    def users(self, k: int) -> int:
        """How many users a partition has."""
        if k in self._found[0]:
            return len(arrays.opened(self._file("demand", k), "a row for each user"))
        return int(reading.opened(self._table(k)).metadata.num_rows)

    def read(self, k: int) -> Partition:
        """The users of a partition.

        Raises
        ------
        BadInput : every file that is cut short or no array, every column that is missing.
        """
        servers, resources = self.capacity.shape
        if k in self._found[0]:
            users = reading.from_arrays(Path(self.folder), k, servers)
        else:
            users = reading.from_table(self._table(k), servers, resources)
        return users.placed(self.capacity)

    def _file(self, name: str, k: int) -> Path:
        return Path(self.folder, f"{name}-{k:05d}.npy")

    def _table(self, k: int) -> Path:
        return Path(self.folder, f"users-{k:05d}.parquet")

    @cached_property
    def _found(self) -> tuple[set[int], set[int], set[int]]:
        """Numbers of the partitions in arrays, in tables, and of arrays beside demand."""
        arrays: set[int] = set()
        tables: set[int] = set()
        beside: set[int] = set()
        for name in _listed(Path(self.folder)):
            found = _FILE.fullmatch(name)
            if found is not None and (found[1] == "users") == (found[3] == "parquet"):
                where = {"users": tables, "demand": arrays}.get(found[1], beside)
                where.add(int(found[2]))
        return arrays, tables, beside

    def _servers(self) -> list[Fault]:
        """Faults of capacity and count."""
        try:
            capacity = self.capacity
        except BadInput as error:
            return list(error.faults)
        good = capacity.ndim == 2 and capacity.size > 0 and np.isfinite(capacity).all()
        if not good or not (capacity >= 0).all() or not (capacity > 0).any(axis=0).all():
            wanted = "finite numbers >= 0, (I, R), some of every resource"
            return [Fault("capacity.npy", "other numbers", wanted)]
        try:
            _ = self.count
        except BadInput as error:
            return list(error.faults)
        return []

    def _gaps(self) -> list[Fault]:
        """Partitions that are missing, or there twice."""
        arrays, tables, beside = self._found
        wanted = "demand-00000.npy or users-00000.parquet"
        if not arrays | tables | beside:
            return [Fault("partitions", "none", wanted)]
        last = max(arrays | tables | beside)
        return [
            Fault(
                self.name(k),
                "both" if k in arrays & tables else "no such file",
                f"demand-{k:05d}.npy or users-{k:05d}.parquet",
            )
            for k in range(last + 1)
            if k in arrays & tables or k not in arrays | tables
        ]


def _listed(folder: Path) -> list[str]:
    """The names in a folder; none if there is no folder."""
    if not folder.is_dir():
        return []
    try:
        return os.listdir(folder)
    except OSError as error:
        fault = Fault("folder", f"unreadable ({error.strerror})", "a folder of partitions")
        raise BadInput([fault], os.fspath(folder)) from None


def write_partitions(instance: Instance, folder: str | os.PathLike[str], users: int) -> Partitions:
    """Write an instance in partitions of so many users.

    Raises
    ------
    BadInput : demand by server, groups, guarantees or modes, another number of users than at least
        1, or a folder that holds other partitions.

    Examples
    --------
    >>> import fairopt as fo
    >>> import tempfile, pathlib
    >>> cluster = fo.Instance([[1, 4], [3, 1], [2, 2]], [[9, 18]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fo.write_partitions(cluster, pathlib.Path(folder) / "cluster", users=2).capacity
    array([[ 9., 18.]])
    """
    faults = []
    if instance.demand.ndim != 2 or not instance.linear:
        faults.append(Fault("demand", "by server or not linear", "one row a user"))
    if not instance.plain:
        faults.append(Fault("instance", "groups, guarantees or modes", "none of them"))
    if not (instance.capacity > 0).any(axis=0).all():
        faults.append(Fault("capacity", "a resource that no server has", "some of it"))
    if users < 1:
        faults.append(Fault("users", f"{users}", "at least 1 a partition"))
    path = Path(folder)
    faults += already(path)
    if faults:
        raise BadInput(faults)
    write_servers(path, instance.capacity, instance.count, instance.servers, instance.resources)
    for k, first in enumerate(range(0, len(instance.users), users)):
        rows = slice(first, first + users)
        for name in ("demand", "placement", "weight", "limit"):
            arrays.write(path / f"{name}-{k:05d}.npy", getattr(instance, name)[rows])
    return Partitions(path)


def already(folder: Path) -> list[Fault]:
    """A folder that partitions are to be written to holds some, which might stay among the new."""
    have = sorted(name for name in _listed(folder) if _FILE.fullmatch(name))
    if not have:
        return []
    return [Fault("folder", f"{len(have)} files of partitions in it ({have[0]})", "another folder")]


def write_servers(
    folder: Path,
    capacity: Floats,
    count: Ints,
    servers: tuple[str, ...],
    resources: tuple[str, ...],
) -> None:
    """Make the folder, and write what all partitions have in common."""
    storage.made_folder(folder)
    arrays.write(folder / "capacity.npy", capacity)
    arrays.write(folder / "count.npy", count)
    names = {"servers": list(servers), "resources": list(resources)}
    text = json.dumps(names, indent=1, ensure_ascii=False) + "\n"
    storage.write_text(folder / "names.json", text)
