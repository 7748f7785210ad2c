"""Whole tasks on nodes, in exact integers: groups of nodes that hold the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fairopt.whole.proof import cards
from fairopt.whole.proof.problem import Problem, Tasks
from fairopt.whole.proof.search import LIMIT, Item, TooLong, most
from fairopt.whole.proof.zones import lowered, raised

Nodes = tuple[tuple[int, int, Tasks], ...]
"""(class, how many nodes, tasks by kind on each of them)"""


class Placement:
    """Nodes being filled. Whatever is done to it, every node holds what it holds."""

    def __init__(self, problem: Problem, nodes: Iterable[tuple[int, int, Sequence[int]]] = ()):
        self.problem = problem
        self.total = [0] * len(problem.users)
        self.unsure = False
        """whether some node was left as it is because a search of its cards was given up"""
        self.at: list[dict[int, list[int]]] = []
        """for each class, the kinds of each user"""
        for own in problem.classes:
            kinds: dict[int, list[int]] = {}
            for k, kind in enumerate(own.kinds):
                kinds.setdefault(kind.user, []).append(k)
            self.at.append(kinds)
        self.group: list[tuple[int, int, list[int], list[int]]] = []
        left = [own.count for own in problem.classes]
        for j, count, tasks in nodes:
            count = min(count, left[j])
            if count > 0 and problem.classes[j].fits(tasks):
                self._put(j, count, list(tasks))
                left[j] -= count
        for j, count in enumerate(left):
            if count:
                self._put(j, count, [0] * len(problem.classes[j].kinds))

    def _put(self, j: int, count: int, tasks: list[int]) -> None:
        own = self.problem.classes[j]
        self.group.append((j, count, tasks, own.left(tasks)))
        for kind, m in zip(own.kinds, tasks, strict=True):
            self.total[kind.user] += m * count

    def nodes(self) -> Nodes:
        """The nodes, those alike together, in the order of their classes, most alike first."""
        alike: dict[tuple[int, Tasks], int] = {}
        for j, count, tasks, _ in self.group:
            key = j, tuple(tasks)
            alike[key] = alike.get(key, 0) + count
        order = sorted(alike.items(), key=lambda own: (own[0][0], -own[1], own[0][1]))
        return tuple((j, count, tasks) for (j, tasks), count in order)

    def copy(self) -> Placement:
        """The same nodes, to be changed."""
        return Placement(self.problem, self.nodes())

    def fit(self, g: int, n: int) -> int:
        """Most further tasks of user n on a node of group g."""
        j, _, tasks, left = self.group[g]
        kinds = self.at[j].get(n, ())
        if not kinds:
            return 0
        own = self.problem.classes[j].kinds
        if len(kinds) == 1:
            k = kinds[0]
            found = own[k].most - tasks[k]
            for c, x in zip(left, own[k].need, strict=True):
                if x and c < found * x:
                    found = c // x
            return self._on_cards(g, k, found)
        return self._best([(1, own[k].need, own[k].most - tasks[k]) for k in kinds], g)[0]

    def _on_cards(self, g: int, k: int, found: int) -> int:
        """Of so many further tasks of a kind, those that lie on the cards of a node."""
        j, _, tasks, _ = self.group[g]
        own = self.problem.classes[j]
        if not (own.cards and found > 0):
            return found
        try:
            return cards.most(own.cards, own.lying(tasks), own.kinds[k].need, found)
        except cards.Unsure:
            self.unsure = True
            return 0

    def _best(self, items: list[Item], g: int) -> tuple[int, tuple[int, ...] | None]:
        """The most further tasks of these kinds on a node of group g."""
        j, _, tasks, left = self.group[g]
        own = self.problem.classes[j]
        try:
            return most(items, left, (), None, LIMIT, own.cards, own.lying(tasks))
        except TooLong:
            self.unsure = True
            return 0, None

    def room_for(self, n: int, enough: int) -> int:
        """Further tasks of user n that all nodes together hold, counted until it is enough."""
        if n in self.problem.spread_of:
            return sum(self._raised(n, self._room(n), enough))
        found = 0
        for g, (_, count, _, _) in enumerate(self.group):
            found += count * self.fit(g, n)
            if found >= enough:
                break
        return found

    def by_zone(self, n: int) -> list[int]:
        """Tasks by zone of a user that is spread."""
        return self.problem.spread_of[n].counts(
            (j, count * sum(tasks[k] for k in self.at[j].get(n, ())))
            for j, count, tasks, _ in self.group
        )

    def _room(self, n: int) -> list[int]:
        """Further tasks by zone that nodes hold of a user that is spread."""
        return self.problem.spread_of[n].counts(
            (j, count * self.fit(g, n)) for g, (j, count, _, _) in enumerate(self.group)
        )

    def _raised(self, n: int, room: Sequence[int], many: int) -> list[int]:
        """By zone, up to so many further tasks of a user that is spread."""
        return raised(self.by_zone(n), room, self.problem.spread_of[n].skew, many)

    def add(self, n: int, wanted: int) -> int:
        """Place up to `wanted` tasks of user n in whole gangs, fullest nodes first; how many."""
        gang = self.problem.gang[n]
        fits = [(self.fit(g, n), g) for g in range(len(self.group))]
        own = self.problem.spread_of.get(n)
        if own is None:
            parts = {-1: min(wanted, sum(fit * self.group[g][1] for fit, g in fits))}
        else:
            room = self._room(n)
            there = sum(self._raised(n, room, wanted)) // gang * gang
            parts = dict(enumerate(self._raised(n, room, there)))
        there = sum(parts.values()) // gang * gang
        if not self.total[n] and there < self.problem.at_least[n]:
            return 0
        parts = parts if own else {-1: there}
        for fit, g in sorted((x for x in fits if x[0]), key=lambda x: self._free(x[1])):
            z = own.zone[self.group[g][0]] if own else -1
            if parts[z] == 0:
                continue
            full, part = divmod(min(parts[z], fit * self.group[g][1]), fit)
            parts[z] -= full * fit + part
            self._into(g, n, ((full, fit), (1, part)))
        return there

    def _free(self, g: int) -> tuple[float, int]:
        j, _, _, left = self.group[g]
        room = self.problem.classes[j].room
        return sum(x / c for x, c in zip(left, room, strict=True) if c), g

    def _into(self, g: int, n: int, parts: Iterable[tuple[int, int]]) -> None:
        """Give so many nodes of group g so many tasks of user n each."""
        for count, tasks in parts:
            if not (count and tasks):
                continue
            j, there, held, left = self.group[g]
            own = self.problem.classes[j].kinds
            kinds = self.at[j][n]
            _, chosen = self._best(
                [(1, own[k].need, min(own[k].most - held[k], tasks)) for k in kinds], g
            )
            more = list(held)
            rest = tasks
            for k, m in zip(kinds, chosen or (), strict=True):
                more[k] += min(m, rest)
                rest -= min(m, rest)
            self._change(g, count, more)

    def _change(self, g: int, count: int, tasks: list[int]) -> None:
        """Let `count` nodes of group g hold these tasks; the others stay in the group."""
        j, there, held, left = self.group[g]
        own = self.problem.classes[j]
        for kind, a, b in zip(own.kinds, held, tasks, strict=True):
            self.total[kind.user] += (b - a) * count
        if count < there:
            self.group.append((j, count, tasks, own.left(tasks)))
            self.group[g] = (j, there - count, held, left)
        else:
            self.group[g] = (j, there, tasks, own.left(tasks))

    def drop(self, n: int, many: int) -> None:
        """Take `many` tasks of user n away, from the nodes with least room left first.

        Those that run where they did (kinds with a bonus) are the last to go; of a user that is
        spread, those of the fullest zones the first.
        """
        if n not in self.problem.spread_of:
            self._drop(n, many)
            return
        zone = self.problem.spread_of[n].zone
        for z, less in enumerate(lowered(self.by_zone(n), many)):
            self._drop(n, less, {j for j, own in enumerate(zone) if own == z})

    def _drop(self, n: int, many: int, where: Collection[int] | None = None) -> None:
        order = sorted(range(len(self.group)), key=self._free)
        for g, kept in [(g, kept) for kept in (False, True) for g in order]:
            j = self.group[g][0]
            if where is not None and j not in where:
                continue
            own = self.problem.classes[j].kinds
            for k in self.at[j].get(n, ()):
                _, there, held, _ = self.group[g]
                if many == 0 or not held[k] or bool(own[k].bonus) != kept:
                    continue
                full, part = divmod(min(many, held[k] * there), held[k])
                for count, tasks in ((full, held[k]), (1, part)):
                    if count and tasks:
                        less = list(held)
                        less[k] -= tasks
                        self._change(g, count, less)
                        many -= count * tasks

    def trim(self, most_of: Sequence[int]) -> None:
        """Take away what is above these totals, what some zone has too much beside another, and
        what is no whole gang or too few to run."""
        for n, m in enumerate(self.total):
            keep = m
            if n in self.problem.spread_of:
                counts = self.by_zone(n)
                top = min(counts) + self.problem.spread_of[n].skew
                keep = sum(min(x, top) for x in counts)
            keep = self.problem.down(n, min(keep, most_of[n]))
            if m > keep:
                self.drop(n, m - keep)
