"""Whether an answer keeps every rule: capacity, limits, ceilings, lending, guarantees."""

from __future__ import annotations

import numpy as np

from fairopt.allocation.check import Check
from fairopt.certificates.ruled import lending
from fairopt.certificates.ruled.answer import Ruled
from fairopt.certificates.tolerance import FEASIBLE
from fairopt.instance import Floats

ROUNDING = 2.0**-48
"""part of a row by which rounding may overrun it"""


def checks(ruled: Ruled, floor: Floats) -> tuple[Check, ...]:
    """Tasks >= 0, placement, and every rule; of each the worst place is named.

    Parameters
    ----------
    floor : (N,) the share that each user is guaranteed.
    """
    inst, tree, given = ruled.inst, ruled.tree, ruled.given
    names = [
        f"{inst.users[n]} ({name})" if name else inst.users[n]
        for n, name in zip(ruled.owner.tolist(), inst.ways.name, strict=True)
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(ruled.eligible, -given / inst.alone[ruled.owner], 0.0)
        stray = np.where(ruled.eligible, 0.0, np.abs(given))
        short = np.where(floor > 0, 1.0 - ruled.share / floor, 0.0)
    bounds = tree.bounds
    ceilings = [
        f"{inst.resources[r]}{_on(flavor)} of {tree.nodes[node] or 'all'}"
        for node, r, flavor in zip(
            bounds.node.tolist(), bounds.resource.tolist(), bounds.flavor, strict=True
        )
    ]
    found = [
        _worst("tasks >= 0", part, 0.0, names, inst.servers),
        _worst("placement", stray, 0.0, names, inst.servers),
        _worst("capacity", _beyond(ruled.used, inst.pool), FEASIBLE, inst.servers, inst.resources),
        _worst("limit", _beyond(ruled.running, inst.limit), FEASIBLE, inst.users),
    ]
    if inst.limit_on is not None:
        over = _beyond(ruled.placed, inst.limit_on)
        found.append(_worst("limit on a server", over, FEASIBLE, inst.users, inst.servers))
    if len(bounds):
        over = _beyond(ruled.under_bounds, bounds.amount)
        found.append(_worst("ceilings", over, FEASIBLE, ceilings))
    if tree.quotas:
        owed = np.stack(
            [
                lending.borrowed_too_much(row, flow)
                for row, flow in zip(tree.quotas, ruled.flows, strict=True)
            ]
        )
        kinds = [f"{inst.resources[row.resource]}{_on(row.flavor)}" for row in tree.quotas]
        nodes = [name or "all" for name in tree.nodes]
        found.append(_worst("lending and borrowing", owed, FEASIBLE, kinds, nodes))
    if inst.own_rows:
        own = [row.name for row in inst.own_rows]
        found.append(_worst("rules", broken(ruled), FEASIBLE, own))
    if floor.any():
        found.append(_worst("guarantees", short, FEASIBLE, inst.users))
    return tuple(found)


def broken(ruled: Ruled) -> Floats:
    """(J,) how far each own rule is missed, as a part of its amount and of the sizes of what it
    counts."""
    used, size = ruled.counted
    found = np.zeros(len(used))
    for j, row in enumerate(ruled.inst.own_rows):
        over = max((used[j] - row.amount) * row.up, (row.amount - used[j]) * row.down, 0.0)
        found[j] = over / (abs(row.amount) + size[j]) if over > 0 else 0.0
    return found


def shrink(ruled: Ruled) -> float:
    """A factor <= 1 by which all tasks may be multiplied so that capacities, limits, ceilings and
    lending hold; 0 if none does. 1 where less of everything may break a rule of one's own: tasks
    are judged as they are then."""
    if not all(row.packing for row in ruled.inst.own_rows):
        return 1.0
    over = [
        _beyond(ruled.used, ruled.inst.pool),
        _beyond(ruled.running, ruled.inst.limit),
        _beyond(ruled.under_bounds, ruled.tree.bounds.amount),
    ]
    used, _ = ruled.counted
    over.append(_beyond(used, np.array([row.amount for row in ruled.inst.own_rows])))
    if ruled.inst.limit_on is not None:
        over.append(_beyond(ruled.placed, ruled.inst.limit_on))
    factor = 1.0 / (1.0 + max(0.0, *(float(part.max(initial=0.0)) for part in over)))
    for row, flow in zip(ruled.tree.quotas, ruled.flows, strict=True):
        factor = min(factor, lending.fitting(row, ruled.tree.parent, ruled.layers, flow))
    return factor


def exactly(ruled: Ruled) -> tuple[Check, ...]:
    """Beside a rule that less of everything may break, tasks cannot be scaled until all fits. What
    is proved there of max-min and throughput holds of tasks that fit but for rounding: by the tenth
    digit that a row is overrun, a rule of large numbers may give somebody all it has."""
    if all(row.packing for row in ruled.inst.own_rows):
        return ()
    return (Check.of("rows kept to rounding", overrun(ruled), ROUNDING),)


def overrun(ruled: Ruled) -> float:
    """The largest part of its amount, and of the sizes of what it counts, by which any row is
    overrun, or of a rule of one's own missed."""
    over = [
        _beyond(ruled.used, ruled.inst.pool),
        _beyond(ruled.running, ruled.inst.limit),
        _beyond(ruled.under_bounds, ruled.tree.bounds.amount),
        broken(ruled),
    ]
    if ruled.inst.limit_on is not None:
        over.append(_beyond(ruled.placed, ruled.inst.limit_on))
    for row, flow in zip(ruled.tree.quotas, ruled.flows, strict=True):
        owed = np.maximum(-flow.free - np.append(0.0, row.borrow[1:]), 0.0)
        size = np.maximum(flow.taken, 1e-300)
        over.append(np.where(owed > 0, owed / size, 0.0))
    return max(0.0, *(float(part.max(initial=0.0)) for part in over))


def _beyond(used: Floats, most: Floats) -> Floats:
    """used / most - 1, at least 0; any use of what is not there is too much."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(used > 0, np.maximum(used / most - 1.0, 0.0), 0.0)


def _on(flavor: str | None) -> str:
    return "" if flavor is None else f" on {flavor}"


def _worst(name: str, amount: Floats, tolerance: float, *names: object) -> Check:
    """The check of the largest amount, at least 0, with its place."""
    where = np.unravel_index(int(np.argmax(amount)), amount.shape)
    worst = max(float(amount[where]), 0.0) if not np.isnan(amount[where]) else np.nan
    place = " of ".join(_named(kind, int(k)) for kind, k in zip(names, where, strict=True))
    return Check.of(name, worst, tolerance, place if not worst <= 0 else "")


def _named(kind: object, k: int) -> str:
    assert isinstance(kind, list | tuple)
    return str(kind[k])
