"""Wants as rows of a horizon: limits on servers, ceilings, and rules.

Where a user may run on one server of a slice alone its want is a limit on that server. On several,
and over slices with `carry`, it is a ceiling on the resource that the user's tasks take most of;
with modes, or where a task takes something else on every server, a rule that counts tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairopt.instance import Bools, Floats, Instance
from fairopt.instance.quotas import Bound, Mode
from fairopt.instance.rules.records import Rule, Term


@dataclass
class SliceRows:
    """most : (T, N, I) limits on servers, None of one slice. bounds, rules, and the flavors that
    they name."""

    most: Floats | None = None
    bounds: list[Bound] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    flavors: dict[str, list[str]] = field(default_factory=dict)


def wanted(
    base: Instance,
    amount: Floats,
    own: Floats,
    runs: Bools,
    carry: bool,
    slices: tuple[str, ...],
) -> SliceRows:
    """The rows of what users want.

    Parameters
    ----------
    amount : (T, N) task-hours wanted. own : (T, N) that users may have at once, over each slice.
    runs : (T, N, I) where each may run.
    """
    if len(runs) == 1:
        return SliceRows()
    now, several = own if carry else amount, runs.sum(axis=2) > 1
    found = SliceRows(np.where(runs & ~several[:, :, None], now[:, :, None], np.inf))
    _rows(found, base, now, several, lambda t: (f"at {slices[t]}", [t]), slices)
    if carry:
        so_far = np.cumsum(amount, axis=0)
        # of slices until more is wanted, the last says all
        last = np.vstack([amount[1:] > 0, np.ones((1, len(base.users)), dtype=bool)])
        ran = np.logical_or.accumulate(runs.any(axis=2), axis=0)
        until = range(len(slices))
        _rows(
            found,
            base,
            so_far,
            last & ran,
            lambda t: (f"until {slices[t]}", until[: t + 1]),
            slices,
        )
    return found


def _rows(
    found: SliceRows,
    base: Instance,
    amount: Floats,
    where: Bools,
    period: Callable[[int], tuple[str, Sequence[int]]],
    slices: tuple[str, ...],
) -> None:
    """Add rows of amounts (T, N) at (t, n), each over the slices of its named period."""
    for t, n in np.argwhere(np.isfinite(amount) & where).tolist():
        name, of = period(t)
        if name not in found.flavors:
            found.flavors[name] = [f"{s}@{slices[k]}" for k in of for s in base.servers]
        user, most, counted = base.users[n], float(amount[t, n]), _counted(base, n)
        if counted is None:
            found.rules.append(Rule(f"{user} {name}", most=most, terms=[Term([user], [name])]))
        else:
            r, need = counted
            found.bounds.append(Bound(user, r, most * need, name))


def _counted(base: Instance, n: int) -> tuple[str, float] | None:
    """The resource by which a user's tasks are counted, and what one takes of it everywhere; None
    where there is none."""
    if base.users[n] in (base.modes or {}):
        return None
    demand = base.demand[n]
    if demand.ndim == 2:
        demand = demand[base.placement[n]]
        same = (demand == demand[0]).all(axis=0) & (demand[0] > 0)
        if not same.any():
            return None
        demand = np.where(same, demand[0], 0.0)
    r = int(np.argmax(demand))
    return base.resources[r], float(demand[r])


def modes_of(base: Instance, slices: tuple[str, ...]) -> dict[str, list[Mode]] | None:
    """Modes that run on their servers in every slice."""
    if base.modes is None:
        return None

    def everywhere(servers: Any) -> list[str] | None:
        return None if servers is None else [f"{s}@{name}" for name in slices for s in servers]

    return {
        user: [Mode(mode.name, mode.demand, mode.speed, everywhere(mode.servers)) for mode in given]
        for user, given in base.modes.items()
    }


__all__ = ["SliceRows", "modes_of", "wanted"]
