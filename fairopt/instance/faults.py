"""What can be wrong with the numbers of an instance: all faults at once, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairopt.errors import Fault
from fairopt.instance.fields import Fields

_Floats = NDArray[np.float64]


def already_faults(inst: Fields) -> Iterator[Fault]:
    """What is wrong with shares already had."""
    if inst.start is None:
        return
    for n in np.flatnonzero(~((inst.start >= 0) & np.isfinite(inst.start)))[:20]:
        yield Fault(f"users.{inst.users[n]}.start", f"{inst.start[n]:g}", "a finite number >= 0")
    if not inst.linear:
        yield Fault("start", f"{inst.told_bent()}, and shares already had", "one or the other")


def on_server_faults(inst: Fields) -> Iterator[Fault]:
    """What is wrong with limits on servers."""
    if inst.limit_on is None:
        return
    for n, i in np.argwhere(~(inst.limit_on > 0))[:20]:
        place = f"users.{inst.users[n]}.limit_on.{inst.servers[i]}"
        yield Fault(place, f"{inst.limit_on[n, i]:g}", "a number > 0, or no placement there")
    if not inst.linear:
        yield Fault("limit_on", f"{inst.told_bent()}, and limits on servers", "one or the other")


def curve_faults(inst: Fields) -> Iterator[Fault]:
    """What is wrong with demand that is not linear."""
    if inst.linear:
        return
    for name, bad, wanted in (
        ("demand_fixed", _improper(inst.demand_fixed), "a finite number >= 0"),
        (
            "demand_power",
            ~((inst.demand_power > 0) & (inst.demand_power <= 1)),
            "a number > 0, at most 1 (more tasks may not cost more each)",
        ),
    ):
        values = getattr(inst, name)
        for n, r in np.argwhere(bad):
            place = f"users.{inst.users[n]}.{name}.{inst.resources[r]}"
            yield Fault(place, f"{values[n, r]:g}", wanted)
    if inst.demand.ndim == 3:
        yield Fault("demand", f"demand by server, and {inst.told_bent()}", "one or the other")
    elif len(inst.servers) > 1:
        found = f"{len(inst.servers)} servers, and {inst.told_bent()}"
        yield Fault("servers", found, "one server (a pool), or linear demand")
    else:
        for n, r in np.argwhere((inst.demand == 0) & (inst.demand_power != 1)):
            place = f"users.{inst.users[n]}.demand_power.{inst.resources[r]}"
            yield Fault(place, f"{inst.demand_power[n, r]:g} of nothing demanded", "no power")


def value_faults(inst: Fields) -> Iterator[Fault]:
    """Numbers out of range, each named by user, server and resource."""
    d, c = inst.demand, inst.capacity
    for where in np.argwhere(_improper(d)):
        n, r = where[0], where[-1]
        place = f"users.{inst.users[n]}.demand.{inst.resources[r]}"
        if d.ndim == 3:
            server = inst.servers[where[1]]
            place = f"users.{inst.users[n]}.demand_on.{server}.{inst.resources[r]}"
        yield Fault(place, f"{d[tuple(where)]:g}", "a finite number >= 0")
    for i, r in np.argwhere(_improper(c)):
        place = f"servers.{inst.servers[i]}.capacity.{inst.resources[r]}"
        yield Fault(place, f"{c[i, r]:g}", "a finite number >= 0")
    for n in np.flatnonzero(~(np.isfinite(inst.weight) & (inst.weight > 0))):
        yield Fault(f"users.{inst.users[n]}.weight", f"{inst.weight[n]:g}", "a finite number > 0")
    extreme = np.isfinite(inst.weight) & ((inst.weight > 1e150) | (inst.weight < 1e-150))
    for n in np.flatnonzero(extreme & (inst.weight > 0)):
        wanted = "between 1e-150 and 1e150 (floating point ends there)"
        yield Fault(f"users.{inst.users[n]}.weight", f"{inst.weight[n]:g}", wanted)
    for n in np.flatnonzero(~(inst.limit > 0)):
        yield Fault(f"users.{inst.users[n]}.limit", f"{inst.limit[n]:g}", "a number > 0")


def _improper(amounts: _Floats) -> NDArray[np.bool_]:
    bad: NDArray[np.bool_] = ~(np.isfinite(amounts) & (amounts >= 0))
    return bad


def _any(truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(N,) whether any entry of a user is true; column by column, faster for many short rows."""
    rows = truth.reshape(len(truth), -1)
    if rows.shape[1] > 32:
        return np.asarray(rows.any(axis=1))
    found = rows[:, 0].copy()
    for column in rows.T[1:]:
        found |= column
    return found


def eligibility_faults(inst: Fields) -> Iterator[Fault]:
    """Users who demand nothing, users eligible nowhere (and why), ratios beyond floating point.

    Users and servers with numbers out of range are left out: `value_faults` names those.
    """
    d = inst.demand
    sound = ~_any(_improper(d))
    if d.ndim == 2:
        idle = ~_any(d > 0)
        for n in np.flatnonzero(idle & sound):
            place = f"users.{inst.users[n]}.demand"
            yield Fault(place, "nothing demanded", "at least one resource > 0")
    else:
        nothing = np.logical_not((d > 0).any(axis=2)) & inst.placement & sound[:, None]
        idle = np.asarray(nothing.any(axis=1))
        for n, i in np.argwhere(nothing):
            place = f"users.{inst.users[n]}.demand_on.{inst.servers[i]}"
            found = "nothing demanded where the user may run"
            yield Fault(place, found, "at least one resource > 0")
    if _improper(inst.capacity).any():
        return
    sound &= ~idle
    for n in np.flatnonzero(sound & ~_any(inst.eligible)):
        reasons = [_why_not(inst, int(n), i) for i in range(min(len(inst.servers), 4))]
        if len(inst.servers) > 4:
            reasons.append(f"and {len(inst.servers) - 4} more")
        yield Fault(
            f"users.{inst.users[n]}",
            "eligible on no server: " + "; ".join(reasons),
            "a server that placement allows and that has every demanded resource",
        )
    most = float(inst.capacity.max(initial=0.0)) * float(inst.count.max(initial=1))
    if not most < 1e250:
        yield Fault("capacity", f"{most:g}", "less than 1e250 (choose a larger unit)")
    within = np.count_nonzero((inst.alone > 1e-150) & (inst.alone < 1e150))
    if within == np.count_nonzero(inst.eligible):
        return
    extreme = inst.eligible & ~((inst.alone < 1e150) & (inst.alone > 1e-150)) & sound[:, None]
    for n, i in np.argwhere(extreme)[:20]:
        yield Fault(
            f"users.{inst.users[n]}.demand",
            f"{inst.alone[n, i]:g} tasks alone on {inst.servers[i]}",
            "between 1e-150 and 1e150 (floating point ends there)",
        )


def _why_not(inst: Fields, n: int, i: int) -> str:
    if inst.modes and inst.users[n] in inst.modes:
        return f"{inst.servers[i]} suits none of its modes"
    if not inst.placement[n, i]:
        return f"{inst.servers[i]} is not allowed by placement"
    d: Any = inst.demand[n, i] if inst.demand.ndim == 3 else inst.demand[n]
    if not inst.linear and (fixed := inst.demand_fixed[n] > inst.pool[i]).any():
        return f"{inst.servers[i]} has too little {inst.resources[int(np.argmax(fixed))]} to begin"
    missing = [
        name for k, name in enumerate(inst.resources) if d[k] > 0 and inst.capacity[i, k] == 0
    ]
    return f"{inst.servers[i]} has no {' and no '.join(missing) or 'usable capacity'}"
