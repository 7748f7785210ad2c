"""Real clusters in and plans out: Kubernetes, tables, Slurm. Files are read, never a cluster.

The way of one plan: `text` takes objects out of files one at a time; `readers` know each product's
files and make a `Cluster` of them (`cluster`); `plan` merges what nobody can tell apart into an
`Instance`, solves it and says what becomes of whole tasks; `judging` asks again from the JSON of a
plan alone. `exports` writes what is due into the objects that an operator has, `lint` reads these
for what nobody can mean, `api` is the way in from Python.

In Python, `fo.connect.kubernetes(...)`, `.kueue(...)` and `.tables(...)` are functions of `api`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairopt.connect.api import Cluster as Cluster
    from fairopt.connect.api import Plan as Plan
    from fairopt.connect.api import kubernetes as kubernetes
    from fairopt.connect.api import kueue as kueue
    from fairopt.connect.api import load as load
    from fairopt.connect.api import tables as tables

__all__ = ["Cluster", "Plan", "kubernetes", "kueue", "load", "tables"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'fairopt.connect' has no attribute {name!r}")
        from fairopt.connect import api

        return getattr(api, name)
