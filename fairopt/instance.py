"""The cluster as data: users, servers, resources, demand, capacity, placement, weight, limit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairopt.errors import BadInput, Fault

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
        shaped = _shapes(demand, capacity, placement, weight, limit, count, faults)
        if faults:
            raise BadInput(faults)
        d, c, delta, phi, most, machines = shaped
        size = d.shape[0], c.shape[0], c.shape[1]
        names = [
            _names(kind, given, letter, size[k], faults)
            for k, (kind, given, letter) in enumerate(
                [("users", users, "u"), ("servers", servers, "s"), ("resources", resources, "r")]
            )
        ]
        fields = {
            "demand": _frozen(d), "capacity": _frozen(c), "placement": _frozen(delta),
            "weight": _frozen(phi), "limit": _frozen(most), "count": _frozen(machines),
            "users": names[0], "servers": names[1], "resources": names[2],
        }  # fmt: skip
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        faults.extend(_value_faults(self))
        if not faults:
            faults.extend(_eligibility_faults(self))
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
        return _frozen(self.capacity * self.count[:, None])

    @cached_property
    def alone(self) -> Floats:
        """gamma (N, I): most tasks of user n alone on the whole row i; 0 where not eligible."""
        return _frozen(_alone(self) * self.count[None, :])

    @cached_property
    def eligible(self) -> Bools:
        """(N, I): placement allows it and every demanded resource is there."""
        return _frozen(self.alone > 0)

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """Users (P,) and servers (P,) of the eligible pairs, in row order."""
        n, i = np.nonzero(self.eligible)
        return _frozen(n.astype(np.int64)), _frozen(i.astype(np.int64))

    @cached_property
    def pair_demand(self) -> Floats:
        """(P, R) demand of one task of each eligible pair."""
        n, i = self.pairs
        return _frozen(self.demand[n] if self.demand.ndim == 2 else self.demand[n, i])

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
            return tasks.T @ self.demand
        return np.einsum("ni,nir->ir", tasks, self.demand)

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
        return all(np.array_equal(mine[k], theirs[k]) for k in mine)

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


# -- construction and faults ------------------------------------------------------------------


def _frozen(array: NDArray[_T]) -> NDArray[_T]:
    """A copy over immutable bytes: not even `flags.writeable = True` opens it."""
    flat = np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=array.dtype)
    return flat.reshape(array.shape)


def _array(name: str, given: ArrayLike, faults: list[Fault]) -> Floats | None:
    try:
        with np.errstate(all="raise"):
            return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, FloatingPointError, OverflowError) as error:
        faults.append(Fault(name, f"something that is no array ({error})", "numbers"))
        return None


def _shapes(
    demand: ArrayLike,
    capacity: ArrayLike,
    placement: ArrayLike | None,
    weight: ArrayLike | None,
    limit: ArrayLike | None,
    count: ArrayLike | None,
    faults: list[Fault],
) -> tuple[Any, ...]:
    """The six arrays with their final shapes and types; every wrong shape becomes a fault."""
    d = _array("demand", demand, faults)
    c = _array("capacity", capacity, faults)
    if d is not None and d.ndim not in (2, 3):
        faults.append(Fault("demand", f"shape {d.shape}", "(users, resources) or (users, servers, resources)"))
    if c is not None and c.ndim != 2:
        faults.append(Fault("capacity", f"shape {c.shape}", "(servers, resources)"))
    if faults or d is None or c is None:
        return ()
    users, (servers, resources) = d.shape[0], c.shape
    for name, size in (("users", users), ("servers", servers), ("resources", resources)):
        if size == 0:
            faults.append(Fault(name, "none", "at least one"))
    if d.shape[-1] != resources:
        faults.append(Fault("demand", f"{d.shape[-1]} resources", f"{resources}, as in capacity"))
    if d.ndim == 3 and d.shape[1] != servers:
        faults.append(Fault("demand", f"{d.shape[1]} servers", f"{servers}, as in capacity"))
    given = {
        "placement": (placement, (users, servers), 1.0),
        "weight": (weight, (users,), 1.0),
        "limit": (limit, (users,), np.inf),
        "count": (count, (servers,), 1.0),
    }
    arrays = []
    for name, (value, shape, default) in given.items():
        array = np.full(shape, default) if value is None else _array(name, value, faults)
        if array is not None and array.shape != shape:
            faults.append(Fault(name, f"shape {array.shape}", f"shape {shape}"))
        arrays.append(array)
    if faults:
        return ()
    delta, phi, most, machines = arrays
    assert delta is not None and phi is not None and most is not None and machines is not None
    if not np.isin(delta, (0.0, 1.0)).all():
        faults.append(Fault("placement", "entries other than true and false", "true or false"))
    bad = ~((machines >= 1) & (machines == np.floor(machines)) & (machines < 2**53))
    for i in np.flatnonzero(bad):
        faults.append(Fault(f"count[{i}]", f"{machines[i]:g}", "a whole number >= 1"))
    if faults:
        return ()
    # + 0.0 turns -0.0 into 0.0: equal instances have equal bytes
    return d + 0.0, c + 0.0, delta.astype(np.bool_), phi + 0.0, most + 0.0, machines.astype(np.int64)


def _names(
    kind: str, given: Sequence[str] | None, letter: str, size: int, faults: list[Fault]
) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{letter}{k + 1}" for k in range(size))
    if isinstance(given, str):
        faults.append(Fault(kind, f"the text {given!r}", "a list of names"))
        return tuple(f"{letter}{k + 1}" for k in range(size))
    names = tuple(str(name) if isinstance(name, str) else name for name in given)
    if len(names) != size:
        faults.append(Fault(kind, f"{len(names)} names", f"{size}"))
    seen: set[object] = set()
    for k, name in enumerate(names):
        if not isinstance(name, str) or not name or not name.isprintable():
            faults.append(Fault(f"{kind}[{k}]", f"the name {name!r}", "a printable text"))
        elif name in seen:
            faults.append(Fault(f"{kind}[{k}]", f"the name {name!r} a second time", "every name once"))
        seen.add(name)
    if len(names) != size:
        return tuple(f"{letter}{k + 1}" for k in range(size))
    return tuple(str(name) for name in names)


def _value_faults(inst: Instance) -> Iterator[Fault]:
    """Numbers out of range, each named by user, server and resource."""
    d, c = inst.demand, inst.capacity
    for where in np.argwhere(~(np.isfinite(d) & (d >= 0))):
        n, r = where[0], where[-1]
        place = f"users.{inst.users[n]}.demand.{inst.resources[r]}"
        if d.ndim == 3:
            place = f"users.{inst.users[n]}.demand_on.{inst.servers[where[1]]}.{inst.resources[r]}"
        yield Fault(place, f"{d[tuple(where)]:g}", "a finite number >= 0")
    for i, r in np.argwhere(~(np.isfinite(c) & (c >= 0))):
        place = f"servers.{inst.servers[i]}.capacity.{inst.resources[r]}"
        yield Fault(place, f"{c[i, r]:g}", "a finite number >= 0")
    for n in np.flatnonzero(~(np.isfinite(inst.weight) & (inst.weight > 0))):
        yield Fault(f"users.{inst.users[n]}.weight", f"{inst.weight[n]:g}", "a finite number > 0")
    for n in np.flatnonzero(~(inst.limit > 0)):
        yield Fault(f"users.{inst.users[n]}.limit", f"{inst.limit[n]:g}", "a number > 0")


def _alone(inst: Instance) -> Floats:
    """(N, I) most tasks on ONE machine of the row; 0 where not eligible or nothing is demanded."""
    n, i, r = inst.shape
    most = np.full((n, i), np.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        for k in range(r):
            d = inst.demand[..., k] if inst.demand.ndim == 3 else inst.demand[:, k, None]
            np.minimum(most, np.where(d > 0, inst.capacity[None, :, k] / d, np.inf), out=most)
    return np.where(inst.placement & np.isfinite(most), most, 0.0)


def _eligibility_faults(inst: Instance) -> Iterator[Fault]:
    """Users who demand nothing, users eligible nowhere (and why), ratios beyond floating point."""
    d = inst.demand
    if d.ndim == 2:
        idle = ~(d > 0).any(axis=1)
        for n in np.flatnonzero(idle):
            yield Fault(f"users.{inst.users[n]}.demand", "nothing demanded", "at least one resource > 0")
    else:
        nothing = ~(d > 0).any(axis=2) & inst.placement
        idle = nothing.any(axis=1)
        for n, i in np.argwhere(nothing):
            place = f"users.{inst.users[n]}.demand_on.{inst.servers[i]}"
            yield Fault(place, "nothing demanded where the user may run", "at least one resource > 0")
    for n in np.flatnonzero(~idle & ~inst.eligible.any(axis=1)):
        reasons = [_why_not(inst, int(n), i) for i in range(min(len(inst.servers), 4))]
        if len(inst.servers) > 4:
            reasons.append(f"and {len(inst.servers) - 4} more")
        yield Fault(
            f"users.{inst.users[n]}", "eligible on no server: " + "; ".join(reasons),
            "a server that placement allows and that has every demanded resource",
        )  # fmt: skip
    pool_total = inst.capacity.max(initial=0.0) * inst.count.max(initial=1)
    extreme = inst.eligible & ~((inst.alone < 1e150) & (inst.alone > 1e-150))
    if not pool_total < 1e250:
        yield Fault("capacity", f"{pool_total:g}", "less than 1e250 (choose a larger unit)")
    for n, i in np.argwhere(extreme)[:20]:
        yield Fault(
            f"users.{inst.users[n]}.demand", f"{inst.alone[n, i]:g} tasks alone on {inst.servers[i]}",
            "between 1e-150 and 1e150 (floating point ends there)",
        )  # fmt: skip


def _why_not(inst: Instance, n: int, i: int) -> str:
    if not inst.placement[n, i]:
        return f"{inst.servers[i]} is not allowed by placement"
    d = inst.demand[n, i] if inst.demand.ndim == 3 else inst.demand[n]
    missing = [name for k, name in enumerate(inst.resources) if d[k] > 0 and inst.capacity[i, k] == 0]
    return f"{inst.servers[i]} has no {' and no '.join(missing) or 'usable capacity'}"
