"""fairopt partition, solve-partitions and verify: tables in, an answer out, killed on the way."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.cli import run
from tests.solving.test_partitions import cluster, same_files
from tests.started import started

ROOT = Path(fo.__file__).parent.parent
SERVERS = "name,count,cpu,memory\nsmall,10,8,32\nlarge,2,64,512\nbare,1,16,0\n"
USERS = """name,weight,limit,cpu,memory,servers
batch,1,,4,8,small;large
database,3,20,8,128,large
other,,,1,1,
calm,1,2,3,,bare
"""


def whole() -> fo.Instance:
    placement = [[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 0, 1]]
    inf = np.inf
    return fo.Instance(
        [[4, 8], [8, 128], [1, 1], [3, 0]],
        [[8, 32], [64, 512], [16, 0]],
        np.array(placement, bool),
        [1, 3, 1, 1],
        [inf, 20, inf, 2],
        [10, 2, 1],
    )


def written(folder: Path) -> None:
    (folder / "servers.csv").write_text(SERVERS)
    (folder / "users.csv").write_text(USERS)


def test_from_tables_to_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path)
    parts, out = str(tmp_path / "parts"), str(tmp_path / "out")
    tables = [str(tmp_path / "users.csv"), "--servers", str(tmp_path / "servers.csv")]
    assert run(["partition", *tables, "-o", parts, "--users-per-part", "3"]) == 0
    assert capsys.readouterr().out == f"{parts}: 4 users in 2 partitions\n"
    assert run(["solve-partitions", parts, "-o", out]) == 0
    assert capsys.readouterr().out.startswith("proportional: 4 users in 2 partitions, ")
    tasks = np.concatenate([np.load(tmp_path / "out" / f"tasks-0000{k}.npy") for k in range(2)])
    one = fo.solve(whole(), fo.ProportionalFair())
    np.testing.assert_allclose(tasks.sum(axis=1), one.totals, rtol=1e-8)
    assert run(["verify", out]) == 0
    assert capsys.readouterr().out.startswith("certified: gap")
    np.save(tmp_path / "out" / "tasks-00000.npy", tasks[:3] * 1.01)
    assert run(["verify", out, "--json"]) == 4
    said = capsys.readouterr()
    assert json.loads(said.out)["verdict"] == "refuted"
    assert said.err == "answer.json says certified; its numbers say refuted\n"


def test_parquet_with_lists_or_a_column_a_server(tmp_path: Path) -> None:
    """The same users from three tables: CSV, a list of names, a column for each server."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    written(tmp_path)
    base = {
        "cpu": [4, 8, 1, 3],
        "memory": [8.0, 128.0, 1.0, None],
        "weight": [1.0, 3.0, None, 1.0],
        "limit": [None, 20.0, None, 2.0],
    }
    lists = {"servers": [["small", "large"], ["large"], None, ["bare"]]}
    inst = whole()
    each = {
        f"placement.{name}": inst.placement[:, i].tolist()
        for i, name in enumerate(("small", "large", "bare"))
    }
    (tmp_path / "tables").mkdir()
    for name, more in (("a", lists), ("b", each)):
        parquet.write_table(pa.table({**base, **more}), tmp_path / "tables" / f"{name}.parquet")
    source = fo.partition_tables(
        [tmp_path / "users.csv", tmp_path / "tables"], tmp_path / "servers.csv", tmp_path / "p", 4
    )
    assert len(source) == 3 and source.count.tolist() == [10, 2, 1]
    for k in range(3):
        part = source.read(k)
        np.testing.assert_array_equal(part.demand, inst.demand)
        np.testing.assert_array_equal(part.placement, inst.eligible)
        np.testing.assert_array_equal(part.weight, inst.weight)
        np.testing.assert_array_equal(part.limit, inst.limit)


def test_faults_of_tables_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "servers.csv").write_text(SERVERS)
    (tmp_path / "one.csv").write_text("cpu,wieght\n1,2\n")
    (tmp_path / "two.csv").write_text("cpu,memory,servers\nx,2,small\n-1,2,smal\nnan,1,small\n")
    (tmp_path / "three.csv").write_text("cpu,placement.small,placement.large\n1,yes,true\n")
    (tmp_path / "four.csv").write_text("cpu,memory\n1,2\n3\n")
    (tmp_path / "five.parquet").write_bytes(b"PAR1")
    names = ("one.csv", "two.csv", "three.csv", "four.csv", "five.parquet")
    tables = [str(tmp_path / name) for name in names]
    servers = ["--servers", str(tmp_path / "servers.csv")]
    assert run(["partition", *tables, *servers, "-o", str(tmp_path / "parts")]) == 2
    said = capsys.readouterr().err
    for line in (
        "one.csv, wieght: found an unknown column; wanted weight",
        "two.csv, user 1, cpu: found the text 'x'; wanted a number",
        "two.csv, user 2, servers: found the unknown server 'smal'; wanted small",
        "two.csv, user 2, demand: found [-1.0, 2.0]",
        "two.csv, user 3, demand: found [nan, 1.0]",
        "three.csv: found no column placement.bare",
        "four.csv: found no whole table",
        "five.parquet: found no whole table",
    ):
        assert line in said
    assert not list((tmp_path / "parts").iterdir())
    assert run(["partition", *tables, "-o", str(tmp_path / "parts")]) == 2
    assert "--servers" in capsys.readouterr().err
    assert run(["partition", str(tmp_path / "none.csv"), *servers, "-o", str(tmp_path / "p")]) == 2
    assert "none.csv: found no such table" in capsys.readouterr().err


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts, out = str(tmp_path / "parts"), str(tmp_path / "out")
    assert run(["partition", "kesidis2018/example", "-o", parts]) == 0
    assert run(["solve-partitions", parts, "-o", out, "--criterion", "dominant-share"]) == 2
    assert run(["solve-partitions", parts, "-o", out, "--alpha", "0"]) == 2
    assert run(["solve-partitions", str(tmp_path), "-o", out]) == 2
    assert run(["verify", parts]) == 2
    said = capsys.readouterr().err
    for line in (
        "criterion: found 'dominant-share'",
        "alpha: found 0; wanted at least 0.1",
        "capacity.npy: found no such file",
        "answer.json: 1 fault",
    ):
        assert line in said
    assert run(["partition", "kesidis2018/example", "-o", parts]) == 2
    assert "files of partitions in it" in capsys.readouterr().err


def test_verify_on_several_processes_and_a_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fo.write_partitions(cluster(30_000), tmp_path / "in", 10_000)
    parts, out = str(tmp_path / "in"), str(tmp_path / "out")
    assert run(["solve-partitions", parts, "-o", out, "--limit", "0.000001"]) == 4
    said = capsys.readouterr()
    assert "NotCertified" not in said.err and "proportional" in said.err
    assert run(["solve-partitions", parts, "-o", out, "-j", "2"]) == 0
    capsys.readouterr()
    assert run(["verify", out]) == 0
    one = capsys.readouterr().out
    assert run(["verify", out, "-j", "2"]) == 0
    assert capsys.readouterr().out == one
    assert run(["solve-partitions", parts, "-o", out, "--limit", "-1"]) == 2
    assert "limit_s: found -1" in capsys.readouterr().err
    assert run(["verify", str(tmp_path / "none.json"), "-j", "2"]) == 2
    assert "-j belongs to the folder of an answer in partitions" in capsys.readouterr().err


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_killed_on_the_way_it_goes_on_to_the_same_bytes(tmp_path: Path, how: int) -> None:
    fo.write_partitions(cluster(1000), tmp_path / "in", 100)
    command = ["solve-partitions", str(tmp_path / "in"), "-o"]
    out, state = tmp_path / "two", tmp_path / "two" / "state.npz"
    with started(*command, str(out)) as process:
        end = time.monotonic() + 60
        while not state.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -how), said
    assert state.exists() and not (out / "answer.json").exists()
    assert run([*command, str(out)]) == 0
    assert run([*command, str(tmp_path / "one")]) == 0
    same_files(tmp_path / "one", out)


@pytest.mark.filterwarnings("ignore")  # of Dask's own
def test_a_dask_cluster_writes_the_same_bytes(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    fo.write_partitions(cluster(120), tmp_path / "in", 60)
    command = ["solve-partitions", str(tmp_path / "in"), "-o"]
    assert run([*command, str(tmp_path / "one")]) == 0
    cluster_ = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    )
    with cluster_:
        address = cluster_.scheduler_address
        assert run([*command, str(tmp_path / "two"), "--dask", address]) == 0
    same_files(tmp_path / "one", tmp_path / "two")
