"""What is not modelled is told of what it binds, pods or others; and models keep every field."""

from __future__ import annotations

import json
from dataclasses import fields
from fractions import Fraction

import pytest

from fairopt import cli
from fairopt.connect.cluster.nodes import Node
from fairopt.connect.cluster.record import ClusterRecord, QueueCeiling, Undivided, Workload
from fairopt.connect.plan import models
from fairopt.connect.plan.problem import problem
from fairopt.connect.readers import kubernetes, sources
from fairopt.connect.readers.volcano import VolcanoQueue, VolcanoQueues
from fairopt.files import write
from fairopt.instance.reading import Faults
from tests.connect import test_armada, test_yunikorn
from tests.connect.test_kubernetes import cluster, node, pod


def told(capsys, *files):
    """The lines of a plan that say what is not modelled."""
    assert cli.run(["plan", *map(str, files)]) == 0
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if line.startswith("not modelled, ")]


def test_a_quota_of_some_pods_is_a_quota(capsys, tmp_path):
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "a"},
        "spec": {"hard": {"pods": "5"}, "scopes": ["BestEffort"]},
    }
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "items": [node(), pod(on="n1"), quota]}))
    assert told(capsys, path) == ["not modelled, quotas of some pods only: 1 quota, a/q"]
    # a model that is made of it, and the plan of that, say the same
    assert cli.run(["import", "kubernetes", str(path), "-o", str(tmp_path / "model")]) == 0
    capsys.readouterr()
    assert told(capsys, tmp_path / "model") == [
        "not modelled, quotas of some pods only: 1 quota, a/q"
    ]


def test_limits_of_armada_are_of_queues(capsys, tmp_path):
    path = tmp_path / "armada.json"
    path.write_text(json.dumps(test_armada.objects(2.0)))
    own = told(capsys, path, "--group-by", "label=armada_queue_id")
    assert own == ["not modelled, limits of queues of Armada: 1 queue, b"]


def test_limits_of_yunikorn_are_of_queues(capsys, tmp_path):
    limited = test_yunikorn.QUEUES.replace("name: dev", "name: dev\n            maxapplications: 3")
    own = told(capsys, *test_yunikorn.write(tmp_path, test_yunikorn.ALL, limited))
    assert own == [
        "not modelled, limits of users and of applications in queues of YuniKorn: 1 queue, root.dev"
    ]


def test_pods_are_pods(capsys, tmp_path):
    bound = pod(on="n1", volumes=[{"persistentVolumeClaim": {}}])
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"kind": "List", "items": [node(), bound]}))
    assert cli.run(["plan", str(path)]) == 0
    assert "not modelled, volumes (1 pod)" in capsys.readouterr().out


@pytest.mark.parametrize("kind", sorted(kubernetes.TAKEN))
def test_every_kind_has_a_list_and_is_wanted(kind):
    assert f"a {kind}" in kubernetes.WANTED
    taken = kubernetes.Collector()
    taken.take({"kind": f"{kind}List", "items": []}, "file")
    assert not taken.faults.found


def test_items_of_a_list_of_quotas_need_no_kind():
    quota = {"metadata": {"name": "q", "namespace": "ml"}, "spec": {"hard": {"pods": "5"}}}
    found = cluster(node(), pod(on="n1"), {"kind": "ResourceQuotaList", "items": [quota]})
    assert [row.name for row in found.ceilings] == ["q"]


@pytest.mark.parametrize("kind", sources.FORMATS)
def test_import_takes_every_format(kind, capsys, tmp_path):
    """A file of another kind is refused as such, and the kind is not."""
    path = tmp_path / "file.json"
    path.write_text('{"apiVersion": "v9", "kind": "Other"}')
    assert cli.run(["import", kind, str(path), "-o", str(tmp_path / "model")]) == 2
    assert "Other" in capsys.readouterr().err


ELSEWHERE = {"kueue"}
"""fields of a record that a model keeps in its problem instead: test_export_kueue tests them"""


def test_a_model_keeps_every_field_of_a_record(tmp_path):
    """A new field is given a value here, and is written and read by `connect/plan/kept.py`."""
    one = {"gpu": Fraction(1)}
    volcano = VolcanoQueues(Faults("x"), {"root": VolcanoQueue("root", "")})
    record = ClusterRecord(
        nodes=[Node("n", {"gpu": Fraction(2)}), Node("gone", {}, out="cordoned")],
        workloads=[Workload("q", "w", one, held={"n": 1}, pods={"n": ["q/w"]})],
        undivided=[Undivided("n", "a/b", "static", {"cpu": Fraction(1)})],
        beyond={"volumes": ["q/w"]},
        weights={"q": 2.0, "root": 1.0},
        ceilings=[QueueCeiling("q", "most", "gpu", Fraction(1))],
        volcano=volcano,
        cards=("gpu",),
    )
    every = {own.name for own in fields(ClusterRecord)} - ELSEWHERE
    assert all(getattr(record, name) for name in every - {"volcano"})
    path = tmp_path / "model"
    write(models.model(problem(record), "kept"), str(path))
    back = models.problem(str(path)).cluster
    for name in sorted(every - {"nodes", "volcano"}):
        assert getattr(back, name) == getattr(record, name), name
    assert [own.name for own in back.nodes if own.out] == ["gone"] and back.volcano is not None
