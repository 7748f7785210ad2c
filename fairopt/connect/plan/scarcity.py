"""What a resource of a shape is worth in an answer: the price that the plan shows."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from fairopt.allocation import Allocation
from fairopt.connect.plan.status import Block
from fairopt.instance import Bools, Floats, Instance
from fairopt.instance.quotas import Quota
from fairopt.instance.rules import Rule, Term


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
    """What stops each user that is not at its limit: full resources where it may run more."""
    full, price = use(answer, plain) >= 1 - 1e-6, prices(answer)
    totals, elsewhere = answer.totals, ~_held_apart(answer, plain)
    found: dict[str, list[Block]] = {}
    for n in np.flatnonzero(totals < plain.limit * (1 - 1e-6)):
        asks = plain.demand[n] > 0
        stops = full & asks & (plain.eligible[n] & elsewhere[n])[:, None]
        found[plain.users[n]] = [
            Block(plain.servers[i], plain.resources[r], float(price[i, r]))
            for i, r in np.argwhere(stops)
        ]
    return found


def held_back(answer: Allocation, plain: Instance) -> dict[str, list[str]]:
    """What stops users beside full resources, in words: quotas, ceilings, and tasks apart."""
    found, on = quotas(answer, plain), apart(answer, plain)
    return {user: [*found.get(user, ()), *on.get(user, ())] for user in {**found, **on}}


def apart(answer: Allocation, plain: Instance) -> dict[str, list[str]]:
    """The shapes on which users have as many tasks as their nodes may hold of them, in words."""
    found: dict[str, list[str]] = {}
    for n, i in np.argwhere(_held_apart(answer, plain)):
        found.setdefault(plain.users[n], []).append(plain.servers[i])
    return {user: [f"tasks apart on {_few(names)}"] for user, names in found.items()}


def _held_apart(answer: Allocation, plain: Instance) -> Bools:
    """(N, I) where a user below its limit has as many tasks as a limit there or a rule allows."""
    inst = answer.instance
    full = np.zeros(inst.shape[:2], dtype=bool)
    if inst.limit_on is not None:
        full = answer.tasks >= inst.limit_on * (1 - 1e-6)
    for rule in inst.rules or ():
        term = rule.terms[0]
        if rule != Rule(rule.name, most=rule.most, terms=(Term(term.users, term.servers),)):
            continue  # it counts something else than tasks
        own = np.isin(inst.users, term.users or ())
        there = np.ix_(own, np.isin(inst.servers, term.servers or ()))
        if rule.most is not None and answer.tasks[there].sum() >= rule.most * (1 - 1e-6):
            full[there] |= plain.eligible[there]
    waiting: Bools = answer.totals < plain.limit * (1 - 1e-6)
    return full & waiting[:, None]


def _few(names: list[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


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
    found: dict[str, set[str]] = {}
    flavors: dict[tuple[str, str], set[str]] = {}  # of a user, and of what it is stopped by
    for stop in answer.blocked if wanted else ():
        if stop.user not in wanted or stop.server is None or stop.resource is None:
            continue
        key = stop.server, stop.resource
        if key in said:
            words, more = _worded(said[key]), said[key].flavor
            found.setdefault(stop.user, set()).add(words)
            if more and not _borrows(said[key]):
                flavors.setdefault((stop.user, words), set()).add(more)
        elif key in most:
            own = most[key]
            flavor = f" on flavor {own.flavor}" if own.flavor else ""
            words = f"{own.resource} ceiling of {own.member}{flavor}: {own.most:.6g}"
            found.setdefault(stop.user, set()).add(words)
    return {
        user: [words + _on(flavors.get((user, words), ())) for words in sorted(all_)]
        for user, all_ in found.items()
    }


def _whose(member: str, kind: str, flavor: str | None, resource: str) -> tuple[str, str]:
    """Where a rule is named in the place of a server, as `Allocation.blocked` has it."""
    return f"{member}'s {kind}" + (f" of {flavor}" if flavor else ""), resource


def _borrows(own: Quota) -> bool:
    """Whether it borrows up to a limit, which is what is told of it."""
    return 0 < own.borrow < math.inf


def _worded(own: Quota) -> str:
    """What stops, without the flavor where nothing of it is told."""
    if _borrows(own):
        flavor = f" on flavor {own.flavor}" if own.flavor else ""
        most = own.nominal + own.borrow
        return f"{own.resource} borrowing limit of {own.member}{flavor}: {most:.6g}"
    return f"{own.resource} quota of {own.member}"


def _on(flavors: Collection[str]) -> str:
    """In words, on which flavors."""
    many = "s" if len(flavors) > 1 else ""
    return f" on flavor{many} {', '.join(sorted(flavors))}" if flavors else ""
