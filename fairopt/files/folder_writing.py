"""Writing an instance as a folder of CSV files, all of them or none."""

from __future__ import annotations

import csv
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np

from fairopt import storage
from fairopt.errors import UsageError
from fairopt.files import own_rules, promises
from fairopt.instance import Instance
from fairopt.instance.fields import CURVES

FILES = (
    "model.toml",
    "users.csv",
    "servers.csv",
    "placement.csv",
    "demand.csv",
    *(f"{name}.csv" for name in CURVES),
    "limit_on.csv",
    *promises.FILES,
    *own_rules.FILES,
    "cluster.json",
)
RESERVED = ("name", "weight", "limit", "count", "user", "server")
"""other columns of the files, which no resource of a folder may be called"""


def write_folder(inst: Instance, folder: Path, head: str, cluster: str = "") -> None:
    """Write the files of an instance and `head` as model.toml, all of them or none.

    Parameters
    ----------
    cluster : text of cluster.json, which no reader of models looks into; without it there is none.
    """
    inst.only_known("write")
    folder = Path(os.path.realpath(folder))
    storage.check_folder(folder)
    if folder.exists() and not (
        folder.is_dir() and {p.name for p in folder.iterdir()} <= set(FILES)
    ):
        raise UsageError(
            f"output: {folder.name} holds other files; wanted a new folder or NAME.toml"
        )
    had = () if inst.start is None else ("start",)
    taken = [*RESERVED, *had, *(promises.COLUMNS if inst.quotas else ())]
    taken += ["mode", "speed", "servers"] if inst.modes else []
    reserved = [name for name in inst.resources if name in taken]
    if reserved:
        raise UsageError(
            f"output: the resource {reserved[0]!r} cannot be a column; write NAME.toml"
        )
    try:
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            storage.write_text(fresh / "model.toml", head)
            if cluster:
                storage.write_text(fresh / "cluster.json", cluster)
            for name, rows in _contents(inst):
                text = io.StringIO()
                csv.writer(text, lineterminator="\n").writerows(map(_bare, rows))
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
    if inst.limit_on is not None:
        yield "limit_on.csv", _limit_on_rows(inst.limit_on, inst)
    yield from promises.contents(inst)
    yield from own_rules.contents(inst)


def _server_rows(inst: Instance) -> Iterator[list[Any]]:
    yield ["name", "count", *inst.resources]
    for i, name in enumerate(inst.servers):
        yield [name, int(inst.count[i]), *_cells(inst.capacity[i])]


def _user_rows(inst: Instance) -> Iterator[list[Any]]:
    own = promises.user_cells(inst) if inst.quotas else repeat([])
    had = inst.start
    started = [] if had is None else ["start"]
    yield ["name", "weight", "limit", *started, *next(own), *inst.resources]
    base = inst.demand if inst.demand.ndim == 2 else inst.demand[:, 0]
    last = set(inst.quotas.last) if inst.quotas else set()
    for n, name in enumerate(inst.users):
        limit = repr(float(inst.limit[n])) if np.isfinite(inst.limit[n]) else ""
        weight = 0.0 if name in last else float(inst.weight[n])
        first = [] if had is None else [repr(float(had[n]))]
        yield [name, repr(weight), limit, *first, *next(own), *_cells(base[n])]


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


def _limit_on_rows(most: Any, inst: Instance) -> Iterator[list[Any]]:
    yield ["user", "server", "limit"]
    for n, i in np.argwhere(np.isfinite(most)):
        yield [inst.users[n], inst.servers[i], repr(float(most[n, i]))]


def _bare(row: list[Any]) -> list[Any]:
    """The row, which would be read as other cells if there were spaces around one.

    Raises
    ------
    UsageError : there are.
    """
    for cell in row:
        if isinstance(cell, str) and cell != cell.strip():
            raise UsageError(
                f"output: the name {cell!r} cannot be a cell, for its spaces; write NAME.toml"
            )
    return row


def _cells(row: Any) -> list[str]:
    return [repr(float(x)) for x in row]
