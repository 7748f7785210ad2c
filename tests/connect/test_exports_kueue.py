"""Quotas of a plan as patches of the operator's own objects of Kueue."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest
import yaml

from fairopt import cli
from fairopt.connect.exports.kueue_patches import applied
from fairopt.connect.exports.shifting import Forest, NotAdmitted, shifted
from fairopt.connect.readers.kueue import QueueNode, QuotaCell
from fairopt.files.quantities import quantity
from tests.connect.test_kueue import GPU, STORY, flavor, job, local, node, obj, queue
from tests.kueue_schema import SCHEMAS

PAIR = ("f", "gpu")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        cli.main(list(arguments))
    return int(end.value.code or 0)


# -- shifting: the same uses are admitted, by Kueue's own rule (KEP-79), and none needs a loan -----


def admitted(trees: Forest, limits: dict, use: dict) -> bool:
    """The rule of admission as the proposal states it: what is left of a node's quota, with what
    its children have left, up to what they lend, is no less than what it may borrow."""

    def left(key) -> Fraction:
        own = limits[key]
        rest = own.nominal - use.get(key[1], 0) if key[0] == "queue" else own.nominal
        for child in trees.below[key]:
            below = left(child)
            if below is None:
                return None
            lend = limits[child].lend
            rest += below if lend is None else min(lend, below)
        if not trees.nodes[key].parent:
            return rest if rest >= 0 else None
        return None if own.borrow is not None and rest < -own.borrow else rest

    return all(left(root) is not None for root in trees.roots)


def drawn(rng: random.Random) -> Forest:
    """A random tree: some cohorts that nobody gives, some limits."""
    some = [Fraction(k) for k in range(7)]

    def limits() -> QuotaCell:
        return QuotaCell(
            rng.choice(some), rng.choice([None, *some[:4]]), rng.choice([None, *some[:4]])
        )

    cohorts = ["top", *[f"c{k}" for k in range(rng.randint(0, 3))]]
    nodes, below = {}, {}
    for k, name in enumerate(cohorts):
        parent = "" if k == 0 else rng.choice(cohorts[:k])
        quotas = {PAIR: limits()} if rng.random() < 0.6 else {}
        nodes["cohort", name] = QueueNode(name, parent, Fraction(1), quotas)
    for k in range(rng.randint(1, 5)):
        parent = rng.choice([*cohorts, ""]) if rng.random() < 0.9 else ""
        nodes["queue", f"q{k}"] = QueueNode(f"q{k}", parent, Fraction(1), {PAIR: limits()})
    for key in nodes:
        below[key] = tuple(k for k, own in nodes.items() if key == ("cohort", own.parent))
    return Forest(nodes, below)


@pytest.mark.parametrize("seed", range(8))
def test_a_shift_admits_what_was_admitted_and_lends_nothing_for_the_use(seed: int) -> None:
    rng = random.Random(seed)
    made = refused = 0
    for _ in range(150):
        trees = drawn(rng)
        queues = [key[1] for key in trees.nodes if key[0] == "queue"]
        before = {
            key: own.quotas.get(PAIR, QuotaCell(Fraction(0))) for key, own in trees.nodes.items()
        }
        use = {name: Fraction(rng.randint(0, 6)) for name in queues}
        try:
            found = shifted(trees, PAIR, use)
        except NotAdmitted:
            refused += 1
            assert not admitted(trees, before, use)
            continue
        made += 1
        assert admitted(trees, before, use)
        after = {**before, **found}
        assert all(x is None or x >= 0 for own in after.values() for x in vars(own).values())
        assert sum(own.nominal for own in after.values()) == sum(
            own.nominal for own in before.values()
        )
        assert all(after["queue", name].nominal >= x for name, x in use.items())
        assert all(key in found or own == before[key] for key, own in after.items())
        for _ in range(20):
            other = {name: Fraction(rng.randint(0, 12), 2) for name in queues}
            assert admitted(trees, before, other) == admitted(trees, after, other)
    assert made > 20 and refused > 20


# -- the command: applied, planned again, equal ---------------------------------------------------


def cluster() -> list[dict]:
    """Two kinds of nodes, a tree of three levels, limits on borrowing and lending."""
    a, b = {"kind": "a"}, {"kind": "b"}
    return [
        *[node(f"a{k}", a, gpu=4) for k in range(4)],
        *[node(f"b{k}", b, gpu=4) for k in range(6)],
        flavor("big", a),
        flavor("small", b),
        obj("Cohort", "all", {"resourceGroups": groups({"big": (2,), "small": (4,)})}),
        obj("Cohort", "research", {"parentName": "all", "fairSharing": {"weight": "1500m"}}),
        covered("ml", {"big": {GPU: (4, 6)}, "small": {GPU: (2, 1)}}, "research", weight=2),
        covered("bio", {"small": {GPU: (8, None, 3)}}, "research"),
        covered("web", {"big": {GPU: (10, None, None)}, "small": {GPU: (10, 2)}}, "all"),
        *[local(name) for name in ("ml", "bio", "web")],
        job("ml", 30, {GPU: "1"}),
        job("bio", 2, {GPU: "1"}),
        job("web", 40, {GPU: "1"}),
    ]


def covered(name: str, quotas: dict, cohort: str, **more) -> dict:
    """A cluster queue that names the resources it covers, as the schema of Kueue asks."""
    own = queue(name, quotas, cohort=cohort, **more)
    for group in own["spec"]["resourceGroups"]:
        group["coveredResources"] = [GPU]
    return own


def groups(own: dict) -> list[dict]:
    keys = ("nominalQuota", "borrowingLimit", "lendingLimit")
    return [
        {
            "coveredResources": [GPU],
            "flavors": [
                {
                    "name": name,
                    "resources": [{"name": GPU, **dict(zip(keys, limits, strict=False))}],
                }
                for name, limits in own.items()
            ],
        }
    ]


def written(path: Path, objects: list[dict]) -> str:
    path.write_text(json.dumps({"kind": "List", "items": objects}))
    return str(path)


def planned(path: str, out: Path, *more: str) -> dict:
    assert run("plan", path, "-o", str(out), *more) == 0
    return json.loads(out.read_text())


def patched(objects: list[dict], patches: list[dict]) -> list[dict]:
    found = copy.deepcopy(objects)
    for patch in patches:
        which = [
            k
            for k, own in enumerate(found)
            if own.get("kind") == patch["kind"]
            and own["metadata"]["name"] == patch["metadata"]["name"]
        ]
        assert len(which) == 1
        found[which[0]] = applied(found[which[0]], patch)
    return found


def stripped(own: dict) -> dict:
    """An object without the numbers that an export may change."""
    found = copy.deepcopy(own)
    for group in found.get("spec", {}).get("resourceGroups", []):
        for each in group["flavors"]:
            for row in each["resources"]:
                for key in ("nominalQuota", "borrowingLimit", "lendingLimit"):
                    if key in row:
                        row[key] = "..."
    return found


def dues(plan: dict) -> dict[str, float]:
    return {row["workload"]: row["due"] for row in plan["workloads"]}


def story() -> list[dict]:
    return list(yaml.safe_load_all(STORY.read_text()))


STORY_3 = story()
"""its cohorts have names in capitals, as the proposal writes them"""


@pytest.mark.parametrize("objects", [cluster(), STORY_3], ids=["cluster", "story-3"])
def test_applied_and_planned_again_it_is_the_same_plan(objects, tmp_path: Path) -> None:
    path = written(tmp_path / "objects.json", objects)
    before = planned(path, tmp_path / "plan.json")
    out = tmp_path / "patches.yaml"
    assert run("export", "kueue", str(tmp_path / "plan.json"), path, "-o", str(out)) == 0
    patches = list(yaml.safe_load_all(out.read_text()))
    assert patches
    after = patched(objects, patches)
    assert [stripped(own) for own in after] == [stripped(own) for own in objects]
    for own in after:
        if own.get("kind") == "ClusterQueue" and objects is not STORY_3:
            jsonschema.validate(own, SCHEMAS["v1beta2", "ClusterQueue"])
    again = planned(written(tmp_path / "after.json", after), tmp_path / "again.json")
    assert dues(again) == pytest.approx(dues(before), rel=1e-6)
    # what is due is nobody's loan any more
    for row in before["queues"]:
        own = next(o for o in after if o["metadata"]["name"] == row["queue"])
        nominal = sum(
            quantity(r["nominalQuota"])
            for group in own["spec"]["resourceGroups"]
            for each in group["flavors"]
            for r in each["resources"]
        )
        assert nominal >= row["whole"]


def test_once_applied_nothing_changes(tmp_path: Path) -> None:
    path = written(tmp_path / "objects.json", cluster())
    planned(path, tmp_path / "plan.json")
    out = tmp_path / "patches.yaml"
    run("export", "kueue", str(tmp_path / "plan.json"), path, "-o", str(out))
    after = patched(cluster(), list(yaml.safe_load_all(out.read_text())))
    again = written(tmp_path / "after.json", after)
    planned(again, tmp_path / "again.json")
    assert run("export", "kueue", str(tmp_path / "again.json"), again, "-o", str(out)) == 0
    assert "nothing changes" in out.read_text()


def test_a_weight_of_the_plan_is_a_weight_of_fair_sharing(tmp_path: Path) -> None:
    path = written(tmp_path / "objects.json", story())
    plan = planned(path, tmp_path / "plan.json", "--weight", "1a=2.5")
    due = {row["queue"]: row["due"] for row in plan["queues"]}
    # of 150: weights 2.5, 1 and 3
    assert [due[q] for q in ("1a", "1b", "1c")] == pytest.approx(
        [150 * w / 6.5 for w in (2.5, 1, 3)]
    )
    out = tmp_path / "patches.yaml"
    assert run("export", "kueue", str(tmp_path / "plan.json"), path, "-o", str(out)) == 0
    patches = list(yaml.safe_load_all(out.read_text()))
    weights = {
        own["metadata"]["name"]: own["spec"]["fairSharing"]
        for own in patches
        if "fairSharing" in own["spec"]
    }
    assert weights == {"1a": {"weight": "2500m"}}
    after = written(tmp_path / "after.json", patched(story(), patches))
    again = planned(after, tmp_path / "again.json")
    assert dues(again) == pytest.approx(dues(plan), rel=1e-6)


def test_files_that_were_not_planned_are_refused(tmp_path: Path, capsys) -> None:
    path = written(tmp_path / "objects.json", cluster())
    planned(path, tmp_path / "plan.json")
    plan = str(tmp_path / "plan.json")
    assert run("export", "kueue", plan) == 2
    assert "found no files; wanted the files that were planned" in capsys.readouterr().err
    assert run("export", "kueue", plan, "--new", "-o", str(tmp_path / "new.yaml")) == 0
    others = written(tmp_path / "others.json", story())
    assert run("export", "kueue", plan, others) == 2
    assert "which the plan has not" in capsys.readouterr().err
    bare = [own for own in cluster() if own.get("kind") != "Node"]
    assert run("export", "kueue", plan, written(tmp_path / "bare.json", bare)) == 2
    assert "its nodes in the files" in capsys.readouterr().err
    assert run("export", "volcano", plan, path) == 2
    assert "no Queue of Volcano" in capsys.readouterr().err


# -- the annotation of those that run more than they are due --------------------------------------


def running(name: str, count: int, boost: str | None = None) -> dict:
    own = job(name, count, {GPU: "1"})
    own["metadata"]["name"] = f"run-{name}"
    if boost is not None:
        own["metadata"]["annotations"] = {"kueue.x-k8s.io/priority-boost": boost}
    own["metadata"]["ownerReferences"] = [
        {"controller": True, "kind": "Job", "name": f"run-{name}"}
    ]
    usage = {"name": "main", "flavors": {GPU: "f"}, "resourceUsage": {GPU: str(count)}}
    own["status"] = {"admission": {"clusterQueue": name, "podSetAssignments": [usage]}}
    return own


def pod(name: str, k: int, machine: str) -> dict:
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"run-{name}-{k}",
            "namespace": f"ns-{name}",
            "labels": {"kueue.x-k8s.io/queue-name": "jobs"},
            "ownerReferences": [{"controller": True, "kind": "Job", "name": f"run-{name}"}],
        },
        "spec": {
            "nodeName": machine,
            "containers": [{"name": "c", "resources": {"requests": {GPU: "1"}}}],
        },
        "status": {"phase": "Running"},
    }


def test_who_runs_more_than_it_is_due_loses_priority(tmp_path: Path) -> None:
    # 8 GPUs: a runs 7, b runs 1 and waits for 7 more: due 4 and 4, so 3 of 7 are not due
    objects = [
        node("n", {}, gpu=8),
        flavor("f"),
        *[queue(name, {"f": {GPU: (4,)}}) for name in ("a", "b")],
        *[local(name) for name in ("a", "b")],
        running("a", 7),
        running("b", 1, "-60"),
        job("b", 7, {GPU: "1"}),
        *[pod("a", k, "n") for k in range(7)],
        pod("b", 0, "n"),
    ]
    path = written(tmp_path / "objects.json", objects)
    plan = planned(path, tmp_path / "plan.json")
    assert {row["queue"]: row["due"] for row in plan["queues"]} == pytest.approx({"a": 4, "b": 4})
    out = tmp_path / "boost.yaml"
    asked = ("export", "kueue-boost", str(tmp_path / "plan.json"), path, "-o", str(out))
    assert run(*asked) == 0
    found = {
        own["metadata"]["name"]: own["metadata"]["annotations"]["kueue.x-k8s.io/priority-boost"]
        for own in yaml.safe_load_all(out.read_text())
    }
    assert found == {"run-a": "-43", "run-b": None}  # 300/7 rounded up
    assert run(*asked, "--boost", "7") == 0
    assert "'-3'" in out.read_text()
    assert run(*asked, "--boost", "0") == 2
    nobody = [own for own in objects if not own["metadata"]["name"].startswith("run-")]
    assert run("export", "kueue-boost", asked[2], written(tmp_path / "n.json", nobody)) == 2
