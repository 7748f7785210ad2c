"""A pod as `kubectl get pods` prints it: what it takes, where it runs, whose it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairopt.connect.cluster.eligible import Requirement, Rules, Toleration
from fairopt.connect.cluster.requests import request
from fairopt.connect.cluster.together import Binds, binds
from fairopt.connect.text.fields import Amounts, CheckedFields, named
from fairopt.instance.reading import Faults

PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
OVER = ("Succeeded", "Failed")
MIRROR = "kubernetes.io/config.mirror"
"""annotation of the copy of a static pod"""
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_TOLERATES = ("", "Equal", "Exists", "Lt", "Gt")


@dataclass(frozen=True)
class Pod:
    """One pod that is running or waiting to.

    Parameters
    ----------
    namespace, name : what it is called.
    owner : (kind, name) of the workload it belongs to; ("Pod", name) if it stands alone.
    node : where it runs; empty while it waits.
    request : what it takes, as the scheduler counts it.
    rules : which nodes it may run on.
    fixed : why its place is not divided ("DaemonSet", "static"); empty if it is.
    beyond : what binds it that is not modelled.
    labels, annotations : its labels and annotations.
    binds : what binds it to other pods.
    """

    namespace: str
    name: str
    owner: tuple[str, str]
    node: str
    request: Amounts
    rules: Rules
    fixed: str = ""
    beyond: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, Any] = field(default_factory=dict)
    binds: Binds = field(default_factory=Binds)


def pod(data: Mapping[str, Any], place: str, faults: Faults) -> Pod | None:
    """A pod of an object of kind Pod; None for one that has ended.

    Every fault is added, with the pod's namespace and name and the field.
    """
    space, name = named(data, place, faults, spaced=True)
    given = CheckedFields(data, f"pod {space}/{name}" if name else place, faults)
    meta, spec, status = (given.table(key) for key in ("metadata", "spec", "status"))
    phase = status.text("phase") or "Pending"
    if phase not in PHASES:
        status.wrong("phase", f"one of {', '.join(PHASES)}")
    if phase in OVER:
        return None
    if "containers" not in spec:
        spec.wrong("containers", "a list of containers")
    labels = meta.strings("labels")
    kind, owner = _owner(meta, labels) or ("Pod", name)
    fixed = "DaemonSet" if kind == "DaemonSet" else ""
    if kind == "Node" or MIRROR in meta.table("annotations").data:
        fixed = "static"
    own = binds(meta, spec, space, (kind, owner))
    return Pod(
        space,
        name,
        (kind, owner),
        spec.text("nodeName"),
        request(spec, status),
        rules_of(spec),
        fixed,
        (*_beyond(spec), *own.beyond),
        labels,
        meta.table("annotations").data,
        own,
    )


def _owner(meta: CheckedFields, labels: Mapping[str, str]) -> tuple[str, str] | None:
    """(kind, name) of the controller; the Deployment behind a ReplicaSet that it made."""
    owners = [o for o in meta.tables("ownerReferences") if o.flag("controller")]
    if not owners:
        return None
    kind, name = owners[0].text("kind"), owners[0].text("name")
    if not name:
        owners[0].wrong("name", "the owner's name")
    tail = labels.get("pod-template-hash")
    if kind == "ReplicaSet" and tail and name.endswith(f"-{tail}"):
        return "Deployment", name[: -len(tail) - 1]
    return kind, name


def rules_of(spec: CheckedFields) -> Rules:
    """Where a pod may run, by its spec."""
    affinity = spec.table("affinity").table("nodeAffinity")
    required = affinity.table("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None
    if "requiredDuringSchedulingIgnoredDuringExecution" in affinity:
        listed = required.tables("nodeSelectorTerms")
        terms = tuple(sorted({tuple(sorted(_term(t))) for t in listed}))
    return Rules(
        tuple(sorted(spec.strings("nodeSelector").items())),
        terms,
        tuple(sorted({toleration_of(t) for t in spec.tables("tolerations")})),
    )


def _term(term: CheckedFields) -> Iterator[Requirement]:
    for key, field_ in (("matchExpressions", False), ("matchFields", True)):
        for need in term.tables(key):
            operator, values = need.text("operator"), need.texts("values")
            allowed = ("In", "NotIn") if field_ else _OPERATORS
            if operator not in allowed:
                need.wrong("operator", f"one of {', '.join(allowed)}")
                continue
            if field_ and need.text("key") != "metadata.name":
                need.wrong("key", "metadata.name")
            one = field_ or operator in ("Gt", "Lt")
            if one and len(values) != 1:
                need.wrong("values", "a list of one value")
                continue
            if operator in ("In", "NotIn") and not values:
                need.wrong("values", "a list of at least one value")
            if operator in ("Exists", "DoesNotExist") and values:
                need.wrong("values", f"no values with {operator}")
            if operator in ("Gt", "Lt") and not values[0].lstrip("+-").isdecimal():
                need.wrong("values", "a whole number")
            yield Requirement(need.text("key"), operator, tuple(sorted(set(values))), field_)


def toleration_of(given: CheckedFields) -> Toleration:
    """A toleration of a pod, checked."""
    operator = given.text("operator")
    if operator not in _TOLERATES:
        given.wrong("operator", "one of Equal, Exists, Lt, Gt")
    key = given.text("key")
    if not key and operator != "Exists":
        given.wrong("key", "a key, or the operator Exists")
    return Toleration(key, operator or "Equal", given.text("value"), given.text("effect"))


def _beyond(spec: CheckedFields) -> Iterator[str]:
    """What binds the pod beyond resources, taints and node affinity, in words."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    if spec.table("affinity").table("podAffinity").data.get(required):
        yield "pod affinity"
    if any("persistentVolumeClaim" in v or "ephemeral" in v for v in spec.tables("volumes")):
        yield "volumes"
    if any(True for _ in spec.tables("resourceClaims")):
        yield "resource claims"
    if any(True for _ in spec.tables("schedulingGates")):
        yield "scheduling gates"
