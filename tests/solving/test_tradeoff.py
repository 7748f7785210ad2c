"""The trade-off of kesidis2016 (16): its notion, its two ways to an answer, and what t does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt import criteria, notions
from fairopt.cli import run
from fairopt.formulas import penalties
from fairopt.instance import generate

ROOT = Path(__file__).parents[2]
MODELS = (
    fo.read("kesidis2016/no-penalty").instance,
    fo.read("kesidis2016/placement").instance,
    fo.read("kesidis2016/t-pf").instance,
    generate.random_instance(5, 3, 2, density=0.7, seed=1),
    generate.random_instance(4, 2, 3, seed=2, weight_decades=1.0, zero_demand=0.3),
)
GRID = np.geomspace(1e-3, 1e5, 9)


def terms(alloc):
    """Omega, var F, sum V of an answer."""
    inst, dominant = alloc.instance, alloc.score * alloc.tasks
    return (
        penalties.omega(inst, alloc.levels, 1.0),
        penalties.across(alloc.levels),
        float(penalties.within(inst, dominant).sum()),
    )


def written_out(inst):
    """Counts (1, 3) as four servers."""
    rows = [0, 1, 1, 1]
    return inst.replace(
        capacity=inst.capacity[rows],
        placement=inst.placement[:, rows],
        count=[1] * 4,
        servers=list("abcd"),
    )


# -- the notion -------------------------------------------------------------------------------


def test_parameters_are_checked_together():
    with pytest.raises(fo.BadInput) as caught:
        fo.Tradeoff(t_pf=-1, t_drf=float("nan"), g="cube", equal_across="yes")
    assert {f.place for f in caught.value.faults} == {"t_pf", "t_drf", "g", "equal_across"}
    with pytest.raises(fo.BadInput):
        fo.Tradeoff(t_pf=True)
    assert fo.Tradeoff(g=1) == fo.Tradeoff() and fo.Tradeoff(g="2").alpha == 2


def test_g_ends_where_worths_can_no_longer_be_told_apart():
    inst = fo.read("kesidis2016/placement").instance
    assert fo.solve(inst, fo.Tradeoff(1, 1, g=1e8)).certificate.certified
    with pytest.raises(fo.BadInput, match=r"g: .* at most 1e\+08 .*beyond floating point"):
        fo.Tradeoff(g=1.01e8)


def test_objective_is_the_formula_written_out():
    inst = fo.Instance(
        [[1, 4], [3, 1], [3, 4]],
        [[9, 18], [18, 9]],
        placement=[[1, 1], [0, 1], [1, 1]],
        weight=[1, 2, 0.5],
        count=[1, 3],
    )
    x = np.array([[1.0, 0.3], [0.0, 2.0], [0.5, 0.6]])
    alloc = fo.Allocation(inst, fo.Tradeoff(t_pf=2, t_drf=3, g=2), x)
    # each row of count k written out as k servers
    wide = written_out(inst)
    a = np.zeros((3, 4))
    for n in range(3):
        for i in range(4):
            tasks = x[n, 0] if i == 0 else x[n, 1] / 3
            a[n, i] = tasks * max(wide.demand[n] / wide.capacity[i])
    f = a.sum(axis=1) / inst.weight
    v = sum(np.var(a[wide.eligible[:, i], i]) for i in range(4))
    wanted = -(inst.weight / f).sum() - 2 * np.var(f) - 3 * v
    assert alloc.objective == pytest.approx(wanted, rel=1e-13)
    np.testing.assert_allclose(alloc.levels, f, rtol=1e-13)


def test_rows_of_machines_are_machines():
    inst = generate.random_instance(3, 2, 2, seed=5).replace(count=[1, 3])
    wide = written_out(inst)
    notion = fo.Tradeoff(t_pf=0.5, t_drf=2)
    one, many = fo.solve(inst, notion), fo.solve(wide, notion)
    assert one.objective == pytest.approx(many.objective, rel=1e-9)
    np.testing.assert_allclose(one.totals, many.totals, rtol=1e-7)


def test_a_server_nobody_may_use_has_no_variance():
    inst = fo.read("kesidis2016/no-penalty").instance
    more = inst.replace(
        capacity=np.vstack([inst.capacity, [5.0, 5.0]]),
        placement=np.column_stack([inst.placement, np.zeros(3, bool)]),
        count=[1, 1, 1],
        servers=["pool1", "pool2", "empty"],
    )
    notion = fo.Tradeoff(t_drf=10)
    a, b = fo.solve(inst, notion), fo.solve(more, notion)
    assert a.objective == pytest.approx(b.objective, rel=1e-10)
    assert b.tasks[:, 2].max() == 0


# -- ways to an answer ------------------------------------------------------------------------


@pytest.mark.parametrize("g", [0.5, "log", 3.0])
@pytest.mark.parametrize("weights", [(0, 0), (5, 0), (0, 5), (2, 30), (900, 1e-2)])
def test_own_method_and_program_agree(g, weights):
    inst = generate.random_instance(4, 2, 2, density=0.8, seed=3, weight_decades=1.0)
    notion = fo.Tradeoff(*weights, g=g)
    own, program = (
        fo.solve(inst, notion),
        fo.solve(inst, notion, solver="clarabel", uncertified="return"),
    )
    assert [step["step"] for step in own.steps] == ["interior, small"]
    assert own.certificate.gap <= 1e-9 and own.certificate.residual <= 1e-9
    assert own.objective >= program.objective - 1e-9 * abs(program.objective)
    np.testing.assert_allclose(own.levels, program.levels, rtol=1e-4)


@pytest.mark.parametrize("t", [0.0, 1e-6, 1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("which", ["t_pf", "t_drf"])
def test_any_weight_is_certified_at_once(which, t):
    for inst in MODELS:
        alloc = fo.solve(inst, fo.Tradeoff(**{which: t}))
        assert alloc.certificate.certified and len(alloc.steps) == 1


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.99, 1.01, 2.0, 5.0, 20.0])
def test_without_penalty_it_is_alpha_fairness(alpha):
    for inst in MODELS[::2]:
        mine = fo.solve(inst, fo.Tradeoff(g=alpha))
        theirs = fo.solve(inst, fo.AlphaFair(alpha, "dominant-share", weight_inside=True))
        assert mine.objective == pytest.approx(theirs.objective, rel=1e-7)


def test_limits_bind():
    inst = fo.read("kesidis2016/no-penalty").instance.replace(limit=[0.5, np.inf, 0.25])
    alloc = fo.solve(inst, fo.Tradeoff(t_pf=1, t_drf=1))
    assert alloc.totals[0] == pytest.approx(0.5) and alloc.limit_prices[0] > 0
    assert alloc.totals[2] == pytest.approx(0.25)


def test_no_solver_is_imported():
    code = (
        "import sys, fairopt as fo\n"
        "fo.solve(fo.read('kesidis2016/t-pf').instance, fo.Tradeoff(t_pf=900))\n"
        "assert 'cvxpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_larger_instance():
    inst = generate.random_instance(60, 10, 3, density=0.5, seed=4)
    alloc = fo.solve(inst, fo.Tradeoff(t_pf=3, t_drf=5))
    assert alloc.certificate.certified and len(alloc.steps) == 1


def test_highs_states_linear_programs_only():
    inst = MODELS[0]
    with pytest.raises(fo.UsageError, match="clarabel"):
        fo.solve(inst, fo.Tradeoff(t_pf=1), solver="highs")
    assert fo.solve(inst, fo.Tradeoff(g=0), solver="highs").certificate.certified


# -- what t does ------------------------------------------------------------------------------


def falls(values, tolerance=1e-9):
    return all(b <= a + tolerance for a, b in zip(values, values[1:], strict=False))


@pytest.mark.parametrize("inst", MODELS, ids=lambda i: f"{i.shape}")
def test_one_weight_alone_draws_together(inst):
    omega, var, _ = zip(*(terms(fo.solve(inst, fo.Tradeoff(t_pf=t))) for t in GRID), strict=True)
    assert falls(omega) and falls(var)
    assert var[-1] <= 1e-8
    omega, _, v = zip(*(terms(fo.solve(inst, fo.Tradeoff(t_drf=t))) for t in GRID), strict=True)
    assert falls(omega) and falls(v)
    assert v[-1] <= 1e-8


@pytest.mark.parametrize("inst", MODELS, ids=lambda i: f"{i.shape}")
@pytest.mark.parametrize("other", [0.0, 10.0])
def test_the_penalised_objective_always_falls(inst, other):
    best = [fo.solve(inst, fo.Tradeoff(t, other)).objective for t in GRID]
    assert falls(best)


def test_with_the_other_weight_omega_may_rise():
    """4.2.1 with t_drf = 10: more t_pf, more welfare."""
    inst = fo.read("kesidis2016/placement").instance
    omega = [terms(fo.solve(inst, fo.Tradeoff(t, 10.0)))[0] for t in (0.0, 1.0, 10.0)]
    assert omega[0] < omega[1] < omega[2]
    assert omega[2] - omega[0] > 1e-3


# -- hard forms -------------------------------------------------------------------------------


@pytest.mark.parametrize("inst", MODELS, ids=lambda i: f"{i.shape}")
def test_hard_forms_are_the_limits(inst):
    across = fo.solve(inst, fo.Tradeoff(equal_across=True))
    assert np.ptp(across.levels) <= 1e-9 * across.levels.max()
    soft = fo.solve(inst, fo.Tradeoff(t_pf=1e8))
    assert across.objective == pytest.approx(soft.objective, abs=1e-6)
    within = fo.solve(inst, fo.Tradeoff(equal_within=True))
    dominant = within.score * within.tasks
    for i in range(inst.shape[1]):
        held = dominant[inst.eligible[:, i], i]
        assert np.ptp(held) <= 1e-9 * held.max()
    soft = fo.solve(inst, fo.Tradeoff(t_drf=1e8))
    assert within.objective == pytest.approx(soft.objective, abs=1e-6)


def test_equal_within_is_drf_in_each_pool():
    """kesidis2016 4.1 as printed."""
    inst = MODELS[0]
    hard = fo.solve(inst, fo.Tradeoff(equal_within=True))
    np.testing.assert_allclose(hard.tasks, fo.solve(inst, fo.PerServerDRF()).tasks, rtol=1e-9)


def test_both_hard_forms_may_empty_a_server():
    # user 1 only in pool 2, the others in both: levels are equal only with pool 1 idle
    inst = fo.read("kesidis2016/placement").instance
    alloc = fo.solve(inst, fo.Tradeoff(equal_across=True, equal_within=True))
    np.testing.assert_allclose(alloc.score * alloc.tasks, [[0, 1 / 3]] * 3, atol=1e-9)


def test_hard_forms_that_leave_nothing_say_who():
    inst = fo.Instance(
        [[1.0], [1.0], [1.0]],
        [[2.0], [2.0]],
        placement=[[1, 0], [1, 0], [0, 1]],
        weight=[1, 2, 1],
        users=["a", "b", "c"],
        servers=["s", "t"],
    )
    with pytest.raises(fo.Infeasible) as caught:
        fo.solve(inst, fo.Tradeoff(equal_across=True, equal_within=True))
    text = str(caught.value)
    assert "a (weight 1, on s)" in text and "b (weight 2, on s)" in text and "c (" not in text
    assert caught.value.exit_code == 3


# -- supports ---------------------------------------------------------------------------------


def test_dropping_a_user_pays():
    inst = fo.read("kesidis2016/placement").instance
    found = fo.best_support(inst, fo.Tradeoff(t_drf=900))
    assert found.pays and found.tried == 9
    assert found.dropped == (("n3", "pool2"),)
    # by hand: n2 and n3 share pool 1 (9 cpu: 1/9 and 2.5/9 a task), n1 and n2 pool 2
    np.testing.assert_allclose(
        found.allocation.score * found.allocation.tasks, [[0, 0.5], [0.5, 0.5], [0.5, 0]], atol=1e-3
    )
    assert "dropping n3 from pool2 pays" in found.explain()
    # the paper's own objective of that answer: V over those who hold something
    a = found.allocation.score * found.allocation.tasks
    v = sum(np.var(a[a[:, i] > 0, i]) for i in range(2))
    assert found.value == pytest.approx(np.log(a.sum(axis=1)).sum() - 900 * v, abs=1e-9)


def test_without_penalty_nobody_is_dropped():
    inst = fo.read("kesidis2016/placement").instance
    found = fo.best_support(inst, fo.Tradeoff())
    assert not found.pays and not found.dropped and "nobody" in found.explain()


def test_too_many_supports_are_refused():
    with pytest.raises(fo.UsageError, match="4096"):
        fo.best_support(generate.random_instance(5, 4, 2, seed=0), fo.Tradeoff(t_drf=1))
    with pytest.raises(fo.UsageError):
        fo.best_support(MODELS[0], fo.ProportionalFair())


# -- the command line -------------------------------------------------------------------------


def test_command(capsys, tmp_path):
    path = tmp_path / "answer.json"
    asked = ["solve", "kesidis2016/no-penalty", "--notion", "tradeoff"]
    assert run([*asked, "--t-pf", "900", "-o", str(path)]) == 0
    assert run(["verify", str(path)]) == 0
    alloc = fo.load(path)
    assert alloc.notion["parameters"]["t_pf"] == 900 and alloc.objective < 0
    assert run([*asked, "--g", "2"]) == 0
    capsys.readouterr()
    assert notions.make("tradeoff", t_drf=1) == fo.Tradeoff(t_drf=1)
    assert criteria.score(alloc.instance, "dominant-share").tolist() == alloc.score.tolist()


def test_example_tells_printed_from_optimal():
    script = ROOT / "examples" / "kesidis2016_section4.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    text = done.stdout
    assert text.count("certified") == 4 and text.count("refuted") >= 6
    for value in ("-0.437690", "-1.216395", "-1.461475", "-0.509588", "-0.764677"):
        assert value in text
    assert text.count("do not agree") == 3
