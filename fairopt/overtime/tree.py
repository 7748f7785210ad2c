"""Slurm's fair tree: at each level least used for its shares first, and so down to users."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fairopt.instance import Floats, Instance, Ints

Shares = Mapping[str, tuple[str | None, float]]
"""{name: (parent, shares)} of accounts and users"""


def fair_tree(tree: Shares, usage: Mapping[str, float]) -> tuple[list[str], dict[str, float]]:
    """Users in their order, and the level S/U of each node, both parts of its siblings.

    Parameters
    ----------
    tree : {name: (parent, shares)}, parents before children. usage : of users, any unit.

    Examples
    --------
    >>> tree = {"A": (None, 1), "B": (None, 1), "u": ("A", 1), "v": ("B", 1)}
    >>> fair_tree(tree, {"u": 3, "v": 1})[0]
    ['v', 'u']
    """
    below: dict[str | None, list[str]] = {}
    for name, (parent, _) in tree.items():
        below.setdefault(parent, []).append(name)
    used = {name: float(usage.get(name, 0.0)) for name in tree}
    for name in reversed(list(tree)):
        parent = tree[name][0]
        if parent is not None:
            used[parent] += used[name]
    level: dict[str, float] = {}
    for siblings in below.values():
        shares, whole = sum(tree[k][1] for k in siblings), sum(used[k] for k in siblings)
        for k in siblings:
            part = used[k] / whole if whole > 0 else 0.0
            own = tree[k][1] / shares if shares > 0 else 0.0
            level[k] = own / part if part > 0 else np.inf

    order: list[str] = []

    def visit(parent: str | None) -> None:
        for k in sorted(below.get(parent, []), key=lambda k: -level[k]):
            if k in below:
                visit(k)
            else:
                order.append(k)

    visit(None)
    return order, level


def classic(tree: Shares, usage: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """{name: (effective use UE, factor 2^(-UE/S))} of Slurm's classic fair share.

    UE = UA + (UE of the parent - UA) S / S of all siblings; of the first tier UE = UA. Use is part
    of all use, S the product of parts of shares down the tree.
    """
    used = {name: float(usage.get(name, 0.0)) for name in tree}
    for name in reversed(list(tree)):
        parent = tree[name][0]
        if parent is not None:
            used[parent] += used[name]
    siblings: dict[str | None, float] = {}
    for parent, shares in tree.values():
        siblings[parent] = siblings.get(parent, 0.0) + shares
    found: dict[str, tuple[float, float]] = {}
    norm: dict[str | None, float] = {None: 1.0}
    for name, (parent, shares) in tree.items():
        part = shares / siblings[parent]
        norm[name] = norm[parent] * part
        use = used[name]
        if parent is not None:
            use += (found[parent][0] - use) * part
        found[name] = use, float(2.0 ** (-use / norm[name]))
    return found


def levels_first(instance: Instance, usage: Floats) -> Ints:
    """(N,) rank of each user of an instance with groups, by the fair tree of its groups."""
    tree = instance.tree
    names = [f"{k}" for k in range(len(tree.parent))]
    shares: dict[str, tuple[str | None, float]] = {
        names[k]: (names[tree.parent[k]] if tree.parent[k] > 0 else None, float(tree.weight[k]))
        for k in range(1, len(tree.parent))
    }
    leaf = {names[node]: n for n, node in enumerate(tree.leaf.tolist())}
    order, _ = fair_tree(shares, {name: float(usage[n]) for name, n in leaf.items()})
    found = np.zeros(len(usage), dtype=np.int64)
    for place, name in enumerate(name for name in order if name in leaf):
        found[leaf[name]] = place
    return found


__all__ = ["classic", "fair_tree", "levels_first"]
