"""fairopt simulate tasks, packets and online: tables, JSON, pictures, refusals, resuming."""

from __future__ import annotations

import json

import pytest

from fairopt.cli import run as command

TASKS = [
    "simulate",
    "tasks",
    "bonald2015/scenario-unbalanced",
    "--count",
    "20",
    "--warmup",
    "5",
    "--replications",
    "2",
    "--tasks-per-job",
    "50",
    "--units",
    "10",
]
PACKETS = [
    "simulate",
    "packets",
    "bonald2015/scenario-unbalanced",
    "--count",
    "20",
    "--warmup",
    "5",
    "--replications",
    "2",
    "--packets-per-flow",
    "50",
]
ONLINE = [
    "simulate",
    "online",
    "kesidis2018/online",
    "--replications",
    "2",
    "--frameworks",
    "1",
    "--tasks-per-job",
    "4",
]


@pytest.mark.parametrize("kind", [TASKS, PACKETS])
def test_table_and_json(kind, capsys, tmp_path):
    path = tmp_path / "runs.json"
    asked = [*kind, "--load", "0.3", "--load", "0.6", "-o", str(path)]
    assert command(asked) == 0
    shown = capsys.readouterr().out
    for words in ("gamma 1", "r2 used", "bmf - pf", "paired differences"):
        assert words in shown
    assert command([*asked, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads(path.read_text())
    assert (data["schema"], data["kind"]) == ("fairopt/simulation/v1", kind[1])
    assert [(row["load"], row["rule"]) for row in data["rows"]] == [
        (load, rule) for load in (0.3, 0.6) for rule in ("drf", "pf", "bmf")
    ]
    assert len(data["differences"]) == 6
    first = data["rows"][0]
    assert len(first["runs"]) == 2
    assert f"{first['gamma']['1'][0]:.4f}" in shown


def test_packets_with_propagation_and_in_parallel(capsys):
    """Both reach the simulation, fixed populations and runs; (8) in parallel is BMF."""
    fixed = [*PACKETS[:3], "--fixed", "1=4", "--fixed", "2=1", "--fixed", "3=1", "--json"]
    found = {}
    for more in ([], ["--propagation", "3=40"], ["--parallel"]):
        assert command([*fixed, "--rule", "pf", "--rule", "pf-normalised", *more]) == 0
        data = json.loads(capsys.readouterr().out)
        assert (data["propagation"], data["parallel"]) == (
            {"3": 40.0} if "--propagation" in more else {},
            "--parallel" in more,
        )
        first, second = data["rows"]
        found[(*more, "")[0]] = first["packets"]["3"]
        assert second["packets"]["3"] == pytest.approx(second["fluid"]["3"], rel=0.02)
        assert second["fluid"] == first["fluid"]
    assert found["--propagation"] < 0.15 < found[""] < found["--parallel"]
    assert found["--parallel"] == pytest.approx(5 / 27, rel=1e-3)
    runs = []
    for more in ([], ["--propagation", "1=500"]):
        assert command([*PACKETS, "--load", "0.3", "--rule", "bmf", "--json", *more]) == 0
        runs.append(json.loads(capsys.readouterr().out)["rows"][0]["gamma"]["1"][0])
    assert runs[1] < 0.5 * runs[0]
    for wrong in ("3", "3=soon", "=4"):
        assert command([*PACKETS, "--load", "0.3", "--propagation", wrong]) == 2
        assert "wanted CLASS=T" in capsys.readouterr().err


def test_the_load_is_the_models(capsys):
    assert command([*TASKS, "--rule", "drf", "--json"]) == 0
    loads = [row["load"] for row in json.loads(capsys.readouterr().out)["rows"]]
    assert loads == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert command(["simulate", "tasks", "bonald2015/example-2-4"]) == 2
    assert "load: found none" in capsys.readouterr().err


def test_fixed_population(capsys):
    asked = [
        "simulate",
        "packets",
        "bonald2015/scenario-unbalanced",
        "--fixed",
        "1=4",
        "--fixed",
        "2=1",
        "--fixed",
        "3=1",
    ]
    assert command([*asked, "--json"]) == 0
    for row in json.loads(capsys.readouterr().out)["rows"]:
        assert list(row["packets"].values()) == pytest.approx(list(row["fluid"].values()), rel=0.02)
    assert command(asked) == 0
    assert "apart" in capsys.readouterr().out


def test_online_table_and_json(capsys):
    assert command(ONLINE) == 0
    shown = capsys.readouterr().out
    assert "saved against drf" in shown
    assert "saved by characterised against coarse offers" in shown
    assert command([*ONLINE, "--scheduler", "drf", "--scheduler", "ps-dsf", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {(row["scheduler"], row["offers"]) for row in data["rows"]} == {
        (name, kind) for name in ("drf", "ps-dsf") for kind in ("coarse", "characterised")
    }
    totals = [row["total"][0] for row in data["rows"]]
    assert totals == sorted(totals)
    assert next(r for r in data["rows"] if r["scheduler"] == "drf")["by"] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", [TASKS + ["--load", "0.5"], PACKETS + ["--load", "0.5"], ONLINE])
def test_same_bytes_resumed_or_with_processes(kind, capsys, tmp_path):
    file = tmp_path / "kept.jsonl"
    found = []
    for more in ([], ["--resume", str(file)], ["--resume", str(file)]):
        assert command([*kind, "--json", *more]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1] == found[2]
    assert command([*kind, "--json", "--seed", "1"]) == 0
    assert capsys.readouterr().out != found[0]
    if kind is ONLINE:  # once is enough: processes take seconds to begin
        assert command([*kind, "--json", "-j", "2"]) == 0
        assert capsys.readouterr().out == found[0]


def test_pictures(tmp_path, capsys):
    path = tmp_path / "figure.svg"
    asked = [*TASKS, "--load", "0.3", "--load", "0.6", "--plot", str(path)]
    assert command(asked) == 0
    drawn = path.read_bytes()
    for words in (b"class 1", b"bmf", b"mean service rate"):
        assert words in drawn
    assert command(asked) == 0
    assert path.read_bytes() == drawn
    capsys.readouterr()
    assert command([*ONLINE, "--plot", str(path)]) == 2
    assert "a ranking is a table" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([*TASKS, "--load", "1.2"], 3, "1.2 for r2"),
        ([*PACKETS, "--load", "1"], 3, "= 1 for r2"),
        ([*TASKS, "--load", "-1"], 2, "load"),
        ([*TASKS, "--rule", "fifo"], 2, "rule: found 'fifo'"),
        ([*PACKETS, "--rule", "rps-dsf"], 2, "wanted one of drf, pf, bmf"),
        ([*PACKETS, "--fixed", "1"], 2, "wanted CLASS=N"),
        ([*PACKETS, "--fixed", "9=1"], 2, "an unknown user"),
        ([*ONLINE, "--scheduler", "fifo"], 2, "scheduler: found 'fifo'"),
        ([*ONLINE, "--gap", "-1"], 2, "gap"),
        ([*TASKS, "--plot", "x.txt"], 2, "x.txt"),
    ],
)
def test_refused(arguments, code, words, capsys):
    assert command(arguments) == code
    assert words in capsys.readouterr().err


def test_interrupted(capsys, monkeypatch, tmp_path):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fairopt.dynamics.tasks.simulate_tasks", stop)
    file = str(tmp_path / "kept")
    assert command([*TASKS, "--resume", file]) == 130
    assert f"kept in {file}; the same command goes on" in capsys.readouterr().err
    assert command(TASKS) == 130
    assert "are lost; --resume FILE keeps them" in capsys.readouterr().err
