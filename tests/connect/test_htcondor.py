"""HTCondor's ads: slots and jobs as condor_status and condor_q print them in JSON."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import fairopt as fo
from fairopt import cli
from fairopt.connect.readers import sources
from tests.connect.test_exports_kueue import planned, run

DEFAULT = "/Expr(ifThenElse(MemoryUsage =!= undefined,MemoryUsage,(ImageSize + 1023) / 1024))/"


def slot(name: str, cpus: int, memory: int, gpus: int = 0, **more) -> dict:
    host = name.partition("@")[2]
    own = {
        "Name": name,
        "Machine": host,
        "State": "Unclaimed",
        "Arch": "X86_64",
        "MyType": "Machine",
    }
    own |= {"SlotType": "Partitionable", "PartitionableSlot": True, "Cpus": 1, "Memory": 3}
    return {**own, "TotalSlotCpus": cpus, "TotalSlotMemory": memory, "TotalSlotGPUs": gpus, **more}


def job(cluster: int, proc: int, owner: str, status: int = 1, **more) -> dict:
    own = {"ClusterId": cluster, "ProcId": proc, "Owner": owner, "JobStatus": status}
    return {**own, "JobUniverse": 5, "RequestCpus": 2, "RequestMemory": 1000, **more}


def read(tmp_path, slots, jobs):
    (tmp_path / "slots.json").write_text(json.dumps(slots))
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    return sources.cluster([str(tmp_path / "jobs.json"), str(tmp_path / "slots.json")])


def test_slots_are_nodes_and_jobs_tasks(tmp_path) -> None:
    slots = [
        slot("slot1@a", 8, 4000, 2),
        slot("slot1_1@a", 2, 1000, SlotType="Dynamic", DynamicSlot=True, State="Claimed"),
        {"Name": "slot1@b", "Machine": "b", "SlotType": "Static", "cpus": 4, "MEMORY": 2000},
        slot("slot1@c", 8, 4000, State="Owner"),
        slot("slot1@d", 8, 4000, Offline=True),
    ]
    jobs = [
        job(1, 0, "ann", 2, RemoteHost="slot1_1@a"),
        job(1, 1, "ann", 7, RemoteHost="slot1_2@a"),
        *[job(1, k, "ann") for k in range(2, 6)],
        job(2, 0, "bob", 6, RemoteHost="slot1@b", AcctGroup="physics"),
        job(3, 0, "bob", AccountingGroup="group_x.y.bob", RequestGPUs=1, RequestCpus=1),
        *[job(4, k, "bob", status) for k, status in enumerate((3, 4, 5))],
        job(5, 0, "bob", 2, JobUniverse=7),
        job(6, 0, "cyd", RequestMemory=DEFAULT, ImageSize=2049),
        job(7, 0, "cyd", RequestMemory=DEFAULT, ImageSize=2049, MemoryUsage=700),
        job(8, 0, "cyd", RequestMemory="/Expr(2 * 3)/", MemoryProvisioned=128),
        job(9, 0, "dan", Requirements='/Expr((TARGET.Arch == "X86_64") && TARGET.HasPhi)/'),
    ]
    found = read(tmp_path, slots, jobs)
    offered = {node.name: dict(node.allocatable) for node in found.nodes}
    assert offered["slot1@a"] == {"cpu": 8, "memory": 4000 * 2**20, "gpu": 2}
    assert offered["slot1@b"] == {"cpu": 4, "memory": 2000 * 2**20}
    assert {node.name: node.out for node in found.nodes if node.out} == {
        "slot1@c": "owner",
        "slot1@d": "offline",
    }
    work = {(w.queue, w.name, w.demand["memory"] / 2**20): w for w in found.workloads}
    ann = work["ann", "ann", 1000]
    assert ann.held == {"slot1@a": 2} and ann.waiting == 4 and ann.demand["cpu"] == 2
    assert work["physics", "bob", 1000].held == {"slot1@b": 1}
    assert work["group_x.y", "bob", 1000].demand["gpu"] == Fraction(1)
    assert {key[2] for key in work if key[1] == "cyd"} == {3, 700, 128}
    assert len(found.workloads) == 7
    assert found.beyond == {"requirements of HTCondor": ["9.0"]}


def test_a_pool_is_planned_and_verified(tmp_path) -> None:
    slots = [slot("slot1@a", 8, 8000), slot("slot1@b", 8, 8000)]
    jobs = [job(1, k, "ann") for k in range(20)] + [job(2, k, "bob") for k in range(20)]
    (tmp_path / "both.json").write_text(json.dumps([*slots, *jobs]))
    plan = planned(str(tmp_path / "both.json"), tmp_path / "plan.json", "--weight", "ann=3")
    # 16 cores, 2 a job, shares as 3 to 1
    assert {row["queue"]: row["whole"] for row in plan["queues"]} == {"ann": 6, "bob": 2}
    assert run("verify", str(tmp_path / "plan.json")) == 0
    assert (
        run("import", "htcondor", str(tmp_path / "both.json"), "-o", str(tmp_path / "m.toml")) == 0
    )
    assert fo.connect.kubernetes([*slots, *jobs], weights={"ann": 3}).plan().data == plan


@pytest.mark.parametrize(
    ("slots", "jobs", "said"),
    [
        ([slot("s@a", 8, 1)] * 2, [job(1, 0, "x")], "slot s@a: found this name a second time"),
        ([slot("s@a", -1, 1)], [job(1, 0, "x")], "slot s@a.totalslotcpus"),
        ([slot("s@a", 8, 1)], [job(1, 0, "x", 2, RemoteHost="s_1@z")], "job 1.0.RemoteHost"),
        ([slot("s@a", 8, 1)], [job(1, 0, "x", RequestCpus="/Expr(3)/")], "job 1.0.RequestCpus"),
        ([slot("s@a", 8, 1)], [job(1, 0, "")], "no Owner"),
    ],
)
def test_faults_name_ad_and_attribute(tmp_path, slots, jobs, said) -> None:
    with pytest.raises(fo.BadInput, match=said):
        read(tmp_path, slots, jobs)


def test_numbers_beyond_all_machines_are_named(tmp_path, capsys) -> None:
    slots, jobs = tmp_path / "slots.json", tmp_path / "jobs.json"
    slots.write_text(json.dumps([slot("a", 8, 16000)]).replace("16000", "1e999"))
    jobs.write_text(json.dumps([job(1, 0, "ann")]).replace("1000", "1e999"))
    assert cli.run(["plan", str(slots), str(jobs)]) == 2
    told = capsys.readouterr().err
    assert "job 1.0.RequestMemory" in told and "at most 1e18" in told
