"""What a user could have while all others keep theirs: a linear program, solved by HiGHS.

A float solver: its answer is a suspicion, to 1e-9 of each row, and no proof.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from .rows import Rows

KEPT = 1 - 1e-10


def could_have(q: Rows, share: np.ndarray, n: int, kept: float = KEPT) -> float:
    """The most that user n could have, relative to its share, the others keeping `kept` of theirs.

    nan where the program was not solved.
    """
    a, b, unit = _scaled(q)
    u = _of_users(q) * unit / np.maximum(share, 1e-300)[:, None]
    others = np.arange(q.users) != n
    found = linprog(
        -u[n],
        np.concatenate([a, -u[others]]),
        np.concatenate([b, np.full(others.sum(), -kept)]),
        bounds=_bounds(q, unit),
        method="highs",
    )
    return float(-found.fun) if found.status == 0 else float("nan")


def worst_off(q: Rows) -> float:
    """The largest share that all users can have; nan where the program was not solved."""
    a, b, unit = _scaled(q)
    u = _of_users(q) * unit
    size = u.max()
    rows = np.concatenate([np.c_[a, np.zeros(len(a))], np.c_[-u / size, np.ones(q.users)]])
    goal = np.r_[np.zeros(a.shape[1]), -1.0]
    found = linprog(
        goal,
        rows,
        np.r_[b, np.zeros(q.users)],
        bounds=[*_bounds(q, unit), (0, None)],
        method="highs",
    )
    return float(-found.fun) * size if found.status == 0 else float("nan")


def fits(q: Rows) -> bool:
    """Whether everybody can have its floor at once, to 1e-9."""
    a, b, unit = _scaled(q)
    floor = np.maximum(q.floor, q.base).astype(float)
    u = _of_users(q) * unit
    held = floor > 0
    found = linprog(
        np.zeros(a.shape[1]),
        np.concatenate([a, -u[held] / floor[held, None]]),
        np.r_[b, np.full(held.sum(), -1 + 1e-9)],
        bounds=_bounds(q, unit),
        method="highs",
    )
    return found.status == 0


def keeps(q: Rows, x: np.ndarray) -> bool:
    """Whether flows exist with which tasks x (K,) keep every row, to 1e-9."""
    a, b, unit = _scaled(q)
    columns = len(q.owner)
    left = b - a[:, :columns] @ (x / unit[:columns]) + 1e-9
    ends = _bounds(q, unit)[columns:]
    found = linprog(np.zeros(len(ends)), a[:, columns:], left, bounds=ends, method="highs")
    return found.status == 0


def _of_users(q: Rows) -> np.ndarray:
    """(N, K + F) shares."""
    u = np.zeros((q.users, q.g.shape[1]))
    u[q.owner, np.arange(len(q.owner))] = q.u.astype(float)
    return u


def _scaled(q: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and right sides of size 1, and the unit (K + F,) of each column."""
    g, h = q.g.astype(float), q.h.astype(float)
    columns = len(q.owner)
    unit = np.ones(g.shape[1])
    for c in range(columns):
        some = (g[:, c] > 0) & (h > 0)
        unit[c] = (h[some] / g[some, c]).min()
    g = g * unit
    size = np.maximum(np.abs(g[:, :columns]).max(axis=1, initial=0.0), np.abs(h))
    size[size == 0] = 1.0
    return g / size[:, None], h / size, unit


def _bounds(q: Rows, unit: np.ndarray) -> list[tuple[float | None, float | None]]:
    flows = [
        tuple(None if v is None else float(v) for v in ends)
        for ends in zip(q.low, q.high, strict=True)
    ]
    return [(0.0, None)] * len(q.owner) + flows
