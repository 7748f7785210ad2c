"""Jobs of Slurm and Kueue as their commands print them: kinds of cards, arrays, requeues, events,
and everything that is wrong with a file at once."""

from __future__ import annotations

import json

import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.connect.readers.jobs_log import read_jobs
from fairopt.errors import BadInput

CARDS = fo.Instance(
    [[1, 8], [1, 8]],
    [[8, 64], [4, 64]],
    users=["vision", "nlp"],
    servers=["gpu-t4", "gpu-a100"],
    resources=["gpu", "cpu"],
    modes={
        "vision": [
            fo.Mode("t4", servers=["gpu-t4"]),
            fo.Mode("a100", [1, 4], 3.0, ["gpu-a100"]),
        ]
    },
)
# as Slurm 23.11 prints it: a name with a quotation mark and one with spaces, a job that was
# cancelled while it waited, one that still waits, an array that waits, a job that ran twice (-D)
SACCT = """\
JobID|JobName|User|Account|Partition|State|Submit|Start|End|AllocTRES|ReqTRES
100|train "big|vision|lab|gpu|COMPLETED|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T10:00:00|billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1|billing=8,cpu=8,gres/gpu=2,mem=64G,node=1
100.batch|batch||lab||COMPLETED|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T10:00:00|cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1|
101|tiny set|vision|lab|gpu|RUNNING|2026-03-02T08:00:00|2026-03-02T09:00:00|Unknown|cpu=8,gres/gpu:tesla_t4=1,gres/gpu=1,mem=16000M|cpu=8
102|bert|u17|nlp|gpu-t4,gpu-a100|COMPLETED|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T08:30:00|cpu=8,gres/gpu:a100=1,gres/gpu=1|
103|bert|u17|nlp|gpu-a100|CANCELLED by 17|2026-03-02T08:00:00|None|2026-03-02T09:00:00||cpu=16,gres/gpu=2
104_[0-3%2]|sweep|u18|nlp|gpu-t4|PENDING|2026-03-02T11:00:00|Unknown|Unknown||cpu=8,gres/gpu=1
105|late|u18|nlp|gpu-t4|PREEMPTED|2026-03-02T08:00:00|2026-03-02T08:00:00|2026-03-02T09:00:00|cpu=8,gres/gpu=1|cpu=8,gres/gpu=1
105|late|u18|nlp|gpu-t4|COMPLETED|2026-03-02T09:00:00|2026-03-02T11:00:00|2026-03-02T12:00:00|cpu=8,gres/gpu=1|cpu=8,gres/gpu=1
"""  # noqa: E501


def write(tmp_path, text):
    path = tmp_path / "jobs.txt"
    path.write_text(text)
    return path


def levels(logs, hours=4):
    held = logs.held.means(0, 1, hours, len(CARDS.ways), 2)
    return held, logs.wants.means(0, 1, hours, 2, 1)[:, :, 0]


def test_kinds_of_cards_are_modes(tmp_path):
    """vision's ways are t4 and a100, nlp has one. 100 is two fast tasks; 101 is on cards whose kind
    no mode is named by, in a partition no server is: nobody can say in which mode it ran."""
    logs = read_jobs(write(tmp_path, SACCT), CARDS, "sacct")
    assert (logs.jobs, logs.left_out, logs.nowhere) == (6, 0, 2)
    held, wants = levels(logs)
    assert held[:, 1, 1].tolist() == [2, 2, 0, 0] and not held[:, 0].any()
    # 105 ran twice, and was wanted all the time; 102 names two partitions, and so says nothing
    assert held[:, 2, 0].tolist() == [1, 0, 0, 1] and not held[:, 2, 1].any()
    # 103 waited for an hour as two tasks, 104 are four jobs
    assert wants[:, 1].tolist() == [3, 1, 1, 5]
    assert wants[:, 0].tolist() == [2, 2, 0, 0]
    assert logs.ended.alone.tolist() == [2, 2]


def test_a_mode_by_its_partition_and_by_what_it_takes(tmp_path):
    text = SACCT.replace("gres/gpu:a100=2,", "").replace("|gpu|COMPLETED", "|gpu-a100|COMPLETED")
    held, _ = levels(read_jobs(write(tmp_path, text), CARDS, "sacct"))
    assert held[:, 1, 1].tolist() == [2, 2, 0, 0]
    kinds = fo.Instance(
        [[1, 0]],
        [[8, 8]],
        users=["vision"],
        resources=["gres/gpu:tesla_t4", "a100"],
        modes={"vision": [fo.Mode("old"), fo.Mode("new", [0, 1], 3.0)]},
    )
    logs = read_jobs(write(tmp_path, SACCT), kinds, "sacct")
    held = logs.held.means(0, 1, 4, 2, 1)[:, :, 0]
    assert held.T.tolist() == [[0, 1, 1, 1], [2, 2, 0, 0]] and logs.nowhere == 0


def test_all_faults_of_sacct_at_once(tmp_path):
    bad = (
        SACCT.replace("2026-03-02T10:00:00|billing", "2026-03-02T07:00:00|billing")
        .replace("mem=16000M", "mem=many")
        .replace("104_[0-3%2]", "104_[0-9999999]")
        .replace("|u17|nlp|gpu-a100|CANCELLED by 17|2026-03-02T08:00:00", "|u17|nlp|x|y|yesterday")
    )
    bad += "106|a|b\n107|a|u18|nlp|gpu-t4|R|2026-03-02T08:00:00|now|Unknown|gres/gpu=-1|\n"
    with pytest.raises(BadInput) as error:
        read_jobs(write(tmp_path, bad), CARDS, "sacct")
    places = [fault.place for fault in error.value.faults]
    assert places == [
        "line 2, End",
        "line 4, AllocTRES",
        "line 6, Submit",
        "line 7, JobID",
        "line 10",
        "line 11, Start",
        "line 11, AllocTRES",
    ]


def workload(name, queue, created, flavor, cards, conditions, space="lab"):
    pod = {"containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": cards}}}]}
    assigned = [
        {
            "name": "main",
            "flavors": {"nvidia.com/gpu": flavor},
            "resourceUsage": {"nvidia.com/gpu": str(cards)},
            "count": 1,
        }
    ]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": space, "creationTimestamp": created},
        "spec": {
            "queueName": queue,
            "podSets": [{"name": "main", "count": 1, "template": {"spec": pod}}],
        },
        "status": {
            **(
                {"admission": {"clusterQueue": "all", "podSetAssignments": assigned}}
                if flavor
                else {}
            ),
            "conditions": [
                {"type": kind, "status": status, "lastTransitionTime": time, "reason": kind}
                for kind, status, time in conditions
            ],
        },
    }


def event(name, reason, time, kind="Workload", space="lab", **more):
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {"kind": kind, "namespace": space, "name": name},
        "reason": reason,
        "firstTimestamp": time,
        "lastTimestamp": time,
        **more,
    }


NODES = fo.Instance(
    [[1]],
    [[8], [4]],
    users=["vision"],
    servers=["t4", "a100"],
    resources=["gpu"],
    modes={"vision": [fo.Mode("t4", servers=["t4"]), fo.Mode("a100", [1], 3.0, ["a100"])]},
)
DAY = "2026-03-02T0{}:00:00Z".format


def kueue(tmp_path, items, instance=NODES):
    path = write(tmp_path, json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return read_jobs(path, instance, "kueue")


def test_events_tell_what_conditions_forget(tmp_path):
    """Admitted at 0, preempted at 1, admitted again at 3, finished at 4: conditions know the last
    run alone."""
    now = [
        ("QuotaReserved", "True", DAY(3)),
        ("Admitted", "True", DAY(3)),
        ("Evicted", "False", DAY(3)),
        ("Finished", "True", DAY(4)),
    ]
    twice = workload("w", "vision", DAY(0), "a100", 2, now)
    other = workload("v", "vision", DAY(0), None, 1, [("QuotaReserved", "False", DAY(0))])
    at_once = [("Admitted", "True", DAY(2)), ("Finished", "True", DAY(2))]
    quick = workload("q", "vision", DAY(2), "t4", 1, at_once)
    alone = kueue(tmp_path, [twice, other])
    assert alone.held.means(0, 1, 4, 2, 2)[:, 1, 1].tolist() == [0, 0, 0, 2]
    events = [
        event("w", "EvictedDueToPreempted", DAY(1)),
        event("w", "Preempted", DAY(1)),
        event("w", "Admitted", DAY(0)),
        event("w", "QuotaReserved", DAY(0)),
        event("w", "Admitted", DAY(1), kind="Pod"),
        event("w", "Admitted", DAY(1), space="elsewhere"),
        event("w", "Admitted", None, eventTime=DAY(3), firstTimestamp=None),
    ]
    whole = kueue(tmp_path, [*events, twice, other, quick])
    assert whole.held.means(0, 1, 4, 2, 2)[:, 1, 1].tolist() == [2, 0, 0, 2]
    assert whole.held.means(0, 1, 4, 2, 2)[:, 0].sum() == 0
    assert whole.wants.means(0, 1, 4, 1, 1)[:, 0, 0].tolist() == [3, 3, 3, 3]
    assert whole.jobs == 3 and whole.ended.alone.tolist() == [2]


def test_a_flavor_is_a_server_where_nobody_has_modes(tmp_path):
    plain = NODES.replace(modes=None)
    now = [("Admitted", "True", DAY(1)), ("Finished", "True", DAY(2))]
    items = [workload("w", "vision", DAY(0), flavor, 2, now) for flavor in ("a100", "h100")]
    logs = kueue(tmp_path, items, plain)
    assert logs.held.means(0, 1, 2, 1, 2)[:, 0].tolist() == [[0, 0], [0, 2]]
    assert logs.nowhere == 1 and "no one mode or server" in logs.told


def test_all_faults_of_kueue_at_once(tmp_path):
    bad = workload("w", "vision", "soon", "a100", 2, [("Admitted", "True", "then")])
    none = workload("w", "vision", DAY(0), None, "many", [])
    with pytest.raises(BadInput) as error:
        kueue(tmp_path, [bad, {"kind": "Workload"}, none, event("w", "Admitted", "noon")])
    places = {fault.place.partition(".")[0] for fault in error.value.faults}
    assert places == {"items[0]", "items[1]", "items[2]", "items[3]"}


MODEL = """resources = ["gpu", "cpu"]
[servers.gpu-t4]
capacity = { gpu = 8.0, cpu = 64.0 }
[servers.gpu-a100]
capacity = { gpu = 4.0, cpu = 64.0 }
[users.nlp]
demand = { gpu = 1.0, cpu = 8.0 }
[[users.vision.modes]]
name = "t4"
demand = { gpu = 1.0, cpu = 8.0 }
servers = ["gpu-t4"]
[[users.vision.modes]]
name = "a100"
demand = { gpu = 1.0, cpu = 4.0 }
speed = 3.0
servers = ["gpu-a100"]
"""


def test_the_command_says_what_does_not_count(tmp_path, capsys):
    (tmp_path / "m.toml").write_text(MODEL)
    log = write(tmp_path, SACCT)
    asked = ["replay", str(tmp_path / "m.toml"), "--log", str(log), "--format", "sacct"]
    assert run([*asked, "--policy", "kueue:half=2h", "--notion", "max-min"]) == 0
    assert "2 of 6 jobs ran where the model has no one mode or server" in capsys.readouterr().out
    log.write_text(SACCT.replace("T10:00:00|billing", "T07:00:00|billing"))
    assert run(asked) == 2
    assert "line 2, End" in capsys.readouterr().err
