"""Real clusters in Python: read one, plan it, look at it, save it, put it into quotas.

cluster = fo.connect.kubernetes("cluster.json")
plan = cluster.plan()
"""

from __future__ import annotations

from fairopt.connect.api.clusters import Cluster as Cluster
from fairopt.connect.api.clusters import kubernetes as kubernetes
from fairopt.connect.api.clusters import kueue as kueue
from fairopt.connect.api.clusters import tables as tables
from fairopt.connect.api.plans import Plan as Plan
from fairopt.connect.api.plans import load as load

__all__ = ["Cluster", "Plan", "kubernetes", "kueue", "load", "tables"]
