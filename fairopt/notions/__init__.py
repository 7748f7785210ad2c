"""The table of notions: one row each, name to class.

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

from dataclasses import MISSING, fields
from typing import Any

from fairopt.errors import Fault, UsageError
from fairopt.formulas.parameters import words
from fairopt.notions.alpha_fair import AlphaFair
from fairopt.notions.bottleneck import BottleneckMaxFair
from fairopt.notions.drf_hug import HandOutDRF
from fairopt.notions.equal_m import EqualTasks
from fairopt.notions.max_min import MaxMin
from fairopt.notions.notion import Notion
from fairopt.notions.per_server_drf import PerServerDRF
from fairopt.notions.proportional import ProportionalFair
from fairopt.notions.ps_dsf import PerServerDominantShare
from fairopt.notions.sum_m import CommonTasks
from fairopt.notions.throughput import Throughput
from fairopt.notions.tradeoff import Tradeoff

NOTIONS: dict[str, type[Notion]] = {
    notion.name: notion
    for notion in (
        Throughput,
        ProportionalFair,
        AlphaFair,
        MaxMin,
        Tradeoff,
        PerServerDominantShare,
        PerServerDRF,
        HandOutDRF,
        EqualTasks,
        CommonTasks,
        BottleneckMaxFair,
    )
}


def on_its_own(notion: Notion) -> bool:
    """Whether a notion is solved as it states itself, and by no engine of its family.

    So is one with a program or way that is neither that of its family nor one that it inherited
    from a notion of the same family.
    """
    kind = type(notion)
    homes = [Notion] + [
        home
        for home in NOTIONS.values()
        if home.family == notion.family and (home.name == notion.family or issubclass(kind, home))
    ]
    return any(
        all(getattr(kind, way) is not getattr(home, way) for home in homes)
        for way in ("program", "way")
    )


def expected(given: Any) -> Fault:
    """The fault for a value that is not a notion; it suggests the notion meant."""
    name = given if isinstance(given, str) else getattr(given, "name", None)
    meant = NOTIONS.get(name, MaxMin) if isinstance(name, str) else MaxMin
    needed = [f"{f.name}=..." for f in fields(meant) if f.default is MISSING]  # type: ignore[arg-type]
    such = "" if name in NOTIONS else "a notion, such as "
    return Fault("notion", words(given), f"{such}fo.{meant.__name__}({', '.join(needed)})")


def make(name: str, **parameters: Any) -> Notion:
    """The notion of that name with these parameters.

    Raises
    ------
    UsageError : an unknown name, a parameter the notion does not take, or one it needs.
    BadInput : a parameter out of range.

    Examples
    --------
    >>> make("alpha-fair", alpha=2)
    AlphaFair(alpha=2.0, criterion='tasks', weight_inside=False, over='floor')
    """
    if name not in NOTIONS:
        raise UsageError(f"notion: found {name!r}; wanted one of {', '.join(NOTIONS)}")
    notion = NOTIONS[name]
    known = [f.name for f in fields(notion)]  # type: ignore[arg-type]
    unknown = [key for key in parameters if key not in known]
    if unknown:
        takes = ", ".join(known) or "no parameters"
        raise UsageError(f"notion {name}: found parameter {', '.join(unknown)}; it takes {takes}")
    try:
        return notion(**parameters)
    except TypeError as error:
        raise UsageError(f"notion {name}: {error}") from error


__all__ = [
    "NOTIONS",
    "AlphaFair",
    "BottleneckMaxFair",
    "CommonTasks",
    "EqualTasks",
    "HandOutDRF",
    "MaxMin",
    "Notion",
    "PerServerDRF",
    "PerServerDominantShare",
    "ProportionalFair",
    "Throughput",
    "Tradeoff",
    "expected",
    "make",
    "on_its_own",
]
