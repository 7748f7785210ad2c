"""Many solves, one table: a sweep of notions or instances over any executor, resumable."""

from __future__ import annotations

from fairopt.sweeping.axis import axes_of
from fairopt.sweeping.grid import grid
from fairopt.sweeping.result import Sweep
from fairopt.sweeping.run import sweep

__all__ = ["Sweep", "axes_of", "grid", "sweep"]
