"""The end of the path of `penalties.relative`: Newton on held pairs and full rows alone.

A user of small weight is exact only if the unused pairs of others are exactly 0. Pairs and rows
enter and leave the active set until no condition is violated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.solving.engines.penalties.relative_state import Unknowns
from fairopt.solving.engines.penalties.relative_step import RelativeLeft, RelativeSystem
from fairopt.solving.engines.point import Point

MOST, STALL = 150, 5
"""most iterations, and most of them without halving the error"""
ROUNDS = 15
"""most changes of the active set"""
CLEAR, ENTERING, CLOSE = 1e-13, 1e-3, 2e-16
"""part of a share or of money below which it counts as zero, with which one enters the active set,
and the error at which Newton's method stops"""
ROUNDING = 1e-15
"""part of its capacity by which a row may be exceeded"""
FARTHEST = 1.5
"""largest change of a logarithm in a step"""


def polished(z: Unknowns) -> list[Point]:
    """Newton on held pairs and full rows alone; this active set is corrected until it is right.

    Returns the last two points: the last iterate and the one of smallest error. Which of them is
    better depends on rounding, so the certificate decides.
    """
    found: list[Point] = []
    left = RelativeLeft(z)
    part = z.a / left.alone
    z.held = (part > z.nu / left.value) | _largest(z)
    z.full = z.price / left.paid > z.s
    seen: set[bytes] = set()
    for _ in range(ROUNDS):
        z.a = np.where(z.held, z.a, 0.0)
        z.price = np.where(z.full, z.price, 0.0)
        points = _newton(z)
        if not points:
            break
        found = points
        held, full = _mended(z)
        key = np.packbits(np.concatenate([held, full])).tobytes()
        if key in seen or ((held == z.held).all() and (full == z.full).all()):
            break
        seen.add(key)
        z.held, z.full = held, full
    return found


def _largest(z: Unknowns) -> Any:
    """(P,) whether the pair gives the largest part of a user's level."""
    found = np.zeros(z.pairs, bool)
    found[(z.a[:, None] * z.of_user).argmax(axis=0)] = True
    return found


def _mended(z: Unknowns) -> tuple[Any, Any]:
    """Pairs held and rows full: violated ones enter, those that fell to about 0 leave."""
    z.nu, z.s = np.zeros(z.pairs), np.zeros(z.rows)
    left = RelativeLeft(z)
    part = z.a / left.alone
    cheap = ~z.held & (left.dual > CLEAR * left.value)
    over = ~z.full & (left.primal < -ROUNDING)
    held = ((z.held & (part > CLEAR)) | cheap) | _largest(z)
    full = (z.full & (z.price > CLEAR * left.paid)) | over
    z.a = np.where(cheap, ENTERING * left.alone, z.a)
    z.price = np.where(over, ENTERING * left.paid, z.price)
    return held, full


def _newton(z: Unknowns) -> list[Point]:
    """Newton with everything else at 0: the last iterate and that of smallest error; empty
    if no residual was finite."""
    z.nu, z.s = np.where(z.held, 0.0, z.nu), np.where(z.full, 0.0, z.s)
    best, least, since = z.state(), np.inf, 0
    for iteration in range(MOST):
        level = z.a @ z.of_user
        z.v = z.phi * level**-z.alpha
        # the residuals of other pairs and rows define their nu and s, so they do not count
        left = RelativeLeft(z)
        off = left.off_held(z)
        if not np.isfinite(off):
            break
        if off < least:
            since = iteration if off < 0.5 * least else since
            best, least = z.state(), off
        if least <= CLOSE or iteration - since > STALL:
            break
        try:
            step = RelativeSystem(z, left).solve(np.zeros(z.pairs), np.zeros(z.rows), left.curve)
        except np.linalg.LinAlgError:
            break
        size = max(float(np.abs(x).max(initial=0.0)) for x in (step.a, step.price))
        length = min(1.0, FARTHEST / max(size, 1e-300))
        z.a = z.a * np.exp(length * step.a)
        z.price = z.price * np.exp(length * step.price)
        z.p, z.e = z.p + length * step.p, z.e + length * step.e
        z.mean = z.mean + length * step.mean
    found = [] if not np.isfinite(least) else [z.point()]
    z.restore(best)
    return [*found, z.point()] if found else found
