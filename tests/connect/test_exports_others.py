"""What is due as promises of Volcano and KAI, ResourceQuotas and limits of Slurm: read back."""

from __future__ import annotations

import copy
import json
import shlex
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


def as_sacctmgr_shows(commands: str, qos: bool) -> str:
    """What Slurm would print after the commands, by code of its own."""
    lines = ["Name|GrpTRES" if qos else "Account|User|GrpTRES|Share"]
    for command in commands.splitlines():
        words = shlex.split(command)
        said = dict(word.split("=", 1) for word in words if "=" in word)
        row = [said["name"], said["GrpTRES"]]
        lines.append("|".join(row if qos else [row[0], "", row[1], said["Fairshare"]]))
    return "\n".join(lines) + "\n"


def tables(tmp_path: Path) -> list[str]:
    """Three accounts on two nodes."""
    (tmp_path / "nodes.csv").write_text("node,cpu,memory,gres/gpu\nb1,16,64Gi,4\nb2,16,64Gi,4\n")
    (tmp_path / "teams.csv").write_text(
        "team,queue,weight,tasks,cpu,memory,gres/gpu\nrun,ml,3,6,2,5000000000,1\n"
        "job,bio,1,40,1,1Gi,0\nsmall,new,1,2,1,1Gi,0\n"
    )
    return [str(tmp_path / "nodes.csv"), str(tmp_path / "teams.csv")]


def queued(name: str, key: str, labels: bool = False) -> list[dict]:
    return [
        *[node(f"n{k}", **{"nvidia.com/gpu": "8", "cpu": "32"}) for k in range(2)],
        *pods(f"{name}a", 20, {"nvidia.com/gpu": "1", "cpu": "1"}, key, labels),
        *pods(f"{name}b", 4, {"nvidia.com/gpu": "1", "cpu": "1"}, key, labels),
    ]


def volcano_case(tmp_path: Path) -> list[str]:
    own = [volcano("va", weight=2), volcano("vb")]
    objects = [*own, *queued("v", "scheduling.volcano.sh/queue-name")]
    return [written(tmp_path / "objects.json", objects)]


def kai_case(tmp_path: Path) -> list[str]:
    gpu = {"quota": 2, "limit": -1, "overQuotaWeight": 1}
    objects = [kai("ka", gpu), kai("kb", gpu), *queued("k", kai_queues.QUEUE, labels=True)]
    return [written(tmp_path / "objects.json", objects)]


def kueue_case(tmp_path: Path) -> list[str]:
    text = (Path(__file__).parents[2] / "examples" / "kueue" / "story-3.yaml").read_text()
    return [written(tmp_path / "objects.json", [own for own in yaml.safe_load_all(text) if own])]


def namespaces_case(tmp_path: Path) -> list[str]:
    items = json.loads(CLUSTER.read_text())["items"]
    return [written(tmp_path / "objects.json", items)]


ROUND_TRIPS = {
    "kueue": (kueue_case, ["kueue"]),
    "volcano": (volcano_case, ["volcano"]),
    "kai": (kai_case, ["kai"]),
    "resourcequotas": (namespaces_case, ["resourcequotas"]),
    "slurm accounts": (tables, ["slurm"]),
    "slurm qos": (tables, ["slurm", "--of", "qos"]),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_every_export_is_read_back_and_planned_the_same(tmp_path: Path, name: str) -> None:
    """Applied as its scheduler applies it, read back, planned again: the same dues, and nothing is
    left to export."""
    case, (kind, *more) = ROUND_TRIPS[name]
    files = case(tmp_path)

    def out(plan: str, *given: str) -> str:
        path = tmp_path / "out"
        assert run("export", kind, plan, *given, *more, "-o", str(path)) == 0
        return path.read_text()

    assert run("plan", *files, "-o", str(tmp_path / "plan.json")) == 0
    before = json.loads((tmp_path / "plan.json").read_text())
    if kind == "slurm":
        text = out(str(tmp_path / "plan.json"))
        (tmp_path / "limits.txt").write_text(as_sacctmgr_shows(text, "qos" in more))
        after = [*files, str(tmp_path / "limits.txt")]
    else:
        found = yaml.safe_load_all(out(str(tmp_path / "plan.json"), *files))
        patches = [own for own in found if own]
        objects = json.loads(Path(files[0]).read_text())["items"]
        named = {
            (o["kind"], o["metadata"]["name"], o["metadata"].get("namespace")) for o in objects
        }
        fresh = [
            own
            for own in patches
            if (own["kind"], own["metadata"]["name"], own["metadata"].get("namespace")) not in named
        ]
        kept = [own for own in patches if own not in fresh]
        assert patches and (kind == "resourcequotas" or not fresh)
        for patch in kept:
            k = next(
                k
                for k, o in enumerate(objects)
                if (o["kind"], o["metadata"]["name"], o["metadata"].get("namespace"))
                == (patch["kind"], patch["metadata"]["name"], patch["metadata"].get("namespace"))
            )
            objects[k] = applied(objects[k], patch)
        after = [written(tmp_path / "after.json", [*objects, *fresh])]
    assert run("plan", *after, "-o", str(tmp_path / "again.json")) == 0
    again = json.loads((tmp_path / "again.json").read_text())
    assert dues(again) == pytest.approx(dues(before), rel=1e-6, abs=1e-9)
    rest = out(str(tmp_path / "again.json"), *(after if kind != "slurm" else ()))
    if kind == "slurm":
        assert rest == text
    elif kind != "resourcequotas":  # these are written whole
        assert not [own for own in yaml.safe_load_all(rest) if own]


def test_limits_of_slurm_that_are_wrong_are_named(tmp_path: Path, capsys) -> None:
    files = tables(tmp_path)
    limits = tmp_path / "limits.txt"
    for text, words in (
        ("Account|User|GrpTRES|Share\nml||cpu=many|1\n", "ml.GrpTRES.cpu: found the text 'many'"),
        ("Account|User|GrpTRES|Share\nml||cpu=1|some\n", "line 2.Fairshare: found the text 'some'"),
        ("Account|User|GrpTRES\nml||cpu=1\nml||cpu=2\n", "line 3: found 'ml' a second time"),
        ("Cluster|GrpTRES\nml|cpu=1\n", "line 1: found the columns Cluster|GrpTRES"),
    ):
        limits.write_text(text)
        assert run("plan", *files, str(limits)) == 2
        assert words in capsys.readouterr().err
    limits.write_text("Name|GrpTRES\nml|cpu=-1,gres/gpu=2\nbio|cpu=0\n")
    assert run("plan", *files, str(limits), "--json") == 0
    rows = json.loads(capsys.readouterr().out)["queues"]
    due = {row["queue"]: row["due"] for row in rows}
    assert due == pytest.approx({"ml": 2, "bio": 0, "new": 2}, abs=1e-9)
