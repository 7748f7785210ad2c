"""The columns of one table of users, in pieces of it: numbers, yes or no, names of servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fairopt.errors import Fault
from fairopt.files import cells
from fairopt.instance import Bools, Floats
from fairopt.instance.labels import nearest
from fairopt.instance.partition import MOST_ALIKE, Partition

DEFAULTS = {"weight": 1.0, "limit": np.inf}
PLACEMENT = "placement."
WORDS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


@dataclass
class TableReading:
    """A table being read: numbers of resources and servers by name, faults so far, users before,
    and the columns as they are called here."""

    path: Path
    resources: Mapping[str, int]
    servers: Mapping[str, int]
    faults: list[Fault]
    first: int = 0
    names: list[str] = field(default_factory=list)

    @property
    def text(self) -> bool:
        """Whether all cells are texts."""
        return self.path.suffix == ".csv"

    def add(self, column: str, n: int, found: str, wanted: str) -> None:
        """A fault of row n of the present piece."""
        place = f"{self.path.name}, user {self.first + n + 1}, {column}"
        self.faults.append(Fault(place, found, wanted))

    def columns(self, given: list[str]) -> list[Fault]:
        """Columns that are unknown, or there twice; no column of a resource."""
        name_of = self.path.name
        places = [f"{PLACEMENT}{name}" for name in self.servers]
        known = [*self.resources, *DEFAULTS, "name", "servers", *places]
        names = cells.renamed([name.strip() for name in given], known, "users")
        self.names = names
        faults = [
            Fault(
                f"{name_of}, {name}",
                cells.foreign(name, "partition") or "an unknown column",
                nearest(name, known),
            )
            for name in names
            if name not in known
        ]
        faults += [
            Fault(f"{name_of}, {name}", "this column twice", "every column once")
            for name in sorted(set(names))
            if names.count(name) > 1
        ]
        if not any(name in names for name in self.resources):
            wanted = f"a column for each resource: {', '.join(self.resources)}"
            faults.append(Fault(name_of, "no resource", wanted))
        missing = [name for name in places if name not in names]
        if missing and len(missing) < len(places):
            wanted = "a column for each server, or none"
            faults.append(Fault(name_of, f"no column {', '.join(missing)}", wanted))
        if len(missing) < len(places) and "servers" in names:
            faults.append(Fault(name_of, "servers, and placement.SERVER", "one or the other"))
        return faults

    def users(self, batch: Any) -> Partition:
        """The users of some rows."""
        size, have = batch.num_rows, self.names
        demand = np.stack([self._numbers(batch, name, 0.0) for name in self.resources], axis=1)
        placement = np.ones((size, len(self.servers)), dtype=bool)
        for name, i in self.servers.items():
            if f"{PLACEMENT}{name}" in have:
                placement[:, i] = self._yes(f"{PLACEMENT}{name}", batch)
        if "servers" in have:
            placement = self._allowed(self._column(batch, "servers").to_pylist())
        weight, limit = (self._numbers(batch, *one) for one in DEFAULTS.items())
        return Partition(demand, placement, weight, limit)

    def _column(self, batch: Any, name: str) -> Any:
        return batch.column(self.names.index(name))

    def _numbers(self, batch: Any, name: str, default: float) -> Floats:
        """The numbers of a column; cells that are none are faults, and count as 1."""
        import pyarrow as pa
        import pyarrow.compute as compute

        if name not in self.names:
            return np.full(batch.num_rows, default)
        column = self._column(batch, name)
        kind = column.type
        numeric = pa.types.is_floating(kind) or pa.types.is_integer(kind)
        if not self.text and not (numeric or pa.types.is_decimal(kind)):
            fault = Fault(f"{self.path.name}, {name}", str(kind), "numbers")
            if fault not in self.faults:
                self.faults.append(fault)
            return np.ones(len(column))
        try:
            found = compute.cast(column, pa.float64()).fill_null(default)
            return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64)
        except pa.ArrowInvalid:
            values = [cells.value(cell or "") for cell in column.to_pylist()]
        bad = [n for n, value in enumerate(values) if isinstance(value, str)]
        for n in bad[:MOST_ALIKE]:
            self.add(name, n, f"the text {values[n][:40]!r}", "a number")
        for n in bad:
            values[n] = 1.0
        return np.asarray([default if value is None else value for value in values], np.float64)

    def _yes(self, name: str, batch: Any) -> Bools:
        """Cells that say yes or no."""
        given = [str(cell).strip().lower() for cell in self._column(batch, name).to_pylist()]
        for n in [n for n, cell in enumerate(given) if cell not in WORDS][:MOST_ALIKE]:
            self.add(name, n, given[n], "true or false")
        return np.array([WORDS.get(cell, True) for cell in given], dtype=bool)

    def _allowed(self, column: list[Any]) -> Bools:
        """(n, I) where users may run, from lists of names; no list means everywhere."""
        found = np.zeros((len(column), len(self.servers)), dtype=bool)
        known: dict[Any, tuple[list[int], list[str]]] = {}
        bad = 0
        for n, cell in enumerate(column):
            key = tuple(cell) if isinstance(cell, list) else cell
            if key not in known:
                known[key] = self._named(cell)
            on, unknown = known[key]
            found[n, on] = True
            bad += bool(unknown)
            if unknown and bad <= MOST_ALIKE:
                wanted = nearest(unknown[0], list(self.servers))
                self.add("servers", n, f"the unknown server {unknown[0]!r}", wanted)
        return found

    def _named(self, cell: Any) -> tuple[list[int], list[str]]:
        """Numbers of the servers named, and names of no server."""
        if cell is None:
            return list(self.servers.values()), []
        given = cell.split(";") if isinstance(cell, str) else cell
        names = [str(name).strip() for name in given]
        unknown = [name for name in names if name not in self.servers]
        on = [self.servers[name] for name in names if name in self.servers]
        return list(self.servers.values()) if unknown else on, unknown
