"""The general solvers: their ladder, their points, their failures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairopt as fo
from fairopt import criteria
from fairopt.solving.engines.programs import conic
from tests.engine_cases import ONE_RESOURCE, judged, question


def _program() -> object:
    score = criteria.score(ONE_RESOURCE, "tasks")
    return fo.ProportionalFair().program(ONE_RESOURCE, score, np.array([2.4, 4.8]))


@pytest.mark.parametrize("solver", ["clarabel", "ecos", "scs"])
def test_every_rung_finds_tasks_and_prices(solver: str) -> None:
    for rung in conic.ladder(solver, linear=False):
        point, status = conic.run(_program(), ONE_RESOURCE, rung)
        assert status.startswith("optimal")
        np.testing.assert_allclose(point.x, [4.0, 4.0], rtol=1e-4)
        assert judged(question(ONE_RESOURCE, 1.0), point).gap < 1e-3


def test_the_order_of_the_ladder() -> None:
    order = [rung.solver for rung in conic.ladder("auto", linear=False)]
    assert order == sorted(order, key=["CLARABEL", "ECOS", "SCS"].index)
    assert conic.ladder("auto", linear=True)[0].solver == "HIGHS"


def test_a_solver_without_time_fails_or_is_judged() -> None:
    rung = conic.ladder("clarabel", linear=False)[0]
    short = replace(rung, options=(*rung.options, ("time_limit", 0.0)))
    try:
        point, status = conic.run(_program(), ONE_RESOURCE, short)
    except fo.SolverFailure as failure:
        assert rung.label in str(failure)
    else:
        assert status != "optimal" or judged(question(ONE_RESOURCE, 1.0), point).certified


def test_a_setting_the_solver_does_not_know() -> None:
    with pytest.raises(fo.SolverFailure, match="odd"):
        conic.run(_program(), ONE_RESOURCE, conic.Settings("odd", "NO_SUCH_SOLVER"))
