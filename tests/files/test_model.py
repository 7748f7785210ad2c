"""Files: nothing is lost on the way out and back, nothing wrong passes on the way in."""

from __future__ import annotations

import importlib.resources
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt import files, storage
from fairopt.files import model
from fairopt.files.model import Case, Model
from tests.strategies import instances

MODEL = """
resources = ["cpu"]
[servers.A]
capacity = { cpu = 1.0 }
[users.n1]
demand = { cpu = 1.0 }
"""


@given(inst=instances())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_models_come_back_bit_for_bit(inst: fo.Instance, tmp_path: Path) -> None:
    case = Case(
        "notion",
        "alpha-fair",
        {"alpha": 0.1 + 0.2, "weight_inside": True, "order": ["a", "b"]},
        expect={"totals": {inst.users[0]: 1 / 3}, "tolerance": 1e-9, "source": "a 'text'\n\"2\""},
        printed={"objective": -1e-300, "why": "é"},
        accepts=({"tasks": {inst.users[0]: {inst.servers[0]: 0.1}}},),
        refuses=({"tasks": {inst.users[0]: {inst.servers[0]: -0.1}}, "gap": 0.5},),
    )
    dynamics = {
        "loads": [0.1, 0.9],
        "mix": {inst.users[0]: 2},
        "tasks_per_job": 500,
        "horizon": 1e4,
    }
    model = Model(inst, (case,), "title", "source", dynamics)
    for path in (tmp_path / "model.toml", tmp_path / "folder"):
        fo.write(model, path)
        again = fo.read(path)
        assert again == model
        assert again.instance.digest() == inst.digest()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=",
        "resources = [",
        "a = " + "[" * 100_000,
        "a = " + "9" * 5000,
        "\x00\x01",
        'resources = "cpu"',
        "users = 3",
        "resources = [1, true]",
        "resources = [[]]",
        "case = 3",
        "case = [3]",
        "servers = []\nusers = []\nresources = []\ndynamics = 3",
        "title = 3",
        '[servers.""]\n[users.""]',
    ],
)
def test_junk_is_no_model(text: str, tmp_path: Path) -> None:
    path = tmp_path / "junk.toml"
    path.write_text(text)
    with pytest.raises(fo.BadInput, match="^junk.toml: "):
        fo.read(path)


@given(text=st.text(max_size=200))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_makes_a_traceback(text: str, tmp_path: Path) -> None:
    for name in ("m.toml", "users.csv", "servers.csv", "placement.csv", "demand.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    (tmp_path / "model.toml").write_text('resources = ["cpu"]')
    for path in (tmp_path / "m.toml", tmp_path):
        with pytest.raises(fo.BadInput):
            fo.read(path)
    with pytest.raises(fo.BadInput):
        files.load(tmp_path / "m.toml")


@given(
    place=st.sampled_from(
        ["demand", "weight", "limit", "servers", "demand_on", "capacity", "count"]
    ),
    value=st.recursive(
        st.one_of(
            st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.sampled_from("AB")
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=2),
            st.dictionaries(st.sampled_from(["A", "cpu", "x"]), inner, max_size=2),
        ),
        max_leaves=4,
    ),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_anywhere_is_read_or_refused(place: str, value: Any, tmp_path: Path) -> None:
    import tomli_w

    user: dict[str, Any] = {"demand": {"cpu": 1.0}}
    server: dict[str, Any] = {"capacity": {"cpu": 1.0}}
    (server if place in ("capacity", "count") else user)[place] = value
    path = tmp_path / "m.toml"
    path.write_text(
        tomli_w.dumps({"resources": ["cpu"], "servers": {"A": server}, "users": {"n": user}}),
        encoding="utf-8",
    )
    try:
        model = fo.read(path)
    except fo.BadInput as error:
        assert error.faults
    else:
        fo.write(model, path)
        assert fo.read(path) == model


@pytest.mark.parametrize("name", ["big.toml", "folder/model.toml"])
def test_a_file_of_200_mb_is_refused_at_once(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.truncate(200 * 2**20)
    with pytest.raises(
        fo.BadInput, match="found at least 200 MiB; wanted a model file in TOML of at most"
    ):
        fo.read(path if name == "big.toml" else path.parent)


def test_standard_input_is_cut_off_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "LARGEST_MODEL", 1000)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"#" * 5000)))
    with pytest.raises(fo.BadInput, match="^<stdin>: 1 fault"):
        fo.read("-")


def test_junk_lists_the_first_faults_and_counts_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text("".join(f"k{k} = 1\n" for k in range(500)))
    with pytest.raises(fo.BadInput) as caught:
        fo.read(path)
    assert len(caught.value.faults) == 101
    assert "and: found 403 more faults" in str(caught.value)


def test_dash_is_standard_input_and_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MODEL.encode())))
    model = fo.read("-")
    fo.write(model, "-")
    assert "[users.n1.demand]" in capsys.readouterr().out
    alloc = fo.Allocation(model.instance, {"name": "proportional"}, [[1.0]])
    files.save(alloc, "-")
    written = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written.encode())))
    assert files.load("-") == alloc


def test_a_truncated_file_is_refused_or_another_model(tmp_path: Path) -> None:
    whole = (files.shipped_root() / "kesidis2016" / "no-penalty.toml").read_bytes()
    model = fo.read("kesidis2016/no-penalty")
    refused = 0
    for size in range(0, len(whole) - 1, 23):
        path = tmp_path / "cut.toml"
        path.write_bytes(whole[:size])
        try:
            assert fo.read(path) != model
        except fo.BadInput as error:
            assert error.source == "cut.toml"
            refused += 1
    assert refused > 20


def test_missing_files_folders_and_names(tmp_path: Path) -> None:
    for read in (fo.read, files.load):
        with pytest.raises(fo.BadInput, match=r"no.toml: 1 fault\n  file: found nothing there"):
            read(tmp_path / "no.toml")
    with pytest.raises(fo.BadInput, match=r"model.toml: found no such file in the folder"):
        fo.read(tmp_path)
    with pytest.raises(fo.BadInput, match="found a folder; wanted an answer in JSON"):
        files.load(tmp_path)
    with pytest.raises(fo.UsageError, match=r"nearest: kesidis2016/no-penalty"):
        fo.read("kesidis2016/no-penality")
    with pytest.raises(fo.UsageError, match="nearest: kesidis2018/"):
        fo.read("kesidis2018")
    with pytest.raises(fo.UsageError, match=r"nearest: real/google2011"):
        fo.read("google2011")
    with pytest.raises(fo.UsageError, match="fairopt models lists them"):
        fo.read("zzzzzzzz")
    for wrong in ("a\0b", "x" * 5000):
        with pytest.raises(fo.UsageError):
            fo.read(wrong)
        with pytest.raises(fo.BadInput, match="unreadable"):
            fo.read(f"./{wrong}")


def test_shipped_models_are_found_in_the_package_before_beside_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "site" / "fairopt"
    beside = tmp_path / "site" / "models" / "paper"
    package.mkdir(parents=True)
    beside.mkdir(parents=True)
    (beside / "m.toml").write_text(f'title = "beside"{MODEL}')
    monkeypatch.setattr(importlib.resources, "files", lambda name: package)
    assert fo.read("paper/m").title == "beside"
    inside = package / "models" / "paper"
    inside.mkdir(parents=True)
    (inside / "m.toml").write_text(f'title = "inside"{MODEL}')
    assert fo.read("paper/m").title == "inside"
    assert fo.models() == [("paper/m", "inside", "")]


def test_a_file_goes_before_a_shipped_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kesidis2016").mkdir()
    assert fo.read("kesidis2016/no-penalty").name == "kesidis2016/no-penalty"
    (tmp_path / "kesidis2016" / "no-penalty").write_text(f'title = "mine"{MODEL}')
    assert fo.read("kesidis2016/no-penalty").title == "mine"


def test_output_folder_that_does_not_exist_writes_nothing(tmp_path: Path) -> None:
    model = fo.read("edge/one-user")
    alloc = fo.Allocation(model.instance, {"name": "proportional"}, [[5.0, 4.0]])
    gone = "the folder .*no does not exist"
    for name in ("m.toml", "folder"):
        with pytest.raises(fo.UsageError, match=gone):
            fo.write(model, tmp_path / "no" / name)
    with pytest.raises(fo.UsageError, match=gone):
        alloc.save(tmp_path / "no" / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_files_are_written_whole_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "m.toml"
    model = fo.read("edge/one-user")
    fo.write(model, path)
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for broken in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, broken, full)
            with pytest.raises(fo.UsageError, match="No space left on device"):
                fo.write(fo.read("edge/ties"), path)
            with pytest.raises(fo.UsageError, match="No space left on device"):
                fo.write(model, tmp_path / "folder")
        assert path.read_bytes() == before
        assert [p.name for p in tmp_path.iterdir()] == ["m.toml"]
    with pytest.raises(fo.UsageError, match="is a folder"):
        storage.write_text(tmp_path, "text")


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "real.toml", tmp_path / "link.toml"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    fo.write(fo.read("edge/one-user"), link)
    assert link.is_symlink() and fo.read(target).title == "One user alone"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_folder_is_replaced_only_if_it_is_a_model(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    fo.write(fo.read("khamse2016/figure-4"), folder)
    assert (folder / "demand.csv").exists()
    fo.write(fo.read("edge/one-user"), folder)
    assert sorted(p.name for p in folder.iterdir()) == ["model.toml", "servers.csv", "users.csv"]
    (folder / "thesis.tex").write_text("mine")
    with pytest.raises(fo.UsageError, match="holds other files"):
        fo.write(fo.read("edge/ties"), folder)
    assert (folder / "thesis.tex").read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_a_resource_named_like_a_column_needs_a_file(tmp_path: Path) -> None:
    inst = fo.Instance([[1.0]], [[1.0]], resources=["weight"])
    with pytest.raises(fo.UsageError, match="'weight' cannot be a column"):
        fo.write(inst, tmp_path / "folder")
    fo.write(inst, tmp_path / "m.toml")
    assert fo.read(tmp_path / "m.toml").instance == inst


def test_integers_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_bytes(b"\xef\xbb\xbf" + MODEL.replace("1.0", "3").encode())
    assert fo.read(path).instance.capacity.tolist() == [[3.0]]


def test_files_need_no_solver() -> None:
    code = (
        "import sys, fairopt as fo; fo.read('kesidis2016/no-penalty'); fo.models(); fo.load; "
        "sys.exit(any(m in sys.modules for m in ('cvxpy', 'pandas', 'matplotlib')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "deep", ["a" + ".a" * 50_000 + " = 1", "[" + "a" + " . a" * 25_000 + "]", '""' + '.""' * 30_000]
)
def test_keys_of_very_many_parts_are_refused_before_they_are_parsed(deep):
    """The parser takes a minute for one."""
    with pytest.raises(fo.BadInput, match="line 2: found a key of more than 16 parts"):
        model._parse(f"x = 1\n{deep}\n", "m.toml", "m")


DOTS = "a." * 100


@pytest.mark.parametrize(
    "fine",
    [
        f'title = "{DOTS}"',
        f"title = '''\n{DOTS}'''",
        f"# {DOTS}",
        f"[users.'{DOTS}x']",
        f'title = """\\"""{DOTS}"""',
    ],
)
def test_dots_in_texts_and_comments_are_no_parts_of_a_key(fine):
    assert model._toml(fine, "m.toml") is not None
    assert model._toml("a" + ".a" * 15 + " = 1", "m.toml")
