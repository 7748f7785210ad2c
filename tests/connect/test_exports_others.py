"""What is due as promises of Volcano and KAI, ResourceQuotas and limits of Slurm: read back."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from fairopt.connect.exports.kueue_patches import applied
from fairopt.connect.readers import kai as kai_queues
from fairopt.connect.readers import sources
from fairopt.files.quantities import quantity
from fairopt.instance.reading import Faults
from tests.connect.test_exports_kueue import dues, planned, run, written

CLUSTER = Path(__file__).parents[2] / "examples" / "kubernetes" / "cluster.json"


def node(name: str, **amounts: str) -> dict:
    return {
        "kind": "Node",
        "metadata": {"name": name},
        "status": {
            "allocatable": {"pods": "110", **amounts},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pods(queue: str, count: int, request: dict, key: str, labels: bool = False) -> list[dict]:
    return [
        {
            "kind": "Pod",
            "metadata": {
                "name": f"{queue}-{k}",
                "namespace": f"ns-{queue}",
                ("labels" if labels else "annotations"): {key: queue},
                "ownerReferences": [{"controller": True, "kind": "Job", "name": queue}],
            },
            "spec": {"containers": [{"name": "c", "resources": {"requests": request}}]},
        }
        for k in range(count)
    ]


def volcano(name: str, **spec: object) -> dict:
    api = "scheduling.volcano.sh/v1beta1"
    return {"apiVersion": api, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def kai(name: str, gpu: dict, **spec: object) -> dict:
    rest = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"gpu": gpu, "cpu": rest, "memory": rest}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {**spec, "resources": resources},
    }


def exported(kind: str, plan: Path, *files: str) -> list[dict]:
    out = plan.with_suffix(".out")
    assert run("export", kind, str(plan), *files, "-o", str(out)) == 0
    return [own for own in yaml.safe_load_all(out.read_text()) if own]


def patched(objects: list[dict], patches: list[dict]) -> list[dict]:
    found = copy.deepcopy(objects)
    for patch in patches:
        k = next(
            k for k, o in enumerate(found) if o["metadata"]["name"] == patch["metadata"]["name"]
        )
        found[k] = applied(found[k], patch)
    return found


def test_volcano_deserves_what_is_due_and_is_planned_the_same(tmp_path: Path) -> None:
    key = "scheduling.volcano.sh/queue-name"
    objects = [
        *[node(f"n{k}", cpu="8") for k in range(3)],
        volcano("dept", deserved={"cpu": "4"}, weight=2),
        volcano("a", parent="dept", guarantee={"resource": {"cpu": "2"}}, deserved={"cpu": "2"}),
        volcano("b", parent="dept", weight=3),
        volcano("c", capability={"cpu": "9"}),
        volcano("idle", deserved={"cpu": "1"}),
        *pods("a", 20, {"cpu": "1"}, key),
        *pods("b", 20, {"cpu": "1"}, key),
        *pods("c", 20, {"cpu": "1"}, key),
    ]
    path = written(tmp_path / "objects.json", objects)
    before = planned(path, tmp_path / "plan.json")
    whole = {row["queue"]: row["whole"] for row in before["queues"]}
    assert sum(whole.values()) == 24
    patches = exported("volcano", tmp_path / "plan.json", path)
    deserved = {own["metadata"]["name"]: own["spec"]["deserved"]["cpu"] for own in patches}
    assert deserved.pop("dept") == str(whole["a"] + whole["b"])  # no less than those below it
    assert deserved == {name: str(tasks) for name, tasks in whole.items()}
    after = written(tmp_path / "after.json", patched(objects, patches))
    again = planned(after, tmp_path / "again.json")
    assert dues(again) == pytest.approx(dues(before), rel=1e-6)
    assert not exported("volcano", tmp_path / "again.json", after)


def test_weights_of_volcano_are_whole(tmp_path: Path, capsys) -> None:
    key = "scheduling.volcano.sh/queue-name"
    objects = [node("n", cpu="8"), volcano("a"), volcano("b")]
    objects += [*pods("a", 9, {"cpu": "1"}, key), *pods("b", 9, {"cpu": "1"}, key)]
    path = written(tmp_path / "objects.json", objects)
    planned(path, tmp_path / "plan.json", "--weight", "a=3", "--weight", "b=1.5")
    found = exported("volcano", tmp_path / "plan.json", path)
    assert {own["metadata"]["name"]: own["spec"].get("weight") for own in found} == {
        "a": 3,
        "b": None,
    }
    assert "queue b: Volcano takes whole weights, not 1.5" in capsys.readouterr().err


def test_kai_is_given_first_what_is_due_and_is_planned_the_same(tmp_path: Path) -> None:
    gpu = {"nvidia.com/gpu": "1"}
    objects = [
        node("n", **{"nvidia.com/gpu": "12"}),
        kai("dept", {"quota": 4, "limit": -1, "overQuotaWeight": 1}),
        kai("a", {"quota": 2, "limit": -1, "overQuotaWeight": 2}, parentQueue="dept"),
        kai("b", {"quota": 1, "limit": -1, "overQuotaWeight": 1}, parentQueue="dept"),
        *pods("a", 20, gpu, kai_queues.QUEUE, labels=True),
        *pods("b", 20, gpu, kai_queues.QUEUE, labels=True),
    ]
    path = written(tmp_path / "objects.json", objects)
    before = planned(path, tmp_path / "plan.json")
    whole = {row["queue"]: row["whole"] for row in before["queues"]}
    patches = exported("kai", tmp_path / "plan.json", path)
    quotas = {own["metadata"]["name"]: own["spec"]["resources"]["gpu"] for own in patches}
    assert quotas == {
        "dept": {"quota": 12},
        "a": {"quota": whole["a"]},
        "b": {"quota": whole["b"]},
    }
    after = patched(objects, patches)
    faults = Faults("read back")
    read = {o["metadata"]["name"]: kai_queues.queue(o, "", faults) for o in after[1:4]}
    assert not faults.found
    assert {name: own.deserved["nvidia.com/gpu"] for name, own in read.items()} == {
        "dept": 12,
        **whole,
    }
    again = planned(written(tmp_path / "after.json", after), tmp_path / "again.json")
    assert dues(again) == pytest.approx(dues(before), rel=1e-6)


def test_quotas_of_namespaces_count_every_pod(tmp_path: Path) -> None:
    assert run("plan", str(CLUSTER), "-o", str(tmp_path / "plan.json")) == 0
    plan = json.loads((tmp_path / "plan.json").read_text())
    demand = {row["workload"]: row["demand"] for row in plan["workloads"]}
    queue = {row["workload"]: row["queue"] for row in plan["workloads"]}
    wanted: dict[tuple[str, str], Fraction] = {}
    for shape in plan["shapes"]:
        for machine in shape["machines"]:
            for name, tasks in machine["tasks"].items():
                for r, x in demand[name].items():
                    key = queue[name], r
                    more = machine["count"] * tasks * Fraction(x)
                    wanted[key] = wanted.get(key, Fraction(0)) + more
    spaces = {space for space, _ in wanted}
    for row in plan["undivided"]:
        space = row["pod"].partition("/")[0]
        for r, x in row["request"].items() if space in spaces else ():
            wanted[space, r] = wanted.get((space, r), Fraction(0)) + Fraction(x)
    made = exported("resourcequotas", tmp_path / "plan.json")
    found = {
        (own["metadata"]["namespace"], key.removeprefix("requests.")): quantity(value)
        for own in made
        for key, value in own["spec"]["hard"].items()
    }
    assert found == {key: x for key, x in wanted.items() if x}
    # read back beside the cluster, they are the ceilings of their namespaces
    objects = json.loads(CLUSTER.read_text())["items"]
    kept = [own for own in objects if own["kind"] != "ResourceQuota"]
    path = written(tmp_path / "again.json", [*kept, *made])
    ceilings = {(c.queue, c.resource): c.most for c in sources.cluster([path]).ceilings}
    assert ceilings == found
    again = planned(path, tmp_path / "plan-2.json")
    assert dues(again) == dues(plan)
    # with the quotas there are, only what these name is changed
    there = [own for own in objects if own["kind"] == "ResourceQuota"]
    some = exported("resourcequotas", tmp_path / "plan.json", str(CLUSTER))
    named = {(o["metadata"]["namespace"], o["metadata"]["name"]): o for o in there}
    changed = [o for o in some if o["metadata"]["name"] != "fairopt"]
    assert changed
    for own in changed:
        before = named[own["metadata"]["namespace"], own["metadata"]["name"]]["spec"]["hard"]
        assert own["spec"]["hard"].keys() <= before.keys()


def test_slurm_gets_commands(tmp_path: Path, capsys) -> None:
    (tmp_path / "nodes.csv").write_text("node,cpu,memory,gres/gpu\nb1,16,64Gi,4\nb2,16,64Gi,4\n")
    teams = "team,queue,weight,tasks,cpu,memory,gres/gpu\nrun,ml,3,6,2,5000000000,1\n"
    (tmp_path / "teams.csv").write_text(f"{teams}job,a b,1,4,1,1Gi,0\n")
    plan = str(tmp_path / "plan.json")
    files = [str(tmp_path / "nodes.csv"), str(tmp_path / "teams.csv")]
    assert run("plan", *files, "--weight", "ml=3", "-o", plan) == 0
    capsys.readouterr()
    assert run("export", "slurm", plan) == 0
    assert capsys.readouterr().out.splitlines() == [
        "sacctmgr -i modify account where name='a b' set GrpTRES=cpu=4,mem=4096M Fairshare=1",
        # 6 * 5e9 bytes are 28610.2 megabytes of 2^20
        "sacctmgr -i modify account where name=ml set GrpTRES=cpu=12,gres/gpu=6,mem=28611M "
        "Fairshare=3",
    ]
    assert run("export", "slurm", plan, "--of", "qos") == 0
    assert "modify qos where name=ml set GrpTRES=cpu=12,gres/gpu=6,mem=28611M\n" in (
        capsys.readouterr().out
    )
