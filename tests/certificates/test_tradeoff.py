"""The judge of the trade-off: right answers, spoiled answers, bent prices."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from benchmarks import penalised
from fairopt.certificates.proof import gap_by_prices, nearer
from fairopt.certificates.tradeoff import measure
from fairopt.formulas import penalties
from fairopt.instance import generate

SOFT = [
    fo.Tradeoff(),
    fo.Tradeoff(t_pf=3),
    fo.Tradeoff(t_drf=3),
    fo.Tradeoff(900, 20),
    fo.Tradeoff(2, 5, g=3),
    fo.Tradeoff(1, 1, g=0.5),
    fo.Tradeoff(0.3, 0.2, g=0),
]
HARD = [
    fo.Tradeoff(equal_across=True),
    fo.Tradeoff(t_drf=4, equal_across=True),
    fo.Tradeoff(equal_within=True),
    fo.Tradeoff(t_pf=4, equal_within=True, g=2),
    fo.Tradeoff(equal_across=True, equal_within=True),
]
INSTANCES = (
    fo.read("kesidis2016/placement").instance,
    fo.read("kesidis2016/no-penalty").instance.replace(weight=[1, 2, 0.5], count=[1, 3]),
    generate.random_instance(4, 2, 2, density=0.8, seed=3, limits=0.5),
)


@lru_cache
def solved(notion, which):
    return fo.solve(INSTANCES[which], notion)


def spoiled(alloc, **changes):
    return alloc.with_(certificate=None, objective=None, **changes)


def possible(notion, which):
    """Both equalities together do not suit every instance."""
    return not (notion.equal_across and notion.equal_within and which != 0)


PAIRS = [(n, k) for n in SOFT + HARD for k in range(3) if possible(n, k)]


# -- right answers ----------------------------------------------------------------------------


@pytest.mark.parametrize(("notion", "which"), PAIRS, ids=str)
def test_right_answers_are_certified(notion, which):
    alloc = solved(notion, which)
    assert alloc.certificate.certified
    for changes in (
        {"prices": alloc.prices * 1e-7, "limit_prices": alloc.limit_prices * 1e-7},
        {"prices": None, "limit_prices": None},
    ):
        found = fo.certify(spoiled(alloc, **changes))
        assert found.certified, found.explain()


def test_units_do_not_matter():
    alloc = solved(fo.Tradeoff(3, 5), 0)
    inst = alloc.instance
    scale = np.array([2.0**30, 1e-3])
    other = inst.replace(demand=inst.demand * scale, capacity=inst.capacity * scale)
    again = fo.solve(other, fo.Tradeoff(3, 5))
    np.testing.assert_allclose(again.levels, alloc.levels, rtol=1e-9)
    assert again.certificate.certified


def test_saved_and_loaded(tmp_path):
    alloc = solved(fo.Tradeoff(2, 5, g=3), 1)
    alloc.save(tmp_path / "a.json")
    again = fo.load(tmp_path / "a.json")
    assert fo.certify(again).certified and again.objective == alloc.objective


# -- spoiled answers --------------------------------------------------------------------------


@pytest.mark.parametrize(("notion", "which"), PAIRS, ids=str)
def test_a_smaller_answer_is_refuted(notion, which):
    alloc = solved(notion, which)
    found = fo.certify(spoiled(alloc, tasks=alloc.tasks * 0.99))
    assert found.verdict == "refuted", found.explain()
    assert found.gap >= (1 / 0.99 - 1) * (1 - 1e-9) or notion.t_pf or notion.t_drf


@pytest.mark.parametrize("notion", SOFT, ids=str)
def test_a_moved_answer_is_refuted_with_who_or_with_a_better_one(notion):
    alloc = solved(notion, 1)
    x = alloc.tasks.copy()
    x[0] *= 0.9
    bad = spoiled(alloc, tasks=x)
    found = fo.certify(bad)
    assert found.verdict == "refuted", found.explain()
    said = "better feasible allocation" if notion.alpha == 0 else "n1 has a share of"
    assert any(said in note for note in found.notes), found.explain()
    if notion.alpha:
        mended = spoiled(bad, **nearer(bad))
        assert fo.certify(mended).certified
        np.testing.assert_allclose(mended.levels, alloc.levels, rtol=1e-6)
        assert mended.objective <= alloc.objective + 1e-9 * abs(alloc.objective)


def test_too_much_is_refuted():
    alloc = solved(fo.Tradeoff(3), 0)
    found = fo.certify(spoiled(alloc, tasks=alloc.tasks * 1.001))
    assert found.verdict == "refuted" and "not feasible" in found.notes[0]


@pytest.mark.parametrize(("notion", "name"), [(HARD[0], "(14)"), (HARD[2], "(15)")])
def test_unequal_is_refuted(notion, name):
    alloc = solved(notion, 1)
    x = alloc.tasks.copy()
    x[1, 1] *= 0.999
    found = fo.certify(spoiled(alloc, tasks=x))
    assert found.verdict == "refuted"
    assert any(name in check.name and not check.holds for check in found.checks)


def test_nothing_for_somebody():
    alloc = solved(fo.Tradeoff(1, 1), 0)
    x = alloc.tasks.copy()
    x[2] = 0
    found = fo.certify(spoiled(alloc, tasks=x))
    assert not found.certified and not found.gap < 1e-3


def test_printed_point_of_422_differs_in_the_fourth_digit():
    inst = fo.read("kesidis2016/t-drf").instance
    x = [[0, 0.75], [4.5, 3], [1.8, 0.75]]
    found = fo.certify(fo.Allocation(inst, fo.Tradeoff(t_drf=900), x))
    assert found.verdict == "refuted" and found.gap == pytest.approx(5.94e-4, rel=1e-2)


def test_prices_of_nothing_prove_nothing():
    alloc = solved(fo.Tradeoff(3), 0)
    p = np.zeros_like(alloc.prices)
    p[0, 0] = 1.0
    bent = spoiled(alloc, prices=p, limit_prices=None)
    assert gap_by_prices(bent) > 1e-6
    # tasks are right whatever prices come with them, and proved by others
    assert fo.certify(bent).certified
    assert fo.certify(spoiled(bent, tasks=alloc.tasks * (1 - 2e-6))).verdict == "refuted"


# -- bent prices and moved answers: no proof claims too much -------------------------------------


@settings(max_examples=60)
@given(
    st.sampled_from(PAIRS),
    st.lists(st.floats(0.0, 1.0), min_size=30, max_size=30),
    st.floats(-9.0, 0.0),
    st.floats(-9.0, 0.5),
    st.booleans(),
)
def test_no_bound_is_below_the_truth(pair, draws, far, bend, whole):
    """Whatever prices say, the gap proved is at least what the optimum gains; so nothing further
    than 1e-6 from the optimum is certified."""
    notion, which = pair
    best = solved(notion, which)
    inst, r = best.instance, np.array(draws)
    step = 10.0**far
    if whole or notion.equal_across or notion.equal_within:
        x = best.tasks * (1 - step * (0.5 + r[0] / 2))
    else:
        x = best.tasks * (1 - step * r[: best.tasks.size].reshape(best.tasks.shape))
    p = best.prices * (1 + 10.0**bend * r[6 : 6 + best.prices.size].reshape(best.prices.shape))
    other = spoiled(best, tasks=x, prices=p)
    found = fo.certify(other)
    off = float(np.abs(np.log(np.maximum(other.levels, 1e-300) / best.levels)).max())
    if notion.alpha:
        assert found.residual >= off - 1e-8
        assert not found.certified or off <= 1.01e-6
    # what an equal rise of all shares brings at most is at least what the optimum is above
    scale = float((inst.weight * other.levels ** (1 - notion.alpha)).sum())
    rise = (best.objective - other.objective) / scale
    worth = rise if notion.alpha == 1 else (1 - notion.alpha) * rise
    power = 1 - notion.alpha
    wanted = np.expm1(np.log1p(worth) / power) if power else np.expm1(worth)
    assert found.gap >= wanted - 1e-9 * max(1.0, abs(best.objective / scale))


# -- light users, forged prices, and both sides of the tolerance ----------------------------------

EVEN = [fo.Tradeoff(), fo.Tradeoff(t_pf=1), fo.Tradeoff(t_drf=1), fo.Tradeoff(g=2)]


@pytest.mark.every(5)
@pytest.mark.parametrize("notion", EVEN, ids=str)
@pytest.mark.parametrize("decades", [0, 6, 12])
@pytest.mark.parametrize("factor", [0.0, 0.2, 0.999, 1 - 2e-6, 1 + 2e-6, 1.001, 5.0, 144.0])
def test_a_light_user_is_judged_by_its_due(notion, decades, factor):
    """Two users share one resource; the heavier gives or takes what the other is off by."""
    half = 10.0 ** (decades / 2)
    inst = fo.Instance([[1], [1]], [[1]], weight=[half, 1 / half])
    alloc = fo.solve(inst, notion)
    if not notion.t_drf:
        np.testing.assert_allclose(alloc.levels, 1 / inst.weight.sum(), rtol=1e-9)
    light = min(alloc.tasks[1, 0] * factor, 0.9)
    bad = spoiled(alloc, tasks=[[1 - light], [light]])
    assert measure(bad)[1] > 1e-6
    assert not fo.certify(bad).certified
    without = spoiled(bad, prices=None, limit_prices=None)
    assert not fo.certify(without).certified


@pytest.mark.parametrize("t_drf", [0.0, 1e-9])
@pytest.mark.parametrize("factor", [0.1, 0.5, 2.0])
def test_what_a_heavy_user_leaves_may_be_all_that_a_light_one_is_due(t_drf, factor):
    """The heavy user is held by its limit, or by the other resource; the light one gets the rest.

    Prices are bent so that the light user is content with what it is given.
    """
    light = 1e-7 * factor
    heavy = 1.0 - 1e-7 * max(factor, 1.0)
    price = 1e-8 / light
    notion = fo.Tradeoff(t_drf=t_drf)
    inst = fo.Instance([[1], [1]], [[1]], limit=[1 - 1e-7, np.inf], weight=[1, 1e-8])
    held = fo.Allocation(inst, notion, [[heavy], [light]], [[price]], [1 / heavy - price, 0])
    assert measure(held)[1] > 0.1 and not fo.certify(held).certified
    inst = fo.Instance([[1, 1], [0, 1]], [[1, 1 + 1e-7]], weight=[1, 1e-8])
    first = min(1.0, 1 + 1e-7 - light)
    two = fo.Allocation(inst, notion, [[first], [light]], [[1 / first - price, price]])
    assert measure(two)[1] > 0.1 and not fo.certify(two).certified


def test_a_heavy_user_may_not_crowd_a_light_one_out_of_a_small_server():
    inst = fo.Instance(
        [[1], [1]], [[1], [1]], count=[10**7, 1], placement=[[1, 1], [0, 1]], weight=[1, 1e-8]
    )
    alloc = fo.solve(inst, fo.Tradeoff())
    x, p = alloc.tasks.copy(), alloc.prices.copy()
    x[:, 1] = [x[0, 1] + x[1, 1] / 2, x[1, 1] / 2]
    p[1] *= 2
    assert measure(spoiled(alloc, tasks=x, prices=p))[1] > 0.1


@pytest.mark.parametrize("price", [5e-324, 1e-310, 1e-300, 1.0, 1e300, 1.7e308])
def test_only_ratios_of_prices_count(price):
    inst = fo.Instance([[1], [1.5]], [[1e6]])
    right = fo.Allocation(inst, fo.Tradeoff(), [[5e5], [1e6 / 3]], [[price]])
    assert fo.certify(right).certified
    wrong = fo.Allocation(inst, fo.Tradeoff(), [[5e5], [2.5e5]], [[price]])
    assert fo.certify(wrong).verdict == "refuted"


@pytest.mark.parametrize("t", [1e-6, 1.0, 1e4, 1e9])
@pytest.mark.parametrize("which", ["t_pf", "t_drf"])
def test_the_answer_of_another_weight_of_a_variance_is_refused(which, t):
    """Prices and tasks agree with each other, but not with the question."""
    inst = INSTANCES[1]
    alloc = fo.solve(inst, fo.Tradeoff(**{which: t}))
    other = fo.solve(inst, fo.Tradeoff(**{which: 0.5 * t}))
    off = float(np.abs(other.levels / alloc.levels - 1).max())
    forged = spoiled(other, notion=alloc.notion)
    assert fo.certify(forged).certified <= (off <= 1e-6)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("error", "passes"), [(0.5e-6, True), (2e-6, False)])
def test_residual_is_bracketed(alpha, error, passes):
    """Two users on one row: |F/F0 - 1| with phi g'(F0) = phi p, by hand."""
    inst = fo.Instance([[1], [1]], [[1]], weight=[1, 1e-6])
    alloc = fo.solve(inst, fo.Tradeoff(g=alpha))
    light = 1e-6 / (1 + 1e-6) * (1 + error)  # both have one level, whatever the last digits found
    bad = spoiled(alloc, tasks=[[1 - light], [light]])
    f = bad.tasks[:, 0] / inst.weight
    # prices buy what the answer is worth: p = sum phi F^(1-alpha) / sum phi F
    price = float(inst.weight @ f ** (1 - alpha)) / float(inst.weight @ f)
    expected = float(np.abs(f / price ** (-1 / alpha) - 1).max())
    assert expected == pytest.approx(error, rel=1e-3)
    assert measure(bad)[1] == pytest.approx(expected, rel=1e-3)
    assert fo.certify(bad).certified == passes


@pytest.mark.parametrize(("error", "passes"), [(0.5e-6, True), (2e-6, False)])
def test_gap_is_bracketed(error, passes):
    """An answer smaller by one factor: without penalties the gap is that factor."""
    alloc = solved(fo.Tradeoff(), 0)
    small = spoiled(alloc, tasks=alloc.tasks / (1 + error))
    rise = (alloc.objective - small.objective) / alloc.instance.weight.sum()
    assert np.expm1(rise) == pytest.approx(error, rel=1e-4)
    assert measure(small)[0] == pytest.approx(error, rel=1e-3)
    assert (measure(small)[0] <= 1e-6) == passes


@pytest.mark.parametrize("notion", [HARD[0], HARD[2]], ids=str)
@pytest.mark.parametrize(("error", "passes"), [(0.5e-9, True), (2e-9, False)])
def test_equalities_are_bracketed(notion, error, passes):
    """Levels from their mean; shares from the mean of their server, in parts of the user's own."""
    alloc = solved(notion, 1)

    def apart(tasks):
        a = alloc.score * tasks
        level = a.sum(axis=1) / alloc.instance.weight
        if notion.equal_across:
            return float(np.abs(level / level.mean() - 1).max())
        away = np.where(alloc.instance.eligible, a - penalties.means(alloc.instance, a), 0.0)
        return float((np.abs(away) / a.sum(axis=1, keepdims=True)).max())

    x = alloc.tasks.copy()
    x[0] *= 1 - 1e-4
    x[0] = alloc.tasks[0] * (1 - 1e-4 * error / apart(x))
    assert apart(x) == pytest.approx(error, rel=1e-3)
    check = next(c for c in fo.certify(spoiled(alloc, tasks=x)).checks if "equal" in c.name)
    assert check.tolerance - check.margin == pytest.approx(apart(x), rel=1e-3)
    assert check.holds == passes


@pytest.mark.parametrize("notion", HARD[:4], ids=str)
@pytest.mark.parametrize("factor", [0.0, 0.2, 1 - 1e-3, 1 - 2e-6])
@pytest.mark.parametrize("who", [0, 1, 2])
def test_hard_forms_judge_every_user(notion, factor, who):
    alloc = solved(notion, 1)
    x = alloc.tasks.copy()
    x[who] *= factor
    assert not fo.certify(spoiled(alloc, tasks=x)).certified
    # everybody alike keeps (14) and (15), and is refused for what is left over
    if factor:
        assert not fo.certify(spoiled(alloc, tasks=alloc.tasks * factor)).certified


# -- beside a reference in decimals ----------------------------------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(16))
def test_levels_are_those_of_a_reference_in_ninety_digits(seed):
    """Rows nearly parallel, light users, penalties from 1e-9 to 1e4: nothing wrong is certified."""
    inst, notion = penalised.drawn(seed)
    best = penalised.truth(inst, notion)
    if best is None:
        assert seed == 10, "the reference did not reach its top"
        return
    own = fo.solve(inst, notion)
    assert own.certificate.certified
    np.testing.assert_allclose(own.levels, best, rtol=1e-6)
    for bad in penalised.forged(own, seed):
        off = float(np.abs(np.log(np.maximum(bad.levels, 1e-300) / best)).max())
        found = fo.certify(bad)
        assert not (found.certified and off > 1.02e-6), found.explain()
        assert not (found.verdict == "refuted" and off < 0.98e-6), found.explain()
        assert found.residual >= off * (1 - 1e-6) - 1e-12


def test_forged_prices_on_nearly_parallel_rows_are_refuted():
    """Shares 3e-4 off, prices with which they are the best: certified once."""
    demand, capacity = np.array([[1, 1], [1, 0.999]]), np.array([1, 0.9995])
    inst, prices = fo.Instance(demand, [capacity]), np.array([0.4, 0.6])
    tasks = 1 / (demand @ prices)
    tasks /= ((demand.T @ tasks) / capacity).max()
    for notion in (fo.Tradeoff(t_pf=1e-9), fo.Tradeoff(t_drf=1e-9), fo.Tradeoff(1, 1)):
        found = fo.certify(fo.Allocation(inst, notion, tasks[:, None], [2 * prices]))
        assert found.verdict == "refuted" and "is due at" in found.notes[0]
        assert 2e-4 < found.residual < 4e-4


@pytest.mark.parametrize(("tolerance", "certified"), [(1e-6, False), (1e-3, True)])
def test_another_tolerance_may_be_asked_for(tolerance, certified):
    alloc = solved(fo.Tradeoff(t_pf=3), 0)
    near = spoiled(alloc, tasks=alloc.tasks * (1 - 1e-4))
    assert fo.certify(near, tolerance=tolerance).certified == certified


@pytest.mark.parametrize("form", [{"equal_across": True}, {"equal_within": True}])
def test_hard_forms_by_hand(form):
    """Two users of one server share it alike, whatever their demand; forged prices tell nothing."""
    inst = fo.Instance([[1.0, 2.0], [3.0, 1.0]], [[9.0, 18.0]])
    score = np.array([1 / 9, 1 / 3])  # of a task
    level = 1 / max(1 / 9 / score[0] + 3 / 9 / score[1], 2 / 18 / score[0] + 1 / 18 / score[1])
    right = fo.Allocation(inst, fo.Tradeoff(**form), (level / score)[:, None], [[5.0, 7.0]])
    assert fo.certify(right).certified
    wrong = spoiled(right, tasks=right.tasks * (1 - 3e-6))
    assert fo.certify(wrong).verdict == "refuted"
