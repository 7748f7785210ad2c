"""What a model cannot say of the cluster that it was imported from: `cluster.json` beside it.

Nodes by name, what each workload runs where, workloads that have no place, nodes out of service.
The model has the last word: what was changed in it by hand is what counts, and exact amounts are
taken from here only where they are still the model's numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fairopt.connect.cluster.nodes import CardKinds, Node
from fairopt.connect.cluster.record import QueueCeiling, Undivided, Workload
from fairopt.connect.cluster.shapes import Shape
from fairopt.connect.plan import form
from fairopt.connect.plan.kueue_model import KueueSaid
from fairopt.connect.readers.volcano import VolcanoQueue, VolcanoQueues
from fairopt.connect.text.fields import Amounts
from fairopt.files.quantities import written
from fairopt.instance.reading import Faults

if TYPE_CHECKING:
    from fairopt.connect.plan.problem import ClusterProblem

SCHEMA = "fairopt/cluster/v1"

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_COUNTS = {"type": "object", "additionalProperties": {"$ref": "#/$defs/whole"}}
_EXACT = {"$ref": "#/$defs/exact"}


def _rows(needed: Mapping[str, Any], **other: Any) -> dict[str, Any]:
    own = {
        "type": "object",
        "additionalProperties": False,
        "required": list(needed),
        "properties": {**needed, **other},
    }
    return {"type": "array", "items": own}


def _form() -> dict[str, Any]:
    """The schema, whose parts that plans have too are those of the plan."""
    plan = form.schema()["properties"]
    work = {"user": _TEXT, "queue": _TEXT, "name": _TEXT, "demand": _EXACT, "held": _COUNTS}
    lists = {
        "workloads": _rows(
            work,
            waiting={"$ref": "#/$defs/whole"},
            weight={"type": "number", "minimum": 0},
            stuck=_TEXT,
            pods={"type": "object", "additionalProperties": _TEXTS},
        ),
        "shapes": _rows(
            {
                "shape": _TEXT,
                "capacity": _EXACT,
                "nodes": _rows({"name": _TEXT, "count": {"type": "integer", "minimum": 1}}),
            },
            kinds={"type": "object", "additionalProperties": _TEXT},
        ),
        "out": _rows({"node": _TEXT, "why": _TEXT}),
        "undivided": plan["undivided"],
        "beyond": {"type": "object", "additionalProperties": _TEXTS},
        "weights": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
        "quotas": _rows(
            {"queue": _TEXT, "quota": _TEXT, "resource": _TEXT, "most": {"type": "string"}}
        ),
        "overfull": _TEXTS,
        "kinds": plan["kinds"],
    }
    share = {"name": _TEXT, "kind": _TEXT, "weight": {}, "resource": _TEXT, "borrowing": {}}
    said = {"notes": _TEXTS, "shares": _rows(share, ratio={}, shown={})}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["schema", *lists],
        "properties": {
            "schema": {"const": SCHEMA},
            **lists,
            "kueue": {"type": "object", "required": ["notes", "shares"], "properties": said},
            "scheduler": {"enum": ["volcano", "kai"]},
        },
    }


def of(found: ClusterProblem) -> dict[str, Any]:
    """What a problem has beside its instance, as plain data."""
    cluster = found.cluster
    named = [
        *zip(found.instance.users, found.users, [""] * len(found.users), strict=True),
        *found.stuck,
    ]
    more: dict[str, Any] = {}
    if found.kueue is not None:
        more["kueue"] = {
            "notes": found.kueue.notes(found.instance),
            # what is unknown is left out: TOML has no word for it
            "shares": [
                {key: value for key, value in row.items() if value is not None}
                for row in found.kueue.shares()
            ],
        }
    if cluster.volcano is not None:
        more["scheduler"] = "kai" if cluster.volcano.kai else "volcano"
    return {
        "schema": SCHEMA,
        "workloads": [_workload(*row) for row in named],
        "shapes": [
            {
                "shape": row.name,
                "capacity": _exact(row.capacity),
                "nodes": [{"name": name, "count": count} for name, count in row.members],
                **({"kinds": dict(row.kinds)} if row.kinds else {}),
            }
            for row in found.shapes
        ],
        "out": [{"node": node.name, "why": node.out} for node in cluster.nodes if node.out],
        "undivided": [
            {"node": row.node, "pod": row.name, "why": row.why, "request": _exact(row.request)}
            for row in cluster.undivided
        ],
        "beyond": {words: list(names) for words, names in cluster.beyond.items()},
        "weights": {name: float(weight) for name, weight in cluster.weights.items()},
        "quotas": [
            {"queue": q.queue, "quota": q.name, "resource": q.resource, "most": written(q.most)}
            for q in cluster.ceilings
        ],
        "overfull": list(found.over),
        "kinds": [
            {"resource": own.resource, "label": own.label, "speed": dict(own.speed)}
            for own in found.kinds
        ],
        **more,
    }


def _workload(user: str, work: Workload, why: str) -> dict[str, Any]:
    """A row of a workload; without `waiting` it would use any number of tasks."""
    return {
        "user": user,
        "queue": work.queue,
        "name": work.name,
        "demand": _exact(work.demand),
        "held": dict(work.held),
        **({} if work.waiting is None else {"waiting": work.waiting}),
        "weight": work.weight,
        **({"stuck": why} if why else {}),
        **({"pods": {node: sorted(names) for node, names in work.pods.items()}}),
    }


def _exact(amounts: Mapping[str, Fraction]) -> dict[str, str]:
    return {key: written(amount) for key, amount in amounts.items()}


class Kept:
    """What `cluster.json` says, by name.

    Parameters
    ----------
    data : as `of` made it; nothing at all for a model that nobody imported.

    Raises
    ------
    BadInput : data of another form.
    """

    def __init__(self, data: Mapping[str, Any], source: str = "cluster.json") -> None:
        if data:
            faults = Faults(source)
            form.check(data, "", faults, _form())
            faults.stop()
            _each_node_once(data, faults)
            faults.stop()
        self.data = data
        self.users = {r["user"]: r for r in self._list("workloads") if "stuck" not in r}
        self.shapes = {row["shape"]: row for row in self._list("shapes")}

    def _list(self, key: str) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.data.get(key, ())
        return found

    def workload(self, own: Workload, user: str, grouped: bool) -> Workload:
        """A workload of the model with what is known of it: its queue, and what it runs where.

        Parameters
        ----------
        grouped : whether the model says its group, which is its queue where it was changed.
        """
        row = self.users.get(user)
        if row is None:
            return own
        moved = grouped and own.queue not in (row["queue"], f"{row['queue']} (queue)")
        held = {str(node): int(count) for node, count in row["held"].items()}
        waiting = None if own.waiting is None else max(own.waiting - sum(held.values()), 0)
        demand = nearest_exact(row["demand"], own.demand)
        return Workload(
            own.queue if moved else row["queue"],
            row["name"],
            demand,
            own.rules,
            waiting,
            held,
            float(row.get("weight", 1.0)),
            {node: list(names) for node, names in row.get("pods", {}).items()},
            together=own.together,
        )

    def capacity(self, shape: str, said: Amounts, resources: Sequence[str]) -> Amounts:
        """What a node of a shape offers, with resources that nobody asks for and no model has."""
        known = self.shapes.get(shape, {}).get("capacity", {})
        unasked = {key: Fraction(text) for key, text in known.items() if key not in resources}
        return {**unasked, **nearest_exact(known, said)}

    def members(self, shape: str, count: int) -> tuple[tuple[str, int], ...]:
        """(name, count) of the nodes of a shape; as many as the model counts, the first of them."""
        row = self.shapes.get(shape)
        if row is None:
            return ((shape, count),)
        found, left = [], count
        for node in row["nodes"]:
            own = min(int(node["count"]), left)
            if own > 0:
                found.append((str(node["name"]), own))
                left -= own
        return (*found, ("", left)) if left else tuple(found)

    def stuck(self) -> Iterable[tuple[str, Workload, str]]:
        """Workloads that had no place when the cluster was read."""
        for row in self._list("workloads"):
            if "stuck" in row:
                amounts = {key: Fraction(text) for key, text in row["demand"].items()}
                held = {str(node): int(count) for node, count in row["held"].items()}
                pods = {node: list(names) for node, names in row.get("pods", {}).items()}
                weight = float(row.get("weight", 1.0))
                work = Workload(
                    row["queue"], row["name"], amounts, held=held, weight=weight, pods=pods
                )
                work.waiting = row.get("waiting")
                yield row["user"], work, row["stuck"]

    def out(self, users: Sequence[Workload], shapes: Sequence[Shape]) -> list[Node]:
        """Nodes out of service, and those in use that the model has no more."""
        found = [Node(row["node"], {}, out=row["why"]) for row in self._list("out")]
        known = {node.name for node in found} | {name for row in shapes for name, _ in row.members}
        used = {name for own in users for name in own.held}
        return found + [Node(name, {}, out="not in the model") for name in sorted(used - known)]

    def cards(self, shape: str) -> tuple[tuple[str, str], ...]:
        """Kind of card of a shape by resource."""
        return tuple(self.shapes.get(shape, {}).get("kinds", {}).items())

    def beyond(self) -> dict[str, list[str]]:
        """What is not modelled, with the pods that it binds."""
        return {words: list(names) for words, names in self.data.get("beyond", {}).items()}

    def undivided(self) -> list[Undivided]:
        """Pods whose place is not divided."""
        return [
            Undivided(
                row["node"],
                row["pod"],
                row["why"],
                {key: Fraction(text) for key, text in row["request"].items()},
            )
            for row in self._list("undivided")
        ]

    def ceilings(self) -> list[QueueCeiling]:
        """Quotas that were read."""
        return [
            QueueCeiling(row["queue"], row["quota"], row["resource"], Fraction(row["most"]))
            for row in self._list("quotas")
        ]

    def kinds(self) -> tuple[CardKinds, ...]:
        """Labels that tell kinds of cards apart."""
        return tuple(CardKinds(r["label"], r["resource"], r["speed"]) for r in self._list("kinds"))

    def volcano(self) -> VolcanoQueues | None:
        """That there were queues of Volcano or KAI; the model has their promises."""
        scheduler = self.data.get("scheduler")
        if scheduler is None:
            return None
        found = VolcanoQueues(Faults("cluster.json"), {"root": VolcanoQueue("root", "")})
        found.kai.update({"root"} if scheduler == "kai" else ())
        return found

    def kueue(self) -> KueueSaid | None:
        """What Kueue said."""
        return KueueSaid(self.data["kueue"]) if "kueue" in self.data else None


def nearest_exact(known: Mapping[str, str], said: Amounts) -> Amounts:
    """The amounts of a model: exact where they are still the numbers that were written."""
    exact = {key: Fraction(text) for key, text in known.items()}
    return {
        key: exact[key] if key in exact and float(exact[key]) == float(amount) else amount
        for key, amount in said.items()
    }


def _each_node_once(data: Mapping[str, Any], faults: Faults) -> None:
    """Add a fault for a node of two shapes, as its tasks would be counted twice."""
    seen: set[str] = set()
    for k, row in enumerate(data["shapes"]):
        for node in row["nodes"]:
            if node["name"] in seen and node["name"]:
                faults.add(f"shapes[{k}].nodes", f"{node['name']!r} again", "every node once")
            seen.add(node["name"])
