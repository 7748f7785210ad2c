"""Small problems of whole tasks, and the fairest answer of each by looking at every placement.

Nothing here knows of prices, patterns or a solver: all totals that the nodes can hold are made by
adding up what each node can hold, and compared by the definition.
"""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fairopt.errors import BadInput
from fairopt.whole.proof.answer import EXACT, Asked, WholeTasks
from fairopt.whole.proof.judging import PROVED, Verdict, judge
from fairopt.whole.proof.problem import NodeRow
from fairopt.whole.proof.reading import loads
from fairopt.whole.proof.zones import Spread

Key = tuple[list[Fraction], list[Fraction]]


def drawn(seed: int, users: int = 5, nodes: int = 3, few: bool = False) -> Asked:
    """A random problem: placement, gangs, modes, caps on a node, dues in fractions.

    With `few` some users run with a few tasks or not at all.
    """
    rng = random.Random(seed)
    resources = [f"r{k}" for k in range(rng.randint(1, 3))]
    size = rng.randint(1, users)
    needs = []
    for _ in range(size):
        ways = [
            {key: Fraction(rng.randint(0, 5)) for key in resources}
            for _ in range(rng.choice([1, 1, 1, 2]))
        ]
        for way in ways:
            if not any(way.values()):
                way[resources[0]] = Fraction(1)
        needs.append(ways)
    rows = []
    for i in range(rng.randint(1, nodes)):
        room = {key: Fraction(rng.randint(2, 10)) for key in resources}
        kinds = tuple(
            (n, f"mode{k}", way, rng.choice([None, None, None, 1, 2]))
            for n in range(size)
            for k, way in enumerate(needs[n])
            if rng.random() < 0.8
        )
        rows.append(NodeRow(f"s{i}", rng.randint(1, 3), room, kinds))
    gang = tuple(rng.choice([1, 1, 1, 2, 3]) for _ in range(size))
    asked = tuple(rng.randint(0, 9) for _ in range(size))
    others = random.Random(seed)
    fewest = tuple(others.choice([1, 1, 2, 4]) for _ in range(size)) if few else ()
    due = []
    for a in asked:
        d = Fraction(rng.randint(0, 4 * max(a, 1)), rng.choice([1, 2, 3, 4]))
        due.append(min(d, Fraction(a)) if rng.random() < 0.9 else d)
    return Asked(
        tuple(f"u{n}" for n in range(size)),
        tuple(rows),
        tuple(due),
        asked,
        gang,
        (EXACT,) * size,
        tuple({row.name: row.count} for row in rows),
        at_least=fewest,
    )


def on_cards(seed: int) -> Asked:
    """A random problem whose tasks take parts of single cards, or whole cards, beside a CPU."""
    rng = random.Random(seed)
    size = rng.randint(1, 4)
    part = rng.choice([Fraction(1, 10), Fraction(1, 12), Fraction(1, 100)])
    needs = []
    for _ in range(size):
        card = rng.choice([part * rng.randint(1, int(1 / part)), Fraction(rng.randint(0, 2))])
        needs.append({"card": card, "cpu": Fraction(rng.randint(0 if card else 1, 3))})
    rows = []
    for i in range(rng.randint(1, 2)):
        room = {"card": Fraction(rng.randint(1, 3)), "cpu": Fraction(rng.randint(4, 9))}
        kinds = tuple(
            (n, "", needs[n], rng.choice([None, None, 3]))
            for n in range(size)
            if rng.random() < 0.9
        )
        rows.append(NodeRow(f"s{i}", rng.randint(1, 2), room, kinds))
    asked = tuple(rng.randint(1, 7) for _ in range(size))
    return Asked(
        tuple(f"u{n}" for n in range(size)),
        tuple(rows),
        tuple(Fraction(rng.randint(1, 2 * a), 2) for a in asked),
        asked,
        tuple(rng.choice([1, 1, 1, 2]) for _ in range(size)),
        (EXACT,) * size,
        tuple({row.name: row.count} for row in rows),
        cards=("card",),
    )


def split_by_none(given: list[Fraction], cards: int) -> bool:
    """Whether tasks of these parts of a card lie on so many, by trying every card for each."""

    def go(left: list[Fraction], rooms: tuple[Fraction, ...]) -> bool:
        if not left:
            return True
        return any(
            go(left[1:], tuple(sorted((*rooms[:k], room - left[0], *rooms[k + 1 :]))))
            for k, room in enumerate(rooms)
            if room >= left[0] and room not in rooms[:k]
        )

    ones = [Fraction(1) for x in given for _ in range(int(x)) if x >= 1]
    parts = sorted((x for x in given if 0 < x < 1), reverse=True)
    return go([*ones, *parts], (Fraction(1),) * cards)


def _lies(asked: Asked, j: int, tasks: tuple[int, ...]) -> bool:
    """Whether tasks by kind of a class lie on its cards; amounts as given, not in integers."""
    row, own = asked.rows[j], asked.problem.classes[j]
    need = {(user, mode): amounts for user, mode, amounts, _ in row.kinds}
    return all(
        split_by_none(
            [
                need[kind.user, kind.mode].get(key, Fraction(0))
                for kind, m in zip(own.kinds, tasks, strict=True)
                for _ in range(m)
            ],
            int(row.capacity.get(key, 0)),
        )
        for key in asked.cards
    )


def totals(question: Asked) -> set[tuple[int, ...]]:
    """All totals that nodes can hold to which nothing can be added, in whole gangs."""
    problem = question.problem
    asked = [max(a, 0) for a in problem.asked]
    spread = {own.user: own for own in question.spreads}
    # what is counted: the tasks of a user, of one that is spread those of each zone
    counted = [
        (n, z)
        for n in range(len(asked))
        for z in (range(len(spread[n].zones)) if n in spread else [0])
    ]
    place = {own: k for k, own in enumerate(counted)}
    reached = {(0,) * len(counted)}
    plain = len({key for row in question.rows for key in row.capacity})  # no bounds on parts
    for j, own in enumerate(problem.classes):
        node = set()
        for tasks in itertools.product(*(range(kind.most + 1) for kind in own.kinds)):
            if all(
                sum(m * kind.need[r] for m, kind in zip(tasks, own.kinds, strict=True)) <= c
                for r, c in list(enumerate(own.room))[:plain]
            ) and _lies(question, j, tasks):
                one = [0] * len(counted)
                for kind, m in zip(own.kinds, tasks, strict=True):
                    z = spread[kind.user].zone[j] if kind.user in spread else 0
                    one[place[kind.user, z]] += m
                node.add(tuple(one))
        node = _front(node)
        for _ in range(own.count):
            reached = _front(
                {
                    tuple(min(x + y, asked[n]) for x, y, (n, _) in zip(s, t, counted, strict=True))
                    for s in reached
                    for t in node
                }
            )
    fewest = question.at_least or (1,) * len(asked)
    reached = {
        tuple(
            _even([x for x, (k, _) in zip(one, counted, strict=True) if k == n], spread.get(n), a)
            for n, a in enumerate(asked)
        )
        for one in reached
    }
    return {
        tuple(
            m - m % k if m - m % k >= f else 0
            for m, k, f in zip(s, problem.gang, fewest, strict=True)
        )
        for s in reached
    }


def _even(zones: list[int], spread: Any, asked: int) -> int:
    """The most tasks of a user that zones hold so many of, no zone with too many beside another."""
    if spread is None:
        return sum(zones)
    return min(asked, sum(min(m, min(zones) + spread.skew) for m in zones))


def zoned(seed: int) -> Asked:
    """A random problem of which some users are spread over zones, one of them perhaps empty."""
    asked = drawn(seed, users=4)
    rng = random.Random(seed)
    rows = tuple(replace(row, count=min(row.count, 2)) for row in asked.rows)
    names = tuple("abc"[: rng.choice([1, 2, 2, 3])])
    zone = tuple(rng.choice([-1, *range(len(names)), *range(len(names))]) for _ in rows)
    spreads = tuple(
        Spread(n, names, zone, rng.choice([1, 1, 2, 3]))
        for n in range(len(asked.users))
        if rng.random() < 0.6
    )
    return replace(
        asked, rows=rows, spreads=spreads, servers=tuple({r.name: r.count} for r in rows)
    )


def _front(given: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    kept: list[tuple[int, ...]] = []
    for one in sorted(given, key=sum, reverse=True):
        if not any(all(x >= y for x, y in zip(other, one, strict=True)) for other in kept):
            kept.append(one)
    return set(kept)


def wholes(asked: Asked) -> list[int]:
    """The whole part of what each user is due: whole gangs, none where it runs with more."""
    found = [k * int(d / k) for d, k in zip(asked.due, asked.gang, strict=True)]
    return [w if w >= f else 0 for w, f in zip(found, asked.at_least or found, strict=True)]


def key(asked: Asked, tasks: tuple[int, ...]) -> Key:
    """What answers are compared by: sorted parts of whole gangs due, then of all that is due."""
    parts, dues = [], []
    whole_parts = wholes(asked)
    for m, d, whole in zip(tasks, asked.due, whole_parts, strict=True):
        parts.append(min(Fraction(1), Fraction(m, whole)) if whole else Fraction(1))
        dues.append(min(Fraction(1), m / d) if d else Fraction(1))
    return sorted(parts), sorted(dues)


def fairest(asked: Asked) -> tuple[Key, int]:
    """The best key of all placements, and the fewest tasks short of whole parts."""
    every = totals(asked)
    whole = wholes(asked)
    short = min(sum(max(w - m, 0) for w, m in zip(whole, one, strict=True)) for one in every)
    return max(key(asked, one) for one in every), short


def of(answer: WholeTasks) -> Key:
    """The key of an answer."""
    return key(answer.asked, answer.totals)


def judged(data: Any) -> tuple[Verdict, WholeTasks] | tuple[None, None]:
    """The verdict of plain data, or None where it is refused as no answer."""
    try:
        answer = loads(json.dumps(data), "here")
    except BadInput:
        return None, None
    return judge(answer), answer


def honest(data: Any) -> bool:
    """Whether whatever the judge says of this is true, by looking at every placement."""
    verdict, answer = judged(data)
    if verdict is None or answer is None or not verdict.sound:
        return True
    for _, _, tasks in answer.nodes:
        assert all(m >= 0 for m in tasks)
    best, short = fairest(answer.asked)
    if not (of(answer) <= best and verdict.least <= short <= verdict.short):
        return False
    if verdict.state == PROVED and of(answer) != best:
        return False
    # a level that is said to be proved is so where all before it are
    for level, holds in verdict.levels:
        if not holds:
            break
        at = best[0 if level.measure == "parts" else 1]
        if sum(x <= level.value for x in at) < level.below + len(level.users):
            return False
    return True


def _some_prices(data: Any, rng: random.Random) -> Any:
    rows = data["certificate"]["prices"]
    return rng.choice(rows) if rows else None


def spoil(data: Any, rng: random.Random) -> str:
    """One change at a random place; what kind of change it was to be."""
    kinds = ["sigma", "sigma", "price", "hint", "moved", "count", "node", "gang", "level", "drop"]
    if "looked" in data["certificate"]:
        kinds += ["least", "least"]
    if any("spread" in user for user in data["users"].values()):
        kinds += ["zones", "zones", "zones", "spread"]
    kind = rng.choice(kinds)
    row = _some_prices(data, rng)
    own = rng.choice(data["classes"])
    if kind == "sigma" and row:
        j = rng.randrange(len(row["sigma"]))
        row["sigma"][j] = max(0, row["sigma"][j] - rng.choice([1, 1, 7, row["sigma"][j] // 2 + 1]))
    elif kind == "price" and row:
        n = rng.randrange(len(row["price"]))
        row["price"][n] = rng.choice([-1, 0, row["price"][n] * 2, row["price"][n] + 1, 10**99])
    elif kind == "hint" and row:
        row["hint"] = [[rng.randint(0, 9) for _ in h] for h in row["hint"]]
    elif kind == "moved":
        rng.shuffle(data["certificate"]["levels"])
    elif kind == "count" and own["nodes"]:
        rng.choice(own["nodes"])["count"] += rng.choice([-1, 1])
    elif kind == "node" and own["nodes"]:
        tasks = rng.choice(own["nodes"])["tasks"]
        if tasks:
            rng.choice(tasks)[2] += rng.choice([-1, 1, 1])
    elif kind == "gang":
        user = rng.choice(list(data["users"].values()))
        user["gang"] = rng.randint(0, 4)
    elif kind == "level":
        size = len(data["certificate"]["prices"])
        data["certificate"]["levels"] = [
            rng.sample(range(size), rng.randint(0, min(size, 3)))
            for _ in data["certificate"]["levels"]
        ]
    elif kind == "zones" and row and row.get("zones"):
        one = rng.choice(row["zones"])
        k = rng.randrange(len(one))
        x = rng.choice([1, -1, 7, one[k], -(10**9)])
        one[k] += x
        if len(one) > 1 and rng.random() < 0.6:  # differences that still add up to 0
            one[k - 1] -= x
    elif kind == "spread":
        some = [user["spread"] for user in data["users"].values() if "spread" in user]
        if some:
            one = rng.choice(some)
            one["skew"] = max(0, one["skew"] + rng.choice([-1, 1]))
            if rng.random() < 0.5:
                names = list(one["zones"])
                one["zones"] = dict(
                    zip(names, rng.sample(list(one["zones"].values()), len(names)), strict=True)
                )
    elif kind == "least":
        size = len(data["certificate"]["prices"])
        data["certificate"]["least"] += rng.choice([-1, 1, 1, 2])
        if size and rng.random() < 0.5:
            data["certificate"]["looked"] = rng.sample(range(size), rng.randint(0, min(size, 3)))
    elif kind == "drop" and data["certificate"]["prices"]:
        data["certificate"]["prices"].pop()
    return kind
