"""A plan as text: no table loses the column by which its rows are known."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from fairopt.cli import run
from fairopt.report.plan_text import plan_text

LONG = [f"example.com/resource-{k}" for k in range(6)]


@pytest.fixture
def wide():
    """A plan with more resources than fit on a line."""
    queue = {
        "queue": "team-a",
        "weight": 1.0,
        "asked": 123456,
        "held": 1234,
        "due": 1234.56,
        "whole": 1230,
        "difference": {key: 10.0 * (k + 1) for k, key in enumerate(LONG)},
        "could_hold": {"tasks": 2345.6},
    }
    amounts = dict.fromkeys(LONG, "7")
    shape = {
        "shape": "a100-eight-cards",
        "count": 3,
        "capacity": amounts,
        "use": dict.fromkeys(LONG, 0.5),
        "price": dict.fromkeys(LONG, 0.01),
        "stranded": amounts,
    }
    empty = dict.fromkeys(("workloads", "out", "undivided", "quotas", "overfull", "not_modelled"))
    verdict = {"verdict": "certified", "gap": 0.0}
    return {
        **{key: [] for key in empty},
        "queues": [queue],
        "shapes": [shape],
        "nested": True,
        "answer": {"notion": {"name": "max-min"}, "certificate": verdict},
    }


def test_lists_fold_and_no_column_goes(wide):
    text = plan_text(wide)
    lines = text.splitlines()
    assert all(len(line) <= 100 for line in lines), text
    head = next(line for line in lines if line.startswith("queue"))
    for name in ("weight", "asked", "held", "due", "could hold", "whole", "due - held"):
        assert name in head
    row = next(line for line in lines if line.startswith("team-a"))
    assert all(x in row for x in ("123456", "1234", "1234.56", "2345.6", "1230"))
    assert next(line for line in lines if line.startswith("a100-eight-cards"))
    for key in LONG:  # nothing is cut away: once as a difference, once in use, once stranded
        assert text.count(key) == 3, text
    assert "…" not in text and "..." not in text


def test_a_table_that_fits_is_one_line_a_row(wide):
    for key in LONG[1:]:
        del wide["queues"][0]["difference"][key]
        for part in ("capacity", "use", "price", "stranded"):
            wide["shapes"][0].setdefault(part, {})[key] = "0" if part != "use" else 0.0
        wide["shapes"][0]["stranded"][key] = "0"
        wide["shapes"][0]["price"][key] = 0.0
        wide["shapes"][0]["capacity"][key] = "0"
    lines = plan_text(wide).splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("queue"))
    assert lines[start + 2].endswith("+10 example.com/resource-0") and not lines[start + 3]


CLUSTER = str(Path(__file__).parents[2] / "examples" / "kubernetes" / "cluster.json")


def test_tables_of_chosen_columns(capsys):
    assert run(["plan", CLUSTER, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert run(["plan", CLUSTER, "--csv", "--columns", "workload,due,demand.cpu,asked"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["workload"] for row in rows] == [row["workload"] for row in plan["workloads"]]
    assert [float(row["due"]) for row in rows] == [row["due"] for row in plan["workloads"]]
    assert [row["demand.cpu"] for row in rows] == [
        row["demand"].get("cpu", "0") for row in plan["workloads"]
    ]
    assert run(["plan", CLUSTER, "--table", "queues", "--columns", "queue,asked,held"]) == 0
    head, _, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["queue", "asked", "held"]
    assert [line.split() for line in lines] == [
        [row["queue"], str(row["asked"]), str(row["held"])] for row in plan["queues"]
    ]
    assert run(["plan", CLUSTER, "--wide"]) == 0
    text = capsys.readouterr().out
    assert all(row["says"] in text for row in plan["workloads"])
    assert all(row["shape"] in text for row in plan["shapes"])
    assert run(["plan", CLUSTER, "--columns", "workloads"]) == 2
    assert "found 'workloads'; wanted workload" in capsys.readouterr().err
