"""Proportional fairness by prices: where steps settle, and where they do not."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.cli import run as command
from fairopt.dynamics.prices import FREE, RESTLESS, SETTLED, WITHIN, by_prices, edge

EXACT = fo.solve(fo.read("bonald2015/prices").instance, fo.ProportionalFair())


def test_the_edge_by_hand():
    """x = (25/33, 25/33, 1/6), weights 4, 1, 1, a = (.1, 1), (1, .1), (1, 1)."""
    x, a = (25 / 33) ** 2, np.array([[0.1, 1], [1, 0.1], [1, 1]])
    h = (a.T * [x / 4, x, 1 / 36]) @ a
    trace, determinant = h[0, 0] + h[1, 1], h[0, 0] * h[1, 1] - h[0, 1] ** 2
    largest = trace / 2 + (trace**2 / 4 - determinant) ** 0.5
    assert edge(EXACT) == pytest.approx(2 / largest, rel=1e-9)


def test_it_settles_below_the_edge_and_not_above():
    most = edge(EXACT)
    below, above = by_prices(EXACT, 0.97 * most), by_prices(EXACT, 1.03 * most, 20_000)
    assert below.ended == SETTLED
    assert below.off <= WITHIN
    assert below.tasks == pytest.approx(EXACT.totals, rel=1e-6)
    assert above.ended == RESTLESS
    assert above.steps is None
    assert above.off > 1e-2


def test_small_steps_take_longer_in_proportion():
    steps = [by_prices(EXACT, theta).steps for theta in (0.02, 0.04, 0.08)]
    assert steps[0] / steps[1] == pytest.approx(2, rel=0.02)
    assert steps[1] / steps[2] == pytest.approx(2, rel=0.02)


def test_steps_that_are_too_large_find_everything_free():
    inst = fo.Instance([[1.0]], [[1.0]], weight=[0.25])
    run = by_prices(fo.solve(inst, fo.ProportionalFair()), 2.0, 2000)
    assert run.ended == FREE
    assert run.off == np.inf


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 3))
def test_where_it_settles_it_is_proportionally_fair(seed, users, resources):
    rng = np.random.default_rng(seed)
    inst = fo.Instance(
        rng.uniform(0.2, 1, (users, resources)),
        rng.uniform(1, 9, (1, resources)),
        weight=rng.uniform(0.5, 4, users),
    )
    exact = fo.solve(inst, fo.ProportionalFair())
    run = by_prices(exact, 0.5 * edge(exact), 20_000)
    if run.ended == SETTLED:  # from the start at 1 a few do not: far from the answer H is larger
        assert run.off <= WITHIN
        assert (
            fo.certify(
                fo.Allocation(inst, fo.ProportionalFair(), run.tasks[:, None] / 1.000002)
            ).gap
            <= 1e-5
        )


def test_several_servers_never_settle_but_stay_near():
    exact = fo.solve(fo.read("kesidis2016/no-penalty").instance, fo.ProportionalFair())
    assert edge(exact) is None
    runs = [by_prices(exact, theta, 8000) for theta in (0.1, 0.005)]
    assert [run.ended for run in runs] == [RESTLESS, RESTLESS]
    assert runs[1].mean_off < 0.01 < runs[0].mean_off


def test_every_wrong_argument_is_named():
    limited = fo.solve(EXACT.instance.replace(limit=[1, 1, 0.1]), fo.MaxMin())
    with pytest.raises(fo.BadInput) as refused:
        by_prices(limited, -1.0, 3)
    places = {fault.place for fault in refused.value.faults}
    assert places == {"exact", "users.1.limit", "theta", "most"}


def test_the_command(capsys, tmp_path):
    path = tmp_path / "steps.svg"
    asked = ["simulate", "prices", "bonald2015/prices", "--theta", "0.5:5:3"]
    assert command([*asked, "--steps", "2000", "--plot", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "settles below theta = 3.199 once it is near" in shown
    assert "restless" in shown
    assert "does not settle" in path.read_text()
    assert command([*asked, "--steps", "2000", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [row["ended"] for row in data["rows"]] == [SETTLED, SETTLED, RESTLESS]
    assert data["schema"] == "fairopt/simulation/v1"


@pytest.mark.parametrize("span", ["1", "1:0.1:3", "0:1:3", "a:b:c", "1:2:0"])
def test_the_command_refuses(span, capsys):
    assert command(["simulate", "prices", "bonald2015/prices", "--theta", span]) == 2
    assert "wanted FROM:TO:COUNT" in capsys.readouterr().err
