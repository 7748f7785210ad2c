"""Slurm: nodes as `scontrol show node -o` prints them, weights as `sshare -P` does.

Traps of these formats: values with blanks (OS, Reason, Comment, ...) are split only before keys
that are known, and the first of two equal keys counts, as people write what they like into a
Reason; `gres/gpu` is the sum of `gres/gpu:TYPE` and counts once; memory is in megabytes, less what
is kept for the system; `billing` is no resource, and a node's Weight is no weight of fairness.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from fairopt.connect.cluster.nodes import Node
from fairopt.connect.cluster.record import ClusterRecord
from fairopt.connect.readers.volcano import VolcanoQueue, VolcanoQueues
from fairopt.connect.text.fields import CPU, MEGABYTE, MEMORY, Amounts
from fairopt.instance.reading import Faults, shown

KEYS = (
    "NodeName",
    "Arch",
    "CoresPerSocket",
    "CPUAlloc",
    "CPUEfctv",
    "CPUErr",
    "CPUTot",
    "CPULoad",
    "AvailableFeatures",
    "ActiveFeatures",
    "Gres",
    "GresDrain",
    "GresUsed",
    "NodeAddr",
    "NodeHostName",
    "Version",
    "OS",
    "RealMemory",
    "AllocMem",
    "FreeMem",
    "Sockets",
    "Boards",
    "CoreSpecCount",
    "CPUSpecList",
    "MemSpecLimit",
    "State",
    "ThreadsPerCore",
    "TmpDisk",
    "Weight",
    "Owner",
    "MCS_label",
    "Partitions",
    "NextState",
    "BootTime",
    "SlurmdStartTime",
    "LastBusyTime",
    "ResumeAfterTime",
    "CfgTRES",
    "AllocTRES",
    "CapWatts",
    "CurrentWatts",
    "AveWatts",
    "LowestJoules",
    "ConsumedJoules",
    "ExtSensorsJoules",
    "ExtSensorsWatts",
    "ExtSensorsTemp",
    "Reason",
    "Comment",
    "Extra",
    "InstanceId",
    "InstanceType",
    "Port",
    "ReservationName",
    "Topology",
    "Cluster",
    "BcastAddr",
    "GresTypes",
    "PowerManagementPolicy",
    "CertFlags",
)
KIND = "gres/gpu.type"
"""label of the kind of a node's cards, for `--gpu-kind gres/gpu.type=a100:1,t4:.4`"""
FIRST = "NodeName="
OUT = (
    "DOWN",
    "DRAIN",
    "DRAINED",
    "DRAINING",
    "FAIL",
    "FAILING",
    "ERROR",
    "MAINT",
    "RESERVED",
    "NOT_RESPONDING",
    "NO_RESPOND",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "POWER_DOWN",
    "UNKNOWN",
    "FUTURE",
    "PERFCTRS",
    "REBOOT_ISSUED",
    "REBOOT_REQUESTED",
    "INVAL",
    "INVALID_REG",
)
_SPLIT = re.compile(rf"\s+(?=(?:{'|'.join(KEYS)})=)")
_MEMORY = re.compile(r"(\d+)([KMGTP]?)", re.ASCII)
_POWERS = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "": 20}


def node(line: str, place: str, faults: Faults) -> Node | None:
    """A node of one line of `scontrol show node -o`; None and a fault if it is none."""
    fields = _fields(line)
    name = fields.get("NodeName", "")
    if not name:
        faults.add(place, shown(line[:40]), "a line of scontrol show node -o (NodeName=...)")
        return None
    here = f"node {name}"
    amounts = _tres(fields, here, faults)
    labels = {f"feature/{one}": "yes" for one in _listed(fields.get("ActiveFeatures"))}
    labels |= {f"partition/{one}": "yes" for one in _listed(fields.get("Partitions"))}
    labels |= {KIND: of} if (of := _kind(fields)) else {}
    return Node(name, dict(sorted(amounts.items())), labels, (), _out(fields.get("State", "")))


def _fields(line: str) -> dict[str, str]:
    parts = _SPLIT.split(line.strip())
    return dict(part.partition("=")[::2] for part in reversed(parts))


def _tres(fields: dict[str, str], here: str, faults: Faults) -> Amounts:
    """What jobs may use: CPUs, memory less the system's, and cards by name."""
    tres = dict(part.partition("=")[::2] for part in _listed(fields.get("CfgTRES")))
    cpus = fields.get("CPUEfctv") or fields.get("CPUTot") or tres.get("cpu", "")
    found: Amounts = {CPU: _number(cpus, f"{here}.CPUTot", faults)}
    memory = fields.get("RealMemory") or ""
    if memory:
        kept = fields.get("MemSpecLimit") or "0"
        megabytes = _number(memory, f"{here}.RealMemory", faults)
        megabytes -= _number(kept, f"{here}.MemSpecLimit", faults)
        found[MEMORY] = max(megabytes, Fraction(0)) * MEGABYTE
    elif "mem" in tres:
        found[MEMORY] = _bytes(tres["mem"], f"{here}.CfgTRES.mem", faults)
    typed = {key for key in tres if key.startswith("gres/") and ":" in key}
    for key, text in tres.items():
        # the sum without a type is what any job can ask for; its parts say which kinds there are
        if key.startswith("gres/") and key not in typed:
            found[key] = _number(text, f"{here}.CfgTRES.{key}", faults)
    for key in typed:
        whole = key.partition(":")[0]
        if whole not in tres:
            number = _number(tres[key], f"{here}.CfgTRES.{key}", faults)
            found[whole] = found.get(whole, Fraction(0)) + number
    return {key: amount for key, amount in found.items() if amount}


def tres_of(text: str, place: str, faults: Faults) -> Amounts:
    """What a list of TRES asks, such as cpu=4,mem=16G,gres/gpu:a100=2,node=1.

    Cards with a type count once, with those that have none; node, billing and the like are left
    out, as they are no resources of a node.
    """
    given = dict(part.partition("=")[::2] for part in _listed(text))
    found: Amounts = {}
    for key, value in given.items():
        name = key.partition(":")[0]
        if key == "cpu" or (key.startswith("gres/") and name == key):
            found[key] = _number(value, f"{place}.{key}", faults)
        elif key == "mem":
            found[MEMORY] = _memory(value, f"{place}.mem", faults)
        elif key.startswith("gres/") and name not in given:
            found[name] = found.get(name, Fraction(0)) + _number(value, f"{place}.{key}", faults)
    return {key: amount for key, amount in found.items() if amount}


def _memory(text: str, place: str, faults: Faults) -> Fraction:
    """Memory as TRES have it; a fraction of a unit is written too, such as 15.50G."""
    form = re.fullmatch(r"(\d{1,18}(?:\.\d{1,9})?)([KMGTP]?)", text, re.ASCII)
    if form is None:
        faults.add(place, shown(text), "an amount of memory such as 515000M")
        return Fraction(0)
    return Fraction(form[1]) * (1 << _POWERS[form[2]])


def _kind(fields: dict[str, str], card: str = "gres/gpu") -> str:
    """The kind of a node's cards, where it has cards of one kind; else empty."""
    tres = _listed(fields.get("CfgTRES"))
    types = {t.partition("=")[0].partition(":")[2] for t in tres if t.startswith(f"{card}:")}
    return types.pop() if len(types) == 1 else ""


def _out(state: str) -> str:
    """The flags of a state that keep new jobs away, in words; empty if there are none."""
    flags = re.split(r"[+\s]+", state.upper())
    # a trailing * says that the node does not respond; other marks are about power and reboots
    bad = [flag.rstrip("*~#!%$@^-") for flag in flags]
    found = [flag.lower() for flag in bad if flag in OUT]
    if any(flag.endswith("*") for flag in flags):
        found.append("not responding")
    return ", ".join(dict.fromkeys(found))


def _listed(text: str | None) -> list[str]:
    return [part for part in (text or "").split(",") if part and part != "(null)"]


def _number(text: str, place: str, faults: Faults) -> Fraction:
    if text.isascii() and text.isdigit() and len(text) < 19:
        return Fraction(int(text))
    faults.add(place, shown(text) if text else "nothing", "a whole number")
    return Fraction(0)


def _bytes(text: str, place: str, faults: Faults) -> Fraction:
    form = _MEMORY.fullmatch(text)
    if form is None:
        faults.add(place, shown(text), "an amount of memory such as 515000M")
        return Fraction(0)
    return Fraction(int(form[1]) << _POWERS[form[2]])


def shares(text: str, place: str, faults: Faults) -> dict[str, float]:
    """Raw shares of accounts from `sshare -P -o Account,User,RawShares`; rows of users left out.

    The root has none of its own, and an account that says `parent` is weighed as 1.
    """
    lines = [line.split("|") for line in text.splitlines() if line.strip()]
    head = [name.strip() for name in lines[0]] if lines else []
    if "Account" not in head or "RawShares" not in head:
        faults.add(place, "no columns Account and RawShares", "what sshare -P prints")
        return {}
    found: dict[str, float] = {}
    for k, cells in enumerate(lines[1:]):
        row = dict(zip(head, (cell.strip() for cell in cells), strict=False))
        name, raw = row.get("Account", ""), row.get("RawShares", "")
        if row.get("User") or name in ("", "root"):
            continue
        number = _number("1" if raw == "parent" else raw, f"{place}: line {k + 2}", faults)
        if number:
            found[name] = float(number)
    return found


# Slurm's limits as `sacctmgr -P` prints them: GrpTRES of accounts or QOS, and their Fairshare.
#
#     sacctmgr -P show assoc format=Account,User,GrpTRES,Fairshare
#     sacctmgr -P show qos format=Name,GrpTRES
#
# GrpTRES are ceilings of all that runs of an account or QOS together. Rows of users are left out;
# an account that says nothing of a resource, or -1, has no ceiling of it.


COLUMN = b"GrpTRES"
NAMES, SHARES = ("account", "name"), ("fairshare", "share", "rawshares")
FREE = "-1"
"""a limit that was taken away"""


@dataclass
class Limits:
    """Ceilings and weights of accounts or QOS, taken one table at a time."""

    faults: Faults
    most: dict[str, Amounts] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.most)

    def take(self, lines: Iterable[tuple[str, str]], source: str) -> None:
        """Take the lines of one file, each with its place."""
        rows = iter(lines)
        _, first = next(rows, ("", ""))
        head = [name.strip().lower() for name in first.split("|")]
        name = next((own for own in NAMES if own in head), "")
        if not name or "grptres" not in head:
            wanted = "Account|User|GrpTRES|Fairshare or Name|GrpTRES (sacctmgr -P show assoc)"
            self.faults.add(f"{source}: line 1", f"the columns {first.strip()[:80]}", wanted)
            return
        for place, line in rows:
            row = dict(zip(head, (cell.strip() for cell in line.split("|")), strict=False))
            if not row.get("user") and row[name] not in ("", "root"):
                self._take(row[name], row, place)

    def _take(self, name: str, row: Mapping[str, str], place: str) -> None:
        if name in self.most:
            self.faults.add(place, f"{name!r} a second time", "every account or QOS once")
        said = [part for part in row["grptres"].split(",") if part.partition("=")[2] != FREE]
        found = tres_of(",".join(said), f"{name}.GrpTRES", self.faults)
        for part in said:  # a limit of nothing is a limit
            key, _, value = part.partition("=")
            if value.strip("0MGTK") == "" and value and (key in ("cpu", "mem") or "/" in key):
                found.setdefault({"mem": MEMORY}.get(key, key.partition(":")[0]), Fraction(0))
        self.most[name] = found
        share = next((row[key] for key in SHARES if row.get(key)), "")
        if share.isdecimal() and int(share):
            self.weights[name] = float(share)
        elif share and share != "parent":
            self.faults.add(f"{place}.Fairshare", shown(share), "a whole number > 0, or parent")

    def into(self, queues: VolcanoQueues, work: Collection[str]) -> None:
        """Add a queue of every account: its ceiling, and none of those that only have work."""
        for name in sorted({*self.most, *work}):
            queues.queues[name] = VolcanoQueue(name, capability=self.most.get(name, {}))

    def joined(self, base: ClusterRecord, weights: Mapping[str, float]) -> ClusterRecord:
        """The cluster with weights as they are printed; what is said otherwise stays."""
        return replace(base, weights={**self.weights, **weights})
