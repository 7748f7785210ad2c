"""The papers' statements as executable checks: PROPOSITIONS is the one table of names.

To add a statement: a check (instance, seed) -> Check under `@stated(...)` in a module here, which
is named in `fairopt/propositions/table.py`. docs/maths/propositions.md says what each computes.

References
----------
kesidis2018 : Kesidis et al., Scheduling distributed resources in heterogeneous private clouds,
    arXiv 1705.06102 (2017).
kesidis2016 : Kesidis et al., Fair scheduling of multiple resource types over multiple and
    heterogeneous resource pools, tech report CSE-16-009 (2016).
khamse2016 : Khamse-Ashari et al., Per-Server Dominant-Share Fairness: a multi-resource fair
    allocation mechanism for heterogeneous servers, arXiv 1611.00404 (2016).
bonald2015 : Bonald and Roberts, Multi-resource fairness: objectives, algorithms and performance,
    SIGMETRICS (2015).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fairopt.deprecation import warn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairopt.propositions.counterexamples import made_folder as made_folder
    from fairopt.propositions.counterexamples import replay as replay
    from fairopt.propositions.counterexamples import save as save
    from fairopt.propositions.running import run as run
    from fairopt.propositions.statement import Hypothesis as Hypothesis
    from fairopt.propositions.statement import Statement as Statement
    from fairopt.propositions.statement import Undecided as Undecided
    from fairopt.propositions.statement import certified as certified
    from fairopt.propositions.table import find as find
    from fairopt.propositions.table import selected as selected
    from fairopt.propositions.trials import TrialRow as TrialRow

    PROPOSITIONS: Mapping[str, Statement]

_PUBLIC = {
    "Statement": "statement",
    "Hypothesis": "statement",
    "Undecided": "statement",
    "certified": "statement",
    "run": "running",
    "TrialRow": "trials",
    "replay": "counterexamples",
    "save": "counterexamples",
    "made_folder": "counterexamples",
    "find": "table",
    "selected": "table",
}

__all__ = ["PROPOSITIONS", *_PUBLIC]


if not TYPE_CHECKING:  # a checker that sees this function takes every misspelt name for Any

    def __getattr__(name: str) -> object:
        if name == "PROPOSITIONS":
            return importlib.import_module("fairopt.propositions.table").table()
        if name == "Row":
            instead = "fairopt.propositions.TrialRow"
            warn("fairopt.propositions.Row", "0.3", "0.5", instead)
            name = "TrialRow"
        if name in _PUBLIC:
            return getattr(importlib.import_module(f"fairopt.propositions.{_PUBLIC[name]}"), name)
        raise AttributeError(f"module 'fairopt.propositions' has no attribute {name!r}")
