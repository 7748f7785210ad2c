"""A plan's quotas as objects of Kueue: a flavor for each shape, a cluster queue for each queue.

The quota of a queue on a flavor is what its whole tasks on that shape take, exactly; together they
are never above the nodes of the shape, which is checked here again. Without a cohort nobody
borrows, so that the plan, read back, gives every queue its whole tasks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from fairopt.connect.exports import originals, taking
from fairopt.connect.text.fields import PODS
from fairopt.errors import UsageError
from fairopt.exact import as_printed
from fairopt.files.quantities import written

VERSIONS = ("v1beta1", "v1beta2")
SHAPE = "fairopt/shape"
"""label that tells the nodes of a flavor"""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
MOST_IN_GROUP = 64
"""most flavors, and most resources, of a cluster queue's resource group"""

Objects = list[dict[str, Any]]


def objects(plan: Mapping[str, Any], version: str = "v1beta2", cohort: str = "") -> Objects:
    """ResourceFlavors and ClusterQueues of a plan.

    Parameters
    ----------
    plan : as `plan_rows.loads` reads it. version : of Kueue's API.
    cohort : of all queues, in which what one does not use is lent to the others; none if empty.

    Raises
    ------
    BadInput : a plan that is damaged, or whose whole tasks are above its nodes.
    UsageError : more than 64 flavors or resources in one queue, another version, a cohort that
        Kueue would not take as a name.
    """
    if version not in VERSIONS:
        raise UsageError(f"--api: found {version!r}; wanted one of {', '.join(VERSIONS)}")
    if cohort and (len(cohort) > 253 or not _NAME.fullmatch(cohort)):
        raise UsageError(f"--cohort: found {cohort!r}; wanted a lower-case DNS name")
    use = {
        key: {r: amount for r, amount in own.items() if r != PODS}
        for key, own in taking.whole(plan).items()
    }
    use = {key: own for key, own in use.items() if own}
    resources = sorted({r for row in plan["workloads"] for r in row["demand"]} - {PODS})
    weights = {str(row["queue"]): float(row["weight"]) for row in plan["queues"]}
    queues = sorted({queue for queue, _ in use})
    shapes = sorted({shape for _, shape in use})
    flavors, names = _dns(shapes), _dns(queues)
    api = {"apiVersion": f"kueue.x-k8s.io/{version}"}
    found: Objects = [
        {
            **api,
            "kind": "ResourceFlavor",
            "metadata": {"name": flavors[shape]},
            "spec": {"nodeLabels": {SHAPE: flavors[shape]}},
        }
        for shape in shapes
    ]
    for queue in queues:
        own = [shape for shape in shapes if (queue, shape) in use]
        asked = [r for r in resources if any(use[queue, s].get(r) for s in own)]
        if len(own) > MOST_IN_GROUP or len(asked) > MOST_IN_GROUP:
            raise UsageError(
                f"queue {queue}: found {len(own)} flavors and {len(asked)} resources; "
                f"wanted at most {MOST_IN_GROUP} of each, as Kueue takes them"
            )
        rows = [
            {
                "name": flavors[shape],
                "resources": [
                    {"name": r, "nominalQuota": written(use[queue, shape].get(r, Fraction(0)))}
                    for r in asked
                ],
            }
            for shape in own
        ]
        spec: dict[str, Any] = {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": asked, "flavors": rows}],
        }
        if weights[queue] != 1:
            weight = taking.quantity_of("", as_printed(weights[queue]))
            spec["fairSharing"] = {"weight": weight}
        if cohort:
            spec["cohort" if version == "v1beta1" else "cohortName"] = cohort
        found.append(
            {**api, "kind": "ClusterQueue", "metadata": {"name": names[queue]}, "spec": spec}
        )
    return found


def text(plan: Mapping[str, Any], made: Objects) -> str:
    """The objects as YAML, with the commands that label the nodes before them.

    Raises
    ------
    MissingExtra : without PyYAML.
    """
    nodes = {row["shape"]: row.get("nodes", []) for row in plan["shapes"]}
    flavors = _dns(sorted(nodes))
    labelled = {own["metadata"]["name"] for own in made if own["kind"] == "ResourceFlavor"}
    lines = [
        "Quotas of a plan of fairopt: whole tasks times what one takes, by shape of node.",
        "The nodes of each flavor are told by a label:",
    ]
    for shape, own in sorted(nodes.items()):
        if flavors[shape] in labelled:
            some = " ".join(own) or "NODES"
            lines.append(f"  kubectl label nodes {some} {SHAPE}={flavors[shape]}")
    lines.append("Local queues, which say who may use a cluster queue, are yours to write.")
    return originals.text(made, lines)


def _dns(names: list[str]) -> dict[str, str]:
    """Names as Kubernetes takes them, all different."""
    found: dict[str, str] = {}
    for name in names:
        base = re.sub(r"[^-a-z0-9.]+", "-", name.lower())
        base = ".".join(part.strip("-") for part in base.split(".") if part.strip("-"))[:63]
        base = base.strip("-.") or "unnamed"
        own, k = base, 1
        while own in found.values():
            k += 1
            own = f"{base[:58]}-{k}"
        found[name] = own
    return found
