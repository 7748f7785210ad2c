"""Windows that slide and begin anew, budgets of periods, totals so far, and rules that stay."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.dynamics.remembered import Remembered
from fairopt.errors import UsageError
from fairopt.overtime.states import LedgerState

INF = np.inf
USED = [1.0, 0.5, 0.0, 0.25, 1.0]


def pool(capacity=1.0, users="AB", **more):
    names = list(users)
    return fo.Instance(
        [[1]] * len(names), [[capacity]], users=names, servers=["pool"], resources=["gpu"], **more
    )


def states(policy, hours=1.0):
    """What is remembered of A after each slice."""
    book, inst, found = fo.Ledger.of(policy), pool(), []
    state = book.start(inst)
    for a in USED:
        state = book.after(state, inst, np.array([a, 0.0]), hours)
        found.append(float(state.part[0]))
    return found


def test_windows():
    assert states("window:length=2h") == pytest.approx([1, 1.5, 0.5, 0.25, 1.25])
    # slices 1 and 2, then 3 and 4: before the first of each there is nothing
    assert states("window:reset=2h") == pytest.approx([1, 0, 0, 0, 1])
    assert states("window:reset=3h") == pytest.approx([1, 1.5, 0, 0.25, 1.25])


def test_kai_use_is_a_part_of_the_capacity_of_its_window():
    """sum of a beta^age over the same of capacity, of the last slices alone."""
    beta, found = 0.5, states("kai:half=1h,length=3h")
    for t in range(len(USED)):
        last = USED[max(0, t - 2) : t + 1]
        fades = [beta**age for age in range(len(last))][::-1]
        want = sum(f * a for f, a in zip(fades, last, strict=True)) / sum(fades)
        assert found[t] == pytest.approx(want, rel=1e-14)
    assert states("kai:reset=2h") == pytest.approx([1, 0, 0, 0, 1])
    # a window longer than all that was is none
    assert states("kai:half=1h,length=9h") == pytest.approx(states("kai:half=1h"), rel=1e-14)
    assert states("kai:length=4h", 2.0) == pytest.approx([1, 0.75, 0.25, 0.125, 0.625])


def test_a_budget_is_had_again_at_the_start_of_a_period():
    book, inst, held = fo.Ledger.of("budget:most=1.5,of=tasks,reset=3h"), pool(), []
    state = book.start(inst)
    for _ in range(6):
        due, state = book.division(state, inst, np.array([1.0, 0.0]))
        held.append(float(due[0, 0]))
    assert held == pytest.approx([1, 0.5, 0, 1, 0.5, 0])


def test_totals_so_far_are_a_start():
    """T3: A had 9/2 in slice 1; the totals of both are those of hindsight."""
    inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    book = fo.Ledger.of("totals:of=tasks")
    for hours in (1.0, 5.0):
        state = book.after(book.start(inst), inst, np.array([4.5, 0.0]), hours)
        due = book.due(state, inst, np.full(2, INF), hours, fo.ProportionalFair())
        assert due.ravel() == pytest.approx([9 / 4, 9 / 4], rel=1e-7)
    # T1's second slice: B makes up for nothing, as it alone wants it
    found = fo.replay(pool(), None, [[1, 1], [0, 1]], policy="totals")
    assert found.held == pytest.approx(np.array([[0.5, 0.5], [0, 1]]), abs=1e-9)
    even = fo.replay(pool(), [[1, 0], [0.5, 0.5]], [[1, 1], [1, 1]], policy="totals")
    assert even.ledger[1] == pytest.approx([0, 1], abs=1e-9)


def test_totals_beside_shares_had_before():
    inst = pool(2.0, start=[0.0, 0.5])
    book = fo.Ledger.of("totals")
    state = book.after(book.start(inst), inst, np.array([0.5, 0.0]))
    due = book.due(state, inst, np.full(2, INF)).ravel()
    # A had 1/4 of the pool and B 1/2
    assert due == pytest.approx([1.25, 0.75], rel=1e-8)


@pytest.mark.parametrize("policy", ["kueue:half=24h", "slurm", "window"])
def test_rules_of_the_cluster_stay(policy):
    state = LedgerState(np.array([0.1, 0.2, 0.0]))
    book = fo.Ledger.of(policy)
    wants = np.full(3, 4.0)
    # C is least used, and of the last class all the same
    last = pool(4.0, "ABC", quotas=fo.Quotas(last=["C"]))
    assert book.due(state, last, wants).ravel() == pytest.approx([4, 0, 0], abs=1e-9)
    first = pool(4.0, "ABC", quotas=fo.Quotas(priority={"B": 1}))
    assert book.due(state, first, wants).ravel() == pytest.approx([0, 4, 0], abs=1e-9)
    capped = pool(4.0, "ABC", quotas=fo.Quotas(bounds=[fo.Bound("C", "gpu", 1)]))
    assert book.due(state, capped, wants).ravel() == pytest.approx([3, 0, 1], abs=1e-9)
    rules = fo.Quotas(guarantees=[fo.Guarantee("B", "gpu", 1)])
    kept = book.due(state, pool(4.0, "ABC", quotas=rules), wants).ravel()
    assert kept == pytest.approx([0, 1, 3], abs=1e-9)


def test_no_window_where_time_passes_in_no_slices():
    with pytest.raises(UsageError, match="window online"):
        Remembered(pool(), "kai:length=7d")
    with pytest.raises(UsageError, match="reset"):
        fo.Ledger.of("window:reset=0")
