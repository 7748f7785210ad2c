"""The structure of Kueue's objects, from its CRDs (Apache-2.0), as JSON Schemas.

Only what a quota file has: names, patterns, lengths and required fields of ResourceFlavor and
ClusterQueue, versions v1beta1 and v1beta2. Unknown fields are refused, as a strict API server does.
"""

from __future__ import annotations

NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUANTITY = {
    "anyOf": [
        {"type": "integer"},
        {
            "type": "string",
            "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|"
            r"[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        },
    ]
}
NAMED = {"type": "string", "maxLength": 253, "pattern": NAME}
LABEL = {
    "type": "string",
    "maxLength": 63,
    "pattern": r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$",
}


def table(properties, *required, **more):
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def listed(items, least, most):
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


RESOURCE = table(
    {
        "name": {"type": "string"},
        "nominalQuota": QUANTITY,
        "borrowingLimit": QUANTITY,
        "lendingLimit": QUANTITY,
    },
    "name",
    "nominalQuota",
)
FLAVOR = table({"name": NAMED, "resources": listed(RESOURCE, 1, 64)}, "name", "resources")
GROUP = table(
    {"coveredResources": listed({"type": "string"}, 1, 64), "flavors": listed(FLAVOR, 1, 64)},
    "coveredResources",
    "flavors",
)


def schema(version, kind, spec):
    return table(
        {
            "apiVersion": {"const": f"kueue.x-k8s.io/{version}"},
            "kind": {"const": kind},
            "metadata": table({"name": NAMED}, "name"),
            "spec": table(spec),
        },
        "apiVersion",
        "kind",
        "metadata",
        "spec",
    )


SCHEMAS = {
    (version, kind): schema(version, kind, spec)
    for version, cohort in (("v1beta1", "cohort"), ("v1beta2", "cohortName"))
    for kind, spec in {
        "ResourceFlavor": {
            "nodeLabels": {"type": "object", "additionalProperties": LABEL, "maxProperties": 8}
        },
        "ClusterQueue": {
            cohort: NAMED,
            "fairSharing": table({"weight": QUANTITY}),
            "namespaceSelector": {"type": "object"},
            "resourceGroups": {"type": "array", "items": GROUP, "maxItems": 16},
        },
    }.items()
}
