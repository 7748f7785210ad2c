"""The papers' schedulers: one table of criterion, server selection and source."""

from __future__ import annotations

from typing import NamedTuple

from fairopt.errors import UsageError
from fairopt.filling.criteria import CRITERIA
from fairopt.filling.selection import SELECTIONS


class Scheduler(NamedTuple):
    """A criterion, the default server selection, and the source."""

    criterion: str
    selection: str
    source: str


SCHEDULERS = {
    "drf": Scheduler("drf", "random-server", "kesidis2018 section IV, Tables II-V"),
    "tsf": Scheduler("tsf", "random-server", "kesidis2018 section IV; khamse2016 section II"),
    "cdrf": Scheduler("cdrf", "random-server", "khamse2016 section II"),
    "bf-drf": Scheduler("drf", "best-fit", "DRFH; kesidis2018 section IV (printed: best-fit-any)"),
    "ps-dsf": Scheduler("ps-dsf", "joint", "kesidis2018 section IV, K"),
    "rps-dsf": Scheduler("rps-dsf", "joint", "kesidis2018 section IV, K~"),
    "rrr-ps-dsf": Scheduler("ps-dsf", "rrr", "kesidis2018 section IV (printed: random-server)"),
    "rrr-rps-dsf": Scheduler("rps-dsf", "rrr", "kesidis2018 section IV"),
    "rdrf": Scheduler("rdrf", "random-server", "residual form of drf"),
    "rtsf": Scheduler("rtsf", "random-server", "residual form of tsf"),
    "rcdrf": Scheduler("rcdrf", "random-server", "residual form of cdrf"),
}


def find(scheduler: str, selection: str | None) -> tuple[str, str]:
    """(criterion, selection) of a scheduler's name; selection None means its default.

    Raises
    ------
    UsageError : an unknown scheduler or selection.
    """
    if scheduler not in SCHEDULERS:
        known = ", ".join(SCHEDULERS)
        raise UsageError(f"scheduler: found {scheduler!r}; wanted one of {known}")
    selection = SCHEDULERS[scheduler].selection if selection is None else selection
    if selection not in SELECTIONS:
        known = ", ".join(SELECTIONS)
        raise UsageError(f"selection: found {selection!r}; wanted one of {known}")
    criterion = SCHEDULERS[scheduler].criterion
    assert criterion in CRITERIA
    return criterion, selection
