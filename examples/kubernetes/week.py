"""A cluster of 200 nodes and 3,000 pods, as kubectl prints it: on a Monday, and a week later.

    python examples/kubernetes/week.py           # writes monday.json and next.json here

Six teams share four kinds of nodes. Among the nodes are cordoned, lost and reserved ones; among the
pods are some that no node can run, some whose node is gone, a gang, gated ones, one a node, spread
ones, host ports, volumes, init containers, and DaemonSets that nobody asked for. All is drawn from
one seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = {
    "general": (120, {"cpu": "16250m", "memory": "62Gi", "pods": "110"}),
    "memory": (40, {"cpu": "32250m", "memory": "248Gi", "pods": "110"}),
    "a100": (24, {"cpu": "96250m", "memory": "1000Gi", "nvidia.com/gpu": "8", "pods": "110"}),
    "t4": (16, {"cpu": "48250m", "memory": "186Gi", "nvidia.com/gpu": "4", "pods": "110"}),
}
CARDS = {"a100": "A100", "t4": "T4"}
CORDONED = ("general-017", "memory-003")
LOST = "general-044"
RESERVED = "a100-023"
GONE = "general-999"
"""a node that was deleted while pods were bound to it"""

# namespace, workload, pods on Monday, of them running, cpu, memory, cards, where
WORK: list[tuple[str, str, int, int, str, str, int, str]] = [
    ("web", "front", 380, 380, "500m", "1Gi", 0, ""),
    ("web", "search", 120, 120, "4", "24Gi", 0, ""),
    ("web", "cache", 40, 36, "2", "48Gi", 0, "memory"),
    ("data", "spark", 420, 230, "4", "14Gi", 0, ""),
    ("data", "merge", 60, 24, "8", "96Gi", 0, "memory"),
    ("data", "load", 260, 200, "1", "3Gi", 0, ""),
    ("ml", "train", 150, 76, "10", "96Gi", 1, "a100"),
    ("ml", "tune", 60, 22, "6", "40Gi", 1, "card"),
    ("ml", "serve", 70, 44, "3", "12Gi", 1, "t4"),
    ("research", "sweep", 500, 160, "2", "6Gi", 0, ""),
    ("research", "probe", 90, 60, "6", "36Gi", 1, "a100"),
    ("batch", "night", 430, 160, "1", "3Gi", 0, ""),
    ("batch", "report", 110, 90, "500m", "2Gi", 0, ""),
    ("tests", "ci", 180, 60, "2", "4Gi", 0, ""),
]
QUOTAS = {
    "web": {"requests.cpu": "900", "requests.memory": "7Ti"},
    "data": {"requests.cpu": "1500"},
    "ml": {"requests.nvidia.com/gpu": "160", "requests.cpu": "1200"},
    "research": {"requests.cpu": "800", "requests.nvidia.com/gpu": "64"},
}


def node(name: str, kind: str, zone: str, gone: str) -> dict[str, Any]:
    """One node; `gone` is "", "cordoned", "lost" or "reserved"."""
    taints = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}] if kind in CARDS else []
    if gone == "reserved":
        taints.append({"key": "reserved", "value": "audit", "effect": "NoSchedule"})
    labels = {"kind": kind, "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}
    if kind in CARDS:
        labels["nvidia.com/gpu.product"] = CARDS[kind]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints, **({"unschedulable": True} if gone == "cordoned" else {})},
        "status": {
            "allocatable": KINDS[kind][1],
            "conditions": [{"type": "Ready", "status": "Unknown" if gone == "lost" else "True"}],
        },
    }


def nodes(week: int) -> Iterator[dict[str, Any]]:
    """The nodes; a week later one of the cordoned is back and an a100 machine is not."""
    for kind, (count, _) in KINDS.items():
        for k in range(count):
            name = f"{kind}-{k:03d}"
            if week and name == "a100-005":
                continue
            cordoned = name in CORDONED[week:]
            gone = "cordoned" if cordoned else "lost" if name == LOST else ""
            yield node(name, kind, "abc"[k % 3], "reserved" if name == RESERVED else gone)


def pod(
    team: str,
    work: str,
    k: int,
    on: str | None,
    requests: dict[str, str],
    owner: str = "ReplicaSet",
    **spec: Any,
) -> dict[str, Any]:
    """One pod of a workload."""
    name = f"{work}-{k:04d}"
    container = {"name": "main", "resources": {"requests": requests}, **spec.pop("container", {})}
    own = [{"kind": owner, "name": work, "controller": True}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": team,
            "labels": {"app": work, **spec.pop("labels", {})},
            "ownerReferences": own,
        },
        "spec": {"containers": [container], **spec, **({"nodeName": on} if on else {})},
        "status": {"phase": "Running" if on else "Pending"},
    }


TOLERATES = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
WHERE: dict[str, dict[str, Any]] = {
    "": {},
    "memory": {"nodeSelector": {"kind": "memory"}},
    "a100": {"nodeSelector": {"nvidia.com/gpu.product": "A100"}, "tolerations": TOLERATES},
    "t4": {"nodeSelector": {"nvidia.com/gpu.product": "T4"}, "tolerations": TOLERATES},
    "card": {"tolerations": TOLERATES},
}
KIND_OF = {
    "": ("general", "memory"),
    "memory": ("memory",),
    "a100": ("a100",),
    "t4": ("t4",),
    "card": ("t4", "a100"),
}


def amount(text: str) -> float:
    """A quantity as this file writes them, in cores or Gi."""
    if text.endswith("m"):
        return float(text[:-1]) / 1000
    return float(text.removesuffix("Gi"))


class Room:
    """What is left on each node, so that what runs is what could run."""

    def __init__(self, offered: list[dict[str, Any]]) -> None:
        self.left = {
            own["metadata"]["name"]: {
                key: amount(text) for key, text in own["status"]["allocatable"].items()
            }
            for own in offered
        }

    def take(self, name: str, requests: dict[str, str]) -> bool:
        """Whether the node had room, which is gone then."""
        left = self.left[name]
        need = {"pods": 1.0} | {key: amount(text) for key, text in requests.items()}
        if any(left.get(key, 0.0) + 1e-9 < x for key, x in need.items()):
            return False
        for key, x in need.items():
            left[key] -= x
        return True


def usual(week: int, room: Room, rng: random.Random) -> Iterator[dict[str, Any]]:
    """The pods of WORK, those that run packed on nodes, from one drawn on."""
    held_back = {LOST, RESERVED, *CORDONED}
    for team, work, asked, running, cpu, memory, cards, where in WORK:
        if week and (team, work) == ("ml", "train"):
            asked += 40
        if week and (team, work) == ("research", "sweep"):
            asked -= 150
        requests = {"cpu": cpu, "memory": memory}
        if cards:
            requests["nvidia.com/gpu"] = str(cards)
        names = [name for name in room.left if name.split("-")[0] in KIND_OF[where]]
        begin = rng.randrange(len(names))
        names = names[begin:] + names[:begin]
        for k in range(asked):
            on = None
            if k < running:
                # a few run where nothing new may: what was there when the node was cordoned stays
                some = (name for name in names if k % 40 == 7 or name not in held_back)
                on = next((name for name in some if room.take(name, requests)), None)
            yield pod(team, work, k, on, requests, **WHERE[where], **special(work))


def special(work: str) -> dict[str, Any]:
    """What makes a workload awkward to place."""
    if work == "front":
        spread = {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "front"}},
        }
        return {"topologySpreadConstraints": [spread]}
    if work == "cache":
        return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "cache"}}]}
    if work == "report":
        first = {"name": "load", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
        return {"initContainers": [first]}
    return {}


def awkward(room: Room) -> Iterator[dict[str, Any]]:
    """Pods that a plan has to name."""
    yield pod("ml", "giant", 0, None, {"cpu": "8", "nvidia.com/gpu": "16"}, **WHERE["a100"])
    yield pod("research", "careless", 0, None, {"cpu": "1", "nvidia.com/gpu": "1"})
    for k in range(4):
        h100 = {"nodeSelector": {"nvidia.com/gpu.product": "H100"}, "tolerations": TOLERATES}
        yield pod("ml", "next", k, None, {"cpu": "8", "nvidia.com/gpu": "1"}, **h100)
    for k in range(3):
        yield pod("tests", "stray", k, GONE, {"cpu": "1", "memory": "2Gi"})
    for k in range(6):
        gate = {"schedulingGates": [{"name": "example.com/quota"}]}
        yield pod("batch", "gated", k, None, {"cpu": "1", "memory": "1Gi"}, **gate)
    alone = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"app": "quorum"}},
                }
            ]
        }
    }
    for k in range(50):
        requests = {"cpu": "1", "memory": "2Gi"}
        on = f"memory-{k:03d}" if 4 <= k < 30 else None
        on = on if on and room.take(on, requests) else None
        yield pod("data", "quorum", k, on, requests, affinity=alone, **WHERE["memory"])
    for k in range(8):
        port = {"container": {"ports": [{"containerPort": 80, "hostPort": 8080}]}}
        requests = {"cpu": "500m", "memory": "1Gi"}
        on = f"general-{k:03d}" if k < 5 and room.take(f"general-{k:03d}", requests) else None
        yield pod("web", "edge", k, on, requests, **port)
    for k in range(5):
        done = pod("tests", "done", k, "general-000", {"cpu": "8"})
        done["status"]["phase"] = "Succeeded"
        yield done


def daemons(room: Room) -> Iterator[dict[str, Any]]:
    """A pod on each node that no team asked for."""
    requests = {"cpu": "250m", "memory": "1Gi"}
    for k, name in enumerate(room.left):
        room.take(name, requests)
        yield pod("monitoring", "agent", k, name, requests, "DaemonSet")


def cluster(week: int = 0) -> dict[str, Any]:
    """The List of all objects, of this week or, with 1, of the next."""
    rng = random.Random(27)
    all_nodes = list(nodes(week))
    room = Room(all_nodes)
    pods = [*daemons(room), *awkward(room), *usual(week, room, rng)]
    quotas = [
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "team", "namespace": team},
            "spec": {"hard": hard},
        }
        for team, hard in QUOTAS.items()
    ]
    return {"apiVersion": "v1", "kind": "List", "items": [*all_nodes, *quotas, *pods]}


def main() -> None:
    for week, name in enumerate(("monday.json", "next.json")):
        data = cluster(week)
        Path(name).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        count = {"Node": 0, "Pod": 0}
        for item in data["items"]:
            count[item["kind"]] = count.get(item["kind"], 0) + 1
        print(f"{name}: {count['Node']} nodes, {count['Pod']} pods")


if __name__ == "__main__":
    main()
