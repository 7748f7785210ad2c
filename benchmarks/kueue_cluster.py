"""Clusters with Kueue's quotas, drawn: what `kubectl get ... -o json` prints of them.

ClusterQueues in four cohorts, with quotas for some kinds of nodes, some limits of borrowing; if
asked for, limits of lending, quotas of nothing, and cohorts below cohorts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
COHORTS = 4
API = "kueue.x-k8s.io/v1beta1"


def drawn(
    workloads: int,
    nodes: int,
    queues: int,
    kinds: int,
    asked: tuple[int, int],
    seed: int,
    nested: bool = False,
    lending: bool = False,
    nothing: bool = False,
) -> dict[str, Any]:
    """A list of objects.

    Parameters
    ----------
    asked : least and most tasks of a workload. nested : whether cohorts are below others.
    lending : whether some quotas have a limit of lending. nothing : whether some are 0.
    """
    rng = np.random.default_rng(seed)
    offer = rng.integers(5, 21, (kinds, len(RESOURCES)))
    kind = rng.integers(kinds, size=nodes)
    total = offer * np.bincount(kind, minlength=kinds)[:, None]
    items = [_node(i, k, offer[k]) for i, k in enumerate(kind.tolist())]
    items += [
        _made(API, "ResourceFlavor", f"f{k}", spec={"nodeLabels": {"kind": f"k{k}"}})
        for k in range(kinds)
    ]
    for q in range(queues):
        flavors = [k for k in range(kinds) if rng.random() < 0.7] or [0]
        each = [
            {"name": f"f{k}", "resources": _quotas(rng, total[k], queues, lending, nothing)}
            for k in flavors
        ]
        spec = {
            "cohort": f"c{q % COHORTS}",
            "fairSharing": {"weight": f"{rng.uniform(0.5, 2):.2f}"},
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": [*RESOURCES], "flavors": each}],
        }
        items.append(_made(API, "ClusterQueue", f"q{q}", spec=spec))
        queue = {"clusterQueue": f"q{q}"}
        items.append(_made(API, "LocalQueue", f"l{q}", f"ns{q}", spec=queue))
    if nested:
        above = {c: "root" if c < COHORTS // 2 else "mid" for c in range(COHORTS)}
        items += [_made(API, "Cohort", f"c{c}", spec={"parentName": up}) for c, up in above.items()]
        items.append(_made(API, "Cohort", "mid", spec={"parentName": "root"}))
        items.append(_made(API, "Cohort", "root", spec={}))
    items += [_workload(rng, u, u % queues, asked) for u in range(workloads)]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _made(api: str, kind: str, name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    there = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": there, **more}


def _amounts(numbers: Any) -> dict[str, str]:
    """Amounts of the resources, in Kubernetes' words."""
    return {
        name: f"{int(v)}Gi" if name == "memory" else str(int(v))
        for name, v in zip(RESOURCES, numbers, strict=True)
    }


def _node(i: int, k: int, offer: Any) -> dict[str, Any]:
    found = _made("v1", "Node", f"n{i}", spec={})
    found["metadata"]["labels"] = {"kind": f"k{k}"}
    ready = [{"type": "Ready", "status": "True"}]
    found["status"] = {"allocatable": {**_amounts(offer), "pods": "110"}, "conditions": ready}
    return found


def _quotas(
    rng: np.random.Generator, total: Any, queues: int, lending: bool, nothing: bool
) -> list[dict[str, str]]:
    """The quotas of a queue on a flavor of which there is so much."""
    none = nothing & (rng.random(len(RESOURCES)) < 0.3)
    own = np.where(none, 0, total // queues)
    given, borrow = _amounts(own), _amounts(total // 4)
    lend = _amounts(own * rng.random(len(RESOURCES)))
    limited, kept = rng.random((2, len(RESOURCES))) < 0.3
    return [
        {
            "name": name,
            "nominalQuota": given[name],
            **({"borrowingLimit": borrow[name]} if limited[j] else {}),
            **({"lendingLimit": lend[name]} if lending and kept[j] else {}),
        }
        for j, name in enumerate(RESOURCES)
    ]


def _workload(
    rng: np.random.Generator, u: int, queue: int, asked: tuple[int, int]
) -> dict[str, Any]:
    need = _amounts([rng.integers(1, 5), rng.integers(1, 6), rng.integers(0, 3)])
    requests = {name: amount for name, amount in need.items() if amount != "0"}
    container = {"name": "main", "image": "x", "resources": {"requests": requests}}
    pods = {
        "name": "main",
        "count": int(rng.integers(asked[0], asked[1] + 1)),
        "template": {"spec": {"containers": [container]}},
    }
    spec = {"queueName": f"l{queue}", "active": True, "podSets": [pods]}
    return _made(API, "Workload", f"w{u}", f"ns{queue}", spec=spec)
