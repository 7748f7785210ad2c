"""Measures of one allocation as plain numbers, and the Pareto points of a list of rows.

Pure NumPy functions of tasks and instance. MEASURES is the one table of names; `measure` gives
them all. What is undefined (a resource that nobody offers) is None, never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fairopt import criteria
from fairopt.allocation import Allocation
from fairopt.errors import UsageError
from fairopt.formulas import blocked_rules
from fairopt.instance import Floats, Instance

FULL = 1e-6
"""a resource of which a smaller part is free counts as full, as in `Allocation.blocked`"""


class Measure(NamedTuple):
    """What a measure is: formula, source, unit, and which end of it is better (None: neither)."""

    formula: str
    source: str
    unit: str
    better: str | None


MEASURES: dict[str, Measure] = {
    "efficiency": Measure("sum_n phi_n x_n", "kesidis2018 (2), (17)", "weighted tasks", "highest"),
    "sqrt_var_f": Measure(
        "sqrt(sum_n (F_n - mean F)^2 / N), F_n = sum_i u[n,i] x[n,i] / phi_n, "
        "u[n,i] = max_r d[n,r]/c[i,r]",
        "kesidis2016 (11), (16)",
        "dominant shares",
        "lowest",
    ),
    "sqrt_sum_v": Measure(
        "sqrt(sum_i count_i V_i), V_i the variance of u[n,i] x[n,i] / count_i over the users "
        "eligible on i, 0 where nobody is",
        "kesidis2016 (15), (16)",
        "dominant shares",
        "lowest",
    ),
    "utilisation": Measure(
        "sum_i sum_n x[n,i] d[n,r] / sum_i count_i c[i,r]; one key for each resource, "
        "utilisation.NAME",
        "kesidis2018 (1)",
        "part of the capacity",
        "highest",
    ),
    "min_level": Measure(
        "min_n U_n, U_n = s_n / phi_n with the scores of the answer",
        "kesidis2018 (3)",
        "shares of the criterion",
        "highest",
    ),
    "max_level": Measure("max_n U_n", "kesidis2018 (3)", "shares of the criterion", None),
    "jain": Measure(
        "(sum_n U_n)^2 / (N sum_n U_n^2)",
        "Jain, Chiu and Hawe (1984)",
        "between 1/N and 1",
        "highest",
    ),
    "nash_welfare": Measure(
        "(prod_n s_n^phi_n)^(1 / sum phi); 0 when somebody has nothing",
        "Nash (1950), Kaneko and Nakamura (1979)",
        "shares of the criterion",
        "highest",
    ),
    "price_of_fairness": Measure(
        "1 - efficiency / efficiency of Throughput()",
        "Bertsimas, Farias and Trichakis (2011)",
        "part of the efficiency",
        "lowest",
    ),
    "blocked_users": Measure(
        "number of users at their limit, or with a demanded resource full on every server they "
        "may use",
        "kesidis2018, Proposition 1",
        "users",
        None,
    ),
}
"""name -> (formula, source, unit, better); docs/maths/measures.md says what each is good for"""


def measure(
    allocation: Allocation, best_throughput: float | None = None
) -> dict[str, float | None]:
    """Every measure of MEASURES, in its order.

    Parameters
    ----------
    allocation : the answer, of any notion or scheduler.
    best_throughput : the largest efficiency the instance allows, that of `Throughput()`, in
        weighted tasks; without it there is no `price_of_fairness`.

    Returns
    -------
    dict : name -> finite number, or None where undefined (nobody offers the resource, everybody
        has nothing, a number beyond floating point). One key `utilisation.NAME` per resource.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt.measures import measure
    >>> answer = fo.solve(fo.Instance([[1, 4], [3, 1]], [[9, 18]]), fo.MaxMin())
    >>> round(measure(answer)['jain'], 4)
    1.0
    """
    allocation.instance.only_linear("measures")
    # numbers beyond floating point become None below, without a warning
    with np.errstate(over="ignore", invalid="ignore"):
        found = _measured(allocation, best_throughput)
    return {
        name: value if value is not None and math.isfinite(value) else None
        for name, value in found.items()
    }


def _measured(allocation: Allocation, best_throughput: float | None) -> dict[str, float | None]:
    inst, levels = allocation.instance, allocation.levels
    total = efficiency(allocation)
    found: dict[str, float | None] = {"efficiency": total, "sqrt_var_f": None, "sqrt_sum_v": None}
    if allocation.way_tasks is None:  # with modes there is no one dominant share on a machine
        dominant = criteria.score(inst, "dominant-share") * allocation.tasks
        found["sqrt_var_f"] = sqrt_var_f(inst, dominant)
        found["sqrt_sum_v"] = sqrt_sum_v(inst, dominant)
    for name, part in zip(inst.resources, utilisation(allocation), strict=True):
        found[f"utilisation.{name}"] = part
    found["min_level"] = float(levels.min())
    found["max_level"] = float(levels.max())
    found["jain"] = jain(levels)
    found["nash_welfare"] = nash_welfare(allocation.shares, inst.weight)
    if best_throughput is not None:
        found["price_of_fairness"] = price_of_fairness(total, best_throughput)
    found["blocked_users"] = blocked_users(allocation)
    return found


# -- one function per measure -----------------------------------------------------------------


def efficiency(allocation: Allocation) -> float:
    """sum_n phi_n x_n, in weighted tasks (kesidis2018 (2), (17)); with modes x is the output."""
    if allocation.way_tasks is not None:
        return float(allocation.instance.weight @ allocation.output.sum(axis=1))
    return float(allocation.instance.weight @ allocation.totals)


def sqrt_var_f(instance: Instance, dominant: Floats) -> float:
    """Standard deviation (with 1/N) of F_n, the sum of dominant shares over phi_n.

    Parameters
    ----------
    dominant : (N, I), u[n,i] x[n,i] with the scores of `criteria.dominant_share`: a row of k
        machines holds k equal terms of F_n (kesidis2016 (11), (16)).
    """
    f = dominant.sum(axis=1) / instance.weight
    away = f - f.sum() / len(f)
    return math.sqrt(float(away @ away) / len(f))


def sqrt_sum_v(instance: Instance, dominant: Floats) -> float:
    """sqrt sum_i V_i, V_i the variance of dominant shares on a machine (kesidis2016 (15), (16)).

    Over the users eligible there; a row of k machines counts k times, and 0 where nobody is
    eligible.

    Parameters
    ----------
    dominant : (N, I), as for `sqrt_var_f`; 0 where not eligible.
    """
    eligible, count = instance.eligible, instance.count
    size = np.maximum(eligible.sum(axis=0), 1)
    share = dominant / count
    away = (share - share.sum(axis=0) / size) * eligible
    v = (away * away).sum(axis=0) / size
    return math.sqrt(float(v @ count))


def utilisation(allocation: Allocation) -> list[float | None]:
    """Used over capacity of all servers, for each resource; None where there is none of it."""
    used, there = allocation.used.sum(axis=0), allocation.instance.pool.sum(axis=0)
    return [u / c if c > 0 else None for u, c in zip(used.tolist(), there.tolist(), strict=True)]


def jain(levels: Floats) -> float | None:
    """Jain's index (sum U)^2 / (N sum U^2): 1 when all are equal, 1/N when one has everything.

    None when every level is 0.
    """
    total, squares = float(levels.sum()), float(levels @ levels)
    return total * total / (len(levels) * squares) if squares > 0 else None


def nash_welfare(shares: Floats, weight: Floats) -> float:
    """Weighted geometric mean of the shares, in logarithms; 0 when somebody has nothing."""
    if float(shares.min()) <= 0.0:
        return 0.0
    part = weight / weight.max()
    return math.exp(float(part @ np.log(shares)) / float(part.sum()))


def price_of_fairness(total: float, best: float) -> float | None:
    """1 - total / best, the part of the efficiency that fairness costs; None unless best > 0."""
    return 1.0 - total / best if best > 0 else None


def blocked_users(allocation: Allocation) -> int:
    """Users who can get no more anywhere unless another gets less.

    Such a user is at its limit, or on every server it may use a resource it demands is full (to
    one part in 1e6). In a Pareto-optimal answer these are all users; fewer where a notion leaves
    resources idle.
    """
    inst = allocation.instance
    if not inst.plain:
        return int((~blocked_rules.free(inst, allocation.by_way)).sum())
    n, i = inst.pairs
    stopped = ((allocation.utilisation[i] >= 1 - FULL) & (inst.pair_demand > 0)).any(axis=1)
    free = np.zeros(len(inst.users), dtype=bool)
    free[n[~stopped]] = True
    return int((~free | (allocation.totals >= inst.limit * (1 - FULL))).sum())


# -- trade-offs between two measures ----------------------------------------------------------


def frontier(
    rows: Iterable[Mapping[str, Any]], x: str, y: str, lowest: Sequence[str] | None = None
) -> list[Mapping[str, Any]]:
    """The Pareto points of two measures among rows.

    A row is a Pareto point unless another row is at least as good in both measures and better in
    one; equal rows are all kept or all dropped. Rows where either measure is missing or None
    (failed solves) are left out. Nothing is rounded: a point may be better by its last digit.

    Parameters
    ----------
    rows : mappings with a mapping "measures" in them, or with the measures themselves.
    x, y : names of measures, such as "efficiency" and "sqrt_var_f".
    lowest : which of x and y are better when lower; default by MEASURES.

    Returns
    -------
    list of the rows themselves, sorted by x and then y, ascending; equal ones in input order.

    Raises
    ------
    UsageError : MEASURES does not say which end of a measure is better, and `lowest` is not
        given; no row has a measure of that name; `lowest` names other measures than x and y.

    Examples
    --------
    >>> rows = [{"efficiency": 3.0, "sqrt_var_f": 0.5}, {"efficiency": 2.0, "sqrt_var_f": 0.1},
    ...         {"efficiency": 1.0, "sqrt_var_f": 0.3}]
    >>> [row["efficiency"] for row in frontier(rows, "efficiency", "sqrt_var_f")]
    [2.0, 3.0]
    """
    rows = list(rows)
    known(rows, (x, y))
    sign = [1.0 if less_is_better(name, lowest) else -1.0 for name in (x, y)]
    if lowest is not None and not set(lowest) <= {x, y}:
        raise UsageError(f"lowest: found {', '.join(lowest)}; wanted some of {x}, {y}")
    points = []
    for row in rows:
        a, b = value(row, x), value(row, y)
        if a is not None and b is not None:
            points.append((sign[0] * a, sign[1] * b, row))
    points.sort(key=lambda point: point[:2])
    best: list[Mapping[str, Any]] = []
    least, at = math.inf, math.inf
    for a, b, row in points:
        if b < least or (b == least and a == at):
            best.append(row)
            least, at = b, a
    best.sort(key=lambda row: (value(row, x), value(row, y)))
    return best


def value(row: Mapping[str, Any], name: str) -> float | None:
    """A measure of a row; None where it is missing, None or not finite."""
    found = _numbers(row).get(name)
    if not isinstance(found, (int, float)) or not math.isfinite(found):
        return None
    return float(found)


def less_is_better(name: str, lowest: Iterable[str] | None = None) -> bool:
    """Whether a lower value is better: as `lowest` says if given, else as MEASURES says.

    Raises
    ------
    UsageError : `lowest` is not given and MEASURES does not say.
    """
    if lowest is not None:
        return name in lowest
    entry = about(name)
    if entry is None or entry.better is None:
        raise UsageError(
            f"measure {name}: found no better end; wanted lowest=[...] naming those of which less "
            "is better"
        )
    return entry.better == "lowest"


def about(name: str) -> Measure | None:
    """The entry of MEASURES for a key of `measure`; None for any other name."""
    return MEASURES.get("utilisation" if name.startswith("utilisation.") else name)


def _numbers(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The measures of a row: its mapping "measures", or the row itself where it has none."""
    return (row["measures"] or {}) if "measures" in row else row


def known(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> None:
    """Raise UsageError for a measure that no row has; the message names those that rows have.

    Where no row has any measure (all solves failed), every name passes.
    """
    there = dict.fromkeys(name for row in rows for name in _numbers(row))
    for name in names:
        if there and name not in there:
            raise UsageError(f"measure: found {name!r}; wanted one of {', '.join(there)}")
