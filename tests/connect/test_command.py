"""fairopt plan and fairopt import from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fairopt as fo
from fairopt.cli import run

CLUSTER = str(Path(__file__).parents[2] / "examples" / "kubernetes" / "cluster.json")


def test_json_is_what_is_written(tmp_path, capsys):
    path = tmp_path / "plan.json"
    assert run(["plan", CLUSTER, "--json", "-o", str(path)]) == 0
    assert capsys.readouterr().out == path.read_text()
    assert run(["verify", str(path)]) == 0
    assert run(["verify", str(path), "--json"]) == 0


def test_import_and_plan_is_plan(tmp_path, capsys):
    model = tmp_path / "model"
    assert run(["import", "kubernetes", CLUSTER, "-o", str(model)]) == 0
    assert "left out: ml/giant: task larger than any node" in capsys.readouterr().err
    instance = fo.read(model).instance
    assert instance.shape == (8, 6, 4)
    assert run(["plan", CLUSTER, "--json"]) == 0
    whole = capsys.readouterr().out
    assert run(["plan", str(model), "--json"]) == 0
    assert capsys.readouterr().out == whole  # held, stuck workloads and names of nodes as well


STORY = str(Path(__file__).parents[2] / "examples" / "kueue" / "story-3.yaml")


@pytest.mark.parametrize("where", ["model", "model.toml"])
@pytest.mark.parametrize("files", [[CLUSTER, "--stay"], [STORY]])
def test_a_plan_of_an_import_is_that_of_the_files(tmp_path, capsys, where, files):
    model = str(tmp_path / where)
    assert run(["import", "kubernetes", files[0], "-o", model]) == 0
    assert run(["plan", *files, "--json"]) == 0
    whole = capsys.readouterr().out
    assert run(["plan", model, *files[1:], "--json"]) == 0
    assert capsys.readouterr().out == whole


OTHERS = {
    "kubernetes": ("c.json", Path(CLUSTER).read_text(encoding="utf-8"), "objects of Kubernetes"),
    "kueue": ("k.yaml", Path(STORY).read_text(encoding="utf-8"), "objects of Kueue"),
    "slurm": ("n.txt", "NodeName=n CPUTot=4 RealMemory=9 State=IDLE\n", "what Slurm prints"),
    "tables": ("nodes.csv", "node,count,cpu\nn,1,4\n", "tables of nodes"),
    "yarn": ("f.xml", "<allocations><queue name='a'/></allocations>", "an allocation file of YARN"),
    "yunikorn": ("q.yaml", "partitions: [{name: default, queues: [{name: root}]}]", "of YuniKorn"),
    "armada": ("a.yaml", "apiVersion: armadaproject.io/v1\nkind: Queue\nname: q\n", "of Armada"),
    "volcano": (
        "v.yaml",
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\n",
        "queues of Volcano",
    ),
    "kai": (
        "kai.yaml",
        "apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: q}\nspec: {}\n",
        "queues of KAI",
    ),
    "htcondor": (
        "s.json",
        '[{"Machine": "m", "Name": "s@m", "SlotType": "Static", "Cpus": 1}]',
        "ads of HTCondor",
    ),
}
"""of every kind a file, and how a message calls it"""


@pytest.mark.parametrize("kind", OTHERS)
def test_files_of_another_kind_are_refused_by_name(tmp_path, capsys, kind):
    for given, (name, text, words) in OTHERS.items():
        (tmp_path / name).write_text(text)
        code = run(["import", kind, str(tmp_path / name), "-o", str(tmp_path / "model")])
        told = capsys.readouterr().err
        # Kueue, Volcano, KAI and Armada keep their queues as objects of Kubernetes
        fits = given == kind or (
            kind == "kubernetes" and given in ("kueue", "volcano", "kai", "armada")
        )
        refused = "files: found" in told and words in told.partition("; wanted")[0]
        assert refused != fits, told
        assert (code == 2) if refused else True


def test_a_model_changed_by_hand_has_the_last_word(tmp_path, capsys):
    model = tmp_path / "model"
    assert run(["import", "kubernetes", CLUSTER, "-o", str(model)]) == 0
    servers = model / "servers.csv"
    rows = [line.split(",") for line in servers.read_text().splitlines()]
    name, before = rows[1][0], int(rows[1][1])
    rows[1][1] = str(before - 1)
    servers.write_text("\n".join(",".join(row) for row in rows) + "\n")
    capsys.readouterr()
    assert run(["plan", str(model), "--json", "--stay"]) == 0
    plan = json.loads(capsys.readouterr().out)
    shape = next(row for row in plan["shapes"] if row["shape"] == name)
    assert len(shape["nodes"]) == before - 1 == shape["count"]
    gone = [row for row in plan["out"] if row["why"] == "not in the model"]
    left = {row["from"] for row in plan["moves"] if row["do"] in ("leave", "move", "start")}
    assert all(row["held"] for row in gone) and {row["node"] for row in gone} <= left


def test_what_an_import_kept_is_checked(tmp_path, capsys):
    model = tmp_path / "model"
    assert run(["import", "kubernetes", CLUSTER, "-o", str(model)]) == 0
    kept = json.loads((model / "cluster.json").read_text())
    kept["shapes"][1]["nodes"] = kept["shapes"][0]["nodes"]
    kept_text = json.dumps(kept)
    (model / "cluster.json").write_text(kept_text)
    assert run(["plan", str(model)]) == 2
    assert "shapes[1].nodes: found 'gpu-1' again" in capsys.readouterr().err


def test_kinds_of_cards_are_modes_of_the_model(tmp_path, capsys):
    model, path = tmp_path / "model", tmp_path / "plan.json"
    kinds = ["--gpu-kind", "nvidia.com/gpu.product=A100:1,T4:.4"]
    assert run(["import", "kubernetes", CLUSTER, *kinds, "-o", str(model)]) == 0
    assert set(fo.read(model).instance.modes) == {"ml/train", "ml/tune"}
    assert run(["solve", str(model)]) == 0  # the model's case is the plan's notion
    assert run(["plan", str(model), "-o", str(path)]) == 0
    assert run(["verify", str(path)]) == 0
    due = {row["workload"]: row["due"] for row in json.loads(path.read_text())["workloads"]}
    assert due["ml/train"] == pytest.approx(9.6)


def test_plan_of_a_shipped_model(tmp_path, capsys):
    path = tmp_path / "plan.json"
    assert run(["plan", "real/google2011", "-o", str(path)]) == 0
    assert "40 workloads, 12,583 nodes in service of 10 shapes" in capsys.readouterr().out
    assert run(["verify", str(path)]) == 0
    data = json.loads(path.read_text())
    lost = [row["whole"] / row["due"] for row in data["workloads"]]
    assert min(lost) > 0.95  # no user pays for the rounding of all


def test_weights_and_notions(capsys):
    assert run(["plan", CLUSTER, "--json", "--weight", "ml=3", "--alpha", "1"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {row["queue"]: row["weight"] for row in data["queues"]}["ml"] == 3
    assert data["answer"]["notion"]["name"] == "alpha-fair"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([CLUSTER, "--group-by", "colour"], "group-by: found 'colour'"),
        ([CLUSTER, "--gpu-kind", "A100"], "gpu-kind: found 'A100'"),
        ([CLUSTER, "--gpu-kind", "nvidia.com/gpu.product=A100:1"], "node gpu-3.metadata.labels"),
        ([CLUSTER, "--weight", "ml=0"], "--weight: found 'ml=0'"),
        ([CLUSTER, "--weight", "mm=1"], "the queue 'mm'"),
        (["none.json"], "none.json"),
        ([CLUSTER, CLUSTER], "this name a second time"),
        (["real/google2011", "--weight", "a=1"], "a model says itself"),
    ],
)
def test_refused(arguments, said, capsys):
    assert run(["plan", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "nothing in it"),
        ("junk", "found the text 'junk'"),
        ('{"kind": "List", "items": []}', "nodes: found none"),
        ('{"kind": "Service", "metadata": {"name": "web"}}', "(web): found the kind 'Service'"),
        ("kind: Node\nmetadata: {name: n}\n", "node n.status.allocatable: found nothing"),
        (
            "kind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: 12QB}}\n",
            "node n.status.allocatable.cpu: found the text '12QB'",
        ),
        ("kind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: .nan}}\n", "'.nan'"),
        ("kind: !!python/object/apply:os.abort []\n", "the tag"),
        ("a: &a [x]\nb: [*a, *a]\n", "an alias"),
    ],
)
def test_hostile_files(content, said, tmp_path, capsys):
    path = tmp_path / "given.yaml"
    path.write_text(content)
    assert run(["plan", str(path)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told
