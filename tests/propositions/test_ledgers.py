"""The statements about ledgers: what holds, what is found, and that checks are sharp."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.overtime.rules import kai, rank
from fairopt.overtime.states import LedgerState, Memory, average
from fairopt.propositions import find
from fairopt.propositions.over_time.ledgers import asked, in_turn, least_used, part
from tests.proposition_rows import rows_of, try_row

# promised more than is held: weights met, and factors that divide
FOUND = {
    ("ledgers/condor-divides-by-the-factor", ""): 4,
    ("ledgers/least-used-first-meets-weights", ""): 6,
    ("ledgers/kai-settles-at-the-weights", ""): 8,
    ("ledgers/karma-leaves-nothing-idle", ""): 8,
}
HELD = 6


@pytest.mark.parametrize("row", rows_of("ledgers"), ids=" without ".join)
def test_the_table(row):
    try_row(row, FOUND, HELD)


@pytest.mark.parametrize(
    ("half", "shares"),
    [(1, (9 / 22, 17 / 44, 9 / 44)), (10, (0.578, 0.302, 0.121)), (100, (0.598, 0.300, 0.102))],
)
def test_least_used_first_as_measured(half, shares):
    """Weights .6, .3, .1 are met only for long half-lives; with one slice the orbit repeats."""
    w = np.array([0.6, 0.3, 0.1])
    slices, burn = 20_000, 20 * half
    turns = in_turn(w, Memory(half).beta(1.0), slices + burn)
    whole = np.bincount(turns[burn:], minlength=3)
    np.testing.assert_allclose(whole / slices, shares, atol=2.5e-3)


def test_turns_are_those_of_the_rule_and_the_memory():
    rng = np.random.default_rng(0)
    for half in (0.7, 1.0, 30.0):
        for w in (np.ones(4) / 4, rng.dirichlet(np.ones(5)), np.array([0.5, 0.25, 0.25])):
            state, seen = LedgerState(np.zeros(len(w))), []
            for _ in range(400):
                place = rank(state, asked(w)).rank
                seen.append(int(np.argmin(place)))
                share = np.eye(len(w))[seen[-1]]
                state = average(state, share, 1.0, Memory(half))
            assert in_turn(w, Memory(half).beta(1.0), 400).tolist() == seen


def test_kai_swings_beyond_its_bound():
    """beta 1/2: stable below k = 3, and at 3.5 a deviation grows."""
    w = np.array([0.6, 0.4])
    for k, grows in ((2.5, False), (3.5, True)):
        state = LedgerState(w + np.array([1e-4, -1e-4]), 1.0)
        for _ in range(20):
            state = average(state, part(kai(state, asked(w, k))), 1.0, Memory(1.0))
        assert bool(abs(state.amount[0] - 0.6) > 1e-4) is grows


def test_nobody_without_foresight_promises_more():
    """N users, one slice in which all want it, then a slice for each of the others."""
    n = 4
    inst = fo.Instance(np.ones((n, 1)), [[1]])
    wants = np.vstack([np.ones(n), np.eye(n)[1:]])
    found = fo.replay(inst, None, wants)
    assert found.ratios["held"] == pytest.approx(1 / n)


def test_a_broken_rule_is_found(monkeypatch):
    import fairopt.propositions.over_time.ledgers as module

    monkeypatch.setattr(module.rules, "filled", lambda start, most, total: most)
    inst = fo.Instance(np.ones((3, 1)), [[1]])
    assert not all(find("ledgers/karma-with-ample-credits").check(inst, s).holds for s in range(4))


def test_the_tolerance_is_what_is_told():
    inst = fo.Instance(np.ones((2, 1)), [[1]], weight=[0.9, 0.1])
    assert not least_used(inst, 0, 1.0).holds and least_used(inst, 0, 1000.0).holds
