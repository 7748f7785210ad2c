"""The one text of the feasible set, and the programs made of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairopt as fo
from fairopt import criteria
from fairopt.notions import Notion
from fairopt.program import feasible_set, usage_matrix

MODELS = ["edge/limits", "edge/demand-by-server", "edge/zero-capacity", "edge/servers-only-some"]
NOTIONS = [fo.Throughput(), fo.ProportionalFair("drf"), *(fo.AlphaFair(a) for a in (0, 0.5, 1, 7))]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("notion", NOTIONS, ids=repr)
def test_programs_are_disciplined_and_have_only_eligible_pairs(name: str, notion: Any) -> None:
    inst = fo.read(name).instance
    program = notion.program(inst, criteria.score(inst, "tasks"), np.ones(inst.shape[0]))
    problem = program.problem()
    assert problem.is_dcp()
    assert program.space.y.size == int(inst.eligible.sum())
    # besides the pairs only what defines s^(1-alpha)
    extra = [v for v in problem.variables() if v is not program.space.y]
    assert sum(v.size for v in extra) in (0, inst.shape[0])


@pytest.mark.parametrize("solver", ["ECOS", "SCS"])
def test_a_program_read_in_tasks(solver: str) -> None:
    """x[n,i] of the solved problem, and a constraint of the reader's own on it."""
    inst = fo.read("kesidis2016/no-penalty").instance
    notion = fo.ProportionalFair("dominant-share")
    score = criteria.score(inst, "dominant-share")
    program = notion.program(inst, score, np.ones(3))
    x, problem = program.tasks(inst), program.problem()
    problem.solve(solver=solver)
    assert x.shape == (3, 2)
    found = (score * x.value).sum(axis=1)
    np.testing.assert_allclose(found, fo.solve(inst, notion).shares, rtol=1e-3)
    import cvxpy as cp

    less = cp.Problem(problem.objective, [*problem.constraints, x[0, 0] <= 1])
    less.solve(solver=solver)
    assert x.value[0, 0] <= 1 + 1e-4


@pytest.mark.parametrize(
    ("notion", "words"),
    [
        (fo.MaxMin(), "a program a level"),
        (fo.PerServerDominantShare(), "a mixed-integer program"),
        (fo.PerServerDominantShare("tdm"), "another notion on another instance"),
    ],
)
def test_a_notion_of_another_way_says_which(notion: Any, words: str) -> None:
    inst = fo.read("khamse2016/figure-1").instance
    with pytest.raises(fo.UsageError, match=words):
        notion.program(inst, np.ones((3, 2)), np.ones(3))


@pytest.mark.parametrize("name", MODELS)
def test_the_set_is_the_instance_s_own(name: str) -> None:
    """Usage, limits and shares of some tasks, against the instance's, in uneven units."""
    inst = fo.read(name).instance
    score = criteria.score(inst, "dominant-share")
    unit = np.linspace(0.5, 2.0, inst.shape[0])
    space = feasible_set(inst, score, unit)
    tasks = np.arange(1.0, inst.eligible.size + 1).reshape(inst.shape[:2]) * inst.eligible
    space.y.value = tasks[inst.pairs] / space.pair_unit
    np.testing.assert_allclose(space.share.value * unit, (score * tasks).sum(axis=1), rtol=1e-12)
    usage, (server, resource) = usage_matrix(inst)
    part = inst.used(tasks)[server, resource] / inst.pool[server, resource]
    np.testing.assert_allclose(usage @ tasks[inst.pairs], part, rtol=1e-12)
    # every row that somebody uses is there
    used = inst.used(tasks) > 0
    assert set(zip(server, resource, strict=True)) == set(zip(*np.nonzero(used), strict=True))
    limited = space.limited
    assert list(limited) == list(np.flatnonzero(np.isfinite(inst.limit)))
    # the rows of the constraint: parts of capacities, then of limits
    rows = np.empty(space.rules.size)
    rows[space.low.by_server] = space.rules.args[0].value
    running = tasks.sum(axis=1)[limited] / inst.limit[limited]
    np.testing.assert_allclose(rows, np.concatenate([part, running]), rtol=1e-12)
    assert space.flows is None


def test_a_program_of_other_arguments_is_named() -> None:
    class Mine(Notion):
        def program(self, instance: Any) -> Any:  # type: ignore[override]
            return None

    with pytest.raises(fo.BadInput, match=r"Mine.program\(instance.*wanted.*instance, score, unit"):
        fo.solve(fo.Instance([[1, 2]], [[3, 4]]), Mine())
