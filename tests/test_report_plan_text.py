"""A plan as text: no table loses the column by which its rows are known."""

from __future__ import annotations

import pytest

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
