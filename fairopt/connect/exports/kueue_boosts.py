"""Who runs more than it is due, as Kueue's annotation priority-boost (its KEP-7990).

Kueue adds the annotation, a whole number, to the priority of a Workload wherever it orders
workloads of one cluster queue: who is admitted next, and who is preempted first. Here it is at
most 0: the part of what a workload runs that it is not due, of `most`, rounded up. It says nothing
between queues. Whoever runs no more than it is due loses an annotation that it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from fairopt.connect.exports.originals import Object, name_of, originals
from fairopt.errors import UsageError

ANNOTATION = "kueue.x-k8s.io/priority-boost"
LARGEST_BOOST = 2**31 - 1
"""largest boost: the annotation is a number of 32 bits"""


@dataclass(frozen=True)
class RunningWorkload:
    """An admitted Workload: its object, the rows of the plan it may stand in, its pods."""

    own: Object
    rows: tuple[str, ...]
    pods: int


def boosts(plan: Mapping[str, Any], paths: Sequence[str], most: int = 100) -> list[Object]:
    """A patch for every admitted Workload whose annotation is not what it should be.

    Parameters
    ----------
    plan : as `plan_rows.loads` reads it. paths : files with the Workloads.
    most : what a workload loses that is due nothing; below the distance of two priority classes
        the order of the classes stays.

    Raises
    ------
    UsageError : no admitted Workload in the files, or none that the plan knows.
    """
    if not 1 <= most <= LARGEST_BOOST:
        raise UsageError(f"--boost: found {most}; wanted a whole number from 1 to {LARGEST_BOOST}")
    given = originals(paths, lambda api, kind: api.startswith("kueue.") and kind == "Workload")
    running = [found for own in given if (found := _running(own)) is not None]
    rows = _rows(plan)
    place = {
        k: name
        for k, one in enumerate(running)
        if (name := next((row for row in one.rows if row in rows), None)) is not None
    }
    if not place:
        words = "no admitted Workload" if not running else f"{len(running)} admitted Workloads"
        raise UsageError(
            f"found {words} that the plan knows; wanted the files that were planned, with the "
            "Workloads (kubectl get workloads -A)"
        )
    pods: dict[str, int] = {}
    for k, name in place.items():
        pods[name] = pods.get(name, 0) + running[k].pods
    made = []
    for k, name in place.items():
        one = running[k]
        held, due = rows[name]
        boost = _boost(held or pods[name], due, most)
        now = (one.own["metadata"].get("annotations") or {}).get(ANNOTATION)
        wanted = str(boost) if boost else None
        if now != wanted:
            meta = one.own["metadata"]
            space = meta.get("namespace") or "default"
            made.append(
                {
                    "apiVersion": one.own["apiVersion"],
                    "kind": "Workload",
                    "metadata": {
                        "name": name_of(one.own),
                        "namespace": space,
                        "annotations": {ANNOTATION: wanted},
                    },
                }
            )
    return made


def _rows(plan: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """{name: (tasks held, whole tasks due)}; rows that are numbered (several shapes) are one."""
    found: dict[str, tuple[int, int]] = {}
    for row in plan["workloads"]:
        head, mark, tail = str(row["workload"]).rpartition(" (")
        name = head if mark and tail.rstrip(")").isdigit() else str(row["workload"])
        held, due = found.get(name, (0, 0))
        found[name] = held + int(row["held"]), due + int(row["whole"])
    return found


def _boost(held: int, due: int, most: int) -> int:
    over = held - due
    return -ceil(Fraction(over * most, held)) if over > 0 else 0


def _running(own: Object) -> RunningWorkload | None:
    """An object that holds quota; None for one that waits or is over."""
    status, spec = own.get("status") or {}, own.get("spec") or {}
    conditions = status.get("conditions") or ()
    over = any(c.get("type") == "Finished" and c.get("status") == "True" for c in conditions)
    admission = status.get("admission") or {}
    queue = admission.get("clusterQueue")
    if over or not queue:
        return None
    meta = own["metadata"]
    space, name = meta.get("namespace") or "default", name_of(own)
    owners = [o for o in meta.get("ownerReferences") or () if o.get("controller")]
    sets = [s.get("name") or "main" for s in spec.get("podSets") or ()]
    # by the owner of its pods, else as a workload without pods is called in a plan
    names = [f"{queue}/{space}/{o.get('name')}" for o in owners] + [f"{queue}/{space}/{name}"]
    names += [f"{queue}/{name}" if s == "main" else f"{queue}/{name}/{s}" for s in sets]
    pods = sum(int(s.get("count", 1)) for s in spec.get("podSets") or ())
    return RunningWorkload(own, tuple(dict.fromkeys(names)), pods)
