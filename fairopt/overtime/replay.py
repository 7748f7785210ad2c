"""A log beside what was due: by each slice alone, by a ledger, and in hindsight."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairopt.allocation import Allocation
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.files.journal import Journal
from fairopt.instance import Floats, Instance
from fairopt.notions import MaxMin, Notion
from fairopt.overtime.durations import hours
from fairopt.overtime.finish import measured
from fairopt.overtime.horizon import Horizon, horizon
from fairopt.overtime.ledger import Ledger
from fairopt.overtime.logs import Log, together
from fairopt.solving import solve

MOST = 100_000
"""most slices"""


@dataclass(frozen=True, eq=False)
class Replay:
    """What was held and due, slice by slice; made by `replay`.

    Parameters
    ----------
    instance : the cluster. policy : of the ledger. hours : of a slice. starts : (T,) hours.
    wants, held, alone, ledger, hindsight : (T, N) tasks at once: wanted, held, due by each slice
        alone, due by the ledger, due in hindsight. users : (N,) positions of those with any want.
    whole : the horizon of these users. answer : its certified answer.
    ratios : of held, alone and ledger to hindsight, proved; None where it is not feasible.
    said : remarks for a reader. finish : finish-time fairness of jobs (`finish.measured`).

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> found = fo.replay(pool, None, [[9, 0], [9, 9]], 12, "slice")
    >>> found.policy, found.hours, found.debt.shape
    ('slice', 12.0, (2, 2))
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
    finish: Mapping[str, float] | None = None

    @property
    def debt(self) -> Floats:
        """(T, N) task-hours due in hindsight so far that were not held; < 0: held more."""
        return np.asarray(np.cumsum((self.hindsight - self.held) * self.hours, axis=0))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `fairopt replay -o` writes it."""
        verdict = self.answer.certificate
        users = {
            name: {
                key: getattr(self, key)[:, n].tolist()
                for key in ("wants", "held", "alone", "ledger", "hindsight", "debt")
            }
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
            "certificate": None
            if verdict is None
            else {"verdict": verdict.verdict, "gap": verdict.gap, "residual": verdict.residual},
            "users": users,
        }


SCHEMA = "fairopt/replay/v1"
JOURNAL = "fairopt/replay-slices/v1"


def replay(
    instance: Instance,
    log: Log | ArrayLike | None = None,
    wants: Log | ArrayLike | None = None,
    slice: str | float = "1h",
    policy: str | Ledger = "slice",
    notion: Notion | None = None,
    progress: Callable[[int, int], None] | None = None,
    resume: str | os.PathLike[str] | None = None,
    jobs: ArrayLike | None = None,
    machines: float | None = None,
    static: bool = False,
) -> Replay:
    """A log of what was held beside what was due.

    Parameters
    ----------
    log : of what was held (`fairopt.overtime.logs.read_log`), or (T, N) or (T, N, I) mean tasks in
        each slice. None: the policy itself is run, and what it gives is what is held.
    wants : of what was wanted, or (T, N). None: what was held, so that nothing more can be due.
    slice : length, such as "1h"; a number is hours.
    policy : of the ledger, such as "kai:half=7d,k=1". It remembers what was held.
    notion : by which slices and hindsight are divided; default MaxMin().
    progress : called with (slices done, of).
    resume : a file in which slices that are done are kept, one a line; asked again with the same
        arguments it goes on from there, with the same result.
    jobs : (J, 3) hours of arrival, end and time alone of jobs, whose finish-time fairness is
        measured; machines : M of it, default those of the instance; static : with N/M of the whole
        trace.

    Raises
    ------
    BadInput, UsageError : wrong shapes, nothing held or wanted at all. NotCertified and others : as
        of `solve`.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> found = fo.replay(pool, None, [[9, 0], [9, 9]], 12, "kueue:half=7d")
    >>> found.held.round(2).tolist()
    [[4.5, 0.0], [0.0, 3.0]]
    """
    try:
        length = hours(slice, "slice")
    except ValueError as error:
        raise UsageError(str(error)) from None
    if log is None and wants is None:
        raise UsageError("replay: found neither a log nor wants; wanted one of them, or both")
    notion = MaxMin() if notion is None else notion
    book = policy if isinstance(policy, Ledger) else Ledger.of(policy)
    said: list[str] = []
    held, wanted, start, origin = _gridded(instance, log, wants, length)
    if wanted is None:
        assert held is not None
        wanted = held.sum(axis=2)
        said.append(
            "no wants were given: they are taken to be what was held, so nobody can be "
            "due more than it held"
        )
    elif held is not None:
        more = held.sum(axis=2)
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
    with Journal(resume, JOURNAL, ("alone", "ledger")) as journal:
        work = (instance, held, wanted, length, book, notion)
        alone, by_ledger, had = _slices(*work, progress, journal)
    there = np.flatnonzero((wanted > 0).any(axis=0))
    small = instance.select(there, np.arange(len(instance.servers)))
    names = [f"{start + t * length:g}h" for t in range(steps)]
    whole = horizon(small, wanted[:, there], length, slices=names)
    answer = solve(whole.instance, notion)
    due = np.zeros_like(wanted)
    due[:, there] = whole.split(answer).sum(axis=2)
    ratios = {
        name: _ratio(whole, plan[:, there], answer, said, name)
        for name, plan in (("held", had), ("alone", alone), ("ledger", by_ledger))
    }
    return Replay(
        instance,
        book.told or book.name,
        length,
        np.asarray(start + length * np.arange(steps), dtype=np.float64),
        wanted,
        had.sum(axis=2),
        alone.sum(axis=2),
        by_ledger.sum(axis=2),
        due,
        whole,
        answer,
        ratios,
        tuple(said),
        origin,
        None if jobs is None else measured(_jobs(jobs), _machines(machines, instance), static),
    )


def _jobs(given: ArrayLike) -> Floats:
    times = np.asarray(given, dtype=np.float64)
    good = times.ndim == 2 and times.shape[1] == 3 and len(times) > 0
    if not good or not (np.isfinite(times).all() and (times[:, 2] > 0).all()):
        wanted = "(J, 3) hours of arrival, end and time alone > 0"
        raise BadInput([Fault("jobs", f"shape {times.shape}", wanted)])
    return times


def _machines(given: float | None, instance: Instance) -> float:
    found = float(instance.count.sum()) if given is None else float(given)
    if not 0 < found < math.inf:
        raise UsageError(f"machines: found {found:g}; wanted a number > 0")
    return found


def _gridded(
    instance: Instance, log: Any, wants: Any, length: float
) -> tuple[Floats | None, Floats | None, float, str]:
    """Held (T, N, I) and wanted (T, N) in slices, the hour at which they begin, and its date."""
    users, servers, _ = instance.shape
    start, origin = 0.0, ""
    if isinstance(log, Log) and isinstance(wants, Log):
        log, wants = together(log, wants)
    logs = [one for one in (log, wants) if isinstance(one, Log)]
    if logs:
        origin = min(one.origin for one in logs) if all(one.origin for one in logs) else ""
        start = math.floor(min(one.span[0] for one in logs) / length) * length
        end = max(one.span[1] for one in logs)
        steps = max(1, math.ceil((end - start) / length - 1e-9))
        if steps > MOST:
            raise UsageError(
                f"slice: found {steps:,} slices of {length:g} h; wanted at most {MOST:,}"
            )
        log = log.means(start, length, steps, users, servers) if isinstance(log, Log) else log
        if isinstance(wants, Log):
            wants = wants.means(start, length, steps, users, 1)[:, :, 0]
    held = None if log is None else _array("log", log, (users, servers))
    wanted = None if wants is None else _array("wants", wants, (users,))
    if held is not None and wanted is not None and len(held) != len(wanted):
        wrong = Fault("wants", f"{len(wanted)} slices", f"{len(held)}, as in the log")
        raise BadInput([wrong])
    return held, wanted, start, origin


def _array(name: str, given: Any, shape: tuple[int, ...]) -> Floats:
    """(T, *shape) of numbers >= 0; (T, N) may stand for (T, N, 1)."""
    array = np.asarray(given, dtype=np.float64)
    if array.ndim == 2 and shape[1:] == (1,):
        array = array[:, :, None]
    if array.ndim != len(shape) + 1 or array.shape[1:] != shape or not len(array):
        raise BadInput([Fault(name, f"shape {array.shape}", f"shape (slices, {shape})")])
    if not ((array >= 0) & np.isfinite(array)).all():
        raise BadInput([Fault(name, f"{array.min():g}", "finite numbers >= 0")])
    return array


def _slices(
    instance: Instance,
    held: Floats | None,
    wanted: Floats,
    length: float,
    book: Ledger,
    notion: Notion,
    progress: Callable[[int, int], None] | None,
    journal: Journal,
) -> tuple[Floats, Floats, Floats]:
    """Due by each slice alone, due by the ledger, and what was held, each (T, N, I)."""
    steps = len(wanted)
    alone, by_ledger = (np.zeros((steps, *instance.shape[:2])) for _ in range(2))
    plain, state = Ledger.of("slice"), book.start(instance)
    known: dict[bytes, Floats] = {}
    # a line is of the slices up to it: of another log, cluster or policy it is another key
    asked = (instance.digest(), book, notion.plain(), length)
    chain = hashlib.sha256(repr(asked).encode())
    for t in range(steps):
        chain.update(wanted[t].tobytes() + (b"" if held is None else held[t].tobytes()))
        line = chain.hexdigest()
        kept = journal.known.get(line)
        if kept is not None and book.kind != "credits":
            alone[t], by_ledger[t] = (_kept(kept[k], instance) for k in ("alone", "ledger"))
            known[wanted[t].tobytes()] = alone[t]
            if book.rule != "none":
                had = by_ledger[t] if held is None else held[t]
                state = book.after(state, instance, had, length)
            if progress is not None:
                progress(t + 1, steps)
            continue
        key = wanted[t].tobytes()
        if key not in known:  # slices in which all want the same are divided once
            nothing = plain.start(instance)
            known[key] = plain.due(nothing, instance, wanted[t], length, notion)
        alone[t] = known[key]
        if book.rule == "none":
            by_ledger[t] = alone[t]
        else:
            by_ledger[t], after = book.division(state, instance, wanted[t], length, notion)
            had = by_ledger[t] if held is None else held[t]
            same = held is None or book.kind == "credits"
            state = after if same else book.after(state, instance, had, length)
        journal.add(line, alone=_entries(alone[t]), ledger=_entries(by_ledger[t]))
        if progress is not None:
            progress(t + 1, steps)
    return alone, by_ledger, (by_ledger if held is None else held)


def _entries(tasks: Floats) -> list[tuple[int, int, float]]:
    """What is not 0 of tasks (N, I)."""
    n, i = np.nonzero(tasks)
    return list(zip(n.tolist(), i.tolist(), tasks[n, i].tolist(), strict=True))


def _kept(entries: list[tuple[int, int, float]], instance: Instance) -> Floats:
    found = np.zeros(instance.shape[:2])
    for n, i, x in entries:
        found[n, i] = x
    return found


def _ratio(
    whole: Horizon, plan: Floats, answer: Allocation, said: list[str], name: str
) -> float | None:
    """The ratio of a plan that keeps every rule; None, and a remark, of another."""
    use = np.einsum("tni,nir->tir", plan, _by_server(whole.base))
    over = float((use / np.where(whole.base.pool > 0, whole.base.pool, np.inf)).max(initial=0.0))
    if over > 1 + 1e-6:
        said.append(f"{name}: {over:.4g} times what there is, at the worst; it has no ratio")
        return None
    return whole.ratio(plan, answer)


def _by_server(instance: Instance) -> Floats:
    return instance.demand_by_server


__all__ = ["SCHEMA", "Replay", "replay"]
