"""What is asked of whole tasks, in integers: kinds of task on classes of nodes, dues and gangs.

A *class* is a row of nodes that are alike. A *kind* is a way in which a task of a user may run on a
node of the class: what it takes there, and how many of it a node may hold. A user with several
modes has several kinds on a class; tasks that are kept where they run are a kind of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm

from fairopt.errors import BadInput, Fault
from fairopt.whole.proof import zones
from fairopt.whole.proof.cards import Cards, Lying, Unsure, bounds, lie, pieces, small
from fairopt.whole.proof.zones import Spread

Tasks = tuple[int, ...]
"""tasks by kind of the class on one node"""
MOST_CARDS = 256
"""cards of a node"""


@dataclass(frozen=True)
class Kind:
    """A way in which a task of a user runs on a node of a class.

    Parameters
    ----------
    user : position of the user.
    need : (R,) what a task takes, in the integer units of the problem.
    most : of these on one node.
    mode : the name of the mode, "" where the user has one.
    bonus : what such a task is worth by itself, beside the price of its user (tasks that stay).
    """

    user: int
    need: tuple[int, ...]
    most: int
    mode: str = ""
    bonus: int = 0


@dataclass(frozen=True)
class NodeClass:
    """Nodes that are alike.

    Parameters
    ----------
    name : of the server row, or of the first of its nodes.
    room : (R,) what a node has. count : nodes. kinds : what may run here.
    cards : resources of which a task takes part of a single card, or whole cards.
    """

    name: str
    room: tuple[int, ...]
    count: int
    kinds: tuple[Kind, ...]
    cards: tuple[Cards, ...] = ()

    def fits(self, tasks: Sequence[int]) -> bool:
        """Whether a node holds these tasks: by kind, its room, its cards, the kinds' caps."""
        if len(tasks) != len(self.kinds) or any(
            not 0 <= m <= kind.most for m, kind in zip(tasks, self.kinds, strict=True)
        ):
            return False
        return all(x >= 0 for x in self.left(tasks)) and self.lies(tasks)

    def lies(self, tasks: Sequence[int]) -> bool:
        """Whether these tasks lie on the cards of a node; not where the search was given up."""
        try:
            return not self.cards or lie(self.cards, self.lying(tasks))
        except Unsure:
            return False

    def lying(self, tasks: Sequence[int]) -> Lying:
        """What these tasks take of the cards of a node."""
        pairs = zip(self.kinds, tasks, strict=True)
        return pieces(self.cards, ((kind.need, m) for kind, m in pairs if m))

    def cut(self, tasks: Sequence[int]) -> Tasks:
        """These tasks, fewer of them where a node does not hold them."""
        less = [max(0, min(m, kind.most)) for m, kind in zip(tasks, self.kinds, strict=True)]
        while not self.fits(less):
            less[max(range(len(less)), key=lambda k: less[k])] -= 1
        return tuple(less)

    def left(self, tasks: Sequence[int]) -> list[int]:
        """(R,) what these tasks leave of a node."""
        room = list(self.room)
        for m, kind in zip(tasks, self.kinds, strict=True):
            if m:
                for r, x in enumerate(kind.need):
                    room[r] -= m * x
        return room

    def by_user(self, tasks: Sequence[int]) -> dict[int, int]:
        """{user: tasks} on a node."""
        found: dict[int, int] = {}
        for m, kind in zip(tasks, self.kinds, strict=True):
            if m:
                found[kind.user] = found.get(kind.user, 0) + m
        return found


@dataclass(frozen=True)
class Problem:
    """Whole tasks to be placed.

    Parameters
    ----------
    users : names. classes : the nodes.
    due : tasks that each user is due, exact.
    asked : most tasks of each user; what fits on all nodes where there is no limit.
    gang : tasks that run together or not at all, at least 1.
    parts : whether whole parts of what is due come first; without them only levels m_n / d_n count.
    at_least : fewest tasks with which a user runs at all; () for 1 of everybody.
    spreads : users whose tasks are spread over zones, each once.
    """

    users: tuple[str, ...]
    classes: tuple[NodeClass, ...]
    due: tuple[Fraction, ...]
    asked: tuple[int, ...]
    gang: tuple[int, ...]
    parts: bool = True
    at_least: tuple[int, ...] = ()
    spreads: tuple[Spread, ...] = ()
    whole: tuple[int, ...] = field(init=False)
    """whole part w of what is due, in whole gangs"""
    full: tuple[int, ...] = field(init=False)
    """tasks at which a user has all that is due, in whole gangs"""

    def __post_init__(self) -> None:
        refuse(self.users, self.due, self.asked, self.gang)
        if wrong := zones.faults(self.spreads, self.users, len(self.classes)):
            raise BadInput(wrong)
        fewest = self.at_least or (1,) * len(self.users)
        # in whole gangs as well
        fewest = tuple(-k * (-s // k) for s, k in zip(fewest, self.gang, strict=True))
        object.__setattr__(self, "at_least", fewest)
        w = tuple(self.down(n, int(d)) for n, d in enumerate(self.due))
        full = tuple(
            max(-k * (-d // k), s if d else 0)
            for d, k, s in zip(self.due, self.gang, fewest, strict=True)
        )
        object.__setattr__(self, "whole", tuple(map(int, w if self.parts else [0] * len(w))))
        object.__setattr__(self, "full", tuple(map(int, full)))
        most = tuple(self.down(n, a) for n, a in enumerate(self.asked))
        object.__setattr__(self, "asked", most)

    @cached_property
    def places(self) -> zones.Places:
        """For each class the zones of users that are spread."""
        return zones.places(self.spreads, len(self.classes))

    @cached_property
    def spread_of(self) -> dict[int, Spread]:
        """Of users that are spread, how."""
        return {own.user: own for own in self.spreads}

    def down(self, n: int, tasks: int) -> int:
        """The most of so many tasks with which user n may run: whole gangs, at least its fewest."""
        whole = tasks - tasks % self.gang[n]
        return whole if whole >= self.at_least[n] else 0

    def step(self, n: int, tasks: int) -> int:
        """The fewest further tasks of user n, which has so many."""
        return self.gang[n] if tasks else self.at_least[n]

    def totals(self, nodes: Iterable[tuple[int, int, Tasks]]) -> list[int]:
        """(N,) tasks of each user on nodes (class, count, tasks by kind)."""
        found = [0] * len(self.users)
        for j, count, tasks in nodes:
            for kind, m in zip(self.classes[j].kinds, tasks, strict=True):
                found[kind.user] += count * m
        return found


def refuse(
    users: Sequence[str], due: Sequence[Fraction], asked: Sequence[int], gang: Sequence[int]
) -> None:
    """Refuse dues, numbers asked and gangs that are none, all at once and by name.

    Raises
    ------
    BadInput : a due below 0, a number asked below 0, a gang that is no whole number above 0.
    """
    faults = [
        Fault(f"users.{name}.{key}", str(x), wanted)
        for n, name in enumerate(users)
        for key, x, good, wanted in (
            ("due", due[n], due[n] >= 0, "a number >= 0"),
            ("asked", asked[n], asked[n] >= 0, "a whole number >= 0"),
            ("gang", gang[n], gang[n] >= 1, "a whole number >= 1"),
        )
        if not good
    ]
    if faults:
        raise BadInput(faults)


@dataclass(frozen=True)
class NodeRow:
    """Nodes as they are given: exact amounts by resource.

    Parameters
    ----------
    name, count : of the nodes. capacity : {resource: amount} of one.
    kinds : (user, mode, {resource: amount} of a task, most on a node or None).
    """

    name: str
    count: int
    capacity: Mapping[str, Fraction]
    kinds: tuple[tuple[int, str, Mapping[str, Fraction], int | None], ...]


def problem(
    users: Sequence[str],
    rows: Sequence[NodeRow],
    due: Sequence[Fraction],
    asked: Sequence[int | None],
    gang: Sequence[int],
    parts: bool = True,
    cards: Sequence[str] = (),
    at_least: Sequence[int] = (),
    spreads: Sequence[Spread] = (),
) -> Problem:
    """The problem in integers: each resource in a unit that makes all its amounts whole.

    What does not fit on an empty node, or has no zone there and needs one, is left out; with `None`
    asked, as many as all nodes hold.
    Resources on `cards` come in cards of 1, with what bounds their parts as further resources.

    Raises
    ------
    BadInput : see `refuse`; a node with part of a card, a task with more than one and part of one.
    """
    keys = sorted({key for row in rows for key in row.capacity})
    keys += sorted({key for row in rows for k in row.kinds for key in k[2]} - set(keys))
    amounts = [row.capacity for row in rows] + [k[2] for row in rows for k in row.kinds]
    own = {id(given): given for given in amounts}
    _refuse_cards(users, rows, cards)
    cards = [key for key in keys if key in cards]
    scale = {}
    for key in keys:
        some = [given[key] for given in own.values() if given.get(key)]
        some += [Fraction(1)] * (key in cards)
        unit = lcm(*(x.denominator for x in some)) if some else 1
        scale[key] = Fraction(unit, gcd(*(int(x * unit) for x in some)) if some else 1)
    size = {key: int(scale[key]) for key in cards}
    small_of = {key: _parts(rows, asked, key, scale[key]) for key in cards}
    known = {
        name: (
            *(int(given.get(key, 0) * scale[key]) for key in keys),
            *(
                x
                for key in cards
                for x in bounds(int(given.get(key, 0) * scale[key]), size[key], small_of[key])
            ),
        )
        for name, given in own.items()
    }
    at = {key: keys.index(key) for key in cards}
    classes = []
    nowhere = {(own.user, j) for own in spreads for j, z in enumerate(own.zone) if z < 0}
    for j, row in enumerate(rows):
        room = known[id(row.capacity)]
        kinds = []
        for user, mode, need, cap in row.kinds:
            own_need = known[id(need)]
            fit = min((c // x for c, x in zip(room, own_need, strict=True) if x), default=0)
            if asked[user] is not None:
                fit = min(fit, int(asked[user] or 0))
            fit = fit if cap is None else min(fit, cap)
            if fit > 0 and (user, j) not in nowhere:
                kinds.append(Kind(user, own_need, fit, mode))
        here = tuple(Cards(r, size[key], room[r] // size[key]) for key, r in at.items())
        classes.append(NodeClass(row.name, room, row.count, tuple(kinds), here))
    most = [0] * len(users)
    for own_class in classes:
        for kind in own_class.kinds:
            most[kind.user] += own_class.count * kind.most
    return Problem(
        tuple(users),
        tuple(classes),
        tuple(due),
        tuple(
            most[n] if a is None else min(a, most[n]) if a >= 0 else a for n, a in enumerate(asked)
        ),
        tuple(gang),
        parts,
        tuple(at_least),
        tuple(spreads),
    )


def _parts(
    rows: Sequence[NodeRow], asked: Sequence[int | None], key: str, scale: Fraction
) -> tuple[int, ...]:
    """Sizes of parts of a card that bound best what all cards hold of what is asked."""
    takes = {user: int(need.get(key, 0) * scale) for row in rows for user, _, need, _ in row.kinds}
    return small(int(scale), ((x, asked[n] or 1) for n, x in sorted(takes.items())))


def _refuse_cards(users: Sequence[str], rows: Sequence[NodeRow], cards: Sequence[str]) -> None:
    """Refuse amounts that are no cards and no part of one, by name."""
    wanted = f"at most {MOST_CARDS} whole cards"
    faults = {
        f"{row.name}.capacity.{key}": (str(x), wanted)
        for row in rows
        for key in cards
        if (x := row.capacity.get(key, Fraction(0))).denominator > 1 or x > MOST_CARDS
    }
    faults |= {
        f"users.{users[user]}.demand.{key}": (str(x), "part of one card, or whole cards")
        for row in rows
        for user, _, need, _ in row.kinds
        for key in cards
        if (x := need.get(key, Fraction(0))) > 1 and x.denominator > 1
    }
    if faults:
        raise BadInput([Fault(place, *words) for place, words in faults.items()])
