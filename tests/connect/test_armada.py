"""Queues of Armada: a factor of 2 is half the share of a factor of 1."""

from __future__ import annotations

import json

from fairopt.cli import run


def objects(factor):
    """One node of 12 cpu and two queues that want all of it, a pod a cpu."""
    status = {
        "allocatable": {"cpu": "12", "pods": "100"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    api = "armadaproject.io/v1beta1"
    queues = [
        {"apiVersion": api, "kind": "Queue", "name": "a", "priorityFactor": 1.0},
        {
            "apiVersion": api,
            "kind": "Queue",
            "name": "b",
            "priorityFactor": factor,
            "resourceLimits": {"cpu": 0.5},
        },
    ]
    spec = {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}
    pods = [
        {
            "kind": "Pod",
            "metadata": {
                "name": f"{queue}-{k}",
                "namespace": "jobs",
                "labels": {"armada_queue_id": queue},
            },
            "spec": spec,
            "status": {"phase": "Pending"},
        }
        for queue in "ab"
        for k in range(12)
    ]
    node = {"kind": "Node", "metadata": {"name": "n"}, "status": status}
    return {"kind": "List", "items": [node, *queues, *pods]}


def test_a_factor_of_two_is_half_the_share(tmp_path, capsys):
    path = tmp_path / "armada.json"
    path.write_text(json.dumps(objects(2.0)))
    assert run(["plan", str(path), "--group-by", "label=armada_queue_id", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    due = {row["queue"]: round(row["due"], 6) for row in plan["queues"]}
    assert due == {"a": 8, "b": 4}
    (beyond,) = plan["not_modelled"]
    assert beyond["what"] == "limits of queues of Armada" and beyond["names"] == ["b"]


def test_a_factor_below_one_is_refused(tmp_path, capsys):
    path = tmp_path / "armada.json"
    path.write_text(json.dumps(objects(0.5)))
    assert run(["plan", str(path)]) == 2
    assert "Queue b.priorityFactor: found" in capsys.readouterr().err
