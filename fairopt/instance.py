"""The cluster as data: users, servers, resources, demand, capacity, placement, weight, limit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairopt.errors import BadInput, Fault
from fairopt.instance_faults import eligibility_faults, named, shaped, value_faults

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_T = TypeVar("_T", bound=np.generic)


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
    users, servers, resources : names; default u1.., s1.., r1...

    Raises
    ------
    BadInput : with every fault of the input, each with its place.

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

    def __init__(
        self,
        demand: ArrayLike,
        capacity: ArrayLike,
        placement: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        limit: ArrayLike | None = None,
        count: ArrayLike | None = None,
        users: Sequence[str] | None = None,
        servers: Sequence[str] | None = None,
        resources: Sequence[str] | None = None,
    ) -> None:
        faults: list[Fault] = []
        d, c, delta, phi, most, machines = shaped(
            demand, capacity, placement, weight, limit, count, faults
        )
        size = d.shape[0], c.shape[0], c.shape[1]
        names = [
            named(kind, given, letter, size[k], faults)
            for k, (kind, given, letter) in enumerate(
                [("users", users, "u"), ("servers", servers, "s"), ("resources", resources, "r")]
            )
        ]
        fields = {
            "demand": frozen(d), "capacity": frozen(c), "placement": frozen(delta),
            "weight": frozen(phi), "limit": frozen(most), "count": frozen(machines),
            "users": names[0], "servers": names[1], "resources": names[2],
        }  # fmt: skip
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        faults.extend(value_faults(self))
        faults.extend(eligibility_faults(self))
        if faults:
            raise BadInput(faults)

    # -- sizes and derived arrays -------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int, int]:
        """(N, I, R)."""
        return len(self.users), len(self.servers), len(self.resources)

    @cached_property
    def pool(self) -> Floats:
        """(I, R) capacity of the whole row, count_i c[i,r]."""
        return frozen(self.capacity * self.count[:, None])

    @cached_property
    def alone(self) -> Floats:
        """gamma (N, I): most tasks of user n alone on the whole row i; 0 where not eligible."""
        with np.errstate(over="ignore"):  # refused by the faults of the input
            return frozen(_alone(self) * self.count[None, :])

    @cached_property
    def eligible(self) -> Bools:
        """(N, I): placement allows it and every demanded resource is there."""
        return frozen(self.alone > 0)

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """Users (P,) and servers (P,) of the eligible pairs, in row order."""
        n, i = np.nonzero(self.eligible)
        return frozen(n.astype(np.int64)), frozen(i.astype(np.int64))

    @cached_property
    def pair_demand(self) -> Floats:
        """(P, R) demand of one task of each eligible pair."""
        n, i = self.pairs
        return frozen(self.demand[n] if self.demand.ndim == 2 else self.demand[n, i])

    @property
    def demand_by_server(self) -> Floats:
        """(N, I, R) demand written out (a broadcast view where it is the same on every server)."""
        if self.demand.ndim == 3:
            return self.demand
        n, i, r = self.shape
        return np.broadcast_to(self.demand[:, None, :], (n, i, r))

    def used(self, tasks: Floats) -> Floats:
        """(I, R) resource used by `tasks` (N, I): sum_n x[n,i] d[n,i,r]."""
        if self.demand.ndim == 2:
            used: Floats = tasks.T @ self.demand
        else:
            used = np.einsum("ni,nir->ir", tasks, self.demand)
        return used

    def parts(self) -> list[tuple[Ints, Ints]]:
        """Users and servers of the parts that share no server, in order of their first user.

        A server that nobody may use belongs to no part.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n, i = self.pairs
        users, servers, _ = self.shape
        graph = coo_array((np.ones(len(n)), (n, users + i)), shape=(users + servers,) * 2)
        _, label = connected_components(graph, directed=False)
        found = dict.fromkeys(label[:users].tolist())
        return [
            (np.flatnonzero(label[:users] == k), np.flatnonzero(label[users:] == k)) for k in found
        ]

    def select(self, users: ArrayLike, servers: ArrayLike) -> Instance:
        """The sub-instance of the given user and server positions, in that order."""
        n, i = np.asarray(users, dtype=np.int64), np.asarray(servers, dtype=np.int64)
        demand = self.demand[n] if self.demand.ndim == 2 else self.demand[np.ix_(n, i)]
        return Instance(
            demand, self.capacity[i], self.placement[np.ix_(n, i)], self.weight[n], self.limit[n],
            self.count[i], [self.users[k] for k in n], [self.servers[k] for k in i], self.resources,
        )  # fmt: skip

    def replace(self, **changes: Any) -> Instance:
        """A copy with some fields changed, validated again."""
        return Instance(**{**self._fields(), **changes})

    # -- identity -----------------------------------------------------------------------------

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def digest(self) -> str:
        """SHA-256 of the content: equal instances have equal digests, on every machine."""
        h = hashlib.sha256()
        for name, value in self._fields().items():
            h.update(name.encode())
            if isinstance(value, tuple):
                h.update(repr(value).encode())
            else:
                h.update(repr((value.shape, value.dtype.str)).encode())
                h.update(value.tobytes())
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
        return f"Instance({words}, {int(self.eligible.sum())} eligible pairs)"


def frozen(array: NDArray[_T]) -> NDArray[_T]:
    """A copy over immutable bytes: not even `flags.writeable = True` opens it."""
    if not array.size:  # nothing to write to
        return array.copy()
    flat = np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=array.dtype)
    return flat.reshape(array.shape)


_frozen = frozen


def _alone(inst: Instance) -> Floats:
    """(N, I) most tasks on ONE machine of the row; 0 where not eligible or nothing is demanded."""
    n, i, r = inst.shape
    most = np.full((n, i), np.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        for k in range(r):
            d = inst.demand[..., k] if inst.demand.ndim == 3 else inst.demand[:, k, None]
            np.minimum(most, np.where(d > 0, inst.capacity[None, :, k] / d, np.inf), out=most)
    alone: Floats = np.where(inst.placement & np.isfinite(most), most, 0.0)
    return alone
