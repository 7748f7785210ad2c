"""Logs of jobs as levels over time: Slurm's `sacct -P`, Kueue's workloads.

A job counts as many tasks of its user as its largest resource makes: amounts over what one task of
the user takes. It is held from its start to its end, and wanted from its submission to its end. A
job that has not ended counts to the last time in the file. Jobs of users that the model does not
name, and of those that never asked for anything the model counts, are counted and told.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from fairopt import storage
from fairopt.files.quantities import NoQuantity, quantity
from fairopt.instance import Instance
from fairopt.instance.reading import Faults
from fairopt.overtime.logs import LARGEST, Log
from fairopt.overtime.waiting import WaitingJobs

FORMS = ("csv", "sacct", "kueue")
SACCT = ("User", "Account", "Submit", "Start", "End", "AllocTRES")
UNITS = {"K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
TRES = {"mem": "memory", "gres/gpu": "gpu"}
"""names of Slurm's resources beside those of models, which may use either"""


@dataclass(frozen=True)
class Job:
    """A job: user, server ("" where the file does not say), amounts, and its times, None: not
    yet."""

    user: str
    server: str
    amounts: Mapping[str, float]
    submit: datetime
    start: datetime | None
    end: datetime | None


@dataclass(frozen=True, eq=False)
class Logs:
    """What jobs held and wanted, how many there were, how many count for nobody, and those that ran
    and ended; alone is how long each ran."""

    held: Log
    wants: Log
    jobs: int
    left_out: int
    ended: WaitingJobs


def read_jobs(path: str | os.PathLike[str], instance: Instance, form: str) -> Logs:
    """Read a log of jobs.

    Parameters
    ----------
    path : of `sacct -P -o User,Account,Partition,Submit,Start,End,AllocTRES`, or of
        `kubectl get workloads -A -o json`; "-" for standard input.
    form : "sacct" or "kueue".

    Raises
    ------
    BadInput : with every fault of the file, each with its place. UsageError : users with modes, of
        which these files say nothing.
    """
    instance.only_plain(f"jobs of {form}", modes=True)
    content = storage.read_text(path, LARGEST, f"jobs of {form}")
    faults = Faults(storage.source_name(path))
    jobs = list((_sacct if form == "sacct" else _kueue)(content, instance, faults))
    faults.stop()
    return levels(jobs, instance, faults)


def levels(jobs: list[Job], instance: Instance, faults: Faults) -> Logs:
    """The levels of jobs over time."""
    users = {name: n for n, name in enumerate(instance.users)}
    servers = {name: i for i, name in enumerate(instance.servers)}
    held, wants, ran, left = [], [], [], 0
    times = [t for job in jobs for t in (job.submit, job.start, job.end) if t is not None]
    if not times:
        faults.add("file", "no job", "at least one")
        faults.stop()
    origin, last = min(times), max(times)
    for job in jobs:
        n = users.get(job.user)
        tasks = 0.0 if n is None else _tasks(job.amounts, instance, n)
        i = servers.get(job.server, 0 if len(servers) == 1 else -1)
        if n is None or not tasks or i < 0:
            left += 1
            continue
        begin, end = _hour(job.submit, origin), _hour(job.end or last, origin)
        wants += [(begin, n, 0, tasks), (end, n, 0, -tasks)]
        if job.start is not None and job.end is not None and job.end > job.start:
            ran.append((n, tasks, begin, end - _hour(job.start, origin), end))
        if job.start is not None:
            held += [(_hour(job.start, origin), n, i, tasks), (end, n, i, -tasks)]
    if not wants:
        known = ", ".join(instance.users[:4])
        faults.add(
            "file",
            f"no job of a user of the model ({len(jobs)} of others)",
            f"jobs of {known}, which take what the model counts",
        )
        faults.stop()
    who, size, came, own, gone = np.array(ran, dtype=np.float64).reshape(-1, 5).T
    ended = WaitingJobs(who.astype(np.int64), size, came, own, gone, origin.isoformat())
    return Logs(_log(held, origin), _log(wants, origin), len(jobs), left, ended)


def _log(changes: list[tuple[float, int, int, float]], origin: datetime) -> Log:
    """Levels from changes: of one time together."""
    changes = sorted(changes)
    level: dict[tuple[int, int], float] = {}
    rows: list[tuple[float, int, int, float]] = []
    for time, n, i, more in changes:
        now = level.get((n, i), 0.0) + more
        level[n, i] = now if now > 1e-9 * abs(more) else 0.0
        rows.append((time, n, i, level[n, i]))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return Log(
        columns[:, 0],
        columns[:, 1].astype(np.int64),
        columns[:, 2].astype(np.int64),
        columns[:, 3],
        origin.isoformat(),
    )


def _tasks(amounts: Mapping[str, float], instance: Instance, n: int) -> float:
    """How many tasks of user n have these amounts: by the resource that makes most."""
    demand = instance.demand[n] if instance.demand.ndim == 2 else instance.demand[n].max(axis=0)
    each = [
        amounts.get(name, 0.0) / float(d)
        for name, d in zip(instance.resources, demand.tolist(), strict=True)
        if d > 0
    ]
    return max(each, default=0.0)


def _hour(time: datetime, origin: datetime) -> float:
    return (time - origin).total_seconds() / 3600


def _when(text: Any, place: str, faults: Faults, missing: bool = False) -> datetime | None:
    """A date and time; None for none, which is a fault unless it may be missing."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        if not missing or str(text) not in ("", "Unknown", "None", "N/A"):
            faults.add(place, repr(text), "a date and time such as 2026-01-31T08:00:00")
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _sacct(content: str, instance: Instance, faults: Faults) -> Iterable[Job]:
    reader = csv.reader(io.StringIO(content, newline=""), delimiter="|")
    header = [cell.strip() for cell in next(reader, [])]
    missing = [name for name in SACCT[2:] if name not in header]
    if missing or not {"User", "Account"} & set(header):
        found = f"no column {(missing or ['User'])[0]}"
        faults.add("line 1", found, "what sacct -P prints, with " + ", ".join(SACCT))
        return
    people = set(instance.users)
    for cells in reader:
        if len(cells) < len(header):
            continue
        row = dict(zip(header, cells, strict=False))
        here = f"line {reader.line_num}"
        # steps of a job (12.batch) have no user of their own
        user = next(
            (row[c] for c in ("User", "Account") if row.get(c) in people), row.get("User", "")
        )
        if not row.get("User", user) or "." in row.get("JobID", ""):
            continue
        submit = _when(row["Submit"], f"{here}, Submit", faults)
        start = _when(row["Start"], f"{here}, Start", faults, missing=True)
        end = _when(row["End"], f"{here}, End", faults, missing=True)
        if submit is not None:
            amounts = _tres(row["AllocTRES"] or row.get("ReqTRES", ""), instance, here, faults)
            yield Job(user, row.get("Partition", ""), amounts, submit, start, end)


def _tres(text: str, instance: Instance, here: str, faults: Faults) -> dict[str, float]:
    """{resource of the model: amount} of a text such as cpu=4,mem=16G,gres/gpu=2."""
    found: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        key, _, given = part.partition("=")
        name = key if key in instance.resources else TRES.get(key, "")
        if name not in instance.resources:
            continue
        unit = UNITS.get(given[-1:], 1.0)
        try:
            amount = float(given[:-1] if given[-1:] in UNITS else given)
        except ValueError:
            faults.add(f"{here}, AllocTRES", repr(part), "an amount such as mem=16G")
            continue
        found[name] = amount * unit
    return found


def _kueue(content: str, instance: Instance, faults: Faults) -> Iterable[Job]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        faults.add("file", f"text that is not JSON ({error})", "kubectl get workloads -A -o json")
        return
    items = data.get("items") if isinstance(data, Mapping) else None
    if not isinstance(items, list):
        faults.add("items", "none", "kubectl get workloads -A -o json")
        return
    people = set(instance.users)
    for k, item in enumerate(items):
        here = f"items[{k}]"
        try:
            yield _workload(item, people, instance, here, faults)
        except (AttributeError, KeyError, TypeError, NoQuantity) as error:
            faults.add(here, f"something that is no workload ({error})", "a Workload of Kueue")


def _workload(item: Any, people: set[str], instance: Instance, here: str, faults: Faults) -> Job:
    spec, status = item["spec"], item.get("status", {})
    times = {
        c["type"]: c["lastTransitionTime"]
        for c in status.get("conditions", ())
        if c.get("status") == "True"
    }
    admission = status.get("admission") or {}
    names = (
        f"{item['metadata'].get('namespace', '')}/{spec.get('queueName', '')}",
        spec.get("queueName", ""),
        admission.get("clusterQueue", ""),
    )
    user = next((name for name in names if name in people), names[1])
    amounts: dict[str, float] = {}
    for pods in spec.get("podSets", ()):
        for container in pods["template"]["spec"].get("containers", ()):
            for name, given in container.get("resources", {}).get("requests", {}).items():
                own = name if name in instance.resources else name.rpartition("/")[2]
                amount = float(quantity(given)) * pods.get("count", 1)
                amounts[own] = amounts.get(own, 0.0) + amount
    submit = _when(item["metadata"]["creationTimestamp"], f"{here}.creationTimestamp", faults)
    start = _when(times.get("Admitted", times.get("QuotaReserved", "")), here, faults, True)
    end = _when(times.get("Finished", ""), here, faults, True)
    return Job(user, "", amounts, submit or datetime.now(UTC), start, end)


__all__ = ["FORMS", "Job", "Logs", "levels", "read_jobs"]
