"""Nodes and pods of Kubernetes, field by field; and what is refused, by object and field."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import pytest

from fairopt.connect.cluster.requests import request
from fairopt.connect.judging import plans as judging
from fairopt.connect.plan import made as plan
from fairopt.connect.plan import problem
from fairopt.connect.readers.kubernetes import Collector
from fairopt.connect.text.fields import CheckedFields
from fairopt.errors import BadInput, UsageError
from fairopt.instance.reading import Faults
from fairopt.report.plan_text import plan_text


def node(name="n1", spec=None, labels=None, ready="True", **allocatable):
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10", **allocatable}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec or {},
        "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": ready}]},
    }


def pod(name="p1", on=None, owner=None, phase="Running", status=None, meta=None, **spec):
    spec = {"containers": [box("1")], **spec}
    if on:
        spec["nodeName"] = on
    own = [{"kind": owner[0], "name": owner[1], "controller": True}] if owner else []
    return {
        "kind": "Pod",
        "spec": spec,
        "status": {"phase": phase, **(status or {})},
        "metadata": {"name": name, "namespace": "ml", "ownerReferences": own, **(meta or {})},
    }


def box(cpu, name="c", **more):
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}


def cluster(*objects, **settings):
    taken = Collector(**settings)
    for k, data in enumerate(objects):
        taken.take(data, f"items[{k}]", "List")
    return taken.cluster()


def cpu(status=None, **spec):
    faults = Faults("x")
    got = request(
        CheckedFields(spec, "spec", faults), CheckedFields(status or {}, "status", faults)
    )
    faults.stop()
    return got["cpu"]


def sidecar(amount, name="s"):
    return box(amount, name, restartPolicy="Always")


# -- effective requests: cases of resource/helpers_test.go, in words ------------------------------


def test_containers_add_up():
    assert cpu(containers=[box("1"), box("500m", "d")]) == Fraction(3, 2)


def test_init_containers_run_before():
    assert cpu(containers=[box("1")], initContainers=[box("3", "i"), box("2", "j")]) == 3


def test_sidecars_run_beside_both():
    # the sidecar started first stands beside the init container after it
    assert cpu(containers=[box("1")], initContainers=[sidecar("2"), box("5", "i")]) == 7
    # an init container before the sidecar runs alone
    assert cpu(containers=[box("1")], initContainers=[box("5", "i"), sidecar("2")]) == 5
    assert cpu(containers=[box("4")], initContainers=[box("5", "i"), sidecar("2")]) == 6


def test_limits_without_requests():
    limited = {"name": "c", "resources": {"limits": {"cpu": "2"}}}
    assert cpu(containers=[limited]) == 2
    limited["resources"]["requests"] = {"cpu": "0"}
    faults = Faults("x")
    empty = CheckedFields({}, "status", faults)
    assert "cpu" not in request(CheckedFields({"containers": [limited]}, "spec", faults), empty)


def test_overhead_and_pod_level():
    assert cpu(containers=[box("1")], overhead={"cpu": "250m"}) == Fraction(5, 4)
    pod_level = {"requests": {"cpu": "3"}}
    assert cpu(containers=[box("1")], resources=pod_level, overhead={"cpu": "1"}) == 4
    assert cpu(containers=[box("1")], resources={"limits": {"cpu": "3"}}) == 1
    # only CPU, memory and huge pages can be asked for the pod as a whole
    assert cpu(containers=[box("1")], resources={"requests": {"nvidia.com/gpu": "3"}}) == 1


def test_resize_in_place():
    def resized(allocated, in_force, *conditions):
        own = {
            "name": "c",
            "allocatedResources": {"cpu": allocated},
            "resources": {"requests": {"cpu": in_force}},
        }
        return {"containerStatuses": [own], "conditions": list(conditions)}

    assert cpu(resized("2", "3"), containers=[box("1")]) == 3
    assert cpu(resized("2", "1"), containers=[box("4")]) == 4
    never = {"type": "PodResizePending", "reason": "Infeasible"}
    assert cpu(resized("2", "1", never), containers=[box("4")]) == 2
    later = {"type": "PodResizePending", "reason": "Deferred"}
    assert cpu(resized("2", "1", later), containers=[box("4")]) == 4


def test_rounded_once_after_the_sum():
    assert cpu(containers=[box("0.4m"), box("0.4m", "d")]) == Fraction(1, 1000)


# -- nodes ----------------------------------------------------------------------------------------


def test_nodes_that_are_out():
    found = cluster(
        node("a"),
        node("b", {"unschedulable": True}),
        node("c", ready="Unknown"),
        node("d", {"taints": [{"key": "x", "effect": "PreferNoSchedule"}]}),
        node("e", {"taints": [{"key": "x", "value": "y", "effect": "NoExecute"}]}),
    )
    assert [n.out for n in found.nodes] == ["", "cordoned", "not ready", "", ""]
    assert [str(t) for n in found.nodes for t in n.taints] == ["x=y:NoExecute"]


# -- workloads ------------------------------------------------------------------------------------


def test_workloads_by_owner():
    meta = {"labels": {"pod-template-hash": "5d9"}}
    found = cluster(
        node(),
        pod("a", "n1", ("ReplicaSet", "web-5d9"), meta=meta),
        pod("b", owner=("ReplicaSet", "web-5d9"), phase="Pending", meta=meta),
        pod("c", "n1", ("Job", "train")),
        pod("d", "n1", phase="Succeeded"),
        pod("alone", "n1"),
    )
    assert [(w.queue, w.name, w.held, w.waiting) for w in found.workloads] == [
        ("ml", "alone", {"n1": 1}, 0),
        ("ml", "train", {"n1": 1}, 0),
        ("ml", "web", {"n1": 1}, 1),
    ]
    assert found.workloads[2].asked == 2


def test_workloads_by_namespace_and_label():
    pods = [pod(f"p{k}", "n1", meta={"labels": {"team": "t"}} if k else {}) for k in range(3)]
    by_space = cluster(node(), *pods, group_by="namespace")
    assert [(w.queue, w.asked) for w in by_space.workloads] == [("ml", 3)]
    by_label = cluster(node(), *pods, group_by="label=team")
    assert [(w.queue, w.asked) for w in by_label.workloads] == [("(no label)", 1), ("t", 2)]
    with pytest.raises(UsageError, match="group-by"):
        Collector(group_by="label=")


def test_other_requests_and_rules_are_other_workloads():
    own = ("Job", "train")
    found = cluster(
        node(),
        pod("a", "n1", own),
        pod("b", "n1", own, containers=[box("2")]),
        pod("c", "n1", own, nodeSelector={"zone": "a"}),
    )
    assert [w.name for w in found.workloads] == ["train"] * 3


def test_what_is_not_divided():
    found = cluster(
        node(),
        pod("a", "n1", ("DaemonSet", "agent")),
        pod("b", "n1", ("Node", "n1")),
        pod("c", "n1", meta={"namespace": "kube-system"}),
        pod("d", "n1", meta={"annotations": {"kubernetes.io/config.mirror": "x"}}),
    )
    assert [u.why for u in found.undivided] == ["kube-system", "DaemonSet", "static", "static"]
    assert not found.workloads


def test_what_is_not_modelled_is_listed():
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}
    found = cluster(
        node(),
        pod(
            "a",
            "n1",
            affinity={"podAntiAffinity": required, "podAffinity": required},
            topologySpreadConstraints=[
                {"whenUnsatisfiable": "DoNotSchedule", "topologyKey": "zone", "maxSkew": 2},
                {"whenUnsatisfiable": "ScheduleAnyway", "topologyKey": "rack", "maxSkew": 1},
                {"topologyKey": "kubernetes.io/hostname", "maxSkew": 1},
            ],
            volumes=[{"persistentVolumeClaim": {"claimName": "x"}}],
            schedulingGates=[{"name": "x"}],
            resourceClaims=[{"name": "x"}],
            containers=[box("1", ports=[{"hostPort": 80, "hostIP": "10.0.0.1"}])],
            meta={"labels": {"scheduling.x-k8s.io/pod-group": "g"}},
        ),
    )
    assert list(found.beyond) == sorted(
        [
            "pod affinity",
            "pod anti-affinity",
            "topology spread over zone, maxSkew 2",
            "topology spread over kubernetes.io/hostname, maxSkew 1",
            "volumes",
            "scheduling gates",
            "resource claims",
            "host ports",
            "gangs",
        ]
    )
    assert found.beyond["gangs"] == ["ml/a"]


def test_quotas_of_namespaces():
    def quota(name, **spec):
        meta = {"name": name, "namespace": "ml"}
        return {"kind": "ResourceQuota", "metadata": meta, "spec": spec}

    hard = {
        "requests.cpu": "40",
        "memory": "1Ti",
        "requests.nvidia.com/gpu": "8",
        "limits.cpu": "9",
        "count/jobs.batch": "5",
    }
    quotas = quota("a", hard=hard), quota("b", hard=hard, scopes=["X"])
    found = cluster(node(), pod(on="n1"), *quotas)
    assert [(c.queue, c.name, c.resource, c.most) for c in found.ceilings] == [
        ("ml", "a", "cpu", 40),
        ("ml", "a", "memory", 2**40),
        ("ml", "a", "nvidia.com/gpu", 8),
    ]
    assert found.beyond["quotas of some pods only"] == ["ml/b"]
    with pytest.raises(BadInput, match=r"quota ml/c.spec.hard.requests.cpu: found the text 'x'"):
        cluster(node(), pod(on="n1"), quota("c", hard={"requests.cpu": "x"}))


def test_order_does_not_matter():
    objects = [node("a"), node("b"), pod("x", "a"), pod("y", "b", containers=[box("2")])]
    wanted = cluster(*objects)
    for order in itertools.permutations(objects):
        assert cluster(*order) == wanted


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([{"kind": "Deployment", "metadata": {"name": "web"}}], "items[0] (web): found the kind"),
        ([7], "items[0]: found 7; wanted a Node"),
        ([{"metadata": {"name": "x"}}], "items[0] (x): found no kind"),
        ([{"schema": "fairopt/plan/v1"}], "found fairopt/plan/v1, which is fairopt's own"),
        ([{"kind": "Node"}], "items[0].metadata.name: found nothing"),
        ([{"kind": "Node", "metadata": {"name": "n"}}], "node n.status.allocatable: found nothing"),
        ([node(cpu="12QB")], "node n1.status.allocatable.cpu: found the text '12QB'"),
        ([node(cpu="-1")], "node n1.status.allocatable.cpu: found the text '-1', which is below 0"),
        ([node(memory="NaN")], "node n1.status.allocatable.memory: found the text 'NaN'"),
        ([node(), node()], "node n1: found this name a second time"),
        ([node(), pod(), pod()], "pod ml/p1: found this name a second time"),
        ([node(spec={"taints": [{"key": "a", "effect": "No"}]})], "node n1.spec.taints[0].effect"),
        ([node(spec={"unschedulable": "yes"})], "node n1.spec.unschedulable: found the text 'yes'"),
        ([node(), pod(phase="Gone")], "pod ml/p1.status.phase"),
        (
            [node(), pod(containers=[box("1e99")])],
            "pod ml/p1.spec.containers[0].resources.requests.cpu: found the text '1e99'",
        ),
        ([node(), pod(containers=7)], "pod ml/p1.spec.containers: found 7; wanted a list"),
        ([node(), pod(nodeSelector={"a": 1})], "pod ml/p1.spec.nodeSelector.a: found 1"),
        ([node(), pod(tolerations=[{"operator": "="}])], "pod ml/p1.spec.tolerations[0].operator"),
    ],
)
def test_refused_by_object_and_field(objects, said):
    with pytest.raises(BadInput) as error:
        cluster(*objects)
    assert said in str(error.value)


def test_node_affinity_is_checked():
    def asking(**need):
        terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", **need}]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        return cluster(node(), pod(affinity={"nodeAffinity": required}))

    assert asking(operator="Gt", values=["5"]).workloads[0].rules.terms is not None
    for wrong in (
        {"operator": "Is"},
        {"operator": "In"},
        {"operator": "Gt", "values": ["x"]},
        {"operator": "Lt", "values": []},
        {"operator": "Exists", "values": ["x"]},
    ):
        with pytest.raises(BadInput, match=r"matchExpressions\[0\]"):
            asking(**wrong)


def test_all_faults_at_once():
    with pytest.raises(BadInput) as error:
        cluster(node(cpu="12QB", memory="x"), pod(phase="Gone"))
    assert len(error.value.faults) == 3


def test_a_pod_on_a_node_that_is_gone_is_counted_apart_and_named():
    made = plan.make(
        problem.problem(cluster(node(), pod(), pod("p2", on="n9", owner=("Job", "j"))))
    )
    assert made["out"] == [{"node": "n9", "why": "deleted", "held": 1, "pods": ["ml/p2"]}]
    assert "n9 (holds 1 pod: ml/p2)" in plan_text(made)
    assert judging.judge(json.loads(plan.dumps(made))).certified
    # one of a DaemonSet takes nothing off any node
    own = cluster(node(), pod(), pod("d", on="n9", owner=("DaemonSet", "d")))
    assert [row.node for row in own.undivided] == ["n9"]
    assert len(plan.make(problem.problem(own))["out"]) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"name": "n1", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}},
        {"spec": {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}},
    ],
)
def test_a_node_that_is_being_taken_away_is_draining(change):
    assert [own.out for own in cluster({**node(), **change}).nodes] == ["draining"]
