"""Search a better feasible answer to (16), which refutes one: SciPy searches, NumPy checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.witness import best_step
from fairopt.formulas import penalties
from fairopt.formulas.penalties import Terms
from fairopt.instance import Floats

LARGEST = 20_000
"""no witness is searched for instances of more pairs"""


def better(alloc: Allocation, terms: Terms, rounds: int = 80) -> tuple[Floats, float]:
    """Tasks (N, I) of a feasible allocation of larger objective, and by how much it is larger.

    The rise is in units of sum phi size^(1-alpha) as in `tradeoff_bound`, computed in NumPy from
    the tasks returned; 0 when nothing better was found. Conditional gradients: the best vertex for
    the slopes at the present point, then the best mixture of all points met (Newton on weights).
    """
    from scipy.optimize import linprog

    from fairopt.certificates.tradeoff_sheet import Sheet

    inst = alloc.instance
    n, i = inst.pairs
    if len(n) > LARGEST:
        return alloc.tasks, 0.0
    rows, equal = _rows(alloc, terms)
    size = inst.alone[n, i]
    start = np.maximum(alloc.tasks[n, i], 0.0)
    start = start / max(float((rows @ (start / size)).max()), 1.0)
    sheet = Sheet(alloc, terms)
    unit = sheet.size
    if not np.isfinite(sheet.w_f + sheet.w.sum()) or unit == np.inf:
        return alloc.tasks, 0.0  # objectives beyond floating point are not compared

    def spread(x: Floats) -> Floats:
        tasks = np.zeros(inst.shape[:2])
        tasks[n, i] = x
        return tasks

    def value(x: Floats) -> float:
        return _scaled(alloc, terms, spread(x), unit)

    base, x = value(start), start
    if not np.isfinite(base):  # somebody has nothing: begin inside, where slopes are finite
        x = 0.9 * start + 0.1 * size / max(float(rows.sum(axis=1).max()), 1.0)
    met, part = x[:, None], np.ones(1)
    for _ in range(rounds):
        sheet = Sheet(alloc.with_(tasks=spread(x)), terms)
        gain = sheet.gradient() * sheet.u * size
        top = float(np.abs(gain).max())
        if not (np.isfinite(top) and top > 0):
            break
        found: Any = linprog(
            -gain / top, A_ub=rows, b_ub=np.ones(len(rows)), A_eq=equal,
            b_eq=None if equal is None else np.zeros(len(equal)), method="highs",
        )  # fmt: skip
        if found.x is None:
            break
        target = np.maximum(found.x, 0.0)
        target = target / max(float((rows @ target).max()), 1.0) * size
        step = best_step(value, x, target)
        met, part = np.column_stack([met, target]), np.append(part * (1 - step), step)
        for _ in range(20):
            moved = _mixed(Sheet(alloc.with_(tasks=spread(met @ part)), terms), met, part, value)
            if moved is None:
                break
            part = moved
        met, part = met[:, part > 0], part[part > 0]
        if not value(met @ part) > value(x) + 1e-15 * abs(value(x)):
            break
        x = met @ part
    x = x / max(float((rows @ (x / size)).max()), 1.0)
    gained = value(x) - base
    return (spread(x), gained) if gained > 0 else (alloc.tasks, 0.0)


def _mixed(sheet: Any, met: Floats, part: Floats, value: Any) -> Floats | None:
    """Better weights of the points met, by one Newton step with sum 1 kept; None if there are none.

    A weight that the step would take below 0 goes to 0 and stays there.
    """
    used = part > 0
    points = met[:, used] * sheet.u[:, None]
    slope = points.T @ sheet.gradient()
    levels = np.array([sheet.per_user(x) for x in points.T]).T / sheet.unit[:, None]
    apart = np.array([sheet.centred(x) for x in points.T]).T
    bend = levels.T @ ((sheet.alpha * sheet.v / sheet.held)[:, None] * levels)
    away = levels - levels.mean(axis=0)
    bend += sheet.w_f * away.T @ away + apart.T @ (np.asarray(sheet.w)[:, None] * apart)
    k = len(slope)
    system = np.zeros((k + 1, k + 1))
    system[:k, :k] = bend + 1e-12 * np.trace(bend) * np.eye(k)
    system[:k, k] = system[k, :k] = 1.0
    step = np.zeros_like(part)
    step[used] = np.linalg.lstsq(system, np.append(slope, 0.0), rcond=None)[0][:k]
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(step < 0, -part / step, np.inf)
    length, base = min(1.0, float(reach.min())), value(met @ part)
    for _ in range(30):
        moved = np.maximum(part + length * step, 0.0)
        if length == float(reach.min()):
            moved[int(np.argmin(reach))] = 0.0
        moved /= moved.sum()
        if value(met @ moved) > base:
            return np.asarray(moved, dtype=np.float64)
        length /= 2
    return None


def _scaled(alloc: Allocation, terms: Terms, tasks: Floats, unit: float) -> float:
    """(16) in units of sum phi unit^(1-alpha), levels counted in `unit`."""
    inst = alloc.instance
    with np.errstate(over="ignore"):
        scale = float(np.float64(unit) ** (1 + terms.alpha) / inst.weight.sum())
    dominant = alloc.score * tasks / unit
    scaled = Terms(terms.alpha, terms.t_pf * scale, terms.t_drf * scale, False, False)
    level = dominant.sum(axis=1) / inst.weight
    gain = penalties.omega(inst, level, terms.alpha) / float(inst.weight.sum())
    if scaled.t_pf:
        gain -= scaled.t_pf * penalties.across(level)
    if scaled.t_drf:
        gain -= scaled.t_drf * float(penalties.within(inst, dominant).sum())
    return gain


def _rows(alloc: Allocation, terms: Terms) -> tuple[Floats, Floats | None]:
    """Capacities and limits (K, P), hard forms (E, P), of pairs in what each could have alone."""
    inst = alloc.instance
    n, i = inst.pairs
    users, servers, resources = inst.shape
    pairs, size = np.arange(len(n)), inst.alone[n, i]
    use = np.zeros((servers, resources, len(n)))
    use[i, :, pairs] = inst.pair_part * size[:, None]
    limits = np.zeros((users, len(n)))
    limits[n, pairs] = size / inst.limit[n]
    rows = np.vstack([use.reshape(servers * resources, -1), limits[np.isfinite(inst.limit)]])
    share = alloc.score[n, i] * size
    equal = []
    if terms.equal_across:
        level = np.zeros((users, len(n)))
        level[n, pairs] = share / inst.weight[n]
        equal.append(level[1:] - level[0])
    if terms.equal_within:
        first = {int(server): int(np.flatnonzero(i == server)[0]) for server in np.unique(i)}
        for h in pairs:
            if first[int(i[h])] != h:
                row = np.zeros(len(n))
                row[h], row[first[int(i[h])]] = share[h], -share[first[int(i[h])]]
                equal.append(row[None, :])
    return rows, np.vstack(equal) if equal else None
