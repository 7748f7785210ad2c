"""From tables of users (Parquet or CSV, any size) to partitions: read in pieces, never whole.

A table has a column for each resource and perhaps weight, limit, name (as `fairopt.files.cells`
calls them) and either `servers` (the
names of the servers where a user may run: a list, or a text with ; between them) or one column
placement.SERVER for each. Cells left out are 0, 1, no limit and everywhere. The servers stand in
the table `servers.csv` of a folder of CSV files.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairopt import arrays, storage
from fairopt.errors import BadInput, Fault
from fairopt.files import cells
from fairopt.files.partition_columns import TableReading
from fairopt.files.partition_reading import opened, rows_of
from fairopt.files.partitions import Partitions, already, write_servers
from fairopt.instance.partition import Partition
from fairopt.instance.reading import WHOLE, Faults

SIZE = 100_000
"""users of a partition"""


def partition_tables(
    users: Sequence[str | os.PathLike[str]],
    servers: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    size: int = SIZE,
) -> Partitions:
    """Write the users of tables in partitions; they keep their order.

    Parameters
    ----------
    users : tables (.parquet or .csv), or folders of them, taken by name.
    servers : a CSV file: name, perhaps count, and a column for each resource.
    folder : for the partitions. size : users of a partition, at least 1.

    Raises
    ------
    BadInput : with the faults of all tables, by file, row and column; nothing is written then.
    MissingExtra : pyarrow is not installed.

    Examples
    --------
    >>> import fairopt as fo
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder)
    ...     _ = (path / "users.csv").write_text("name,cpu\\nA,1\\nB,3\\n")
    ...     _ = (path / "servers.csv").write_text("name,cpu\\ns1,9\\n")
    ...     tables = path / "users.csv", path / "servers.csv"
    ...     fo.partition_tables([tables[0]], tables[1], path / "cluster").capacity
    array([[9.]])
    """
    path = Path(folder)
    faults = already(path)
    if size < 1:
        faults.append(Fault("users", f"{size}", "at least 1 a partition"))
    try:
        rows = _ServersRead(Path(servers))
        tables = _tables(users)
    except BadInput as error:
        raise BadInput([*faults, *error.faults], error.source) from None
    if faults:
        raise BadInput(faults)
    write_servers(path, rows.capacity, rows.count, tuple(rows.names), tuple(rows.resources))
    written = _Written(path, size)
    for one in tables:
        table = TableReading(one, rows.resources, rows.names, [])
        for part in _pieces(table, size):
            here = part.placed(rows.capacity)
            table.faults += here.faults(one.name, rows.capacity, table.first)
            if not (table.faults or faults):
                written.add(part)
        faults += table.faults
    written.end()
    if not faults and not written.parts:
        faults.append(Fault("users", "none", "at least one"))
    if faults:
        written.undo()
        raise BadInput(faults)
    return Partitions(path)


class _ServersRead:
    """Names, capacity (I, R) and count (I,) of `servers.csv`."""

    def __init__(self, path: Path) -> None:
        text = storage.read_text(path, cells.LARGEST_TABLE, "a CSV file in UTF-8")
        header = [cell.strip() for cell in next(csv.reader(io.StringIO(text, newline="")), [])]
        header = cells.renamed(header, ("name", "count"), "servers")
        self.resources = {
            name: r
            for r, name in enumerate(dict.fromkeys(h for h in header if h not in ("name", "count")))
        }
        faults = Faults(path.name)
        if path.suffix != ".csv":
            faults.add(path.name, "another ending", "a file that ends in .csv")
        if not self.resources:
            faults.add(f"{path.name} columns", "no resource", "name, a column for each resource")
        faults.stop()
        rows = cells.named(path.parent, path.stem, ("count",), self.resources, faults, "servers")
        self.names = {name: i for i, name in enumerate(rows)}
        self.capacity = np.zeros((len(rows), len(self.resources)))
        self.count = np.ones(len(rows), dtype=np.int64)
        for i, (name, row) in enumerate(rows.items()):
            here = f"{path.stem}.{name}"
            cells.amounts(self.capacity[i], row, self.resources, f"{here}.capacity", faults)
            count = cells.cell(row.get("count", ""), f"{here}.count", faults, WHOLE, 1.0)
            self.count[i] = int(count) if np.isfinite(count) else 1
        for name, r in self.resources.items():
            if not faults and not (self.capacity[:, r] > 0).any():
                faults.add(f"{path.name} {name}", "0 on every server", "some of it")
        faults.stop()


class _Written:
    """Partitions of so many users, filled piece by piece."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder, self.size, self.parts = folder, size, 0
        self.waiting: list[Partition] = []

    def add(self, part: Partition) -> None:
        while len(part):
            room = self.size - sum(map(len, self.waiting))
            self.waiting.append(_rows(part, slice(0, room)))
            part = _rows(part, slice(room, None))
            if sum(map(len, self.waiting)) == self.size:
                self.end()

    def end(self) -> None:
        """Write what waits."""
        if not self.waiting:
            return
        for name in ("demand", "placement", "weight", "limit"):
            whole = np.concatenate([getattr(part, name) for part in self.waiting])
            arrays.write(self.folder / f"{name}-{self.parts:05d}.npy", whole)
        self.waiting, self.parts = [], self.parts + 1

    def undo(self) -> None:
        """Remove what was written."""
        names = [
            f"{name}-{k:05d}.npy"
            for k in range(self.parts)
            for name in ("demand", "placement", "weight", "limit")
        ]
        for name in (*names, "capacity.npy", "count.npy", "names.json"):
            (self.folder / name).unlink(missing_ok=True)


def _rows(part: Partition, rows: slice) -> Partition:
    return Partition(part.demand[rows], part.placement[rows], part.weight[rows], part.limit[rows])


def _tables(users: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The files; those of a folder by name."""
    found, faults = [], []
    for given in map(Path, users):
        inside = sorted(given.iterdir()) if given.is_dir() else [given]
        tables = [path for path in inside if path.suffix in (".csv", ".parquet")]
        missing = [path for path in tables if not path.is_file()]
        if not tables or missing:
            faults.append(Fault(given.name, "no such table", "files .csv or .parquet"))
        found += tables
    if not users:
        faults.append(Fault("users", "no table", "files .csv or .parquet"))
    if faults:
        raise BadInput(faults)
    return found


def _pieces(table: TableReading, size: int) -> Iterator[Partition]:
    """The users of a table, some at a time; what is no number is added to its faults."""
    try:
        batches, names = _csv(table.path) if table.text else _parquet(table.path, size)
        table.faults += table.columns(names)
        while not table.faults:
            batch = rows_of(table.path, lambda: next(batches, None))
            if batch is None:
                return
            yield table.users(batch)
            table.first += batch.num_rows
    except BadInput as error:
        table.faults += error.faults


def _csv(path: Path) -> tuple[Any, list[str]]:
    import pyarrow.csv as arrow_csv

    with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        names = next(csv.reader(file), [])
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, "string"), null_values=[""], strings_can_be_null=True
    )
    return iter(rows_of(path, lambda: arrow_csv.open_csv(path, convert_options=convert))), names


def _parquet(path: Path, size: int) -> tuple[Any, list[str]]:
    file = opened(path)
    return file.iter_batches(batch_size=size), list(file.schema_arrow.names)
