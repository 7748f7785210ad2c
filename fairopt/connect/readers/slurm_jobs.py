"""Slurm's jobs as `sacct -X -P` prints them: what waits, and what runs on which node.

Columns are known by their names, in any order, those of `squeue` as well: JobID, Account, User,
State, ReqTRES, AllocTRES (or TRES_ALLOC), NNodes (or NODES), NodeList, and Partition if it is
there. A task is what a job takes on one of its nodes: TRES are those of the whole job, and are
divided by its nodes. A pending array counts all of its jobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fairopt.connect.cluster.eligible import Requirement, Rules
from fairopt.connect.cluster.record import ClusterRecord, Workload
from fairopt.connect.readers.slurm import tres_of
from fairopt.connect.text.fields import Amounts
from fairopt.instance.reading import Faults, shown

NAMES = {
    "jobid": "jobid",
    "jobidraw": "jobid",
    "account": "account",
    "user": "user",
    "state": "state",
    "reqtres": "asked",
    "alloctres": "given",
    "tres_alloc": "given",
    "nnodes": "nodes",
    "nodes": "nodes",
    "nodelist": "where",
    "partition": "partition",
}
NEEDED = ("jobid", "account", "user", "state", "nodes", "where")
WAITING = ("PENDING", "REQUEUED", "CONFIGURING")
HOLDING = ("RUNNING", "COMPLETING", "SUSPENDED", "STAGE_OUT", "SIGNALING")
MOST_LISTED = 10**6
"""most jobs of an array, and most nodes of a list"""
_ARRAY = re.compile(r"\[([0-9,\-:]+)(?:%[0-9]+)?\]")
TOGETHER = "jobs of several nodes together"


@dataclass
class Jobs:
    """Jobs, taken one file at a time; `joined` puts them into a cluster."""

    faults: Faults
    work: dict[Any, Workload] = field(default_factory=dict)
    held: list[tuple[str, Workload, str]] = field(default_factory=list)
    together: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.work)

    def take(self, lines: Iterable[tuple[str, str]], source: str) -> None:
        """Take the lines of one file, each with its place."""
        rows = iter(lines)
        _, first = next(rows, ("", ""))
        head = [NAMES.get(name.strip().lower(), "") for name in first.split("|")]
        missing = [name for name in NEEDED if name not in head]
        if missing or not {"asked", "given"} & set(head):
            found = f"the columns {first.strip()[:80]}"
            wanted = "JobID|Account|User|State|ReqTRES|AllocTRES|NNodes|NodeList"
            self.faults.add(f"{source}: line 1", found, wanted)
            return
        for place, line in rows:
            cells = dict(zip(head, (cell.strip() for cell in line.split("|")), strict=False))
            self._take(cells, place)

    def _take(self, row: Mapping[str, str], place: str) -> None:
        state = (row["state"].split() or [""])[0].upper()  # "CANCELLED by 1000"
        if "." in row["jobid"] or state not in (*WAITING, *HOLDING):
            return
        name = f"job {row['jobid']}"
        nodes = int(row["nodes"]) if row["nodes"].isdecimal() and len(row["nodes"]) < 7 else 0
        if not nodes or not row["account"]:
            wanted = "an account, and a whole number of nodes >= 1"
            self.faults.add(place, shown(f"{row['account']}, {row['nodes']}"), wanted)
            return
        holds = state in HOLDING
        text = (row.get("given") if holds else "") or row.get("asked") or row.get("given") or ""
        amounts = tres_of(text, f"{name}.TRES", self.faults)
        demand: Amounts = {key: x / nodes for key, x in sorted(amounts.items())}
        if not demand:
            self.faults.add(place, shown(text), "TRES such as cpu=4,mem=16G,node=1")
            return
        rules = _rules(row.get("partition", ""))
        key = (row["account"], row["user"], tuple(demand.items()), rules)
        own = self.work.setdefault(key, Workload(row["account"], row["user"], demand, rules))
        if nodes > 1:
            self.together.append(row["jobid"])
        if not holds:
            own.waiting = (own.waiting or 0) + nodes * self._jobs(row["jobid"], place)
            return
        hosts = expanded(row["where"])
        if len(hosts) != nodes:
            self.faults.add(place, shown(row["where"]), f"a list of {nodes} nodes")
        self.held += [(name, own, host) for host in hosts]

    def _jobs(self, text: str, place: str) -> int:
        found = array_size(text)
        if found is None:
            self.faults.add(place, shown(text), "an array such as 12_[1-10]")
        return found or 0

    def joined(self, base: ClusterRecord) -> ClusterRecord:
        """The cluster with its jobs.

        Raises
        ------
        BadInput : with every fault, among them jobs on nodes that are not given.
        """
        known = {node.name for node in base.nodes}
        for name, work, host in self.held:
            if host not in known:
                wanted = "its node among the nodes (scontrol show node -o)"
                self.faults.add(f"{name}.NodeList", repr(host), wanted)
            work.held[host] = work.held.get(host, 0) + 1
        self.faults.found.sort()
        self.faults.stop()
        added = {TOGETHER: sorted(set(self.together))} if self.together else {}
        return replace(
            base,
            workloads=sorted(
                [*base.workloads, *self.work.values()],
                key=lambda w: (w.queue, w.name, tuple(w.demand.items()), w.rules.terms or ()),
            ),
            beyond={**base.beyond, **added},
        )


def array_size(text: str) -> int | None:
    """How many jobs a row stands for: 12_[1-10,15%4] are 11; None of too many, or of no list."""
    form = _ARRAY.search(text)
    if form is None:
        return 1
    total = 0
    for part in form[1].split(","):
        span, _, step = part.partition(":")
        low, mark, high = span.partition("-")
        try:
            first, last = int(low), int(high) if mark else int(low)
            total += (last - first) // int(step or 1) + 1
        except (ValueError, ZeroDivisionError):
            return None
        if total > MOST_LISTED:
            return None
    return total


def expanded(text: str) -> list[str]:
    """The nodes of a list as Slurm writes it: gpu[01-03,07],login1; none where none is assigned."""
    if not text or text.startswith(("None", "(")):
        return []
    found: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text):
        names = [""]
        for fixed, inner in re.findall(r"([^\[\]]*)(?:\[([^\]]*)\])?", part):
            ends = _numbers(inner) if inner else [""]
            names = [f"{name}{fixed}{end}" for name in names for end in ends]
            if len(names) > MOST_LISTED:
                return []
        found += names
    return found


def _numbers(inner: str) -> list[str]:
    found: list[str] = []
    for span in inner.split(","):
        low, mark, high = span.partition("-")
        if not mark:
            found.append(low)
        elif low.isdecimal() and high.isdecimal() and int(high) - int(low) < MOST_LISTED:
            found += [str(k).zfill(len(low)) for k in range(int(low), int(high) + 1)]
    return found


def _rules(partitions: str) -> Rules:
    """Nodes of any of the partitions that a job names."""
    names = sorted({name for name in partitions.split(",") if name})
    if not names:
        return Rules()
    return Rules((), tuple((Requirement(f"partition/{n}", "In", ("yes",)),) for n in names))
