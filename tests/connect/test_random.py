"""Random small clusters: every plan is certified, and verified from its own JSON."""

from __future__ import annotations

import json
import random

import pytest

from fairopt.connect.cluster.nodes import parsed
from fairopt.connect.judging import plans as judging
from fairopt.connect.plan import made as plan
from fairopt.connect.plan import problem
from fairopt.connect.readers.kubernetes import Collector
from fairopt.errors import BadInput
from fairopt.instance.reading import Faults

GPU, KIND = "nvidia.com/gpu", "nvidia.com/gpu.product"


def node(draw, k):
    offered = {
        "cpu": draw.choice(["4", "7900m", "16", ".5", "0"]),
        "pods": draw.choice(["3", "110"]),
        "memory": draw.choice(["8Gi", "15e9", "64G", "1Ti"]),
    }
    labels, spec = {"zone": draw.choice("ab")}, {}
    if draw.random() < 0.3:
        offered[GPU], labels[KIND] = draw.choice("128"), draw.choice(["A100", "T4"])
    if draw.random() < 0.1:
        spec["unschedulable"] = True
    if draw.random() < 0.2:
        spec["taints"] = [{"key": "t", "effect": "NoSchedule"}]
    ready = [{"type": "Ready", "status": "True" if draw.random() < 0.9 else "False"}]
    return {
        "kind": "Node",
        "metadata": {"name": f"n{k}", "labels": labels},
        "spec": spec,
        "status": {"allocatable": offered if draw.random() < 0.95 else {}, "conditions": ready},
    }


def pod(draw, k, nodes):
    asked = {"cpu": draw.choice(["100m", "1", "3500m", "0"]), "memory": draw.choice(["2e9", "9Gi"])}
    if draw.random() < 0.3:
        asked[GPU] = draw.choice("12")
    spec = {"containers": [{"name": "c", "resources": {"requests": asked}}]}
    if draw.random() < 0.3:
        spec["nodeSelector"] = {"zone": "a"}
    if draw.random() < 0.4:
        spec["tolerations"] = [{"operator": "Exists"}]
    if draw.random() < 0.5:
        spec["nodeName"] = f"n{draw.randrange(nodes)}"
    kind = draw.choice(["Job"] * 9 + ["DaemonSet"])
    owner = {"kind": kind, "name": f"w{draw.randrange(6)}", "controller": True}
    meta = {"name": f"p{k}", "namespace": draw.choice("xyz"), "ownerReferences": [owner]}
    return {"kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


@pytest.mark.parametrize("seed", range(16))
def test_random_clusters(seed):
    draw = random.Random(seed)
    nodes = draw.randint(1, 8)
    taken = Collector(draw.choice(["owner", "namespace"]), faults=Faults("objects"))
    for k in range(nodes):
        taken.take(node(draw, k), f"items[{k}]")
    for k in range(draw.randint(1, 40)):
        taken.take(pod(draw, k, nodes), f"items[{nodes + k}]")
    cards = [parsed(f"{KIND}=A100:1,T4:.4")] if draw.random() < 0.5 else []
    try:
        made = problem.problem(taken.cluster({"x": 2.0}), cards)
    except BadInput as error:  # nothing in service, or nobody who can run anywhere
        assert {fault.place.partition(" ")[0] for fault in error.faults} <= {
            "nodes",
            "pods",
            "workload",
        }
        return
    data = json.loads(plan.dumps(plan.make(made)))
    judged = judging.judge(data)
    assert judged.certified, judged.explain()
