"""What can be lent at most, beside linear programs over all rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linprog

import fairopt as fo
from fairopt.formulas import lowered as module
from fairopt.formulas.lent import ends
from fairopt.formulas.lowered import Lowered, lower


def drawn(seed: int) -> fo.Instance:
    """Users in two cohorts below a third, where many have nothing."""
    rng = np.random.default_rng(seed)
    users = int(rng.integers(2, 5))
    names = [f"u{n}" for n in range(users)]
    groups = [fo.Group("all"), fo.Group("a", "all"), fo.Group("b", "all")]
    of = {name: "a" if n < users // 2 else "b" for n, name in enumerate(names)}
    quotas = []
    for name in ("all", "a", "b", *names):
        nominal = float(rng.choice([0.0, 0.0, 2.0]))
        borrow = float(rng.choice([0.0, 1.0, np.inf]))
        lend = float(rng.choice([0.0, 1.0, np.inf]))
        quotas.append(fo.Quota(name, "r", nominal=nominal, borrow=borrow, lend=lend))
    return fo.Instance(
        np.ones((users, 1)),
        [[10.0]],
        users=names,
        resources=["r"],
        quotas=fo.Quotas(groups, of, quotas=quotas),
    )


@pytest.fixture
def raw(monkeypatch: pytest.MonkeyPatch) -> Callable[[fo.Instance], Lowered]:
    """The rows with the flows' own bounds."""
    monkeypatch.setattr(module, "ends", lambda matrix, rhs, low, high: (low, high))
    return lambda inst: lower(inst, np.ones(inst.eligible.shape))


@pytest.mark.parametrize("seed", range(40))
def test_no_flow_of_any_division_is_beyond_its_ends(seed: int, raw) -> None:
    low = raw(drawn(seed))
    least, most = ends(low.matrix, low.rhs, low.low, low.high)
    assert (least >= low.low).all() and (most <= low.high).all()
    bounds = [(0, None)] * low.columns
    bounds += [
        (a if np.isfinite(a) else None, b if np.isfinite(b) else None)
        for a, b in zip(low.low, low.high, strict=True)
    ]
    goal = np.zeros(low.columns + len(least))
    for f in np.flatnonzero(most < low.high).tolist():
        goal[:] = np.arange(len(goal)) == low.columns + f
        found = linprog(-goal, low.matrix, low.rhs, bounds=bounds)
        assert found.status == 0 and most[f] == 0 and -found.fun <= 1e-9
    for f in np.flatnonzero(least > low.low).tolist():
        goal[:] = np.arange(len(goal)) == low.columns + f
        found = linprog(goal, low.matrix, low.rhs, bounds=bounds)
        assert found.status == 0 and least[f] == 0 and found.fun >= -1e-9


def test_draws_have_such_ends(raw) -> None:
    lows = [raw(drawn(seed)) for seed in range(40)]
    ended = [ends(low.matrix, low.rhs, low.low, low.high) for low in lows]
    assert sum((new[0] > low.low).any() for new, low in zip(ended, lows, strict=True)) > 5
    assert sum((new[1] < low.high).any() for new, low in zip(ended, lows, strict=True)) > 5


@pytest.mark.parametrize("seed", range(40))
def test_flows_that_are_nothing_are_left_out(seed: int, raw, monkeypatch) -> None:
    """What all can hold together is the same."""
    found = []
    for low in (raw(drawn(seed)), None):
        if low is None:
            monkeypatch.setattr(module, "ends", ends)
            low = lower(drawn(seed), np.ones(drawn(seed).eligible.shape))
        goal = -(np.arange(low.matrix.shape[1]) < low.columns).astype(float)
        bounds = [(0, None)] * low.columns + list(zip(low.low, low.high, strict=True))
        found.append(linprog(goal, low.matrix, low.rhs, bounds=bounds).fun)
        assert ((low.low < 0) | (low.high > 0)).all() or len(found) == 1
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_known_ends(raw) -> None:
    """Of two in a group, one has two and lends, the other has nothing."""
    quotas = [
        fo.Quota("g", "r", nominal=0.0),
        fo.Quota("a", "r", nominal=2.0, borrow=3.0, lend=1.0),
        fo.Quota("b", "r", nominal=0.0, borrow=1.0),
    ]
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[10.0]],
        users=["a", "b"],
        resources=["r"],
        quotas=fo.Quotas([fo.Group("g")], {"a": "g", "b": "g"}, quotas=quotas),
    )
    low = raw(inst)
    least, most = ends(low.matrix, low.rhs, low.low, low.high)
    entries = low.matrix.tocoo()
    flow = {}
    for row, column, value in zip(entries.row, entries.col, entries.data, strict=True):
        if column >= low.columns and value > 0:
            flow[inst.tree.nodes[low.two[row]]] = column - low.columns
    # b has nothing to lend, so that a, the only one who lends to the group, borrows nothing of it
    assert most[flow["b"]] == 0 and least[flow["b"]] == low.low[flow["b"]] == -1
    assert most[flow["a"]] > 0 and least[flow["a"]] == 0 > low.low[flow["a"]]
