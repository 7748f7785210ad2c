"""Queues of YuniKorn: guarantees first, ceilings, priorities, applications; every fault named."""

from __future__ import annotations

import json

import pytest

import fairopt as fo
from fairopt.connect.readers import sources
from tests.connect.test_exports_kueue import planned, run

QUEUES = """\
partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: prod
            resources:
              guaranteed: {vcore: 6, memory: 1Gi}
          - name: dev
            resources:
              max: {vcore: 9000m}
            queues:
              - name: ml
              - name: web
"""
PRINTED = {
    "queuename": "root",
    "maxResource": {"vcore": 12000, "memory": 99},
    "isLeaf": False,
    "children": [
        {
            "queuename": "root.prod",
            "guaranteedResource": {"vcore": 6000, "memory": 2**30},
            "maxResource": None,
        },
        {
            "queuename": "root.dev",
            "maxResource": {"vcore": 9000},
            "children": [{"queuename": "root.dev.ml"}, {"queuename": "root.dev.web"}],
        },
    ],
}


def pod(name, labels=None, notes=None, space="jobs", cpu="1"):
    meta = {"name": name, "namespace": space, "labels": labels or {}, "annotations": notes or {}}
    return {
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": "Pending"},
    }


def many(queue, count=20, **given):
    labels = {"applicationId": f"app-{queue}", "queue": queue}
    return [pod(f"{queue}-{k}", labels, **given) for k in range(count)]


def write(tmp_path, pods, queues=QUEUES):
    node = {
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {
            "allocatable": {"cpu": "12", "memory": "64Gi", "pods": "400"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": [node, *pods]}))
    (tmp_path / "queues.yaml").write_text(queues)
    return [str(tmp_path / "cluster.json"), str(tmp_path / "queues.yaml")]


def dues(tmp_path, pods, queues=QUEUES):
    first, second = write(tmp_path, pods, queues)
    plan = planned(first, tmp_path / "plan.json", second)
    assert run("verify", str(tmp_path / "plan.json")) == 0
    return {row["queue"].removeprefix("root."): row["due"] for row in plan["queues"]}


ALL = [*many("root.prod"), *many("root.dev.ml"), *many("root.dev.web")]


@pytest.mark.parametrize("form", ["file", "map", "printed", "listed"])
def test_a_guarantee_is_a_floor_in_every_form_that_queues_come_in(tmp_path, form) -> None:
    """12 cores: 6 are promised to prod, and dev has the other 6 in two halves."""
    queues = {
        "file": QUEUES,
        "map": json.dumps(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "yunikorn-configs"},
                "data": {"queues.yaml": QUEUES},
            }
        ),
        "printed": json.dumps(PRINTED),
        "listed": json.dumps([PRINTED]),
    }[form]
    found = dues(tmp_path, ALL, queues)
    assert found == pytest.approx({"prod": 6, "dev.ml": 3, "dev.web": 3}, abs=1e-6)


def test_a_ceiling_holds_for_everything_below(tmp_path) -> None:
    found = dues(tmp_path, [*many("dev.ml"), *many("root.dev.web")])
    assert found == pytest.approx({"dev.ml": 4.5, "dev.web": 4.5}, abs=1e-6)


def test_without_a_guarantee_siblings_are_equal(tmp_path) -> None:
    low = QUEUES.replace("vcore: 6", "vcore: 1")
    assert dues(tmp_path, ALL, low)["prod"] == pytest.approx(6, abs=1e-6)
    high = QUEUES.replace("vcore: 6", "vcore: 8")
    assert dues(tmp_path, ALL, high)["prod"] == pytest.approx(8, abs=1e-6)


def test_an_offset_of_priority_is_served_first_over_what_is_promised(tmp_path) -> None:
    """ml asks 5: its offset gives it these first, web has what is left of 6."""
    first = QUEUES.replace("name: ml", "name: ml\n                properties: {priority.offset: 5}")
    pods = [*many("root.prod"), *many("root.dev.ml", 5), *many("root.dev.web")]
    found = dues(tmp_path, pods, first)
    assert found == pytest.approx({"prod": 6, "dev.ml": 5, "dev.web": 1}, abs=1e-6)


def test_offsets_add_up_until_a_fence_or_where_priorities_do_not_sort(tmp_path) -> None:
    def ranks(properties):
        text = QUEUES.replace(
            "name: ml", "name: ml\n                properties: {priority.offset: 5}"
        )
        text = text.replace("name: dev", f"name: dev\n            properties: {properties}")
        found = sources.cluster(write(tmp_path, ALL, text))
        own = found.volcano.queues
        return [own[f"root.{name}"].priority for name in ("dev", "dev.ml", "dev.web")], found.beyond

    assert ranks("{priority.offset: 2}") == ([2, 7, 2], {})
    off = "{priority.offset: 2, application.sort.priority: disabled}"
    assert ranks(off) == ([2, 2, 2], {})
    fenced = {"priorities inside fences of YuniKorn": ["root.dev.ml"]}
    assert ranks("{priority.offset: -2, priority.policy: fence}") == ([-2, -2, -2], fenced)


def test_pods_are_put_in_queues_by_labels_annotations_and_namespaces(tmp_path) -> None:
    app = {"yunikorn.apache.org/app-id": "train"}
    pods = [
        pod("a", {**app, "yunikorn.apache.org/queue": "root.dev.ml", "queue": "root.prod"}),
        pod("b", app, {"yunikorn.apache.org/queue": "root.dev.ml"}),
        pod("c", {"spark-app-selector": "spark-1", "queue": "prod"}),
        pod("d", {}, space="prod"),
        pod("e", {"queue": "of something else"}),
    ]
    found = sources.cluster(write(tmp_path, pods))
    rows = {(own.queue, own.name): own.asked for own in found.workloads}
    assert rows == {
        ("root.dev.ml", "jobs/train"): 2,
        ("root.prod", "jobs/spark-1"): 1,
        ("root.prod", "prod/d"): 1,
        ("jobs", "e"): 1,
    }


def test_teams_of_a_table_are_put_in_queues(tmp_path) -> None:
    (tmp_path / "nodes.csv").write_text("node,cpu\nn,12\n")
    (tmp_path / "teams.csv").write_text("team,queue,cpu\na,prod,1\nb,root.dev.ml,1\nc,else,1\n")
    names = ("queues.yaml", "nodes.csv", "teams.csv")
    write(tmp_path, [])
    found = sources.cluster([str(tmp_path / name) for name in names])
    assert found.queues == ["else", "root.dev.ml", "root.prod"]


def test_without_queues_their_labels_change_nothing(tmp_path) -> None:
    bare, _ = write(tmp_path, [pod(own["metadata"]["name"]) for own in ALL])
    plain = sources.cluster([bare])
    labelled, _ = write(tmp_path, ALL)
    assert sources.cluster([labelled]).workloads == plain.workloads


def test_limits_of_users_are_named(tmp_path) -> None:
    limited = QUEUES.replace("name: dev", "name: dev\n            maxapplications: 3")
    found = sources.cluster(write(tmp_path, ALL, limited))
    assert found.beyond == {
        "limits of users and of applications in queues of YuniKorn": ["root.dev"]
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "vcore: 6,",
            "vcore: lots,",
            "Queue root.prod.resources.guaranteed.vcore: found the text 'lots'",
        ),
        ("vcore: 6,", "vcore: -6,", "below 0"),
        (
            "guaranteed: {vcore: 6",
            "max: {vcore: 1}\n              guaranteed: {vcore: 6",
            "its max",
        ),
        ("name: web", "name: ml", "Queue root.dev.ml: found this name a second time"),
        ("name: web", "name: a.b", "without points"),
        ("name: web", "name: 7", "a text"),
        ("name: prod", "name: other", "the queue 'root.prod'"),
        ("submitacl: '*'", "resources: {max: {vcore: 1}}", "the whole cluster"),
        ("submitacl: '*'", "properties: {priority.offset: high}", "a whole number"),
        ("partitions:\n", "partitions:\n  - {name: gpu, queues: []}\n", "one partition"),
        ("              - name: ml\n              - name: web\n", "              many\n", "a list"),
    ],
)
def test_faults_have_their_place(tmp_path, old, new, said) -> None:
    with pytest.raises(fo.BadInput) as error:
        sources.cluster(write(tmp_path, ALL, QUEUES.replace(old, new, 1)))
    assert said in str(error.value)


def test_pods_stand_in_leaves_and_one_scheduler_has_the_queues(tmp_path) -> None:
    with pytest.raises(fo.BadInput, match="a queue without queues in it"):
        sources.cluster(write(tmp_path, many("root.dev")))
    volcano = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "v"},
        "spec": {},
    }
    with pytest.raises(fo.BadInput, match="one of YuniKorn beside others"):
        sources.cluster(write(tmp_path, [*ALL, volcano]))
    broken = {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"queues.yaml": "[1, 2]"}}
    with pytest.raises(fo.BadInput, match="a table of partitions"):
        sources.cluster(write(tmp_path, ALL, json.dumps(broken)))
