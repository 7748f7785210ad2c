"""The programs of rounds, and of alpha-fairness over all rules, by general solvers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats
from fairopt.notions.alpha_fair import kept, ruled
from fairopt.notions.max_min import MaxMin
from fairopt.solving.engines.programs import conic
from fairopt.solving.engines.quotas.model import LevelOptimum


def of_rounds(
    notion: MaxMin, low: Lowered, unit: Floats, settings: conic.Settings
) -> Callable[[Floats, Floats, float, float], LevelOptimum]:
    """(slope, offset, least, most) -> the optimum of the notion's own program of a round."""

    def solver(slope: Floats, offset: Floats, least: float, most: float) -> LevelOptimum:
        program = notion.round(low, unit, slope, offset, least, most)
        x, price, _ = conic.run_ruled(program, settings)
        t = float(program.objective.value)
        return LevelOptimum(min(max(t, least), most), x, price)

    return solver


def fair(
    low: Lowered,
    log_w: Floats,
    alpha: float,
    floor: Floats,
    added: bool,
    unit: Floats,
    settings: conic.Settings,
) -> tuple[Floats, Floats, Floats, str]:
    """Tasks (P,), prices (M,) of rows and (N,) of floors, status, by one general solver."""
    program = ruled(low, log_w, alpha, floor, added, unit)
    x, price, status = conic.run_ruled(program, settings)
    nu = np.zeros(len(unit))
    held = kept(floor, alpha, added)
    if len(held):
        dual = np.maximum(np.asarray(program.definition[0].dual_value, dtype=np.float64), 0.0)
        nu[held] = dual / unit[held]
    return x, price, nu, status
