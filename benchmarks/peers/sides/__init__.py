"""The registry of sides. A side is a module with `solve(given, **options) -> Answer`.

A peer's side gets `Data` and imports NumPy and the peer, never fairopt; `ours` gets the instance
and the notion. A side whose modules are not installed is left out, and the page says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Side:
    """One way to answer.

    Parameters
    ----------
    name : as in the tables. module : below `benchmarks.peers.sides`.
    needs : modules that must be there. distributions : whose versions the page gives.
    options : passed to `solve`. ours : whether it gets the instance instead of `Data`.
    floor : no answer is wanted, only the seconds it reports itself.
    """

    name: str
    module: str
    needs: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    ours: bool = False
    floor: bool = False


def _pairs(solver: str, module: str, tolerance: float) -> Side:
    return Side(
        f"cvxpy pairs, {solver}",
        "cvxpy_pairs",
        ("cvxpy", module),
        ("cvxpy", module),
        {"solver": solver, "tolerance": tolerance},
    )


_ALL = (
    Side("fairopt", "ours", ("fairopt",), ("fairopt", "numpy", "scipy"), ours=True),
    Side("fairopt, nothing merged", "ours", ("fairopt",), (), {"reduce": False}, ours=True),
    Side("dense algebra alone", "dense", ("fairopt", "scipy"), (), ours=True, floor=True),
    Side("a bare pass", "bare", ("fairopt",), (), ours=True, floor=True),
    Side("cvxpy plain", "cvxpy_plain", ("cvxpy", "clarabel"), ("cvxpy", "clarabel")),
    # what is enough for a gap of 1e-6: tighter ones cost more and stop short more often
    _pairs("Clarabel", "clarabel", 1e-8),
    _pairs("Clarabel, regularised", "clarabel", 1e-8),
    _pairs("ECOS", "ecos", 1e-7),
    _pairs("SCS", "scs", 1e-7),
    _pairs("HiGHS", "highspy", 1e-7),
    Side("HiGHS", "highs", ("highspy",), ("highspy",)),
    Side(
        "HiGHS a level, simplex", "highs_levels", ("highspy",), ("highspy",), {"method": "simplex"}
    ),
    Side("HiGHS a level, interior", "highs_levels", ("highspy",), ("highspy",), {"method": "ipm"}),
    Side("SciPy linprog", "linprog", ("scipy",), ("scipy",)),
    Side("linopy, HiGHS", "linopy_highs", ("linopy", "highspy"), ("linopy", "highspy")),
    Side("cvxpy_leximin", "leximin", ("cvxpy_leximin", "highspy"), ("cvxpy-leximin", "cvxpy")),
    Side("DeDe", "dede_admm", ("dede", "ecos"), ("dede", "cvxpy", "ray")),
)
SIDES = {side.name: side for side in _ALL}
OURS, APART, DENSE, BARE = (side.name for side in _ALL[:4])
CONIC = tuple(
    f"cvxpy pairs, {name}" for name in ("Clarabel", "Clarabel, regularised", "ECOS", "SCS")
)
"""the sides that state every alpha"""
