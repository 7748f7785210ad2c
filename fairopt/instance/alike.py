"""Which users and servers modes, groups and rules treat alike, demand and weights aside; and which
hang together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from fairopt.instance.fields import Bools, Fields, Ints


def users_alike(inst: Fields) -> Ints:
    """(N,) numbers: users of one number have the same modes, limits on servers, shares already had,
    group, priority and promises, and own rules count their tasks alike.

    Examples
    --------
    >>> import fairopt as fo
    >>> both = fo.Quotas(priority={"a": 1, "b": 1})
    >>> cluster = fo.Instance([[1], [1], [1]], [[9]], users=["a", "b", "c"], quotas=both)
    >>> users_alike(cluster)
    array([0, 0, 1])
    """
    if inst.unknown("alike"):
        return np.arange(len(inst.users))
    promised = _promises(inst)
    counted = _counted(inst)
    modes = dict(inst.modes or {})
    return _numbered(
        (
            promised[n],
            modes.get(user),
            None if inst.limit_on is None else inst.limit_on[n].tobytes(),
            None if inst.start is None else float(inst.start[n]),
            counted[n],
        )
        for n, user in enumerate(inst.users)
    )


def servers_alike(inst: Fields) -> Ints:
    """(I,) numbers: servers of one number are in the same flavors, the same modes may run on them,
    and limits on servers and own rules count tasks on them alike."""
    if inst.unknown("alike"):
        return np.arange(len(inst.servers))
    flavors = {} if inst.quotas is None else inst.quotas.flavors
    modes = [mode.servers for own in (inst.modes or {}).values() for mode in own if mode.servers]
    counted: list[list[Hashable]] = [[] for _ in inst.servers]
    for j, row in enumerate(inst.own_rows):
        each = zip(row.way.tolist(), row.server.tolist(), row.value.tolist(), strict=True)
        for k, i, value in each:
            counted[i].append((j, k, value))
    return _numbered(
        (
            tuple([name in named for named in (*flavors.values(), *modes)]),
            None if inst.limit_on is None else inst.limit_on[:, i].tobytes(),
            frozenset(counted[i]),
        )
        for i, name in enumerate(inst.servers)
    )


def _promises(inst: Fields) -> list[Hashable]:
    """For each user its group, priority and what is promised to it by name; None without."""
    quotas = inst.quotas
    if quotas is None:
        return [None] * len(inst.users)
    own: dict[str, list[Hashable]] = {}
    for table in (quotas.guarantees, quotas.bounds, quotas.quotas):
        for row in table:
            said = [value for key, value in vars(row).items() if key != "member"]
            own.setdefault(row.member, []).append((type(row).__name__, *said))
    return [
        (
            quotas.group.get(user),
            quotas.priority.get(user, 0),
            quotas.guarantee_tasks.get(user, 0.0),
            user in quotas.last,
            frozenset(own.get(user, ())),
        )
        for user in inst.users
    ]


def _counted(inst: Fields) -> list[Hashable]:
    """What own rules count of each user's tasks, by rule, mode and server."""
    found: list[list[Hashable]] = [[] for _ in inst.users]
    first = np.searchsorted(inst.ways.owner, np.arange(len(inst.users))) if inst.rules else None
    for j, row in enumerate(inst.own_rows):
        assert first is not None
        owner = inst.ways.owner[row.way]
        mode = row.way - first[owner]
        for n, k, i, value in zip(
            owner.tolist(), mode.tolist(), row.server.tolist(), row.value.tolist(), strict=True
        ):
            found[n].append((j, k, i, value))
    return [frozenset(each) for each in found]


def _numbered(keys: Iterable[Hashable]) -> Ints:
    """A number for each key, equal ones alike, in order of appearance."""
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def together(eligible: Bools) -> bool:
    """Whether these users (n, I) join all servers: then no server is apart, whoever else there
    is."""
    reached = np.arange(eligible.shape[1]) == 0
    while True:
        more = reached | eligible[eligible[:, reached].any(axis=1)].any(axis=0)
        if np.array_equal(more, reached):
            return bool(reached.all())
        reached = more


def joined(a: Ints, b: Ints, size: int) -> Ints:
    """(size,) the smallest node connected to each node by the edges a[k] - b[k].

    Every node takes the smallest label among its neighbours, and labels are replaced by the labels
    of their labels, until both ends of every edge have the same.
    """
    each = a * size + b
    if size * size <= len(each):  # few enough to be counted, which takes less than to sort them
        edges = np.flatnonzero(np.bincount(each, minlength=size * size))
    else:
        edges = np.unique(each)
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


def grouped(label: Ints) -> dict[int, Ints]:
    """Positions of each label, in increasing order, labels in order of their first position."""
    if len(label) and (label == label[0]).all():
        return {int(label[0]): np.arange(len(label))}
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    groups = np.split(order, starts[1:])
    return {int(label[k[0]]): k for k in sorted(groups, key=lambda k: int(k[0]))}


__all__ = ["servers_alike", "users_alike"]
