"""Clusters and plans in Python: the same as the command line, from paths, dicts and frames."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import fairopt as fo
from fairopt.connect import api
from tests.connect.test_exports_kueue import cluster as objects_of_kueue
from tests.connect.test_exports_kueue import run, written

EXAMPLES = Path(__file__).parents[2] / "examples"
CLUSTER = EXAMPLES / "kubernetes" / "cluster.json"
NODES = pd.DataFrame({"node": ["big", "small"], "count": [2, 3], "cpu": [16, 4], "gpu": [4, 0]})
TEAMS = pd.DataFrame(
    {"team": ["train", "web"], "tasks": [20, None], "cpu": ["2", "500m"], "gpu": [1, 0]}
)


def test_a_plan_is_that_of_the_command_line(tmp_path: Path) -> None:
    kind = "nvidia.com/gpu.product=A100:1,T4:.4"
    plan = fo.connect.kubernetes(CLUSTER, gpu_kinds=[kind], weights={"ml": 2}).plan()
    plan.save(tmp_path / "python.json")
    out = tmp_path / "command.json"
    given = ("--gpu-kind", kind, "--weight", "ml=2", "-o", str(out))
    assert run("plan", str(CLUSTER), *given) == 0
    assert (tmp_path / "python.json").read_bytes() == out.read_bytes()
    again = api.load(tmp_path / "python.json")
    assert again.data == plan.data and again.certified
    assert again.answer.totals.sum() == pytest.approx(
        sum(row["due"] for row in plan.data["workloads"])
    )


def test_paths_dicts_and_lists_are_the_same_cluster() -> None:
    data = json.loads(CLUSTER.read_text())
    half = len(data["items"]) // 2
    ways = [
        fo.connect.kubernetes(str(CLUSTER)),
        fo.connect.kubernetes(data),
        fo.connect.kubernetes(data["items"][half:], {**data, "items": data["items"][:half]}),
    ]
    assert len({repr(own) for own in ways}) == 1
    assert repr(ways[0]).startswith("Cluster(12 nodes, 3 queues, 11 workloads)")
    first = ways[0].plan().data
    assert all(own.plan().data == first for own in ways[1:])


def test_tables_are_frames_or_files(tmp_path: Path) -> None:
    NODES.to_csv(tmp_path / "nodes.csv", index=False)
    TEAMS.convert_dtypes().to_csv(tmp_path / "teams.csv", index=False)
    held = pd.DataFrame({"team": ["train"], "node": ["big"], "tasks": [3]})
    from_frames = fo.connect.tables(NODES, TEAMS, held, weights={"train": 2})
    held.to_csv(tmp_path / "held.csv", index=False)
    paths = [tmp_path / f"{name}.csv" for name in ("nodes", "teams", "held")]
    from_files = fo.connect.tables(*paths, weights={"train": 2})
    assert from_frames.plan().data == from_files.plan().data
    due = from_frames.plan().to_frame("queues")["due"]
    # 8 cards bound train; web takes the 28 cpu that are left, in halves
    assert due.to_dict() == pytest.approx({"train": 8, "web": 56})
    work = from_frames.to_frame()
    assert work.loc["train", "held"] == 3 and work.loc["train", "cpu"] == 2
    assert from_frames.to_frame("nodes")["count"].to_dict() == {"big": 2, "small": 3}


def test_frames_of_a_plan() -> None:
    plan = fo.connect.tables(NODES, TEAMS).plan(whole=True)
    assert list(plan.to_frame("queues").index) == ["train", "web"]
    work = plan.to_frame("workloads")
    assert set(work["status"]) <= {"satisfied", "blocked", "fragmented"}
    placed = plan.to_frame("placed")
    tasks = (placed["machines"] * placed["tasks"]).groupby(placed["workload"]).sum()
    assert tasks.to_dict() == work["whole"].to_dict()
    assert "gpu price" in plan.to_frame("shapes")
    assert plan.moves.empty
    listed = {**plan.data, "moves": [{"pod": "a", "from": "x", "to": "y"}]}
    assert api.Plan(listed).moves.loc["a", "to"] == "y"
    assert plan.data["proof"]["state"] == "proved"
    assert "Queues" in plan._repr_html_() and "<td>any</td>" in plan._repr_html_()
    assert "Workloads" in fo.connect.tables(NODES, TEAMS)._repr_html_()
    assert repr(plan).startswith("Plan(2 queues, ") and plan.certified


def test_queues_of_kueue_and_back(tmp_path: Path) -> None:
    path = written(tmp_path / "objects.json", objects_of_kueue())
    plan = fo.connect.kueue(path).plan()
    plan.save(tmp_path / "plan.json")
    out = tmp_path / "patches.yaml"
    assert run("export", "kueue", str(tmp_path / "plan.json"), path, "-o", str(out)) == 0
    assert plan.export("kueue", path) == out.read_text()
    stay = fo.connect.kueue(path).plan(stay=True, within=0.25)
    assert stay.data["stay"] and stay.certified


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(fo.UsageError, match="no object of Kueue"):
        fo.connect.kueue(CLUSTER)
    with pytest.raises(fo.UsageError, match="argument 1: found int"):
        fo.connect.kubernetes(3)
    with pytest.raises(fo.UsageError, match="weights: found the queue 'nobody'"):
        fo.connect.kubernetes(CLUSTER, weights={"nobody": 2})
    with pytest.raises(fo.BadInput, match="argument 1"):
        fo.connect.kubernetes({"kind": "Service"})
    with pytest.raises(fo.BadInput, match="nothing there"):
        fo.connect.kubernetes(tmp_path / "no.json")
    cluster = fo.connect.tables(NODES, TEAMS)
    for wrong in ({"within": 0.1}, {"seconds": 3}, {"stay": True, "within": 2}):
        with pytest.raises(fo.UsageError):
            cluster.plan(**wrong)
    with pytest.raises(fo.UsageError, match="wanted one of queues"):
        cluster.plan().to_frame("pods")
    with pytest.raises(fo.UsageError, match="'workloads' or 'nodes'"):
        cluster.to_frame("pods")
    spoilt = cluster.plan().data
    spoilt["queues"][0]["due"] += 1
    with pytest.raises(fo.NotCertified):
        api.Plan(spoilt).export("slurm")


@pytest.mark.parametrize(
    "first", ["", "import fairopt.connect.readers.kubernetes", "import fairopt.cli"]
)
def test_names_are_functions_whatever_was_imported(first: str) -> None:
    script = (
        f"{first}\nimport sys, fairopt as fo\n"
        "assert 'cvxpy' not in sys.modules and 'yaml' not in sys.modules\n"
        f"print(fo.connect.kubernetes({str(CLUSTER)!r}), callable(fo.connect.tables))"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert told.stdout == "Cluster(12 nodes, 3 queues, 11 workloads) True\n", told.stderr
