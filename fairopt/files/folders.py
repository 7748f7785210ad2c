"""Large instances as a folder: model.toml, users.csv, servers.csv, placement.csv, demand.csv."""

from __future__ import annotations

import csv
import io
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from fairopt import storage
from fairopt.errors import BadInput, UsageError
from fairopt.files import columns
from fairopt.instance import Instance
from fairopt.instance.fields import CURVES
from fairopt.instance.reading import (
    AMOUNT,
    LIMIT,
    MOST,
    POSITIVE,
    WHOLE,
    Faults,
    known_keys,
    nearest,
    number,
)

FILES = (
    "model.toml", "users.csv", "servers.csv", "placement.csv", "demand.csv",
    *(f"{name}.csv" for name in CURVES),
)  # fmt: skip
LARGEST = 1024 * storage.MEBIBYTE
RESERVED = ("name", "weight", "limit", "count", "user", "server")
"""other columns of the files, which no resource of a folder may be called"""
SEARCHED = 5
"""number of faults for which the nearest name is searched among thousands"""

Row = tuple[int, dict[str, str]]


def read_folder(folder: Path, resources: Mapping[str, int], faults: Faults) -> dict[str, Any]:
    """The arrays and names of a folder of CSV files, as Instance takes them."""
    for k, name in enumerate(resources):
        if name in RESERVED:
            faults.add(
                f"resources[{k}]", f"the name {name!r}", "a name that is no column of its own"
            )
    found = _quickly(folder, resources) if not faults else None
    if found is not None:
        return found
    return _carefully(folder, resources, faults)


def _quickly(folder: Path, resources: Mapping[str, int]) -> dict[str, Any] | None:
    """The same, column by column; None if anything is unusual."""
    amounts: dict[str, tuple[float, columns.Good]] = {
        name: (0.0, lambda x: (x >= 0) & (x < np.inf)) for name in resources
    }
    whole = (1.0, lambda x: (x >= 1) & (x < 2**53) & (x == np.floor(x)))
    weights, limits = (1.0, lambda x: (x > 0) & (x < np.inf)), (math.inf, lambda x: x > 0)
    if any((folder / f"{name}.csv").exists() for name in CURVES):
        return None
    try:
        texts = {
            stem: storage.read_text(folder / f"{stem}.csv", LARGEST, "a CSV file in UTF-8")
            for stem in ("servers", "users", "placement", "demand")
            if stem in ("servers", "users") or (folder / f"{stem}.csv").exists()
        }
    except BadInput:
        return None
    rows = columns.table(texts["servers"], {"count": whole, **amounts})
    people = columns.table(texts["users"], {"weight": weights, "limit": limits, **amounts})
    if rows is None or people is None:
        return None
    servers = {name: k for k, name in enumerate(rows[0])}
    users = {name: k for k, name in enumerate(people[0])}
    placement = np.ones((len(users), len(servers)), dtype=bool)
    if "placement" in texts:
        allowed = columns.pairs(texts["placement"], users, servers, {})
        if allowed is None:
            return None
        placement[:] = False
        placement[allowed[:2]] = True
    demand = np.stack([people[1][name] for name in resources], axis=1)
    if "demand" in texts:
        own = columns.pairs(texts["demand"], users, servers, amounts)
        if own is None:
            return None
        demand = np.repeat(demand[:, None, :], len(servers), axis=1)
        demand[own[:2]] = np.stack([own[2][name] for name in resources], axis=1)
    return {
        "demand": demand, "capacity": np.stack([rows[1][name] for name in resources], axis=1),
        "placement": placement, "weight": people[1]["weight"], "limit": people[1]["limit"],
        "count": rows[1]["count"],
        "users": people[0], "servers": rows[0], "resources": list(resources),
    }  # fmt: skip


def _carefully(folder: Path, resources: Mapping[str, int], faults: Faults) -> dict[str, Any]:
    """The same, cell by cell, reporting every fault."""
    server_rows = _named(folder, "servers", ("count",), resources, faults)
    user_rows = _named(folder, "users", ("weight", "limit"), resources, faults)
    servers = {name: k for k, name in enumerate(server_rows)}
    users = {name: k for k, name in enumerate(user_rows)}
    size = len(users), len(servers), len(resources)
    capacity, count = np.zeros(size[1:]), np.ones(size[1])
    for i, (name, row) in enumerate(server_rows.items()):
        here = f"servers.{name}"
        _amounts(capacity[i], row, resources, f"{here}.capacity", faults)
        count[i] = _cell(row.get("count", ""), f"{here}.count", faults, WHOLE, 1.0)
    demand, weight, limit = np.zeros((size[0], size[2])), np.ones(size[0]), np.full(size[0], np.inf)
    for n, (name, row) in enumerate(user_rows.items()):
        here = f"users.{name}"
        _amounts(demand[n], row, resources, f"{here}.demand", faults)
        weight[n] = _cell(row.get("weight", ""), f"{here}.weight", faults, POSITIVE, 1.0)
        limit[n] = _cell(row.get("limit", ""), f"{here}.limit", faults, LIMIT, math.inf)
    placement = np.ones(size[:2], dtype=bool)
    if (folder / "placement.csv").exists():
        placement[:] = False
        for n, i, _, _ in _pairs(folder, "placement", users, servers, {}, faults):
            placement[n, i] = True
    everywhere: Any = demand
    if (folder / "demand.csv").exists():
        everywhere = np.repeat(demand[:, None, :], size[1], axis=1)
        for n, i, place, row in _pairs(folder, "demand", users, servers, resources, faults):
            everywhere[n, i] = 0.0
            _amounts(everywhere[n, i], row, resources, place, faults)
    curves = {}
    for key, plain in CURVES.items():
        if not (folder / f"{key}.csv").exists():
            continue
        curves[key] = np.full(demand.shape, plain)
        for name, row in _named(folder, key, (), resources, faults).items():
            if name in users:
                _amounts(curves[key][users[name]], row, resources, f"users.{name}.{key}", faults,
                         plain)  # fmt: skip
            else:
                faults.add(f"{key}.csv", f"the unknown user {name!r}", nearest(name, users))
    return {
        **curves, "demand": everywhere, "capacity": capacity, "placement": placement,
        "weight": weight,
        "limit": limit, "count": count,
        "users": list(users), "servers": list(servers), "resources": list(resources),
    }  # fmt: skip


def _rows(
    folder: Path, stem: str, needed: Sequence[str], known: Sequence[str], faults: Faults
) -> Iterator[Row]:
    """Line number and cells by column of a CSV file, columns checked."""
    name = f"{stem}.csv"
    try:
        content = storage.read_text(folder / name, LARGEST, "a CSV file in UTF-8")
    except BadInput as error:
        for fault in error.faults:
            faults.add(
                name if fault.place == "file" else f"{name} {fault.place}",
                fault.found,
                fault.wanted,
            )
        return
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    try:
        header = next(reader, [])
        # the file as a whole is at fault: one fault, not one per row
        bad = [c for c in needed if c not in header]
        bad += [c for k, c in enumerate(header) if c in header[:k]]
        known_keys(dict.fromkeys(header), known, f"{name} columns", faults)
        for column in dict.fromkeys(bad):
            found = "no such column" if column not in header else "this column twice"
            faults.add(f"{name} columns.{column}", found, f"columns {', '.join(known)}, each once")
        if bad or any(c not in known for c in header):
            return
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                faults.add(
                    f"{name} line {reader.line_num}", f"{len(cells)} cells", f"{len(header)}"
                )
                continue
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        faults.add(f"{name} line {reader.line_num}", f"text not in CSV ({error})", "a CSV file")


def _named(
    folder: Path, stem: str, extra: Sequence[str], resources: Mapping[str, int], faults: Faults
) -> dict[str, dict[str, str]]:
    """The rows of users.csv or servers.csv by name."""
    found: dict[str, dict[str, str]] = {}
    before = len(faults.found)
    for line, row in _rows(folder, stem, ("name",), ("name", *extra, *resources), faults):
        name = row["name"]
        if not name or not name.isprintable():
            faults.add(f"{stem}.csv line {line}", f"the name {name!r}", "a printable text")
        elif name in found:
            faults.add(
                f"{stem}.csv line {line}", f"the name {name!r} a second time", "every name once"
            )
        else:
            found[name] = row
    if not found and len(faults.found) == before:
        faults.add(stem, "none", "at least one")
    return found


def _pairs(
    folder: Path,
    stem: str,
    users: Mapping[str, int],
    servers: Mapping[str, int],
    resources: Mapping[str, int],
    faults: Faults,
) -> Iterator[tuple[int, int, str, dict[str, str]]]:
    """User, server, place and cells of the rows of placement.csv or demand.csv."""
    seen = set()
    needed = ("user", "server")
    for line, row in _rows(folder, stem, needed, (*needed, *resources), faults):
        here = f"{stem}.csv line {line}"
        user, server = row["user"], row["server"]
        if user not in users:
            faults.add(here, f"the unknown user {user!r}", _nearest(user, users, faults))
        if server not in servers:
            faults.add(here, f"the unknown server {server!r}", _nearest(server, servers, faults))
        if user not in users or server not in servers:
            continue
        if (user, server) in seen:
            faults.add(here, f"{user} on {server} a second time", "every pair once")
            continue
        seen.add((user, server))
        yield users[user], servers[server], f"users.{user}.demand_on.{server}", row


def _nearest(name: str, known: Mapping[str, int], faults: Faults) -> str:
    """The name wanted; among many names, the nearest is searched for the first few faults only."""
    few = len(known) <= 1000 or len(faults.found) < SEARCHED
    return nearest(name, known) if few and len(faults.found) < MOST else "a known name"


def _amounts(
    into: Any, row: Mapping[str, str], resources: Mapping[str, int], place: str, faults: Faults,
    plain: float = 0.0,
) -> None:  # fmt: skip
    for name, r in resources.items():
        into[r] = _cell(row.get(name, ""), f"{place}.{name}", faults, AMOUNT, plain)


def _cell(cell: str, place: str, faults: Faults, wanted: str, default: float) -> float:
    """The number in a cell; an empty cell is the default."""
    cell = cell.strip()
    if not cell:
        return default
    try:
        # float() would accept 1_000, which other programs do not
        value: Any = cell if "_" in cell else float(cell)
    except ValueError:
        value = cell
    return number(value, place, faults, wanted)


# -- writing ----------------------------------------------------------------------------------


def write_folder(inst: Instance, folder: Path, head: str) -> None:
    """Write the files of an instance and `head` as model.toml, all of them or none."""
    folder = Path(os.path.realpath(folder))
    storage.check_folder(folder)
    if folder.exists() and not (
        folder.is_dir() and {p.name for p in folder.iterdir()} <= set(FILES)
    ):
        raise UsageError(
            f"output: {folder.name} holds other files; wanted a new folder or NAME.toml"
        )
    reserved = [name for name in inst.resources if name in RESERVED]
    if reserved:
        raise UsageError(
            f"output: the resource {reserved[0]!r} cannot be a column; write NAME.toml"
        )
    try:
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            storage.write_text(fresh / "model.toml", head)
            for name, rows in _contents(inst):
                text = io.StringIO()
                csv.writer(text, lineterminator="\n").writerows(rows)
                storage.write_text(fresh / name, text.getvalue())
            _put(fresh, folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise UsageError(f"output: {folder} cannot be written ({error.strerror})") from None


def _put(fresh: Path, folder: Path) -> None:
    """Replace the old folder by the new one."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(fresh, 0o777 & ~mask)
    if not folder.exists():
        os.replace(fresh, folder)
        return
    old = fresh.with_name(fresh.name + ".old")
    os.replace(folder, old)
    try:
        os.replace(fresh, folder)
    except OSError:
        os.replace(old, folder)
        raise
    shutil.rmtree(old)


def _contents(inst: Instance) -> Iterator[tuple[str, Iterator[list[Any]]]]:
    yield "servers.csv", _server_rows(inst)
    yield "users.csv", _user_rows(inst)
    if not inst.placement.all():
        yield "placement.csv", _placement_rows(inst)
    if inst.demand.ndim == 3:
        yield "demand.csv", _demand_rows(inst)
    for key, plain in CURVES.items():
        curve = getattr(inst, key)
        bent = np.flatnonzero((curve != plain).any(axis=1))
        if len(bent):
            rows = ([inst.users[n], *_cells(curve[n])] for n in bent)
            yield f"{key}.csv", chain([["name", *inst.resources]], rows)


def _server_rows(inst: Instance) -> Iterator[list[Any]]:
    yield ["name", "count", *inst.resources]
    for i, name in enumerate(inst.servers):
        yield [name, int(inst.count[i]), *_cells(inst.capacity[i])]


def _user_rows(inst: Instance) -> Iterator[list[Any]]:
    yield ["name", "weight", "limit", *inst.resources]
    base = inst.demand if inst.demand.ndim == 2 else inst.demand[:, 0]
    for n, name in enumerate(inst.users):
        limit = repr(float(inst.limit[n])) if np.isfinite(inst.limit[n]) else ""
        yield [name, repr(float(inst.weight[n])), limit, *_cells(base[n])]


def _placement_rows(inst: Instance) -> Iterator[list[Any]]:
    yield ["user", "server"]
    for n, i in np.argwhere(inst.placement):
        yield [inst.users[n], inst.servers[i]]


def _demand_rows(inst: Instance) -> Iterator[list[Any]]:
    yield ["user", "server", *inst.resources]
    for n, i in np.ndindex(*inst.demand.shape[:2]):
        # the first pair is always written: without any, demand would be read back as (N, R)
        if (n, i) == (0, 0) or (inst.demand[n, i] != inst.demand[n, 0]).any():
            yield [inst.users[n], inst.servers[i], *_cells(inst.demand[n, i])]


def _cells(row: Any) -> list[str]:
    return [repr(float(x)) for x in row]
