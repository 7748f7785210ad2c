"""What a resource of a shape is worth in an answer: the price that the plan shows."""

from __future__ import annotations

import math

import numpy as np

from fairopt.allocation import Allocation
from fairopt.connect.plan.status import Block
from fairopt.instance import Floats, Instance
from fairopt.instance.quotas import Quota


def prices(answer: Allocation) -> Floats:
    """(I, R) price of one more unit; of max-min the highest of its levels or rounds."""
    if answer.prices is not None:
        return answer.prices
    if answer.level_prices is not None and len(answer.level_prices):
        highest: Floats = answer.level_prices.max(axis=0)
        return highest
    found = np.zeros(answer.instance.capacity.shape)
    for one in answer.rounds or ():
        found = np.maximum(found, one["prices"].get("prices", 0.0))
    return found


def use(answer: Allocation, plain: Instance) -> Floats:
    """(I, R) part of the capacity in use; 0 where there is none. `plain` has no groups or modes."""
    used: Floats = answer.tasks.T @ plain.demand
    return np.divide(used, plain.pool, out=np.zeros_like(used), where=plain.pool > 0)


def blocks(answer: Allocation, plain: Instance) -> dict[str, list[Block]]:
    """What stops each user that is not at its limit: full resources where it may run."""
    full, price = use(answer, plain) >= 1 - 1e-6, prices(answer)
    totals = answer.totals
    found: dict[str, list[Block]] = {}
    for n in np.flatnonzero(totals < plain.limit * (1 - 1e-6)):
        asks = plain.demand[n] > 0
        stops = full & asks & plain.eligible[n][:, None]
        found[plain.users[n]] = [
            Block(plain.servers[i], plain.resources[r], float(price[i, r]))
            for i, r in np.argwhere(stops)
        ]
    return found


def quotas(answer: Allocation, plain: Instance) -> dict[str, list[str]]:
    """The quotas and ceilings that stop users who could run on some shape that is not full.

    In words: "cpu borrowing limit of ml-cq on flavor mig: 600", which is what is its own and what
    it may borrow at most.
    """
    inst = answer.instance
    if inst.quotas is None or not (inst.quotas.quotas or inst.quotas.bounds):
        return {}
    said = {
        _whose(own.member, "quota", own.flavor, own.resource): own for own in inst.quotas.quotas
    }
    most = {
        _whose(own.member, "ceiling", own.flavor, own.resource): own for own in inst.quotas.bounds
    }
    full = use(answer, plain) >= 1 - 1e-6
    stopped = full[None] & (plain.demand > 0)[:, None, :]
    somewhere = (plain.eligible & ~stopped.any(axis=2)).any(axis=1)
    waiting = answer.totals < plain.limit * (1 - 1e-6)
    wanted = {plain.users[n] for n in np.flatnonzero(somewhere & waiting)}
    found: dict[str, list[str]] = {}
    for stop in answer.blocked if wanted else ():
        if stop.user not in wanted or stop.server is None or stop.resource is None:
            continue
        key = stop.server, stop.resource
        if key in said:
            found.setdefault(stop.user, []).append(_worded(said[key]))
        elif key in most:
            own = most[key]
            flavor = f" on flavor {own.flavor}" if own.flavor else ""
            words = f"{own.resource} ceiling of {own.member}{flavor}: {own.most:.6g}"
            found.setdefault(stop.user, []).append(words)
    return {user: sorted(set(words)) for user, words in found.items()}


def _whose(member: str, kind: str, flavor: str | None, resource: str) -> tuple[str, str]:
    """Where a rule is named in the place of a server, as `Allocation.blocked` has it."""
    return f"{member}'s {kind}" + (f" of {flavor}" if flavor else ""), resource


def _worded(own: Quota) -> str:
    flavor = f" on flavor {own.flavor}" if own.flavor else ""
    if 0 < own.borrow < math.inf:
        most = own.nominal + own.borrow
        return f"{own.resource} borrowing limit of {own.member}{flavor}: {most:.6g}"
    return f"{own.resource} quota of {own.member}{flavor}"
