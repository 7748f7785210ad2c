"""What is done with one partition, here or by a worker of an executor."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from fairopt import arrays, storage
from fairopt.certificates.partitioned import file
from fairopt.errors import BadInput, Fault
from fairopt.files.partitions import Partitions
from fairopt.instance import Floats, Ints
from fairopt.solving.engines.smoothed import spread

WRITTEN = "what was just written"


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
    arrays.write(file(folder, "tasks", k), tasks)
    money = 0.0
    if mu is not None:
        arrays.write(file(folder, "limit_prices", k), mu)
        money = float(mu[mu > 0] @ part.limit[mu > 0])
    else:
        with storage.writing(folder):
            file(folder, "limit_prices", k).unlink(missing_ok=True)
    return tasks.T @ part.demand, money, float(part.weight.sum())


def fit(source: Partitions, k: int, folder: Path, over: Floats, factor: float) -> None:
    """Scale tasks server by server, then user by user, and prices of limits."""
    tasks = arrays.read(file(folder, "tasks", k), WRITTEN) / over
    tasks /= np.maximum(tasks.sum(axis=1) / source.read(k).limit, 1.0)[:, None]
    arrays.write(file(folder, "tasks", k), tasks)
    mu = file(folder, "limit_prices", k)
    if storage.there(mu):
        arrays.write(mu, arrays.read(mu, WRITTEN) * factor)
