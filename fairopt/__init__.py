"""fairopt: who should get how much of which resource on which server, and is the answer proved?

    import fairopt as fo

Names are imported on first use: `import fairopt` imports no solver.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fairopt import upstairs

if TYPE_CHECKING:
    # what a type checker and an editor see; at run time each name is imported on first use
    from fairopt import connect as connect
    from fairopt import criteria as criteria
    from fairopt import dynamics as dynamics
    from fairopt import errors as errors
    from fairopt import measures as measures
    from fairopt import properties as properties
    from fairopt import propositions as propositions
    from fairopt.allocation import Allocation as Allocation
    from fairopt.allocation.check import Certificate as Certificate
    from fairopt.allocation.check import Check as Check
    from fairopt.auditing import audit as audit
    from fairopt.auditing.between import differences as differences
    from fairopt.certificates import certify as certify
    from fairopt.certificates.partitioned import certify_partitions as certify_partitions
    from fairopt.errors import BadInput as BadInput
    from fairopt.errors import FairoptError as FairoptError
    from fairopt.errors import Infeasible as Infeasible
    from fairopt.errors import MissingExtra as MissingExtra
    from fairopt.errors import NotCertified as NotCertified
    from fairopt.errors import SolverFailure as SolverFailure
    from fairopt.errors import UsageError as UsageError
    from fairopt.files import load as load
    from fairopt.files import models as models
    from fairopt.files import read as read
    from fairopt.files import write as write
    from fairopt.files.partition_tables import partition_tables as partition_tables
    from fairopt.files.partitions import Partitions as Partitions
    from fairopt.files.partitions import write_partitions as write_partitions
    from fairopt.filling import fill as fill
    from fairopt.instance import Instance as Instance
    from fairopt.instance import generate as generate
    from fairopt.instance.quotas import Bound as Bound
    from fairopt.instance.quotas import Group as Group
    from fairopt.instance.quotas import Guarantee as Guarantee
    from fairopt.instance.quotas import Mode as Mode
    from fairopt.instance.quotas import Quota as Quota
    from fairopt.instance.quotas import Quotas as Quotas
    from fairopt.instance.rules import Rule as Rule
    from fairopt.instance.rules import Term as Term
    from fairopt.notions import AlphaFair as AlphaFair
    from fairopt.notions import BottleneckMaxFair as BottleneckMaxFair
    from fairopt.notions import CommonTasks as CommonTasks
    from fairopt.notions import EqualTasks as EqualTasks
    from fairopt.notions import HandOutDRF as HandOutDRF
    from fairopt.notions import MaxMin as MaxMin
    from fairopt.notions import PerServerDominantShare as PerServerDominantShare
    from fairopt.notions import PerServerDRF as PerServerDRF
    from fairopt.notions import ProportionalFair as ProportionalFair
    from fairopt.notions import Throughput as Throughput
    from fairopt.notions import Tradeoff as Tradeoff
    from fairopt.overtime.horizon import Horizon as Horizon
    from fairopt.overtime.horizon import horizon as horizon
    from fairopt.overtime.ledger import Ledger as Ledger
    from fairopt.overtime.periods import Budget as Budget
    from fairopt.overtime.periods import Promise as Promise
    from fairopt.overtime.replay import Replay as Replay
    from fairopt.overtime.replay import replay as replay
    from fairopt.solving import solve as solve
    from fairopt.solving.engines.water.fixed_points import fixed_points as fixed_points
    from fairopt.solving.partitions import PartitionedAnswer as PartitionedAnswer
    from fairopt.solving.partitions import solve_partitions as solve_partitions
    from fairopt.solving.planner import Planner as Planner
    from fairopt.solving.supports import best_support as best_support
    from fairopt.sweeping import sweep as sweep
    from fairopt.whole.asking import whole as whole
    from fairopt.whole.proof.answer import WholeTasks as WholeTasks

__version__ = "0.2.0"

# public name -> module that defines it
_PUBLIC = {
    "Instance": "instance",
    **dict.fromkeys(("Group", "Guarantee", "Bound", "Quota", "Quotas", "Mode"), "instance.quotas"),
    "Rule": "instance.rules",
    "Term": "instance.rules",
    "Allocation": "allocation",
    "Check": "allocation.check",
    "Certificate": "allocation.check",
    "read": "files",
    "write": "files",
    "load": "files",
    "models": "files",
    "certify": "certificates",
    "solve": "solving",
    "solve_partitions": "solving.partitions",
    "certify_partitions": "certificates.partitioned",
    "PartitionedAnswer": "solving.partitions",
    "Partitions": "files.partitions",
    "write_partitions": "files.partitions",
    "partition_tables": "files.partition_tables",
    "Planner": "solving.planner",
    "sweep": "sweeping",
    "audit": "auditing",
    "differences": "auditing.between",
    "fill": "filling",
    "horizon": "overtime.horizon",
    "Horizon": "overtime.horizon",
    "Budget": "overtime.periods",
    "Promise": "overtime.periods",
    "Ledger": "overtime.ledger",
    "replay": "overtime.replay",
    "Replay": "overtime.replay",
    "fixed_points": "solving.engines.water.fixed_points",
    "whole": "whole.asking",  # the room of that name can be called as well
    "WholeTasks": "whole.proof.answer",
    "Throughput": "notions",
    "AlphaFair": "notions",
    "ProportionalFair": "notions",
    "MaxMin": "notions",
    "Tradeoff": "notions",
    "best_support": "solving.supports",
    "PerServerDominantShare": "notions",
    "PerServerDRF": "notions",
    "BottleneckMaxFair": "notions",
    "HandOutDRF": "notions",
    "EqualTasks": "notions",
    "CommonTasks": "notions",
    "FairoptError": "errors",
    "BadInput": "errors",
    "UsageError": "errors",
    "MissingExtra": "errors",
    "Infeasible": "errors",
    "NotCertified": "errors",
    "SolverFailure": "errors",
}
# public name -> module
_MODULES = {
    "connect": "connect",
    "criteria": "criteria",
    "dynamics": "dynamics",
    "errors": "errors",
    "generate": "instance.generate",
    "measures": "measures",
    "properties": "properties",
    "propositions": "propositions",
}

__all__ = ["__version__", *_PUBLIC]


@upstairs.explain.is_fetched_by
def _explain() -> Callable[..., Any]:
    from fairopt.explaining import explain

    return explain


@upstairs.duals.is_fetched_by
def _duals() -> Callable[..., Any]:
    from fairopt.kkt import duals

    return duals


@upstairs.conditions.is_fetched_by
def _conditions() -> Callable[..., Any]:
    from fairopt.kkt import frame

    return frame


if not TYPE_CHECKING:  # a checker that sees this function takes every misspelt name for Any

    def __getattr__(name: str) -> object:
        if name in _PUBLIC:
            return getattr(importlib.import_module(f"fairopt.{_PUBLIC[name]}"), name)
        if name in _MODULES:
            return importlib.import_module(f"fairopt.{_MODULES[name]}")
        raise AttributeError(f"module 'fairopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC, *_MODULES])
