"""A log beside what was due: by each slice alone, by a ledger, and in hindsight."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairopt.allocation import Allocation
from fairopt.allocation.writing import instance_plain, proof
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.files.journal import Journal
from fairopt.instance import Floats, Instance
from fairopt.notions import MaxMin, Notion
from fairopt.overtime.durations import hours
from fairopt.overtime.gridded import at_once, gridded
from fairopt.overtime.horizon import Horizon, horizon, slice_names
from fairopt.overtime.ledger import Ledger
from fairopt.overtime.logs import Log
from fairopt.overtime.measured import measured, ratio_of
from fairopt.overtime.slices import FIELDS, Slices
from fairopt.overtime.slices import SCHEMA as JOURNAL
from fairopt.overtime.waiting import Ran, WaitingJobs, run
from fairopt.solving import solve


@dataclass(frozen=True, eq=False)
class Replay:
    """What was held and due, slice by slice; made by `replay`.

    Parameters
    ----------
    instance : the cluster. policy : of the ledger. hours : of a slice. starts : (T,) hours.
    wants : (T, N) tasks at once that were wanted. held, alone, ledger, hindsight : (T, N) tasks at
        once, or their output where users have modes: held, due by each slice alone, due by the
        ledger, due in hindsight.
    whole : the horizon of these users. answer : its certified answer.
    ratios : of held, alone and ledger to hindsight, proved; None where it is not feasible.
    plans : {held, alone, ledger: (T, K, I)}, tasks of each way of `instance.ways` on servers; a
        user without modes is one way.
    said : remarks for a reader. finish : finish-time fairness of jobs that ended
        (`finish.summary`); finish_of : the same of each user's.
    ran : what the policy made of jobs, where it ran them.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1], [1]], [[1]], users=["A", "B"])
    >>> found = fo.replay(cluster, wants=[[1, 0], [1, 1]], policy="kai:half=7d,k=1")
    >>> print({name: round(each, 3) for name, each in found.ratios.items() if each is not None})
    {'held': 1.0, 'alone': 0.5, 'ledger': 1.0}
    """

    instance: Instance
    policy: str
    hours: float
    starts: Floats
    wants: Floats
    held: Floats
    alone: Floats
    ledger: Floats
    hindsight: Floats
    whole: Horizon
    answer: Allocation
    ratios: Mapping[str, float | None]
    said: tuple[str, ...]
    origin: str = ""
    plans: Mapping[str, Floats] = field(default_factory=dict)
    finish: Mapping[str, float] | None = None
    finish_of: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    ran: Ran | None = None

    @property
    def debt(self) -> Floats:
        """(T, N) task-hours, or output, due in hindsight so far that were not held; < 0: held
        more."""
        return np.asarray(np.cumsum((self.hindsight - self.held) * self.hours, axis=0))

    @property
    def held_tasks(self) -> Floats:
        """(T, N) tasks at once that were held, in whatever mode."""
        return np.asarray(self.instance.ways.running(self.plans["held"]).sum(axis=2))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `fairopt replay -o` writes it."""
        verdict = self.answer.certificate
        plain = self.instance.modes is None
        series = ("wants", "held", "alone", "ledger", "hindsight", "debt")
        by = {key: getattr(self, key) for key in (*series, *(() if plain else ("held_tasks",)))}
        users = {
            name: {key: rows[:, n].tolist() for key, rows in by.items()}
            for n, name in enumerate(self.instance.users)
        }
        return {
            "schema": SCHEMA,
            "policy": self.policy,
            "notion": self.answer.notion,
            "hours": self.hours,
            "starts": self.starts.tolist(),
            "origin": self.origin,
            "ratios": dict(self.ratios),
            "said": list(self.said),
            **({} if self.finish is None else {"finish_time_fairness": dict(self.finish)}),
            **({"finish_time_fairness_of": dict(self.finish_of)} if self.finish_of else {}),
            **({} if self.ran is None else {"job_ends": _ends(self.ran)}),
            "certificate": None
            if verdict is None
            else {"verdict": verdict.verdict, "gap": verdict.gap, "residual": verdict.residual},
            "users": users,
            "instance": instance_plain(self.instance),
            "answer": {"notion": dict(self.answer.notion), **proof(self.answer)},
            **(
                {}
                if plain and len(self.instance.servers) == 1
                else {"plans": _by_server(self.plans)}
            ),
        }


SCHEMA = "fairopt/replay/v1"


def replay(
    instance: Instance,
    log: Log | ArrayLike | None = None,
    wants: Log | ArrayLike | None = None,
    slice: str | float = "1h",
    policy: str | Ledger = "slice",
    notion: Notion | None = None,
    progress: Callable[[int, int], None] | None = None,
    resume: str | os.PathLike[str] | None = None,
    jobs: WaitingJobs | ArrayLike | None = None,
    machines: float | None = None,
    static: bool = False,
) -> Replay:
    """A log of what was held beside what was due.

    Parameters
    ----------
    log : of what was held (`fairopt.overtime.logs.read_log`), or (T, N) or (T, N, I) mean tasks in
        each slice; where users have modes, of each way of `Instance.ways`. None: the policy itself
        is run, and what it gives is what is held.
    wants : of what was wanted, or (T, N) tasks in whatever mode. None: what was held, so that
        nothing more can be due.
    slice : length, such as "1h"; a number is hours.
    policy : of the ledger, such as "kai:half=7d,k=1". It remembers what was held.
    notion : by which slices and hindsight are divided; default MaxMin().
    progress : called with (slices done, of).
    resume : a file in which slices that are done are kept, one a line; asked again with the same
        arguments it goes on from there, with the same result.
    jobs : whose finish-time fairness is measured: (J, 3) hours of arrival, end and time alone, or
        `fairopt.overtime.waiting.Jobs`. Where those have no end the policy runs them, and they wait
        until they have run; without wants, what they ask for when they come is what is wanted.
    machines : M of finish-time fairness, default those of the instance. static : with N/M of the
        whole trace.

    Raises
    ------
    BadInput, UsageError : wrong shapes, nothing held or wanted at all. NotCertified and others : as
        of `solve`.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1], [1]], [[1]], users=["A", "B"])
    >>> found = fo.replay(cluster, log=[[1, 0], [0.5, 0.5]], wants=[[1, 0], [1, 1]])
    >>> print(found.hindsight.sum(axis=0).round(6))
    [1. 1.]
    """
    try:
        length = hours(slice, "slice")
    except ValueError as error:
        raise UsageError(str(error)) from None
    asked = _jobs(jobs)
    waiting = asked is not None and asked.end is None
    if log is None and wants is None and not waiting:
        raise UsageError("replay: found neither a log nor wants; wanted one of them, or both")
    if log is not None and waiting:
        raise UsageError("jobs: found no end beside a log; wanted when they ended, or no log")
    ways = instance.ways
    notion = MaxMin() if notion is None else notion
    book = policy if isinstance(policy, Ledger) else Ledger.of(policy)
    said: list[str] = []
    if wants is None and asked is not None and waiting:
        wants, start, origin = at_once(asked, length, len(instance.users))
        held, wanted, _, _ = gridded(instance, None, wants, length)
    else:
        held, wanted, start, origin = gridded(instance, log, wants, length)
    if wanted is None:
        assert held is not None
        wanted = ways.running(held).sum(axis=2)
        said.append(
            "no wants were given: they are taken to be what was held, so nobody can be "
            "due more than it held"
        )
    elif held is not None:
        more = ways.running(held).sum(axis=2)
        over = more > wanted * (1 + 1e-9)
        if over.any():
            said.append(
                f"in {int(over.any(axis=1).sum())} slices somebody held more than it "
                "wanted; its want is taken to be what it held"
            )
            wanted = np.maximum(wanted, more)
    if not (wanted > 0).any():
        raise BadInput([Fault("wants", "nobody who wants anything", "at least one")])
    steps = len(wanted)
    with Journal(resume, JOURNAL, FIELDS) as journal:
        slices = Slices(instance, book, notion, length, journal)
        of = 2 * steps if waiting else steps

        def moved(done: float) -> None:
            if progress is not None:
                progress(int(done), of)

        alone, by_ledger, had = _slices(slices, wanted, held, moved)
        ran = None
        if asked is not None and waiting:
            ran = run(
                instance, asked, book, length, notion, journal, lambda p: moved((1 + p) * steps)
            )
    there = np.flatnonzero((wanted > 0).any(axis=0))
    small = instance.select(there, np.arange(len(instance.servers)))
    starts = np.asarray(start + length * np.arange(steps), dtype=np.float64)
    whole = horizon(small, wanted[:, there], length, slices=slice_names(starts))
    answer = solve(whole.instance, notion)
    due = np.zeros_like(wanted)
    due[:, there] = small.ways.output(whole.split(answer, by_way=True)).sum(axis=2)
    plans = {"held": had, "alone": alone, "ledger": by_ledger}
    output = {name: ways.output(plan).sum(axis=2) for name, plan in plans.items()}
    ratios: dict[str, float | None] = {}
    for name, plan in plans.items():
        ratios[name], over = ratio_of(whole, plan[:, ways.among(there)], answer)
        if ratios[name] is None:
            said.append(f"{name}: {over:.4g} times what there is, at the worst; it has no ratio")
    finish, finish_of = measured(asked, ran, instance, machines, static, said)
    return Replay(
        instance,
        book.told or book.name,
        length,
        starts,
        wanted,
        output["held"],
        output["alone"],
        output["ledger"],
        due,
        whole,
        answer,
        ratios,
        tuple(said),
        origin,
        plans,
        finish,
        finish_of,
        ran,
    )


def _jobs(given: WaitingJobs | ArrayLike | None) -> WaitingJobs | None:
    if given is None or isinstance(given, WaitingJobs):
        return given
    times = np.asarray(given, dtype=np.float64)
    good = times.ndim == 2 and times.shape[1] == 3 and len(times) > 0
    if not good or not (np.isfinite(times).all() and (times[:, 2] > 0).all()):
        wanted = "(J, 3) hours of arrival, end and time alone > 0"
        raise BadInput([Fault("jobs", f"shape {times.shape}", wanted)])
    nobody = np.full(len(times), -1)
    return WaitingJobs(nobody, np.ones(len(times)), times[:, 0], times[:, 2], times[:, 1])


def _ends(ran: Ran) -> list[float | None]:
    return [t if math.isfinite(t) else None for t in ran.end.tolist()]


def _slices(
    book: Slices,
    wanted: Floats,
    held: Floats | None,
    moved: Callable[[float], None],
) -> tuple[Floats, Floats, Floats]:
    """Due by each slice alone, due by the ledger, and what was held, each (T, K, I)."""
    steps = len(wanted)
    rows, servers = len(book.instance.ways), len(book.instance.servers)
    alone, by_ledger = (np.zeros((steps, rows, servers)) for _ in range(2))
    for t in range(steps):
        alone[t], by_ledger[t] = book.next(wanted[t], None if held is None else held[t])
        moved(t + 1)
    return alone, by_ledger, (by_ledger if held is None else held)


def _by_server(plans: Mapping[str, Floats]) -> dict[str, list[list[float]]]:
    """{name: [slice, way, server, tasks]} of what is not 0; a way is a user, or a mode of one."""
    return {
        name: [[*at, float(plan[tuple(at)])] for at in np.argwhere(plan).tolist()]
        for name, plan in plans.items()
    }


__all__ = ["SCHEMA", "Replay", "replay"]
