"""One step along the path: a predictor to the border, and a centred step that corrects it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairopt.instance import Floats
from fairopt.solving.engines.path.state import Conditions, Errors
from fairopt.solving.engines.path.system import System

DAMPED, IDLE = 1e-7, 1e-2
"""part of what a column costs that makes it stiff in any case; part of its user's share that it
counts as at least"""
LAST = 1e-16
"""least mean product aimed at"""
LONG, FURTHER, SPREAD, CORRECTORS, LARGE = 0.5, 0.3, 10.0, 2, 2000
"""more correctors where a step is shorter; by how much they should lengthen it; how far apart
products may be there; how many, and of how many pairs on"""
Direction = Callable[[Floats, Floats], Floats]


def direction(of: Conditions, state: Floats, e: Errors) -> Direction:
    """(change of products (pairs,), of the values' logarithms (N,)) -> the step that makes it and
    removes all errors.

    Raises
    ------
    ArithmeticError, numpy.linalg.LinAlgError : the system has no factor.
    """
    s, frame, active = of.parts(state), of.frame, of.active
    scale = frame.to(e.pays)
    scale[frame.count :] = np.abs(e.cost[frame.count :]) + 1e-3 * s.price.mean()
    held = s.z.copy()
    held[: frame.count] = np.maximum(held[: frame.count], IDLE * e.share[frame.owner])
    hard = s.dear / s.z + DAMPED * scale / held
    np.add.at(hard, frame.place, frame.by**2 * s.own / s.left)
    fall = np.where(active, of.alpha * s.value / s.share, 0.0)
    heat = fall.copy()
    heat[of.floored] += s.nu / s.above
    stiff = of.of_users(s.rent / s.room, "limited") if len(of.limited) else None
    system = System(frame, 1.0 / hard, heat, stiff, s.w / s.price)

    def found(change: Floats, bend: Floats) -> Floats:
        cz, cw, cl, co, cf = (change[part] for part in of.slices[:5])
        lift = -fall * e.shares - np.where(active, s.value * bend, 0.0)
        lift[of.floored] += (cf - s.nu * e.floors) / s.above
        right = cz / s.z - e.columns
        # what lone columns would pay more if they stayed where they are
        stay = (co - s.own * e.lone) / s.left
        np.subtract.at(right, frame.place, frame.by * stay)
        at = of.of_users((cl - s.rent * e.limits) / s.room, "limited")
        z, gained, used, price = system.step(right, lift, at, e.rows - cw / s.price)
        share = np.where(active, gained + e.shares, 0.0)
        room = e.limits - used[of.limited]
        above = gained[of.floored] + e.floors
        left = e.lone - frame.by * z[frame.place]
        return np.concatenate(
            [
                z,
                (cw - s.w * price) / s.price,
                room,
                left,
                above,
                (cz - s.dear * z) / s.z,
                price,
                (cl - s.rent * room) / s.room,
                (co - s.own * left) / s.left,
                (cf - s.nu * above) / s.above,
                share,
                np.where(active, -fall * share - s.value * bend, 0.0),
            ]
        )

    return found


def reach(state: Floats, change: Floats) -> float:
    """The longest step that keeps all parts positive."""
    return 1.0 / max(-float((change / state).min()), 1e-300)


def step(of: Conditions, state: Floats, e: Errors) -> tuple[Floats, float] | None:
    """The next state, and the mean product of this one in users' money; None if there is none."""
    try:
        way = direction(of, state, e)
    except (ArithmeticError, np.linalg.LinAlgError):
        return None
    b, n = of.pairs, of.frame.users
    products, due = of.products(state), of.measure(state, e)
    mean = float((products / due).mean())
    if not mean > 0:
        return None
    aim = way(-products, e.curve)
    if not np.isfinite(aim).all():
        return None
    length = min(1.0, reach(state, aim))
    square = aim[:b] * aim[b : 2 * b]
    rest = (1 - length) * mean + length**2 * float((square / due).mean())
    goal = max(mean * min(1.0, max(rest, 0.0) / mean) ** 3, LAST) * due
    rises, falls = (aim[a : a + n] / state[a : a + n] for a in (2 * b, 2 * b + n))
    bend = e.curve - np.minimum((falls**2 + of.alpha * rises**2) / 2, 0.5)
    most = 10 * mean * due
    change = goal - products - np.clip(square, -most, most)
    go = way(change, bend)
    go = _corrected(of, state, way, go, change, bend, goal)
    # near the end almost the whole way to the border
    far = min(1.0, max(mean, float(np.abs(e.curve).max())))
    short = 1 - min(0.1, max(far**1.5, 1e-9))
    return state + min(1.0, short * reach(state, go)) * go, mean


def _corrected(
    of: Conditions,
    state: Floats,
    way: Direction,
    go: Floats,
    change: Floats,
    bend: Floats,
    goal: Floats,
) -> Floats:
    """A step that pulls in products that are far from the others, if it is longer; worth it where
    a factor is dear."""
    b = of.pairs
    length = min(1.0, reach(state, go))
    for _ in range(CORRECTORS if b > LARGE else 0):
        if length > LONG:
            break
        end = state + min(1.0, length + FURTHER) * go
        there = end[:b] * end[b : 2 * b]
        pulled = np.clip(there, goal / SPREAD, SPREAD * goal) - there
        changed = change + np.maximum(pulled, -SPREAD * goal)
        other = way(changed, bend)
        longer = min(1.0, reach(state, other))
        if longer < length + 0.1 * FURTHER:
            break
        go, length, change = other, longer, changed
    return go


__all__ = ["direction", "reach", "step"]
