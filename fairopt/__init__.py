"""fairopt: who should get how much of which resource on which server, and is the answer proved?

    import fairopt as fo

Names are imported on first use: `import fairopt` imports no solver.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# public name -> module that defines it
_PUBLIC = {
    "Instance": "instance",
    "Allocation": "allocation",
    "Check": "check",
    "Certificate": "check",
    "read": "files",
    "write": "files",
    "load": "files",
    "models": "files",
    "certify": "certificates",
    "solve": "solving",
    "sweep": "sweeping",
    "fill": "filling",
    "fixed_points": "engines.fixed_points",
    "Throughput": "notions",
    "AlphaFair": "notions",
    "ProportionalFair": "notions",
    "MaxMin": "notions",
    "Tradeoff": "notions",
    "best_support": "supports",
    "PerServerDominantShare": "notions",
    "PerServerDRF": "notions",
    "BottleneckMaxFair": "notions",
    "HandOutDRF": "notions",
    "EqualTasks": "notions",
    "CommonTasks": "notions",
    "FairoptError": "errors",
    "BadInput": "errors",
    "UsageError": "errors",
    "MissingExtra": "errors",
    "Infeasible": "errors",
    "NotCertified": "errors",
    "SolverFailure": "errors",
}
_MODULES = ("criteria", "generate", "properties", "propositions", "dynamics", "connect")

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"fairopt.{_PUBLIC[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"fairopt.{name}")
    raise AttributeError(f"module 'fairopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
