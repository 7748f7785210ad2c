"""fairopt sweep: grids from the command line, files, exit codes, errors."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.commands import sweep_table, sweep_workers
from tests.sweep_cases import three_users

MODEL = "kesidis2016/no-penalty"


def table(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_a_table_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", MODEL, "--over", "alpha=0.5,1,2", "--criterion", "dominant-share"]) == 0
    out = capsys.readouterr()
    lines = out.out.splitlines()
    assert lines[0].split()[:5] == ["alpha", "n1", "n2", "n3", "objective"]
    assert [line.split()[0] for line in lines[1:]] == ["0.5", "1", "2"]
    assert lines[2].split()[4] == "-0.43769" and lines[2].endswith("certified")
    assert out.err == ""


def test_the_grid_is_in_order_and_deduced(capsys: pytest.CaptureFixture[str]) -> None:
    over = ["--over", "t_drf=0:10:2", "--over", "weight.n1=1,2", "--format", "csv"]
    assert run(["sweep", MODEL, *over]) == 0
    rows = table(capsys)
    assert [(r["t_drf"], r["weight.n1"]) for r in rows] == [
        ("0.0", "1.0"),
        ("0.0", "2.0"),
        ("10.0", "1.0"),
        ("10.0", "2.0"),
    ]
    assert {r["notion"] for r in rows} == {"tradeoff"}
    answer = fo.solve(three_users().replace(weight=[2, 1, 1]), fo.Tradeoff(0, 10))
    assert float(rows[3]["share.n1"]) == answer.shares[0]


def test_the_models_own_notion_where_it_takes_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    cases = fo.read("kesidis2016/t-drf").cases
    case = next(k for k, c in enumerate(cases) if c.parameters.get("t_drf") == 900)
    over = ["--over", "t_pf=0,5", "--json"]
    assert run(["sweep", "kesidis2016/t-drf", *over, "--case", str(case + 1)]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["notion"]["parameters"]["t_drf"] for row in rows] == [900, 900]
    assert run(["sweep", "kesidis2016/t-drf", *over]) == 0  # its first case has no t_pf
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["notion"]["parameters"]["t_drf"] for row in rows] == [0, 0]
    assert run(["sweep", MODEL, "--over", "weight.n1=1,2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["notion"]["name"] == "proportional"
    over = ["--over", "criterion=drf,tsf"]
    assert run(["sweep", MODEL, "--notion", "max-min", *over, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["parameters"] for row in rows] == [{"criterion": "drf"}, {"criterion": "tsf"}]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_files_are_those_of_python(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if ending == "parquet":
        pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
    path = tmp_path / f"out.{ending}"
    assert (
        run(["sweep", MODEL, "--over", "alpha=1,2", "--notion", "alpha-fair", "-o", str(path)]) == 0
    )
    out = capsys.readouterr()
    assert out.out == "" and out.err == f"2 points, 2 certified: {path}\n"
    pairs, labels = fo.sweeping.grid(three_users(), fo.AlphaFair(1), {"alpha": [1.0, 2.0]})
    fo.sweep(None, pairs, parameters=labels).save(tmp_path / f"python.{ending}")
    assert path.read_bytes() == (tmp_path / f"python.{ending}").read_bytes()


def test_processes_change_no_byte(tmp_path: Path) -> None:
    over = ["sweep", MODEL, "--over", "t_drf=0:900:12", "--over", "t_pf=0,1"]
    assert run([*over, "-o", str(tmp_path / "one.csv")]) == 0
    assert run([*over, "-o", str(tmp_path / "two.csv"), "-j", "2"]) == 0
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_a_dask_scheduler_by_its_address(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    over = ["sweep", MODEL, "--over", "alpha=1,2,3"]
    assert run([*over, "-o", str(tmp_path / "one.csv")]) == 0
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    )
    with cluster:
        address = cluster.scheduler_address
        assert run([*over, "-o", str(tmp_path / "two.csv"), "--dask", address]) == 0
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_a_row_without_a_certificate_is_exit_4(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    over = ["sweep", MODEL, "--over", "alpha=1,2"]
    real = fo.solving.solve

    def half(instance: Any, notion: Any, *rest: Any, **options: Any) -> Any:
        if getattr(notion, "alpha", 0) == 2:
            raise fo.SolverFailure("no solver gave an answer")
        return real(instance, notion, *rest, **options)

    monkeypatch.setattr(fo.solving, "solve", half)
    assert run(over) == 4
    out = capsys.readouterr()
    assert out.out.splitlines()[2].endswith("failed")
    assert out.err == "2 points, 1 certified\n  1 failed: no solver gave an answer\n"


def test_what_no_row_can_do_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", MODEL, "--over", "weight.n1=1,2", "--notion", "bmf"]) == 2
    assert "one pool" in capsys.readouterr().err
    assert run(["sweep", MODEL, "--over", "alpha=1,2", "--solver", "highs"]) == 2
    assert "linear programs only" in capsys.readouterr().err


def test_every_fault_in_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    bad = ["alpha=0:-1:3", "t_dfr=1", "weight.n9=1,2", "capacity.pool1.r1=9:18", "limit.n1=0,2"]
    assert run(["sweep", MODEL, *(word for each in bad for word in ("--over", each))]) == 2
    said = capsys.readouterr().err
    assert said.startswith("fairopt: 6 faults\n")
    for place in (
        "alpha: found -0.5",
        "alpha: found -1;",
        "t_dfr: found",
        "weight.n9: found 'n9'",
        "capacity.pool1.r1: found '9:18'",
        "limit.n1: found 0",
    ):
        assert f"  --over {place}" in said


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "at least one"),
        (["--over", "alpha=1,2", "--alpha", "3"], "one of the two"),
        (["--over", "alpha=1,2", "--over", "division=rdm"], "name it with --notion"),
        (["--over", "alpha=1,2", "--notion", "alpha-fare"], "alpha-fair"),
        (["--over", "alpha=-2,-1"], "found -2"),
        (["--over", "alpha=1,2", "-o", "out.xlsx"], ".csv, .json, .parquet"),
        (["--over", "alpha=1,2", "-o", "none/out.csv"], "does not exist"),
        (["--over", "alpha=1,2", "--resume", "none/p.jsonl"], "does not exist"),
        (["--over", "alpha=1,2", "--plot", "out.gif"], ".png"),
        (["--over", "alpha=1,2", "-j", "2", "--dask", "x:1"], "exclude each other"),
        (["--over", "alpha=1,2", "-j", "0"], "-j"),
        (["--over", "alpha=1,2", "--solver", "gurobi"], "gurobi"),
        (["--over", "alpha=1,2", "--gap", "1"], "tolerance"),
    ],
)
def test_bad_usage_is_exit_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sweep", MODEL, *arguments]) == 2
    out = capsys.readouterr()
    assert said in out.err and out.out == ""


def test_a_missing_extra_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in (sweep_table, sweep_workers, fo.sweeping.result):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    over = ["sweep", MODEL, "--over", "alpha=1,2"]
    for option, value, extra in (
        ("-o", "a.parquet", "frame"),
        ("--dask", "x:1", "dask"),
        ("--plot", "a.png", "plot"),
    ):
        value = str(tmp_path / value) if option != "--dask" else value
        assert run([*over, option, value]) == 2
        assert f"pip install 'fairopt[{extra}]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "shares.svg"
    assert run(["sweep", MODEL, "--over", "t_drf=0:10:3", "--plot", str(path)]) == 0
    assert path.read_text().startswith("<?xml")


def test_a_terminal_sees_points_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    assert run(["sweep", MODEL, "--over", "alpha=1,2"]) == 0
    assert all(word in terminal.getvalue() for word in ("sweep", "2/2", "points", "left"))
    assert "alpha" in capsys.readouterr().out


def test_the_help_names_the_ranges(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "--help"]) == 0
    out = capsys.readouterr().out
    assert "START:STOP:COUNT" in out and "--t-drf" in out and "--resume" in out
