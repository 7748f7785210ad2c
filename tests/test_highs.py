"""Models of HiGHS: a signal ends the run of a large one, which HiGHS itself would not heed."""

from __future__ import annotations

import signal
from typing import Any

import highspy
import numpy as np
import pytest
from scipy.sparse import random

from fairopt import highs


class Told(Exception):
    """What the signal raises."""


def test_a_signal_ends_the_run_of_a_large_model() -> None:
    columns, rows = 9_500, 600  # seconds of the simplex method
    matrix = random(rows, columns, density=0.05, random_state=1, format="csc")
    matrix.data += 0.1
    least, most = np.zeros(columns), np.full(columns, np.inf)
    cost = -np.random.default_rng(1).random(columns)
    model = highs.quiet()
    below = np.full(rows, -np.inf), np.ones(rows)
    model.passModel(highs.program(cost, (least, most), below, matrix))

    def told(*_: Any) -> None:
        raise Told

    before = signal.signal(signal.SIGALRM, told)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(Told):
            highs.run(model)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert model.getModelStatus() != highspy.HighsModelStatus.kOptimal
