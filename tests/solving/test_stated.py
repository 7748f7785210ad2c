"""Every notion's own statement beside our faster way: the same answer, certified both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairopt as fo
from fairopt.notions import NOTIONS
from fairopt.solving.engines.programs import conic
from tests.per_server_cases import random_instance

CONIC = ("clarabel", "ecos", "scs")
LINEAR = (*CONIC, "highs")
# notion, general solvers that state it, whether totals (else only the objective) are the same
STATED: list[tuple[Any, tuple[str, ...], bool]] = [
    (fo.Throughput(), LINEAR, False),
    (fo.ProportionalFair(), CONIC, True),
    (fo.ProportionalFair("tsf"), CONIC, True),
    (fo.AlphaFair(0.5), CONIC, True),
    (fo.AlphaFair(2, "drf", weight_inside=True), CONIC, True),
    (fo.MaxMin(), LINEAR, True),
    (fo.MaxMin("tasks"), LINEAR, True),
    (fo.Tradeoff(1, 2), CONIC, False),
    (fo.PerServerDominantShare("tdm"), CONIC, True),
    (fo.PerServerDRF(), LINEAR, True),
    (fo.HandOutDRF(), LINEAR, True),
    (fo.EqualTasks(), LINEAR, False),
    (fo.EqualTasks("free"), LINEAR, False),
    (fo.CommonTasks(), LINEAR, False),
    (fo.BottleneckMaxFair(), ("highs",), False),
    (fo.PerServerDominantShare(), ("highs",), False),
]
NAMES = [repr(notion) for notion, _, _ in STATED]


def case(notion: Any, seed: int) -> fo.Instance:
    inst = random_instance(seed, limits=seed % 2 == 1)
    if isinstance(notion, fo.BottleneckMaxFair):
        inst = fo.Instance(inst.demand, inst.capacity[:1], None, inst.weight, inst.limit)
    small = inst.shape[0] * inst.shape[1] <= 15
    if isinstance(notion, fo.PerServerDominantShare) and notion.division == "rdm" and not small:
        return inst.select(range(min(4, inst.shape[0])), range(inst.shape[1]))
    return inst


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("notion", "solvers", "unique"), STATED, ids=NAMES)
def test_program_and_engine_agree(
    notion: Any, solvers: tuple[str, ...], unique: bool, seed: int
) -> None:
    inst = case(notion, seed)
    ours = fo.solve(inst, notion)
    certified = 0
    for solver in solvers:
        try:
            stated = fo.solve(inst, notion, solver=solver)
        except (fo.NotCertified, fo.SolverFailure):
            continue  # another solver may end in exit 4 or 5, never in a wrong answer
        certified += 1
        ran = {step.get("solver", step.get("step")) for step in stated.steps}
        assert any(str(name).startswith(solver) for name in ran), ran
        if unique:
            np.testing.assert_allclose(stated.totals, ours.totals, rtol=1e-5)
        if isinstance(notion, fo.Tradeoff):  # its levels are unique, its tasks need not be
            np.testing.assert_allclose(stated.levels, ours.levels, rtol=1e-5)
        if ours.objective is not None:
            assert stated.objective == pytest.approx(ours.objective, rel=1e-6)
    assert certified
    if "highs" in solvers:  # exact vertices: what feeds the next level is right
        assert fo.solve(inst, notion, solver="highs").certificate.certified


def of_users(alloc: fo.Allocation) -> np.ndarray:
    """(N,) cheapest price of a unit of share: W s^-alpha at any answer, so unique with the s."""
    inst = alloc.instance
    cost = np.einsum("nir,ir->ni", inst.demand_by_server, alloc.prices)
    cost = (cost + alloc.limit_prices[:, None]) / np.where(inst.eligible, alloc.score, 1.0)
    return np.where(inst.eligible, cost, np.inf).min(axis=1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "notion", [fo.ProportionalFair(), fo.AlphaFair(0.5), fo.AlphaFair(3, "drf")], ids=repr
)
def test_duals_agree_where_they_are_unique(notion: Any, seed: int) -> None:
    """What each user pays always; the prices of rows where what is held determines them."""
    inst = random_instance(seed, limits=seed % 2 == 1)
    ours, stated = fo.solve(inst, notion), fo.solve(inst, notion, solver="clarabel")
    np.testing.assert_allclose(of_users(stated), of_users(ours), rtol=1e-5)
    n, i = np.nonzero(ours.tasks > 1e-6 * ours.totals[:, None])
    rows = np.argwhere((ours.utilisation > 1 - 1e-7) & (inst.pool > 0))
    limited = np.flatnonzero(ours.totals > inst.limit * (1 - 1e-7))
    paid = np.zeros((len(n), len(rows) + len(limited)))
    for k, (a, r) in enumerate(rows):
        paid[:, k] = np.where(i == a, inst.demand_by_server[n, i, r], 0.0)
    for k, user in enumerate(limited):
        paid[:, len(rows) + k] = n == user
    if np.linalg.matrix_rank(paid) == paid.shape[1]:
        np.testing.assert_allclose(stated.prices, ours.prices, rtol=1e-4, atol=1e-7)


def test_level_prices_agree_where_a_level_has_one_row() -> None:
    inst = fo.Instance([[1.0], [1.0], [2.0]], [[6.0], [30.0]], [[1, 0], [1, 0], [0, 1]])
    for solver in ("auto", *LINEAR):
        found = fo.solve(inst, fo.MaxMin("tasks"), solver=solver)
        np.testing.assert_allclose(
            found.level_prices, [[[1 / 6], [0]], [[0], [1 / 30]]], rtol=1e-6, atol=1e-9
        )


def test_every_notion_is_stated() -> None:
    """A notion that joins the table joins this test."""
    assert {notion.name for notion, _, _ in STATED} == set(NOTIONS)


@pytest.mark.parametrize(("notion", "solvers", "unique"), STATED, ids=NAMES)
def test_a_solver_of_another_class_is_refused(
    notion: Any, solvers: tuple[str, ...], unique: bool
) -> None:
    inst = case(notion, 1)
    for solver in set(LINEAR) - set(solvers):
        with pytest.raises(fo.UsageError, match=solvers[0]):
            fo.solve(inst, notion, solver=solver)


def test_the_rest_is_handed_out_the_same_way() -> None:
    """Phase 2 of drf-hug by its program, against the water levels, amount by amount."""
    for seed in range(6):
        inst = random_instance(seed, limits=seed % 2 == 1)
        ours = fo.solve(inst, fo.HandOutDRF()).steps[-1]["resources"]
        stated = fo.solve(inst, fo.HandOutDRF(), solver="highs").steps[-1]["resources"]
        for user in inst.users:
            for server, amounts in ours[user].items():
                assert stated[user][server] == pytest.approx(amounts, rel=1e-6), (user, server)


@pytest.mark.parametrize(
    ("notion", "says"),
    [
        (fo.MaxMin("drf"), r"a program a level, \.heights"),
        (fo.HandOutDRF(), r"a program a level, \.heights"),
        (fo.BottleneckMaxFair(), r"a mixed-integer program, \.patterns"),
        (fo.PerServerDominantShare(), r"a mixed-integer program, \.patterns"),
        (fo.PerServerDominantShare(division="tdm"), "another notion on another instance"),
        (fo.EqualTasks("free"), "another notion on another instance"),
    ],
)
def test_without_one_program_it_says_which_way_it_has(notion: fo.Notion, says: str) -> None:
    inst = fo.read("kesidis2016/no-penalty").instance
    score = fo.criteria.score(inst, notion.criterion)
    with pytest.raises(fo.UsageError, match=says):
        notion.program(inst, score, np.ones(3))


@pytest.mark.parametrize(
    ("notion", "factor"),
    [
        (fo.Throughput(), 1),
        (fo.CommonTasks(), 1),
        (fo.AlphaFair(2), 1),
        (fo.AlphaFair(0.5), 1),
        (fo.EqualTasks(), 11 / 18),
        (fo.Tradeoff(), 3),
        (fo.Tradeoff(t_pf=900), 3),
    ],
)
def test_the_problem_has_the_objective_as_stated(notion: fo.Notion, factor: float) -> None:
    """Or times the factor that its page names: sum phi, the largest gain of a task."""
    inst = fo.read("kesidis2016/no-penalty").instance
    score = fo.criteria.score(inst, notion.criterion)
    problem = notion.program(inst, score, np.ones(3)).problem()
    problem.solve("CLARABEL")
    assert problem.value * factor == pytest.approx(fo.solve(inst, notion).objective, rel=1e-6)


def test_any_mix_of_the_rest_kesidis2016_section_4_1() -> None:
    """With shares free the total is 4 on the data of 4.1, all rows full; in proportion, 3.333."""
    inst = fo.read("kesidis2016/no-penalty").instance
    part = inst.demand[:, None, :] / inst.pool
    bound = fo.solve(inst, fo.EqualTasks())
    assert (part * bound.tasks[:, :, None]).sum() == pytest.approx(10 / 3, abs=1e-3)
    free = fo.solve(inst, fo.EqualTasks("free"))
    # only the total of shares is determined: who has most tasks is the solver's choice, so the user
    # that has most is the one that a limit above 2 M, which leaves M as it is, keeps from some
    most = int(free.totals.argmax())
    limit = 2 * free.totals
    limit[most] = (2 + free.totals[most]) / 2
    capped = fo.solve(inst.replace(limit=limit), fo.EqualTasks("free"))
    assert free.totals.min() == pytest.approx(2) and limit[most] < free.totals[most] - 0.1
    assert capped.totals == pytest.approx(np.minimum(free.totals, limit))
    assert capped.certificate.certified
    given = free.steps[-1]["resources"]
    amount = np.array(
        [
            [[given[u][s].get(r, 0.0) for r in inst.resources] for s in inst.servers]
            for u in inst.users
        ]
    )
    assert (amount / inst.pool).sum() == pytest.approx(4)
    # everybody's tasks are those its shares allow, and nobody's are below the equal level
    assert free.tasks == pytest.approx((amount / inst.demand[:, None, :]).min(axis=2))
    assert (free.tasks >= bound.tasks.min() * (1 - 1e-9)).all()


@pytest.mark.parametrize("spoil", ["less", "more", "heavy"])
def test_any_mix_is_judged(spoil: str) -> None:
    inst = fo.read("kesidis2016/no-penalty").instance.replace(weight=[1.0, 2.0, 2.0])
    good = fo.solve(inst, fo.EqualTasks("free"))
    assert good.certificate.certified
    tasks = good.tasks.copy()
    if spoil == "less":
        tasks[0] *= 1 - 1e-5
    elif spoil == "more":
        tasks[0] *= 1.5
    else:  # what is left is worth more to the light user
        tasks[2] *= 1 + 1e-5
    assert not fo.certify(good.with_(tasks=tasks)).certified


def test_steps_name_the_engine_that_ran() -> None:
    """Two users are answered by the method of small questions, and that is what the step says."""
    two = fo.Instance([[1.0, 4.0], [3.0, 1.0]], [[9.0, 18.0]])
    ran = {
        fo.ProportionalFair(): "interior, small",
        fo.Tradeoff(1, 1): "interior, small",
        fo.MaxMin(): "level",
        fo.PerServerDominantShare(): "refill",
        fo.PerServerDRF(): "per-server water filling",
        fo.BottleneckMaxFair(): "water-levels",
    }
    for notion, engine in ran.items():
        steps = fo.solve(two, notion).steps
        assert engine in {step.get("engine", step.get("step")) for step in steps}, steps


@pytest.mark.parametrize(("notion", "solvers", "unique"), STATED, ids=NAMES)
def test_unique_totals_do_not_depend_on_the_way(
    notion: Any, solvers: tuple[str, ...], unique: bool
) -> None:
    """What says of itself that it is unique is compared by totals above."""
    assert notion.unique == unique


def test_solvers_for_reads_the_problem() -> None:
    import cvxpy as cp

    x = cp.Variable(2, nonneg=True)
    assert conic.solvers_for(cp.Problem(cp.Maximize(cp.sum(x)), [x <= 1])) == LINEAR
    assert conic.solvers_for(cp.Problem(cp.Maximize(cp.sum(cp.log(x))), [x <= 1])) == CONIC
    b = cp.Variable(2, boolean=True)
    assert conic.solvers_for(cp.Problem(cp.Maximize(cp.sum(b)))) == ("highs",)
