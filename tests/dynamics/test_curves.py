"""Curves over loads: rows, resuming, executors, and the commands that make Figures 1 to 3."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fairopt as fo
from fairopt.cli import run as cli
from fairopt.dynamics import service_rates
from fairopt.dynamics.curves import lying_curves, service_curves
from fairopt.storage import JournalWarning
from tests.dynamics.test_lying import figure_3

POOL = fo.Instance([[0.1, 1], [1, 0.1], [1, 1]], [[1, 1]], users=["1", "2", "3"])
MIX = {"1": 4.0, "2": 1.0, "3": 1.0}


def test_rows_are_what_service_rates_says():
    rows = service_curves(POOL, [0.2, 0.3], ["drf", "pf"], MIX)
    assert [(row["load"], row["rule"]) for row in rows] == [
        (0.2, "drf"),
        (0.2, "pf"),
        (0.3, "drf"),
        (0.3, "pf"),
    ]
    alone = service_rates([[0.1, 1], [1, 0.1], [1, 1]], np.array([4, 1, 1]) * 0.3 / 5.1, "pf")
    np.testing.assert_allclose(list(rows[3]["gamma"].values()), alone.rates, rtol=1e-12)
    assert rows[3]["found"]["load"] == pytest.approx(0.3)


def test_units_of_the_pool_do_not_matter():
    scaled = POOL.replace(demand=POOL.demand * [8, 1000], capacity=POOL.capacity * [8, 1000])
    one, other = (service_curves(pool, [0.3], ["bmf"], MIX)[0] for pool in (POOL, scaled))
    np.testing.assert_allclose(
        list(one["gamma"].values()), list(other["gamma"].values()), rtol=1e-9
    )


def test_who_has_no_load_does_not_come():
    row = service_curves(POOL, [0.4], ["pf"], {"3": 1.0})[0]
    assert row["gamma"] == {"3": pytest.approx(0.6, rel=1e-6)}


def test_resumed_is_as_solved_at_once_and_damage_is_told(tmp_path):
    path = tmp_path / "rows.jsonl"
    first = service_curves(POOL, [0.2], ["drf"], resume=path)
    told: list[tuple[int, int]] = []
    both = service_curves(
        POOL, [0.2, 0.3], ["drf"], resume=path, progress=lambda done, of: told.append((done, of))
    )
    assert told[0] == (1, 2)
    assert both[0] == first[0]
    assert both == service_curves(POOL, [0.2, 0.3], ["drf"])
    lines = path.read_text().splitlines()
    entry = json.loads(lines[1])
    entry["result"]["rates"][0] *= 1.01  # no longer work over numbers
    path.write_text("\n".join([lines[0], json.dumps(entry), *lines[2:]]) + "\n")
    with pytest.warns(JournalWarning, match="line 2"):
        again = service_curves(POOL, [0.2, 0.3], ["drf"], resume=path)
    assert again == both


def test_an_executor_changes_nothing():
    with ThreadPoolExecutor(2) as executor:
        spread = service_curves(POOL, [0.1, 0.2], executor=executor)
    assert spread == service_curves(POOL, [0.1, 0.2])


def test_one_row_without_an_answer_costs_no_other():
    rows = service_curves(POOL, [0.2, 0.99], ["drf"], most=20_000)
    assert rows[0]["reason"] == ""
    assert "needs a box of about" in rows[1]["reason"]
    assert rows[1]["gamma"] == {}


def test_what_is_refused():
    with pytest.raises(fo.Infeasible, match="overloaded"):
        service_curves(POOL, [0.3, 1.2])
    with pytest.raises(fo.UsageError, match="nothing"):
        service_curves(POOL, [0.3], ["nothing"])
    with pytest.raises(fo.BadInput, match=r"means\.9"):
        service_curves(POOL, [0.3], means={"9": 1.0})
    with pytest.raises(fo.BadInput, match=r"claims\.r9"):
        lying_curves(POOL, [0.3], claims={"r9": 1.0})
    with pytest.raises(fo.BadInput, match="one pool"):
        service_curves(fo.Instance([[1.0]], [[1.0], [1.0]]), [0.3])


def test_lies_are_resumed_and_damage_is_told(tmp_path):
    path = tmp_path / "lies.jsonl"
    asked = {"needs": {"2": 1.0}, "claims": {"1": 0.5, "2": 1.0}, "edge": 1e-4, "flow": 1e-6}
    pool = POOL.replace(resources=["1", "2"])
    first = lying_curves(pool, [0.3], means={"1": 2.0}, resume=path, **asked)
    assert first == lying_curves(pool, [0.3], means={"1": 2.0}, resume=path, **asked)
    other = lying_curves(pool, [0.3], resume=path, **asked)  # means matter, a little
    assert 0 < abs(other[0]["long_lie"] / first[0]["long_lie"] - 1) < 0.01
    lines = path.read_text().splitlines()
    entry = json.loads(lines[1])
    entry["result"]["long_gain"] = 0.5
    path.write_text("\n".join([lines[0], json.dumps(entry), *lines[2:]]) + "\n")
    with pytest.warns(JournalWarning, match="line 2"):
        assert lying_curves(pool, [0.3], means={"1": 2.0}, resume=path, **asked) == first


def test_every_class_in_turn_is_the_liar():
    rows = lying_curves(POOL, [0.3], ["pf"], edge=1e-4, flow=1e-6)
    assert [row["liar"] for row in rows] == ["1", "2", "3"]
    assert all(-1e-9 <= row["short_gain"] < 0.1 for row in rows)


def test_the_command_prints_figure_1_at_a_load(capsys, tmp_path):
    picture, out = tmp_path / "a.svg", tmp_path / "a.json"
    arguments = [
        "simulate",
        "markov",
        "bonald2015/scenario-balanced",
        "--load",
        "0.3",
        "--load",
        "0.1",
        "--rule",
        "drf",
        "--rule",
        "pf",
        "--rule",
        "drf",
        "--plot",
        str(picture),
        "-o",
        str(out),
    ]
    assert cli(arguments) == 0
    text = capsys.readouterr().out
    assert "0.679855" in text
    assert "0.699972" in text
    data = json.loads(out.read_text())
    assert data["schema"] == "fairopt/simulation/v1"
    assert data["kind"] == "markov"
    assert data["rows"][0]["gamma"]["3"] == pytest.approx(0.615184, abs=1e-6)
    first = picture.read_bytes()
    assert cli(arguments) == 0
    assert picture.read_bytes() == first


def test_the_command_prints_figure_3(capsys):
    assert cli(["simulate", "lying", "bonald2015/figure-3", "--load", "0.25", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert row["short_gain"] == pytest.approx(figure_3(0.25).short_gain, rel=1e-6)
    assert row["claimed"] == pytest.approx([2 / 3, 1.0])


def test_the_command_looks_for_the_best_lie(capsys):
    arguments = ["simulate", "lying", "bonald2015/figure-3", "--load", "0.25", "--json"]
    assert cli([*arguments, "--claims", "best", "--edge", "1e-6"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert row["short_gain"] > figure_3(0.25).short_gain - 1e-4
    assert cli([*arguments, "--needs", "best"]) == 2


def test_exit_codes(capsys):
    model = "bonald2015/scenario-unbalanced"
    assert cli(["simulate", "markov", model, "--load", "1.2"]) == 3
    assert "wanted < 1" in capsys.readouterr().err
    small = ["--rule", "drf", "--states", "1000"]
    assert cli(["simulate", "markov", model, "--load", "0.2", "--load", "0.95", *small]) == 4
    assert "no answer: states: load 0.95 needs a box" in capsys.readouterr().out
    assert cli(["simulate", "markov", model, "--load", "0.95", *small]) == 2
    assert cli(["simulate", "markov", model, "--load", "0.2", "--flow", "1"]) == 2
    assert cli(["simulate", "markov", model, "--plot", "a.bmp"]) == 2
    assert cli(["simulate", "lying", model, "--needs", "r1:3"]) == 2
    assert cli(["simulate", "markov", "kesidis2018/example", "--load", "0.2"]) == 2
