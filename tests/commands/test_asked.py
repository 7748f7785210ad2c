"""Plans, and what kubectl prints, where a model or an answer is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.auditing.losses import losses
from fairopt.cli import run

CLUSTER = str(Path(__file__).parents[2] / "examples" / "kubernetes" / "cluster.json")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Plans before and after, written by the command."""
    here = tmp_path_factory.mktemp("plans")
    paths = str(here / "monday.json"), str(here / "friday.json")
    assert run(["plan", CLUSTER, "-o", paths[0]]) == 0
    assert run(["plan", CLUSTER, "--weight", "ml=2", "--weight", "data=.5", "-o", paths[1]]) == 0
    return paths


def told(capsys, *words):
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def due(path):
    return {row["workload"]: row["due"] for row in json.loads(Path(path).read_text())["workloads"]}


def test_diff_of_plans_is_what_their_dues_say(capsys, made):
    found = told(capsys, "diff", *made)
    before, after = map(due, made)
    for own in found["users"]:
        assert own["before"] == before[own["user"]] and own["after"] == after[own["user"]]


def running() -> dict[str, int]:
    """Tasks of each workload on nodes in service, counted from the objects by hand."""
    items = json.loads(Path(CLUSTER).read_text())["items"]
    out = set()
    for item in items:
        if item["kind"] == "Node":
            ready = {c["type"]: c["status"] for c in item["status"]["conditions"]}.get("Ready")
            if item["spec"].get("unschedulable") or ready != "True":
                out.add(item["metadata"]["name"])
    found: dict[str, int] = {}
    for item in items:
        node = item["spec"].get("nodeName") if item["kind"] == "Pod" else None
        if not node or node in out or item["status"]["phase"] in ("Succeeded", "Failed"):
            continue
        meta = item["metadata"]
        owner = next((o["name"] for o in meta.get("ownerReferences", ())), meta["name"])
        owner = owner.removesuffix(f"-{meta.get('labels', {}).get('pod-template-hash')}")
        name = f"{meta['namespace']}/{owner}"
        found[name] = found.get(name, 0) + 1
    return found


@pytest.mark.parametrize("of", ["plan", "cluster"])
def test_audit_of_a_plan_and_of_a_cluster_is_of_what_runs_there(capsys, made, of):
    path, pods = (made[0] if of == "plan" else CLUSTER), running()
    found = told(capsys, "audit", path)
    assert found["due"]["verdict"] == "certified"
    assert {row["user"]: row["due"] for row in found["teams"]}.items() <= due(made[0]).items()
    assert sum(row["held"] for row in found["teams"]) > 20
    for row in found["teams"]:
        assert row["held"] == pods.get(row["user"], 0)
        assert row["could_hold"] is None or row["could_hold"] >= row["held"] * (1 - 1e-9)


def test_audit_counts_cards_by_their_kind(capsys, tmp_path):
    """A task on a T4 gets .4 done: what is held is told by mode, in output."""
    path = str(tmp_path / "plan.json")
    kinds = "nvidia.com/gpu.product=A100:1,T4:.4"
    assert run(["plan", CLUSTER, "--gpu-kind", kinds, "-o", path]) == 0
    capsys.readouterr()
    assert run(["audit", path, "--json"]) == 0
    shown = capsys.readouterr()
    held = {row["user"]: row["held"] for row in json.loads(shown.out)["teams"]}
    rows = json.loads(Path(path).read_text())["workloads"]
    train = next(row for row in rows if row["workload"] == "ml/train")
    assert train["held_on"]["t4"]
    wanted = sum(k * (0.4 if shape == "t4" else 1.0) for shape, k in train["held_on"].items())
    np.testing.assert_allclose(held["ml/train"], wanted, rtol=1e-12)
    assert "3 tasks run on nodes out of service" in shown.err


def test_what_if_of_a_plan_solves_what_is_changed_alone(capsys, made, tmp_path, monkeypatch):
    """What a plan says is judged and not solved again, under its own notion; if it is not right, or
    another notion is asked, it is."""
    solved, solve = [], fo.solve
    monkeypatch.setattr(fo, "solve", lambda *a, **k: (solved.append(a), solve(*a, **k))[1])
    change = ("--set", "weight.ml=2")
    first = told(capsys, "what-if", made[0], *change)
    assert len(solved) == 1
    told(capsys, "what-if", made[0], *change, "--notion", "proportional")
    assert len(solved) == 3
    data = json.loads(Path(made[0]).read_text())
    name = next(iter(data["answer"]["tasks"]))
    tasks = data["answer"]["tasks"][name]
    data["answer"]["tasks"][name] = {server: x / 2 for server, x in tasks.items()}
    other = tmp_path / "other.json"
    other.write_text(json.dumps(data, indent=2))
    again = told(capsys, "what-if", str(other), *change)
    assert len(solved) == 5
    for one, two in zip(first["users"], again["users"], strict=True):
        assert one["before"] == pytest.approx(two["before"], rel=1e-7)


@pytest.mark.parametrize("of", ["plan", "cluster"])
def test_what_if_asks_a_plan_and_a_cluster_alike(capsys, made, of):
    """A node less by name is the row with one machine less, from the objects themselves."""
    path = made[0] if of == "plan" else CLUSTER
    rows = json.loads(Path(made[0]).read_text())["shapes"]
    row = next(row for row in rows if row["count"] > 1)
    node = row["nodes"][-1]
    found = told(capsys, "what-if", path, "--drop", f"node/{node}")
    objects = json.loads(Path(CLUSTER).read_text())
    for item in objects["items"]:  # the same, by hand: the node is cordoned
        if item["kind"] == "Node" and item["metadata"]["name"] == node:
            item["spec"]["unschedulable"] = True
    other = Path(made[0]).with_name(f"cordoned-{of}.json")
    other.write_text(json.dumps(objects))
    out = other.with_name(f"after-{of}.json")
    assert run(["plan", str(other), "-o", str(out)]) == 0
    before, after = due(made[0]), due(out)
    assert any(own["before"] != own["after"] for own in found["users"])
    for own in found["users"]:
        assert own["before"] == pytest.approx(before[own["user"]], rel=1e-6)
        assert own["after"] == pytest.approx(after[own["user"]], rel=1e-6, abs=1e-6)


def test_a_weight_of_a_queue_is_that_of_the_plan(capsys, made):
    found = told(capsys, "what-if", CLUSTER, "--set", "weight.ml=2", "--set", "weight.data=.5")
    after = due(made[1])
    for own in found["users"]:
        assert own["after"] == pytest.approx(after[own["user"]], rel=1e-6, abs=1e-6)


def test_explain_knows_the_workloads_of_a_plan(capsys, made):
    assert run(["explain", made[0], "ml/train", "--no-again"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"ml/train gets {due(made[0])['ml/train']:.6g} tasks")


def test_nodes_that_are_none(capsys, made):
    node = json.loads(Path(made[0]).read_text())["shapes"][0]["nodes"][0]
    for words, said in (
        (["--drop", "node/moon"], "--drop: found 'node/moon'; wanted"),
        (["--drop", f"node/{node}", "--drop", f"node/{node}"], "a second time"),
        (["--losses", "--drop", f"node/{node}"], "--losses excludes"),
    ):
        assert run(["what-if", made[0], *words]) == 2
        assert said in capsys.readouterr().err


def test_a_plan_of_another_form_is_named_by_field(capsys, tmp_path, made):
    data = json.loads(Path(made[0]).read_text())
    data["shapes"][0]["count"] = "many"
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data))
    assert run(["what-if", str(path), "--drop", "node/x"]) == 2
    assert "shapes[0].count: found the text 'many'" in capsys.readouterr().err


def test_losses_by_hand():
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[4.0], [6.0]],
        count=[2, 1],
        placement=np.array([[1, 0], [1, 1]], dtype=bool),
        users=["A", "B"],
        servers=["x", "y"],
    )
    # max-min: 8 + 6 are shared, 7 each; without one x 4 and 6; without y 4 each
    found = losses(inst, fo.MaxMin())
    by_row = {own.server: own for own in found}
    assert (by_row["x"].user, by_row["x"].losers, by_row["y"].losers) == ("A", 2, 2)
    assert (by_row["x"].before, by_row["x"].after) == pytest.approx((7, 4))
    assert [own.part for own in found] == pytest.approx([3 / 7, 3 / 7])


def test_the_loss_of_the_only_machine_of_somebody_is_told(capsys, tmp_path):
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[4.0], [6.0]],
        placement=np.array([[1, 0], [0, 1]], dtype=bool),
        users=["A", "B"],
        servers=["x", "y"],
    )
    found = losses(inst, fo.MaxMin())
    assert all(own.none and own.part == 1 for own in found)
    assert "A" in next(own.none for own in found if own.server == "x")


def test_losses_on_the_command_line(capsys, made, tmp_path):
    out = tmp_path / "losses.json"
    assert run(["what-if", made[0], "--losses", "-o", str(out)]) == 0
    text = capsys.readouterr().out
    found = json.loads(out.read_text())["losses"]
    assert text.startswith("lose one of") and found[0]["server"] in text.splitlines()[2]
    parts = [own["part"] for own in found]
    assert parts == sorted(parts, reverse=True)
    assert {own["server"] for own in found} == {
        row["shape"] for row in json.loads(Path(made[0]).read_text())["shapes"]
    }


def test_what_if_adds_a_user_as_if_its_pods_were_there(capsys, made, tmp_path):
    """The same as a Deployment of four pods that wait, put among the objects by hand."""
    found = told(
        capsys, "what-if", made[0], "--add", "team=ml/new,queue=ml,tasks=4,cpu=4,memory=8Gi"
    )
    after = {row["user"]: row["after"] for row in found["users"]}
    objects = json.loads(Path(CLUSTER).read_text())
    for k in range(4):
        meta = {"name": f"new-{k}", "namespace": "ml"}
        meta["ownerReferences"] = [{"kind": "Job", "name": "new", "controller": True}]
        # as --add: wherever its task fits, whatever the taints
        spec = {"containers": [{"resources": {"requests": {"cpu": "4", "memory": "8Gi"}}}]}
        spec["tolerations"] = [{"operator": "Exists"}]
        pod = {"kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Pending"}}
        objects["items"].append(pod)
    path = tmp_path / "more.json"
    path.write_text(json.dumps(objects))
    assert run(["plan", str(path), "-o", str(tmp_path / "after.json")]) == 0
    wanted = due(tmp_path / "after.json")
    for name, tasks in after.items():
        assert tasks == pytest.approx(wanted[name], rel=1e-6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("team=new,queue=mll,cpu=4", "wanted ml, the nearest of"),
        ("team=new,cpu=4", "found no queue"),
        ("team=new,queue=ml", "found no name or no amount"),
        ("team=new,queue=ml,cpu=4000", "fits on no node"),
        ("team=new,queue=ml,cpu=x", "wanted a quantity"),
        ("team=new,queue=ml,gpus=4", "wanted"),
        ("team=ml/train,queue=ml,cpu=4", "a name that there is"),
    ],
)
def test_a_user_that_cannot_be_added_is_one_message(capsys, made, text, words):
    assert run(["what-if", made[0], "--add", text]) == 2
    assert words in capsys.readouterr().err


def test_check_and_plot_take_a_plan(capsys, made, tmp_path):
    assert run(["check", made[0]]) == 0
    shown = capsys.readouterr()
    assert "holds     envy-free" in shown.out and "holds     pareto-optimal" in shown.out
    assert run(["check", made[0], "--property", "pareto-optimal"]) == 0
    assert run(["plot", made[0], "--kind", "levels", "-o", str(tmp_path / "levels.svg")]) == 0
    assert "ml/train" in (tmp_path / "levels.svg").read_text()


def test_report_of_a_plan_says_what_it_says(capsys, tmp_path):
    path, page = tmp_path / "plan.json", tmp_path / "plan.html"
    assert run(["plan", CLUSTER, "--moves", str(tmp_path / "m.csv"), "-o", str(path)]) == 0
    assert run(["report", str(path), "-o", str(page)]) == 0
    text = page.read_text().partition('id="data">')[2].partition("</script>")[0]
    (shown,) = json.loads(text)["results"]
    plan = json.loads(path.read_text())
    assert shown["certified"] and all(row["holds"] for row in shown["judged"])
    assert [row["says"] for row in shown["workloads"]] == [r["says"] for r in plan["workloads"]]
    assert sum(shown["moved"].values()) == len(plan["moves"])
    assert [row["due"] for row in shown["queues"]] == [row["due"] for row in plan["queues"]]
    # a plan that says more than its answer is not called certified
    plan["workloads"][0]["whole"] += 1
    path.write_text(json.dumps(plan))
    assert run(["report", str(path), "-o", str(page)]) == 0
    assert '"certified":false' in page.read_text()


def test_losses_of_whole_rows_by_hand():
    """Two users of weight 1 on x (3 machines) and y (1): a needs x, b runs on both."""
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[2.0], [2.0]],
        placement=[[True, False], [True, True]],
        count=[3, 1],
        users=["a", "b"],
        servers=["x", "y"],
    )
    found = {own.server: own for own in losses(inst, fo.MaxMin(), whole=True)}
    # with both 8 tasks, 4 each; without y 6, 3 each; without x nobody runs a, and b has 2
    assert found["x"].none == "a: no server left" and found["x"].part == 1
    assert (found["x"].user, found["x"].before, found["x"].after) == ("a", pytest.approx(4), 0.0)
    assert found["x"].losers == 2
    assert (found["y"].before, found["y"].after) == pytest.approx((4, 3), rel=1e-6)
    assert found["y"].losers == 2


def test_rows_belong_to_losses(capsys, made):
    assert run(["what-if", made[0], "--of-rows", "--drop", "ml"]) == 2
    assert "--of-rows belongs to --losses" in capsys.readouterr().err
    assert run(["what-if", made[0], "--losses", "--of-rows"]) == 0
    assert capsys.readouterr().out.startswith("lose all of")


QUESTIONS = [
    ["what-if", "FILE", "--set", "weight.ml=2", "--drop", "node/gpu-1"],
    ["what-if", "FILE", "--losses"],
    ["explain", "FILE", "ml/train", "--no-again"],
    ["diff", "FILE", "OTHER"],
    ["check", "FILE"],
    ["audit", "FILE"],
    ["compare", "FILE"],
]


@pytest.mark.parametrize("words", QUESTIONS, ids=lambda words: " ".join(words[:3]))
def test_what_kubectl_prints_is_asked_as_its_plan(capsys, made, words):
    plan, other = made
    answers = []
    for file in (plan, CLUSTER):
        capsys.readouterr()
        assert run([{"FILE": file, "OTHER": other}.get(word, word) for word in words]) == 0
        answers.append(capsys.readouterr().out.replace(file, "FILE"))
    assert answers[0] == answers[1]


def test_what_kubectl_prints_is_drawn_and_reported_as_its_plan(made, tmp_path):
    (tmp_path / "monday.json").write_text(Path(CLUSTER).read_text())
    for words, suffix in (
        (["report"], "html"),
        (["plot"], "svg"),
        (["plot", "--kind", "levels"], "svg"),
    ):
        drawn = []
        for k, file in enumerate((made[0], str(tmp_path / "monday.json"))):
            path = tmp_path / f"{k}.{suffix}"
            assert run([*words, file, "-o", str(path)]) == 0
            drawn.append(path.read_bytes())
        assert drawn[0] == drawn[1]


SHOWN = [
    (["plan", CLUSTER], "queue weight asked held due could hold whole"),
    (["plan", CLUSTER], "shape nodes use (price of all of it)"),
    (["plan", CLUSTER, "--table", "queues", "--columns", "queue,asked,held,whole"], "asked whole"),
    (["plan", CLUSTER, "--moves", "MOVES"], "queue asked held due whole"),
    (["plan", CLUSTER, "--stay", "--frontier"], "may miss stay moved at least proved"),
    (["what-if", CLUSTER, "--drop", "node/gpu-1"], "user before after change level before"),
    (["what-if", CLUSTER, "--losses"], "lose one of machines hurts most before after losers"),
    (["diff", "LESS", "PLAN"], "user before after change level before level after"),
    (["audit", CLUSTER], "user held due difference could hold"),
    (["compare", "kesidis2018/example"], "notion or scheduler n1 n2 efficiency used least most"),
    (["check", CLUSTER], "holds sharing-incentive margin"),
    (["whole", "kesidis2018/example", "--notion", "proportional"], "user asked due whole part"),
    (["lint", CLUSTER], "warning limit-never-binds: ResourceQuota"),
    (["replay", "kesidis2018/example", "--log", "LOG", "--slice", "1h"], "user wanted held due by"),
]


@pytest.mark.parametrize(("words", "columns"), SHOWN, ids=lambda own: " ".join(own)[:40])
def test_key_columns_stay_at_every_width(capsys, monkeypatch, tmp_path, made, words, columns):
    """At 80 and at 200 columns the same is printed, and what a table is read by is in the first 80
    characters of a line; no name is cut."""
    (tmp_path / "log.csv").write_text(
        "time,user,server,tasks\n0,n1,s1,4\n0,n2,s2,5\n2,n1,s1,0\n3,n2,s2,0\n"
    )
    files = {"MOVES": tmp_path / "m.csv", "PLAN": made[1], "LOG": tmp_path / "log.csv"}
    files["LESS"] = tmp_path / "less.json"
    cluster = json.loads(Path(CLUSTER).read_text())
    cluster["items"] = [o for o in cluster["items"] if o["metadata"]["name"] != "gpu-1"]
    files["LESS"].write_text(json.dumps(cluster))
    told = []
    for width in ("80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        capsys.readouterr()
        assert run([str(files.get(word, word)) for word in words]) in (0, 6)
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] and "\u2026" not in told[0]
    rest = columns.split()
    assert any(all(word in line[:80].split() for word in rest) for line in told[0].splitlines()), (
        told[0]
    )
