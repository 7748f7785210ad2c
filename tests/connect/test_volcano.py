"""Volcano's queues: read exactly, every fault named, and divided as their rules say."""

from __future__ import annotations

import json

import pytest

import fairopt as fo
from fairopt import cli
from fairopt.connect.plan import problem as problems
from fairopt.connect.readers import sources

GPU = "nvidia.com/gpu"
API = "scheduling.volcano.sh/v1beta1"


def queue(name, **spec):
    return {"apiVersion": API, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def pods(queue, count, request, namespace="jobs", group=None):
    """Pods that wait, in a queue by its annotation, or by their PodGroup."""
    key = "scheduling.k8s.io/group-name" if group else "scheduling.volcano.sh/queue-name"
    return [
        {
            "kind": "Pod",
            "metadata": {
                "name": f"{queue}-{k}",
                "namespace": namespace,
                **({"annotations": {key: group or queue}} if queue != "none" else {}),
                "ownerReferences": [{"kind": "Job", "name": f"job-{queue}", "controller": True}],
            },
            "spec": {"containers": [{"resources": {"requests": request}}]},
            "status": {"phase": "Pending"},
        }
        for k in range(count)
    ]


def node(name="n", **amounts):
    return {
        "kind": "Node",
        "metadata": {"name": name},
        "status": {
            "allocatable": {"pods": "110", **amounts},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def write(tmp_path, *objects):
    path = tmp_path / "objects.json"
    path.write_text(json.dumps({"kind": "List", "items": list(objects)}))
    return path


def totals(tmp_path, *objects, **parameters):
    found = problems.problem(sources.cluster([str(write(tmp_path, *objects))]))
    answer = fo.solve(found.instance, fo.MaxMin(**parameters))
    assert answer.certificate.certified
    return dict(zip(found.users_by_queue, answer.totals.tolist(), strict=True))


def near(**wanted):
    return pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_deserved_of_volcanos_own_guide(tmp_path):
    """8 CPU and 32Gi, deserved 2 and 6: alone, the first queue has all; then 2 and 6."""
    queues = [
        queue("q1", deserved={"cpu": "2", "memory": "8Gi"}),
        queue("q2", deserved={"cpu": "6", "memory": "24Gi"}),
    ]
    nodes = [node(n, cpu="4", memory="16Gi") for n in ("n1", "n2")]
    ask = {"cpu": "1", "memory": "4Gi"}
    assert totals(tmp_path, *queues, *nodes, *pods("q1", 8, ask)) == near(q1=8)
    both = [*pods("q1", 8, ask), *pods("q2", 8, ask)]
    assert totals(tmp_path, *queues, *nodes, *both) == near(q1=2, q2=6)


@pytest.mark.parametrize(("over", "wanted"), [("floor", (6, 3, 3)), ("above", (7, 3, 2))])
def test_what_is_over_the_promises(tmp_path, over, wanted):
    objects = [node(**{GPU: "12"})]
    for name, amount in zip("abc", "621", strict=True):
        objects += [queue(name, deserved={GPU: amount}), *pods(name, 12, {GPU: 1})]
    found = totals(tmp_path, *objects, over=over)
    assert found == near(**dict(zip("abc", wanted, strict=True)))


def test_weights_parents_and_ceilings(tmp_path):
    """Half to each organisation, inside by weight; a ceiling moves the rest."""
    objects = [
        queue("root"),
        queue("c1"),
        queue("c2"),
        *(queue(n, parent="c1") for n in ("a", "b")),
        queue("c", parent="c1", weight=3),
        queue("d", parent="c2"),
        node(**{GPU: "30"}),
        *(p for n in "abcd" for p in pods(n, 30, {GPU: 1})),
    ]
    assert totals(tmp_path, *objects) == near(a=3, b=3, c=9, d=15)
    objects[1] = queue("c1", capability={GPU: "5"})
    assert totals(tmp_path, *objects) == near(a=1, b=1, c=3, d=25)


def test_a_guarantee_is_kept_while_idle_and_deserved_is_lent(tmp_path):
    objects = [queue("a"), node(**{GPU: "12"}), *pods("a", 12, {GPU: 1})]
    lent, kept = queue("b", deserved={GPU: "4"}), queue("b", guarantee={"resource": {GPU: "4"}})
    assert totals(tmp_path, *objects, lent) == near(a=12)
    assert totals(tmp_path, *objects, kept) == near(a=8)
    # kept from queues of the same parent too, and the parent's own part from those outside
    org = [queue("org", guarantee={"resource": {GPU: "6"}})]
    inner = queue("b", parent="org", guarantee={"resource": {GPU: "4"}})
    assert totals(tmp_path, *objects, *org, inner) == near(a=6)
    objects[0] = queue("a", parent="org")
    assert totals(tmp_path, *objects, *org, inner) == near(a=8)


def test_a_promise_of_nothing_is_no_promise_of_all(tmp_path):
    objects = [
        queue("a", deserved={"cpu": "9", GPU: "0"}),
        queue("b"),
        node(cpu="64", **{GPU: "8"}),
        *pods("a", 8, {GPU: 1, "cpu": 1}),
        *pods("b", 8, {GPU: 1, "cpu": 1}),
    ]
    assert totals(tmp_path, *objects) == near(a=4, b=4)


def test_a_promise_is_no_more_than_the_ceilings_above_it(tmp_path):
    """4 GPUs deserved, but each task takes a CPU, of which the parent may use 2."""
    objects = [
        queue("org", capability={"cpu": "2"}),
        queue("a", parent="org", deserved={GPU: "4"}),
        queue("b"),
        node(cpu="9", **{GPU: "8"}),
        *pods("a", 8, {GPU: 1, "cpu": 1}),
        *pods("b", 8, {GPU: 1, "cpu": 1}),
    ]
    assert totals(tmp_path, *objects) == near(a=2, b=6)


def test_a_higher_priority_is_first_beyond_what_is_promised(tmp_path):
    objects = [
        queue("a", priority=5),
        queue("b", deserved={GPU: "3"}),
        node(**{GPU: "12"}),
        *pods("a", 7, {GPU: 1}),
        *pods("b", 12, {GPU: 1}),
    ]
    assert totals(tmp_path, *objects) == near(a=7, b=5)
    objects[2] = node(**{GPU: "8"})
    assert totals(tmp_path, *objects) == near(a=5, b=3)


def test_pods_stand_in_the_queue_of_their_group_and_others_outside(tmp_path):
    group = {
        "apiVersion": API,
        "kind": "PodGroup",
        "spec": {"queue": "a"},
        "metadata": {"name": "g", "namespace": "jobs"},
    }
    bare = {**group, "metadata": {"name": "h", "namespace": "jobs"}, "spec": {}}
    objects = [
        queue("a"),
        queue("default"),
        group,
        bare,
        node(**{GPU: "6"}),
        *pods("x", 6, {GPU: 1}, group="g"),
        *pods("y", 6, {GPU: 1}, group="h"),
        *pods("none", 6, {GPU: 1}, "default"),
    ]
    found = totals(tmp_path, *objects)
    # what is outside of Volcano is a group beside all of its queues
    assert found == near(**{"a": 1.5, "default": 1.5, "default (namespace)": 3})


def test_annotations_say_nothing_where_no_queue_is_given(tmp_path):
    both = [*pods("x", 2, {GPU: 1}), *pods("y", 2, {GPU: 1}, group="g")]
    for pod in both:
        pod["metadata"]["ownerReferences"][0]["name"] = "one"
    found = sources.cluster([str(write(tmp_path, node(**{GPU: "6"}), *both))])
    assert [(w.queue, w.name, w.waiting) for w in found.workloads] == [("jobs", "one", 4)]


def test_every_fault_is_named(tmp_path, capsys):
    path = write(
        tmp_path,
        node(**{GPU: "6"}),
        queue("a", weight=0, deserved={GPU: "12QB"}),
        queue("b", weight=70000),
        queue("b", priority="high"),
        queue("c", parent="nobody"),
        queue("d", parent="e"),
        queue("e", parent="d"),
        *pods("lost", 1, {GPU: 1}),
        queue("f", deserved={GPU: 5}, capability={GPU: 4}),
        *pods("z", 1, {GPU: 1}, group="gone"),
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "k"}},
    )
    with pytest.raises(SystemExit) as end:
        cli.main(["plan", str(path)])
    said = capsys.readouterr().err
    assert end.value.code == 2
    for words in (
        "12QB",
        "Queue a.spec.weight",
        "70000",
        "a second time",
        "priority",
        "nobody",
        "d -> e -> d",
        "'lost'",
        "at most its capability",
        "'gone'",
        "of Kueue and of Volcano",
    ):
        assert words in said, words


def test_a_plan_keeps_ceilings_in_whole_tasks_and_is_judged(tmp_path, capsys):
    path = write(
        tmp_path,
        queue("a", capability={GPU: "3"}),
        queue("b", guarantee={"resource": {GPU: "2"}}),
        node("n1", **{GPU: "4"}),
        node("n2", **{GPU: "4"}),
        *pods("a", 8, {GPU: 1}),
        *pods("b", 3, {GPU: 1}),
    )
    plan = tmp_path / "plan.json"
    with pytest.raises(SystemExit) as end:
        cli.main(["plan", str(path), "-o", str(plan)])
    assert end.value.code == 0
    data = json.loads(plan.read_text())
    assert {row["queue"]: row["whole"] for row in data["workloads"]} == {"a": 3, "b": 3}
    with pytest.raises(SystemExit) as end:
        cli.main(["verify", str(plan)])
    assert end.value.code == 0
    capsys.readouterr()
