"""Jobs as `sacct -P` prints them: `sacct -X -P -o JobID,User,Account,Partition,Submit,Start,End,
AllocTRES,ReqTRES`.

TRES of the whole job are what it takes. `gres/gpu:a100=2` counts as a resource of one of the names
gres/gpu:a100, gpu:a100 and a100, and its kind may name a mode or a server, as the partition may.
Rows of one JobID (`-D`) are runs of one job, and a pending array is as many jobs as it counts.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from dataclasses import replace

from fairopt.connect.readers.job import Job, when
from fairopt.connect.readers.slurm_jobs import array_size
from fairopt.connect.text.fields import CARD, GPU, MEMORY
from fairopt.instance import Instance
from fairopt.instance.reading import Faults, shown

SACCT = ("User", "Account", "Submit", "Start", "End", "AllocTRES")
UNITS = {"K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
TRES = {"mem": (MEMORY,), "gres/gpu": (CARD, GPU)}
"""names of Slurm's resources beside those of models, which may use either"""


def sacct(content: str, instance: Instance, faults: Faults) -> list[Job]:
    """The jobs of a text, each once; steps of jobs are left out."""
    # names of jobs may hold quotation marks
    reader = csv.reader(
        io.StringIO(content, newline=""), delimiter="|", quoting=csv.QUOTE_NONE, strict=True
    )
    try:
        return _joined(_rows(reader, instance, faults))
    except csv.Error as error:
        faults.add(f"line {reader.line_num}", f"no row ({error})", "what sacct -P prints")
        return []


def _rows(reader: object, instance: Instance, faults: Faults) -> Iterable[tuple[str, Job]]:
    """(JobID or "", a job) of each row."""
    header = [cell.strip() for cell in next(reader, [])]  # type: ignore[call-overload]
    missing = [name for name in SACCT[2:] if name not in header]
    if missing or not {"User", "Account"} & set(header):
        found = f"no column {(missing or ['User'])[0]}"
        faults.add("line 1", found, "what sacct -P prints, with " + ", ".join(SACCT))
        return
    people = set(instance.users)
    for cells in reader:  # type: ignore[attr-defined]
        here = f"line {reader.line_num}"  # type: ignore[attr-defined]
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            faults.add(here, f"{len(cells)} cells", f"{len(header)}, as in line 1")
            continue
        row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
        # steps of a job (12.batch) have no user of their own
        user = next(
            (row[c] for c in ("User", "Account") if row.get(c) in people), row.get("User", "")
        )
        name = row.get("JobID", row.get("JobIDRaw", ""))
        if not row.get("User", user) or "." in name:
            continue
        submit = when(row["Submit"], f"{here}, Submit", faults)
        start = when(row["Start"], f"{here}, Start", faults, missing=True)
        end = when(row["End"], f"{here}, End", faults, missing=True)
        if start is not None and end is not None and end < start:
            faults.add(f"{here}, End", row["End"], f"a time from Start on, {row['Start']}")
            continue
        text = row["AllocTRES"] or row.get("ReqTRES", "")
        amounts, kinds = _tres(text, instance, f"{here}, AllocTRES", faults)
        jobs = array_size(name)
        if jobs is None:
            faults.add(f"{here}, JobID", shown(name), "an array such as 12_[1-10]")
            continue
        if submit is not None:
            amounts = {key: amount * jobs for key, amount in amounts.items()}
            runs = () if start is None else ((start, end),)
            places = (*filter(None, row.get("Partition", "").split(",")), *kinds)
            yield name, Job(user, places, amounts, submit, runs, end)


def _joined(rows: Iterable[tuple[str, Job]]) -> list[Job]:
    """Rows of one JobID as the runs of one job, which has ended when the last one has."""
    found: dict[object, Job] = {}
    for k, (name, job) in enumerate(rows):
        before = found.get(name) if name else None
        if before is None:
            found[name or k] = job
            continue
        known = job if job.amounts else before
        ends = (before.end, job.end)
        end = None if None in ends else max(one for one in ends if one is not None)
        submit = min(before.submit, job.submit)
        found[name] = replace(known, submit=submit, runs=(*before.runs, *job.runs), end=end)
    return list(found.values())


def _tres(
    text: str, instance: Instance, here: str, faults: Faults
) -> tuple[dict[str, float], tuple[str, ...]]:
    """{resource of the model: amount} of a text such as cpu=4,mem=16G,gres/gpu:a100=2, and the
    kinds that it names."""
    given: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        unit = UNITS.get(value[-1:], 1.0)
        try:
            amount = float(value[:-1] if value[-1:] in UNITS else value) * unit
        except ValueError:
            amount = math.nan
        if not 0 <= amount < math.inf:
            faults.add(here, shown(part), "an amount such as mem=16G")
            continue
        given[key] = amount
    found: dict[str, float] = {}
    kinds = []
    for key, amount in given.items():
        whole, colon, kind = key.partition(":")
        names = [key, *TRES.get(key, ())]
        if colon:
            kinds.append(kind)
            names += [f"{whole.rpartition('/')[2]}:{kind}", kind]
        elif key.startswith("gres/"):
            names.append(key.removeprefix("gres/"))
        resource = next((name for name in names if name in instance.resources), None)
        if resource is None and colon and whole not in given:  # only kinds are accounted
            more = (whole, *TRES.get(whole, ()), whole.removeprefix("gres/"))
            resource = next((name for name in more if name in instance.resources), None)
        if resource is not None:
            found[resource] = found.get(resource, 0.0) + amount
    return found, tuple(kinds)


__all__ = ["SACCT", "sacct"]
