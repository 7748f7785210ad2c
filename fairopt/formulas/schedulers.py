"""The papers' schedulers and selections of servers, as tables; `fairopt.filling` runs them."""

from __future__ import annotations

from typing import NamedTuple

from fairopt.errors import UsageError


class Scheduler(NamedTuple):
    """A criterion, the default server selection, and the source.

    Examples
    --------
    >>> from fairopt.filling import SCHEDULERS
    >>> SCHEDULERS['drf'].criterion
    'drf'
    """

    criterion: str
    selection: str
    source: str


SELECTIONS = {
    "joint": "the pair (user, machine) of smallest criterion",
    "first-fit": "the user, then the first machine where its task fits",
    "best-fit": "the user, then the best shape match among machines where its task fits",
    "best-fit-any": "the user, then the best shape match full or not; passed over if it is full",
    "random-server": "a uniformly random machine for every increment, then the user",
    "rrr": "every machine once per round, rounds in random order, then the user",
    "in-order": "machines one after another, each until nothing fits, then the next",
}
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
    return SCHEDULERS[scheduler].criterion, selection
