"""Sweeps: many notions or instances solved into one table, on any executor, resumable."""

from __future__ import annotations

from fairopt.sweeping.axis import axes_of
from fairopt.sweeping.grid import grid
from fairopt.sweeping.reading import load
from fairopt.sweeping.result import Sweep
from fairopt.sweeping.run import sweep

__all__ = ["Sweep", "axes_of", "grid", "load", "sweep"]
