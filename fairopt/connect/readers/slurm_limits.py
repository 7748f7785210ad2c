"""Slurm's limits as `sacctmgr -P` prints them: GrpTRES of accounts or QOS, and their Fairshare.

    sacctmgr -P show assoc format=Account,User,GrpTRES,Fairshare
    sacctmgr -P show qos format=Name,GrpTRES

GrpTRES are ceilings of all that runs of an account or QOS together. Rows of users are left out; an
account that says nothing of a resource, or -1, has no ceiling of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from fairopt.connect.cluster.record import ClusterRecord
from fairopt.connect.readers.slurm import tres_of
from fairopt.connect.readers.volcano import VolcanoQueue, VolcanoQueues
from fairopt.connect.text.fields import MEMORY, Amounts
from fairopt.instance.reading import Faults, shown

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
