"""Points: made feasible exactly, prices per unit."""

from __future__ import annotations

import numpy as np

import fairopt as fo
from fairopt import criteria
from fairopt.solving.engines.point import AlphaQuestion, Point

INST = fo.Instance(
    [[1, 4], [3, 1]], [[9, 18], [6, 0]], limit=[2.0, np.inf], placement=[[1, 0], [1, 1]]
)


def test_a_point_too_large_is_scaled_to_fit() -> None:
    point = Point(np.array([100.0, np.nan]), np.ones((2, 2)), np.ones(2))
    tasks = point.tasks(INST)
    assert tasks.shape == (2, 2)
    assert tasks[0, 0] == 2.0 and not tasks[1].any()
    assert (INST.used(tasks) <= INST.pool).all()


def test_money_becomes_prices() -> None:
    point = Point(np.zeros(2), np.array([[9.0, -1.0], [3.0, 5.0]]), np.array([4.0, 7.0]))
    p, mu = point.prices(INST)
    np.testing.assert_array_equal(p, [[1.0, 0.0], [0.5, 0.0]])  # nothing of a resource not there
    np.testing.assert_array_equal(mu, [2.0, 0.0])  # no price on a limit nobody has


def test_a_question_in_natural_units() -> None:
    question = AlphaQuestion.of(INST, criteria.score(INST, "tasks"), 2.0, True)
    np.testing.assert_allclose(question.use, [[1 / 9, 4 / 18], [3 / 9, 1 / 18]])
    np.testing.assert_array_equal(question.log_w, [0.0, 0.0])
    assert question.at(3.0, question.log_w).alpha == 3.0
