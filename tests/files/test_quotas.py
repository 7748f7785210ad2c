"""Groups, quotas and modes in model files and folders: nothing is lost, zero weights mean last."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import fairopt as fo
from fairopt.files import folder_writing
from tests.quota_cases import story
from tests.strategies import promised

MODEL = """
resources = ["cpu", "gpu"]
flavors.fast.servers = ["x"]
[servers]
x.capacity = { cpu = 9, gpu = 4 }
y.capacity = { cpu = 9, gpu = 4 }
[groups.org]
weight = 2
guarantee = { gpu = 6 }
nominal = { gpu = 5 }
lend = { gpu = 1 }
[groups.team]
parent = "org"
weight = 0
most = { gpu = 2 }
[groups.team.on.fast]
borrow = { gpu = 2 }
[users.A]
group = "team"
demand = { cpu = 1, gpu = 1 }
priority = 1
guarantee_tasks = 2
on.fast.nominal = { gpu = 1 }
[users.B]
group = "org"
weight = 0
modes = [
  { name = "one", demand = { cpu = 1, gpu = 1 } },
  { name = "two", demand = { cpu = 1 }, servers = ["x"], speed = 0.5 },
]
"""


@given(inst=promised())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_quotas_and_modes_come_back_bit_for_bit(inst: fo.Instance, tmp_path: Path) -> None:
    # what a folder cannot hold: resources named like its columns
    taken = {"group", "priority", "guarantee_tasks", "mode", "speed", "servers"}
    for path in ("model.toml", "folder")[: 1 if taken & set(inst.resources) else 2]:
        fo.write(inst, tmp_path / path)
        again = fo.read(tmp_path / path).instance
        assert again == inst
        assert again.digest() == inst.digest()


def read(tmp_path: Path, text: str) -> fo.Instance:
    (tmp_path / "model.toml").write_text(text)
    return fo.read(tmp_path / "model.toml").instance


def test_every_key_says_what_it_should(tmp_path: Path) -> None:
    inst = read(tmp_path, MODEL)
    assert inst.quotas == fo.Quotas(
        [fo.Group("org", weight=2), fo.Group("team", "org")],
        {"A": "team", "B": "org"},
        [fo.Guarantee("org", "gpu", 6.0)],
        [fo.Bound("team", "gpu", 2.0)],
        [
            fo.Quota("org", "gpu", 5.0, lend=1.0),
            fo.Quota("A", "gpu", 1.0, flavor="fast"),
            fo.Quota("team", "gpu", 0.0, borrow=2.0, flavor="fast"),
        ],
        {"fast": ("x",)},
        {"A": 2.0},
        {"A": 1},
        ["team", "B"],
    )
    assert inst.weight.tolist() == [1, 1] and inst.tree.last.all()
    assert inst.modes == {
        "B": (fo.Mode("one", (1.0, 1.0)), fo.Mode("two", (1.0, 0.0), 0.5, ("x",)))
    }


def test_a_weight_of_0_needs_quotas_beside_it(tmp_path: Path) -> None:
    bare = 'resources = ["cpu"]\n[servers.x]\ncapacity = { cpu = 9 }\n'
    user = "[users.n]\ndemand = { cpu = 1 }\nweight = 0\n"
    with pytest.raises(fo.BadInput, match="weight: found 0; wanted a finite number > 0"):
        read(tmp_path, bare + user)
    inst = read(tmp_path, bare + user + "priority = 0\n")
    assert inst.tree.last.tolist() == [True] and inst.weight.tolist() == [1]


def test_a_folder_holds_no_resource_named_like_a_column_it_needs(tmp_path: Path) -> None:
    inst = story().replace(resources=["priority"])
    with pytest.raises(fo.UsageError, match="the resource 'priority' cannot be a column"):
        fo.write(inst, tmp_path / "folder")
    fo.write(inst.replace(quotas=None), tmp_path / "folder")
    assert fo.read(tmp_path / "folder").instance.resources == ("priority",)


def test_every_file_of_a_folder_is_known_when_it_is_written_again(tmp_path: Path) -> None:
    inst = read(tmp_path, MODEL)
    fo.write(inst, tmp_path / "folder")
    names = {path.name for path in (tmp_path / "folder").iterdir()}
    assert {"groups.csv", "quotas.csv", "modes.csv"} < names <= set(folder_writing.FILES)
    fo.write(story(), tmp_path / "folder")
    assert fo.read(tmp_path / "folder").instance == story()
