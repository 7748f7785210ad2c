"""One dialect of CSV: the same tables are read by `solve` and by `plan`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.connect.readers import sources
from fairopt.connect.readers import tables as tables_of_plan
from fairopt.errors import BadInput, UsageError
from fairopt.files import cells, promises
from fairopt.files.held import held_of, read_held

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
    assert cells.renamed(["name", "node"], ("name", "node"), "users.csv") == ["name", "node"]
    assert cells.renamed(["user", "name"], ("name",), "users.csv") == ["user", "name"]
    assert cells.renamed(["server", "cpu"], ("name",), "users.csv") == ["server", "cpu"]


def test_a_limit_on_a_node_is_not_what_is_held(tmp_path: Path) -> None:
    tables = written(tmp_path / "cluster", user="user", server="server", limit="limit")
    other = tmp_path / "limit_on.csv"
    other.write_text("user,server,limit\nbatch,small,3\n")
    with pytest.raises(BadInput) as caught:
        sources.cluster([*tables, str(other)])
    (fault,) = caught.value.faults
    assert fault.found == "limit by team and node" and "`fairopt solve` takes such" in fault.wanted


def test_who_has_no_row_of_placement_runs_nowhere(tmp_path: Path) -> None:
    tables = written(tmp_path / "cluster", user="user", server="server", limit="limit")
    (tmp_path / "cluster" / "placement.csv").write_text("user,server\nbatch,small\n")
    found = sources.cluster(tables)
    assert found.workloads[1].rules.refused("small", {}, ())
    (tmp_path / "cluster" / "placement.csv").write_text("user,server\nnobody,small\nbatch,here\n")
    with pytest.raises(BadInput) as caught:
        sources.cluster(tables)
    assert len(caught.value.faults) == 2


def test_spaces_around_cells_are_no_part_of_them(tmp_path: Path) -> None:
    tables = written(tmp_path / "cluster", user="user", server="server", limit="limit")
    plain, base = fo.read(tmp_path / "cluster").instance, sources.cluster(tables)
    for table in tables:
        text = Path(table).read_text()
        Path(table).write_text(text.replace(",", " , ").replace("\n", " \n"))
    spaced = fo.read(tmp_path / "cluster").instance
    assert spaced.users == plain.users and spaced == plain
    assert sources.cluster(tables) == base
    # cell by cell, as a folder with anything unusual is read
    (tmp_path / "cluster" / "limit_on.csv").write_text("user , server, limit\nbatch , small, 3\n")
    assert fo.read(tmp_path / "cluster").instance.limit_on is not None


def test_a_name_with_spaces_around_is_no_cell(tmp_path: Path) -> None:
    inst = fo.Instance([[1.0]], [[4.0]], users=[" a"])
    with pytest.raises(UsageError, match="the name ' a' cannot be a cell, for its spaces"):
        fo.write(inst, tmp_path / "folder")
    fo.write(inst, tmp_path / "model.toml")
    assert fo.read(tmp_path / "model.toml").instance == inst


@pytest.mark.parametrize("any_number", ["", "inf", "Infinity"])
def test_either_reads_a_limit_of_any_number(tmp_path: Path, any_number: str) -> None:
    tables = written(tmp_path / "cluster", user="user", server="server", limit="limit")
    text = Path(tables[0]).read_text()
    Path(tables[0]).write_text(
        text.replace("batch,1,,", f"batch,1,{any_number},").replace("20", "2e1")
    )
    assert fo.read(tmp_path / "cluster").instance.limit.tolist() == [np.inf, 20]
    assert [work.waiting for work in sources.cluster(tables).workloads] == [None, 20]


def column(tables: list[str], name: str, cell: str) -> None:
    """Add a column to the table of users."""
    head, *rows = Path(tables[0]).read_text().splitlines()
    lines = [f"{head},{name}", *(f"{row},{cell}" for row in rows)]
    Path(tables[0]).write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("name", [*cells.COMMAND, "label:zone", "spread:zone"])
def test_a_column_of_the_other_is_refused_by_name(tmp_path: Path, name: str) -> None:
    tables = written(tmp_path / "cluster", user="user", server="server", limit="limit")
    column(tables, name, "1")
    command = cells.COMMAND.get(name, "plan")
    said = f"{name}: found a column that only `fairopt {command}` takes"
    if command == "plan":
        with pytest.raises(BadInput) as caught:
            fo.read(tmp_path / "cluster")
    else:
        with pytest.raises(BadInput) as caught:
            sources.cluster(tables)
    assert said in str(caught.value) and len(caught.value.faults) == 1


def test_columns_of_one_command_are_those_of_its_reader() -> None:
    own = {name for name, command in cells.COMMAND.items() if command == "solve"}
    assert own == {*promises.COLUMNS, "start"}
    plan = {name for name, command in cells.COMMAND.items() if command == "plan"}
    assert plan == {*tables_of_plan._TEAMS, *tables_of_plan._NODES} - {
        *("team", "weight", "tasks", "node", "count")
    }


def test_held_is_told_in_either_words(tmp_path: Path) -> None:
    written(tmp_path / "cluster", user="user", server="server", limit="limit")
    inst = fo.read(tmp_path / "cluster").instance
    said = []
    for head in ("user,server,tasks", "team,node,tasks", " team , node , tasks"):
        path = tmp_path / "held.csv"
        path.write_text(f"{head}\nbatch,small,2\n database , large ,3\n")
        said.append(read_held(path, inst).way_tasks.tolist())
    rows = [{"team": "batch", "node": "small", "tasks": 2}]
    rows.append({"team": "database", "node": "large", "tasks": 3})
    said.append(held_of(rows, inst).way_tasks.tolist())
    assert said == [[[2, 0], [0, 3]]] * 4
    (tmp_path / "held.csv").write_text("user,server,limit\nbatch,small,2\n")
    with pytest.raises(BadInput, match="no column tasks"):
        read_held(tmp_path / "held.csv", inst)


@pytest.mark.parametrize(
    ("user", "server"), [("name", "name"), ("user", "server"), ("team", "node")]
)
def test_tables_of_partitions_are_in_either_words(tmp_path: Path, user: str, server: str) -> None:
    pytest.importorskip("pyarrow")
    written(tmp_path, user=user, server=server, limit="tasks")
    (tmp_path / "machines.csv").write_text((tmp_path / "servers.csv").read_text())
    found = fo.partition_tables(
        [tmp_path / "users.csv"], tmp_path / "machines.csv", tmp_path / "parts"
    )
    names = json.loads((tmp_path / "parts" / "names.json").read_text())
    assert names == {"servers": ["small", "large"], "resources": ["cpu", "memory"]}
    assert np.array_equal(found.capacity, [[8, 32 * GIB], [64, 512 * GIB]])
    part = found.read(0)
    assert np.array_equal(part.demand, [[4, 8 * GIB], [8, 128 * GIB]])
    assert np.array_equal(part.limit, [np.inf, 20])
    column([str(tmp_path / "users.csv")], "gang", "2")
    with pytest.raises(BadInput, match="found a column that only `fairopt plan` takes"):
        fo.partition_tables([tmp_path / "users.csv"], tmp_path / "machines.csv", tmp_path / "more")
