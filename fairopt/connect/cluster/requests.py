"""The effective request of a pod: what the scheduler counts for it on its node.

Containers and sidecars run together; ordinary init containers run before, one after another, each
beside the sidecars that were started before it. The larger of the two counts, resource by
resource; pod-level resources replace it, the overhead of the runtime is added. Of a pod that is
being resized, the largest of what it asks, what the node has granted and what is in force counts;
a wish that the node cannot fulfil does not. The rules are those of PodRequests in Kubernetes'
component-helpers.
"""

from __future__ import annotations

from fractions import Fraction

from fairopt.connect.text.fields import CPU, MEMORY, PODS, Amounts, CheckedFields
from fairopt.files.quantities import scheduled

POD_LEVEL = (CPU, MEMORY)
"""resources that a pod can ask for as a whole; huge pages too"""


def request(spec: CheckedFields, status: CheckedFields) -> Amounts:
    """What one pod takes of each resource, as the scheduler counts it; of `pods` it takes 1.

    Parameters
    ----------
    spec, status : the parts of the pod's object; an empty status for a template.
    """
    statuses = {
        own.text("name"): own
        for key in ("containerStatuses", "initContainerStatuses")
        for own in status.tables(key)
    }
    infeasible = any(
        c.text("type") == "PodResizePending" and c.text("reason") == "Infeasible"
        for c in status.tables("conditions")
    )
    asked = _together(spec, {})
    total = asked
    if any("allocatedResources" in own or "resources" in own for own in statuses.values()):
        granted = _together(spec, statuses, "granted", infeasible)
        in_force = _together(spec, statuses, "in force", infeasible)
        total = _most(granted, in_force)
        if not infeasible:
            total = _most(asked, total)
    total = {**total, **_pod_level(spec, status, infeasible, total)}
    total = _sum(total, spec.amounts("overhead"))
    counted = {name: scheduled(name, amount) for name, amount in total.items() if amount}
    return dict(sorted({**counted, PODS: Fraction(1)}.items()))


def _together(
    spec: CheckedFields,
    statuses: dict[str, CheckedFields],
    which: str = "",
    infeasible: bool = False,
) -> Amounts:
    """The larger of what runs in the end and what runs while the pod starts."""
    total: Amounts = {}
    for container in spec.tables("containers"):
        total = _sum(total, _one(container, statuses, which, infeasible))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.tables("initContainers"):
        own = _one(container, statuses, which, infeasible)
        if container.text("restartPolicy") == "Always":
            total, sidecars = _sum(total, own), _sum(sidecars, own)
            starting = _most(starting, sidecars)
        else:
            starting = _most(starting, _sum(own, sidecars))
    return _most(total, starting)


def _one(
    container: CheckedFields, statuses: dict[str, CheckedFields], which: str, infeasible: bool
) -> Amounts:
    """The request of one container: as asked, as granted by the node, or as in force there."""
    status = statuses.get(container.text("name")) if which else None
    if status is not None:
        if which == "in force" and "requests" in (now := status.table("resources")):
            return now.amounts("requests")
        if "allocatedResources" in status:
            return status.amounts("allocatedResources")
    if which and infeasible:
        return {}
    resources = container.table("resources")
    asked = resources.amounts("requests")
    if "limits" not in resources:
        return asked
    # a limit without a request is a request, which the API server fills in
    named = resources.table("requests").data
    limits = resources.amounts("limits")
    return {**{k: v for k, v in limits.items() if k not in named}, **asked}


def _pod_level(
    spec: CheckedFields, status: CheckedFields, infeasible: bool, total: Amounts
) -> Amounts:
    """What is asked for the pod as a whole, of the resources that can be."""
    resources = spec.table("resources")
    if not resources.data:
        return {}
    asked = resources.amounts("requests")
    for name, limit in resources.amounts("limits").items():
        if name not in resources.table("requests").data and name not in total:
            asked[name] = limit
    if "resources" in status:
        now = _most(
            status.table("resources").amounts("requests"), status.amounts("allocatedResources")
        )
        asked = now if infeasible else _most(asked, now)
    return {k: v for k, v in asked.items() if k in POD_LEVEL or k.startswith("hugepages-")}


def _sum(a: Amounts, b: Amounts) -> Amounts:
    return {**a, **{name: a.get(name, Fraction(0)) + amount for name, amount in b.items()}}


def _most(a: Amounts, b: Amounts) -> Amounts:
    return {**a, **{name: max(a.get(name, amount), amount) for name, amount in b.items()}}
