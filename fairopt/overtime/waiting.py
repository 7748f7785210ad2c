"""Jobs that wait: each is there until it has run, and who runs follows from a ledger.

A slice gives a user task-hours, and its jobs take them in the order in which they came, each at
most with all its tasks from the time it is there. Jobs may run on a part of their tasks, and go on
in a later slice. A job ends in its last slice after what it still took at full size, so that ends
are early by less than a slice. One that never waits ends just after its time alone.

Where users have modes, a job's time alone is that at speed 1, and all jobs of a user that run in a
slice run at the mean speed of what the user is given in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairopt.files.journal import Journal
from fairopt.instance import Floats, Instance, Ints
from fairopt.notions import Notion
from fairopt.overtime.ledger import Ledger
from fairopt.overtime.logs import Log
from fairopt.overtime.slices import Slices

DONE = 1e-6
"""part of a job's work that rounding may leave"""
IDLE = 1000
"""slices in a row in which nothing is served and nobody comes, after which jobs wait for ever"""
MOST_SLICES = 100_000
"""most slices"""


@dataclass(frozen=True, eq=False)
class WaitingJobs:
    """Jobs that want to run.

    Parameters
    ----------
    user : (J,) positions. tasks : (J,) > 0 at once. arrival, alone : (J,) hours; alone > 0 is the
        time that a job takes with all its tasks.
    end : (J,) hours, where jobs have run; None where a policy shall run them.
    origin : the date of hour 0, or "".
    """

    user: Ints
    tasks: Floats
    arrival: Floats
    alone: Floats
    end: Floats | None = None
    origin: str = ""

    def wants(self, start: float, hours: float, slices: int, users: int) -> Floats:
        """(T, N) mean tasks at once in each slice, if nobody waited."""
        time = np.concatenate([self.arrival, self.arrival + self.alone])
        order = np.argsort(time, kind="stable")
        who = np.tile(self.user, 2)[order]
        level = np.concatenate([self.tasks, -self.tasks])[order]
        for n in range(users):
            level[who == n] = np.cumsum(level[who == n])
        none = np.zeros(len(who), dtype=np.int64)
        log = Log(time[order], who, none, np.maximum(level, 0.0))
        return log.means(start, hours, slices, users, 1)[:, :, 0]

    @property
    def span(self) -> tuple[float, float]:
        """First arrival, and last end if nobody waited."""
        return float(self.arrival.min()), float((self.arrival + self.alone).max())


@dataclass(frozen=True, eq=False)
class Ran:
    """What a policy made of jobs.

    Parameters
    ----------
    end : (J,) hours, inf of a job that never ended. wants, held : (T, N) tasks at once of jobs
        there. slices : T until all had ended.
    """

    end: Floats
    wants: Floats
    held: Floats


def run(
    instance: Instance,
    jobs: WaitingJobs,
    book: Ledger,
    hours: float,
    notion: Notion,
    journal: Journal,
    moved: Callable[[float], None],
) -> Ran:
    """Run jobs slice by slice, as a ledger divides, until all have ended.

    Parameters
    ----------
    hours : of a slice. moved : called with the part of jobs that ended.
    """
    users = len(instance.users)
    start = math.floor(jobs.span[0] / hours) * hours
    ways = instance.ways
    slow = np.minimum.reduceat(ways.speed, ways.first).tolist()
    lines = [_JobLine(jobs, np.flatnonzero(jobs.user == n), slow[n]) for n in range(users)]
    book_of = Slices(instance, book, notion, hours, journal, alone=False)
    end = np.full(len(jobs.user), np.inf)
    wants: list[Floats] = []
    held: list[Floats] = []
    idle = ended = 0
    while ended < len(end) and idle < IDLE and len(wants) < MOST_SLICES:
        begin = start + len(wants) * hours
        could = np.array([line.could(begin, begin + hours) for line in lines])
        given = book_of.next(could / hours, None)[1]
        due, done = (of(given).sum(axis=1) for of in (ways.running, ways.output))
        speed = np.divide(done, due, out=np.ones(users), where=due > 0)
        for line, had, fast in zip(lines, due.tolist(), speed.tolist(), strict=True):
            ended += line.serve(had * hours, fast, begin, end)
        wants.append(could / hours)
        held.append(due)
        later = any(line.later for line in lines)
        idle = 0 if due.any() or later else idle + 1
        moved(ended / len(end))
    return Ran(end, np.array(wants), np.array(held))


class _JobLine:
    """The jobs of one user in the order in which they came. slow : its least speed."""

    def __init__(self, jobs: WaitingJobs, own: Ints, slow: float) -> None:
        own = own[np.argsort(jobs.arrival[own], kind="stable")]
        self.own, self.arrival, self.tasks = own, jobs.arrival[own], jobs.tasks[own]
        self.work = self.tasks * jobs.alone[own]
        self.left, self.slow = self.work.copy(), slow
        self.there = np.zeros(0, dtype=np.int64)
        self.came = 0
        self.can = np.zeros(0)

    @property
    def later(self) -> bool:
        """Whether a job is still to come."""
        return self.came < len(self.own)

    def could(self, begin: float, until: float) -> float:
        """Task-hours that the jobs there can take until a time."""
        now = int(np.searchsorted(self.arrival, until, side="left"))
        self.there = np.concatenate([self.there, np.arange(self.came, now)])
        self.came = now
        there = self.there
        room = self.tasks[there] * (until - np.maximum(self.arrival[there], begin))
        self.can = np.minimum(room, self.left[there] / self.slow)
        return float(self.can.sum())

    def serve(self, amount: float, speed: float, begin: float, end: Floats) -> int:
        """Task-hours at a speed to those who came first; writes ends, and returns how many there
        are."""
        there, before = self.there, np.cumsum(self.can) - self.can
        took = np.clip(amount - before, 0.0, self.can)
        took = np.minimum(took, self.left[there] / speed)  # a fast one may need less
        self.left[there] -= took * speed
        done = self.left[there] <= DONE * self.work[there]
        gone = there[done]
        since = np.maximum(self.arrival[gone], begin)
        end[self.own[gone]] = since + took[done] / self.tasks[gone]
        self.there = there[~done]
        return len(gone)


__all__ = ["WaitingJobs", "Ran", "run"]
