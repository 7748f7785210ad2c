"""A model as a problem, and a problem as a model: what `fairopt import` writes is read again."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairopt import files
from fairopt.connect.cluster.eligible import Rules
from fairopt.connect.cluster.record import ClusterRecord, Workload
from fairopt.connect.cluster.shapes import Shape
from fairopt.connect.cluster.together import Together, Zones
from fairopt.connect.plan import apart, kept
from fairopt.connect.plan.kept import Kept
from fairopt.connect.plan.problem import ClusterProblem, held_by_shape, measured
from fairopt.connect.text.fields import Amounts
from fairopt.errors import UsageError
from fairopt.exact import as_printed
from fairopt.files import Case, Model
from fairopt.files.whole import WholeKeys
from fairopt.instance import Floats, Instance

_NONE = "it asks for less than one whole task"
ZONE = "zone"
"""what tells the zones of a model apart"""
SOURCE = "imported by fairopt from what its scheduler printed"


def is_model(paths: Sequence[str]) -> bool:
    """Whether the paths are one model: a TOML file, a folder, or the name of a shipped model."""
    if len(paths) != 1 or paths[0] == "-":
        return False
    path = paths[0]
    return path.endswith(".toml") or os.path.isdir(path) or not os.path.exists(path)


def problem(path: str) -> ClusterProblem:
    """The problem of a model; amounts are the decimal numbers that its file shows.

    Raises
    ------
    BadInput, UsageError : as of `fairopt.read`; demand by server or that is not linear.
    """
    read = files.read(path)
    instance, whole, known = read.instance, read.whole, Kept(read.cluster)
    instance.only_known("plan")
    instance.only_linear("plan")
    if instance.demand.ndim == 3:
        raise UsageError("plan: found demand by server; wanted the same demand on every server")
    resources = instance.resources
    demand = [_amounts(resources, row) for row in instance.demand]
    capacity = [
        known.capacity(name, _amounts(resources, row), resources)
        for name, row in zip(instance.servers, instance.capacity, strict=True)
    ]
    quotas = instance.quotas
    member = {} if quotas is None else dict(quotas.group)
    users = []
    zones = Zones(ZONE, 1, tuple(whole.zones.items()))
    in_zone = [any(name in own for own in whole.zones.values()) for name in instance.servers]
    fits = np.zeros(instance.shape[:2], dtype=bool)
    for n, name in enumerate(instance.users):
        limit = instance.limit[n]
        asked = int(limit) if np.isfinite(limit) else None
        weight = float(instance.weight[n])
        bound = Together(
            whole.gang.get(name, 1),
            whole.per_node.get(name),
            at_least=whole.at_least.get(name, 1),
            spread=zones if name in whole.spread else None,
        )
        if bound.spread is not None:
            bound = replace(bound, spread=replace(bound.spread, skew=whole.spread[name]))
        given = member.get(name, name), name, demand[n], Rules(), asked
        own = Workload(*given, weight=weight, together=bound)
        users.append(known.workload(own, name, name in member))
        for i, room in enumerate(capacity):
            fits[n, i] = (
                instance.placement[n, i]
                and (bound.spread is None or in_zone[i])
                and all(room.get(key, 0) >= x for key, x in users[n].demand.items())
            )
    less = instance.limit < 1
    stuck = [
        (name, work, _NONE if row.any() else "task larger than any node where it may run")
        for name, work, row, none in zip(instance.users, users, fits, less, strict=True)
        if none or not row.any()
    ]
    some = np.flatnonzero(fits.any(axis=1) & ~less)
    stuck += [row for row in known.stuck() if row[0] not in instance.users]
    if not len(some):
        raise UsageError("plan: found no user with a task that fits on a server")
    left = instance.select(some, np.arange(len(instance.servers)))
    shapes = tuple(
        Shape(name, int(count), own, known.members(name, int(count)), (), known.cards(name))
        for name, count, own in zip(instance.servers, instance.count, capacity, strict=True)
    )
    owners = [users[n] for n in some]
    held, out = held_by_shape(owners, shapes)
    # whole tasks are asked: what the fluid answer divides is what the plan says is asked
    left = left.replace(placement=fits[some], limit=np.floor(left.limit))
    left = apart.with_rows(left, [own.together for own in owners])
    return ClusterProblem(
        ClusterRecord(
            known.out(users, shapes),
            owners,
            known.undivided(),
            known.beyond(),
            _weights(known, left, owners),
            known.ceilings(),
            volcano=known.volcano(),
            cards=whole.cards,
        ),
        left,
        left.replace(quotas=None, modes=None, rules=None, limit_on=None),
        tuple(owners),
        shapes,
        _speed(left),
        held,
        out,
        tuple(stuck),
        tuple(known.data.get("overfull", ())),
        known.kinds(),
        known.kueue(),
    )


def _weights(known: Kept, instance: Instance, owners: Sequence[Workload]) -> dict[str, float]:
    """Weight of every queue, as the model has it: of its group, or of all its users together."""
    found: dict[str, float] = dict(known.data.get("weights", {}))
    queues = {own.queue for own in owners}
    if instance.quotas is not None:
        for group in instance.quotas.groups:
            plain = group.name.removesuffix(" (queue)")
            found[plain if plain in queues else group.name] = group.weight
        return found
    total: dict[str, float] = {}
    for own, weight in zip(owners, instance.weight.tolist(), strict=True):
        total[own.queue] = total.get(own.queue, 0.0) + weight
    for queue, weight in total.items():
        if not math.isclose(weight, found.get(queue, 1.0), rel_tol=1e-9):
            found[queue] = weight
    return found


def _speed(instance: Instance) -> Floats:
    """(N, I) speed of a user on a server, from its modes.

    Raises
    ------
    UsageError : modes of other demand than the user's, or two modes on one server.
    """
    speed = np.ones(instance.shape[:2])
    at = {name: i for i, name in enumerate(instance.servers)}
    for name, ways in (instance.modes or {}).items():
        n = instance.users.index(name)
        seen: set[str] = set()
        for mode in ways:
            servers = instance.servers if mode.servers is None else mode.servers
            if seen & set(servers) or tuple(mode.demand) != tuple(instance.demand[n].tolist()):
                wanted = "modes of the user's own demand, each on servers of its own"
                raise UsageError(f"plan: found the mode {mode.name!r} of {name}; wanted {wanted}")
            seen |= set(servers)
            speed[n, [at[server] for server in servers]] = mode.speed
    return speed


def model(found: ClusterProblem, title: str) -> Model:
    """The problem as a plain model, to be changed by hand; its case is the plan's own notion.

    Of what at most one task on a node may have, whatever workload, it keeps one of each workload.
    """
    case = Case("notion", "max-min", measured(found))
    whole = WholeKeys(cards=found.cluster.cards)
    for name, work in zip(found.instance.users, found.users, strict=True):
        own = work.together
        if own.gang > 1:
            whole.gang[name] = own.gang
        if own.at_least > 1:
            whole.at_least[name] = own.at_least
        if own.alone or own.per_node is not None:
            whole.per_node[name] = 1 if own.alone else own.per_node or 1
    spread = {
        name: own.together.spread
        for name, own in zip(found.instance.users, found.users, strict=True)
    }
    alike = {own.zones for own in spread.values() if own is not None}
    if len(alike) == 1:  # a model has zones of one kind
        (zones,) = alike
        whole.zones.update(zones)
        whole.spread.update((n, own.skew) for n, own in spread.items() if own is not None)
    cluster = kept.of(found)
    return Model(found.instance, (case,), title=title, source=SOURCE, whole=whole, cluster=cluster)


def _amounts(resources: Sequence[str], row: Any) -> Amounts:
    exact = {key: as_printed(x) for key, x in zip(resources, row, strict=True)}
    return {key: amount for key, amount in exact.items() if amount}
