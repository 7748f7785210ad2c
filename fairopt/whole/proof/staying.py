"""Tasks that stay where they run: the question with nodes and what they hold, and its judge.

Of all placements in which everybody has at least its floor f_n, the most is kept of what runs:
max sum_jn cost_n min(a_jn, h_jn). Nodes of one kind that hold the same are a class; on it each user
is two kinds of task, kept (at most h, worth its cost beside the price) and new. With prices
pi and the worth sigma of the best node of each class, kept <= sum_j count_j sigma_j - sum pi f.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairopt.whole.proof.certificate import PatternPrices, too_little
from fairopt.whole.proof.placement import Nodes
from fairopt.whole.proof.problem import Kind, Problem, Tasks
from fairopt.whole.proof.search import LIMIT

Held = Sequence[Sequence[Mapping[int, int]]]
"""for each class of the problem, for each of its nodes in order: {user: tasks that run there}"""


@dataclass(frozen=True)
class Staying:
    """The question of what can stay.

    Parameters
    ----------
    problem : classes of nodes alike that hold the same; kept kinds have a bonus.
    floor : (N,) the fewest tasks of each user. cost : (N,) of a task that is moved.
    members : for each class its nodes, as (class of the plain problem, which of its nodes).
    """

    problem: Problem
    floor: tuple[int, ...]
    cost: tuple[int, ...]
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
        found = 0
        for j, count, tasks in nodes:
            own = self.problem.classes[j]
            stay = {kind.user: kind.most for kind in own.kinds if kind.bonus}
            for n, m in own.by_user(tasks).items():
                found += count * self.cost[n] * min(m, stay.get(n, 0))
        return found

    def most(self, prices: PatternPrices) -> int:
        """No placement with these floors keeps more, if no sigma is too small."""
        floors = sum(p * f for p, f in zip(prices.price, self.floor, strict=True))
        return min(self.held, (prices.budget(self.problem) - floors) // max(1, prices.unit))


def staying(plain: Problem, held: Held, floor: Sequence[int], cost: Sequence[int]) -> Staying:
    """The question for nodes that hold something. What may no longer run where it does must go."""
    groups: dict[tuple[int, tuple[tuple[int, int], ...]], list[int]] = {}
    for j, nodes in enumerate(held):
        allowed = {kind.user: kind.most for kind in plain.classes[j].kinds}
        for i, runs in enumerate(nodes):
            key = tuple(
                (n, min(k, allowed[n])) for n, k in sorted(runs.items()) if k > 0 and n in allowed
            )
            groups.setdefault((j, key), []).append(i)
    classes, members = [], []
    for (j, here), which in groups.items():
        own = plain.classes[j]
        stay = dict(here)
        kinds = [
            Kind(kind.user, kind.need, stay[kind.user], "stays", cost[kind.user])
            for kind in own.kinds
            if kind.user in stay and cost[kind.user]
        ]
        classes.append(replace(own, count=len(which), kinds=(*kinds, *own.kinds)))
        members.append(tuple((j, i) for i in which))
    problem = Problem(plain.users, tuple(classes), plain.due, plain.asked, plain.gang)
    return Staying(problem, tuple(floor), tuple(cost), tuple(members))


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

    def explain(self) -> str:
        """In words."""
        said = f"{self.kept:,} of {self.held:,} stay"
        if self.wrong:
            return f"{said}, unproved: {self.wrong[0]}"
        return f"{said}, the most that can" if self.proved else f"{said}, at most {self.most:,} can"


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
    bad, unknown = too_little(question.problem, prices, limit)
    wrong += [f"a node of {name} is worth more" for name in bad]
    wrong += [f"the search of {name} was given up" for name in unknown]
    return Stays(question.kept(nodes), question.held, question.most(prices), tuple(wrong))
