"""Gangs and pods apart, read from objects, tables and models, planned, and judged from the plan."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from fairopt import files as files_on_disk
from fairopt import solve
from fairopt.auditing.losses import losses
from fairopt.commands import asked
from fairopt.connect.cluster.together import Together, of_row
from fairopt.connect.judging import plans as judging
from fairopt.connect.plan import made as plan
from fairopt.connect.plan import models, problem
from fairopt.connect.plan import rows as plan_rows
from fairopt.connect.plan import whole_tasks as whole_plan
from fairopt.connect.plan.whole_tasks import Proving
from fairopt.connect.readers import sources
from fairopt.connect.readers.kubernetes import Collector
from fairopt.errors import BadInput
from fairopt.notions import MaxMin

HOST = "kubernetes.io/hostname"


def node(name="n1", **more):
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10", **more}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name}},
        "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name, owner="", kind="Job", labels=None, notes=None, cpu="1", ports=(), **spec):
    container = {"resources": {"requests": {"cpu": cpu}}, "ports": list(ports)}
    own = [{"kind": kind, "name": owner, "controller": True}] if owner else []
    meta = {"name": name, "namespace": "ml", "ownerReferences": own}
    meta |= {"labels": labels or {}, "annotations": notes or {}}
    return {"kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}


def apart(key=HOST, **selector):
    term = {"topologyKey": key, "labelSelector": selector}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def read(*objects):
    taken = Collector()
    for k, data in enumerate(objects):
        taken.take(data, f"items[{k}]", "List")
    return taken.cluster()


def group(api, least, name="g"):
    spec = {"minMember": least}
    meta = {"name": name, "namespace": "ml"}
    return {"apiVersion": api, "kind": "PodGroup", "metadata": meta, "spec": spec}


def job(queue="", labels=None, **spec):
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    meta = {"name": "j", "namespace": "ml", "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


@pytest.mark.parametrize(
    ("objects", "labels", "notes", "gang"),
    [
        ([], {}, {}, 1),
        ([job("q", parallelism=3)], {}, {}, 3),
        ([job("q", parallelism=9, completions=3)], {}, {}, 3),
        ([job(parallelism=3)], {}, {}, 1),  # Kubernetes itself starts them one by one
        (
            [],
            {"kueue.x-k8s.io/pod-group-name": "g"},
            {"kueue.x-k8s.io/pod-group-total-count": "3"},
            3,
        ),
        (
            [group("scheduling.volcano.sh/v1beta1", 3)],
            {},
            {"scheduling.k8s.io/group-name": "g"},
            3,
        ),
        (
            [group("scheduling.x-k8s.io/v1alpha1", 3)],
            {"scheduling.x-k8s.io/pod-group": "g"},
            {},
            3,
        ),
    ],
)
def test_gangs_of_objects(objects, labels, notes, gang):
    pods = [pod(f"p{k}", "j", labels=labels, notes=notes) for k in range(3)]
    for given in ([*objects, *pods], [*pods, *objects]):
        found = read(node(), *given)
        assert [work.together.gang for work in found.workloads] == [gang]
        assert "gangs" not in found.beyond


def test_a_group_of_more_pods_than_it_needs_runs_with_so_many_or_more():
    pods = [pod(f"p{k}", "j", notes={"scheduling.k8s.io/group-name": "g"}) for k in range(3)]
    found = read(node(), group("scheduling.volcano.sh/v1beta1", 2), *pods)
    assert not found.beyond
    assert [work.together for work in found.workloads] == [Together(at_least=2)]
    made = plan.make(problem.problem(found), proving=Proving())
    (row,) = made["workloads"]
    assert row["at_least"] == 2
    assert judged(made).certified
    assert row["whole"] in (2, 3)
    row["at_least"] = row["whole"] + 1
    names = [check.name for check in judged(made).checks if not check.holds]
    assert "gangs are whole, and tasks apart where they must be" in names


def test_a_group_of_fewer_pods_than_it_needs_is_not_modelled():
    pods = [pod(f"p{k}", "j", notes={"scheduling.k8s.io/group-name": "g"}) for k in range(3)]
    found = read(node(), group("scheduling.volcano.sh/v1beta1", 4), *pods)
    assert found.beyond["gangs"] == ["ml/p0", "ml/p1", "ml/p2"]
    assert not found.workloads[0].together


def test_a_gang_of_two_kinds_of_pod_is_not_modelled():
    notes = {"scheduling.k8s.io/group-name": "g"}
    found = read(
        node(),
        group("scheduling.volcano.sh/v1beta1", 2),
        pod("a", "j", notes=notes),
        pod("b", "j", notes=notes, cpu="2"),
    )
    assert len(found.beyond["gangs"]) == 2


def test_pods_apart_are_one_on_a_node():
    app = {"app": "a"}
    found = read(
        node(),
        pod("a", "x", labels=app, affinity=apart(matchLabels=app)),
        pod("b", "y", ports=[{"hostPort": 80}]),
        pod("c", "z", ports=[{"hostPort": 80, "protocol": "UDP"}]),
    )
    assert not found.beyond
    tags = [work.together.alone for work in found.workloads]
    assert tags == [("ml: app In (a)",), ("host port 80/TCP",), ("host port 80/UDP",)]


@pytest.mark.parametrize(
    "objects",
    [
        [pod("a", "x", labels={"app": "a"}, affinity=apart("zone", matchLabels={"app": "a"}))],
        [pod("a", "x", labels={"app": "a"}, affinity=apart(matchLabels={"app": "b"}))],
        [
            pod("a", "x", labels={"app": "a"}, affinity=apart(matchLabels={"app": "a"})),
            pod("b", "y", labels={"app": "a"}),
        ],
    ],
)
def test_other_anti_affinity_is_not_modelled(objects):
    found = read(node(), *objects)
    assert found.beyond == {"pod anti-affinity": ["ml/a"]}
    assert not any(work.together for work in found.workloads)


def test_wrong_sizes_are_named():
    with pytest.raises(BadInput, match=r"PodGroup ml/g.spec.minMember: found the text 'two'"):
        read(node(), group("scheduling.volcano.sh/v1beta1", "two"), pod("a"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    where = tmp_path_factory.mktemp("tables")
    (where / "nodes.csv").write_text("node,count,card\nn,3,3\n")
    (where / "teams.csv").write_text("team,tasks,gang,per_node,card\ntrain,8,4,,1\nweb,9,,2,1\n")
    return problem.problem(sources.cluster([str(where / "nodes.csv"), str(where / "teams.csv")]))


def judged(data):
    return judging.judge(plan_rows.loads(json.dumps(data), "plan"))


def test_plans_keep_gangs_whole_and_tasks_apart(tables):
    plain, whole = plan.make(tables), plan.make(tables, proving=Proving())
    totals = {row["workload"]: row["whole"] for row in whole["workloads"]}
    assert totals == {"train": 4, "web": 5}  # WHOLE.md, example 6, with two of web on a node
    assert judged(plain).certified
    found = judged(whole)
    assert found.certified and found.whole.verdict.proved
    rows = {row["workload"]: of_row(row) for row in whole["workloads"]}
    assert rows == {"train": Together(4), "web": Together(1, 2)}


@pytest.mark.parametrize(("key", "x"), [("gang", 3), ("per_node", 1), ("alone", ["port"])])
def test_cut_gangs_and_crowded_nodes_are_found(tables, key, x):
    data = copy.deepcopy(plan.make(tables))
    for row in data["workloads"]:
        row.pop("gang", None)
        row[key] = x
    names = [check.name for check in judged(data).checks if not check.holds]
    assert "gangs are whole, and tasks apart where they must be" in names


def test_models_keep_what_binds_tasks(tables, tmp_path):
    from fairopt import files

    made = models.model(tables, "x")
    files.write(made, str(tmp_path / "m.toml"))
    again = models.problem(str(tmp_path / "m.toml"))
    assert [own.together for own in again.users] == [Together(4), Together(1, 2)]


def test_small_clusters_are_proved_unasked(tmp_path, capsys):
    from fairopt.cli import run

    (tmp_path / "nodes.csv").write_text("node,count,card\nn,3,3\n")
    (tmp_path / "teams.csv").write_text("team,tasks,gang,card\ntrain,8,4,1\nweb,9,,1\n")
    files = [str(tmp_path / name) for name in ("nodes.csv", "teams.csv")]
    shown = {}
    for words in ((), ("--whole",), ("--no-whole",)):
        assert run(["plan", *files, *words]) == 0
        shown[words] = capsys.readouterr().out
    assert shown[()] == shown["--whole",]
    assert "whole tasks proved: nobody is short of a whole task" in shown[()]
    assert "whole tasks proved" not in shown["--no-whole",]


def test_large_clusters_are_proved_when_asked(tables, monkeypatch):
    assert whole_plan.chosen(tables, None) is not None
    monkeypatch.setattr(whole_plan, "SMALL", 1)
    assert whole_plan.chosen(tables, None) is None
    assert whole_plan.chosen(tables, True) == Proving()


@pytest.fixture(scope="module")
def on_cards(tmp_path_factory):
    where = tmp_path_factory.mktemp("cards")
    (where / "nodes.csv").write_text("node,card,cpu\nn1,2,16\nn2,2,16\n")
    (where / "teams.csv").write_text("team,tasks,card,cpu\nA,4,0.6,1\nB,4,0.5,1\n")
    cluster = sources.cluster([str(where / "nodes.csv"), str(where / "teams.csv")])
    return problem.problem(replace(cluster, cards=("card",)))


def test_plans_split_no_card_with_a_proof_and_without(on_cards):
    for proving in (None, Proving()):
        data = plan.make(on_cards, proving=proving)
        assert data["cards"] == ["card"]
        assert judged(data).certified
        assert sum(row["whole"] for row in data["workloads"]) == 6  # 4 of A would take all cards
    verdict = judged(data).whole.verdict
    assert verdict.proved
    assert verdict.short == 1


def test_a_plan_with_a_task_on_two_cards_is_found(on_cards):
    data = copy.deepcopy(plan.make(on_cards))
    data["shapes"][0]["machines"] = [
        {"count": 1, "tasks": {"A": 2, "B": 1}},
        {"count": 1, "tasks": {"B": 3}},
    ]
    failed = {check.name for check in judged(data).checks if not check.holds}
    assert "tasks lie on single cards" in failed
    assert "whole tasks fit on every machine" not in failed


def test_models_keep_cards(on_cards, tmp_path):
    from fairopt import files

    files.write(models.model(on_cards, "x"), str(tmp_path / "m.toml"))
    assert models.problem(str(tmp_path / "m.toml")).cluster.cards == ("card",)


def three_nodes():
    """Nodes of 4, 4 and 8 cores; x is one on a node, z and w want one host port, y wants cores."""
    app = {"app": "a"}
    port = [{"hostPort": 80}]
    return read(
        node("n1"),
        node("n2"),
        node("n3", cpu="8"),
        *(pod(f"p{k}", "x", labels=app, affinity=apart(matchLabels=app)) for k in range(6)),
        *(pod(f"q{k}", "y") for k in range(20)),
        *(pod(f"r{k}", "z", ports=port) for k in range(3)),
        *(pod(f"s{k}", "w", ports=port) for k in range(3)),
    )


def test_what_is_due_is_never_more_than_nodes_may_hold():
    """Of 16 cores x is due 3, one a node; z and w 3 together; y has the other 10.

    By cores alone all would be due more: z and w 3 each, x and y 5 each.
    """
    found = problem.problem(three_nodes())
    assert found.plain.limit_on is None and found.plain.rules is None
    made = plan.make(found, proving=Proving())
    rows = {row["workload"]: row for row in made["workloads"]}
    due = {name: row["due"] for name, row in rows.items()}
    wanted = {"ml/x": 3.0, "ml/z": 1.5, "ml/w": 1.5, "ml/y": 10.0}
    assert due == pytest.approx(wanted, rel=1e-9)
    assert rows["ml/x"]["whole"] == 3 and rows["ml/z"]["whole"] + rows["ml/w"]["whole"] == 3
    assert rows["ml/x"]["says"] == (
        "blocked by tasks apart on 4cpu-8Gi and 1 more: due 3 of 6 asked, 3 whole"
    )
    assert judged(made).certified


def test_an_answer_without_the_rows_that_keep_tasks_apart_is_refused():
    found = problem.problem(three_nodes())
    name = "the fluid answer keeps tasks apart"
    for change in ({"limit_on": None}, {"rules": None}, {"limit_on": 2 * found.instance.limit_on}):
        spoilt = replace(found, instance=found.instance.replace(**change))
        verdict = judged(plan.make(spoilt))
        (check,) = [check for check in verdict.checks if check.name == name]
        assert not check.holds and not verdict.certified
    looser = [replace(rule, most=rule.most + 1) for rule in found.instance.rules]
    spoilt = replace(found, instance=found.instance.replace(rules=looser))
    assert not judged(plan.make(spoilt)).certified


def test_rows_that_cannot_bind_are_left_out():
    """Two pods of a port on three nodes, and one of another workload: the port is no row."""
    few = [pod(f"r{k}", "z", ports=[{"hostPort": 80}]) for k in range(2)]
    found = problem.problem(read(node("n1"), node("n2"), node("n3"), *few, pod("s", "w")))
    assert found.instance.limit_on is None and found.instance.rules is None
    wide = [pod(f"r{k}", "z", cpu="4", ports=[{"hostPort": 80}]) for k in range(9)]
    found = problem.problem(read(node("n1"), node("n2"), node("n3"), *wide))
    assert found.instance.limit_on is None


def test_several_tasks_on_a_node_are_as_many_times_its_nodes(tmp_path):
    (tmp_path / "nodes.csv").write_text("node,count,cpu\nn,3,10\n")
    (tmp_path / "teams.csv").write_text("team,tasks,per_node,cpu\na,90,2,1\nb,90,,1\n")
    files = [str(tmp_path / "nodes.csv"), str(tmp_path / "teams.csv")]
    found = problem.problem(sources.cluster(files))
    made = plan.make(found, proving=Proving())
    due = {row["workload"]: row["due"] for row in made["workloads"]}
    assert due == pytest.approx({"a": 6.0, "b": 24.0}, rel=1e-9)
    assert judged(made).certified
    files_on_disk.write(models.model(found, "saved"), str(tmp_path / "saved.toml"))
    again = models.problem(str(tmp_path / "saved.toml"))
    assert (again.instance.limit_on == found.instance.limit_on).all()


def test_what_if_asks_the_rows_of_the_nodes_that_are_left(tmp_path):
    """Without n1 there are 12 cores: x 2, z and w 2 together, y the other 8."""
    path = tmp_path / "plan.json"
    path.write_text(plan.dumps(plan.make(problem.problem(three_nodes()))))
    found = asked.asked(str(path))
    counts, dropped = found.without(["node/n1"])
    totals = solve(found.changed(counts, (), dropped), MaxMin()).totals
    due = dict(zip(found.model.instance.users, totals, strict=True))
    wanted = {"ml/x": 2.0, "ml/z": 1.0, "ml/w": 1.0, "ml/y": 8.0}
    assert due == pytest.approx(wanted, rel=1e-9)
    more = found.changed((), ["4cpu-8Gi=1"])
    assert more.limit_on[1, 0] == 3 and max(rule.most for rule in more.rules) == 3
    whole_row = found.changed((), (), ["4cpu-8Gi"])
    assert whole_row.limit_on[1, 0] == 1 and [rule.most for rule in whole_row.rules] == [1]
    lost = {own.server: own for own in losses(found.model.instance, MaxMin(), change=found.changed)}
    assert lost["8cpu-8Gi"].losers == 4
