"""Instances with groups, quotas and modes that several tests look at."""

from __future__ import annotations

import fairopt as fo


def story(**changes) -> fo.Instance:
    """300 GPUs, two organisations of teams (Kueue keps/1714, Story 3)."""
    quotas = {
        "groups": [fo.Group("C2"), fo.Group("C1")],
        "group": {"1A": "C1", "1B": "C1", "1C": "C1", "2A": "C2"},
        **changes,
    }
    return fo.Instance(
        [[1], [1], [1], [1]],
        [[300]],
        weight=[1, 1, 3, 1],
        users=["1A", "1B", "1C", "2A"],
        servers=["pool"],
        resources=["gpu"],
        quotas=fo.Quotas(**quotas),
    )


def cards(**changes) -> fo.Instance:
    """One node of 8 CPU, 4 A100 and 4 T4; a task takes one card of either kind."""
    modes = {
        "a": [fo.Mode("A100", {"cpu": 1, "A100": 1}), fo.Mode("T4", {"cpu": 1, "T4": 1}, 0.4)],
        "b": [fo.Mode("A100", [2, 1, 0]), fo.Mode("T4", (1, 0, 1), 0.8)],
    }
    return fo.Instance(
        [[0, 0, 0], [0, 0, 0]],
        [[8, 4, 4]],
        users=["a", "b"],
        servers=["node"],
        resources=["cpu", "A100", "T4"],
        modes={**modes, **changes},
    )
