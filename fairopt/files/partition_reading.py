"""One partition from its files: NumPy arrays or a Parquet table, every fault by file and field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairopt import arrays, storage
from fairopt.errors import BadInput, Fault, MissingExtra
from fairopt.instance import Floats
from fairopt.instance.partition import MOST_ALIKE, Partition

OPTIONAL = ("placement", "weight", "limit")


def from_arrays(folder: Path, k: int, servers: int) -> Partition:
    """The users of `demand-k.npy` and the arrays beside it."""
    given: dict[str, NDArray[Any]] = {}
    faults: list[Fault] = []
    for name in ("demand", *OPTIONAL):
        path = folder / f"{name}-{k:05d}.npy"
        if name == "demand" or storage.there(path):
            try:
                given[name] = arrays.read(path, "an array of numbers, a row for each user")
            except BadInput as error:
                faults.extend(error.faults)
    if "placement" in given:
        faults.extend(_yes_or_no(f"placement-{k:05d}.npy", given["placement"]))
    if faults:
        raise BadInput(faults)
    return _users(given, servers)


def from_table(path: Path, servers: int, resources: int) -> Partition:
    """The users of a Parquet file with the columns demand.1, .., placement.1, .., weight, limit."""
    places = [f"placement.{i + 1}" for i in range(servers)]
    needs = [f"demand.{r + 1}" for r in range(resources)]
    file = opened(path)
    have = list(file.schema_arrow.names)
    needed = [*needs, *(places if any(name in have for name in places) else ())]
    faults = [
        Fault(f"{path.name}, {name}", "no such column", "a column of numbers")
        for name in needed
        if name not in have
    ]
    known = {*needs, *places, "weight", "limit"}
    faults += [
        Fault(f"{path.name}, {name}", "an unknown column", "demand.R, placement.I, weight, limit")
        for name in have
        if name not in known
    ]
    if faults:
        raise BadInput(faults)
    table = rows_of(path, file.read)
    given: dict[str, NDArray[Any]] = {}
    for name in have:
        column = table[name]
        if column.null_count and name in ("weight", "limit"):
            column = column.fill_null(1.0 if name == "weight" else np.inf)
        values = column.to_numpy()
        if values.dtype.kind not in "fiub":
            found = f"{column.type}, {column.null_count} of {len(column)} left out"
            faults.append(Fault(f"{path.name}, {name}", found, arrays.NUMBERS))
        elif name in places:
            faults.extend(_yes_or_no(f"{path.name}, {name}", values))
        given[name] = values
    if faults:
        raise BadInput(faults)
    given["demand"] = np.stack([given[name] for name in needs], axis=1)
    if places[0] in given:
        given["placement"] = np.stack([given[name] for name in places], axis=1)
    return _users(given, servers)


def opened(path: Path) -> Any:
    """A Parquet file.

    Raises
    ------
    BadInput : it is damaged. MissingExtra : pyarrow is not installed.
    """
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise MissingExtra("tables of users need pyarrow: pip install 'fairopt[frame]'") from error
    unlike = storage.irregular(path)
    if unlike:
        raise BadInput([Fault(path.name, unlike, "a whole table")])
    return rows_of(path, lambda: parquet.ParquetFile(path))


def rows_of(path: Path, read: Callable[[], Any]) -> Any:
    """What a reader of pyarrow returns; its complaints as faults of the file."""
    import pyarrow as pa

    try:
        return read()
    except (OSError, pa.ArrowException) as error:
        said = " ".join(str(error).split())[:120]
        raise BadInput([Fault(path.name, f"no whole table ({said})", "a whole table")]) from None


def _yes_or_no(place: str, values: NDArray[Any]) -> list[Fault]:
    """Placement that is neither bool nor 0 and 1."""
    if values.dtype.kind == "b":
        return []
    right = (values == 0) | (values == 1)
    bad = np.flatnonzero(~right.all(axis=tuple(range(1, values.ndim))))
    return [
        Fault(f"{place}, user {n + 1}", str(np.asarray(values[n]).tolist()), "true or false")
        for n in bad[:MOST_ALIKE].tolist()
    ]


def _users(given: dict[str, NDArray[Any]], servers: int) -> Partition:
    demand: Floats = np.asarray(given["demand"], dtype=np.float64)
    n = len(demand)
    return Partition(
        demand,
        np.asarray(given.get("placement", np.ones((n, servers), bool)), dtype=bool),
        np.asarray(given.get("weight", np.ones(n)), dtype=np.float64),
        np.asarray(given.get("limit", np.full(n, np.inf)), dtype=np.float64),
    )
