"""Progressive filling: whole tasks, one at a time, by every scheduler of the papers."""

from __future__ import annotations

from fairopt.filling.criteria import CRITERIA
from fairopt.filling.filler import Filler, fill
from fairopt.filling.schedulers import SCHEDULERS, Scheduler
from fairopt.filling.selection import SELECTIONS
from fairopt.filling.trials import Trials, run_trials

__all__ = ["CRITERIA", "SCHEDULERS", "SELECTIONS", "Filler", "Scheduler", "Trials", "fill", "run_trials"]
