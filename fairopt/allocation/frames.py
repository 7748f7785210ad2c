"""Answers as labelled pandas frames; amounts that are only rounding are shown as 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt.allocation.amounts import Amounts
from fairopt.errors import MissingExtra, UsageError
from fairopt.instance import Floats

if TYPE_CHECKING:
    from pandas import DataFrame

FRAMES = ("pairs", "tasks", "users", "prices", "used", "utilisation")
DUST = 1e-9
"""tasks count as rounding below this part of the user's total and of what it could run there alone;
the money of a row does below this part of all money, if more than this part of the row is left"""
ROUNDING = 2.0**-52
"""below this part of the whole, floating point cannot tell an amount from 0"""


def frame(alloc: Amounts, what: str) -> DataFrame:
    """The frame of an answer; see `Allocation.to_frame`."""
    if what not in FRAMES:
        raise UsageError(f"to_frame: found {what!r}; wanted one of {', '.join(FRAMES)}")
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtra("to_frame needs pandas: pip install 'fairopt[frame]'") from error
    inst = alloc.instance
    if what in ("prices", "used", "utilisation"):
        values = clean_prices(alloc) if what == "prices" else getattr(alloc, what)
        return pd.DataFrame(
            np.array(values),
            pd.Index(inst.servers, name="server"),
            pd.Index(inst.resources, name="resource"),
        )
    tasks = clean(alloc)
    users = pd.Index(inst.users, name="user")
    if what == "tasks":
        return pd.DataFrame(tasks, users, pd.Index(inst.servers, name="server"))
    if what == "users":
        some = (tasks != 0).any(axis=1)
        found = {"tasks": alloc.totals, "share": alloc.shares, "level": alloc.levels}
        found = {name: np.where(some, each, 0.0) for name, each in found.items()}
        given = {"weight": np.array(inst.weight), "limit": np.array(inst.limit)}
        return pd.DataFrame({**given, **found}, users)
    if alloc.way_tasks is not None:
        return pd.DataFrame(_by_mode(alloc))
    n, i = np.nonzero(tasks)
    return pd.DataFrame(
        {
            "user": [inst.users[k] for k in n],
            "server": [inst.servers[k] for k in i],
            "tasks": tasks[n, i],
            "share": (alloc.score * tasks)[n, i],
        }
    )


def _by_mode(alloc: Amounts) -> dict[str, Any]:
    """A row for each user, server and mode with tasks, without those that are only rounding."""
    assert alloc.way_tasks is not None
    inst, ways = alloc.instance, alloc.instance.ways
    k, i = np.nonzero(clean_by_way(alloc))
    n, x = ways.owner[k], alloc.way_tasks[k, i]
    return {
        "user": [inst.users[j] for j in n],
        "server": [inst.servers[j] for j in i],
        "mode": [ways.name[j] for j in k],
        "tasks": x,
        "output": ways.speed[k] * x,
        "share": alloc.score[n, i] * ways.speed[k] * x,
    }


def clean(alloc: Amounts) -> Floats:
    """(N, I) the tasks, with 0 in place of those that are only rounding.

    Those are small relative to the user's total and to what it could run alone on the server, or
    indistinguishable from 0 relative to the latter. Tasks where the user is not eligible are a
    fault of the answer and are kept.
    """
    size, alone = np.abs(alloc.tasks), alloc.instance.alone
    beside = np.minimum(np.abs(alloc.totals)[:, None], alone)
    return np.where((size <= DUST * beside) | (size <= ROUNDING * alone), 0.0, alloc.tasks)


def clean_by_way(alloc: Amounts) -> Floats:
    """(K, I) the tasks of each way, with 0 in place of those that are only rounding."""
    if alloc.way_tasks is None:
        return clean(alloc)
    least = DUST * np.abs(alloc.totals)[alloc.instance.ways.owner, None]
    return np.where(np.abs(alloc.way_tasks) > least, alloc.way_tasks, 0.0)


def clean_prices(alloc: Amounts) -> Floats:
    """(I, R) the prices, with 0 in place of those that are only rounding.

    Such a price makes the capacity of the row cost an amount that is indistinguishable from 0
    relative to all money, or that is small while some of the resource is left: a resource that is
    not full has no price.
    """
    if alloc.prices is None:
        raise UsageError("prices: this answer has none")
    paid = alloc.prices * alloc.instance.pool
    least = np.where(alloc.utilisation < 1 - DUST, DUST, ROUNDING)
    # with ceilings and quotas, all the money may be paid for those
    money = paid.sum() if alloc.instance.plain else max(paid.sum(), alloc.instance.weight.sum())
    return np.where(paid <= least * money, 0.0, alloc.prices)
