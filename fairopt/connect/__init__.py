"""Real clusters in and plans out: Kubernetes, tables, Slurm. Files are read, never a cluster.

The way of one plan: `reading` takes objects out of files one at a time; `nodes` and `pods` keep
what matters of each; `kubernetes`, `tables` and `slurm` make a `Cluster` of them; `model` merges
what nobody can tell apart into an `Instance`. `exports` writes what is due into the objects that
an operator has, `lint` reads these for what nobody can mean.

In Python, `fo.connect.kubernetes(...)`, `.kueue(...)` and `.tables(...)` are functions of `api`.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from fairopt.connect import called

if TYPE_CHECKING:
    from fairopt.connect.api import Cluster as Cluster
    from fairopt.connect.api import Plan as Plan
    from fairopt.connect.api import kubernetes as kubernetes
    from fairopt.connect.api import kueue as kueue
    from fairopt.connect.api import load as load
    from fairopt.connect.api import tables as tables

_PUBLIC = ("Cluster", "Plan", "load")
_CALLED = ("kubernetes", "kueue", "tables")

__all__ = [*_PUBLIC, *_CALLED]


@called.api.is_fetched_by
def _api() -> ModuleType:
    from fairopt.connect import api

    return api


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _PUBLIC:
            return getattr(_api(), name)
        if name in _CALLED:  # modules of these names can be called as the functions of `api`
            return importlib.import_module(f"fairopt.connect.{name}")
        raise AttributeError(f"module 'fairopt.connect' has no attribute {name!r}")
