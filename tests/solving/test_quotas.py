"""Answers with groups, guarantees, ceilings, lending, priorities and modes: examples in fractions.

The keys (H1, G5, ...) are those of docs/maths/quotas.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from benchmarks.trust.draws import Asked
from fairopt import criteria
from fairopt.solving import quotas
from fairopt.solving.engines.point import How
from tests.quota_cases import cards, story
from tests.quota_draws import drawn

TASKS, INF = fo.MaxMin("tasks"), np.inf


def answer(inst, notion, solver="auto"):
    return quotas.answer(
        inst, notion, criteria.score(inst, notion.criterion), How(solver, 1e-6, True, None)
    )


def gpus(amount, users="A B C", **more):
    """Users of one GPU a task on one pool."""
    names = users.split()
    limit = more.pop("limit", None)
    return fo.Instance(
        [[1]] * len(names),
        [[amount]],
        users=names,
        resources=["gpu"],
        limit=limit,
        quotas=fo.Quotas(**more),
    )


CPU, GPU, BOTH = [1, 0], [0, 1], [1, 1]


def units(demand, users, **of):
    """One CPU and one GPU, divided among users in groups."""
    groups = [fo.Group(name) for name in dict.fromkeys(of.values())]
    return fo.Instance(
        demand,
        [[1, 1]],
        users=users.split(),
        resources=["cpu", "gpu"],
        quotas=fo.Quotas(groups, of),
    )


STARVING = units([GPU, CPU, GPU], "n1 n21 n22", n21="n2", n22="n2")
BLOCKING = units([CPU, CPU, CPU, GPU, GPU], "n1 n2 n31 n32 n4", n31="n3", n32="n3")
MATCHING = units([BOTH, CPU, GPU], "n1 n21 n22", n21="n2", n22="n2")
ORG = {"groups": [fo.Group("org")], "group": {"A": "org", "B": "org"}}
G1 = [fo.Guarantee("A", "gpu", 6), fo.Guarantee("B", "gpu", 2), fo.Guarantee("C", "gpu", 1)]


def lending(limit, borrow=0):
    given = [fo.Quota("research", "gpu", 60, borrow), fo.Quota("production", "gpu", 40, lend=10)]
    return gpus(
        100,
        "r p",
        limit=limit,
        quotas=given,
        groups=[fo.Group("research"), fo.Group("production")],
        group={"r": "research", "p": "production"},
    )


P1 = fo.Instance(
    [[1]] * 3,
    [[4], [4]],
    [[1, 1], [1, 0], [0, 1]],
    limit=[4, INF, INF],
    users=["A", "B", "C"],
    quotas=fo.Quotas(priority={"A": 1}),
)
H5 = story().replace(
    capacity=[[40], [260]],
    count=None,
    servers=["x", "y"],
    placement=[[True, False], [True, False], [True, True], [True, True]],
)
H6 = gpus(
    120,
    "a b1 x y",
    groups=[fo.Group("b"), fo.Group("b2", "b")],
    group={"b1": "b", "x": "b2", "y": "b2"},
)
SUM, ABOVE = fo.MaxMin(measure="sum"), fo.MaxMin("tasks", over="above")
KNOWN = [
    ("H1", story(), TASKS, "30 30 90 150"),
    ("H1 fair", story(), fo.ProportionalFair(), "30 30 90 150"),
    ("H2", story().replace(limit=[10, INF, INF, INF]), TASKS, "10 35 105 150"),
    (
        "H2 fair",
        story().replace(limit=[10, INF, INF, INF]),
        fo.ProportionalFair(),
        "10 290/9 290/3 1450/9",
    ),
    ("H4", story(guarantees=[fo.Guarantee("1A", "gpu", 80)]), TASKS, "80 35/2 105/2 150"),
    ("H5", H5, TASKS, "20 20 110 150"),
    ("H6", H6, TASKS, "60 30 15 15"),
    ("H7", STARVING, fo.MaxMin(), "1/2 1 1/2"),
    ("H7 sum", STARVING, SUM, "2/3 1 1/3"),
    ("H8", BLOCKING, fo.MaxMin(), "1/3 1/3 1/3 1/2 1/2"),
    ("H8 sum", BLOCKING, SUM, "2/5 2/5 1/5 2/5 3/5"),
    ("H9", MATCHING, fo.MaxMin(), "1/2 1/2 1/2"),
    ("H9 sum", MATCHING, SUM, "2/3 1/3 1/3"),
    ("G1 floor", gpus(12, guarantees=G1), TASKS, "6 3 3"),
    ("G1 above", gpus(12, guarantees=G1), ABOVE, "7 3 2"),
    ("G1 proportion", gpus(12, guarantees=G1), fo.MaxMin("tasks", over="proportion"), "8 8/3 4/3"),
    ("G1 floor, fair", gpus(12, guarantees=G1), fo.ProportionalFair(), "6 3 3"),
    ("G1 above, fair", gpus(12, guarantees=G1), fo.ProportionalFair(over="above"), "7 3 2"),
    ("nothing above", gpus(9, guarantees=G1), ABOVE, "6 2 1"),
    ("G4 truth", gpus(12, "A B", guarantee_tasks={"A": 4}), TASKS, "6 6"),
    ("G5 lent", lending([20, INF]), TASKS, "20 80"),
    ("G5 kept", lending([INF, 10]), TASKS, "60 10"),
    ("G5 borrowed", lending([INF, 10], INF), TASKS, "70 10"),
    ("G5 fair", lending([INF, 10]), fo.ProportionalFair(), "60 10"),
    ("G8", gpus(12, guarantees=G1[:1]), fo.ProportionalFair(), "6 3 3"),
    ("G9", gpus(12, guarantees=G1[:1]), fo.AlphaFair(2), "6 3 3"),
    ("G10", gpus(12, guarantees=G1[:1]), TASKS, "6 3 3"),
    ("C1", gpus(12, **ORG, bounds=[fo.Bound("org", "gpu", 6)]), TASKS, "3 3 6"),
    (
        "C1 fair",
        gpus(12, **ORG, bounds=[fo.Bound("org", "gpu", 5)]),
        fo.ProportionalFair(),
        "5/2 5/2 7",
    ),
    ("P1", P1, TASKS, "4 2 2"),
    ("M1", cards(), TASKS, "52/15 52/15"),
    (
        "most",
        gpus(12, **ORG, guarantees=G1[:1], bounds=[fo.Bound("org", "gpu", 6)]),
        fo.Throughput(),
        "6 0 6",
    ),
]


@pytest.mark.parametrize(
    ("inst", "notion", "wanted"), [k[1:] for k in KNOWN], ids=[k[0] for k in KNOWN]
)
def test_known_answers(inst, notion, wanted):
    exact = [float(Fraction(part)) for part in wanted.split()]
    found = fo.solve(inst, notion)
    assert found.certificate is not None and found.certificate.certified
    np.testing.assert_allclose(found.output.sum(axis=1), exact, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("key", ["H4", "H8", "G5 kept", "G1 above", "P1", "M1"])
@pytest.mark.parametrize("solver", ["highs", "clarabel"])
def test_the_program_of_each_round_has_the_same_answer(key, solver):
    inst, notion = next(k[1:3] for k in KNOWN if k[0] == key)
    ours, stated = answer(inst, notion), answer(inst, notion, solver)
    np.testing.assert_allclose(stated.shares, ours.shares, rtol=1e-8)


@pytest.mark.parametrize("key", ["H2 fair", "G5 fair", "G1 above, fair", "G9", "C1 fair"])
def test_the_alpha_fair_program_has_the_same_answer(key):
    inst, notion = next(k[1:3] for k in KNOWN if k[0] == key)
    ours, stated = answer(inst, notion), answer(inst, notion, "clarabel")
    np.testing.assert_allclose(stated.shares, ours.shares, rtol=1e-6)


def test_prices_of_a_floor():
    """G8, G9: a unit less of A's floor would be worth nu; B is the sum of weights."""
    found = answer(gpus(12, guarantees=G1[:1]), fo.ProportionalFair())
    np.testing.assert_allclose(found.prices, [[1 / 3]], rtol=1e-9)
    np.testing.assert_allclose(found.floor_prices, [1 / 6, 0, 0], rtol=1e-9, atol=1e-10)
    steep = answer(gpus(12, guarantees=G1[:1]), fo.AlphaFair(2))
    # 1/9 and 1/12, with B 5/6 brought to 3
    np.testing.assert_allclose(steep.prices, [[1 / 9 * 3 / (5 / 6)]], rtol=1e-9)
    np.testing.assert_allclose(steep.floor_prices[0], 1 / 12 * 3 / (5 / 6), rtol=1e-9)


def test_guarantees_that_do_not_fit_name_who_stands_against_whom():
    given = [fo.Guarantee("A", "gpu", 6), fo.Guarantee("B", "gpu", 5), fo.Guarantee("C", "gpu", 4)]
    inst = fo.Instance(
        [[1]] * 3,
        [[8], [8]],
        [[1, 0], [1, 0], [0, 1]],
        users=["A", "B", "C"],
        servers=["x", "y"],
        resources=["gpu"],
        quotas=fo.Quotas(guarantees=given),
    )
    with pytest.raises(fo.Infeasible) as caught:
        answer(inst, TASKS)
    words = "A and B together need 11 gpu on x, which has 8; all guarantees would fit if every one"
    assert str(caught.value) == f"{words} were cut to 8/11"
    proof = caught.value.proof
    assert proof["users"] == ["A", "B"] and proof["cut"] == pytest.approx(8 / 11)
    assert proof["prices"]["prices"][0, 0] > 0 == proof["prices"]["prices"][1, 0]
    # pool sums do not prove that a guarantee fits (G3)
    both = [fo.Guarantee("A", "cpu", 5), fo.Guarantee("A", "gpu", 5)]
    split = fo.Instance(
        [[1, 1]],
        [[9, 1], [1, 9]],
        users=["A"],
        resources=["cpu", "gpu"],
        quotas=fo.Quotas(guarantees=both),
    )
    with pytest.raises(fo.Infeasible, match="5/2 times what there is .* cut to 2/5"):
        answer(split, fo.ProportionalFair())


def test_refusals_by_name():
    for notion in (fo.Tradeoff(1, 1), fo.PerServerDRF(), fo.CommonTasks()):
        with pytest.raises(fo.UsageError, match=f"{notion.name}: found groups"):
            fo.solve(story(), notion)
    with pytest.raises(fo.UsageError, match="where nobody has a guarantee"):
        fo.solve(story().replace(quotas=None), fo.MaxMin(over="proportion"))
    with pytest.raises(fo.UsageError, match="alpha 0 with several priority classes"):
        answer(P1, fo.Throughput())
    with pytest.raises(fo.Infeasible, match="nothing is left for A and B"):
        answer(gpus(12, **ORG, bounds=[fo.Bound("org", "gpu", 0)]), fo.ProportionalFair())


@pytest.mark.parametrize("seed", range(40))
def test_a_flat_tree_is_plain_max_min(seed):
    """Groups of everybody, of one, and halves of a user change nothing."""
    inst = drawn(seed, "limit").replace(quotas=None)
    plain = fo.solve(inst, TASKS).shares
    users = list(inst.users)
    inside = [fo.Group("all"), fo.Group("first", "all", float(inst.weight[0]))]
    chain = fo.Quotas(inside, {users[0]: "first"} | {u: "all" for u in users[1:]})
    nested = answer(inst.replace(quotas=chain), TASKS)
    np.testing.assert_allclose(nested.shares, plain, rtol=1e-8)


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(30))
def test_random_answers_keep_all_rules_and_agree_with_the_stated_program(seed):
    inst = drawn(seed)
    for notion in (TASKS, ABOVE, fo.MaxMin(measure="sum")):
        try:
            ours = answer(inst, notion)
        except fo.Infeasible as refused:
            assert refused.proof is not None
            continue
        stated = answer(inst, notion, "highs")
        np.testing.assert_allclose(stated.shares, ours.shares, rtol=1e-7, atol=1e-9)
        assert sorted(u for one in ours.rounds for u in one["users"]) == sorted(inst.users)


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_random_alpha_fair_answers_are_certified(seed):
    """Also where a floor is just what its user would have anyway, or guarantees fill a server."""
    inst = drawn(seed, "tree floor bound limit mode")
    for notion in (fo.ProportionalFair(), fo.AlphaFair(2), fo.Throughput()):
        try:
            found = fo.solve(inst, notion)
        except fo.Infeasible:
            continue
        assert found.certificate is not None and found.certificate.certified


def test_a_floor_that_just_binds():
    """u0 would have 1.5 of 4.5 with half the weight of u1, and is guaranteed 1.5."""
    inst = drawn(30, "tree floor limit")
    found = fo.solve(inst, fo.ProportionalFair())
    np.testing.assert_allclose(found.shares, [1.5, 3.0], rtol=1e-7)


@pytest.mark.parametrize("notion", [fo.MaxMin(), fo.MaxMin("tasks"), fo.ProportionalFair()])
def test_a_quota_of_nothing_keeps_tasks_at_nothing(notion):
    """A millionth of a byte would be infinitely more than a quota of 0 bytes."""
    quotas = tuple(
        fo.Quota(team, "memory", nominal, 0, 0, flavor="big")
        for team, nominal in (("data", 0), ("ml", 4.74e11), ("web", 0))
    )
    inst = fo.Instance(
        [[1, 6e9], [2, 31e9], [0.5, 11e9], [1.5, 9e9]],
        [[48, 5e11], [30, 6e10], [26, 7e10]],
        users=["a", "b", "c", "d"],
        servers=["x", "y", "z"],
        resources=["cpu", "memory"],
        limit=[30, 40, 8, 12],
        quotas=fo.Quotas(
            groups=tuple(fo.Group(name) for name in ("data", "ml", "web")),
            group={"a": "data", "b": "ml", "c": "web", "d": "web"},
            quotas=quotas,
            flavors={"big": ["x"]},
        ),
    )
    answer = fo.solve(inst, notion)
    assert answer.certificate.certified
    assert not answer.tasks[[0, 2, 3], 0].any()


@pytest.mark.parametrize(
    ("seed", "alpha", "proved"), [(23, 20, True), (123, 20, True), (26, 10, False)]
)
def test_a_ceiling_that_binds_nobody_at_steep_alpha(seed, alpha, proved):
    # marginal values far apart made a system without numbers: a ValueError of the factorisation
    plain = drawn(seed, "")
    ruled = plain.replace(quotas=fo.Quotas(bounds=[fo.Bound("u0", "r0", 1e6)]))
    found = fo.solve(ruled, fo.AlphaFair(alpha), uncertified="return")
    assert found.certificate.certified or not proved
    if proved:
        assert found.totals == pytest.approx(fo.solve(plain, fo.AlphaFair(alpha)).totals, rel=1e-6)


def test_at_alpha_0_what_is_above_a_guarantee_does_not_come_out_of_it():
    # a task of b takes twice the memory of one of a: all beyond 5 GiB of b's are a's, 5 and 5/2
    inst = fo.Instance(
        [[1, 1], [1, 2]],
        [[10, 10]],
        users=["a", "b"],
        resources=["cpu", "memory"],
        quotas=fo.Quotas(guarantees=[fo.Guarantee("b", "memory", 5)]),
    )
    for solver in ("auto", "clarabel", "scs"):
        found = fo.solve(inst, fo.AlphaFair(0, over="above"), solver=solver)
        assert found.totals == pytest.approx([5, 2.5], rel=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_at_alpha_0_the_best_above_the_floors_is_the_best_with_floors(seed):
    # sum W (s - sigma) and sum W s differ by a constant
    inst = drawn(seed, "tree floor bound limit")
    above = fo.solve(inst, fo.AlphaFair(0, over="above"))
    floor = fo.solve(inst, fo.AlphaFair(0))
    value = inst.tree.normalised
    assert value @ above.shares == pytest.approx(value @ floor.shares, rel=1e-9)


def test_a_limit_beside_lending_is_answered():
    """web may keep all but 10 of its 12 and wants 6; ml has 8 and borrows what is left."""
    groups = [fo.Group("all"), fo.Group("ml", "all"), fo.Group("web", "all")]
    quotas = fo.Quotas(
        groups,
        {"a": "ml", "b": "web"},
        quotas=[
            fo.Quota("all", "gpu", 0, borrow=0, lend=0),
            fo.Quota("ml", "gpu", 8, borrow=8),
            fo.Quota("web", "gpu", 12, lend=10),
        ],
    )
    inst = fo.Instance(
        [[1], [1]], [[20]], limit=[30, 6], users=["a", "b"], resources=["gpu"], quotas=quotas
    )
    for notion in (fo.MaxMin("tasks"), fo.MaxMin("drf")):
        found = fo.solve(inst, notion)
        assert found.certificate.certified
        np.testing.assert_allclose(found.totals, [14, 6], rtol=1e-9)


@pytest.mark.parametrize("kind, seed", [("limits", 13), ("zero demands", 20)])
def test_bounded_programs_are_answered_that_highs_calls_unbounded(kind: str, seed: int) -> None:
    """Of users twelve decades apart the solver took what they need for nothing, in the unit of the
    first level, and its presolver called a bounded program unbounded."""
    instance, notion = Asked("max-min, rules", kind, 12, seed).drawn()
    answer = fo.solve(instance, notion)
    assert answer.certificate.certified


@pytest.mark.parametrize("alpha", [10.0, 20.0, 50.0])
def test_who_is_stopped_by_its_own_ceiling_hides_nobody(alpha: float) -> None:
    """B is worth 1e40 times as much as the others where its ceiling stops it, at .6 of a task; A
    lends at most .1 of its third, so that C has 1/3 + .1 + what B leaves of its third."""
    quotas = [
        fo.Quota("A", "cpu", 1 / 3, np.inf, 0.1),
        fo.Quota("B", "cpu", 1 / 3),
        fo.Quota("C", "cpu", 1 / 3),
    ]
    inst = fo.Instance(
        [[0.35], [0.5], [0.21]],
        [[1.0]],
        weight=[0.09, 3.7, 1.4],
        users=["A", "B", "C"],
        resources=["cpu"],
        quotas=fo.Quotas(bounds=[fo.Bound("B", "cpu", 0.3)], quotas=quotas),
    )
    answer = fo.solve(inst, fo.AlphaFair(alpha, weight_inside=True))
    c = 1 / 3 + 0.1 + (1 / 3 - 0.3)
    np.testing.assert_allclose(answer.totals, [(0.7 - c) / 0.35, 0.6, c / 0.21], rtol=1e-6)


def test_a_quota_of_nothing_counts_however_plentiful_the_resource_is() -> None:
    """What b would take of r is nothing beside 5e6, and more than its quota all the same."""
    quotas = [fo.Quota("a", "r", 5e6), fo.Quota("b", "r", 0.0, borrow=0.0)]
    inst = fo.Instance(
        np.ones((2, 2)),
        [[2e-6, 5e6]],
        users=["a", "b"],
        resources=["little", "r"],
        quotas=fo.Quotas(quotas=quotas),
    )
    answer = fo.solve(inst, fo.MaxMin("tasks"))
    assert answer.certificate.certified
    np.testing.assert_allclose(answer.totals, [2e-6, 0.0], rtol=1e-12, atol=0)


def test_weights_over_six_decades_end() -> None:
    """A piece of the path was shorter than the last digit of its level, and came again for ever."""
    inst = drawn(198, "tree floor bound")
    inst = inst.replace(weight=10 ** np.random.default_rng(198).uniform(-3, 3, inst.shape[0]))
    assert fo.solve(inst, fo.MaxMin("tasks"), limit_s=60).certificate.certified
