"""The statements of kesidis2018 and ours: what holds, what is found, and that checks are sharp."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.propositions import draws, find
from fairopt.propositions.kesidis2018 import definition as kesidis2018_definition
from fairopt.propositions.kesidis2018 import statements as kesidis2018
from fairopt.propositions.kesidis2018.definition import corrected, printed
from fairopt.propositions.ours import prices
from fairopt.propositions.ours import prices as ours_prices
from fairopt.propositions.ours import statements as ours
from fairopt.propositions.trials import chunk, trial
from tests.proposition_rows import rows_of, try_row

# trials in which a counterexample is found; rows that are not here hold
FOUND = {
    ("kesidis2018/definition-1-printed", ""): 4,
    ("kesidis2018/definition-1", "(14)"): 20,
    ("kesidis2018/definition-1-necessary", "positive demand"): 6,
    ("kesidis2018/proposition-1-fills", "no limits"): 6,
    ("kesidis2018/proposition-1-unique", "(14)"): 6,
    ("kesidis2018/corollary-1-constant", "u constant in i"): 6,
    ("ours/tdm-is-proportional", "no limits"): 40,
    ("ours/merging-servers", "proportional capacity"): 12,
    ("ours/rules-sharing-incentive", "no own rules"): 6,
    ("ours/rules-envy-free", "no own rules"): 6,
    ("ours/rules-strategy-proof", "no rule asks for tasks"): 3,
}
HELD = 6
ROWS = rows_of("kesidis2018", "ours")


@pytest.mark.parametrize("row", ROWS, ids=" without ".join)
def test_the_table(row):
    """The checks find by themselves what is known to fail, and nothing else."""
    try_row(row, FOUND, HELD)


# -- Definition 1, on the examples by hand ------------------------------------------------------


def test_the_printed_definition_accepts_one_user_with_everything():
    inst = fo.Instance([[1.0], [1.0]], [[1.0]])
    everything = np.array([[1.0], [0.0]])
    assert printed(inst, everything, np.array([1.0, 0.0])) == 0
    assert corrected(inst, everything, np.array([1.0, 0.0])) == 1
    half = np.array([[0.5], [0.5]])
    assert printed(inst, half, half[:, 0]) == corrected(inst, half, half[:, 0]) == 0
    # a server that is not full says nothing
    assert corrected(inst, everything * 0.9, np.array([0.9, 0.0])) == 0


@pytest.mark.parametrize("t", [0, 0.3, 0.5, 2 / 3])
def test_the_right_definition_does_not_suffice_without_14(t):
    inst = fo.read("kesidis2018/definition-1").instance
    tasks = np.array([[1 - t / 2, t], [t, 1 - t / 2]])
    assert corrected(inst, tasks, tasks.sum(axis=1)) == 0
    assert kesidis2018_definition.FOURTEEN.holds(inst) is False


def test_the_family_beside_proposition_1_is_found():
    """c=(1,1), d=(1,1/4), (1/2,1): log gives (4/7, 6/7), lexicographic (2/3, 2/3)."""
    inst = fo.read("kesidis2018/concave-functions").instance
    found = [kesidis2018._same_for_every_g(inst, seed) for seed in range(6)]
    assert not any(check.holds for check in found)


# -- spoiled answers: every check says no -------------------------------------------------------


def spoiled(monkeypatch, module, spared=None):
    """The statements of a module see answers moved towards others, but those of one notion."""
    honest = module.certified

    def dishonest(inst, notion, **given):
        best = honest(inst, notion, **given)
        if notion == spared:
            return best
        other = draws.scattered(inst, np.random.default_rng(1))
        # less for everybody, and in other proportions
        return best.with_(tasks=0.8 * best.tasks + 0.1 * other, objective=None)

    monkeypatch.setattr(module, "certified", dishonest)


@pytest.mark.parametrize(
    "name", ["proposition-1-fills", "proposition-1-unique", "proposition-2", "corollary-1"]
)
def test_spoiled_answers_of_kesidis2018(monkeypatch, name):
    # where two answers are compared, one stays
    monkeypatch.setattr(kesidis2018, "CRITERIA", ("drf",))
    spoiled(monkeypatch, kesidis2018, spared=fo.MaxMin("drf"))
    assert chunk(find(f"kesidis2018/{name}"), "", 0, 0, 5)["violated"] == 5


def test_spoiled_max_min_breaks_the_necessary_condition(monkeypatch):
    """What is moved from the poorest to the richest on a server that is full breaks it."""
    statement = find("kesidis2018/definition-1-necessary")
    honest = kesidis2018_definition.certified

    def dishonest(inst, notion):
        best = honest(inst, notion)
        return best.with_(tasks=draws.greedy(inst, np.random.default_rng(0)))

    monkeypatch.setattr(kesidis2018_definition, "certified", dishonest)
    assert chunk(statement, "", 0, 0, 8)["violated"] >= 6


@pytest.mark.parametrize("name", ["tdm-is-proportional", "merging-users", "merging-servers"])
def test_spoiled_answers_of_ours(monkeypatch, name):
    spoiled(monkeypatch, ours)
    # solved twice and spoiled alike, so that a few merged answers may agree
    assert chunk(find(f"ours/{name}"), "", 0, 0, 5)["violated"] >= 4


# -- bounds a little too small are caught: the trials come close to them -------------------------


def tightened(monkeypatch, module, function, factor):
    honest = getattr(module, function)
    monkeypatch.setattr(module, function, lambda *given: factor * honest(*given))


@pytest.mark.parametrize(
    ("name", "module", "function"),
    [
        ("universal-bound", ours_prices, "universal_bound"),
        ("alpha-fair-bound", ours_prices.proof, "gap_by_prices"),
        ("max-min-rooms", ours_prices.levels, "rooms"),
    ],
)
def test_a_bound_half_as_large_is_refuted(monkeypatch, name, module, function):
    tightened(monkeypatch, module, function, 0.5)
    assert chunk(find(f"ours/{name}"), "", 0, 0, 25)["violated"] > 0


def test_a_trade_off_bound_without_one_term_is_refuted(monkeypatch):
    statement = find("ours/tradeoff-bound")
    honest = prices._bound

    def wrong(inst, score, tasks, p, mu, terms):
        return honest(inst, score, tasks, p, mu, terms) - 0.02 * inst.weight.sum()

    monkeypatch.setattr(prices, "_bound", wrong)
    assert chunk(statement, "", 0, 0, 25)["violated"] > 0


def test_intervals_too_narrow_are_refuted(monkeypatch):
    statement = find("ours/share-intervals")
    honest = ours_prices.proof.ends_by_prices

    def narrow(alloc):
        low, high = honest(alloc)
        return low, low + 0.3 * (high - low)

    monkeypatch.setattr(ours_prices.proof, "ends_by_prices", narrow)
    assert chunk(statement, "", 0, 0, 12)["violated"] > 0


def test_a_witness_tells_the_search():
    one = trial(find("kesidis2018/definition-1-printed"), "", 0, 11)
    assert one.violated and "meet it with levels" in one.check.witness
