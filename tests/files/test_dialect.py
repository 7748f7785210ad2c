"""One dialect of CSV: the same tables are read by `solve` and by `plan`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.connect.readers import sources
from fairopt.errors import BadInput
from fairopt.files import dialect

SERVERS = "{server},count,cpu,memory\nsmall,10,8000m,32Gi\nlarge,2,64,512Gi\n"
USERS = "{user},weight,{limit},cpu,memory\nbatch,1,,4,8Gi\ndatabase,3,20,8,128Gi\n"
PLACED = "{user},{server}\nbatch,small\nbatch,large\ndatabase,large\n"
GIB = 2.0**30


def written(folder: Path, **words: str) -> list[str]:
    """The three tables in these words, and a file that makes a folder of them."""
    pairs = {**words, "user": words.get("user", "user"), "server": words.get("server", "server")}
    if pairs["user"] == "name":
        pairs.update(user="user", server="server")
    folder.mkdir(exist_ok=True)
    (folder / "model.toml").write_text('resources = ["cpu", "memory"]\n')
    (folder / "servers.csv").write_text(SERVERS.format(**words))
    (folder / "users.csv").write_text(USERS.format(**words))
    (folder / "placement.csv").write_text(PLACED.format(**pairs))
    return [str(folder / name) for name in ("users.csv", "placement.csv", "servers.csv")]


@pytest.mark.parametrize(
    ("user", "server", "limit"),
    [("name", "name", "limit"), ("user", "server", "limit"), ("team", "node", "tasks")],
)
def test_either_reads_all_words(tmp_path: Path, user: str, server: str, limit: str) -> None:
    tables = written(tmp_path / "cluster", user=user, server=server, limit=limit)
    inst = fo.read(tmp_path / "cluster").instance
    assert inst.users == ("batch", "database") and inst.servers == ("small", "large")
    assert np.array_equal(inst.capacity, [[8, 32 * GIB], [64, 512 * GIB]])
    assert np.array_equal(inst.demand, [[4, 8 * GIB], [8, 128 * GIB]])
    assert np.array_equal(inst.limit, [np.inf, 20])
    assert np.array_equal(inst.placement, [[True, True], [False, True]])
    found = sources.cluster(tables)
    assert [(node.name, node.count) for node in found.nodes] == [("large", 2), ("small", 10)]
    small = next(node for node in found.nodes if node.name == "small")
    assert small.allocatable == {"cpu": 8, "memory": 32 * 2**30}
    batch, database = found.workloads
    assert batch.waiting is None and database.waiting == 20
    assert batch.demand == {"cpu": 4, "memory": 8 * 2**30}
    assert batch.rules.refused("small", {}, ()) is None
    assert database.rules.refused("small", {}, ())
    assert database.rules.refused("large", {}, ()) is None


def test_a_column_that_is_a_resource_keeps_its_name() -> None:
    assert dialect.renamed(["name", "node"], ("name", "node"), "users.csv") == ["name", "node"]
    assert dialect.renamed(["user", "name"], ("name",), "users.csv") == ["user", "name"]
    assert dialect.renamed(["server", "cpu"], ("name",), "users.csv") == ["server", "cpu"]


def test_a_limit_on_a_node_is_not_what_is_held(tmp_path: Path) -> None:
    tables = written(tmp_path / "cluster", user="user", server="server", limit="limit")
    other = tmp_path / "limit_on.csv"
    other.write_text("user,server,limit\nbatch,small,3\n")
    with pytest.raises(BadInput, match="limit"):
        sources.cluster([*tables, str(other)])


def test_who_has_no_row_of_placement_runs_nowhere(tmp_path: Path) -> None:
    tables = written(tmp_path / "cluster", user="user", server="server", limit="limit")
    (tmp_path / "cluster" / "placement.csv").write_text("user,server\nbatch,small\n")
    found = sources.cluster(tables)
    assert found.workloads[1].rules.refused("small", {}, ())
    (tmp_path / "cluster" / "placement.csv").write_text("user,server\nnobody,small\nbatch,here\n")
    with pytest.raises(BadInput) as caught:
        sources.cluster(tables)
    assert len(caught.value.faults) == 2
