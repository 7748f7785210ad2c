r"""Leaf targets of nested max-min: how much every user is due when the level of the root is t.

The root gives each of its children the target t w. A user with target tau is due max(floor, tau).
A group with target tau takes the smallest v at which its size reaches tau, where each of its
children has target v w, and what is frozen counts as it is. The size of a group is the largest
entry of the sum of its members' use vectors: with one entry 1 for everybody that is the sum of
their shares (measure "sum"); with the parts of the whole pool that a unit of share uses it is the
dominant share of the group (measure "dominant"). At the root no size is taken, so a flat tree is
plain max-min (docs/maths/trees.md).

The targets l(t) never fall, and are piecewise linear. They jump where a group cannot grow by a
little: what is frozen in it is larger than the rest, which first has to catch up. Those who jump
move together along the straight line. So the path of l from t = 0 is a chain of pieces, each a
`Piece` (t goes on) or a `Jump` (t stands still).

Everything runs on arrays of floats, and on object arrays of fractions, where nothing is rounded, or
of decimals of as many digits as their context says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from fairopt.instance import Bools, Ints

SAME_TARGET = 1e-12
"""relative difference that is rounding: a user whose target is within it of what it holds moves"""
SAME_DECIMALS = Decimal("1e-26")
"""the same of decimals, which stand for numbers of two floats"""
Array = Any
"""an array of floats, or of fractions or decimals (dtype object)"""


@dataclass(frozen=True)
class TargetTree:
    """Groups and users as nodes.

    Parameters
    ----------
    parent : (K,) node of the parent, -1 for the root, which is node 0; parents come first.
    weight : (K,) > 0, the root's is not used. leaf : (N,) node of each user.
    use : (N, R) >= 0, what a unit of a user's share counts in its groups.
    layers : nodes by depth, the children of the root first.
    """

    parent: Ints
    weight: Array
    leaf: Ints
    use: Array
    layers: tuple[Ints, ...]

    @classmethod
    def of(cls, parent: Ints, weight: Array, leaf: Ints, use: Array | None = None) -> TargetTree:
        """A tree; without `use` the size of a group is the sum of its members' shares."""
        parent = np.asarray(parent, dtype=np.int64)
        layers = _layers(parent)
        leaf = np.asarray(leaf, dtype=np.int64)
        if use is None:
            use = (0 * weight[leaf] + 1)[:, None]
        return cls(parent, weight, leaf, use, layers)

    @property
    def tolerance(self) -> Any:
        """0 for fractions."""
        if self.use.dtype != object:
            return SAME_TARGET
        return SAME_DECIMALS if isinstance(self.weight[0], Decimal) else 0

    def summed(self, per_leaf: Array) -> Array:
        """(K, R) of every node the sum over the users below it of (N, R)."""
        found = np.zeros((len(self.parent), per_leaf.shape[1]), dtype=per_leaf.dtype)
        found[self.leaf] = per_leaf
        for nodes in reversed(self.layers):
            add(found, self.parent[nodes], found[nodes])
        return found

    def apart(self) -> list[tuple[Ints, TargetTree]]:
        """Each group of the root, and all users in none, as users and a tree of their own: but for
        jumps, which are one, targets of one have nothing to do with those of another."""
        top = np.arange(len(self.parent))
        for nodes in self.layers[1:]:
            top[nodes] = top[self.parent[nodes]]
        leaves = np.zeros(len(top), dtype=bool)
        leaves[self.leaf] = True
        top[leaves & (self.parent == 0)] = 0
        found, place = [], np.zeros(len(top), dtype=np.int64)
        for one in np.unique(top[self.leaf]).tolist():
            nodes = np.flatnonzero(top == one)
            nodes = np.append(0, nodes[nodes > 0])
            place[nodes] = np.arange(len(nodes))
            users = np.flatnonzero(top[self.leaf] == one)
            parent = np.append(-1, place[self.parent[nodes[1:]]])
            of = TargetTree.of(parent, self.weight[nodes], place[self.leaf[users]], self.use[users])
            found.append((users, of))
        return found

    @cached_property
    def everybody(self) -> Bools:
        """(K,) all nodes but the root."""
        return np.arange(len(self.parent)) > 0

    def below(self, root: int) -> Bools:
        """(K,) the nodes below a node, without itself."""
        inside = np.zeros(len(self.parent), dtype=bool)
        inside[root] = True
        for nodes in self.layers:
            inside[nodes] |= inside[self.parent[nodes]]
        inside[root] = False
        return inside


@dataclass(frozen=True)
class PathPoint:
    """Where the targets are: a point of the path l(t).

    Parameters
    ----------
    floor : (N,) >= 0, the least that everybody is due; what it is due if it is frozen.
    base : (N,) what everybody was due before; more than `v` says only in the midst of a jump.
    v : (K,) of each group the v of its children; of the root it is t.
    free : (N,) who is not frozen.
    """

    tree: TargetTree
    floor: Array
    base: Array
    v: Array
    free: Bools

    @classmethod
    def start(cls, tree: TargetTree, floor: Array, free: Bools | None = None) -> PathPoint:
        """The point of t = 0: everybody is due its floor (N,) >= 0.

        Parameters
        ----------
        free : (N,) who takes part; default everybody. Others are due their floor for good.
        """
        if free is None:
            free = np.ones(len(tree.leaf), dtype=bool)
        return cls(tree, floor, floor, 0 * tree.weight, free)

    @property
    def t(self) -> Any:
        """The level of the root."""
        return self.v[0]

    @cached_property
    def target(self) -> Array:
        """(K,) of each node; 0 of the root."""
        found = self.v[self.tree.parent] * self.tree.weight
        found[0] = 0 * found[0]
        return found

    @cached_property
    def held(self) -> Array:
        """(N,) what `v` says that everybody is due."""
        target = self.target[self.tree.leaf]
        return np.where(self.free, np.maximum(self.floor, target), self.floor)

    @cached_property
    def due(self) -> Array:
        """(N,) the targets l."""
        return np.maximum(self.held, self.base)

    @cached_property
    def amount(self) -> Array:
        """(K, R) what is used below each node."""
        return self.tree.summed(self.tree.use * self.held[:, None])

    def freeze(self, users: Any) -> PathPoint:
        """The same point with these users (positions or mask) frozen at what they are due."""
        free, floor = self.free.copy(), self.floor.copy()
        free[users], floor[users] = False, self.due[users]
        return replace(self, free=free, floor=floor, base=self.due)

    def piece(self) -> Piece | Jump:
        """The piece of the path that begins here; without free users nothing moves for ever."""
        return _piece(self, 0)


@dataclass(frozen=True)
class Piece:
    """A linear piece: l(t) = start.due + slope (t - start.t), for t up to `until`.

    Parameters
    ----------
    slope : (N,) >= 0. until : where the next piece begins, inf for none; far : how far off that is.
    v_rate : (K,) how fast every v grows. grown : (R,) how fast the use of all grows.
    clock : the node whose v is t here; the root, but for pieces of a subtree.
    """

    start: PathPoint
    slope: Array
    until: Any
    far: Any
    v_rate: Array
    grown: Array
    clock: int = 0

    def at(self, t: Any) -> PathPoint:
        """The point of a level between start.t and `until`."""
        here = self.start
        step = self.far if t == self.until else t - here.v[self.clock]
        return replace(here, v=here.v + self.v_rate * step, base=here.due + self.slope * step)


@dataclass(frozen=True)
class Jump:
    """A straight line of targets at one level t: start.due + part (end.due - start.due)."""

    start: PathPoint
    end: PathPoint

    @property
    def users(self) -> Ints:
        """Positions of those who move."""
        return np.flatnonzero(self.end.due != self.start.due)

    def at(self, part: Any) -> PathPoint:
        """The point at this part, 0 to 1, of the line."""
        if part == 1:
            return self.end
        due = self.start.due
        return replace(self.start, base=due + part * (self.end.due - due))


def add(found: Array, rows: Ints, more: Array) -> None:
    """Add rows (E, R) to those of (K, R) that they belong to, one after another."""
    if found.dtype == object:
        np.add.at(found, rows, more)
        return
    for r in range(found.shape[1]):
        found[:, r] += np.bincount(rows, more[:, r], len(found))


def _layers(parent: Ints) -> tuple[Ints, ...]:
    """Nodes by depth, the children of the root first."""
    if len(parent) > 1 and not parent[1:].any():  # nobody is in a group
        return (np.arange(1, len(parent)),)
    depth = np.zeros(len(parent), dtype=np.int64)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    return tuple(np.flatnonzero(depth == d) for d in range(1, int(depth.max()) + 1))


def _piece(here: PathPoint, root: int) -> Piece | Jump:
    """The piece of the subtree of a node that begins when the v of that node goes on."""
    tree, tol, target = here.tree, here.tree.tolerance, here.target
    parent, weight, leaf = tree.parent, tree.weight, tree.leaf
    inside = tree.below(root) if root else tree.everybody
    size = here.amount.max(axis=1)
    size[leaf] = here.held
    alive = np.zeros(len(parent), dtype=bool)
    alive[leaf] = here.free
    for nodes in reversed(tree.layers):
        alive[parent[nodes[alive[nodes]]]] = True
    asked = inside & alive
    # a node that already has more than its target waits, and nobody below it moves
    waits = asked & (size > target * (1 + tol))
    idle = ~asked | waits
    for nodes in tree.layers:
        below_idle = idle[parent[nodes]] & (parent[nodes] != root)
        idle[nodes] |= below_idle
        waits[nodes] &= ~below_idle
    rate, gain, ends = _climb(here, root, idle, size)
    jumps = [end for node, end in ends.items() if parent[node] == root]
    if jumps:
        v = here.v + sum(end.v - here.v for end in jumps)
        return Jump(here, replace(here, v=v, base=here.due))
    # from the root down: how fast every v and every target goes
    v_rate, speed = 0 * weight, 0 * weight
    v_rate[root] = 1
    for nodes in tree.layers:
        nodes = nodes[inside[nodes]]
        speed[nodes] = v_rate[parent[nodes]] * weight[nodes]
        v_rate[nodes] = speed[nodes] * gain[nodes]
    above = target[leaf] >= here.due * (1 - tol)
    slope = np.where(here.free & ~idle[leaf] & above, speed[leaf], 0 * here.due)
    # the piece ends where a target reaches what its node has,
    ready = waits & (speed > 0)
    until = [np.inf, *((size - target)[ready] / speed[ready]).tolist()]
    late = ~above & ~idle[leaf] & (speed[leaf] > 0)
    until += ((here.due - target[leaf])[late] / speed[leaf][late]).tolist()
    # or where another resource of a group overtakes its largest one
    faster = (rate > 1) & (here.amount < size[:, None] * (1 - tol)) & (speed > 0)[:, None]
    faster[leaf] = False
    node, r = np.nonzero(faster)
    until += ((size[node] - here.amount[node, r]) / ((rate[node, r] - 1) * speed[node])).tolist()
    end = min(until)
    until_ = here.v[root] + end if end < np.inf else end
    return Piece(here, slope, until_, end, v_rate, rate[root], root)


def _climb(
    here: PathPoint, root: int, idle: Bools, size: Array
) -> tuple[Array, Array, dict[int, PathPoint]]:
    """From the leaves up: what each node gains for a unit of its target.

    Returns
    -------
    rate : (K, R) of its use; of the root, for a unit of its v. gain : (K,) of its v.
    ends : node -> the point after its jump, for groups that cannot grow by a little.
    """
    tree = here.tree
    parent, weight, leaf = tree.parent, tree.weight, tree.leaf
    per_v, rate, gain = 0 * here.amount, 0 * here.amount, 0 * weight
    rate[leaf] = np.where(idle[leaf][:, None], 0 * tree.use, tree.use)
    full = here.amount >= size[:, None] * (1 - tree.tolerance)
    group = ~idle
    group[leaf] = False
    ends: dict[int, PathPoint] = {}
    for nodes in reversed(tree.layers):
        groups = nodes[group[nodes]]
        grown = np.where(full[groups], per_v[groups], 0 * per_v[groups]).max(axis=1, initial=0)
        stuck = grown == 0
        if ends:
            stuck |= np.isin(groups, parent[list(ends)])
        for g in groups[stuck].tolist():
            ends[g] = _end(here, g)
        groups, grown = groups[~stuck], grown[~stuck]
        gain[groups] = 1 / grown
        rate[groups] = per_v[groups] / grown[:, None]
        add(per_v, parent[nodes], rate[nodes] * weight[nodes][:, None])
    rate[root] = per_v[root]
    return rate, gain, ends


def _end(here: PathPoint, group: int) -> PathPoint:
    """Where the subtree of a group is as soon as its size is more than its target, or grows."""
    tol, target = here.tree.tolerance, here.target[group]
    while True:
        amount = here.amount[group]
        size = amount.max()
        if size > target * (1 + tol):
            return here
        piece = _piece(here, group)
        if isinstance(piece, Jump):
            here = piece.end
            continue
        full = amount >= size * (1 - tol)
        if (piece.grown[full] > 0).any():
            return here
        rising = ~full & (piece.grown > 0)
        reached = ((size - amount)[rising] / piece.grown[rising]).tolist()
        here = piece.at(min([piece.until, *(here.v[group] + each for each in reached)]))
