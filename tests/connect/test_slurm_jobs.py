"""Slurm's jobs: what waits and what runs where, as sacct prints them."""

from __future__ import annotations

import pytest

import fairopt as fo
from fairopt.connect.readers import sources
from fairopt.connect.readers.slurm_jobs import expanded
from tests.connect.test_exports_kueue import planned, run

NODES = "\n".join(
    f"NodeName=n{k:02d} CPUTot=16 RealMemory=64000 State=IDLE Partitions=gpu,all "
    "CfgTRES=cpu=16,mem=64000M,gres/gpu=4,gres/gpu:a100=4"
    for k in range(1, 5)
)
HEAD = "JobID|Account|User|State|ReqTRES|AllocTRES|NNodes|NodeList"
SHARES = "Account|User|RawShares\nroot||\nml||3\nbio||1\nidle||5\n"


def read(tmp_path, *rows: str, head: str = HEAD, shares: str = ""):
    (tmp_path / "nodes.txt").write_text(NODES)
    (tmp_path / "jobs.txt").write_text("\n".join((head, *rows)) + "\n")
    files = [str(tmp_path / "jobs.txt"), str(tmp_path / "nodes.txt")]
    if shares:
        (tmp_path / "shares.txt").write_text(shares)
        files.append(str(tmp_path / "shares.txt"))
    return files


def test_jobs_are_tasks_by_node(tmp_path) -> None:
    files = read(
        tmp_path,
        "1|ml|ann|RUNNING|billing=9,cpu=8,mem=16G,node=2|billing=9,cpu=8,mem=16G,node=2|2|n[01-02]",
        "1.batch|ml|ann|RUNNING||cpu=8|1|n01",
        "2|ml|ann|PENDING|cpu=4,mem=8G,node=1||1|None assigned",
        "3_[1-10,20%4]|ml|ann|PENDING|cpu=4,mem=8G,node=1||1|None assigned",
        "4|bio|bob|COMPLETING|cpu=2|cpu=2,gres/gpu:a100=1,gres/gpu=1,mem=1.50G|1|n04",
        "5|bio|bob|PENDING|cpu=2,gres/gpu:a100=1,gres/gpu:t4=2,mem=512||1|",
        "6|bio|bob|CANCELLED by 1000|cpu=2||1|n04",
        "7|bio|bob|COMPLETED|cpu=2|cpu=2|1|n04",
    )
    found = sources.cluster(files)
    work = {(w.queue, w.name, w.demand.get("gres/gpu", 0)): w for w in found.workloads}
    ann = work["ml", "ann", 0]
    assert ann.demand == {"cpu": 4, "memory": 8 * 2**30}
    assert ann.held == {"n01": 1, "n02": 1} and ann.waiting == 1 + 11
    assert work["bio", "bob", 1].demand == {"cpu": 2, "gres/gpu": 1, "memory": 3 * 2**29}
    assert work["bio", "bob", 1].held == {"n04": 1}
    assert work["bio", "bob", 3].demand["memory"] == 512 * 2**20
    assert len(found.workloads) == 3
    assert found.beyond == {"jobs of several nodes together": ["1"]}


def test_shares_are_weights_of_accounts(tmp_path) -> None:
    rows = ["1_[1-40]|ml|a|PENDING|cpu=2||1|", "2_[1-40]|bio|b|PENDING|cpu=2||1|"]
    files = read(tmp_path, *rows, shares=SHARES)
    found = fo.connect.kubernetes(*files)
    due = {row["queue"]: row["due"] for row in found.plan().data["queues"]}
    assert due == pytest.approx({"ml": 24, "bio": 8})  # 64 cores, 2 a task, as 3 to 1
    plan = tmp_path / "plan.json"
    assert run("plan", *files, "-o", str(plan)) == 0
    assert run("verify", str(plan)) == 0
    assert run("export", "slurm", str(plan), "-o", str(tmp_path / "limits.sh")) == 0
    said = (tmp_path / "limits.sh").read_text()
    assert "name=ml set GrpTRES=cpu=48 Fairshare=3" in said


def test_partitions_are_where_a_job_may_run(tmp_path) -> None:
    head = "JOBID|PARTITION|ACCOUNT|USER|STATE|NODES|TRES_ALLOC|NODELIST"
    rows = ["1|gpu|ml|a|PENDING|1|cpu=2|", "2|long|ml|a|PENDING|1|cpu=2|"]
    rows.append("3|long,all|ml|a|RUNNING|1|cpu=2|n03")
    plan = planned_files(tmp_path, read(tmp_path, *rows, head=head))
    stuck = [row for row in plan["workloads"] if row["status"] == "stuck"]
    assert len(stuck) == 1 and "partition/long" in stuck[0]["says"]
    assert sum(row["held"] for row in plan["workloads"]) == 1


def planned_files(tmp_path, files):
    return planned(files[0], tmp_path / "plan.json", *files[1:])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[08-10],login", ["n08", "n09", "n10", "login"]),
        ("r[1,3]n[1-2]", ["r1n1", "r1n2", "r3n1", "r3n2"]),
        ("None assigned", []),
        ("", []),
    ],
)
def test_lists_of_nodes(text, names) -> None:
    assert expanded(text) == names


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1|ml|a|RUNNING|cpu=2|cpu=2|1|n99", "job 1.NodeList: found 'n99'"),
        ("1|ml|a|RUNNING|cpu=2|cpu=2|2|n01", "a list of 2 nodes"),
        ("1|ml|a|PENDING|cpu=x||1|", "job 1.TRES.cpu"),
        ("1|ml|a|PENDING|||1|", "TRES such as"),
        ("1|ml|a|PENDING|cpu=1||0|", "a whole number of nodes"),
        ("1_[5-1000000000]|ml|a|PENDING|cpu=1||1|", "an array such as"),
        ("1|ml|a|PENDING|cpu=1,mem=many||1|", "an amount of memory"),
    ],
)
def test_faults_name_the_job_or_the_line(tmp_path, row, said) -> None:
    with pytest.raises(fo.BadInput) as error:
        sources.cluster(read(tmp_path, row))
    assert said in str(error.value)


def test_columns_that_are_needed(tmp_path) -> None:
    with pytest.raises(fo.BadInput, match="line 1: found the columns JobID|User"):
        sources.cluster(read(tmp_path, head="JobID|User"))
