"""The cluster as data: users, servers, resources, demand, capacity, placement, weight, limit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairopt.errors import BadInput, Fault
from fairopt.instance import frames, html
from fairopt.instance.alike import grouped, joined, together
from fairopt.instance.faults import (
    already_faults,
    curve_faults,
    eligibility_faults,
    on_server_faults,
    value_faults,
)
from fairopt.instance.fields import BLOCK, CURVES, Bools, Fields, Floats, Ints
from fairopt.instance.labels import Given, by_name
from fairopt.instance.quotas.order import restricted
from fairopt.instance.quotas.plain import kept
from fairopt.instance.quotas.records import Mode, Quotas
from fairopt.instance.quotas.ways import reference, within
from fairopt.instance.rules.faults import idle_faults
from fairopt.instance.rules.records import Rule
from fairopt.instance.rules.resolved import given_rules
from fairopt.instance.rules.resolved import restricted as own_restricted
from fairopt.instance.sealing import frozen, is_sealed, sealed
from fairopt.instance.shaped import already, curve, named, on_server, shaped

FIRST = 1_000
"""users who are asked first whether they join all servers"""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Instance(Fields):
    """A static allocation problem, validated and immutable.

    N users run tasks on I servers (rows of `count` identical machines) that offer R resources.
    A user is *eligible* on a server where placement allows it and no demanded resource is missing.

    Parameters
    ----------
    demand : (N, R), or (N, I, R) where a task costs differently by server; >= 0, resource per task.
    capacity : (I, R), >= 0, resource per machine.
    placement : (N, I) bool, where each user may run; default everywhere.
    weight : (N,), > 0, default 1.
    limit : (N,), > 0, most tasks the user can use; default inf.
    count : (I,), whole numbers >= 1, identical machines in the row; default 1.
    demand_fixed : (N, R), >= 0, what a user takes as soon as it runs at all; default 0.
    demand_power : (N, R), > 0 and <= 1, exponents a; default 1. x tasks of a user take
        demand x^a + demand_fixed of a resource. Both only on one server (a pool); what does not
        know demand that is not linear refuses it by name (docs/maths/curved-demand.md).
    quotas : groups of users, guarantees, ceilings, quotas, priorities (fo.Quotas); default none.
    modes : {user: its modes} (fo.Mode), several ways to run a task. What the user gets is output
        then, speed times tasks; its demand is that of modes without one, and may be 0 if all have.
        What does not know quotas or modes refuses them by name.
    rules : rows of one's own over the tasks (fo.Rule), of any sign and sense; default none. What
        does not know them refuses them by name (docs/how-to/own-rules.md).
    limit_on : (N, I), > 0, most tasks of the user on the whole server row; default inf.
    start : (N,), >= 0, share that the user already had, in the unit of the notion's criterion;
        default 0. Targets and welfare count start + share (docs/how-to/over-time.md).
    users, servers, resources : names; default those of the labels, or u1.., s1.., r1...

    Frames and series of pandas, and dicts by name, are put in order by their labels; plain arrays
    are in the order of the names. Demand by server is a frame with a row for each (user, server).
    In a dict of dicts an amount left out is 0, placement is the list of a user's servers, and a
    weight, limit, count or list of servers left out is the default.

    Raises
    ------
    BadInput : with every fault of the input, each with its place; of labels that do not match,
        those first.

    Examples
    --------
    >>> inst = Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"], resources=["cpu", "memory"])
    >>> inst
    Instance(2 users, 1 server, 2 resources, 2 eligible pairs)
    """

    def __init__(
        self,
        demand: Given,
        capacity: Given,
        placement: Given | None = None,
        weight: Given | None = None,
        limit: Given | None = None,
        count: Given | None = None,
        users: Sequence[str] | None = None,
        servers: Sequence[str] | None = None,
        resources: Sequence[str] | None = None,
        demand_fixed: Given | None = None,
        demand_power: Given | None = None,
        quotas: Quotas | None = None,
        modes: Mapping[str, Sequence[Mode]] | None = None,
        rules: Sequence[Rule] | None = None,
        limit_on: Given | None = None,
        start: Given | None = None,
    ) -> None:
        faults: list[Fault] = []
        arrays, own = by_name(
            {
                "demand": demand,
                "capacity": capacity,
                "placement": placement,
                "weight": weight,
                "limit": limit,
                "count": count,
                "demand_fixed": demand_fixed,
                "demand_power": demand_power,
                "limit_on": limit_on,
                "start": start,
            },
            {"users": users, "servers": servers, "resources": resources},
        )
        curves, most_on = [arrays.pop(name) for name in CURVES], arrays.pop("limit_on")
        had = arrays.pop("start")
        d, c, delta, phi, most, machines = shaped(**arrays, faults=faults)
        fixed, power = (
            _curve(curve(name, given, (d.shape[0], c.shape[1]), faults), default, d, c)
            for (name, default), given in zip(CURVES.items(), curves, strict=True)
        )
        size = d.shape[0], c.shape[0], c.shape[1]
        most_on = on_server(most_on, size[:2], faults)
        had = already(had, size[0], faults)
        names = [
            named(kind, own[kind], kind[0], size[k], faults)
            for k, kind in enumerate(("users", "servers", "resources"))
        ]
        kinds = dict(zip(("users", "servers", "resources"), names, strict=True))
        before = len(faults)
        promised, ways = kept(quotas, modes, kinds, d, phi, faults)
        muddled = bool(modes) and len(faults) > before
        own_rules = given_rules(rules, kinds, ways, promised, faults)
        if ways:
            d = reference(ways, names[0], d)
        fields = {
            "demand": sealed(d),
            "capacity": sealed(c),
            "placement": sealed(delta),
            "weight": sealed(phi),
            "limit": sealed(most),
            "count": sealed(machines),
            **kinds,
            "demand_fixed": fixed,
            "demand_power": power,
            "quotas": promised,
            "modes": ways,
            "rules": own_rules,
            "limit_on": most_on,
            "start": had,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        faults.extend(value_faults(self))
        faults.extend(on_server_faults(self))
        faults.extend(already_faults(self))
        bent = list(curve_faults(self))
        if ways and not self.linear:
            bent.append(Fault("modes", f"{self.told_bent()}, and modes", "one or the other"))
        if own_rules and not self.linear:
            bent.append(Fault("rules", f"{self.told_bent()}, and rules", "one or the other"))
        # who is eligible where follows from the modes, if those are sound
        faults.extend(bent or (() if muddled else eligibility_faults(self)))
        if own_rules and not faults:
            faults.extend(idle_faults(own_rules, self.own_rows))
        if faults:
            raise BadInput(faults)
        if most_on is not None and not (np.isfinite(most_on) & self.eligible).any():
            object.__setattr__(self, "limit_on", None)  # nobody is held back
        if had is not None and not had.any():
            object.__setattr__(self, "start", None)  # nobody had anything

    @classmethod
    def from_frames(cls, users: Any, servers: Any, placement: Any = None, **more: Any) -> Instance:
        """An instance from a frame of users and a frame of servers.

        Parameters
        ----------
        users : a row for each user, named by the index or by a column "name"; a column for each
            resource that a task takes, and if wanted "weight" and "limit". Resources without a
            column are 0, empty cells the default.
        servers : a row for each server, named likewise; a column for each resource, and if wanted
            "count".
        placement : a frame of users by servers (aligned by label), a frame with the columns "user"
            and "server" and a row for each allowed pair, or what `Instance` takes.
        more : further arguments of `Instance`.

        Raises
        ------
        BadInput : with every unknown column and every cell that is no number.

        Examples
        --------
        >>> import pandas as pd
        >>> users = pd.DataFrame({"cpu": [1, 3], "memory": [4, 1]}, index=["A", "B"])
        >>> servers = pd.DataFrame({"cpu": [9], "memory": [18]}, index=["pool"])
        >>> Instance.from_frames(users, servers)
        Instance(2 users, 1 server, 2 resources, 2 eligible pairs)
        """
        return cls(**{**frames.arguments(users, servers, placement), **more})

    def _repr_html_(self) -> str:
        return html.html(self, repr(self))

    def parts(self) -> list[tuple[Ints, Ints]]:
        """Positions of users and servers of each part; no server is shared by users of two parts.

        Parts are in the order of their first user. A server that nobody may use is in no part.
        With rules that tie all users together (quotas, own rules) there is one part.
        """
        users, servers, _ = self.shape
        # what is promised to some is taken from others
        if self.unknown("parts"):
            return [(np.arange(users), np.flatnonzero(self.eligible.any(axis=0)))]
        if self.everywhere or together(self.eligible[:FIRST]):
            return [(np.arange(users), np.arange(servers))]
        n, i = self.pairs
        # a user joins all its servers to its first one
        first = i[np.searchsorted(n, np.arange(users))]
        label = joined(first[n], i, servers)
        rows = grouped(label)
        return [(own, rows[part]) for part, own in grouped(label[first]).items()]

    def select(self, users: ArrayLike, servers: ArrayLike) -> Instance:
        """The sub-instance of the given user and server positions, in that order.

        Groups stay, even those left empty.
        """
        self.only_known("select")
        n, i = np.asarray(users, dtype=np.int64), np.asarray(servers, dtype=np.int64)
        demand = self.demand[n] if self.demand.ndim == 2 else self.demand[np.ix_(n, i)]
        users, servers = [self.users[k] for k in n.tolist()], [self.servers[k] for k in i.tolist()]
        fixed, power = (None if self.linear else getattr(self, name)[n] for name in CURVES)
        return Instance(
            demand,
            self.capacity[i],
            self.placement[np.ix_(n, i)],
            self.weight[n],
            self.limit[n],
            self.count[i],
            users,
            servers,
            self.resources,
            fixed,
            power,
            self.quotas and restricted(self.quotas, users, servers),
            self.modes and within(self.modes, users, servers),
            own_restricted(self.rules, users, servers, self.quotas or Quotas()),
            None if self.limit_on is None else self.limit_on[np.ix_(n, i)],
            None if self.start is None else self.start[n],
        )

    def replace(self, **changes: Any) -> Instance:
        """A copy with some fields changed, validated again."""
        fields = self._fields()
        if self.linear:  # whatever the new shapes are
            fields = {name: value for name, value in fields.items() if name not in CURVES}
        return Instance(**{**fields, **changes})

    # -- identity -----------------------------------------------------------------------------

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def digest(self) -> str:
        """SHA-256 of the content: equal instances have equal digests, on every machine."""
        h = hashlib.sha256()
        for name, value in self._fields().items():
            if value is None or (name in CURVES and self.linear):
                continue
            h.update(name.encode())
            if isinstance(value, Quotas):
                h.update(repr(value.content()).encode())
            elif isinstance(value, tuple | Mapping):
                h.update(repr(value).encode())
            else:
                h.update(repr((value.shape, value.dtype.str)).encode())
                h.update(np.ascontiguousarray(value).reshape(-1).data)
        return h.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instance):
            return NotImplemented
        mine, theirs = self._fields(), other._fields()
        return all(
            np.array_equal(mine[k], theirs[k])
            if isinstance(mine[k], np.ndarray)
            else mine[k] == theirs[k]
            for k in mine
        )

    def __hash__(self) -> int:
        return hash(self.digest())

    def __reduce__(self) -> tuple[Any, ...]:
        # through the constructor: an unpickled array would be writable
        return (Instance, tuple(self._fields().values()))

    def __repr__(self) -> str:
        words = ", ".join(
            f"{size} {word}{'s' if size != 1 else ''}"
            for size, word in zip(self.shape, ("user", "server", "resource"), strict=True)
        )
        return f"Instance({words}, {np.count_nonzero(self.eligible)} eligible pairs)"


def remembered(owner: Any, name: str, make: Callable[[], Any]) -> Any:
    """The result of `make`, computed once and kept on the (immutable) owner under `name`."""
    kept = owner.__dict__
    if name not in kept:
        kept[name] = make()
    return kept[name]


def _curve(given: Floats | None, default: float, demand: Floats, capacity: Floats) -> Floats:
    """A sealed (N, R) array of what is given, or of the default in the room of one number."""
    if given is not None:
        return frozen(given)
    return np.broadcast_to(sealed(np.full(1, default)), (demand.shape[0], capacity.shape[1]))


__all__ = [
    "BLOCK",
    "Bools",
    "Fields",
    "Floats",
    "Instance",
    "Ints",
    "frozen",
    "is_sealed",
    "remembered",
    "sealed",
]
