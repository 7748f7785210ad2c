"""Alpha-fairness with several priority classes: numbers by hand in fractions, spoiled answers,
and errors of a class that reach those after it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import classes
from fairopt.certificates.given import given
from tests.quota_draws import drawn

INF = float("inf")
ALPHAS = (0.5, 1.0, 2.0, 5.0)


def gpus(amount, users, priority, **more):
    """Users of one GPU a task on one server."""
    own = {key: more.pop(key) for key in ("limit", "weight") if key in more}
    return fo.Instance(
        [[1]] * len(users),
        [[amount]],
        users=list(users),
        resources=["gpu"],
        quotas=fo.Quotas(priority=priority, **more),
        **own,
    )


P1 = fo.Instance(
    [[1]] * 3,
    [[4], [4]],
    [[1, 1], [1, 0], [0, 1]],
    limit=[4, INF, INF],
    users=["A", "B", "C"],
    quotas=fo.Quotas(priority={"A": 1}),
)
FIRST = gpus(12, "ABC", {"A": 1}, limit=[3, INF, INF], weight=[1, 4, 1])
PROMISED = gpus(
    12,
    "ABCD",
    {"A": 2, "B": 1, "C": 1},
    limit=[3, INF, INF, INF],
    weight=[1, 4, 1, 1],
    guarantees=[fo.Guarantee("D", "gpu", 2)],
)
THREE = gpus(12, "ABCD", {"A": 3, "B": 2, "C": 1}, limit=[3, 4, 2, INF])
LENT = gpus(
    12,
    "ABC",
    {"A": 1},
    limit=[3, INF, INF],
    quotas=[fo.Quota("A", "gpu", 4, 0, 0), fo.Quota("B", "gpu", 4), fo.Quota("C", "gpu", 4)],
)
KNOWN = [
    (P1, 1, ("4", "2", "2")),
    (P1, 5, ("4", "2", "2")),
    # B and C have 9, as 4 : 1, and as 2 : 1 at alpha 2
    (FIRST, 1, ("3", "36/5", "9/5")),
    (FIRST, 2, ("3", "6", "3")),
    # D is guaranteed 2 and gets no more, since those before it take all else
    (PROMISED, 1, ("3", "28/5", "7/5", "2")),
    (PROMISED, 2, ("3", "14/3", "7/3", "2")),
    (THREE, 2, ("3", "4", "2", "3")),
    # what A may not lend stays idle
    (LENT, 2, ("3", "4", "4")),
]


@pytest.mark.parametrize(("inst", "alpha", "expected"), KNOWN)
def test_numbers_by_hand(inst: fo.Instance, alpha: float, expected: tuple[str, ...]) -> None:
    answer = fo.solve(inst, fo.AlphaFair(alpha))
    assert answer.certificate.certified
    assert np.allclose(answer.totals, [float(F(x)) for x in expected], rtol=1e-9)


def test_a_class_that_leaves_nothing():
    """A takes all; that B and C are due nothing is proved by A's prices."""
    inst = gpus(12, "ABC", {"A": 1})
    answer = fo.solve(inst, fo.ProportionalFair())
    assert answer.certificate.certified
    assert answer.totals.tolist() == pytest.approx([12, 0, 0])
    gone = fo.Allocation(inst, fo.ProportionalFair(), [[6], [3], [3]], rounds=answer.rounds)
    assert fo.certify(gone).verdict == "refuted"


def test_above_divides_what_is_beyond_the_guarantees_class_by_class():
    inst = gpus(
        12,
        "ABC",
        {"A": 1},
        limit=[5, INF, INF],
        guarantees=[fo.Guarantee("A", "gpu", 1), fo.Guarantee("B", "gpu", 3)],
    )
    answer = fo.solve(inst, fo.AlphaFair(2, over="above"))
    # A at its limit; 7 - 3 beyond B's guarantee, 2 each
    assert answer.certificate.certified
    assert np.allclose(answer.totals, [5, 5, 2], rtol=1e-9)


def test_without_a_guarantee_under_proportion_comes_last():
    inst = gpus(
        12, "ABC", {}, guarantees=[fo.Guarantee(u, "gpu", k) for u, k in (("A", 2), ("B", 1))]
    )
    answer = fo.solve(inst, fo.AlphaFair(1, over="proportion"))
    assert answer.certificate.certified
    assert np.allclose(answer.totals, [8, 4, 0], atol=1e-9)


def test_refusals_by_name():
    with pytest.raises(fo.UsageError, match="alpha 0 with several priority classes"):
        fo.solve(P1, fo.AlphaFair(0))
    asks = P1.replace(rules=[fo.Rule("m", least=1, terms=[fo.Term("C")])])
    with pytest.raises(fo.UsageError, match="beside rules that ask for tasks"):
        fo.solve(asks, fo.ProportionalFair())
    held = fo.Allocation(P1, fo.AlphaFair(0), [[2, 2], [2, 0], [0, 2]])
    assert fo.certify(held).verdict == "unproved"


@pytest.mark.parametrize("alpha", [1, 2])
def test_errors_of_a_class_reach_those_after_it(alpha: float) -> None:
    """Where A takes 10^6 GB a task, the part of A's share that is missing is 10^6 times of B's."""
    inst = fo.Instance(
        [[1, 1e6], [0, 1]], [[1, 1e6 + 1]], users=["A", "B"], quotas=fo.Quotas(priority={"A": 1})
    )
    answer = fo.solve(inst, fo.AlphaFair(alpha))
    assert answer.certificate.certified
    for short, verdict in ((5e-7, "refuted"), (5e-12, "refuted"), (1e-14, "certified")):
        tasks = [[1 - short], [1 + 1e6 * short]]
        spoiled = fo.Allocation(inst, fo.AlphaFair(alpha), tasks, rounds=answer.rounds)
        found = fo.certify(spoiled)
        assert found.verdict == verdict
        assert found.residual >= np.log1p(1e6 * short) * (1 - 1e-3)


def ranked(seed: int, what: str) -> fo.Instance:
    """A random cluster with users of up to three classes."""
    inst, rng = drawn(seed, what), np.random.default_rng(seed + 1000)
    rank = {user: int(rng.integers(0, 3)) for user in inst.users}
    quotas = replace(inst.quotas or fo.Quotas(), priority=rank)
    return inst.replace(quotas=quotas)


@pytest.mark.parametrize("seed", range(20))
def test_random_classes_are_certified_and_spoiled_ones_are_not(seed: int) -> None:
    inst, rng = ranked(seed, "tree limit bound"), np.random.default_rng(seed)
    notion = fo.AlphaFair(float(rng.choice(ALPHAS)))
    answer = fo.solve(inst, notion)
    again = fo.certify(answer.with_(certificate=None))
    assert answer.certificate.certified and again.certified
    if answer.rounds is None:
        return
    for size in (1e-3, 1e-5):
        some = np.flatnonzero(answer.shares > 0)
        tasks = answer.tasks.copy()
        tasks[rng.choice(some)] *= 1 - size
        spoiled = fo.Allocation(inst, notion, tasks, score=answer.score, rounds=answer.rounds)
        assert not fo.certify(spoiled).certified


@pytest.mark.parametrize("seed", range(8))
def test_one_class_after_another_by_a_general_solver(seed: int) -> None:
    """The same, as Clarabel states and solves each class beside the shares of those before."""
    cp = pytest.importorskip("cvxpy")
    inst = ranked(seed, "limit")
    answer = fo.solve(inst, fo.ProportionalFair())
    held = np.zeros(len(inst.users))
    for rank in np.unique(inst.tree.rank):
        mine = np.flatnonzero(inst.tree.rank == rank)
        x = cp.Variable(inst.shape[:2], nonneg=True)
        total = cp.sum(x, axis=1)
        rules = [cp.multiply(x, ~inst.eligible) == 0, total >= held * (1 - 1e-9)]
        rules += [
            x[:, i] @ inst.demand[:, r] <= inst.pool[i, r]
            for i in range(len(inst.servers))
            for r in range(len(inst.resources))
        ]
        capped = np.flatnonzero(np.isfinite(inst.limit))
        if len(capped):
            rules.append(total[capped] <= inst.limit[capped])
        some = [
            n
            for n in mine.tolist()
            if cp.Problem(cp.Maximize(total[n]), rules).solve("CLARABEL") > 1e-6
        ]
        if some:
            gain = cp.sum(cp.multiply(inst.weight[some], cp.log(total[some])))
            cp.Problem(cp.Maximize(gain), rules).solve("CLARABEL")
            held[some] = total.value[some]
    assert np.allclose(answer.totals, held, atol=1e-4 * max(held.max(), 1.0))


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_no_column_is_too_dear_by_rounding_for_who_holds_most_of_its_share_there(
    alpha: float, seed: int
) -> None:
    """Two users before twelve others on six servers, at the same cost on several of them: sums of
    prices are rounded, and what was dearer by that alone was shut to classes after."""
    rng = np.random.default_rng(seed)
    inst = fo.Instance(
        rng.uniform(0.05, 1, (14, 3)),
        rng.uniform(1, 9, (6, 3)),
        rng.random((14, 6)) < 0.7,
        quotas=fo.Quotas(priority={"u1": 1, "u2": 1}),
    )
    answer = fo.solve(inst, fo.AlphaFair(alpha))
    assert answer.certificate.certified
    walk = classes._Walk(answer, None, True)
    with np.errstate(all="ignore"):
        walk.classes()
    owner = walk.question.columns.owner(np.arange(walk.question.columns.count))
    held = given(answer, walk.question)
    part = held.x / held.share[owner[held.held]]
    assert part[walk.shut[held.held]].max(initial=0.0) < 1e-6


@pytest.mark.parametrize("lend", [0.0, 1.0, 3.0, 7.0, INF])
@pytest.mark.parametrize("borrow", [0.0, 2.0, INF])
def test_what_may_be_lent_stops_the_first_class(lend: float, borrow: float) -> None:
    """C has its 7 and what a team lends of its 14; the team divides what is left of 21."""
    inst = fo.Instance(
        [[1], [3], [1]],
        [[21]],
        users=list("ABC"),
        quotas=fo.Quotas(
            [fo.Group("t")],
            {"A": "t", "B": "t"},
            priority={"C": 1},
            quotas=[fo.Quota("t", "r1", 14, INF, lend), fo.Quota("C", "r1", 7, borrow, INF)],
        ),
    )
    answer = fo.solve(inst, fo.AlphaFair(2), uncertified="return")
    first = 7 + min(lend, borrow, 14)
    if first == 21:
        assert answer.certificate is None or answer.totals[2] == pytest.approx(21)
        return
    # the most of -1/a - 1/b with a + 3 b of what is left
    b = (21 - first) / (3 + 3**0.5)
    assert answer.certificate.certified
    assert answer.totals == pytest.approx([3**0.5 * b, b, first], rel=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_two_teams_that_lend_little(seed: int) -> None:
    rng = np.random.default_rng(seed)
    users = [f"u{n}" for n in range(8)]
    capacity = rng.integers(5, 30, (2, 2)).astype(float)
    half = capacity[:, 0].sum() / 2
    least = rng.integers(0, 4, 2)
    for borrow in (INF, 0.0):
        quotas = fo.Quotas(
            [fo.Group("g"), fo.Group("h")],
            {user: "gh"[n % 2] for n, user in enumerate(users)},
            priority={user: int(n % 2 == 0) for n, user in enumerate(users)},
            quotas=[
                fo.Quota(team, "r1", half, borrow, float(lend))
                for team, lend in zip("gh", least, strict=True)
            ],
        )
        inst = fo.Instance(
            rng.uniform(0.2, 2, (8, 2)),
            capacity,
            users=users,
            resources=["r1", "r2"],
            quotas=quotas,
        )
        answer = fo.solve(inst, fo.AlphaFair(2))
        assert answer.certificate.certified
        tasks = answer.tasks.copy()
        tasks[int(np.argmax(tasks.sum(axis=1)))] *= 1 - 1e-4
        assert not fo.certify(answer.with_(tasks=tasks, certificate=None)).certified


@pytest.mark.parametrize("angle", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("seed", range(4))
def test_rows_nearly_parallel_stop_the_first_class(angle: float, seed: int) -> None:
    """What two rows leave to two users, in fractions; both need some of what two others divide."""
    rng = np.random.default_rng(seed)
    a = float(rng.uniform(1, 10))
    b = a * (1 - angle * rng.uniform(0.2, 0.8))
    third = 10 ** rng.uniform(-2, 2, 2)
    own, weight = rng.uniform(0.5, 2, 2), rng.uniform(0.5, 2, 2)
    capacity = np.array([a + b, a + (1 + angle) * b, 1.5 * float(third @ [a, b])])
    demand = np.array([[1, 1, third[0]], [1, 1 + angle, third[1]], [0, 0, own[0]], [0, 0, own[1]]])
    c = [F(v) for v in capacity.tolist()]
    d = [[F(v) for v in row] for row in demand.tolist()]
    det = d[0][0] * d[1][1] - d[1][0] * d[0][1]
    x = [
        (c[0] * d[1][1] - d[1][0] * c[1]) / det,
        (d[0][0] * c[1] - d[0][1] * c[0]) / det,
    ]
    left, w = c[2] - d[0][2] * x[0] - d[1][2] * x[1], [F(v) for v in weight.tolist()]
    x += [w[k] / sum(w) * left / d[2 + k][2] for k in range(2)]
    inst = fo.Instance(
        demand,
        capacity[None],
        weight=[1, 1, *weight],
        quotas=fo.Quotas(priority={"u1": 1, "u2": 1}),
    )
    answer = fo.solve(inst, fo.ProportionalFair())
    assert answer.certificate.certified
    assert answer.totals == pytest.approx([float(v) for v in x], rel=1e-6)
    for _ in range(6):  # the first two differ as little as rows let them, and the others follow
        tasks = answer.tasks.copy()
        by = 10 ** rng.uniform(-8, -4) * a
        tasks[:2, 0] += [by, -by]
        rest = capacity[2] - demand[:2, 2] @ tasks[:2, 0]
        tasks[2:, 0] = weight / weight.sum() * rest / own
        forged = fo.certify(answer.with_(tasks=tasks * (1 - 1e-15), certificate=None))
        off = max(abs(t / float(v) - 1) for t, v in zip(tasks[:, 0].tolist(), x, strict=True))
        assert not forged.certified or off <= 1.01e-6


def test_an_answer_that_is_off_leads_to_the_optimum_nearby() -> None:
    """A user of a millionth of the weight in the second class: what a general solver finds is
    proved to be off, and is the only one from which the judge finds the optimum."""
    rng = np.random.default_rng(1199)
    demand, capacity = rng.uniform(0.2, 1, (6, 3)), rng.uniform(2, 6, (3, 3))
    placement = rng.random((6, 3)) < 0.7
    placement[np.arange(6), rng.integers(0, 3, 6)] = True
    weight = rng.uniform(0.5, 2, 6)
    weight[5] *= 1e-6
    rank = rng.integers(0, 2, 6)
    rank[0], rank[5] = 0, 1
    limit = np.where(rng.random(6) < 0.5, rng.uniform(0.5, 4, 6), 50.0)
    first = {f"u{n + 1}": 1 for n in range(6) if rank[n] == 0}
    inst = fo.Instance(demand, capacity, placement, weight, limit, quotas=fo.Quotas(priority=first))
    assert fo.solve(inst, fo.ProportionalFair()).certificate.certified
