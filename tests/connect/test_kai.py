"""KAI's queues: quotas first, then what is over them by weight and priority; every fault named."""

from __future__ import annotations

import json

import pytest

from fairopt import cli

GPU = "nvidia.com/gpu"
FREE = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def queue(name, gpu, parent=None, **spec):
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {
            **({"parentQueue": parent} if parent else {}),
            **spec,
            "resources": {"gpu": gpu, "cpu": FREE, "memory": FREE},
        },
    }


def gpus(quota=None, limit=-1, weight=1):
    found = {"quota": quota, "limit": limit, "overQuotaWeight": weight}
    return {key: value for key, value in found.items() if value is not None}


def pods(name, count):
    return [
        {
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{k}",
                "namespace": "jobs",
                "labels": {"kai.scheduler/queue": name},
                "ownerReferences": [{"kind": "Job", "name": name, "controller": True}],
            },
            "spec": {"containers": [{"resources": {"requests": {GPU: "1", "cpu": "1"}}}]},
            "status": {"phase": "Pending"},
        }
        for k in range(count)
    ]


def node(gpu):
    return {
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {
            "allocatable": {GPU: str(gpu), "cpu": "400", "pods": "400"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def due(tmp_path, *objects):
    path, out = tmp_path / "objects.json", tmp_path / "plan.json"
    path.write_text(json.dumps({"kind": "List", "items": list(objects)}))
    with pytest.raises(SystemExit) as end:
        cli.main(["plan", str(path), "-o", str(out)])
    assert end.value.code == 0
    plan = json.loads(out.read_text())
    with pytest.raises(SystemExit) as end:
        cli.main(["verify", str(out)])
    assert end.value.code == 0
    return {row["queue"]: row["due"] for row in plan["queues"]}


def near(**wanted):
    return pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_what_is_over_the_quotas_is_shared_on_top_of_them(tmp_path):
    """Quotas of 6, 2 and 1 on 12 GPUs: 7, 3 and 2 (models/quotas/g1, above)."""
    objects = [node(12)]
    for name, quota in (("a", 6), ("b", 2), ("c", 1)):
        objects += [queue(name, gpus(quota)), *pods(name, 12)]
    assert due(tmp_path, *objects) == near(a=7, b=3, c=2)


def test_the_weights_of_its_own_example(tmp_path):
    """100 GPUs, quotas of 10, weights 3 and 1: 70 and 30."""
    objects = [node(100)]
    for name, weight in (("a", 3), ("b", 1)):
        objects += [queue(name, gpus(10, weight=weight)), *pods(name, 100)]
    assert due(tmp_path, *objects) == near(a=70, b=30)


def test_what_is_not_said_is_nothing_beyond_the_quota(tmp_path):
    objects = [
        node(12),
        queue("a", gpus(2, limit=None)),
        *pods("a", 12),
        queue("b", gpus(2, weight=0)),
        *pods("b", 12),
        queue("c", gpus(1)),
        *pods("c", 12),
    ]
    assert due(tmp_path, *objects) == near(a=2, b=2, c=8)


def test_priority_orders_what_is_over_the_quotas(tmp_path):
    objects = [
        node(12),
        queue("a", gpus(2), priority=200),
        *pods("a", 8),
        queue("b", gpus(2)),
        *pods("b", 8),
        queue("c", gpus(1)),
        *pods("c", 8),
    ]
    assert due(tmp_path, *objects) == near(a=8, b=2.5, c=1.5)


def test_queues_stand_in_their_parents(tmp_path):
    objects = [node(12), queue("org", gpus(0)), queue("other", gpus(0)), *pods("other", 12)]
    for name in ("a", "b"):
        objects += [queue(name, gpus(0), parent="org"), *pods(name, 12)]
    assert due(tmp_path, *objects) == near(a=3, b=3, other=6)


def test_every_fault_is_named(tmp_path, capsys):
    objects = [
        node(4),
        queue("a", gpus(-2)),
        queue("a", gpus("1QB")),
        queue("b", gpus(1), parent="no"),
        queue("c", gpus(1), priority="high"),
        *pods("d", 1),
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "v"},
            "spec": {},
        },
    ]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"kind": "List", "items": objects}))
    with pytest.raises(SystemExit) as end:
        cli.main(["plan", str(path)])
    said = capsys.readouterr().err
    assert end.value.code == 2
    for words in (
        "below 0",
        "1QB",
        "a second time",
        "'no'",
        "priority",
        "the queue 'd'",
        "one scheduler",
    ):
        assert words in said, words
