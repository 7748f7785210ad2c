"""Users in partitions on disk: NumPy arrays, or Parquet; answers beside them in the same way.

A folder holds `capacity.npy` (I, R) and, for each partition k = 00000, 00001, .., either
`demand-k.npy` (n, R) and perhaps `placement-k.npy` (n, I), `weight-k.npy` and `limit-k.npy` (n,),
or `users-k.parquet` with the columns demand.1 .. demand.R and perhaps placement.1 .. placement.I,
weight and limit. What is left out is everywhere, 1 and no limit.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fairopt.errors import BadInput, Fault, MissingExtra
from fairopt.instance import Floats, Instance
from fairopt.instance.partition import Partition

OPTIONAL = ("placement", "weight", "limit")


@dataclass(frozen=True)
class Partitions:
    """The partitions of a folder. Nothing is read but what is asked for.

    Parameters
    ----------
    folder : see the module.

    Raises
    ------
    BadInput : no folder, no capacity, no partition, or capacities that are not > 0.
    """

    folder: str

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        object.__setattr__(self, "folder", os.fspath(folder))
        path = Path(self.folder)
        faults = []
        if not (path / "capacity.npy").is_file():
            faults.append(Fault("capacity.npy", "no such file", "an array (servers, resources)"))
        if not len(self):
            wanted = "demand-00000.npy or users-00000.parquet"
            faults.append(Fault("partitions", "none", wanted))
        if not faults and not (self.capacity.ndim == 2 and (self.capacity > 0).all()
                               and np.isfinite(self.capacity).all()):  # fmt: skip
            faults.append(Fault("capacity.npy", "other numbers", "finite numbers > 0, (I, R)"))
        if faults:
            raise BadInput(faults, self.folder)

    @cached_property
    def capacity(self) -> Floats:
        """(I, R) capacity of every server."""
        found: Floats = np.asarray(np.load(Path(self.folder, "capacity.npy")), dtype=np.float64)
        return found

    @cached_property
    def count(self) -> int:
        """How many partitions there are."""
        k = 0
        while self._file("demand", k).is_file() or self._table(k).is_file():
            k += 1
        return k

    def __len__(self) -> int:
        return self.count

    def name(self, k: int) -> str:
        """The name of a partition in messages."""
        return f"partition {k:05d}"

    def users(self, k: int) -> int:
        """How many users a partition has."""
        if self._file("demand", k).is_file():
            return int(np.load(self._file("demand", k), mmap_mode="r").shape[0])
        return int(_parquet().ParquetFile(self._table(k)).metadata.num_rows)

    def read(self, k: int) -> Partition:
        """The users of a partition."""
        servers, resources = self.capacity.shape
        if self._file("demand", k).is_file():
            demand = np.asarray(np.load(self._file("demand", k)), dtype=np.float64)
            rest = {
                name: np.load(self._file(name, k))
                for name in OPTIONAL
                if self._file(name, k).is_file()
            }
        else:
            table = _parquet().read_table(self._table(k))
            have = set(table.column_names)

            def columns(name: str, size: int) -> Floats:
                each = [table[f"{name}.{j + 1}"].to_numpy() for j in range(size)]
                return np.stack(each, axis=1).astype(np.float64)

            demand = columns("demand", resources)
            rest = {name: table[name].to_numpy() for name in ("weight", "limit") if name in have}
            if "placement.1" in have:
                rest["placement"] = columns("placement", servers)
        n = len(demand)
        return Partition(
            demand,
            np.asarray(rest.get("placement", np.ones((n, servers), bool)), dtype=bool),
            np.asarray(rest.get("weight", np.ones(n)), dtype=np.float64),
            np.asarray(rest.get("limit", np.full(n, np.inf)), dtype=np.float64),
        )

    def _file(self, name: str, k: int) -> Path:
        return Path(self.folder, f"{name}-{k:05d}.npy")

    def _table(self, k: int) -> Path:
        return Path(self.folder, f"users-{k:05d}.parquet")


def write_partitions(instance: Instance, folder: str | os.PathLike[str], users: int) -> Partitions:
    """Write an instance in partitions of so many users.

    Raises
    ------
    BadInput : demand by server, or another number of users than at least 1.
    """
    faults = []
    if instance.demand.ndim != 2 or not instance.linear:
        faults.append(Fault("demand", "by server or not linear", "one row a user"))
    if not instance.plain:
        faults.append(Fault("instance", "groups, guarantees or modes", "none of them"))
    if users < 1:
        faults.append(Fault("users", f"{users}", "at least 1 a partition"))
    if faults:
        raise BadInput(faults)
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    np.save(path / "capacity.npy", instance.pool)
    for k, first in enumerate(range(0, len(instance.users), users)):
        rows = slice(first, first + users)
        for name in ("demand", "placement", "weight", "limit"):
            np.save(path / f"{name}-{k:05d}.npy", getattr(instance, name)[rows])
    return Partitions(path)


def _parquet() -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise MissingExtra("partitions in Parquet need pyarrow: pip install pyarrow") from error
    return parquet
