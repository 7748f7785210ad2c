"""A place on the path over partitions as plain arrays, so that it can be gone on from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from fairopt.solving.engines.smoothed.path import Where
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.sharp import Sharp
from fairopt.solving.engines.smoothed.spread import SpreadPrices
from fairopt.solving.engines.smoothed.users import UsersRead

NUMBERS = ("tau", "iterations", "passes", "miss", "fell", "drop", "best", "since")


def arrays(now: Where) -> dict[str, Any]:
    """The place as arrays by name."""
    told = now.told
    assert isinstance(told, SpreadPrices)
    users = told.sharp.users
    limit = np.full(len(users), np.inf) if users.limit is None else users.limit
    probe = {}
    if told.probe is not None:
        probe = {"probe_at": told.probe[0], "probe_near": told.probe[1]}
    return {
        **probe,
        **{f"now_{name}": getattr(now, name) for name in NUMBERS},
        "now_free": now.free,
        **_prices("now", now.prices),
        **_prices("told", told.prices),
        "told_tau": told.tau,
        "sharp_at": np.concatenate(told.at),
        "sharp_of": [len(at) for at in told.at],
        "sharp_demand": users.demand,
        "sharp_log_w": users.log_w,
        "sharp_near": users.eligible,
        "sharp_limit": limit,
        "sharp_limited": users.limit is not None,
        **{f"sharp_{name}": value for name, value in told.sharp.state().items()},
    }


def place(kept: Mapping[str, Any], begin: SpreadPrices) -> Where:
    """The place that the arrays hold; `begin` knows the partitions and the sample."""
    limit = kept["sharp_limit"] if bool(kept["sharp_limited"]) else None
    users = UsersRead(
        begin.terms.alpha,
        kept["sharp_demand"],
        kept["sharp_log_w"],
        kept["sharp_near"],
        None,
        limit,
    )
    state = {name[6:]: kept[name] for name in kept if name.startswith("sharp_")}
    probe = (kept["probe_at"], kept["probe_near"]) if "probe_at" in kept else None
    told = replace(
        begin,
        probe=probe,
        prices=_of(kept, "told"),
        tau=float(kept["told_tau"]),
        sharp=Sharp.of_state(users, state),
        at=np.split(kept["sharp_at"], np.cumsum(kept["sharp_of"])[:-1]),
    )
    numbers = {name: kept[f"now_{name}"].item() for name in NUMBERS}
    return Where(told, _of(kept, "now"), kept["now_free"], **numbers)


def _prices(name: str, prices: ServerPrices) -> dict[str, Any]:
    return {f"{name}_{part.name}": getattr(prices, part.name) for part in fields(prices)}


def _of(kept: Mapping[str, Any], name: str) -> ServerPrices:
    return ServerPrices(**{part.name: kept[f"{name}_{part.name}"] for part in fields(ServerPrices)})
