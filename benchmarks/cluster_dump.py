"""Large clusters as kubectl prints them: written, read as a stream, planned; time and peak memory.

    python benchmarks/cluster_dump.py google2011 --keep folder     # 12,583 nodes, a table of teams
    python benchmarks/cluster_dump.py pods --nodes 5000 --pods 100000

`google2011` are the machines of the model of that name, one object each; its users are teams whose
placement is a label. `pods` are nodes of two sizes and pods with the fields that fill real dumps;
the list of 5,000 and 100,000 is 1.2 GB of JSON. Every plan is verified from its own JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import fairopt as fo
from fairopt.connect.judging import plans as judging
from fairopt.connect.plan import made as plan
from fairopt.connect.plan import problem
from fairopt.connect.readers import sources
from fairopt.files.quantities import written

READY = [{"type": "Ready", "status": "True"}]


def node(name: str, labels: dict[str, str], allocatable: dict[str, str], **spec: Any) -> Any:
    """A node in the form of the API, with the list of images that makes real ones long."""
    images = [{"names": ["registry.example.com/" + "x" * 60], "sizeBytes": 1}] * 20
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": allocatable, "conditions": READY, "images": images},
    }


UNITS = {"cpu": 64, "memory": 2**39}
"""what 1 of the trace is taken to be: it gives parts of the largest machine only"""


def amounts(row: Any, resources: Any) -> dict[str, str]:
    """Quantities of a row of real/google2011."""
    return {
        key: written(Fraction(repr(x)) * UNITS[key])
        for key, x in zip(resources, row.tolist(), strict=True)
    }


def machines() -> Iterator[Any]:
    """The machines of real/google2011, one object each."""
    inst = fo.read("real/google2011").instance
    for name, count, row in zip(inst.servers, inst.count, inst.capacity, strict=True):
        for k in range(count):
            offered = amounts(row, inst.resources)
            yield node(f"{name}-{k:04d}", {"machine": name}, offered)


def teams() -> str:
    """The users of real/google2011 as a table; where they may run is a label of the machines."""
    inst = fo.read("real/google2011").instance
    lines = ["team,weight,tasks,label:machine,cpu,memory"]
    for n, name in enumerate(inst.users):
        allowed = [s for s, ok in zip(inst.servers, inst.placement[n], strict=True) if ok]
        where = "" if len(allowed) == len(inst.servers) else ";".join(allowed)
        limit = "" if inst.limit[n] == float("inf") else str(int(inst.limit[n]))
        asked = ",".join(amounts(inst.demand[n], inst.resources).values())
        lines.append(f"{name},{inst.weight[n]},{limit},{where},{asked}")
    return "\n".join(lines) + "\n"


def crowd(nodes: int, pods: int) -> Iterator[Any]:
    """Nodes of two sizes, one in a hundred cordoned, and pods of a thousand Deployments."""
    rng = random.Random(1)
    for k in range(nodes):
        large = k % 4 == 0
        cpu, memory = ("63500m", "515928Mi") if large else ("15890m", "63Gi")
        labels = {"disk": "ssd" if k % 2 else "hdd", "kubernetes.io/hostname": f"node-{k:05d}"}
        cordoned = {"unschedulable": True} if k % 100 == 7 else {}
        offered = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "95551679124"}
        yield node(f"node-{k:05d}", labels, offered, **cordoned)
    for k in range(pods):
        yield pod(k, f"node-{rng.randrange(nodes):05d}" if k % 10 else None)


def pod(k: int, on: str | None) -> Any:
    """A pod of about ten kilobytes."""
    team, app = f"team{k % 40:02d}", f"app{k // 40 % 25:02d}"
    requests = {"cpu": f"{100 * (1 + k // 40 % 7)}m", "memory": f"{128 * (1 + k // 40 % 5)}Mi"}
    spec: dict[str, Any] = {
        "containers": [
            {
                "name": "main",
                "image": "registry.example.com/app:1",
                "env": [
                    {"name": f"VARIABLE_{j}", "value": "some value or other " * 4}
                    for j in range(25)
                ],
                "resources": {"requests": requests},
            }
        ],
        "tolerations": [
            {"effect": "NoExecute", "operator": "Exists", "key": f"node.kubernetes.io/{why}"}
            for why in ("not-ready", "unreachable")
        ],
        "nodeSelector": {"disk": "ssd"} if k // 40 % 3 == 0 else {},
    }
    if on:
        spec["nodeName"] = on
    owner = {"kind": "ReplicaSet", "name": f"{app}-5d9f8c7b6d", "controller": True, "uid": "x"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": spec,
        "metadata": {
            "name": f"{app}-5d9f8c7b6d-{k:06d}",
            "namespace": team,
            "ownerReferences": [owner],
            "labels": {"app": app, "pod-template-hash": "5d9f8c7b6d"},
            "annotations": {"description": "lorem ipsum " * 60},
            "managedFields": [{"fieldsV1": {f"f:{j}": {} for j in range(40)}}],
        },
        "status": {"phase": "Running" if on else "Pending", "conditions": READY},
    }


def write(path: Path, objects: Iterator[Any]) -> None:
    """The objects as one List, as kubectl writes it."""
    with open(path, "w", encoding="utf-8") as file:
        file.write('{\n    "apiVersion": "v1",\n    "items": [\n')
        for k, data in enumerate(objects):
            file.write(("" if k == 0 else ",\n") + json.dumps(data, indent=4))
        file.write('\n    ],\n    "kind": "List"\n}\n')


def measured(paths: list[str]) -> dict[str, float]:
    """Seconds of each step, and megabytes at the peak of this process."""
    took, began = {}, time.perf_counter()

    def step(name: str) -> None:
        nonlocal began
        took[name] = time.perf_counter() - began
        began = time.perf_counter()

    found = sources.cluster(paths)
    step("read")
    made = problem.problem(found)
    step("reduce")
    data = plan.make(made)
    step("plan")
    judged = judging.judge(data)
    step("verify")
    users, shapes, _ = made.instance.shape
    nodes = sum(row.count for row in made.shapes)
    print(
        f"{len(found.nodes)} nodes ({nodes} in service, {shapes} shapes), {users} workloads; "
        f"certified: {judged.certified}"
    )
    took["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return took


def main() -> None:
    """Write, read, plan and verify one dump, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=("google2011", "pods"))
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="a folder for the files")
    given = parser.parse_args()
    with nullcontext(given.keep) if given.keep else tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "cluster.json"]
        if given.which == "google2011":
            write(paths[0], machines())
            paths.append(Path(folder) / "teams.csv")
            paths[1].write_text(teams())
        else:
            write(paths[0], crowd(given.nodes, given.pods))
        print(f"{paths[0].stat().st_size / 1e6:.0f} MB of JSON")
        for name, value in measured([str(path) for path in paths]).items():
            print(f"{name:>8} {value:8.1f}")


if __name__ == "__main__":
    sys.exit(main())
