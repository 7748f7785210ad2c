"""Progressive filling: whole tasks, one at a time, by every scheduler of the papers.

References
----------
kesidis2018 : Kesidis et al., Scheduling distributed resources in heterogeneous private clouds,
    arXiv 1705.06102 (2017), section IV.
khamse2016 : Khamse-Ashari et al., Per-Server Dominant-Share Fairness, arXiv 1611.00404 (2016).
DRFH : Wang, Li and Liang, Dominant Resource Fairness in Cloud Computing Systems with Heterogeneous
    Servers, INFOCOM (2014).
"""

from __future__ import annotations

from fairopt.filling.churn import Churned, Event, Moment, churn, events
from fairopt.filling.criteria import CRITERIA
from fairopt.filling.filler import Filler, fill
from fairopt.filling.optimum import Optimum, optimum
from fairopt.filling.trials import Trials, run_trials
from fairopt.formulas.schedulers import SCHEDULERS, SELECTIONS, Scheduler

__all__ = [
    "CRITERIA",
    "SCHEDULERS",
    "SELECTIONS",
    "Churned",
    "Event",
    "Filler",
    "Moment",
    "Optimum",
    "Scheduler",
    "Trials",
    "churn",
    "events",
    "fill",
    "optimum",
    "run_trials",
]
