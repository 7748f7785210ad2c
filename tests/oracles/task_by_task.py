"""Hierarchical DRF, task by task, on one pool (Bhattacharya et al., SoCC 2013), with both cures.

From the root down the child of the least weighted dominant share is chosen that is not blocked, and
the user at the end is given one task. A user whose task no longer fits is blocked for good, a group
when all its children are. What a group uses is counted with its children that are not blocked
rescaled to the least of their levels (cure 1); blocked ones count as they are, and nobody is
rescaled to them (cure 2).
"""

from __future__ import annotations

import numpy as np


def shares(parent, weight, leaf, use, size, limit=None):
    """(N,) dominant shares when no task fits any more.

    Parameters
    ----------
    parent, weight : (K,) of the nodes, parents first. leaf : (N,) node of each user.
    use : (N, R) parts of the pool for a unit of dominant share (largest entry 1).
    size : dominant share of one task. limit : (N,) most share of each user.
    """
    users, nodes = len(leaf), len(parent)
    limit = np.full(users, np.inf) if limit is None else limit
    children = [[c for c in range(nodes) if parent[c] == k] for k in range(nodes)]
    user = {int(k): n for n, k in enumerate(leaf)}
    held, free = np.zeros(users), np.ones(use.shape[1])
    blocked = np.array([k not in user and not _below(children, user, k) for k in range(nodes)])
    vector, level = np.zeros((nodes, use.shape[1])), np.zeros(nodes)

    def count(k):
        """What node k uses, and its level."""
        if k in user:
            vector[k] = held[user[k]] * use[user[k]]
        else:
            own = children[k]
            open_ = [level[c] for c in own if not blocked[c]]
            least = min(open_, default=0.0)
            factor = [1.0 if blocked[c] or level[c] == 0 else least / level[c] for c in own]
            vector[k] = sum(f * vector[c] for f, c in zip(factor, own, strict=True))
        level[k] = vector[k].max() / weight[k]

    def upwards(k):
        while k > 0:
            if k not in user:
                blocked[k] = all(blocked[c] for c in children[k])
            count(k)
            k = parent[k]
        blocked[0] = all(blocked[c] for c in children[0])

    while not blocked[0]:
        k = 0
        while k not in user:
            k = min((c for c in children[k] if not blocked[c]), key=level.__getitem__)
        n = user[k]
        task = size * use[n]
        if (task <= free + 1e-12).all() and held[n] + size <= limit[n] + 1e-12:
            held[n] += size
            free -= task
        else:
            blocked[k] = True
        upwards(k)
    return held


def _below(children, user, k):
    """Whether a user stands at or below a node."""
    return k in user or any(_below(children, user, c) for c in children[k])
