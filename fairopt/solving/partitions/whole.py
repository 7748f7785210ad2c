"""Users in partitions who are few: solved as one instance where the path does not end right."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fairopt import arrays, storage
from fairopt.certificates.partitioned import file
from fairopt.errors import FairoptError
from fairopt.files.partitions import Partitions
from fairopt.instance import Instance
from fairopt.notions import Notion

FEW_USERS = 20_000
"""users who are solved as one instance without a thought of memory"""


def instance(source: Partitions) -> Instance:
    """All users of all partitions, in their order."""
    parts = [source.read(k) for k in range(len(source))]
    demand, placement, weight, limit = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("demand", "placement", "weight", "limit")
    )
    return Instance(demand, source.capacity, placement, weight, limit, source.count)


def write(source: Partitions, notion: Notion, folder: Path) -> bool:
    """Solve as one instance and write the answer in partitions; whether there is one."""
    from fairopt.solving import solve

    inst = instance(source)
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
