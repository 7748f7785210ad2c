"""Real clusters in and plans out: Kubernetes, tables, Slurm. Files are read, never a cluster.

The way of one plan: `reading` takes objects out of files one at a time; `nodes` and `pods` keep
what matters of each; `kubernetes`, `tables` and `slurm` make a `Cluster` of them; `model` merges
what nobody can tell apart into an `Instance`.
"""

from __future__ import annotations
