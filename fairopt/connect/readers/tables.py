"""CSV tables of nodes, teams and what they hold, from any scheduler: together one cluster.

The first column says what a table is, and amounts are quantities ("500m", "64Gi") or numbers. A
node may be called server, a team user and its tasks a limit, as in a folder of `fairopt solve`
(`fairopt.files.cells`), whose servers.csv, users.csv and placement.csv are taken as they are:

nodes
    node, then count, out (why nothing new may run there), label:KEY, and a column a resource.
teams
    team, then queue, weight, tasks (those wanted in all; empty or inf for any number), nodes (names
    where it may run), label:KEY (values that its nodes may have; several are separated by ";", and
    an empty cell asks for nothing), gang (tasks that run together or not at all), at_least (fewest
    that run at all), per_node (most on one node), spread:KEY (no value of this label of nodes has
    more than so many tasks more than another), and a column a resource for what one task takes.
held
    team, node, tasks.
placement
    team, node: where teams may run, one of them a row; a team without a row may run nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import IO

from fairopt import storage
from fairopt.connect.cluster.eligible import Requirement, Rules
from fairopt.connect.cluster.gangs import MOST_ZONES, spread_over
from fairopt.connect.cluster.nodes import Node
from fairopt.connect.cluster.record import ClusterRecord, Workload
from fairopt.connect.cluster.together import Together, Topology
from fairopt.connect.readers import slurm
from fairopt.connect.text.fields import Amounts
from fairopt.files import cells
from fairopt.files.cells import CsvText, value
from fairopt.files.quantities import WANTED, NoQuantity, quantity
from fairopt.instance.reading import POSITIVE, Faults, shown

_FIRST = {name.encode() for name in (*cells.USER, *cells.SERVER, "name")}
"""the first column of a table"""
PLACED = ("team", "node")
HELD = (*PLACED, "tasks")
_NODES = ("node", "count", "out")
_TEAMS = ("team", "queue", "weight", "tasks", "nodes", "gang", "at_least", "per_node")
_LABEL, _SPREAD = "label:", "spread:"
ONCE = "every node once"
MOST_TASKS = 10**15
LARGEST_TABLE = 256 * storage.MEBIBYTE
"""most bytes of a table that is read"""


def begins(first: bytes) -> bool:
    """Whether a file that begins so is a table."""
    column, comma, _ = first.partition(b"\n")[0].partition(b",")
    return bool(comma) and column.strip() in _FIRST


@dataclass
class Tables:
    """Rows of tables, taken one table at a time; `cluster` makes one cluster of them."""

    faults: Faults
    nodes: list[Node] = field(default_factory=list)
    teams: dict[str, Workload] = field(default_factory=dict)
    held: list[tuple[str, str, str, int]] = field(default_factory=list)
    placed: list[tuple[str, str, str]] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)
    spread: dict[str, tuple[str, int]] = field(default_factory=dict)
    """teams that are spread over nodes' values of a label: the column of it, and how evenly"""

    def __bool__(self) -> bool:
        return bool(self.nodes or self.teams or self.held or self.weights)

    def take(self, stream: IO[bytes], source: str) -> None:
        """Take one table, told by its first column."""
        head, rows = _read(stream, source)
        if others := [key for key in head if cells.foreign(key, "plan")]:
            for key in others:
                found = str(cells.foreign(key, "plan"))
                self.faults.add(f"{source}: column {key}", found, "a column of `fairopt plan`")
        elif head[:1] == ["node"] and "team" not in head:
            self._take_nodes(head, rows)
        elif set(head) == set(PLACED):
            self.placed.extend((place, row["team"], row["node"]) for place, row in rows)
        elif set(head) == set(HELD):
            for place, row in rows:
                tasks = self._whole(row["tasks"], f"{place}.tasks", 0)
                self.held.append((place, row["team"], row["node"], tasks))
        elif {"team", "node"} <= set(head):  # limit_on.csv and demand.csv of a folder
            found = f"{', '.join(key for key in head if key not in PLACED)} by team and node"
            wanted = f"the columns {', '.join(HELD)}; `fairopt solve` takes such a table"
            self.faults.add(f"{source}: columns", found, wanted)
        elif head[:1] == ["team"]:
            self._take_teams(head, rows)
        else:
            found, columns = shown(head[0]) if head else "nothing", ", ".join(HELD)
            wanted = f"'node', 'team', or the columns {columns}; 'name' in users.csv or servers.csv"
            self.faults.add(f"{source}: first column", found, wanted)

    def _take_nodes(self, head: list[str], rows: Iterator[tuple[str, dict[str, str]]]) -> None:
        kinds = [key for key in head if key not in _NODES and not key.startswith(_LABEL)]
        known = {node.name for node in self.nodes}
        for place, row in rows:
            name = row["node"]
            if name and name in known:
                self.faults.add(place, f"the node {name!r} a second time", ONCE)
            known.add(name)
            labels = {
                key.removeprefix(_LABEL): row[key]
                for key in head
                if key.startswith(_LABEL) and row[key]
            }
            count = self._whole(row.get("count") or "1", f"{place}.count", 1)
            amounts = self._amounts(row, kinds, place)
            self.nodes.append(Node(name, amounts, labels, (), row.get("out", ""), count))

    def _take_teams(self, head: list[str], rows: Iterator[tuple[str, dict[str, str]]]) -> None:
        kinds = [key for key in head if key not in _TEAMS and not key.startswith((_LABEL, _SPREAD))]
        for place, row in rows:
            name = row["team"]  # a fault of it must not hide the others of its row
            if not name or name in self.teams:
                found = f"the team {name!r} a second time" if name else "no name"
                self.faults.add(place, found, "a name of its own")
            tasks, most = row.get("tasks", ""), row.get("per_node", "")
            any_number = value(tasks) in (None, math.inf)
            demand = self._amounts(row, kinds, place)
            if not demand:
                self.faults.add(place, "nothing demanded", "at least one resource > 0")
            spread = [
                (key, self._whole(cell, f"{place}.{key}", 1))
                for key, cell in row.items()
                if key.startswith(_SPREAD) and cell
            ]
            if len(spread) > 1:
                self.faults.add(f"{place}.{spread[1][0]}", "a second one", "one label to spread by")
            self.spread.update((name, own) for own in spread[:1])
            self.teams[name] = Workload(
                row.get("queue") or name,
                name,
                demand,
                _rules(row),
                None if any_number else self._whole(tasks, f"{place}.tasks", 0),
                {},
                self._weight(row.get("weight", ""), f"{place}.weight"),
                together=Together(
                    self._whole(row.get("gang") or "1", f"{place}.gang", 1),
                    self._whole(most, f"{place}.per_node", 1) if most else None,
                    at_least=self._whole(row.get("at_least") or "1", f"{place}.at_least", 1),
                ),
            )

    def _amounts(self, row: Mapping[str, str], kinds: list[str], place: str) -> Amounts:
        found: Amounts = {}
        for key in sorted(kinds):
            try:
                amount = quantity(row[key] or "0")
            except NoQuantity as error:
                self.faults.add(f"{place}.{key}", str(error), WANTED)
                continue
            if amount:
                found[key] = amount
        return found

    def lines(self, stream: IO[bytes], source: str) -> Iterator[tuple[str, str]]:
        """(place, line) of every line of a text that is not empty."""
        content = ""
        try:
            content = stream.read(LARGEST_TABLE + 1).decode("utf-8-sig")
        except UnicodeDecodeError:
            self.faults.add(source, "bytes that are not UTF-8", "text in UTF-8")
        for k, line in enumerate(content.splitlines()):
            if line.strip():
                yield f"{source}: line {k + 1}", line

    def take_slurm(self, stream: IO[bytes], source: str) -> None:
        """Take nodes as `scontrol show node -o` prints them."""
        known = {node.name for node in self.nodes}
        for place, line in self.lines(stream, source):
            found = slurm.node(line, place, self.faults)
            if found is not None:
                if found.name in known:
                    self.faults.add(f"node {found.name}", "this name a second time", ONCE)
                known.add(found.name)
                self.nodes.append(found)

    def take_shares(self, stream: IO[bytes], source: str) -> None:
        """Take weights of queues as `sshare -P` prints them."""
        text = "\n".join(line for _, line in self.lines(stream, source))
        self.weights.update(slurm.shares(text, source, self.faults))

    def _whole(self, text: str, place: str, least: int) -> int:
        found = value(text)
        if isinstance(found, float) and found.is_integer() and least <= found < MOST_TASKS:
            return int(found)
        self.faults.add(place, shown(text), f"a whole number >= {least}")
        return least

    def _weight(self, text: str, place: str) -> float:
        try:
            weight = float(text or 1)
        except ValueError:
            weight = math.nan
        if 0 < weight < math.inf:
            return weight
        self.faults.add(place, shown(text), POSITIVE)
        return 1.0

    def joined(self, base: ClusterRecord) -> ClusterRecord:
        """The cluster of all tables and what `base` has, whatever the order of rows.

        The weight of a queue is that of `base` if it has one, else that of `sshare`, else the sum
        of its teams' weights.

        Raises
        ------
        BadInput : with every fault of every table.
        """
        known = {node.name for node in base.nodes}
        for node in self.nodes:
            if node.name in known:
                self.faults.add(f"node {node.name}", "this name a second time", ONCE)
        self.nodes = [*base.nodes, *self.nodes]
        names = {node.name for node in self.nodes if node.name}
        for place, team, where, tasks in self.held:
            if team not in self.teams:
                self.faults.add(f"{place}.team", shown(team), "a team of the table of teams")
            elif where not in names:
                self.faults.add(f"{place}.node", shown(where), "a node of the table of nodes")
            elif tasks:
                held = self.teams[team].held
                held[where] = held.get(where, 0) + tasks
        self._place(names)
        for work in self.teams.values():
            if work.waiting is not None:
                work.waiting = max(work.waiting - sum(work.held.values()), 0)
            for term in work.rules.terms or ():
                for name in {name for need in term if need.field for name in need.values} - names:
                    wanted = "a node of the table of nodes"
                    self.faults.add(f"team {work.name}.nodes", shown(name), wanted)
        for name, (column, skew) in self.spread.items():
            over = Topology(column.removeprefix(_SPREAD), skew, name)
            if spread_over(self.teams[name], over, self.nodes):
                wanted = f"a label of at most {MOST_ZONES} values on nodes"
                self.faults.add(f"team {name}.{column}", "too many zones", wanted)
        self.faults.found.sort()
        self.faults.stop()
        members: dict[str, list[float]] = {}
        for work in self.teams.values():
            members.setdefault(work.queue, []).append(work.weight)
        # fsum does not depend on the order of rows
        sums = {queue: math.fsum(weights) for queue, weights in members.items()}
        own = {queue: weight for queue, weight in self.weights.items() if queue in sums}
        return ClusterRecord(
            sorted(self.nodes, key=_order),
            sorted([*base.workloads, *self.teams.values()], key=_place),
            base.undivided,
            base.beyond,
            {**self.weights, **sums, **own, **base.weights},
            base.ceilings,
            base.kueue,
            base.volcano,
        )

    def _place(self, nodes: Collection[str]) -> None:
        """Let teams run at the nodes of the table of placements alone, if there is one."""
        allowed: dict[str, set[str]] = {name: set() for name in self.teams if self.placed}
        for place, team, where in self.placed:
            if team not in self.teams:
                self.faults.add(f"{place}.team", shown(team), "a team of the table of teams")
            elif where not in nodes:
                self.faults.add(f"{place}.node", shown(where), "a node of the table of nodes")
            else:
                allowed[team].add(where)
        for team, where_all in allowed.items():
            work, own = (
                self.teams[team],
                Requirement("metadata.name", "In", (*sorted(where_all),), True),
            )
            # nowhere at all is an affinity without a term
            terms = [(*term, own) for term in work.rules.terms or ((),)] if where_all else []
            work.rules = replace(work.rules, terms=tuple(terms))


def _order(node: Node) -> tuple[object, ...]:
    amounts, labels = tuple(node.allocatable.items()), tuple(node.labels.items())
    return node.name, amounts, labels, node.out, node.count


def _place(work: Workload) -> tuple[object, ...]:
    return work.queue, work.name, tuple(work.demand.items())


def _rules(row: Mapping[str, str]) -> Rules:
    """Where a team may run: at nodes of the names and with the labels of its row."""
    needs = [Requirement("metadata.name", "In", _several(row.get("nodes", "")), field=True)]
    needs += [
        Requirement(key.removeprefix(_LABEL), "In", _several(cell))
        for key, cell in row.items()
        if key.startswith(_LABEL)
    ]
    asked = tuple(sorted(need for need in needs if need.values))
    return Rules(terms=(asked,) if asked else None)


def _called(head: list[str], source: str) -> list[str]:
    """The columns as they are called here."""
    head = cells.renamed(head, PLACED, source)
    # a limit on one node is not what a team holds there
    return head if "node" in head else cells.renamed(head, _TEAMS, source)


def _several(cell: str) -> tuple[str, ...]:
    return tuple(sorted({part.strip() for part in cell.split(";")} - {""}))


def _read(stream: IO[bytes], source: str) -> tuple[list[str], Iterator[tuple[str, dict[str, str]]]]:
    """The header of a table, and its rows with their places.

    Raises
    ------
    BadInput : no UTF-8, larger than 256 MiB, columns twice, or rows of another length.
    """
    faults = Faults(source)
    raw = stream.read(LARGEST_TABLE + 1)
    if len(raw) > LARGEST_TABLE:
        faults.add("file", f"more than {LARGEST_TABLE // storage.MEBIBYTE} MiB", "a smaller table")
        faults.stop()
    try:
        text = CsvText(raw.decode("utf-8-sig"), "", faults)
    except UnicodeDecodeError as error:
        faults.add("file", f"no CSV in UTF-8 ({error})", "a CSV file in UTF-8")
        faults.stop()
    text.header = head = _called(text.header, source)
    for name in sorted({name for name in head if head.count(name) > 1 or not name}):
        faults.add(
            "line 1",
            f"the column {name!r} twice" if name else "a column without a name",
            "a name of its own for every column",
        )
    table = list(text.rows())
    faults.stop()
    return head, ((f"{source}: line {line}", row) for line, row in table)
