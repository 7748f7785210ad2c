"""The groups and users of an instance as a tree in arrays, with guarantees, ceilings and quotas.

A node is a number: 0 is the root, which has no name; then come the groups, parents before their
children; then the users, in the order of the instance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fairopt.instance.quotas.records import Bound, Guarantee, Quota, Quotas
from fairopt.instance.sealing import sealed

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

SMALL = 1_000
"""users up to which what is the same of all trees without groups is kept"""


@dataclass(frozen=True, eq=False)
class Entries:
    """Guarantees or ceilings, a row for each entry (B of them), in the order of the records.

    Parameters
    ----------
    node : (B,), whose. resource : (B,), of what. servers : (B, I), on which servers it counts.
    amount : (B,) >= 0, how much. flavor : the name given for `servers`; None for all servers.
    """

    node: Ints
    resource: Ints
    servers: Bools
    amount: Floats
    flavor: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.flavor)


@dataclass(frozen=True, eq=False)
class QuotaRow:
    """The quotas of one resource on one flavor, for every node of the tree (M of them).

    Parameters
    ----------
    flavor, resource : the flavor's name (None for all servers) and the position of the resource.
    servers : (I,), those that count.
    nominal : (M,) >= 0; 0 for a node that names none. borrow, lend : (M,) >= 0, inf if unlimited.
    """

    flavor: str | None
    resource: int
    servers: Bools
    nominal: Floats
    borrow: Floats
    lend: Floats


@dataclass(frozen=True, eq=False)
class Tree:
    """Groups and users as nodes 0 .. M-1; node 0 is the root, the users are the last N nodes.

    Parameters
    ----------
    nodes : names; that of the root is "".
    parent : (M,), -1 for the root. weight : (M,) > 0; 1 for the root.
    leaf : (N,), the node of each user.
    priority : (N,), as given, 0 by default. last : (N,), weight 0, of the user or a group above it.
    rank : (N,), the priority class: users of class 0 are served first, of weight 0 last.
    own_tasks : (N,) >= 0, guaranteed tasks.
    guarantees, bounds : the entries of bundles and the ceilings.
    quotas : one for each (flavor, resource) of which anybody has a quota.
    """

    nodes: tuple[str, ...]
    parent: Ints
    weight: Floats
    leaf: Ints
    priority: Ints
    last: Bools
    rank: Ints
    own_tasks: Floats
    guarantees: Entries
    bounds: Entries
    quotas: tuple[QuotaRow, ...]
    _walk: Ints
    _span: Ints

    @property
    def flat(self) -> bool:
        """Whether every user stands at the top."""
        return not self.parent[self.leaf].any()

    def below(self, node: int) -> Ints:
        """Positions of the users at or below a node, in increasing order."""
        begin, end = self._span[node]
        return np.sort(self._walk[begin:end])

    def children(self, node: int) -> Ints:
        """The nodes right below a node, in increasing order."""
        return np.flatnonzero(self.parent == node)

    def path(self, node: int) -> list[int]:
        """The node, its parent, ... and the root."""
        found = [node]
        while (node := int(self.parent[node])) >= 0:
            found.append(node)
        return found

    @property
    def normalised(self) -> Floats:
        """(N,) product of each user's and its groups' weights, each divided by its siblings' sum.

        A group without users counts for nothing among its siblings. They sum to 1.
        """
        inhabited = self._span[:, 1] > self._span[:, 0]
        weight = np.where(inhabited, self.weight, 0.0)
        total = np.bincount(self.parent[1:], weight[1:], len(self.nodes))
        part = np.ones(len(self.nodes))
        for node in range(1, len(self.nodes)):  # parents come first
            above = int(self.parent[node])
            if inhabited[node]:
                part[node] = part[above] * weight[node] / total[above]
        return part[self.leaf]


def tree_of(quotas: Quotas | None, names: Mapping[str, Sequence[str]], weight: Floats) -> Tree:
    """The tree of an instance's quotas; without any, all users at the top.

    Parameters
    ----------
    names : users, servers and resources of the instance. weight : (N,), of its users.
    """
    users = names["users"]
    if quotas is None:
        return _flat(users, weight, len(names["servers"]))
    groups = _parents_first(quotas)
    nodes = ("", *groups, *users)
    at = {name: k for k, name in enumerate(nodes)}
    above = {g.name: g.parent for g in quotas.groups}
    heavy = {g.name: g.weight for g in quotas.groups}
    parent = np.array(
        [-1, *(at[above[g] or ""] for g in groups), *(at[quotas.group.get(u, "")] for u in users)]
    )
    leaf = np.arange(len(users)) + len(nodes) - len(users)
    late = np.zeros(len(nodes), dtype=bool)
    late[[at[name] for name in quotas.last]] = True
    for node in range(1, len(nodes)):
        late[node] |= late[parent[node]]
    priority = np.array([quotas.priority.get(user, 0) for user in users], dtype=np.int64)
    own = np.array([quotas.guarantee_tasks.get(user, 0.0) for user in users])
    classes = {key: k for k, key in enumerate(sorted(set(zip(late[leaf], -priority, strict=True))))}
    rank = np.array([classes[key] for key in zip(late[leaf], -priority, strict=True)])
    masks = _masks(quotas, names["servers"])
    resource = {name: k for k, name in enumerate(names["resources"])}
    walk, span = _walked(parent, len(users))
    return Tree(
        nodes,
        sealed(parent),
        sealed(np.array([1.0, *(heavy[g] for g in groups), *weight.tolist()])),
        sealed(leaf),
        sealed(priority),
        sealed(late[leaf]),
        sealed(rank),
        sealed(own),
        _rows(quotas.guarantees, at, masks, resource),
        _rows(quotas.bounds, at, masks, resource),
        _quota_rows(quotas, at, masks, resource),
        sealed(walk),
        sealed(span),
    )


def _flat(users: Sequence[str], weight: Floats, servers: int) -> Tree:
    """All users at the top, without a look at each."""
    count = len(users)
    same = _known if max(count, servers) <= SMALL else _same
    parent, leaf, none, nobody, no_tasks, rows, each, span = same(count, servers)
    return Tree(
        ("", *users),
        parent,
        sealed(np.concatenate([[1.0], weight])),
        leaf,
        none,
        nobody,
        none,
        no_tasks,
        rows,
        rows,
        (),
        each,
        span,
    )


def _same(count: int, servers: int) -> tuple[Ints, Ints, Ints, Bools, Floats, Entries, Ints, Ints]:
    """What is the same of all trees of so many users at the top, and servers."""
    each, none = np.arange(count), np.zeros(count, dtype=np.int64)
    parent = np.zeros(count + 1, dtype=np.int64)
    parent[0] = -1
    span = np.concatenate([[[0, count]], np.stack([each, each + 1], axis=1)])
    return (
        sealed(parent),
        sealed(each + 1),
        sealed(none),
        sealed(none > 0),
        sealed(np.zeros(count)),
        _rows((), {}, {None: np.ones(servers, dtype=bool)}, {}),
        sealed(each),
        sealed(span),
    )


_known = lru_cache(maxsize=16)(_same)
"""of few users, as small instances are made again and again"""


def _parents_first(quotas: Quotas) -> list[str]:
    """Names of the groups, each after its parent, else in the order given."""
    inside: dict[str | None, list[str]] = {}
    for group in quotas.groups:
        inside.setdefault(group.parent, []).append(group.name)
    depth: dict[str, int] = {}
    level, deep = inside.get(None, []), 0
    while level:
        depth.update(dict.fromkeys(level, deep))
        deep += 1
        level = [name for group in level for name in inside.get(group, [])]
    return sorted([g.name for g in quotas.groups], key=depth.__getitem__)


def _masks(quotas: Quotas, servers: Sequence[str]) -> dict[str | None, Bools]:
    """(I,) the servers of each flavor; of None, all."""
    found: dict[str | None, Bools] = {None: np.ones(len(servers), dtype=bool)}
    for name, given in quotas.flavors.items():
        found[name] = np.isin(servers, given) if given else np.zeros(len(servers), dtype=bool)
    return found


def _rows(
    given: Sequence[Guarantee] | Sequence[Bound],
    at: Mapping[str, int],
    masks: Mapping[str | None, Bools],
    resource: Mapping[str, int],
) -> Entries:
    masked = [masks[row.flavor] for row in given]
    return Entries(
        sealed(np.array([at[row.member] for row in given], dtype=np.int64)),
        sealed(np.array([resource[row.resource] for row in given], dtype=np.int64)),
        sealed(np.array(masked).reshape(len(given), len(masks[None]))),
        sealed(np.array([row.amount if isinstance(row, Guarantee) else row.most for row in given])),
        tuple([row.flavor for row in given]),
    )


def _quota_rows(
    quotas: Quotas,
    at: Mapping[str, int],
    masks: Mapping[str | None, Bools],
    resource: Mapping[str, int],
) -> tuple[QuotaRow, ...]:
    """Quotas by flavor (None first) and resource."""
    given: dict[tuple[str | None, str], list[Quota]] = {}
    for quota in quotas.quotas:
        given.setdefault((quota.flavor, quota.resource), []).append(quota)
    found = []
    for flavor, name in [pair for pair in product(masks, resource) if pair in given]:
        nominal = np.zeros(len(at))
        borrow, lend = np.full(len(at), np.inf), np.full(len(at), np.inf)
        for quota in given[flavor, name]:
            k = at[quota.member]
            nominal[k], borrow[k], lend[k] = quota.nominal, quota.borrow, quota.lend
        servers = sealed(masks[flavor].copy())
        three = sealed(nominal), sealed(borrow), sealed(lend)
        found.append(QuotaRow(flavor, resource[name], servers, *three))
    return tuple(found)


def _walked(parent: Ints, users: int) -> tuple[Ints, Ints]:
    """The users in the order of a walk through the tree, and the range (M, 2) below each node."""
    size = len(parent)
    held = np.zeros(size, dtype=np.int64)
    held[size - users :] = 1
    for node in range(size - 1, 0, -1):  # children after parents, so from the end
        held[parent[node]] += held[node]
    begin, used = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for node in range(1, size):
        above = parent[node]
        begin[node] = begin[above] + used[above]
        used[above] += held[node]
    walk = np.empty(users, dtype=np.int64)
    walk[begin[size - users :]] = np.arange(users)
    return walk, np.stack([begin, begin + held], axis=1)
