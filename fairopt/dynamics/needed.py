"""What a simulation would need, told before it begins: memory, events, and digits of its clock."""

from __future__ import annotations

from fairopt import memory
from fairopt.errors import BadInput, Fault

EVENTS = 1e12
"""most events of all runs together: a day or more, at ten million a second"""
PACE = 1e7
"""events a second, about, of the compiled loops"""
RESOLVED = 1e9
"""longest time simulated, in mean times of one task: beyond, the clock rounds what a task takes"""
RECORD = 2_000.0
"""bytes that the record of one run takes, about"""
YEAR = 365.25 * 86400.0


def check(events: float, runs: float, size: float, place: str) -> None:
    """Refuse simulations that would not end, or that fit no memory.

    Parameters
    ----------
    events : of all runs. runs : how many. size : bytes of one run.
    place : the settings that they come from, by name.

    Raises
    ------
    BadInput : with what would be needed.
    """
    memory.enough("replications", runs * RECORD, f"{runs:.3g} runs")
    memory.enough(place, size, "one run")
    if events > EVENTS:
        years = events / PACE / YEAR
        found = f"{events:.2g} events, about {years:,.2g} years of computing"
        raise BadInput([Fault(place, found, f"at most {EVENTS:.0e} events")])


def clock(place: str, found: float, time: float) -> None:
    """Refuse runs so long that their clock no longer tells one task from another.

    Parameters
    ----------
    place, found : the setting that makes them so long. time : in mean times of one task.

    Raises
    ------
    BadInput : with the time that would be simulated.
    """
    if not time <= RESOLVED:
        wanted = f"a run of at most {RESOLVED:.0e} mean times of one task, that its clock can tell"
        raise BadInput([Fault(place, f"{found:g}, a run of {time:.2g}", wanted)])
