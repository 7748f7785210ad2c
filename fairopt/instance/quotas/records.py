"""Groups of users, and what they are promised and allowed, as plain records by name.

A record holds what was given; the instance that it is given to checks all of them at once, puts
them in order (`fairopt.instance.quotas.order`) and resolves the names (`Instance.tree`,
`Instance.ways`). What each means is derived in docs/maths/quotas.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from fairopt.errors import BadInput, Fault
from fairopt.instance.quotas.table import Table


@dataclass(frozen=True)
class Group:
    """A group of users and of other groups: a team, a department, a queue.

    Parameters
    ----------
    name : no user's name.
    parent : the group that it belongs to; None at the top.
    weight : > 0, compared with those of its siblings.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> tree = fo.Quotas([fo.Group("team", weight=2)], {"A": "team"})
    >>> fo.solve(pool.replace(quotas=tree), fo.ProportionalFair("drf")).totals.round(3).tolist()
    [4.091, 1.636]
    """

    name: str
    parent: str | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class Guarantee:
    """An entry of the bundle that a group or user is guaranteed.

    The entries of a member are one bundle: what it could do with that bundle alone, as one pool,
    is the least that it gets. A resource that no entry names does not hold it back.

    Parameters
    ----------
    member : a group or a user.
    resource : of which it is guaranteed
    amount : >= 0, in units of the resource,
    flavor : on the servers of this flavor; None for any server.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> promised = fo.Quotas(guarantees=[fo.Guarantee("A", "cpu", 4)])
    >>> fo.solve(pool.replace(quotas=promised), fo.MaxMin()).totals.round(3).tolist()
    [4.0, 1.667]
    """

    member: str
    resource: str
    amount: float
    flavor: str | None = None


@dataclass(frozen=True)
class Bound:
    """A ceiling: all users of a group (or one user) together use at most so much of a resource.

    Parameters
    ----------
    member : a group or a user.
    resource : that is bounded.
    most : >= 0, in units of the resource; inf is no bound, 0 is none of it.
    flavor : counting the servers of this flavor only; None for all servers.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> capped = fo.Quotas(bounds=[fo.Bound("B", "cpu", 3)])
    >>> fo.solve(pool.replace(quotas=capped), fo.MaxMin()).totals.round(3).tolist()
    [4.25, 1.0]
    """

    member: str
    resource: str
    most: float
    flavor: str | None = None


@dataclass(frozen=True)
class Quota:
    """The part of a resource that a group or user brings along, and how it may be lent.

    Where any member has a quota of a (flavor, resource), all others have the quota 0 there, and
    may borrow.

    Parameters
    ----------
    member : a group or a user.
    resource, flavor : as of a `Bound`.
    nominal : >= 0, units of the resource; that of a group is in addition to those below it.
    borrow : >= 0, most that it uses, with all below it, beyond what is theirs; inf: no bound.
    lend : >= 0, most of what is theirs that others may use; inf: all of it.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> own = fo.Quotas(quotas=[fo.Quota("A", "cpu", 2, borrow=0), fo.Quota("B", "cpu", 7)])
    >>> fo.solve(pool.replace(quotas=own), fo.MaxMin()).totals.round(3).tolist()
    [2.0, 2.333]
    """

    member: str
    resource: str
    nominal: float
    borrow: float = math.inf
    lend: float = math.inf
    flavor: str | None = None


@dataclass(frozen=True)
class Mode:
    """One way to run a task of a user: on which kind of card, with how much beside it.

    Parameters
    ----------
    name : no other mode of the user has it.
    demand : (R,) >= 0, of one running task, or a dict by resource; None: the user's demand.
    speed : > 0, output of one running task; the first mode of speed 1 is the usual reference.
    servers : names of those it may run on; None for all that the user may use.

    Examples
    --------
    >>> import fairopt as fo
    >>> fast = fo.Mode("fast", demand=[1], servers=["a100"])
    >>> slow = fo.Mode("slow", demand=[1], speed=0.4, servers=["t4"])
    >>> cards = fo.Instance([[1]], [[4], [4]], users=["A"], servers=["a100", "t4"],
    ...                     resources=["gpu"], modes={"A": [fast, slow]})
    >>> fo.solve(cards, fo.ProportionalFair()).shares.round(6).tolist()
    [5.6]
    """

    name: str
    demand: Any = None
    speed: float = 1.0
    servers: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.demand, Mapping):
            object.__setattr__(self, "demand", Table(self.demand))
        elif isinstance(self.demand, np.ndarray | list):
            object.__setattr__(self, "demand", tuple(np.asarray(self.demand).tolist()))
        if self.servers is not None and not isinstance(self.servers, str):
            object.__setattr__(self, "servers", tuple(self.servers))


@dataclass(frozen=True)
class Quotas:
    """Groups, guarantees, ceilings, quotas and priorities of the users of an instance, by name.

    Parameters
    ----------
    groups : those of the tree, in any order.
    group : {user: its group}; a user left out stands at the top, beside the groups there.
    guarantees, bounds, quotas : at most one of each for a member, resource and flavor.
    flavors : {name: servers}, kinds of servers that the records may name.
    guarantee_tasks : {user: tasks >= 0}, a guarantee in tasks. A user gains by a lie about its
        demand then: bundles (`Guarantee`) are the better promise (docs/maths/quotas.md).
    priority : {user: whole number}, 0 where left out; a higher one is served first, over what all
        are guaranteed.
    last : users and groups of weight 0: they are served after all others.

    Raises
    ------
    BadInput : something that is no record or table of the kind wanted. Everything else is checked
        by the `Instance` that the quotas are given to.

    Examples
    --------
    >>> tree = Quotas([Group("org"), Group("team", "org", weight=2)], {"A": "team"},
    ...               bounds=[Bound("org", "gpu", 6)])
    >>> tree.group["A"], tree.bounds[0].most
    ('team', 6)
    """

    groups: Sequence[Group] = ()
    group: Mapping[str, str] = field(default_factory=Table)
    guarantees: Sequence[Guarantee] = ()
    bounds: Sequence[Bound] = ()
    quotas: Sequence[Quota] = ()
    flavors: Mapping[str, Sequence[str]] = field(default_factory=Table)
    guarantee_tasks: Mapping[str, float] = field(default_factory=Table)
    priority: Mapping[str, int] = field(default_factory=Table)
    last: Sequence[str] = ()

    def __post_init__(self) -> None:
        wrong: list[Fault] = []
        for name, kind in RECORDS.items():
            found = _listed(name, getattr(self, name), kind, wrong)
            object.__setattr__(self, name, found)
        for name in TABLES:
            given = getattr(self, name)
            if not isinstance(given, Mapping):
                wrong.append(Fault(f"quotas.{name}", _shown(given), "a dict by name"))
                given = {}
            if name == "flavors":
                given = {
                    key: _listed(f"flavors.{key}.servers", value, str, wrong)
                    for key, value in given.items()
                }
            object.__setattr__(self, name, Table(given))
        if wrong:
            raise BadInput(wrong)

    def __bool__(self) -> bool:
        """Whether anything is said at all."""
        return any(getattr(self, f.name) for f in fields(self))

    def told(self) -> str:
        """What they say, in a few words for a message."""
        kinds = ("groups", "guarantees", "bounds", "quotas", "guarantee_tasks", "priority", "last")
        words = {
            "bounds": "ceilings",
            "guarantee_tasks": "guarantees in tasks",
            "priority": "priorities",
            "last": "weights of 0",
        }
        found = [words.get(kind, kind) for kind in kinds if getattr(self, kind)] or ["flavors"]
        return " and ".join(filter(None, [", ".join(found[:-1]), found[-1]]))

    def content(self) -> tuple[Any, ...]:
        """All of it as nested tuples in one order: equal quotas have equal content."""
        found = []
        for f in fields(self):
            value = getattr(self, f.name)
            keep = f.name in ("groups", "flavors")  # their order is that of the tree's nodes
            if isinstance(value, Table):
                value = tuple(value.items())
            found.append(value if keep else tuple(sorted(value, key=repr)))
        return tuple(found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quotas):
            return NotImplemented
        return self.content() == other.content()

    def __hash__(self) -> int:
        return hash(self.content())


RECORDS: dict[str, type] = {
    "groups": Group,
    "guarantees": Guarantee,
    "bounds": Bound,
    "quotas": Quota,
    "last": str,
}
TABLES = ("group", "flavors", "guarantee_tasks", "priority")


def _listed(place: str, given: Any, kind: type, wrong: list[Fault]) -> tuple[Any, ...]:
    """The entries given if all are of that kind; else faults are added."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        wrong.append(Fault(_place(place), _shown(given), f"a list of {_words(kind)}"))
        return ()
    found = tuple(given)
    odd = [k for k, entry in enumerate(found) if not isinstance(entry, kind)]
    wrong += [Fault(f"{_place(place)}[{k}]", _shown(found[k]), f"a {_words(kind)}") for k in odd]
    return () if odd else found


def _place(name: str) -> str:
    return f"quotas.{name}" if name in RECORDS else name


def _words(kind: type) -> str:
    return "name" if kind is str else kind.__name__


def _shown(value: Any) -> str:
    return f"the text {value!r}" if isinstance(value, str) else f"a {type(value).__name__}"
