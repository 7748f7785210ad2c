"""The cluster as data: users, servers, resources, demand, capacity, placement, weight, limit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairopt.errors import BadInput, Fault, UsageError
from fairopt.instance.faults import (
    CURVES,
    curve,
    curve_faults,
    eligibility_faults,
    named,
    shaped,
    told_bent,
    value_faults,
)
from fairopt.instance.labels import Given, by_name

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_T = TypeVar("_T", bound=np.generic)

BLOCK = 2**16
"""pairs worked on at a time: a few temporary arrays of half a megabyte fit in a core's cache"""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Instance:
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

    demand: Floats
    capacity: Floats
    placement: Bools
    weight: Floats
    limit: Floats
    count: Ints
    users: tuple[str, ...]
    servers: tuple[str, ...]
    resources: tuple[str, ...]
    demand_fixed: Floats
    demand_power: Floats

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
    ) -> None:
        faults: list[Fault] = []
        arrays, own = by_name(
            {"demand": demand, "capacity": capacity, "placement": placement, "weight": weight,
             "limit": limit, "count": count, "demand_fixed": demand_fixed,
             "demand_power": demand_power},
            {"users": users, "servers": servers, "resources": resources},
        )  # fmt: skip
        curves = [arrays.pop(name) for name in CURVES]
        d, c, delta, phi, most, machines = shaped(**arrays, faults=faults)
        fixed, power = (
            _curve(curve(name, given, (d.shape[0], c.shape[1]), faults), default, d, c)
            for (name, default), given in zip(CURVES.items(), curves, strict=True)
        )
        size = d.shape[0], c.shape[0], c.shape[1]
        names = [
            named(kind, own[kind], kind[0], size[k], faults)
            for k, kind in enumerate(("users", "servers", "resources"))
        ]
        fields = {
            "demand": sealed(d), "capacity": sealed(c), "placement": sealed(delta),
            "weight": sealed(phi), "limit": sealed(most), "count": sealed(machines),
            "users": names[0], "servers": names[1], "resources": names[2],
            "demand_fixed": fixed, "demand_power": power,
        }  # fmt: skip
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        faults.extend(value_faults(self))
        bent = list(curve_faults(self))
        faults.extend(bent or eligibility_faults(self))
        if faults:
            raise BadInput(faults)

    # -- sizes and derived arrays -------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int, int]:
        """(N, I, R)."""
        return len(self.users), len(self.servers), len(self.resources)

    @cached_property
    def linear(self) -> bool:
        """Whether x tasks take x times what one takes, of every user and resource."""
        return not self.bent.any()

    @cached_property
    def bent(self) -> Bools:
        """(N,) whose demand is not linear."""
        return sealed(((self.demand_fixed != 0) | (self.demand_power != 1)).any(axis=1))

    def only_linear(self, who: str) -> None:
        """Raise UsageError where demand is not linear, for a caller `who` that takes it to be."""
        if not self.linear:
            raise UsageError(f"{who}: found {told_bent(self)}; wanted linear demand")

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """All names, by "users", "servers" and "resources"."""
        return {"users": self.users, "servers": self.servers, "resources": self.resources}

    @cached_property
    def pool(self) -> Floats:
        """(I, R) capacity of the whole row, count_i c[i,r]."""
        return sealed(self.capacity * self.count[:, None])

    @cached_property
    def alone(self) -> Floats:
        """gamma (N, I): most tasks of user n alone on the whole row i; 0 where not eligible."""
        return sealed(_alone(self) if self.linear else self._alone_on_pool())

    @cached_property
    def eligible(self) -> Bools:
        """(N, I): placement allows it and every demanded resource is there."""
        return sealed(self.alone > 0)

    @cached_property
    def everywhere(self) -> bool:
        """Whether every user is eligible on every server row."""
        return bool(self.eligible.all())

    def blocks(self) -> Iterator[slice]:
        """Ranges of users, in order, with so few pairs each that temporary arrays stay in cache."""
        users, servers, _ = self.shape
        step = max(1, BLOCK // servers)
        for start in range(0, users, step):
            yield slice(start, min(start + step, users))

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """Users (P,) and servers (P,) of the eligible pairs, in row order."""
        users, servers, _ = self.shape
        held = [np.count_nonzero(self.eligible[k], axis=1) for k in self.blocks()]
        n = np.repeat(np.arange(users), np.concatenate(held))
        i = np.flatnonzero(self.eligible) - n * servers
        return sealed(n), sealed(i)

    @cached_property
    def pair_demand(self) -> Floats:
        """(P, R) demand of one task of each eligible pair; UsageError where it is not linear."""
        self.only_linear("demand of one task")
        n, i = self.pairs
        by_user = self.demand.ndim == 2
        return sealed(np.take(self.demand, n, axis=0) if by_user else self.demand[n, i])

    @property
    def demand_by_server(self) -> Floats:
        """(N, I, R) demand written out (a broadcast view where it is the same on every server)."""
        if self.demand.ndim == 3:
            return self.demand
        n, i, r = self.shape
        return np.broadcast_to(self.demand[:, None, :], (n, i, r))

    def used(self, tasks: Floats) -> Floats:
        """(I, R) resource used by `tasks` (N, I): sum_n x[n,i] d[n,i,r], or sum_n D[n,r](x_n)."""
        if not self.linear:
            taken: Floats = self.taken(tasks[:, 0]).sum(axis=0, keepdims=True)
            return taken
        if self.demand.ndim == 2:
            used: Floats = tasks.T @ self.demand
        else:
            used = np.einsum("ni,nir->ir", tasks, self.demand)
        return used

    def taken(self, tasks: Floats) -> Floats:
        """(N, R) D[n,r](x) = d x^a + e of each user's `tasks` (N,) where x > 0, else 0."""
        x = np.maximum(tasks, 0.0)[:, None]
        with np.errstate(over="ignore"):
            amount: Floats = self.demand * x**self.demand_power + self.demand_fixed
        return np.where(x > 0, amount, 0.0)

    def within(self, room: Floats) -> Floats:
        """(N,) most tasks that take at most `room`, (R,) or (N, R), limits aside."""
        left = np.maximum(np.broadcast_to(room, self.demand.shape) - self.demand_fixed, 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            most = (left / self.demand) ** (1.0 / self.demand_power)
        # a resource of which tasks take nothing stops a user where it has no room for what is fixed
        none = np.where(room < self.demand_fixed, 0.0, np.inf)
        least: Floats = np.where(self.demand > 0, most, none).min(axis=1)
        return least

    def _alone_on_pool(self) -> Floats:
        with np.errstate(over="ignore"):
            most = self.within(self.pool[0])
        return np.where(self.placement & np.isfinite(most)[:, None], most[:, None], 0.0)

    def parts(self) -> list[tuple[Ints, Ints]]:
        """Positions of users and servers of each part; no server is shared by users of two parts.

        Parts are in the order of their first user. A server that nobody may use is in no part.
        """
        users, servers, _ = self.shape
        if self.everywhere:
            return [(np.arange(users), np.arange(servers))]
        n, i = self.pairs
        # a user joins all its servers to its first one
        first = i[np.searchsorted(n, np.arange(users))]
        label = _joined(first[n], i, servers)
        rows = _grouped(label)
        return [(own, rows[part]) for part, own in _grouped(label[first]).items()]

    def select(self, users: ArrayLike, servers: ArrayLike) -> Instance:
        """The sub-instance of the given user and server positions, in that order."""
        n, i = np.asarray(users, dtype=np.int64), np.asarray(servers, dtype=np.int64)
        demand = self.demand[n] if self.demand.ndim == 2 else self.demand[np.ix_(n, i)]
        return Instance(
            demand, self.capacity[i], self.placement[np.ix_(n, i)], self.weight[n], self.limit[n],
            self.count[i], [self.users[k] for k in n.tolist()],
            [self.servers[k] for k in i.tolist()], self.resources,
            *(() if self.linear else (self.demand_fixed[n], self.demand_power[n])),
        )  # fmt: skip

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
            if name in CURVES and self.linear:
                continue
            h.update(name.encode())
            if isinstance(value, tuple):
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
            bool(mine[k] == theirs[k])
            if isinstance(mine[k], tuple)
            else np.array_equal(mine[k], theirs[k])
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


class _Sealed:
    """Owner of an array's memory that lends it read-only: no view of it can be made writable."""

    __slots__ = ("_array",)

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    @property
    def __array_interface__(self) -> dict[str, Any]:
        lent = dict(self._array.__array_interface__)
        lent["data"] = (lent["data"][0], True)
        return lent


def sealed(fresh: NDArray[_T]) -> NDArray[_T]:
    """An array just made, read-only for good and without a copy.

    Not even `flags.writeable = True` makes the result writable. Whoever keeps `fresh` itself could
    still write to it, so pass only arrays that nobody else holds.
    """
    if not fresh.size:  # nothing to write to
        return fresh
    return np.asarray(_Sealed(np.ascontiguousarray(fresh)))


def frozen(array: NDArray[_T]) -> NDArray[_T]:
    """A sealed copy of an array; the array itself if it is sealed already."""
    return array if is_sealed(array) else sealed(np.array(array, order="C"))


def is_sealed(array: NDArray[Any]) -> bool:
    """Whether this is a sealed array, or part of one."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return type(base) is _Sealed


_frozen = frozen


def _curve(given: Floats | None, default: float, demand: Floats, capacity: Floats) -> Floats:
    """A sealed (N, R) array of what is given, or of the default in the room of one number."""
    if given is not None:
        return frozen(given)
    return np.broadcast_to(sealed(np.full(1, default)), (demand.shape[0], capacity.shape[1]))


def _alone(inst: Instance) -> Floats:
    """(N, I) most tasks on the whole row; 0 where not eligible or nothing is demanded."""
    users, servers, resources = inst.shape
    most = np.empty((users, servers))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        for block in inst.blocks():
            here = most[block]
            here.fill(np.inf)
            for r in range(resources):
                d = inst.demand[block, ..., r]
                # c/0 is infinite; 0/0 is NaN, which fmin ignores
                np.fmin(here, inst.capacity[:, r] / (d if d.ndim == 2 else d[:, None]), out=here)
            here[~(inst.placement[block] & np.isfinite(here))] = 0.0
            here *= inst.count
    return most


def _joined(a: Ints, b: Ints, size: int) -> Ints:
    """(size,) the smallest node connected to each node by the edges a[k] - b[k].

    Every node takes the smallest label among its neighbours, and labels are replaced by the labels
    of their labels, until both ends of every edge have the same.
    """
    edges = np.unique(a * size + b)
    a, b = edges // size, edges % size
    label = np.arange(size)
    while True:
        ends = label[a], label[b]
        if np.array_equal(*ends):
            return label
        low = np.minimum(*ends)
        for end in ends:
            np.minimum.at(label, end, low)
        while not np.array_equal(label, label[label]):
            label = label[label]


def _grouped(label: Ints) -> dict[int, Ints]:
    """Positions of each label, in increasing order, labels in order of their first position."""
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    groups = np.split(order, starts[1:])
    return {int(label[k[0]]): k for k in sorted(groups, key=lambda k: int(k[0]))}
