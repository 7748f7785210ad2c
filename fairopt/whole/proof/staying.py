"""Tasks that stay where they run: the question with nodes and what they hold, and its judge.

Of all placements in which everybody has at least its floor f_n, the most is kept of what runs:
max sum_jn cost_n min(a_jn, h_jn). Nodes of one kind that hold the same are a class; on it each user
is two kinds of task, kept (at most h, worth its cost beside the price) and new. With prices
pi and the worth sigma of the best node of each class, kept <= sum_j count_j sigma_j - sum pi f.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from fairopt.whole.proof.certificate import PatternPrices, too_little
from fairopt.whole.proof.placement import Nodes
from fairopt.whole.proof.problem import Kind, NodeClass, Problem, Tasks
from fairopt.whole.proof.search import LIMIT

Held = Sequence[Sequence[Mapping[int, int]]]
"""for each class of the problem, for each of its nodes in order: {user: tasks that run there}"""
Dear = Sequence[Sequence[Mapping[int, Sequence[int]]]]
"""the same with what each of these tasks costs, of the users whose tasks differ in it"""


@dataclass(frozen=True)
class Staying:
    """The question of what can stay.

    Parameters
    ----------
    problem : classes of nodes alike that hold the same; kept kinds have a bonus.
    floor : (N,) the fewest tasks of each user.
    members : for each class its nodes, as (class of the plain problem, which of its nodes).
    """

    problem: Problem
    floor: tuple[int, ...]
    members: tuple[tuple[tuple[int, int], ...], ...]

    @property
    def held(self) -> int:
        """What everything that runs is worth, all of it kept."""
        return sum(
            own.count * sum(kind.bonus * kind.most for kind in own.kinds)
            for own in self.problem.classes
        )

    def kept(self, nodes: Nodes) -> int:
        """What is kept on these nodes: tasks of a user count as kept as far as they can."""
        return sum(
            count * self.worth(j, self.problem.classes[j].by_user(tasks))
            for j, count, tasks in nodes
        )

    def worth(self, j: int, by_user: Mapping[int, int]) -> int:
        """What is kept on a node of class j with so many tasks of each user, the dearest first."""
        kinds = self.problem.classes[j].kinds
        stays = zip(kinds, by_kind(self.problem, j, by_user), strict=True)
        return sum(kind.bonus * m for kind, m in stays)

    def nodewise(self, nodes: Nodes) -> list[list[dict[int, int]]]:
        """Tasks by user on every node of each plain class; nodes alike get what they ran first."""
        size: dict[int, int] = {}
        for which in self.members:
            for j, i in which:
                size[j] = max(size.get(j, 0), i + 1)
        found: list[list[dict[int, int]]] = [[{}] * size.get(j, 0) for j in range(max(size) + 1)]
        left = [list(which) for which in self.members]
        for j, count, tasks in nodes:
            for _ in range(count):
                plain, i = left[j].pop(0)
                found[plain][i] = self.problem.classes[j].by_user(tasks)
        return found

    def most(self, prices: PatternPrices) -> int:
        """No placement with these floors keeps more, if no sigma is too small."""
        floors = sum(p * f for p, f in zip(prices.price, self.floor, strict=True))
        return min(self.held, (prices.budget(self.problem) - floors) // max(1, prices.unit))


def staying(
    plain: Problem, held: Held, floor: Sequence[int], cost: Sequence[int], dear: Dear = ()
) -> Staying:
    """The question for nodes that hold something. What may no longer run where it does must go.

    Parameters
    ----------
    floor : (N,) the fewest tasks of each user. cost : (N,) of moving a task of each user.
    dear : costs of single tasks, where they differ from those of their user.
    """
    groups: dict[tuple[int, tuple[tuple[int, tuple[tuple[int, int], ...]], ...]], list[int]] = {}
    for j, nodes in enumerate(held):
        allowed = {kind.user: kind.most for kind in plain.classes[j].kinds}
        for i, runs in enumerate(nodes):
            own = dear[j][i] if dear else {}
            here = []
            for n, k in sorted(runs.items()):
                costs = sorted(own.get(n, [cost[n]] * k), reverse=True)[: allowed.get(n, 0)]
                tiers = sorted(Counter(c for c in costs if c > 0).items(), reverse=True)
                if tiers:
                    here.append((n, tuple(tiers)))
            groups.setdefault((j, tuple(here)), []).append(i)
    classes, members = [], []
    capped = _capped(plain)
    for (j, tiers_of), which in groups.items():
        own_class = _with_caps(plain.classes[j], capped)
        stay = dict(tiers_of)
        kinds = [
            Kind(kind.user, kind.need, k, "stays", c)
            for kind in own_class.kinds
            for c, k in stay.pop(kind.user, ())
        ]
        classes.append(replace(own_class, count=len(which), kinds=(*kinds, *own_class.kinds)))
        members.append(tuple((j, i) for i in which))
    problem = Problem(
        plain.users,
        tuple(classes),
        plain.due,
        plain.asked,
        plain.gang,
        True,
        plain.at_least,
        tuple(replace(own, zone=tuple(own.zone[j] for j, _ in groups)) for own in plain.spreads),
    )
    return Staying(problem, tuple(floor), tuple(members))


def _capped(plain: Problem) -> list[int]:
    """Users of whom some node may hold fewer than it has room for, and than they ask."""
    return sorted(
        {
            kind.user
            for own in plain.classes
            for kind in own.kinds
            if kind.most
            < min(
                [plain.asked[kind.user]]
                + [c // x for c, x in zip(own.room, kind.need, strict=True) if x]
            )
        }
    )


def _with_caps(own: NodeClass, users: Sequence[int]) -> NodeClass:
    """Caps of these users as resources: what stays and what comes share them."""
    most = {kind.user: kind.most for kind in own.kinds}
    kinds = tuple(
        replace(kind, need=(*kind.need, *(int(kind.user == n) for n in users)))
        for kind in own.kinds
    )
    return replace(own, room=(*own.room, *(most.get(n, 0) for n in users)), kinds=kinds)


def floors(problem: Problem, totals: Sequence[int], within: Fraction) -> list[int]:
    """(N,) the fewest tasks: what is due and placed, less a part, in whole gangs."""
    found = [
        -gang * int(-(min(m, full) * (1 - within)) // gang)
        for m, full, gang in zip(totals, problem.full, problem.gang, strict=True)
    ]
    return [max(f, s) if f else 0 for f, s in zip(found, problem.at_least, strict=True)]


def by_kind(problem: Problem, j: int, by_user: Mapping[int, int]) -> Tasks:
    """Numbers by kind of a node of a class of the question: what can stay first."""
    left = dict(by_user)
    found = []
    for kind in problem.classes[j].kinds:
        m = min(left.get(kind.user, 0), kind.most)
        left[kind.user] = left.get(kind.user, 0) - m
        found.append(m)
    return tuple(found)


@dataclass(frozen=True)
class Stays:
    """What is proved of what stays.

    Parameters
    ----------
    kept, held : worth of what stays, and of all that runs. most : no placement keeps more.
    wrong : why that bound is no proof, if it is none.
    """

    kept: int
    held: int
    most: int
    wrong: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether no placement keeps more."""
        return not self.wrong and self.kept >= self.most

    def plain(self) -> dict[str, int | bool]:
        """As plain data."""
        most = {"kept": self.kept, "running": self.held, "most": self.most}
        return {**most, "proved": self.proved}

    def explain(self) -> str:
        """In words."""
        said = f"{self.kept:,} of {self.held:,} stay"
        if self.wrong:
            return f"{said}, unproved: {self.wrong[0]}"
        return f"{said}, the most that can" if self.proved else f"{said}, at most {self.most:,} can"


def _tasks(problem: Problem, nodes: Nodes, n: int) -> Iterator[tuple[int, int]]:
    for j, count, tasks in nodes:
        yield j, count * problem.classes[j].by_user(tasks).get(n, 0)


def judge(question: Staying, nodes: Nodes, prices: PatternPrices, limit: int = LIMIT) -> Stays:
    """Judge what stays on nodes, by prices; integers only."""
    totals = question.problem.totals(nodes)
    wrong = [
        f"{name} has {m} of {f}"
        for name, m, f in zip(question.problem.users, totals, question.floor, strict=True)
        if m < f
    ]
    if prices.unit < 1:
        wrong.append("prices without a unit")
    for own in question.problem.spreads:
        counts = own.counts(_tasks(question.problem, nodes, own.user))
        if own.uneven(counts):
            wrong.append(f"{question.problem.users[own.user]} is spread as {counts}")
    bad, unknown = too_little(question.problem, prices, limit)
    wrong += bad
    wrong += [f"the search of {name} was given up" for name in unknown]
    return Stays(question.kept(nodes), question.held, question.most(prices), tuple(wrong))
