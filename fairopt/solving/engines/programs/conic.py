"""General solvers through cvxpy: they solve a notion's program; their status is not relied on."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from fairopt import clock
from fairopt.errors import BadInput, Fault, MissingExtra, SolverFailure, UsageError
from fairopt.formulas.parameters import words
from fairopt.instance import Floats, Instance
from fairopt.program import Program
from fairopt.solving.engines.point import Point


@dataclass(frozen=True)
class Settings:
    """A solver with its options, and the label for the steps of an answer."""

    label: str
    solver: str
    options: tuple[tuple[str, Any], ...] = ()


def _clarabel(label: str, tolerance: float, **more: Any) -> Settings:
    # on these programs qdldl was faster and more accurate than the default
    options = {
        "direct_solve_method": "qdldl",
        "max_iter": 400,
        "tol_gap_abs": tolerance,
        "tol_gap_rel": tolerance,
        "tol_feas": tolerance,
        "tol_infeas_abs": 1e-14,
        "tol_infeas_rel": 1e-14,
        **more,
    }
    return Settings(label, "CLARABEL", tuple(options.items()))


def _ecos(label: str, tolerance: float) -> Settings:
    tolerances = tuple((name, tolerance) for name in ("abstol", "reltol", "feastol"))
    return Settings(label, "ECOS", (*tolerances, ("max_iters", 400)))


_LADDERS: dict[str, tuple[Settings, ...]] = {
    "clarabel": (
        _clarabel("clarabel", 1e-11),
        _clarabel("clarabel, looser", 1e-8),
        _clarabel(
            "clarabel, regularised",
            1e-9,
            static_regularization_constant=1e-7,
            iterative_refinement_max_iter=50,
            equilibrate_max_scaling=1e8,
        ),
    ),
    "ecos": (_ecos("ecos", 1e-11), _ecos("ecos, looser", 1e-8)),
    "scs": (Settings("scs", "SCS", (("eps_abs", 1e-9), ("eps_rel", 1e-9), ("max_iters", 20_000))),),
    "highs": (Settings("highs", "HIGHS", (("threads", 1),)),),
}
EXACT = Settings(
    "highs",
    "HIGHS",
    (
        ("threads", 1),
        ("primal_feasibility_tolerance", 1e-10),
        ("dual_feasibility_tolerance", 1e-10),
        ("small_matrix_value", 1e-12),
    ),
)
"""HiGHS with tight tolerances, for sequences of programs, in which errors add up"""
NODES = 20_000
"""the search for a pattern is given up after so many nodes: the instance is too large"""
INTEGER = Settings(
    "highs",
    "HIGHS",
    (
        *EXACT.options,
        ("mip_feasibility_tolerance", 1e-9),
        ("mip_rel_gap", 1e-9),
        ("mip_max_nodes", NODES),
    ),
)
BOUND = 1e-6
"""part by which a mixed-integer optimum may differ from what its own bound says"""
_MODULE = {"clarabel": "clarabel", "ecos": "ecos", "scs": "scs", "highs": "highspy"}
SOLVERS = tuple(_LADDERS)
TIMED = {"CLARABEL": "time_limit", "SCS": "time_limit_secs", "HIGHS": "time_limit"}
"""what a solver calls the seconds that it may take"""


def ladder(solver: str, linear: bool) -> tuple[Settings, ...]:
    """The solvers to try, in order.

    Parameters
    ----------
    solver : "auto" or the name of one. linear : whether the program is linear (HiGHS first).

    Raises
    ------
    MissingExtra : the solver named is not installed.
    """
    if solver != "auto":
        if find_spec(_MODULE[solver]) is None:
            extra = "fairopt[ecos]" if solver == "ecos" else _MODULE[solver]
            raise MissingExtra(f"solver {solver} is not installed: pip install '{extra}'")
        return _LADDERS[solver]
    order = ("highs", "clarabel", "ecos", "scs") if linear else ("clarabel", "ecos", "scs")
    return tuple(s for name in order if find_spec(_MODULE[name]) for s in _LADDERS[name])


def able(program: Program) -> tuple[Settings, ...]:
    """The solvers to try, in order, among those that can solve a program of this class."""
    problem = convex(program)
    names = solvers_for(problem)
    rungs = ladder("auto", bool(problem.is_lp()))
    if problem.is_mixed_integer():
        rungs = (INTEGER,)
    return tuple(rung for rung in rungs if rung.solver.lower() in names)


def run(program: Program, instance: Instance, settings: Settings) -> tuple[Point, str]:
    """Solve one program with one solver: the point at which it ended, and the status it reports.

    Raises
    ------
    SolverFailure : the solver stopped without a point.
    UsageError : the solver cannot solve programs of this class; the message names those that can.
    """
    x, price, status = run_ruled(program, settings)
    return Point.paid(instance, x, program.space.low.named(price)), status


def run_ruled(program: Program, settings: Settings) -> tuple[Floats, Floats, str]:
    """Solve a program over all rules: tasks (P,) of the columns, prices (M,) of the rows, status.

    Prices are in the unit of the objective.

    Raises
    ------
    SolverFailure, UsageError : as of `run`.
    """
    space = program.space
    problem = ended(program, settings)
    x = np.maximum(space.y.value, 0.0) * space.pair_unit
    price = np.empty(len(space.low.rhs))
    price[space.low.by_server] = _dual(space.rules)
    return x, price / space.low.unit, str(problem.status)


def ended(program: Program, settings: Settings) -> Any:
    """The cvxpy problem after one solver, with a finite point.

    Raises
    ------
    SolverFailure, UsageError : as of `run`.
    """
    import cvxpy as cp

    problem = convex(program)
    space = program.space
    try:
        with warnings.catch_warnings():
            # cvxpy warns of inaccurate answers; here the certificate judges them
            warnings.simplefilter("ignore")
            problem.solve(solver=settings.solver, warm_start=False, **_timed(settings))
    except (cp.SolverError, ArithmeticError, ValueError) as error:
        others = solvers_for(problem)
        if settings.solver.lower() in set(SOLVERS) - set(others):
            raise UsageError(
                f"solver: {settings.solver.lower()} cannot state this program; wanted "
                f"{', '.join(others) or 'another program: none of ours can'}"
            ) from error
        raise SolverFailure(f"{settings.label}: {error}") from error
    if space.y.value is None or not np.isfinite(space.y.value).all():
        raise SolverFailure(f"{settings.label}: {problem.status}")
    if problem.is_mixed_integer() and problem.status == "optimal":
        bounded(problem, settings)
    return problem


def _timed(settings: Settings) -> dict[str, Any]:
    """The options of a solver, and the time that is left for it; ECOS knows no limit."""
    name, left = TIMED.get(settings.solver), clock.left()
    clock.tick()
    return {**dict(settings.options), **({name: left} if name and left < math.inf else {})}


def bounded(problem: Any, settings: Settings) -> None:
    """Hold a mixed-integer optimum to what can be worked out without the search that found it.

    Raises
    ------
    SolverFailure : the point found breaks a constraint, is not worth what is told, or is not what
        the solver's own bound says the best is.
    """
    told, worth = float(problem.value), float(problem.objective.value)
    near = BOUND * max(1.0, abs(told))
    broken = max(
        (float(np.max(one.violation(), initial=0.0)) for one in problem.constraints), default=0.0
    )
    info = problem.solver_stats.extra_stats
    away = (
        abs(float(info.objective_function_value) - float(info.mip_dual_bound))
        if (hasattr(info, "mip_dual_bound"))
        else 0.0
    )
    for what, by in (
        ("a point worth another number", abs(told - worth)),
        ("a constraint that is broken", broken),
        ("a bound that is not reached", away),
    ):
        if not by <= near:
            raise SolverFailure(f"{settings.label}: told optimal, with {what} (by {by:.2g})")


def convex(program: Any) -> Any:
    """The cvxpy problem of a program, which may be of somebody's own notion.

    Raises
    ------
    BadInput : no program, or one that cvxpy does not know to be convex.
    """
    if not isinstance(program, Program):
        raise BadInput([Fault("program", words(program), "a fairopt.program.Program")])
    try:
        problem = program.problem()
    except Exception as error:  # whatever cvxpy says of what is no expression of its own
        said = " ".join(str(error).split())[:200]
        raise BadInput([Fault("program", said, "an objective and constraints of cvxpy")]) from error
    if problem.is_dcp():
        return problem
    wrong = [] if problem.objective.is_dcp() else [("objective", program.objective)]
    wrong += [("constraint", one) for one in problem.constraints if not one.is_dcp()]
    rules = "by the rules of disciplined convex programming (https://dcp.stanford.edu)"
    kind = {"objective": f"a concave one {rules}", "constraint": f"a convex one {rules}"}
    raise BadInput([Fault(f"program, {of}", str(one)[:120], kind[of]) for of, one in wrong])


def solvers_for(problem: Any) -> tuple[str, ...]:
    """Names of the general solvers that can solve this cvxpy problem and are installed."""
    import cvxpy as cp

    found = []
    for name in SOLVERS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                problem.get_problem_data(name.upper())
        except (cp.SolverError, ArithmeticError, ValueError):
            continue
        found.append(name)
    return tuple(found)


def _dual(constraint: Any) -> Floats:
    value = constraint.dual_value
    if value is None:
        return np.zeros(constraint.size)
    return np.maximum(np.nan_to_num(np.asarray(value, dtype=np.float64)), 0.0)
