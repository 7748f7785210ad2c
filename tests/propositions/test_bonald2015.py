"""The statements of bonald2015: what holds, what is found, and that the checks are sharp."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.allocation.check import Check
from fairopt.propositions import draws, find
from fairopt.propositions.bonald2015 import examples as examples
from fairopt.propositions.bonald2015 import lies as lies
from fairopt.propositions.bonald2015 import properties as of_notions
from fairopt.propositions.bonald2015 import stability as stability
from fairopt.propositions.bonald2015 import statements as bonald2015
from fairopt.propositions.bonald2015 import utility as utility
from fairopt.propositions.statement import Undecided
from fairopt.propositions.trials import chunk
from fairopt.solving.engines.water.one_pool import enumerate_all
from tests.proposition_rows import rows_of, try_row

# trials in which a counterexample is found; rows that are not here hold
FOUND = {
    ("bonald2015/proposition-2-printed", ""): 3,
    ("bonald2015/proposition-2", "a11 <= 1/(2-a22)"): 3,
    ("bonald2015/proposition-2-bound", "two users"): 8,
    ("bonald2015/proposition-2-bound", "equal weights"): 8,
    ("bonald2015/proposition-4", "two resources"): 3,
    ("bonald2015/proposition-5", "two types"): 8,
    ("bonald2015/single-bottleneck-drf", "one dominant resource"): 6,
    ("bonald2015/strategy-proportional", "one dominant resource"): 8,
    ("bonald2015/strategy-bmf", "one dominant resource"): 8,
    ("bonald2015/stability-drf", "(12)"): 3,
    ("bonald2015/freezing", "the classes of section 4"): 6,
    ("bonald2015/stability-proportional", "(12)"): 3,
    ("bonald2015/stability-bmf", "(12)"): 3,
    ("bonald2015/6-settles-above", ""): 3,
}
HELD = 5
ROWS = rows_of("bonald2015")


def stated(name):
    return find(f"bonald2015/{name}")


@pytest.mark.parametrize("row", ROWS, ids=" without ".join)
def test_the_table(row):
    """The checks find by themselves what is known to fail, and nothing else."""
    try_row(row, FOUND, HELD)


def test_every_expected_failure_is_a_row():
    assert set(FOUND) <= set(ROWS)


# -- Proposition 2 -----------------------------------------------------------------------------

EXAMPLE = np.array([[0.5, 1.0], [1.0, 0.5]])


def test_the_example_of_section_2_4():
    """(1/2, 1) beside (1, 1/2) has 2/3, by claiming (2/3, 1) 3/4, by claiming (1, 1) 1/2."""
    inst = fo.Instance(EXAMPLE, [[1.0, 1.0]])
    check = stated("proposition-2-best-lie").check(inst, 0)
    assert check.holds and "claiming 0.666667 user 1 runs 0.7" in check.witness
    assert lies._lied(inst, 0, np.array([2 / 3, 1.0])) == pytest.approx(3 / 4, rel=1e-5)
    assert lies._lied(inst, 0, np.array([0.5, 1.0])) == pytest.approx(2 / 3)
    assert lies._lied(inst, 0, np.array([1.0, 1.0])) == pytest.approx(1 / 2)
    printed = stated("proposition-2-printed").check(inst, 0)
    assert not printed.holds and "phi_1 is 0.666667, by the formula 0.5" in printed.witness
    assert stated("proposition-2").check(inst, 0).holds


def test_the_bound_of_half_is_met():
    """(0, 1) beside (1, 1/2) gains 50%, beside k of (1, k/(k+1)) 1 - 1/(k+1)."""
    check = stated("proposition-2-bound").check
    tight = check(fo.Instance([[0, 1], [1, 0.5]], [[1, 1]]), 0)
    assert tight.holds and tight.residual == pytest.approx(0, abs=1e-5)
    three = check(fo.Instance([[0, 1], [1, 2 / 3], [1, 2 / 3]], [[1, 1]]), 0)
    assert three.residual == pytest.approx(2 / 3 - 1 / 2, abs=1e-5)
    with pytest.raises(Undecided, match="several types"):
        check(fo.Instance([[0, 1], [1, 0.5], [1, 0.6], [1, 0.7]], [[1, 1]]), 0)


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_solution_for_two(seed):
    rng = np.random.default_rng(seed)
    part = rng.uniform(0, 1, (2, 3)) * (rng.random((2, 3)) < 0.8) + np.eye(2, 3) * 0.1
    weight = rng.uniform(1, 3, 2)
    best = fo.solve(fo.Instance(part, [np.ones(3)], weight=weight), fo.ProportionalFair())
    assert lies.first_of_two(*part, tuple(weight)) == pytest.approx(best.totals[0], rel=1e-5)


def test_a_lie_is_worth_what_it_lets_run():
    """Claiming too little of one resource is of no use: tasks need both."""
    inst = fo.Instance(EXAMPLE, [[1.0, 1.0]])
    claim = np.array([0.25, 1.0])
    told = fo.solve(fo.Instance([claim, EXAMPLE[1]], [[1, 1]]), fo.ProportionalFair())
    assert lies._lied(inst, 0, claim) == pytest.approx(told.totals[0] / 2)
    assert lies._runs(EXAMPLE[0], claim, EXAMPLE[1], (1, 1)) == pytest.approx(told.totals[0] / 2)


def test_another_lie_is_not_the_best(monkeypatch):
    """Where the claim judged is not the one of Proposition 2, better ones are found."""
    honest = lies.low_parts
    monkeypatch.setattr(lies, "low_parts", lambda inst: (honest(inst)[0], 0.5 * honest(inst)[1]))
    check = stated("proposition-2-best-lie").check
    assert not check(fo.Instance(EXAMPLE, [[1.0, 1.0]]), 0).holds


# -- Figure 3 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.1, 2 - 3**0.5, 0.5, 0.7])
def test_figure_3_against_its_formulas(p):
    part = np.array([[0, 1], [1, 0.5]])
    true, told = (examples._by_number(part, np.array([c, 1.0]), p) for c in (0.0, 2 / 3))
    assert examples._short(*true, p) == pytest.approx(1 / (1 + p))
    assert examples._long(*true, p) == pytest.approx(1 - p / 2)
    assert examples._short(*told, p) == pytest.approx((1 - p) / (1 - 2 * p / 3 + p * p / 3))
    assert examples._long(*told, p) == pytest.approx((1 - p) * (1 + p / 2))


@pytest.mark.parametrize("gain", [0.0970, 0.0990])
def test_another_largest_gain_is_refuted(monkeypatch, gain):
    monkeypatch.setattr(examples, "LARGEST_GAIN", gain)
    assert chunk(stated("figure-3"), "", 0, 0, 6)["violated"] > 0


# -- Propositions 3 to 5 -------------------------------------------------------------------------


def test_the_family_of_section_2_5():
    inst = fo.read("bonald2015/example-2-5").instance
    assert bonald2015._first(inst) == 0
    check = stated("proposition-4").check(inst, 0)
    assert not check.holds and "from 0.333333 to 0.4 tasks" in check.witness
    swapped = inst.replace(demand=inst.demand[[1, 2, 0]])
    assert bonald2015._first(swapped) == 2
    assert bonald2015._first(inst.replace(demand=inst.demand[[0, 1, 1]])) is None


def test_the_distance_from_the_definition():
    inst = fo.Instance(EXAMPLE, [[1.0, 1.0]])
    assert bonald2015._distance(inst, np.array([2 / 3, 2 / 3]))[0] == pytest.approx(0, abs=1e-12)
    assert bonald2015._distance(inst, np.array([0.6, 0.6]))[0] == pytest.approx(0.1)
    # r1 is full, but the first uses less of it, and nearer to fair at r2
    assert bonald2015._distance(inst, np.array([0.2, 0.9]))[0] == pytest.approx(1 - 0.2 / 0.45)
    assert bonald2015._distance(inst, np.array([0.7, 0.7]))[0] == pytest.approx(0.05)


@pytest.mark.parametrize("seed", range(5))
def test_maps_of_types_give_what_maps_of_users_give(seed):
    """The enumeration here against that of the engine: the same allocations."""
    inst = draws.Small((3, 3), (1, 1), (2, 3), density=1.0, weight_decades=0)(
        np.random.default_rng(seed)
    )
    inst = inst.replace(demand=inst.demand[[0, 1, 1]])
    mine = list(bonald2015._all_fair(inst))
    part = bonald2015.parts_of_pool(inst)
    theirs = [totals for totals, _ in enumerate_all(part, inst.weight, inst.limit)]
    assert mine and theirs
    for some, others in ((mine, theirs), (theirs, mine)):
        for totals in some:
            assert min(np.abs(totals / other - 1).max() for other in others) < 1e-6


# -- spoiled answers: every check says no --------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("proposition-1", bonald2015),
        ("proposition-2", lies),
        ("proposition-3", bonald2015),
        ("proposition-4", bonald2015),
        ("proposition-5", bonald2015),
        ("example-2.4", examples),
        ("example-2.5", bonald2015),
        ("sharing-proportional", of_notions),
        ("pareto-bmf", of_notions),
        ("envy-bmf", of_notions),
        ("single-resource-bmf", of_notions),
        ("single-bottleneck-bmf", of_notions),
    ],
)
def test_spoiled_answers(monkeypatch, name, module):
    """The first user has half of what it should, or in Proposition 1 next to nothing."""
    honest = module.certified
    part = 0.01 if name == "proposition-1" else 0.5

    def dishonest(inst, notion):
        best = honest(inst, notion)
        spoiled = best.tasks.copy()
        spoiled[0] *= part
        if "bottleneck" in name:  # what is full stays full
            spoiled /= (inst.used(spoiled) / inst.pool).max()
        return best.with_(tasks=spoiled, objective=None)

    monkeypatch.setattr(module, "certified", dishonest)
    assert chunk(stated(name), "", 0, 0, 6)["violated"] > 2


@pytest.mark.parametrize("name", ["strategy_proof", "scale_invariant"])
def test_searches_are_asked_about_the_notion(monkeypatch, name):
    asked = []

    def search(inst, notion, trials, seed):
        asked.append((notion, trials, seed))
        return Check.of("asked", 1.0, 0.5)

    monkeypatch.setattr(of_notions, name, search)
    inst = fo.Instance(EXAMPLE, [[1.0, 1.0]])
    row = "strategy-bmf" if name == "strategy_proof" else "scale-bmf"
    assert not stated(row).check(inst, 7).holds
    ((notion, trials, seed),) = asked
    assert notion == fo.BottleneckMaxFair() and trials >= 3 and seed == 7


def test_many_lies_find_those_of_a_notion_that_is_not_strategy_proof():
    """The check of DRF, asked about bottleneck max fairness."""
    check = of_notions.ManyLies(fo.BottleneckMaxFair(), stability.bottleneck_rates)
    found = check(fo.Instance(EXAMPLE, [[1.0, 1.0]]), 0)
    assert not found.holds and found.residual == pytest.approx(1 / 9, abs=0.01)


# -- stability ---------------------------------------------------------------------------------

RATES = [
    (stability.drf_rates, fo.MaxMin("drf")),
    (stability.proportional_rates, fo.ProportionalFair()),
    (stability.bottleneck_rates, fo.BottleneckMaxFair()),
]


@pytest.mark.parametrize(("rates", "notion"), RATES)
@pytest.mark.parametrize("seed", range(5))
def test_rates_are_those_of_the_notion(rates, notion, seed):
    rng = np.random.default_rng(seed)
    inst = stability.Loaded(0.3, 0.9)(rng).replace(weight=None)
    number = rng.exponential(size=len(inst.users)) + 0.01
    best = fo.solve(inst.replace(weight=number), notion)
    mine = number * rates(bonald2015.parts_of_pool(inst), number)
    assert mine == pytest.approx(best.totals, rel=1e-5)


@pytest.mark.parametrize("rates", [pair[0] for pair in RATES])
def test_rates_where_each_class_needs_one_resource(rates):
    part, number = np.array([[0.5, 0.0], [0.0, 0.25]]), np.array([2.0, 3.0])
    assert number * rates(part, number) == pytest.approx([2, 4])
    only = np.array([[0.5, 0.1], [0.25, 0.1]])
    assert number * rates(only, number) @ only == pytest.approx([1, 0.32], abs=0.1)


def test_wrong_rates_decide_nothing():
    fair = stability.Drains(fo.ProportionalFair(), stability.drf_rates)
    with pytest.raises(Undecided, match="not the certified ones"):
        fair(fo.Instance([[0.3, 0.6], [0.6, 0.06]], [[1.0, 1.0]]), 0)


def test_a_server_that_is_slow_does_not_drain(monkeypatch):
    """Rates at a third of the fair ones leave a load of 0.9 unserved."""
    slow = stability.Drains(
        fo.BottleneckMaxFair(), lambda a, n: stability.bottleneck_rates(a, n) / 3
    )
    monkeypatch.setattr(stability.Drains, "_judge", lambda *given: None)
    assert not slow(fo.Instance([[0.3, 0.6], [0.6, 0.3]], [[1.0, 1.0]]), 0).holds


@pytest.mark.parametrize("name", ["drift-drf", "drift-proportional"])
def test_a_drift_too_small_is_refuted(monkeypatch, name):
    """Of an answer a third smaller; the bounds are that near to what the notions do."""

    def less(inst, notion):
        best = fo.solve(inst, notion)
        return best.with_(tasks=best.tasks * 0.67, objective=None)

    monkeypatch.setattr(stability, "quick", lambda *given: None)
    monkeypatch.setattr(stability, "certified", less)
    assert chunk(stated(name), "", 0, 0, 5)["violated"] > 0


def test_a_maximum_of_sum_log_is_not_passed(monkeypatch):
    """The check of `no-utility` refuses proportional fairness in place of BMF."""
    inst = fo.Instance([[0.5, 1], [1, 0.5], [1, 1]], [[1, 1]])
    check = stated("no-utility").check
    assert check(inst, 0).holds and "passed by 0.0555" in check(inst, 0).witness
    monkeypatch.setattr(utility, "BottleneckMaxFair", fo.ProportionalFair)
    assert not check(inst, 0).holds
    best = fo.solve(inst, fo.ProportionalFair()).totals
    assert utility.gain(best, np.full(3, 0.4)) < 1e-12 > utility.gain(best, np.full(3, 0.3))


def test_in_turn_the_tags_of_8_are_not_bmf(monkeypatch):
    """The check of `packets-parallel` refuses packets that visit the resources in turn."""
    from fairopt.propositions.bonald2015 import events as events

    inst = fo.Instance(events.CLASSES, [[1, 1]])
    check = stated("packets-parallel").check
    assert all(check(inst, seed).holds for seed in range(4))
    in_turn = events.packet_rates
    monkeypatch.setattr(
        events, "packet_rates", lambda *a, parallel, **more: in_turn(*a, **more, parallel=False)
    )
    assert not all(check(inst, seed).holds for seed in range(12))
