"""Topology spread constraints: read from objects, planned, and judged from the plan."""

from __future__ import annotations

import copy
import json

import pytest

from fairopt import files as files_on_disk
from fairopt.connect.cluster.together import Zones, of_row
from fairopt.connect.judging import plans as judging
from fairopt.connect.plan import form, models, problem
from fairopt.connect.plan import made as plan
from fairopt.connect.plan.staying import Moving
from fairopt.connect.plan.whole_tasks import Proving
from fairopt.connect.readers.kubernetes import Collector
from fairopt.errors import BadInput
from fairopt.instance.reading import Faults

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def node(name, zone="", cpu=4, out=False, **labels):
    labels = {HOST: name, **({ZONE: zone} if zone else {}), **labels}
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": True} if out else {},
        "status": {"allocatable": {"cpu": str(cpu), "pods": "50"}, "conditions": ready},
    }


def constraint(key=ZONE, skew=1, app="web", **more):
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
        **more,
    }


def pods(many, owner="web", spread=(), cpu=1, app=None, on=None, **spec):
    own = [{"kind": "StatefulSet", "name": owner, "controller": True}]
    box = [{"resources": {"requests": {"cpu": str(cpu)}}}]
    return [
        {
            "kind": "Pod",
            "metadata": {
                "name": f"{owner}-{k}",
                "namespace": "ml",
                "labels": {"app": app or owner},
                "ownerReferences": own,
            },
            "spec": {
                "containers": box,
                "nodeName": on or "",
                "topologySpreadConstraints": list(spread),
                **spec,
            },
            "status": {"phase": "Running" if on else "Pending"},
        }
        for k in range(many)
    ]


def read(*objects):
    taken = Collector()
    for k, data in enumerate(objects):
        taken.take(data, f"items[{k}]", "List")
    return taken.cluster()


def judged(data):
    return judging.judge(json.loads(plan.dumps(data)))


NODES = [node("n1", "a"), node("n2", "a"), node("n3", "b", 2), node("n4", "c", 9), node("n5")]


@pytest.fixture(scope="module")
def found():
    return problem.problem(read(*NODES, *pods(20, spread=[constraint()]), *pods(9, "batch", cpu=2)))


@pytest.fixture(scope="module")
def made(found):
    return plan.make(found, proving=Proving(), moving=Moving())


def row(made, name):
    return next(own for own in made["workloads"] if own["workload"] == name)


def test_zones_are_read_and_planned(made):
    """Zone b has 2 cores: no other zone has more than 3 of it, and node n5 is in no zone."""
    web = row(made, "ml/web")
    assert web["spread"]["skew"] == 1
    assert list(web["spread"]["zones"]) == ["a", "b", "c"]
    assert web["due"] == pytest.approx(8.0)
    assert web["whole"] == 8
    tasks = {
        own["shape"]: sum(x["count"] * x["tasks"].get("ml/web", 0) for x in own["machines"])
        for own in made["shapes"]
    }
    zones = of_row(web).spread
    counts = [sum(tasks[name] for name in shapes) for _, shapes in zones.zones]
    assert counts == [3, 2, 3]
    assert not zones.uneven(tasks)
    assert judged(made).certified
    faults = Faults("plan")
    form.check(json.loads(plan.dumps(made)), "", faults)
    faults.stop()


def test_plans_without_a_proof_are_even_too(found):
    made = plan.make(found)
    assert row(made, "ml/web")["whole"] == 8
    assert judged(made).certified


@pytest.mark.parametrize(
    "change",
    [
        lambda own: own.update(skew=2),
        lambda own: own["zones"].update(north=[]),
        lambda own: own["zones"].update(b=[]),
    ],
)
def test_a_plan_that_says_other_zones_than_it_keeps_is_found(made, change):
    spoilt = copy.deepcopy(made)
    change(row(spoilt, "ml/web")["spread"])
    try:
        assert not judged(spoilt).certified
    except BadInput as refused:
        assert "zones" in str(refused)


def test_uneven_zones_are_found():
    zones = Zones(ZONE, 1, (("a", ("s", "t")), ("b", ("u",)), ("c", ())))
    assert not zones.uneven({"s": 1, "u": 1})
    assert zones.uneven({"s": 1, "t": 1})
    assert zones.uneven({"v": 1})


def words(*objects):
    return [x for x in read(*objects).beyond if "topology" in x]


def spread_of(*objects):
    work = {own.name: own.together for own in read(*objects).workloads}
    return work["web"]


@pytest.mark.parametrize(
    ("more", "zones"),
    [
        ({}, ["a", "b", "c"]),
        ({"minDomains": 5}, ["a", "b", "c", "no zone 1"]),
        ({"minDomains": 3}, ["a", "b", "c"]),
        ({"matchLabelKeys": ["app"]}, ["a", "b", "c"]),
    ],
)
def test_what_a_constraint_says_of_zones(more, zones):
    own = spread_of(*NODES, *pods(5, spread=[constraint(**more)]))
    assert [name for name, _ in own.spread.zones] == zones


def test_which_nodes_are_zones():
    """Those of cordoned nodes are, unless taints are honoured; those its own rules bar are not."""
    nodes = [node("n1", "a", disk="ssd"), node("n2", "b", out=True), node("n3", "c")]

    def names(selector=None, **more):
        spec = {"nodeSelector": selector} if selector else {}
        own = spread_of(*nodes, *pods(3, spread=[constraint(**more)], **spec))
        return [name for name, _ in own.spread.zones]

    assert names() == ["a", "b", "c"]
    assert names(nodeTaintsPolicy="Honor") == ["a", "c"]
    assert names({"disk": "ssd"}) == ["a"]
    assert names({"disk": "ssd"}, nodeAffinityPolicy="Ignore") == ["a", "b", "c"]


def test_fewer_pods_than_nodes_are_so_many_on_a_node():
    """Of 4 pods on 5 nodes some node has none, so that no node has more than the skew."""
    own = spread_of(*NODES, *pods(4, spread=[constraint(HOST, 2), constraint()]))
    assert (own.per_node, own.spread.skew) == (2, 1)


@pytest.mark.parametrize("many", [5, 9, 10])
def test_more_pods_than_nodes_are_so_many_on_a_node_too(many):
    """Some node has no more than the mean of 5 nodes, and none more than the skew beside it."""
    own = spread_of(*NODES, *pods(many, spread=[constraint(HOST, 2)]))
    assert own.per_node == many // 5 + 2
    assert words(*NODES, *pods(many, spread=[constraint(HOST, 2)])) == [
        f"topology spread over {HOST}, maxSkew 2, except at most {many // 5 + 2} on a node"
    ]
    # no even division breaks the row, and with it the plan never puts more on a node
    for tasks in range(many + 1):
        low = tasks // 5
        assert max(low + (tasks % 5 > 0), min(low + 2, tasks)) <= own.per_node
    few = [constraint(HOST, 2, minDomains=9)]  # of fewer nodes than these one more is empty
    assert spread_of(*NODES, *pods(many, spread=few)).per_node == 2
    assert not words(*NODES, *pods(many, spread=few))


@pytest.mark.parametrize(
    "objects",
    [
        pods(3, spread=[constraint(app="other")]),
        pods(3, spread=[{"topologyKey": ZONE, "maxSkew": 1}]),
        pods(3, spread=[constraint(), constraint("rack")]),
        [*pods(3, spread=[constraint()]), *pods(2, "other", app="web")],
        [*pods(3, spread=[constraint()]), *pods(2, "o", app="web", spread=[constraint()])],
    ],
)
def test_what_counts_other_pods_too_is_not_modelled(objects):
    assert words(*NODES, *objects)


def test_what_need_not_be_kept_is_not():
    loose = constraint(whenUnsatisfiable="ScheduleAnyway")
    own = spread_of(*NODES, *pods(3, spread=[loose]))
    assert own.spread is None
    assert not words(*NODES, *pods(3, spread=[loose]))


@pytest.mark.parametrize("more", [{"maxSkew": 0}, {"maxSkew": True}, {"minDomains": 0}])
def test_numbers_that_are_none_are_named(more):
    with pytest.raises(BadInput, match=next(iter(more))):
        read(*NODES, *pods(1, spread=[constraint(**more)]))


def test_without_a_node_of_the_label_nothing_runs():
    objects = [node("n1"), *pods(2, spread=[constraint()]), *pods(1, "other")]
    found = problem.problem(read(*objects))
    ((name, _, why),) = found.stuck
    assert (name, why) == (
        "ml/web",
        f"no eligible node: none has the label {ZONE}, over which it is spread",
    )


def test_models_keep_zones(found, made, tmp_path):
    files_on_disk.write(models.model(found, "saved"), str(tmp_path / "saved.toml"))
    again = plan.make(models.problem(str(tmp_path / "saved.toml")), proving=Proving())
    assert row(again, "ml/web")["whole"] == 8
    assert judged(again).certified


def test_zones_are_even_at_every_step_of_the_moves():
    """Of twenty pods six run, in one zone; a zone that gets three before the others is uneven."""
    own = pods(20, spread=[constraint()])
    for pod in own[:6]:
        pod["spec"]["nodeName"], pod["status"]["phase"] = "n4", "Running"
    data = json.loads(plan.dumps(plan.make(problem.problem(read(*NODES, *own)), moving=Moving())))
    assert all(check.holds for check in judged(data).checks)
    steps = sorted((x for x in data["moves"] if x["step"]), key=lambda x: x["step"])
    assert len(steps) >= 4
    # those that come to zone a before those that come to zone b
    late = sorted(steps, key=lambda x: (bool(x["to"]), x["to"] == "n3"))
    for k, step in enumerate(late, 1):
        step["step"] = k
    wrong = [check.witness for check in judged(data).checks if not check.holds]
    assert len(wrong) == 1
    assert "zones are uneven" in wrong[0]
