"""What a notion asks where there are groups and guarantees: weights, floors, classes, the tree.

Engines and judges both call this, so that they speak of the same problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from hashlib import sha256
from typing import Any, cast

import numpy as np

from fairopt.errors import UsageError
from fairopt.formulas import welfare
from fairopt.formulas.floors import Bundle, Division, ScoredWays, floors
from fairopt.formulas.targets import TargetTree
from fairopt.instance import Floats, Instance, Ints, remembered, sealed

NOISE = 1e-14
"""a floor that is a smaller part of what a user could have alone is what rounding left of none"""


@dataclass(frozen=True)
class Entitled:
    """What is asked.

    Parameters
    ----------
    grown : makes the tree of nested max-min; its weights are the guarantees with over =
        "proportion".
    weight : (N,) of alpha-fairness, multiplied down the tree; or the guarantees.
    floor : (N,) sigma; 0 with "proportion". added : whether s - sigma is divided ("above").
    rank : (N,) priority class, 0 first.
    """

    grown: Callable[[], TargetTree]
    weight: Floats
    floor: Floats
    added: bool
    rank: Ints

    @cached_property
    def tree(self) -> TargetTree:
        """Of nested max-min; nobody asks for that of a small cluster under alpha-fairness."""
        return self.grown()

    @property
    def base(self) -> Floats:
        """(N,) what is taken off shares before they are compared: sigma, or 0."""
        return self.floor if self.added else np.zeros_like(self.floor)

    @property
    def one_by_one(self) -> bool:
        """Whether there are several classes, and each is one user: it has all that it can, whatever
        divides a class among its users."""
        return 1 < len(self.rank) == len(np.unique(self.rank))


def entitled(instance: Instance, score: Floats, kind: Mapping[str, Any]) -> Entitled:
    """What a notion asks of an instance.

    Parameters
    ----------
    score : (N, I) of the notion's criterion. kind : the notion as a member of its family
        (`families.member`), max-min or alpha-fair.

    Raises
    ------
    UsageError : a measure that the instance does not have; proportion without any guarantee.
    """
    given = kind["parameters"]
    over = given.get("over", "floor")
    measured = given if kind["name"] == "max-min" else {"measure": "sum"}
    if instance.quotas is None and kind["name"] != "max-min" and over != "proportion":
        # nobody has a guarantee, and all stand at the top
        none, first = np.zeros(instance.shape[0]), np.zeros(instance.shape[0], dtype=np.int64)
        tree_of = partial(nested, instance, score, measured)
        return Entitled(tree_of, instance.weight, none, over == "above", first)
    grown = cache(partial(nested, instance, score, measured))
    if kind["name"] == "max-min":
        grown()  # refuses a measure that the instance does not have
    weight, rank = leaf_weights(instance), instance.tree.rank
    floor = _kept_floors(instance, score, kind, grown, weight)
    if over != "proportion":
        return Entitled(grown, weight, floor, over == "above", rank)
    if not floor.any():
        raise UsageError(
            "over: found 'proportion' where nobody has a guarantee; wanted guarantees, or floor"
        )
    # users without a guarantee are served after the others of their class, by their own weights
    rank = np.unique(2 * rank + (floor == 0), return_inverse=True)[1]
    tree = grown()
    below = tree.summed(floor[:, None])[:, 0]
    own = np.where(below > 0, below, tree.weight)
    weight = np.where(floor > 0, floor, weight)
    other = TargetTree.of(tree.parent, own, tree.leaf, tree.use)
    return Entitled(lambda: other, weight, np.zeros_like(floor), False, rank)


def leaf_weights(instance: Instance) -> Floats:
    """(N,) weights of alpha-fairness: users' own, or in a tree the product down to each user of its
    part among siblings, times the sum of all weights (exact nested Cobb-Douglas for alpha = 1)."""
    if instance.tree.flat:
        return instance.weight
    return np.asarray(instance.tree.normalised * instance.weight.sum())


def nested(instance: Instance, score: Floats, parameters: Mapping[str, Any]) -> TargetTree:
    """The tree of nested max-min; with measure "dominant" shares count as what they use.

    Raises
    ------
    UsageError : "dominant" where users' demand depends on the server, or where there are modes.
    """
    tree = instance.tree
    measure = parameters.get("measure")
    measure = measure or ("dominant" if parameters.get("criterion", "drf") == "drf" else "sum")
    if tree.flat or measure == "sum":
        return TargetTree.of(tree.parent, tree.weight, tree.leaf)
    who = "max-min with measure dominant in a tree (wanted measure sum)"
    instance.only_plain(who, modes=True)
    if instance.demand.ndim == 3 and (np.ptp(instance.demand, axis=1) > 0).any():
        raise UsageError(f"{who}: found demand by server; wanted the same on every server")
    demand = instance.demand if instance.demand.ndim == 2 else instance.demand[:, 0]
    total = instance.pool.sum(axis=0)
    part = demand / np.where(total > 0, total, 1.0)
    unit = np.where(instance.eligible, score, 0.0).max(axis=1)
    return TargetTree.of(tree.parent, tree.weight, tree.leaf, part / unit[:, None])


def _kept_floors(
    instance: Instance,
    score: Floats,
    kind: Mapping[str, Any],
    grown: Callable[[], TargetTree],
    weight: Floats,
) -> Floats:
    """`_floors`, worked out once for an instance: solver, judge and objective ask alike."""
    if not len(instance.tree.guarantees):
        return _floors(instance, score, kind, grown, weight)
    asked = sorted((name, str(value)) for name, value in kind["parameters"].items())
    of = sha256(np.ascontiguousarray(score).tobytes()).hexdigest()
    name = f"floors {kind['name']} {asked} {of}"
    return cast(
        "Floats",
        remembered(instance, name, lambda: sealed(_floors(instance, score, kind, grown, weight))),
    )


def _floors(
    instance: Instance,
    score: Floats,
    kind: Mapping[str, Any],
    grown: Callable[[], TargetTree],
    weight: Floats,
) -> Floats:
    """(N,) the floors of all guarantees."""
    rows, tasks = instance.tree.guarantees, instance.tree.own_tasks
    if not len(rows) and not tasks.any():
        return np.zeros(instance.shape[0])
    amounts: dict[tuple[int, bytes], Floats] = {}
    for b in range(len(rows)):
        key = int(rows.node[b]), rows.servers[b].tobytes()
        bundle = amounts.setdefault(key, np.full(instance.shape[2], np.nan))
        bundle[rows.resource[b]] = rows.amount[b]
    bundles = [
        Bundle(node, np.frombuffer(servers, dtype=bool), amount)
        for (node, servers), amount in amounts.items()
    ]
    ways = instance.ways
    each = ScoredWays(
        ways.owner,
        ways.eligible,
        ways.demand,
        score[ways.owner] * ways.speed[:, None],
        instance.limit,
    )
    alpha = float(kind["parameters"].get("alpha", 0.0))
    tree = grown()
    division = Division(tree)
    if alpha:  # at 0 efficiency would give all of a bundle to one member: as max-min then
        inside = bool(kind["parameters"].get("weight_inside", False))
        division = Division(tree, alpha, welfare.log_weight(weight, alpha, inside))
    found = floors(each, bundles, tasks, division)
    alone = (score * instance.alone).sum(axis=1)
    return np.where(found > NOISE * alone, found, 0.0)


__all__ = ["Entitled", "entitled", "leaf_weights", "nested"]
