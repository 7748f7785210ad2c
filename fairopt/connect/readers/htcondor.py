"""HTCondor: slots as `condor_status -json` prints them, jobs as `condor_q -json` does.

Traps of these ads: names of attributes are of any case; a partitionable slot says what is left in
`Cpus` and what it is in `TotalSlotCpus`, and the dynamic slots cut from it are no machines of
their own; memory is in megabytes; an expression is a text `/Expr(...)/`, and the default request
of memory is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Any

from fairopt.connect.cluster.nodes import Node
from fairopt.connect.cluster.record import ClusterRecord, Workload
from fairopt.connect.text.fields import CARD, CPU, MEGABYTE, MEMORY, Amounts
from fairopt.exact import exact
from fairopt.instance.reading import Faults, shown

OUT = ("owner", "drained", "shutdown", "delete")
"""states of a slot that takes no jobs"""
IDLE, RUNNING, SENDING, SUSPENDED = 1, 2, 6, 7
"""states of jobs that count; removed (3), completed (4) and held back (5) ones do not"""
LOCAL = (7, 12)
"""universes that run where they were submitted: scheduler and local"""
_USUAL = frozenset(
    {
        *("arch", "opsys", "opsysandver", "disk", "memory", "cpus", "gpus", "tdp"),
        *("hasfiletransfer", "hasjicfiletransfer", "hasfiletransferpluginmethods"),
        *("filesystemdomain", "uiddomain", "hasvm", "hassingularity"),
    }
)
"""attributes of machines that every job is given requirements of"""
_TARGET = re.compile(r"TARGET\.([A-Za-z_][A-Za-z0-9_]*)")
_DEFAULT = re.compile(
    r"/Expr\(ifThenElse\(MemoryUsage *(=!=|isnt) *undefined, *MemoryUsage, *"
    r"\( *ImageSize *\+ *1023 *\) */ *1024\)\)/",
    re.IGNORECASE,
)

REQUIREMENTS = "requirements of HTCondor"
LARGEST_NUMBER = 10**18
"""the largest number of a request or a machine"""
MACHINE, JOB = "machine", "job"


def kind(data: Any) -> str:
    """Whether an object is the ad of a machine or of a job; empty for neither."""
    if not isinstance(data, Mapping) or "kind" in data or "apiVersion" in data:
        return ""
    keys = {str(key).lower() for key in data}
    if {"clusterid", "jobstatus"} <= keys:
        return JOB
    slot = {"slottype", "partitionableslot", "totalslotcpus"} & keys
    return MACHINE if "machine" in keys and "name" in keys and slot else ""


@dataclass
class CondorPool:
    """Ads of machines and jobs, taken one at a time; `joined` puts them into a cluster."""

    faults: Faults
    nodes: dict[str, Node] = field(default_factory=dict)
    work: dict[tuple[str, str, tuple[tuple[str, Fraction], ...]], Workload] = field(
        default_factory=dict
    )
    beyond: dict[str, list[str]] = field(default_factory=dict)
    held: list[tuple[str, Workload, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.nodes or self.work)

    def take(self, data: Mapping[str, Any], place: str) -> None:
        """Take one ad; faults are added with its name and attribute."""
        ad = {str(key).lower(): value for key, value in data.items()}
        if kind(data) == MACHINE:
            self._machine(ad)
        else:
            self._job(ad, place)

    def _machine(self, ad: Mapping[str, Any]) -> None:
        if str(ad.get("slottype", "")).lower() == "dynamic" or ad.get("dynamicslot") is True:
            return
        name = str(ad["name"])
        if name in self.nodes:
            self.faults.add(f"slot {name}", "this name a second time", "every slot once")
        total = ad.get("partitionableslot") is True or "totalslotcpus" in ad
        amounts: Amounts = {}
        for resource, attribute, unit in (
            (CPU, "cpus", 1),
            (MEMORY, "memory", MEGABYTE),
            (CARD, "gpus", 1),
        ):
            key = f"totalslot{attribute}" if total else attribute
            if ad.get(key) is not None:
                number = self._number(ad[key], f"slot {name}.{key}")
                if number:
                    amounts[resource] = number * unit
        state = str(ad.get("state", "")).lower()
        out = state if state in OUT else "offline" if ad.get("offline") is True else ""
        labels = {
            key: str(ad[key])
            for key in ("arch", "opsys", "opsysandver", "machine")
            if isinstance(ad.get(key), str)
        }
        self.nodes[name] = Node(name, dict(sorted(amounts.items())), labels, (), out)

    def _job(self, ad: Mapping[str, Any], place: str) -> None:
        status, universe = ad.get("jobstatus"), ad.get("jobuniverse")
        if status not in (IDLE, RUNNING, SENDING, SUSPENDED) or universe in LOCAL:
            return
        name = f"{ad['clusterid']}.{ad.get('procid', 0)}"
        owner = str(ad.get("owner") or ad.get("user") or "").partition("@")[0]
        if not owner:
            self.faults.add(f"job {name}", "no Owner", f"the attribute Owner ({place})")
            return
        demand = self._demand(ad, name)
        queue = _group(ad) or owner
        key = (queue, owner, tuple(demand.items()))
        work = self.work.setdefault(key, Workload(queue, owner, demand))
        where = str(ad.get("remotehost") or "")
        if status == IDLE or not where:
            work.waiting = (work.waiting or 0) + 1
        else:
            self.held.append((name, work, where))
        asked = {word.lower() for word in _TARGET.findall(str(ad.get("requirements", "")))}
        if asked - _USUAL:
            self.beyond.setdefault(REQUIREMENTS, []).append(name)

    def _demand(self, ad: Mapping[str, Any], name: str) -> Amounts:
        found: Amounts = {}
        cpus = self._request(ad, "cpus", name)
        memory = self._request(ad, "memory", name)
        gpus = self._request(ad, "gpus", name)
        for resource, amount in (
            (CPU, Fraction(1) if cpus is None else cpus),
            (CARD, gpus),
            (MEMORY, None if memory is None else memory * MEGABYTE),
        ):
            if amount:
                found[resource] = amount
        return found

    def _request(self, ad: Mapping[str, Any], word: str, name: str) -> Fraction | None:
        """What a job asks; of an expression what was granted, or what the default says."""
        value = ad.get(f"request{word}")
        if value is None:
            return None
        if isinstance(value, str) and value.startswith("/Expr("):
            granted = ad.get(f"{word}provisioned")
            if granted is not None and not isinstance(granted, str):
                return self._number(granted, f"job {name}.{word}Provisioned")
            if word == "memory" and _DEFAULT.fullmatch(value):
                if isinstance(ad.get("memoryusage"), int):
                    return Fraction(ad["memoryusage"])
                size = ad.get("imagesize", 0)
                return Fraction(ceil(self._number(size, f"job {name}.ImageSize") / 1024))
        return self._number(value, f"job {name}.Request{word.capitalize()}")

    def _number(self, value: Any, place: str) -> Fraction:
        found = None if isinstance(value, str) else exact(value)
        if found is not None and found <= LARGEST_NUMBER:
            return found
        self.faults.add(place, shown(value), "a number >= 0, at most 1e18")
        return Fraction(0)

    def joined(self, base: ClusterRecord) -> ClusterRecord:
        """The cluster with its slots and jobs.

        Raises
        ------
        BadInput : with every fault, among them jobs on slots that are not given.
        """
        known = {node.name for node in base.nodes}
        for name in sorted(known & self.nodes.keys()):
            self.faults.add(f"slot {name}", "the name of another node", "every name once")
        for name, work, where in self.held:
            slot = where if where in self.nodes else _parent(where)
            if slot not in self.nodes:
                wanted = "its slot among the machines (condor_status -json)"
                self.faults.add(f"job {name}.RemoteHost", repr(where), wanted)
            work.held[slot] = work.held.get(slot, 0) + 1
        self.faults.found.sort()
        self.faults.stop()
        beyond = {**base.beyond, **{words: sorted(own) for words, own in self.beyond.items()}}
        return replace(
            base,
            nodes=sorted([*base.nodes, *self.nodes.values()], key=lambda node: node.name),
            workloads=sorted(
                [*base.workloads, *self.work.values()],
                key=lambda w: (w.queue, w.name, tuple(w.demand.items())),
            ),
            beyond=beyond,
        )


def _group(ad: Mapping[str, Any]) -> str:
    """The accounting group; AccountingGroup has the user after its last point."""
    if ad.get("acctgroup"):
        return str(ad["acctgroup"])
    text = str(ad.get("accountinggroup") or "")
    user = str(ad.get("acctgroupuser") or ad.get("owner") or "")
    return text.removesuffix(f".{user}") if text != user else ""


def _parent(where: str) -> str:
    """The partitionable slot that a dynamic one was cut from: slot1_3@host is of slot1@host."""
    slot, mark, host = where.partition("@")
    return f"{re.sub(r'_[0-9]+$', '', slot)}{mark}{host}"
