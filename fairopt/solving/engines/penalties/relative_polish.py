"""The end of the path of `engines.relative`: Newton on what is held and full alone.

A light user is right only if what others do not hold is exactly 0. Pairs and rows enter and go
until nothing asks for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.solving.engines.penalties.relative_state import Unknowns
from fairopt.solving.engines.penalties.relative_step import Left, System
from fairopt.solving.engines.point import Point

MOST, STALL = 150, 5
"""iterations, and those without halving the error before it stops"""
ROUNDS = 15
"""changes of what is held and full"""
CLEAR, ENTERING, CLOSE = 1e-13, 1e-3, 2e-16
"""parts of shares and money that are something, at which new ones enter, and near enough"""
ROUNDING = 1e-15
"""part of a row by which none may be over"""
FARTHEST = 1.5
"""largest change of a logarithm in a step"""


def polished(z: Unknowns) -> list[Point]:
    """Newton on what is held and full alone, which is mended until nothing asks for it.

    The last points: where Newton came nearest, and where it came to rest. Rounding decides
    which is better, and the judge knows.
    """
    found: list[Point] = []
    left = Left(z)
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
    """(P,) what holds most of each user's level."""
    found = np.zeros(z.pairs, bool)
    found[(z.a[:, None] * z.of_user).argmax(axis=0)] = True
    return found


def _mended(z: Unknowns) -> tuple[Any, Any]:
    """Pairs held and rows full: cheap ones enter, those that came to nothing go."""
    z.nu, z.s = np.zeros(z.pairs), np.zeros(z.rows)
    left = Left(z)
    part = z.a / left.alone
    cheap = ~z.held & (left.dual > CLEAR * left.value)
    over = ~z.full & (left.primal < -ROUNDING)
    held = ((z.held & (part > CLEAR)) | cheap) | _largest(z)
    full = (z.full & (z.price > CLEAR * left.paid)) | over
    z.a = np.where(cheap, ENTERING * left.alone, z.a)
    z.price = np.where(over, ENTERING * left.paid, z.price)
    return held, full


def _newton(z: Unknowns) -> list[Point]:
    """Newton with everything else at 0: the last and the nearest point; none where numbers
    ended."""
    z.nu, z.s = np.where(z.held, 0.0, z.nu), np.where(z.full, 0.0, z.s)
    best, least, since = z.state(), np.inf, 0
    for iteration in range(MOST):
        level = z.a @ z.of_user
        z.v = z.phi * level**-z.alpha
        # what is out is balanced by definition
        left = Left(z)
        off = left.off_held(z)
        if not np.isfinite(off):
            break
        if off < least:
            since = iteration if off < 0.5 * least else since
            best, least = z.state(), off
        if least <= CLOSE or iteration - since > STALL:
            break
        try:
            step = System(z, left).solve(np.zeros(z.pairs), np.zeros(z.rows), left.curve)
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
