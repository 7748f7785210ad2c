r"""What errors of users stopped earlier do to the targets of those beside them in groups.

A group is due a target, so that whoever is stopped in it and holds more than was thought leaves
less to the others, at the same level t. Let v_g, what the children of group g are due by weight,
fall by the part a_g or rise by b_g at most. With A_g what is used below g in each resource, M_g the
part of it of those whose targets move, tau_g the target of g and E_g what those stopped below it
may take more (or give back, E'_g),

.. math:: a_g = \max_r \frac{E_{g,r} + \sum_c b_c^0 A_{c,r} + a_p \tau_g - (\tau_g - A_{g,r})}
                            {M_{g,r}}, \qquad
          b_g = \min_r \frac{E'_{g,r} + \sum_c a_c^0 M_{c,r} + b_p \tau_g + (\tau_g - A_{g,r})}
                            {M_{g,r} - \sum_c a_c^0 M_{c,r}}

where p is the parent of g, c goes over its groups, and a_c^0, b_c^0 are those at a target of c that
stays. First they are worked out from the leaves up, then all of them from the root down
(docs/maths/prices.md, "Errors carried on").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairopt.formulas.targets import SAME, Jump, PathPoint
from fairopt.instance import Bools, Floats, Ints

Sums = Callable[[Ints, Ints, Floats, Floats], Floats]
"""(places, users, what each uses there, errors (N,)) -> what each may ask there"""


@dataclass(frozen=True)
class Reached:
    """Where a round stopped on the path of targets.

    Parameters
    ----------
    start : the point. jump : the line on which it is, if targets jump there. part : of that line.
    base : (N,) what is taken off shares before they are compared.
    """

    start: PathPoint
    jump: Jump | None
    part: float
    base: Floats


class Shift:
    """What errors do to the targets of one round.

    Parameters
    ----------
    reached : where the round stopped. up, down : (N,) errors, as parts of what each is due in all:
        of those stopped before, and of others those of what they were due in the last round.
    last : (N,) what each was due in the last round; None in the first.
    """

    def __init__(
        self, reached: Reached, up: Floats, down: Floats, sums: Sums, last: Floats | None = None
    ) -> None:
        jump = reached.jump
        points = [reached.start] if jump is None else [jump.start, jump.end]
        part = 0.0 if jump is None else reached.part
        self._parts = [1.0 - part, part][: len(points)]
        self._dues = [point.due for point in points]
        due = sum(p * d for p, d in zip(self._parts, self._dues, strict=True))
        whole = np.asarray(due + reached.base, dtype=np.float64)
        self._whole, self._base = np.where(whole > 0, whole, 1.0), reached.base
        less = down * whole
        jumps = np.zeros(len(whole), dtype=bool)
        self.moves, self._line = np.zeros_like(jumps), np.zeros(len(whole))
        self._rests = np.zeros_like(jumps)
        if jump is not None:
            self._line = np.maximum(self._dues[1] - self._dues[0], 0.0) / self._whole
            jumps = self._line > 0
            self.moves = jumps
            # who did not move since the last round begins to jump with the errors of that
            self._rests = jumps & (True if last is None else self._dues[0] == last)
        self._at = [_Groups(p, jumps, j == 1) for j, p in enumerate(points)]
        self._with = [one.errors(up, whole, less, sums) for one in self._at]
        if jump is None:
            self.moves = self._at[0].moves
        self._idle = np.asarray(np.any([one.idle for one in self._at], axis=0)) & ~jumps
        self._up, self._down = up, down
        # targets jump as soon as what is frozen is passed, a little before that level or after
        self._wide = self._at[-1].late(self._with[-1])
        self._landed = jump is None and bool(self._at[0].landed.any())

    def along(self) -> Floats:
        """(N,) the part by which each falls, at least, for a part by which the level does."""
        if len(self._at) > 1:
            return self._line
        one = self._at[0]
        return np.where(one.below_landed if self._landed else self.moves, 1.0, 0.0)

    def above(self, more: float = 0.0) -> Floats:
        """(N,) how much more each may be due, when the level is a part `more` higher."""
        line = len(self._at) > 1
        root = self._wide + (0.0 if line else more)
        rises = [one.rise(each, root) for one, each in zip(self._at, self._with, strict=True)]
        return np.where(self._idle, self._up, self._mix(rises, self._up) + self._along(more))

    def below(self, less: float) -> Floats:
        """(N,) how much less each may be due, when the level is a part `less` lower."""
        line = len(self._at) > 1
        root = self._wide + (0.0 if line or self._landed else less)
        land = less if self._landed else 0.0
        falls = [one.fall(each, root, land) for one, each in zip(self._at, self._with, strict=True)]
        falls[0] = np.where(self.moves & (self._line > 0), 1.0, falls[0])  # moved: not known
        found = self._mix(falls, self._down) + self._along(less)
        return np.minimum(np.where(self._idle, self._down, found), 1.0)

    def _along(self, level: float) -> Floats:
        """(N,) what each loses or gains along the line of a jump, when it ends that part of the
        line sooner or later."""
        with np.errstate(invalid="ignore"):
            return np.where(self._line > 0, self._line * level, 0.0)

    def _mix(self, parts: list[Floats], begun: Floats) -> Floats:
        """(N,) errors along the line of a jump, of those at its ends; `begun` are those of who
        rested before it."""
        found = np.zeros_like(self._whole)
        for j, (p, d, each) in enumerate(zip(self._parts, self._dues, parts, strict=True)):
            if not j:
                each = np.where(self._rests, begun, each)
                d = np.where(self._rests, d + self._base, d)
            some = (d > 0) & (each > 0)
            found += np.where(some, p * d * np.where(some, each, 0.0), 0.0) if p > 0 else 0.0
        return found / self._whole


class _Errors(NamedTuple):
    """What those who do not move may use more, or less, below each node (K, R); and what groups
    below may add to it, or take, at targets that stay."""

    most: Floats
    least: Floats
    added: Floats
    taken: Floats


class _Groups:
    """The groups of one point: who moves, and what is used below them.

    Parameters
    ----------
    jumps : (N,) who jumps from here. ended : whether this is where a jump lands.
    """

    def __init__(self, point: PathPoint, jumps: Bools, ended: bool) -> None:
        tree = point.tree
        self._point, self._tree = point, tree
        parent, leaf = tree.parent, tree.leaf
        self._target, self._amount = point.target, point.amount
        self._size = self._amount.max(axis=1)
        alive = np.zeros(len(parent), dtype=bool)
        alive[leaf] = point.free
        for nodes in reversed(tree.layers):
            np.logical_or.at(alive, parent[nodes], alive[nodes])
        group = alive
        group[leaf] = group[0] = False
        self._waits = group & (self._size > self._target * (1 + SAME))
        idle = self._waits.copy()
        for nodes in tree.layers:
            idle[nodes] |= idle[parent[nodes]]
        self._group = group & ~idle
        held = point.held
        late = point.due > held * (1 + SAME)
        self.idle: Bools = point.free & (idle[leaf] | late | (jumps & (not ended)))
        on_target = self._target[leaf] >= held * (1 - SAME)
        self.moves: Bools = point.free & on_target & ~self.idle
        self._moving = tree.summed(tree.use * np.where(self.moves, held, 0.0)[:, None])
        slack = np.maximum(self._target[:, None] - self._amount, 0.0)
        self._slack = np.where(slack <= SAME * self._target[:, None], 0.0, slack)
        # groups that just passed what is frozen of them: lower, they go back along their jump
        still = (self._moving <= 0) & (self._slack <= 0) & (self._amount > 0)
        self.landed: Bools = self._group & still.any(axis=1) & (self._moving > 0).any(axis=1)
        below = self.landed.copy()
        for nodes in tree.layers:
            below[nodes] |= below[parent[nodes]]
        self.below_landed: Bools = self.moves & below[leaf]

    def errors(self, up: Floats, whole: Floats, less: Floats, sums: Sums) -> _Errors:
        """What errors (N,) of those who do not move do, group by group from the leaves up."""
        tree, still = self._tree, ~self._point.free | self.idle
        most = np.zeros_like(self._amount)
        user = np.flatnonzero(still & (up > 0))
        node = tree.parent[tree.leaf[user]]
        while len(user):
            for r in range(most.shape[1]):
                asked = sums(node, user, tree.use[user, r] * whole[user], up)
                most[:, r] += np.bincount(node, asked, len(most))
            user, node = user[node > 0], tree.parent[node[node > 0]]
        least = tree.summed(tree.use * np.where(still, less, 0.0)[:, None])
        found = _Errors(most, least, np.zeros_like(most), np.zeros_like(most))
        none = np.zeros(len(tree.parent))
        for nodes in reversed(tree.layers):
            g = nodes[self._group[nodes]]
            if len(g):
                up, down = self._b(g, found, none)[:, None], self._a(g, found, none)[:, None]
                with np.errstate(invalid="ignore"):
                    up = np.where(self._amount[g] > 0, up * self._amount[g], 0.0)
                np.add.at(found.added, tree.parent[g], up)
                np.add.at(found.taken, tree.parent[g], down * self._moving[g])
        return found

    def _need(self, g: Ints, errors: _Errors, above: Floats) -> Floats:
        """(len(g), R) what those who move have to give when the targets (K,) fall by `above`."""
        need = errors.most[g] + errors.added[g] + (above * self._target)[g][:, None]
        return np.asarray(np.maximum(need - self._slack[g], 0.0))

    def _a(self, g: Ints, errors: _Errors, above: Floats) -> Floats:
        """(len(g),) a of groups whose own targets fall by `above` (K,)."""
        # what nobody moves in was passed, sooner or later (`late`)
        moving = self._moving[g]
        need = np.where(moving > 0, self._need(g, errors, above), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(need > 0, need / moving, 0.0).max(axis=1)
        return np.asarray(np.minimum(found, 1.0))

    def _b(self, g: Ints, errors: _Errors, above: Floats) -> Floats:
        """(len(g),) b of groups whose own targets rise by `above` (K,); inf if nothing is known."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            need = errors.least[g] + errors.taken[g] + (above * self._target)[g][:, None]
            keep = self._moving[g] - errors.taken[g]
            each = np.where(keep > 0, (need + self._slack[g]) / keep, np.inf)
        return np.asarray(each.min(axis=1))

    def late(self, errors: _Errors) -> float:
        """How much later the level may be at which what is frozen of a group is passed."""
        g = np.flatnonzero(self._group)
        need = self._need(g, errors, np.zeros(len(self._target)))
        need = np.where(self._moving[g] > 0, 0.0, need)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(need > 0, need / self._target[g][:, None], 0.0)
        return float(part.max(initial=0.0))

    def rise(self, errors: _Errors, more: float) -> Floats:
        """(N,) b of users when the level is a part higher."""
        tree, above = self._tree, np.zeros(len(self._target))
        above[0] = more
        for nodes in tree.layers:
            own = np.zeros_like(above)
            own[nodes] = above[tree.parent[nodes]]
            with np.errstate(invalid="ignore"):
                high = self._target[nodes] * (1 + own[nodes])
            begins = self._waits[nodes] & (high > self._size[nodes])
            g = nodes[self._group[nodes] | begins]
            if len(g):
                above[g] = self._b(g, errors, own)
        # who holds its floor rises once its target passes that
        target, held = self._target[tree.leaf], self._point.held
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            high = target * (1 + above[tree.parent[tree.leaf]])
            found = np.where(high > held, np.maximum(high / held - 1.0, 0.0), 0.0)
        found = np.where(self.moves, above[tree.parent[tree.leaf]], found)
        return np.where(self._point.free, found, 0.0)

    def fall(self, errors: _Errors, less: float, land: float) -> Floats:
        """(N,) a of users when the level is a part lower, and of groups that landed by `land`."""
        tree, above = self._tree, np.zeros(len(self._target))
        above[0] = less
        for nodes in tree.layers:
            own = np.zeros_like(above)
            own[nodes] = above[tree.parent[nodes]]
            g = nodes[self._group[nodes]]
            if len(g):
                above[g] = self._a(g, errors, own)
            at = nodes[self.landed[nodes]]
            above[at] = np.minimum(above[at] + land, 1.0)
        return np.where(self.moves, above[tree.parent[tree.leaf]], 0.0)


__all__ = ["Reached", "Shift"]
