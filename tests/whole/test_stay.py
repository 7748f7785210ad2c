"""What stays where it runs, beside looking at every placement; and spoiled bounds."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from fairopt.whole.proof import staying
from fairopt.whole.proof.placement import Placement
from fairopt.whole.proof.problem import NodeRow, problem
from fairopt.whole.stay import keep


def drawn(seed):
    """A problem of a few single nodes, what runs on each, and floors that some placement keeps."""
    rng = random.Random(seed)
    users, resources = rng.randint(1, 3), ["a", "b"][: rng.randint(1, 2)]
    need = [{key: Fraction(rng.randint(1, 4)) for key in resources} for _ in range(users)]
    rows = []
    for i in range(rng.randint(1, 2)):
        room = {key: Fraction(rng.randint(3, 8)) for key in resources}
        some = [n for n in range(users) if rng.random() < 0.8]
        rows.append(
            NodeRow(f"s{i}", rng.randint(1, 2), room, tuple((n, "", need[n], None) for n in some))
        )
    own = problem(
        [f"u{n}" for n in range(users)], rows, [Fraction(0)] * users, [None] * users, [1] * users
    )
    held = [
        [
            {k.user: m for k, m in zip(c.kinds, rng.choice(patterns(c)), strict=True) if m}
            for _ in range(c.count)
        ]
        for c in own.classes
    ]
    other = [rng.choice(patterns(c)) for c in own.classes for _ in range(c.count)]
    flat = [c for c in own.classes for _ in range(c.count)]
    floor = [0] * users
    plain: list[list[dict[int, int]]] = [[] for _ in own.classes]
    for c, tasks in zip(flat, other, strict=True):
        plain[own.classes.index(c)].append(c.by_user(tasks))
        for kind, m in zip(c.kinds, tasks, strict=True):
            floor[kind.user] += m
    cost = [rng.randint(1, 3) for _ in range(users)]
    return own, held, floor, cost, plain


def patterns(own):
    """All that a node holds."""
    ranges = (range(kind.most + 1) for kind in own.kinds)
    return [tasks for tasks in itertools.product(*ranges) if own.fits(tasks)]


def most_kept(own, held, floor, cost):
    """The most that can be kept, by looking at everything node by node."""
    best = {(0,) * len(floor): 0}
    for c, nodes in zip(own.classes, held, strict=True):
        for runs in nodes:
            after = {}
            for total, kept in best.items():
                for tasks in patterns(c):
                    here = c.by_user(tasks)
                    now = tuple(
                        min(f, t + here.get(n, 0))
                        for n, (t, f) in enumerate(zip(total, floor, strict=True))
                    )
                    more = sum(cost[n] * min(m, runs.get(n, 0)) for n, m in here.items())
                    after[now] = max(after.get(now, -1), kept + more)
            best = after
    return best[tuple(floor)]


@pytest.mark.parametrize("block", range(4))
def test_what_stays_is_the_most_that_can(block):
    proved = 0
    for seed in range(15 * block, 15 * block + 15):
        own, held, floor, cost, plain = drawn(seed)
        question = staying.staying(own, held, floor, cost)
        begin = [[plain[j][i] for j, i in which] for which in question.members]
        nodes, prices = keep(question, begin)
        found = staying.judge(question, nodes, prices)
        best = most_kept(own, held, floor, cost)
        assert not found.wrong
        assert found.kept == best, seed
        assert found.most >= best, seed
        proved += found.proved
    assert proved >= 13


def test_nobody_gets_more_than_it_asks_while_what_runs_is_kept():
    """Patterns of the program hold more than somebody asks: they are cut before they are taken."""
    for seed in range(120):
        own, held, floor, cost, plain = drawn(seed)
        own = replace(own, asked=tuple(floor))
        question = staying.staying(own, held, floor, cost)
        nodes, prices = keep(question, [[plain[j][i] for j, i in m] for m in question.members])
        assert question.problem.totals(nodes) == list(floor), seed
        assert not staying.judge(question, nodes, prices).wrong


def test_of_tasks_with_costs_of_their_own_the_dearest_stay():
    """Beside a count of every choice of what each node keeps, task by task."""
    rng = random.Random(5)
    proved = 0
    for seed in range(40):
        own, held, floor, cost, plain = drawn(seed)
        dear = [
            [
                {n: [rng.randint(0, 6) for _ in range(k)] for n, k in runs.items() if seed % 3}
                for runs in nodes
            ]
            for nodes in held
        ]
        question = staying.staying(own, held, floor, cost, dear)
        begin = [[plain[j][i] for j, i in which] for which in question.members]
        nodes, prices = keep(question, begin)
        found = staying.judge(question, nodes, prices)
        best = {(0,) * len(floor): 0}
        for c, there, single in zip(own.classes, held, dear, strict=True):
            for runs, costs in zip(there, single, strict=True):
                after = {}
                for total, kept in best.items():
                    for tasks in patterns(c):
                        here = c.by_user(tasks)
                        now = tuple(
                            min(f, t + here.get(n, 0))
                            for n, (t, f) in enumerate(zip(total, floor, strict=True))
                        )
                        more = 0
                        for n, k in runs.items():
                            each = costs.get(n, [cost[n]] * k)
                            more += max(
                                sum(some)
                                for some in itertools.combinations(each, min(k, here.get(n, 0)))
                            )
                        after[now] = max(after.get(now, -1), kept + more)
                best = after
        assert not found.wrong
        assert found.kept == best[tuple(floor)], seed
        assert found.most >= found.kept
        proved += found.proved
    assert proved >= 36


def test_spoiled_bounds_are_not_believed():
    rng = random.Random(3)
    for seed in range(60):
        own, held, floor, cost, plain = drawn(seed)
        question = staying.staying(own, held, floor, cost)
        begin = [[plain[j][i] for j, i in which] for which in question.members]
        nodes, prices = keep(question, begin)
        sigma = list(prices.sigma)
        j = rng.randrange(len(sigma))
        sigma[j] = max(0, sigma[j] - rng.choice([1, 1, 500, 1000]))
        price = [max(0, p + rng.choice([-1000, 0, 0, 1, 1000])) for p in prices.price]
        for change in (
            {"sigma": tuple(sigma)},
            {"price": tuple(price)},
            {"unit": prices.unit * 2},
            {"unit": 0},
        ):
            spoiled = replace(prices, **change)
            found = staying.judge(question, nodes, spoiled)
            assert found.wrong or found.most >= most_kept(own, held, floor, cost)


def test_too_few_of_somebody_is_said():
    own, held, floor, cost, plain = drawn(1)
    question = staying.staying(own, held, [f + 1 for f in floor], cost)
    easy = staying.staying(own, held, floor, cost)
    begin = [[plain[j][i] for j, i in which] for which in question.members]
    nodes, prices = keep(easy, begin)
    assert any("has" in words for words in staying.judge(question, nodes, prices).wrong) or all(
        m > f for m, f in zip(question.problem.totals(nodes), floor, strict=True)
    )


def test_a_task_worth_more_moves_than_ten_is_proved():
    """A task that runs on one node alone, where 24 run that must go: none of them can stay."""
    takes = {"a": Fraction(1)}
    whole = {"a": Fraction(24)}
    rows = [
        NodeRow("here", 1, whole, ((0, "", takes, None), (1, "", whole, None))),
        NodeRow("there", 1, whole, ((0, "", takes, None),)),
    ]
    own = problem(["small", "large"], rows, [Fraction(0)] * 2, [24, 1], [1, 1])
    question = staying.staying(own, [[{0: 24}], [{}]], [24, 1], [1, 1])
    nodes, prices = keep(question, [[{1: 1}], [{0: 24}]])
    found = staying.judge(question, nodes, prices)
    assert (found.kept, found.most, found.held) == (0, 0, 24)
    assert found.proved


def test_tasks_that_stay_are_the_last_to_be_taken_away():
    rows = [NodeRow("node", 2, {"a": Fraction(6)}, ((0, "", {"a": Fraction(1)}, None),))]
    own = problem(["u"], rows, [Fraction(0)], [7], [1])
    question = staying.staying(own, [[{0: 4}, {}]], [7], [1])
    stays = next(
        (j, tuple(4 if kind.bonus else 2 for kind in c.kinds))
        for j, c in enumerate(question.problem.classes)
        if any(kind.bonus for kind in c.kinds)
    )
    placed = Placement(question.problem, [(stays[0], 1, stays[1]), (1 - stays[0], 1, (6,))])
    placed.trim([5])
    assert question.kept(placed.nodes()) == 4
