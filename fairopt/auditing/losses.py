"""What the loss of one machine of each row, or of all of them, would take from whom."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairopt.auditing.between import differences
from fairopt.auditing.changes import changed
from fairopt.errors import BadInput, UsageError
from fairopt.instance import Instance
from fairopt.notions import Notion


@dataclass(frozen=True)
class Loss:
    """What one machine less means.

    Parameters
    ----------
    server : the row. count : its machines now.
    user : who loses the largest part of its tasks; empty if nobody loses.
    before, after : its tasks.
    losers : how many users lose.
    none : who could run nowhere then, or else why there is no answer without the machine.
    """

    server: str
    count: int
    user: str = ""
    before: float = 0.0
    after: float = 0.0
    losers: int = 0
    none: str = ""

    @property
    def part(self) -> float:
        """The part of its tasks that the user loses; all of them where it can run nowhere."""
        if self.none:
            return 1.0
        return (self.before - self.after) / self.before if self.before else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "part": self.part}


def losses(
    instance: Instance,
    notion: Notion,
    progress: Callable[[int, int], None] | None = None,
    whole: bool = False,
    change: Callable[..., Instance] | None = None,
) -> list[Loss]:
    """The loss of one machine of each row, those that hurt somebody most first.

    Parameters
    ----------
    whole : all machines of the row are lost instead, one row at a time.
    change : the instance after (settings, servers, dropped) as of `changed`; default `changed`.

    Every answer is certified, or NotCertified is raised.

    Raises
    ------
    NotCertified, SolverFailure : as of `fairopt.solve`.
    """
    from fairopt.solving import solve

    instance.only_known("audit", "losses")
    before, change = solve(instance, notion), change or partial(changed, instance)
    found = []
    rows = list(zip(instance.servers, np.asarray(instance.count).tolist(), strict=True))
    for k, (name, count) in enumerate(rows):
        found.append(_one(before, change, notion, name, int(count), whole))
        if progress is not None:
            progress(k + 1, len(rows))
    return sorted(found, key=lambda loss: (-loss.part, -loss.losers, loss.server))


def _one(
    before: Any,
    change: Callable[..., Instance],
    notion: Notion,
    name: str,
    count: int,
    whole: bool,
) -> Loss:
    from fairopt.solving import solve

    less = ([f"count.{name}={count - 1}"], []) if count > 1 and not whole else ([], [name])
    gone: list[str] = []
    none = ""
    other: Instance | None = None
    try:
        other = change(less[0], [], less[1])
    except BadInput as error:
        gone = _nowhere(error)
        with suppress(BadInput, UsageError):  # the others, without those
            other = change(less[0], [], [*less[1], *gone]) if gone else None
        none = _words(gone) if gone else str(error).splitlines()[-1].strip()
    had = dict(zip(before.instance.users, before.totals.tolist(), strict=True))
    if other is None:
        who = gone[0] if gone else ""
        return Loss(name, count, who, had.get(who, 0.0), 0.0, len(gone), none)
    hurt = [own for own in differences(before, solve(other, notion)).losers if own.user not in gone]
    if gone:
        return Loss(name, count, gone[0], had[gone[0]], 0.0, len(gone) + len(hurt), none)
    if not hurt:
        return Loss(name, count)
    worst = hurt[0]  # the largest part first
    return Loss(name, count, worst.user, worst.before or 0.0, worst.after or 0.0, len(hurt))


def _nowhere(error: BadInput) -> list[str]:
    """Users that can run nowhere."""
    return [
        fault.place.removeprefix("users.")
        for fault in error.faults
        if fault.place.startswith("users.") and "no server" in fault.found
    ]


def _words(gone: list[str]) -> str:
    more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
    return f"{gone[0]}{more}: no server left"
