"""CSV tables and Slurm: read into one cluster; every fault with its line and column."""

from __future__ import annotations

import io
import itertools
from fractions import Fraction

import pytest

from fairopt.cli import run
from fairopt.connect.judging import plans as judging
from fairopt.connect.plan import made as plan
from fairopt.connect.plan import problem
from fairopt.connect.readers import slurm, sources
from fairopt.connect.readers.tables import Tables
from fairopt.errors import BadInput
from fairopt.instance.reading import Faults

NODES = (
    "node,count,out,label:zone,cpu,memory\n"
    "big,2,,a,16,64Gi\nsmall,4,,b,4,16Gi\nold,1,down,b,4,16Gi\n"
)
TEAMS = (
    "team,queue,weight,tasks,nodes,label:zone,cpu,memory\n"
    "a,left,2,,,,1,4Gi\nb,left,1,3,small,,500m,1Gi\nc,,,5,,a;b,2,2Gi\n"
)
HELD = "team,node,tasks\na,big,3\nc,old,1\nc,small,2\n"


def cluster(tmp_path, *texts):
    paths = []
    for k, content in enumerate(texts):
        paths.append(tmp_path / f"{k}.csv")
        paths[-1].write_text(content)
    return sources.cluster([str(path) for path in paths])


def test_one_cluster_of_three_tables(tmp_path):
    found = cluster(tmp_path, NODES, TEAMS, HELD)
    assert [(node.name, node.count, node.out) for node in found.nodes] == [
        ("big", 2, ""),
        ("old", 1, "down"),
        ("small", 4, ""),
    ]
    assert [(w.queue, w.name, w.asked, w.held) for w in found.workloads] == [
        ("c", "c", 5, {"old": 1, "small": 2}),
        ("left", "a", None, {"big": 3}),
        ("left", "b", 3, {}),
    ]
    assert found.weights == {"left": 3.0, "c": 1.0}
    made = problem.problem(found)
    assert made.instance.users == ("c", "left/a", "left/b")
    assert made.instance.weight.tolist() == [1, 2, 1]
    assert made.instance.placement.tolist() == [[True, True], [True, True], [False, True]]
    assert made.held_out.tolist() == [1, 0, 0]


def test_order_does_not_matter(tmp_path):
    wanted = plan.dumps(plan.make(problem.problem(cluster(tmp_path, NODES, TEAMS, HELD))))
    for order in itertools.permutations([NODES, TEAMS, HELD]):
        turned = ["\n".join([text.splitlines()[0], *text.splitlines()[:0:-1]]) for text in order]
        assert plan.dumps(plan.make(problem.problem(cluster(tmp_path, *turned)))) == wanted


def test_counted_rows_are_the_same_as_single_ones(tmp_path):
    teams = "team,weight,cpu,memory\na,1,3,1\nb,2,1,3\n"
    merged = cluster(tmp_path, "node,count,cpu,memory\n,6,16,16\n", teams)
    listed = cluster(tmp_path, "node,cpu,memory\n" + ",16,16\n" * 6, teams)
    one, other = (plan.dumps(plan.make(problem.problem(found))) for found in (merged, listed))
    assert one == other


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["node,count,cpu\na,0,1\n", TEAMS], "line 2.count: found the text '0'"),
        (["node,cpu\na,12QB\n", TEAMS], "line 2.cpu: found the text '12QB'"),
        (["node,cpu\na,-1\n", TEAMS], "which is below 0"),
        (["node,cpu\na,1\na,1\n", TEAMS], "the node 'a' a second time"),
        (["node,cpu,cpu\na,1,1\n", TEAMS], "the column 'cpu' twice"),
        (["node,cpu\na,1,2\n", TEAMS], "line 2: found 3 cells"),
        ([NODES, "team,weight,cpu\na,-1,1\n"], "line 2.weight: found the text '-1'"),
        ([NODES, "team,weight,cpu\na,nan,1\n"], "line 2.weight: found the text 'nan'"),
        ([NODES, "team,cpu\na,0\n"], "line 2: found nothing demanded"),
        ([NODES, "team,cpu\na,1\na,1\n"], "the team 'a' a second time"),
        ([NODES, "team,nodes,cpu\na,bigg,1\n"], "team a.nodes: found the text 'bigg'"),
        ([NODES, TEAMS, "team,node,tasks\nx,big,1\n"], "line 2.team: found the text 'x'"),
        ([NODES, TEAMS, "team,node,tasks\na,x,1\n"], "line 2.node: found the text 'x'"),
        ([NODES, TEAMS, "team,node,tasks\na,big,1.5\n"], "line 2.tasks: found the text '1.5'"),
        ([NODES, 'team,cpu\n"a,1\n'], "line 2: found text not in CSV"),
    ],
)
def test_refused(texts, said, tmp_path):
    with pytest.raises(BadInput) as error:
        cluster(tmp_path, *texts)
    assert said in str(error.value)


# -- Slurm ----------------------------------------------------------------------------------------

GPU = (
    "NodeName=g1 Arch=x86_64 CoresPerSocket=32 CPUAlloc=0 CPUEfctv=62 CPUTot=64 CPULoad=0.05 "
    "AvailableFeatures=a100,ib ActiveFeatures=a100,ib Gres=gpu:a100:4(S:0-1) NodeAddr=g1 "
    "NodeHostName=g1 Version=23.02.6 OS=Linux 5.14.0-284.el9 #1 SMP PREEMPT_DYNAMIC Thu Apr 20 "
    "RealMemory=515000 AllocMem=0 FreeMem=500000 Sockets=2 Boards=1 MemSpecLimit=3000 State=IDLE "
    "ThreadsPerCore=1 TmpDisk=0 Weight=7 Owner=N/A MCS_label=N/A Partitions=gpu,all "
    "BootTime=2026-10-01T10:00:00 CfgTRES=cpu=62,mem=515000M,billing=62,gres/gpu=4,gres/gpu:a100=4 "
    "AllocTRES= CapWatts=n/a CurrentWatts=0 Comment=was State=DOWN in May RealMemory=1"
)


def slurm_node(line):
    faults = Faults("x")
    found = slurm.node(line, "line 1", faults)
    faults.stop()
    return found


def test_a_node_of_slurm():
    node = slurm_node(GPU)
    assert node.allocatable == {
        "cpu": Fraction(62),
        "gres/gpu": Fraction(4),
        "memory": Fraction((515000 - 3000) * 2**20),
    }
    assert node.out == ""  # what a comment says of states counts for nothing
    assert node.labels == {
        "feature/a100": "yes",
        "feature/ib": "yes",
        "partition/gpu": "yes",
        "partition/all": "yes",
        "gres/gpu.type": "a100",
    }


@pytest.mark.parametrize(
    ("state", "out"),
    [
        ("IDLE", ""),
        ("MIXED+CLOUD", ""),
        ("ALLOCATED", ""),
        ("IDLE+DRAIN", "drain"),
        ("MIXED*", "not responding"),
        ("DOWN*+DRAIN", "down, drain, not responding"),
        ("IDLE+MAINT+RESERVED", "maint, reserved"),
        ("IDLE~+POWERED_DOWN", "powered_down"),
    ],
)
def test_states(state, out):
    assert slurm_node(GPU.replace("State=IDLE", f"State={state}", 1)).out == out


def test_cards_without_a_sum_are_added_up():
    line = GPU.replace("gres/gpu=4,gres/gpu:a100=4", "gres/gpu:a100=4,gres/gpu:t4=2")
    node = slurm_node(line)
    assert node.allocatable["gres/gpu"] == 6
    assert "gres/gpu.type" not in node.labels


@pytest.mark.parametrize("line", ["Name=x", "NodeName=a CPUTot=many", "NodeName=a RealMemory=1"])
def test_lines_that_are_refused(line):
    with pytest.raises(BadInput):
        slurm_node(line)


def test_shares():
    faults = Faults("x")
    text = "Account|User|RawShares\nroot||\n physics||30\n physics|ann|1\n bio||parent\n"
    assert slurm.shares(text, "x", faults) == {"physics": 30.0, "bio": 1.0}
    assert not faults
    tables = Tables(faults)
    tables.take_shares(io.BytesIO(b"Account|User\n"), "x")
    assert faults


def test_slurm_and_teams_make_a_plan(tmp_path, capsys):
    for name, text in (
        ("nodes.txt", "\n".join(GPU.replace("g1", f"g{k}") for k in range(1, 4)) + "\n"),
        ("shares.txt", "Account|User|RawShares\nroot||\n physics||30\n bio||10\n"),
        (
            "teams.csv",
            "team,queue,label:partition/gpu,cpu,memory,gres/gpu\n"
            "sim,physics,yes,4,16Gi,1\nfold,bio,,4,32Gi,1\n",
        ),
    ):
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in ("nodes.txt", "shares.txt", "teams.csv")]
    assert run(["plan", *paths]) == 0
    said = capsys.readouterr().out
    # twelve cards, shares 3 : 1
    assert "physics      30    any     0    9" in said
    assert "bio          10    any     0    3" in said
    model = tmp_path / "model.toml"
    assert run(["import", "slurm", *paths, "-o", str(model)]) == 0
    assert 'users."physics/sim"' in model.read_text()


def test_a_plan_of_counted_rows_is_verified(tmp_path):
    (tmp_path / "nodes.csv").write_text("node,count,cpu\nbig,3,8\nsmall,2,8\n")
    (tmp_path / "teams.csv").write_text("team,tasks,cpu\na,9,2\nb,9,2\n")
    found = sources.cluster([str(tmp_path / "nodes.csv"), str(tmp_path / "teams.csv")])
    data = plan.make(problem.problem(found))
    assert [row["count"] for row in data["shapes"]] == [5]
    assert judging.judge(data).certified
    data["shapes"][0]["nodes"] = ["big"]  # a name for one of five
    assert not judging.judge(data).certified


ZONES = "node,count,label:zone,cpu\nbig,2,a,8\nsmall,3,b,4\nodd,4,,4\n"


def test_teams_are_spread_over_values_of_a_label(tmp_path):
    """Zone b holds 6 of web's tasks of 2 cores: zone a has 7 of them at most, and odd has none."""
    found = cluster(tmp_path, ZONES, "team,tasks,spread:zone,cpu\nweb,20,1,2\ndb,4,,2\n")
    made = plan.make(problem.problem(found))
    web = next(row for row in made["workloads"] if row["workload"] == "web")
    assert web["whole"] == 13
    assert web["spread"]["skew"] == 1
    assert list(web["spread"]["zones"]) == ["a", "b"]
    assert judging.judge(made).certified


@pytest.mark.parametrize(
    ("teams", "said"),
    [
        ("team,spread:zone,cpu\nweb,0,2\n", "whole number >= 1"),
        ("team,spread:zone,cpu\nweb,x,2\n", "whole number >= 1"),
        ("team,spread:zone,spread:rack,cpu\nweb,1,1,2\n", "a second one"),
    ],
)
def test_what_is_no_spread_is_refused(teams, said, tmp_path):
    with pytest.raises(BadInput, match=said):
        cluster(tmp_path, ZONES, teams)
