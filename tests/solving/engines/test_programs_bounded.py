"""A mixed-integer answer that contradicts its own bound, or itself, is no answer."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fairopt as fo
from fairopt.errors import SolverFailure
from fairopt.filling import optimum
from fairopt.program import Program, feasible_set
from fairopt.solving.engines.programs import conic

INST = fo.Instance([[2.0, 1.0], [1.0, 3.0]], [[7.0, 8.0]])


class Whole(fo.notions.Notion):
    """Most tasks, whole ones: (3, 1) or (2, 2), 4 tasks."""

    def program(self, instance: fo.Instance, score: Any, unit: Any) -> Program:
        import cvxpy as cp

        space = feasible_set(instance, score, unit)
        whole = cp.Variable(space.y.size, integer=True)
        return Program(cp.sum(whole), space, [cp.multiply(space.pair_unit, space.y) == whole])


def changed(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """What HiGHS returns through cvxpy, changed."""
    import cvxpy as cp

    solve = cp.Problem.solve

    def other(self: Any, *given: Any, **more: Any) -> Any:
        found = solve(self, *given, **more)
        if self.is_mixed_integer():
            change(self)
        return found

    monkeypatch.setattr(cp.Problem, "solve", other)


def test_a_right_one_is_one() -> None:
    assert fo.solve(INST, Whole()).totals.sum() == pytest.approx(4, abs=1e-6)


def test_a_bound_that_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def less(problem: Any) -> None:
        info = problem.solver_stats.extra_stats
        problem._solver_stats.extra_stats = SimpleNamespace(
            objective_function_value=info.objective_function_value,
            mip_dual_bound=info.mip_dual_bound - 1,
        )

    changed(monkeypatch, less)
    with pytest.raises(SolverFailure, match=r"a bound that is not reached \(by 1\)"):
        fo.solve(INST, Whole())


def test_a_point_that_breaks_a_constraint_or_is_worth_another_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def more(problem: Any) -> None:
        for variable in problem.variables():
            variable.save_value(variable.value * 2)

    changed(monkeypatch, more)
    with pytest.raises(SolverFailure, match="told optimal, with a"):
        fo.solve(INST, Whole())


def test_a_pattern_is_worth_what_the_search_told(monkeypatch: pytest.MonkeyPatch) -> None:
    inst = fo.Instance([[1, 0.2], [0.3, 1], [1, 1]], [[4, 4]])
    notion = fo.BottleneckMaxFair("milp", objective="most-tasks")
    assert fo.solve(inst, notion).certificate.certified

    monkeypatch.setattr(conic, "bounded", lambda problem, settings: None)
    run = conic.run

    def other(program: Program, instance: fo.Instance, settings: Any) -> Any:
        found = run(program, instance, settings)
        if settings is conic.INTEGER:
            program.__dict__["objective"] = program.objective + 1.0
        return found

    monkeypatch.setattr(conic, "run", other)
    with pytest.raises(SolverFailure, match="once it is fixed"):
        fo.solve(inst, notion)


@pytest.mark.parametrize("part", ["too many tasks", "beyond its bound", "nothing"])
def test_lies_of_a_solver_change_no_bound_of_whole_tasks(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    from scipy import optimize

    milp = optimize.milp

    def other(*given: Any, **more: Any) -> Any:
        found = milp(*given, **more)
        if part == "too many tasks":
            found.x = found.x + 1
            found.mip_dual_bound = -1e9
        elif part == "nothing":
            found.x = None
        else:
            found.mip_dual_bound = -float(np.sum(found.x)) + 1
        return found

    assert optimum(INST).total == 4
    monkeypatch.setattr(optimize, "milp", other)
    found = optimum(INST)
    assert found.total <= 4 <= found.bound
    tasks = found.allocation.tasks
    assert (tasks == np.round(tasks)).all() and tasks.sum() == found.total
    assert (INST.used(tasks) <= INST.pool).all()


def test_the_version_with_wrong_optima_is_excluded() -> None:
    from packaging.requirements import Requirement

    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    needs = [Requirement(one) for one in tomllib.loads(text)["project"]["dependencies"]]
    highs = next(one for one in needs if one.name == "highspy")
    assert "1.14.0" not in highs.specifier and "1.15.1" in highs.specifier
