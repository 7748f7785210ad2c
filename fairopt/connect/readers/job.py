"""A job of a log: whose it is, what it takes, what may say where it ran, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fairopt.instance.reading import Faults, shown

NEVER = ("", "Unknown", "None", "N/A", "NONE")
"""what stands for a time that is not there yet"""


@dataclass(frozen=True)
class Job:
    """A job.

    Parameters
    ----------
    user : its name. places : names of its partition, flavors and kinds of cards, which may be those
        of servers or modes. amounts : of the model's resources. submit : when it came.
    runs : from when to when it ran, None: still. end : when it ended, None: not yet.
    """

    user: str
    places: tuple[str, ...]
    amounts: Mapping[str, float]
    submit: datetime
    runs: tuple[tuple[datetime, datetime | None], ...]
    end: datetime | None


def when(text: Any, place: str, faults: Faults, missing: bool = False) -> datetime | None:
    """A date and time; None for none, which is a fault unless it may be missing."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        if not missing or str(text) not in NEVER:
            faults.add(place, shown(text), "a date and time such as 2026-01-31T08:00:00")
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


__all__ = ["Job", "when"]
