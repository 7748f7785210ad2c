"""New quotas for the cluster queues and cohorts that an operator has, as merge patches.

Only what changes is in a patch: nominal quotas, the limits that hold ceilings and reserves where
they were (`shifting`), and weights that were set for the plan. A merge patch replaces a list
whole, so that resource groups are repeated as they were written, with new numbers in them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairopt.connect.cluster.record import ClusterRecord
from fairopt.connect.cluster.shapes import Shape
from fairopt.connect.exports import taking
from fairopt.connect.exports.originals import Object, name_of, originals
from fairopt.connect.exports.shifting import Forest, Key, NotAdmitted, forest, shifted
from fairopt.connect.plan.kueue_model import Placing, visible
from fairopt.connect.readers.kueue import Pair, Queues, QuotaCell
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.exact import as_printed
from fairopt.files.quantities import quantity

API = "kueue.x-k8s.io/"
KINDS = {"ClusterQueue": "queue", "Cohort": "cohort"}
FIELDS = {"nominalQuota": "nominal", "borrowingLimit": "borrow", "lendingLimit": "lend"}


@dataclass(frozen=True)
class Patches:
    """Patches, each for the object of its kind and name, and what is worth saying of them."""

    objects: list[Object]
    notes: list[str]


def patches(plan: Mapping[str, Any], cluster: ClusterRecord, paths: Sequence[str]) -> Patches:
    """Patches of the operator's objects that make every queue's due its own quota.

    Parameters
    ----------
    plan : as `plan_rows.loads` reads it.
    cluster : what the files hold. paths : the files.

    Raises
    ------
    UsageError : no Kueue in the files. BadInput : they are not those that were planned.
    """
    queues = cluster.kueue
    if queues is None or not queues.queues:
        raise UsageError("found no ClusterQueue in the files; wanted the objects that were planned")
    given = originals(paths, lambda api, kind: api.startswith(API) and kind in KINDS)
    _check_queues(plan, queues)
    placing, trees = _placing(plan, cluster, queues), forest(queues)
    whole = _by_pair(queues, placing, taking.whole(plan))
    divided: dict[Pair, dict[str, Fraction]] | None = None
    limits: dict[Key, dict[Pair, QuotaCell]] = {}
    notes = []
    for pair in sorted({p for node in trees.nodes.values() for p in node.quotas}):
        try:
            found = shifted(trees, pair, whole.get(pair, {}))
        except NotAdmitted as error:
            if divided is None:
                divided = _by_pair(queues, placing, taking.fluid(plan))
            found = _of_the_divided(trees, pair, divided.get(pair, {}))
            notes.append(
                f"flavor {pair[0]}, {pair[1]}: whole tasks there take more than the quotas admit "
                f"({error}); its quotas are those of the divided answer"
            )
        for key, own in found.items():
            limits.setdefault(key, {})[pair] = own
    weights = {str(row["queue"]): float(row["weight"]) for row in plan["queues"]}
    made = []
    for each in given:
        key = KINDS[each["kind"]], name_of(each)
        spec = _spec(each, limits.get(key, {}))
        if key[0] == "queue" and key[1] in weights:
            spec |= _weight(each, weights[key[1]])
        if spec:
            head = {"apiVersion": each["apiVersion"], "kind": each["kind"]}
            made.append({**head, "metadata": {"name": key[1]}, "spec": spec})
    return Patches(made, notes)


def applied(original: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7386) applied: null takes away, lists are taken as wholes."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    found = dict(original) if isinstance(original, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = applied(found.get(key), value)
    return found


def _check_queues(plan: Mapping[str, Any], queues: Queues) -> None:
    planned = {str(own["name"]) for own in plan.get("kueue", {}).get("shares", ())}
    missing = sorted(queues.queues.keys() - planned)
    if "kueue" not in plan or missing:
        found = f"the ClusterQueue {missing[0]!r}" if missing else "ClusterQueues"
        fault = Fault("files", f"{found}, which the plan has not", "the files that were planned")
        raise BadInput([fault])


def _placing(plan: Mapping[str, Any], cluster: ClusterRecord, queues: Queues) -> Placing:
    """Which shapes of the plan are of which flavor, by the labels of their nodes."""
    nodes = {node.name: node for node in cluster.nodes}
    seen = visible(queues)
    shapes, faults = [], []
    for row in plan["shapes"]:
        own = next((nodes[name] for name in row["nodes"] if name in nodes), None)
        if own is None:
            wanted = "its nodes in the files, as they were planned"
            faults.append(Fault(f"shape {row['shape']}", "none of its nodes", wanted))
            continue
        labels = tuple((key, own.labels[key]) for key in sorted(seen) if key in own.labels)
        shapes.append(Shape(row["shape"], row["count"], {}, (), (), (), labels))
    if faults:
        raise BadInput(faults)
    return Placing(queues, shapes)


def _by_pair(
    queues: Queues, placing: Placing, taken: taking.Taken
) -> dict[Pair, dict[str, Fraction]]:
    """{(flavor, resource): {queue: amount}}: the first flavor of a queue that its nodes are of."""
    found: dict[Pair, dict[str, Fraction]] = {}
    for (queue, shape), amounts in sorted(taken.items()):
        node = queues.queues.get(queue)
        for resource, amount in amounts.items() if node else ():
            assert node is not None
            for flavor in (f for f, r in node.quotas if r == resource):
                if shape in placing.flavors.get(flavor, ()):
                    own = found.setdefault((flavor, resource), {})
                    own[queue] = own.get(queue, Fraction(0)) + amount
                    break
    return found


def _of_the_divided(trees: Forest, pair: Pair, use: Mapping[str, Fraction]) -> dict[Key, QuotaCell]:
    try:
        return shifted(trees, pair, use)
    except NotAdmitted as error:
        fault = Fault(f"flavor {pair[0]}, {pair[1]}", str(error), "the quotas that were planned")
        raise BadInput([fault]) from None


def _spec(own: Object, limits: Mapping[Pair, QuotaCell]) -> Object:
    """The resource groups with new numbers; empty if they are as they were."""
    groups = copy.deepcopy((own.get("spec") or {}).get("resourceGroups") or [])
    changed = False
    for group in groups:
        for flavor in group.get("flavors") or ():
            for row in flavor.get("resources") or ():
                new = limits.get((flavor["name"], row["name"]))
                for field, attribute in FIELDS.items() if new else ():
                    amount = getattr(new, attribute)
                    before = row.get(field)
                    if amount is not None and amount != quantity(before if before else 0):
                        row[field] = taking.quantity_of(row["name"], amount)
                        changed = True
    return {"resourceGroups": groups} if changed else {}


def _weight(own: Object, weight: float) -> Object:
    """The weight of fair sharing, where the plan was made with another one."""
    now = ((own.get("spec") or {}).get("fairSharing") or {}).get("weight")
    before = quantity(now) if now is not None else Fraction(1)
    if not before or float(before) == weight:  # 0 is planned as a class of its own, after all
        return {}
    return {"fairSharing": {"weight": taking.quantity_of("", as_printed(weight))}}
