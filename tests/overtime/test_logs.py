"""Logs of levels over time: means of slices, dates, faults, and jobs of schedulers."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.connect.readers.jobs_log import read_jobs
from fairopt.errors import BadInput
from fairopt.overtime.logs import Log, read_log

INST = fo.Instance([[1], [2]], [[8]], users=["A", "B"], servers=["pool"], resources=["gpu"])
TWO = fo.Instance([[1]], [[8], [8]], users=["A"], servers=["x", "y"], resources=["gpu"])


def write(tmp_path, text):
    path = tmp_path / "log.csv"
    path.write_text(text)
    return path


def test_means_of_slices(tmp_path):
    """A holds 4 from 0.5 to 2.25: half of the first hour, all of the second, a quarter."""
    log = read_log(write(tmp_path, "time,user,tasks\n2.25,A,0\n0.5,A,4\n"), INST)
    means = log.means(0.0, 1.0, 4, 2, 1)[:, :, 0]
    np.testing.assert_allclose(means[:, 0], [2, 4, 1, 0], atol=1e-12)
    assert not means[:, 1].any()


def test_means_are_the_integral():
    rng = np.random.default_rng(4)
    time = np.sort(rng.uniform(0, 10, 40))
    user, tasks = rng.integers(0, 2, 40), rng.uniform(0, 3, 40)
    log = Log(time, user, np.zeros(40, int), tasks)
    means = log.means(0.0, 2.5, 4, 2, 1)[:, :, 0]
    for n in range(2):
        mine = user == n
        ends = np.append(time[mine], 10.0)
        for t in range(4):
            low, high = 2.5 * t, 2.5 * (t + 1)
            over = np.clip(np.minimum(ends[1:], high) - np.maximum(ends[:-1], low), 0, None)
            assert means[t, n] == pytest.approx((over * tasks[mine]).sum() / 2.5)


def test_dates_count_from_the_first(tmp_path):
    text = "time,user,tasks\n2026-01-01T08:00:00Z,A,1\n2026-01-01T10:00:00+01:00,A,0\n"
    log = read_log(write(tmp_path, text), INST)
    assert log.time.tolist() == [0, 1] and log.origin.startswith("2026-01-01T08")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (
            "time,user,tasks\nx,A,1\n0,C,1\n0,A,-1\n0,A\n",
            ["line 2, time", "line 3, user", "line 4, tasks", "line 5"],
        ),
        ("when,user,tasks\n", ["line 1", "line 1"]),
        ("time,user,tasks\n", ["file"]),
        ("time,user,tasks,tasks\n0,A,1,2\n", ["line 1", "line 1"]),
        ("time,user,tasks\n0,A,1\n2026-01-01,A,2\n", ["time"]),
    ],
)
def test_faults_are_told_at_once(tmp_path, text, places):
    with pytest.raises(BadInput) as error:
        read_log(write(tmp_path, text), INST, wants=True)
    assert sorted(f.place for f in error.value.faults) == sorted(places)


def test_servers_must_be_named_where_there_are_several(tmp_path):
    with pytest.raises(BadInput, match="no column server"):
        read_log(write(tmp_path, "time,user,tasks\n0,A,1\n"), TWO)
    log = read_log(write(tmp_path, "time,user,server,tasks\n0,A,y,1\n1,A,y,0\n"), TWO)
    assert log.means(0, 1, 1, 1, 2)[0].tolist() == [[0, 1]]


SACCT = """JobID|User|Account|Partition|Submit|Start|End|AllocTRES
1|A|x|pool|2026-01-01T00:00:00|2026-01-01T01:00:00|2026-01-01T03:00:00|cpu=4,gres/gpu=4
1.batch|||pool|2026-01-01T00:00:00|2026-01-01T01:00:00|2026-01-01T03:00:00|cpu=4,gres/gpu=4
2|nobody|B|pool|2026-01-01T00:00:00|2026-01-01T02:00:00|Unknown|cpu=4,gres/gpu=4
3|Z|y|pool|2026-01-01T00:30:00|Unknown|Unknown|gres/gpu=1
"""


def test_sacct(tmp_path):
    """A job of 4 cards is 4 tasks of A, and 2 of B, who is an account; steps do not count."""
    logs = read_jobs(write(tmp_path, SACCT), INST, "sacct")
    assert (logs.jobs, logs.left_out) == (3, 1)
    held = logs.held.means(0, 1, 3, 2, 1)[:, :, 0]
    wants = logs.wants.means(0, 1, 3, 2, 1)[:, :, 0]
    assert held.tolist() == [[0, 0], [4, 0], [4, 2]] and wants.tolist() == [[4, 2]] * 3


def test_sacct_faults(tmp_path):
    bad = SACCT.replace("2026-01-01T01:00:00|2026", "soon|2026").replace("gpu=4\n2", "gpu=x\n2")
    with pytest.raises(BadInput) as error:
        read_jobs(write(tmp_path, bad), INST, "sacct")
    assert {f.place for f in error.value.faults} >= {"line 2, Start"}
    with pytest.raises(BadInput, match="no column"):
        read_jobs(write(tmp_path, "a|b\n"), INST, "sacct")
    with pytest.raises(BadInput, match="of a user of the model"):
        read_jobs(write(tmp_path, SACCT.replace("|A|", "|Q|").replace("|B|", "|Q|")), INST, "sacct")


def workload(queue, created, admitted, finished, cards, count=1):
    times = {"QuotaReserved": admitted, "Finished": finished}
    pod = {"containers": [{"resources": {"requests": {"nvidia.com/gpu": str(cards)}}}]}
    return {
        "metadata": {"creationTimestamp": created, "namespace": "lab"},
        "spec": {"queueName": queue, "podSets": [{"count": count, "template": {"spec": pod}}]},
        "status": {
            "conditions": [
                {"type": k, "status": "True", "lastTransitionTime": t}
                for k, t in times.items()
                if t
            ]
        },
    }


def test_kueue(tmp_path):
    day = "2026-01-01T0{}:00:00Z".format
    items = [workload("A", day(0), day(1), day(2), 2, 2), workload("B", day(1), None, day(3), 2)]
    logs = read_jobs(write(tmp_path, json.dumps({"items": items})), INST, "kueue")
    assert logs.held.means(0, 1, 3, 2, 1)[:, 0, 0].tolist() == [0, 4, 0]
    assert logs.wants.means(0, 1, 3, 2, 1)[:, 1, 0].tolist() == [0, 1, 1]
    for bad in ("{", "{}", '{"items": [1]}'):
        with pytest.raises(BadInput):
            read_jobs(write(tmp_path, bad), INST, "kueue")


def test_more_slices_than_anybody_waits_for(tmp_path, capsys):
    """One message, whatever asks for them."""
    model, log = tmp_path / "m.toml", write(tmp_path, "time,user,tasks\n0,A,1\n1e300,A,2\n")
    model.write_text(
        "resources=['gpu']\n[servers.p]\ncapacity={gpu=1}\n[users.A]\ndemand={gpu=1}\n"
    )
    for asked in (["horizon", str(model), "--wants"], ["replay", str(model), "--log"]):
        assert run([*asked, str(log)]) == 2
        assert "slice: found 1e+300 slices of 1 h" in capsys.readouterr().err
