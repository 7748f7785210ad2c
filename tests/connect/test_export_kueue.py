"""Quotas out: objects that Kueue takes, and that give the same when they are read back."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest
import yaml

import fairopt as fo
from fairopt import cli
from fairopt.connect.plan import problem as problems
from fairopt.connect.readers import sources
from fairopt.files.quantities import quantity
from tests.kueue_schema import SCHEMAS

CLUSTER = Path(__file__).parents[2] / "examples" / "kubernetes" / "cluster.json"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        cli.main(list(arguments))
    return int(end.value.code or 0)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    assert run("plan", str(CLUSTER), "-o", str(path)) == 0
    return path


def exported(plan: Path, *more: str) -> list[dict]:
    path = plan.with_suffix(".yaml")
    assert run("export", "kueue", str(plan), "-o", str(path), *more) == 0
    return list(yaml.safe_load_all(path.read_text()))


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize("cohort", ["", "everybody"])
def test_objects_are_as_kueue_takes_them(plan: Path, version: str, cohort: str) -> None:
    more = ["--cohort", cohort] if cohort else []
    made = exported(plan, "--api", version, *more)
    flavors = {own["metadata"]["name"] for own in made if own["kind"] == "ResourceFlavor"}
    assert flavors
    for own in made:
        assert own["apiVersion"] == f"kueue.x-k8s.io/{version}"
        jsonschema.validate(own, SCHEMAS[version, own["kind"]])
        if own["kind"] == "ClusterQueue":
            key = "cohort" if version == "v1beta1" else "cohortName"
            assert own["spec"].get(key, "") == cohort
            for group in own["spec"]["resourceGroups"]:
                # the rules in CEL: every flavor lists every resource; no limits without a cohort
                names = [f["name"] for f in group["flavors"]]
                assert set(names) <= flavors and len(set(names)) == len(names)
                for flavor in group["flavors"]:
                    assert [r["name"] for r in flavor["resources"]] == group["coveredResources"]
                    assert not any("borrowingLimit" in r for r in flavor["resources"])


def test_quotas_are_whole_tasks_in_exact_amounts(plan: Path) -> None:
    data = json.loads(plan.read_text())
    demand = {row["workload"]: row["demand"] for row in data["workloads"]}
    queue = {row["workload"]: row["queue"] for row in data["workloads"]}
    wanted: dict[tuple[str, str, str], Fraction] = {}
    for shape in data["shapes"]:
        for machine in shape["machines"]:
            for name, tasks in machine["tasks"].items():
                for r, amount in demand[name].items():
                    key = queue[name], shape["shape"], r
                    more = machine["count"] * tasks * Fraction(amount)
                    wanted[key] = wanted.get(key, Fraction(0)) + more
    found = {
        (own["metadata"]["name"], flavor["name"], r["name"]): quantity(r["nominalQuota"])
        for own in exported(plan)
        if own["kind"] == "ClusterQueue"
        for flavor in own["spec"]["resourceGroups"][0]["flavors"]
        for r in flavor["resources"]
    }
    kept = {key: x for key, x in wanted.items() if key[2] != "pods" and x}
    assert {key: x for key, x in found.items() if x} == kept


def test_read_back_everybody_is_due_its_whole_tasks(plan: Path, tmp_path: Path) -> None:
    data = json.loads(plan.read_text())
    quotas = exported(plan)
    shape_of = {name: row["shape"] for row in data["shapes"] for name in row["nodes"]}
    objects = json.loads(CLUSTER.read_text())["items"]
    spaces = set()
    for own in objects:
        meta = own["metadata"]
        if own["kind"] == "Node" and meta["name"] in shape_of:
            meta.setdefault("labels", {})["fairopt/shape"] = shape_of[meta["name"]]
        if own["kind"] == "Pod" and meta["namespace"] != "kube-system":
            meta.setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = "all"
            spaces.add(meta["namespace"])
    known = {own["metadata"]["name"] for own in quotas if own["kind"] == "ClusterQueue"}
    locals_ = [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "all", "namespace": space},
            "spec": {"clusterQueue": space},
        }
        for space in sorted(spaces & known)
    ]
    assert spaces <= known
    path = tmp_path / "again.json"
    path.write_text(json.dumps({"kind": "List", "items": [*objects, *quotas, *locals_]}))
    found = problems.problem(sources.cluster([str(path)]))
    answer = fo.solve(found.instance, fo.MaxMin())
    assert answer.certificate.certified
    due: dict[str, float] = {}
    use: dict[tuple[str, str], float] = {}
    for n, work in enumerate(found.users):
        due[work.queue] = due.get(work.queue, 0.0) + answer.totals[n]
        for r, x in work.demand.items():
            use[work.queue, r] = use.get((work.queue, r), 0.0) + answer.totals[n] * float(x)
    for own in quotas:
        if own["kind"] != "ClusterQueue":
            continue
        name, total = own["metadata"]["name"], {}
        for flavor in own["spec"]["resourceGroups"][0]["flavors"]:
            for r in flavor["resources"]:
                total[r["name"]] = total.get(r["name"], 0) + float(quantity(r["nominalQuota"]))
        assert all(use[name, r] <= amount * (1 + 1e-9) for r, amount in total.items())
    whole = {row["queue"]: row["whole"] for row in data["queues"]}
    assert set(due) == {name for name, tasks in whole.items() if tasks}
    # the quotas hold the whole tasks of the plan, so what is due under them is about as much
    for name in due:
        assert due[name] == pytest.approx(whole[name], rel=0.25)


def test_what_does_not_hold_is_not_exported(plan: Path, tmp_path: Path) -> None:
    data = json.loads(plan.read_text())
    machine = next(m for s in data["shapes"] for m in s["machines"] if m["tasks"])
    name = next(iter(machine["tasks"]))
    machine["tasks"][name] += 1000
    path = tmp_path / "spoilt.json"
    path.write_text(json.dumps(data))
    out = tmp_path / "out.yaml"
    assert run("export", "kueue", str(path), "-o", str(out)) == 4
    assert not out.exists()
    assert run("export", "kueue", str(plan), "--cohort", "No Name") == 2
    assert run("export", "kueue", str(plan), "--api", "v2") == 2
