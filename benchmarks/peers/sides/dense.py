"""The physical limit: the dense factorisations and products of a solve, and nothing else.

A solve that is not timed writes down the size of every symmetric product, Cholesky factorisation
and solve with it. These are then repeated on random numbers of the same sizes, with the same BLAS,
and so is the product that makes each matrix which is multiplied with itself. No scaling of pairs,
no step lengths, no proof: what an engine made of this algebra cannot go below.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.peers.question import Answer

_NAMES = {"dsyrk": "blas", "dpotrf": "lapack", "dpotrs": "lapack"}
Call = tuple[str, int, int]
_recorded: dict[str, list[Call]] = {}
"""by digest of the instance and notion"""


def solve(given: tuple[fo.Instance, Any]) -> Answer:
    """Seconds of the algebra alone, as `inner`."""
    inst, notion = given
    key = f"{inst.digest()} {notion!r}"
    if key not in _recorded:
        _recorded[key] = recorded(inst, notion)
    calls = _recorded[key]
    many = {name: sum(call[0] == name for call in calls) for name in _NAMES}
    orders = sorted({size for name, size, _ in calls if name == "dpotrf"})
    notes = {"calls": many, "orders": orders}
    if not many["dpotrf"]:
        return Answer(None, status="no dense factorisation was seen", notes=notes)
    return Answer(None, inner=replayed(calls, inst.shape[2]), notes=notes)


def recorded(inst: fo.Instance, notion: Any) -> list[Call]:
    """(routine, order, inner size) of each call of one solve, in order."""
    from scipy.linalg import blas, lapack

    modules = {"blas": blas, "lapack": lapack}
    calls: list[Call] = []
    kept = {name: getattr(modules[where], name) for name, where in _NAMES.items()}

    def writing(name: str) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            calls.append((name, *_size(name, args, options)))
            return kept[name](*args, **options)

        return call

    try:
        for name, where in _NAMES.items():
            setattr(modules[where], name, writing(name))
        fo.solve(inst, notion, uncertified="return")
    finally:
        for name, where in _NAMES.items():
            setattr(modules[where], name, kept[name])
    return calls


def _size(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[int, int]:
    """Order, and inner size of the product or number of right hand sides."""
    if name == "dsyrk":
        rows, columns = args[1].shape
        return (columns, rows) if options.get("trans") else (rows, columns)
    return args[0].shape[0], 1


def replayed(calls: list[Call], resources: int) -> float:
    """Seconds of the same calls on random numbers."""
    from scipy.linalg import blas, lapack
    from threadpoolctl import threadpool_limits

    draw = np.random.default_rng(0)
    sizes = {(order, inner) for name, order, inner in calls if name == "dsyrk"}
    # columns short enough that the unit matrix less their products stays positive definite
    stored = {
        (order, inner): np.asfortranarray(draw.random((inner, order)) / (inner * order) ** 0.5)
        for order, inner in sizes
    }
    thin = {
        size: (draw.random((size[1], resources)), draw.random((resources, size[0])))
        for size in sizes
    }
    right = {order: draw.random(order) for _, order, _ in calls}
    grams: dict[int, Any] = {order: np.eye(order, order="F") for _, order, _ in calls}
    factors: dict[int, Any] = {}
    last: dict[int, Any] = {}
    with threadpool_limits(1):
        start = time.perf_counter()
        for name, order, inner in calls:
            if name == "dsyrk":
                left, top = thin[order, inner]
                left @ top
                last[order] = stored[order, inner]
                grams[order] = blas.dsyrk(
                    -1.0,
                    last[order],
                    1.0,
                    np.eye(order, order="F"),
                    trans=1,
                    lower=1,
                    overwrite_c=1,
                )
            elif name == "dpotrf":
                factors[order], _ = lapack.dpotrf(grams[order], lower=1, clean=0)
            else:
                b = right[order]
                if order in last:
                    b = last[order].T @ (last[order] @ b)
                lapack.dpotrs(factors[order], b, lower=1)
        return time.perf_counter() - start
