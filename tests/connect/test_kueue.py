"""Kueue's objects: read exactly, every fault named, and divided as their rules say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fairopt as fo
from fairopt import cli
from fairopt.connect.plan import problem as problems
from fairopt.connect.readers import sources

STORY = Path(__file__).parents[2] / "examples" / "kueue" / "story-3.yaml"
GPU = "nvidia.com/gpu"


def obj(kind, name, spec, version="v1beta2", namespace=None):
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": kind, "metadata": meta, "spec": spec}


def queue(name, quotas, version="v1beta2", cohort="all", weight=None):
    """A cluster queue with {flavor: {resource: (nominal, borrow, lend)}}."""
    keys = ("nominalQuota", "borrowingLimit", "lendingLimit")
    groups = [
        {
            "flavors": [
                {
                    "name": flavor,
                    "resources": [
                        {
                            "name": r,
                            **{k: v for k, v in zip(keys, limits, strict=False) if v is not None},
                        }
                        for r, limits in own.items()
                    ],
                }
                for flavor, own in quotas.items()
            ]
        }
    ]
    spec = {"resourceGroups": groups}
    if cohort:
        spec["cohort" if version == "v1beta1" else "cohortName"] = cohort
    if weight is not None:
        spec["fairSharing"] = {"weight": weight}
    return obj("ClusterQueue", name, spec, version)


def local(name):
    return obj("LocalQueue", "jobs", {"clusterQueue": name}, namespace=f"ns-{name}")


def job(name, count, request, **more):
    pods = {"containers": [{"name": "c", "resources": {"requests": request}}], **more}
    sets = [{"name": "main", "count": count, "template": {"spec": pods}}]
    spec = {"queueName": "jobs", "podSets": sets}
    return obj("Workload", "job", spec, namespace=f"ns-{name}")


def node(name, labels, **amounts):
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "allocatable": {GPU: str(amounts.get("gpu", 0)), "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def flavor(name, labels=None, **more):
    return obj("ResourceFlavor", name, {"nodeLabels": labels or {}, **more})


def read(tmp_path, *objects):
    path = tmp_path / "objects.json"
    path.write_text(json.dumps({"kind": "List", "items": list(objects)}))
    return sources.cluster([str(path)])


def totals(tmp_path, *objects):
    found = problems.problem(read(tmp_path, *objects))
    answer = fo.solve(found.instance, fo.MaxMin())
    assert answer.certificate.certified
    return dict(zip(found.instance.users, answer.totals.tolist(), strict=True))


def two(research, production, version="v1beta2", nodes=()):
    return [
        flavor("x"),
        queue("research", {"x": {GPU: research}}, version),
        queue("production", {"x": {GPU: production}}, version),
        local("research"),
        local("production"),
        *nodes,
    ]


def asked(tmp_path, objects, research, production):
    jobs = job("research", research, {GPU: 1}), job("production", production, {GPU: 1})
    return totals(tmp_path, *objects, *jobs)


def test_story_three_of_the_proposal():
    found = problems.problem(sources.cluster([str(STORY)]))
    answer = fo.solve(found.instance, fo.MaxMin())
    assert answer.certificate.certified
    assert answer.totals == pytest.approx([30, 30, 90, 150], rel=1e-9)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_lending_limits_bind(tmp_path, version):
    """Research 60 (borrows nothing), production 40 (lends 10): what one leaves the other has."""
    objects = two(("60", "0"), ("40", None, "10"), version)
    found = asked(tmp_path, objects, 20, 90)
    assert found == pytest.approx({"research/job": 20, "production/job": 80}, rel=1e-9)
    found = asked(tmp_path, objects, 90, 10)
    assert found == pytest.approx({"research/job": 60, "production/job": 10}, rel=1e-9)
    objects = two(("60",), ("40", None, "10"), version)
    found = asked(tmp_path, objects, 90, 10)
    assert found == pytest.approx({"research/job": 70, "production/job": 10}, rel=1e-9)


def test_nothing_passes_between_trees(tmp_path):
    objects = [
        flavor("x"),
        queue("a", {"x": {GPU: ("4",)}}, cohort=""),
        local("a"),
        queue("b", {"x": {GPU: ("4",)}}, cohort="other"),
        local("b"),
        job("a", 9, {GPU: 1}),
        job("b", 1, {GPU: 1}),
    ]
    assert totals(tmp_path, *objects) == pytest.approx({"a/job": 4, "b/job": 1}, rel=1e-9)


def test_a_queue_runs_on_its_flavors_only(tmp_path):
    nodes = [node("n1", {"gpu": "a100"}, gpu=8), node("n2", {"gpu": "t4"}, gpu=8)]
    objects = [
        flavor("a100", {"gpu": "a100"}),
        flavor("t4", {"gpu": "t4"}),
        flavor("none", {"gpu": "h"}),
        queue("a", {"a100": {GPU: ("6",)}, "none": {GPU: ("5",)}}),
        local("a"),
        queue("b", {"t4": {GPU: ("9",)}, "a100": {GPU: ("0",)}}),
        local("b"),
        job("a", 20, {GPU: 1}),
        job("b", 20, {GPU: 1}),
        *nodes,
    ]
    found = totals(tmp_path, *objects)
    assert found == pytest.approx({"a/job": 6, "b/job": 8}, rel=1e-9)
    notes = problems.problem(read(tmp_path, *objects))
    assert notes.kueue.notes(notes.instance) == [
        "flavor none matches no node: nothing of its quota can be used",
        "quotas promise 9 nvidia.com/gpu of flavor t4; its nodes have 8",
        "Kueue's own share is unknown: no ClusterQueue has a status, and no Workload is admitted",
    ]


def test_weights_are_quantities_and_zero_comes_last(tmp_path):
    objects = [
        flavor("x"),
        obj(
            "Cohort",
            "all",
            {
                "resourceGroups": [
                    {"flavors": [{"name": "x", "resources": [{"name": GPU, "nominalQuota": "12"}]}]}
                ]
            },
        ),
        *(queue(n, {"x": {GPU: ("0",)}}, weight=w) for n, w in (("a", "500m"), ("b", 1), ("c", 0))),
        *map(local, "abc"),
        *(job(n, 9, {GPU: 1}) for n in "abc"),
    ]
    found = totals(tmp_path, *objects)
    assert found == pytest.approx({"a/job": 4, "b/job": 8, "c/job": 0}, rel=1e-9, abs=1e-9)


def test_who_has_no_quota_is_told_why(tmp_path):
    objects = two(("4",), ("4",))
    objects += [job("research", 2, {GPU: 1}), job("production", 2, {GPU: 1, "cpu": 1})]
    found = problems.problem(read(tmp_path, *objects, node("n", {}, gpu=9)))
    assert [(name, why) for name, _, why in found.stuck] == [
        ("production/job", "no eligible node: none of the 1 eligible of 1 nodes offers cpu")
    ]


def test_pods_stand_in_their_cluster_queue(tmp_path):
    pod = {
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "ns-research",
            "labels": {"kueue.x-k8s.io/queue-name": "jobs"},
        },
        "spec": {"nodeName": "n", "containers": [{"resources": {"requests": {GPU: "1"}}}]},
        "status": {"phase": "Running"},
    }
    found = read(tmp_path, *two(("4",), ("4",)), node("n", {}, gpu=9), pod)
    assert [(w.queue, w.name, w.held) for w in found.workloads] == [
        ("research", "ns-research/p", {"n": 1})
    ]


def test_every_fault_is_named(tmp_path, capsys):
    objects = [
        queue("a", {"x": {GPU: ("12QB",)}}),
        queue("a", {"y": {GPU: ("-1", "nan")}}),
        obj("Cohort", "c1", {"parentName": "c2"}),
        obj("Cohort", "c2", {"parentName": "c1"}),
        obj("LocalQueue", "l", {"clusterQueue": "nobody"}, namespace="n"),
        flavor("x"),
        obj("Workload", "w", {"podSets": [{"count": -1}]}, namespace="n"),
    ]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"kind": "List", "items": objects}))
    with pytest.raises(SystemExit) as end:
        cli.main(["plan", str(path)])
    said = capsys.readouterr().err
    assert end.value.code == 2
    for words in (
        "12QB",
        "below 0",
        "nan",
        "a second time",
        "c1 -> c2 -> c1",
        "nobody",
        "flavor 'y'",
        "podSets[0].count",
    ):
        assert words in said, words


def test_plan_has_kueues_own_share_beside_ours(tmp_path, capsys):
    path = tmp_path / "plan.json"
    with pytest.raises(SystemExit) as end:
        cli.main(["plan", str(STORY), "-o", str(path)])
    assert end.value.code == 0
    plan = json.loads(path.read_text())
    assert {row["name"] for row in plan["kueue"]["shares"]} == {
        "1a",
        "1b",
        "1c",
        "2a",
        "C1",
        "C2",
        "everybody",
    }
    assert [row["due"] for row in plan["queues"]] == pytest.approx([30, 30, 90, 150])
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        cli.main(["verify", str(path)])
    assert end.value.code == 0


def test_without_status_kueues_share_is_unknown(tmp_path):
    objects = [flavor("f"), queue("a", {"f": {GPU: (4,)}}), local("a"), job("a", 9, {GPU: "1"})]

    def told(*more):
        found = problems.problem(read(tmp_path, *more))
        rows = {row["name"]: (row["ratio"], row["shown"]) for row in found.kueue.shares()}
        return rows["a"], any("share is unknown" in n for n in found.kueue.notes(found.instance))

    assert told(*objects) == ((None, None), True)
    idle = {**objects[1], "status": {"flavorsUsage": []}}
    assert told(objects[0], idle, *objects[2:]) == ((0, 0), False)
