"""The judge of the alpha-fair family: right answers, and answers spoiled in every way."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.guessed import with_prices
from fairopt.certificates.proof import gap_by_prices, measure
from fairopt.certificates.witness import better, welfare_of
from fairopt.errors import BadInput, UsageError
from fairopt.formulas import welfare

NOTIONS = [
    fo.Throughput(),
    fo.AlphaFair(0.5),
    fo.ProportionalFair(),
    fo.AlphaFair(2),
    fo.AlphaFair(2, weight_inside=True),
    fo.AlphaFair(50, "drf"),
]


def failed(certificate):
    return {check.name for check in certificate.checks if not check.holds}


def check(certificate, name):
    return next(c for c in certificate.checks if c.name == name)


def cluster(limit=None):
    """Three users of two resources on two servers; the third may use only one."""
    return fo.Instance(
        [[1, 4], [3, 1], [2, 2]],
        [[9, 18], [12, 6]],
        placement=[[1, 1], [1, 1], [0, 1]],
        weight=[1, 2, 0.5],
        limit=limit,
        users=["a", "b", "c"],
        resources=["cpu", "memory"],
    )


def spoiled(alloc, **changes):
    return alloc.with_(certificate=None, objective=None, equivalent=None, **changes)


def judged(alloc, **changes):
    return fo.certify(spoiled(alloc, **changes))


@lru_cache
def _solved(notion, limit):
    return fo.solve(cluster(limit and list(limit)), notion)


def solved(notion, limit=None):
    return _solved(notion, limit and tuple(limit))


@pytest.fixture(scope="module")
def right():
    return fo.solve(cluster(), fo.ProportionalFair())


# -- right answers ----------------------------------------------------------------------------


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
@pytest.mark.parametrize("limit", [None, [1.5, np.inf, 0.25], [0.5, 0.5, 0.5]])
def test_right_answers_are_certified(notion, limit):
    alloc = solved(notion, limit)
    found = judged(alloc)
    assert found.certified and not failed(found)
    assert found.gap <= 1e-9 and found.residual <= 1e-9
    # the scale of prices is nobody's business
    again = judged(alloc, prices=alloc.prices * 1e-7, limit_prices=alloc.limit_prices * 1e-7)
    assert again.certified
    for share, (low, high) in zip(alloc.shares, found.intervals, strict=True):
        # ends are of optima, and an answer is right to a few digits of a float
        assert low * (1 - 1e-11) <= share <= high * (1 + 1e-11)
        if alloc.notion["parameters"].get("alpha") in (0.5, 2.0):
            assert high <= low * 1.001 and not found.undetermined


def test_the_verdict_in_words(right):
    text = right.certificate.explain()
    assert text.startswith("certified: gap ")
    for name in ("tasks >= 0", "placement", "capacity", "limit", "gap", "residual"):
        assert f"  ok   {name}: " in text
    worth = re.search(r"c is stopped by \w+ on s2, one more unit raises every share by (\S+)", text)
    assert worth
    assert float(worth[1]) == pytest.approx(right.prices[1].max() / 3.5, rel=1e-2)


def test_a_price_is_what_one_more_unit_is_worth(right):
    """The words are true: give a little more and E rises by price / sum phi."""
    step = 1e-4
    for i in range(2):
        for r in range(2):
            capacity = np.array(right.instance.capacity)
            capacity[i, r] += step
            more = fo.solve(right.instance.replace(capacity=capacity), fo.ProportionalFair())
            rise = np.log(more.equivalent / right.equivalent) / step
            assert rise == pytest.approx(right.prices[i, r] / 3.5, rel=1e-3, abs=1e-9)


# -- not feasible -----------------------------------------------------------------------------


def test_capacity_exceeded_by_two_parts_in_a_billion(right):
    grown = judged(right, tasks=right.tasks * (1 + 2e-9))
    assert grown.verdict == "refuted" and failed(grown) == {"capacity"}
    assert re.fullmatch(r"s[12] at (cpu|memory)", check(grown, "capacity").witness)
    assert any("not feasible: it needs to be scaled by 0.99999999" in note for note in grown.notes)
    assert judged(right, tasks=right.tasks * (1 + 0.5e-9)).certified


def test_negative_tasks_and_tasks_out_of_place(right):
    tasks = np.array(right.tasks)
    tasks[2, 0] = 1e-12
    found = judged(right, tasks=tasks)
    assert found.verdict == "refuted" and "placement" in failed(found)
    assert check(found, "placement").witness == "c at s1"
    tasks = np.array(right.tasks)
    tasks[1] += [1e-7, -tasks[1, 1] - 1e-7]
    found = judged(right, tasks=tasks)
    assert found.verdict == "refuted" and "tasks >= 0" in failed(found)
    assert check(found, "tasks >= 0").witness == "b at s2"
    assert not any("scaled by 1 to" in note for note in found.notes)


def test_a_resource_that_is_not_there_is_used():
    inst = fo.Instance([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    alloc = fo.Allocation(inst, fo.ProportionalFair(), [[1, 1], [1e-12, 1]])
    found = fo.certify(alloc)
    assert found.verdict == "refuted" and {"placement", "capacity"} <= failed(found)
    assert check(found, "capacity").witness == "s1 at r2"


def test_limit_exceeded():
    alloc = fo.solve(cluster([1.5, np.inf, 0.25]), fo.ProportionalFair())
    inst = alloc.instance.replace(limit=[1.5, np.inf, 0.25 * (1 - 2e-9)])
    found = fo.certify(fo.Allocation(inst, fo.ProportionalFair(), alloc.tasks, alloc.prices))
    assert found.verdict == "refuted" and "limit" in failed(found)
    assert check(found, "limit").witness == "c"


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("field", ["tasks", "prices", "limit_prices", "score"])
def test_numbers_that_are_none_are_refused(right, field, bad):
    array = np.array(getattr(right, field))
    array.flat[0] = bad
    with pytest.raises(BadInput, match=f"{field}: found NaN or infinity"):
        spoiled(right, **{field: array})


# -- not optimal: what a gap alone would pass -------------------------------------------------


def test_one_of_a_thousand_equal_users_cut():
    inst = fo.Instance(np.ones((1000, 1)), [[1000.0]])
    tasks = np.ones((1000, 1))
    tasks[7] = 0.96
    tasks[np.arange(1000) != 7] += 0.04 / 999
    cut = fo.Allocation(inst, fo.ProportionalFair(), tasks, [[1.0]])
    found = fo.certify(cut)
    assert found.verdict == "refuted"
    assert check(found, "residual").witness == "u8"
    assert found.residual == pytest.approx(-np.log(0.96), rel=1e-6)
    assert "u8 has a share of 0.96 and is due at least 1: at least 4 % and" in found.explain()
    assert found.gap < 1e-5  # an average hides it
    whole = fo.certify(fo.Allocation(inst, fo.ProportionalFair(), np.ones((1000, 1)), [[1.0]]))
    assert whole.certified


@pytest.mark.parametrize("factor, verdict", [(0.1, "refuted"), (1.5, "refuted"), (19, None)])
def test_the_light_user_beside_a_heavy_one(factor, verdict):
    weight = np.array([1e-6, 1.0, 1e6])
    inst = fo.Instance(np.ones((3, 1)), [[1.0]], weight=weight)
    due = weight / weight.sum()
    tasks = due.copy()
    tasks[0] *= factor
    tasks[2] -= tasks[0] - due[0]
    p = [[weight.sum()]]
    assert fo.certify(fo.Allocation(inst, fo.ProportionalFair(), due[:, None], p)).certified
    found = fo.certify(fo.Allocation(inst, fo.ProportionalFair(), tasks[:, None], p))
    assert not found.certified and found.gap < 1e-9
    assert failed(found) == {"residual"} and "u1" in found.undetermined
    assert found.residual >= abs(np.log(factor)) * (1 - 1e-9)
    low, high = found.intervals[0]
    assert low <= due[0] * (1 + 1e-9) and due[0] * (1 - 1e-9) <= high
    if verdict is not None:  # what is proved is near, and nobody else is accused
        assert found.verdict == verdict and found.undetermined == ("u1",)
        assert found.residual == pytest.approx(abs(np.log(factor)), rel=1e-3)


def test_the_rich_half_left_idle():
    """At alpha = 50 the welfare of a user a thousand times richer does not show."""
    inst = fo.Instance([[1], [1]], [[1], [1000]], placement=[[1, 0], [0, 1]])
    notion = fo.AlphaFair(50)
    alloc = fo.solve(inst, notion)
    assert alloc.totals == pytest.approx([1, 1000], rel=1e-12)
    idle = judged(alloc, tasks=[[1, 0], [0, 500]])
    assert idle.gap < 1e-12 and not idle.certified
    assert failed(idle) == {"residual"} and check(idle, "residual").witness == "u2"
    assert idle.undetermined == ("u2",)
    # without prices too
    bare = judged(alloc, tasks=[[1, 0], [0, 500]], prices=None, limit_prices=None)
    assert not bare.certified


def test_figure_1_of_khamse2016_with_user_3_short():
    inst = fo.read("khamse2016/figure-1").instance
    notion = fo.AlphaFair(50)
    alloc = fo.solve(inst, notion)
    assert alloc.certificate.certified
    tasks = np.array(alloc.tasks)
    third = tasks[2] * (5.03 / tasks[2].sum())
    tasks[2] = third
    short = judged(alloc, tasks=tasks)
    assert short.gap < 1e-9 and not short.certified
    assert check(short, "residual").witness == inst.users[2]
    # at least what it is short of
    assert np.log(6 / 5.03) <= short.residual < 1
    assert inst.users[2] in short.undetermined


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_a_tenth_of_everything_left_lying(notion):
    alloc = solved(notion)
    found = judged(alloc, tasks=alloc.tasks * 0.9)
    assert found.verdict == "refuted"
    assert found.gap == pytest.approx(1 / 9, rel=1e-6)
    assert {"gap", "residual"} <= failed(found)
    pattern = r"is due at least \S+: at least (\S+) % and at most \S+ % short"
    short = re.findall(pattern, str(found.notes))
    if short:  # who is short is proved, user by user
        assert [float(part) for part in short] == pytest.approx([10] * 3, rel=1e-2)
    else:  # or that all could have more
        lost = check(found, "no better allocation").residual
        assert lost <= found.gap * (1 + 1e-9)
        assert lost == pytest.approx(1 / 9, rel=0.05)


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_a_user_with_nothing(notion):
    alloc = solved(notion)
    tasks = np.array(alloc.tasks)
    tasks[1] = 0
    found = judged(alloc, tasks=tasks)
    assert found.verdict == "refuted"
    bare = judged(alloc, tasks=tasks, prices=None, limit_prices=None)
    assert bare.verdict == "refuted"


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
def test_nobody_has_anything(notion):
    found = fo.certify(fo.Allocation(cluster(), notion, np.zeros((3, 2))))
    assert found.verdict == "refuted" and found.gap == np.inf


# -- prices wrong or missing ------------------------------------------------------------------


def proved_alike(alloc, right):
    """Certified with the same ends for every share: prices are where the search begins."""
    found = fo.certify(alloc)
    assert found.certified, found.explain()
    assert np.allclose(np.array(found.intervals), np.array(right.intervals), rtol=1e-6)


def test_money_on_a_resource_that_is_not_full():
    """Tasks are right, so the answer is, whatever its prices say; what those prove is told."""
    inst = fo.Instance([[1, 1], [1, 1]], [[2, 100]])
    alloc = fo.Allocation(inst, fo.ProportionalFair(), [[1], [1]], [[1.0, 0.0]])
    found = fo.certify(alloc)
    assert found.certified
    other = spoiled(alloc, prices=[[1.0, 0.001]])
    # 2 + 0.1 of money, of which users need 2 * 1.001
    assert gap_by_prices(other) == pytest.approx(2.1 / 2.002 - 1, rel=1e-9)
    proved_alike(other, found)


def test_money_on_a_resource_not_full_beside_a_light_user():
    """The limit of a light user is priced although it is far from it."""
    inst = fo.Instance([[1]] * 2, [[2]], weight=[1, 1e-9], limit=[np.inf, 1e-8])
    due = 2 / (1 + 1e-9) * np.array([1, 1e-9])
    alloc = fo.Allocation(inst, fo.ProportionalFair(), due[:, None], [[(1 + 1e-9) / 2]])
    found = fo.certify(alloc)
    assert found.certified
    proved_alike(spoiled(alloc, limit_prices=[0, 0.5]), found)
    for part in (0.5, 2.0):
        tasks = [[2 - part * due[1]], [part * due[1]]]
        assert not judged(alloc, tasks=tasks, limit_prices=[0, 0.5]).certified


def test_one_price_doubled(right):
    for i, r in np.argwhere(right.prices > 1e-6):
        p = np.array(right.prices)
        p[i, r] *= 2
        assert gap_by_prices(spoiled(right, prices=p)) > 1e-3
        proved_alike(spoiled(right, prices=p), right.certificate)


def test_no_price_at_all_is_no_price_known(right):
    assert judged(right, prices=np.zeros((2, 2)), limit_prices=None).certified


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
@pytest.mark.parametrize("limit", [None, [1.5, np.inf, 0.25], [0.5, 0.5, 0.5]])
def test_prices_are_guessed(notion, limit):
    alloc = solved(notion, limit)
    bare = judged(alloc, prices=None, limit_prices=None)
    assert bare.certified, bare.explain()


def test_prices_of_limits_alone_are_kept():
    """Everybody at its limit: nothing is full, and the answer's own limit prices are kept."""
    alloc = fo.solve(cluster([0.5, 0.5, 0.5]), fo.ProportionalFair())
    own = spoiled(alloc, prices=np.zeros((2, 2)), limit_prices=[2, 4, 1])
    assert with_prices(own) is own
    assert fo.certify(own).certified and judged(own, limit_prices=[2, 4, 0]).certified
    assert not judged(own, tasks=own.tasks * [[1], [1], [0.9]]).certified


def test_only_the_ratios_of_prices_speak(right):
    """Multiplied into the last corner of floating point they say what they said."""
    for factor in (2.0**-1000, 2.0**900):
        moved = judged(right, prices=right.prices * factor, limit_prices=None)
        assert moved.certified and moved.gap < 1e-9 and moved.residual < 1e-9
    alike = [spoiled(right, prices=np.full((2, 2), p)) for p in (1.0, 1e300, 1e-300)]
    # 1e300 is no power of two: the last digit of a price may be another
    gaps = [gap_by_prices(alloc) for alloc in alike]
    assert gaps == pytest.approx([gaps[0]] * 3, rel=1e-12) and gaps[0] > 0.01


@pytest.mark.parametrize("alpha", [0, 0.5, 1, 2, 50])
def test_prices_that_floating_point_cannot_multiply_mislead_nobody(alpha):
    """5e-324 x 1.5 is 5e-324: two users of demand 1 and 1.5 seemed to cost the same."""
    inst = fo.Instance([[1], [1.5]], [[1e6]])
    notion = fo.AlphaFair(alpha)
    for p in (5e-324, 1e-300, 1.0, 1e308):
        alloc = fo.Allocation(inst, notion, [[5e5], [2.5e5 * 4 / 3]], [[p]])
        assert fo.certify(alloc).certified == (alpha == 1)
        assert not fo.certify(alloc.with_(tasks=[[5e5], [2.5e5]])).certified
        best = fo.solve(inst, notion)
        assert fo.certify(fo.Allocation(inst, notion, best.tasks, [[p]])).certified
    # 600 decades apart: what stays is the dear one, and the tasks are right at alpha = 1 alone
    two = fo.Instance([[1], [1.5], [1]], [[1e6], [1e6]], placement=[[1, 0], [1, 0], [0, 1]])
    tasks = [[5e5, 0], [1e6 / 3, 0], [0, 1e6]]
    found = fo.certify(fo.Allocation(two, notion, tasks, [[1e-300], [1e300]]))
    assert found.certified == (alpha == 1)


def test_the_largest_price_of_throughput_is_a_price():
    inst = fo.Instance([[1], [1.5]], [[1e6]])
    assert fo.certify(fo.Allocation(inst, fo.Throughput(), [[1e6], [0]], [[1e308]])).certified


def test_forged_prices_of_all_kinds_are_not_believed(right):
    """What no user pays for makes the budget larger; a price of no limit costs without end: of
    right tasks that is no fault, and no price makes wrong ones right."""
    short = np.array(right.tasks)
    short[2] *= 0.5
    inst = right.instance.replace(
        demand=np.pad(right.instance.demand, ((0, 0), (0, 1))),
        capacity=np.pad(right.instance.capacity, ((0, 1), (0, 1)), constant_values=5.0),
        placement=np.pad(right.instance.placement, ((0, 0), (0, 1))),
        count=None,
        servers=["s1", "s2", "nobody's"],
        resources=["cpu", "memory", "unwanted"],
    )
    wide = np.pad(right.prices, ((0, 1), (0, 1)))
    more = np.pad(right.tasks, ((0, 0), (0, 1)))
    mine = fo.Allocation(inst, fo.ProportionalFair(), more, wide)
    assert fo.certify(mine).certified
    for place in ((0, 2), (2, 0), (2, 2)):
        forged = wide.copy()
        forged[place] = 1e-3
        assert gap_by_prices(spoiled(mine, prices=forged)) > 1e-4
        proved_alike(spoiled(mine, prices=forged), fo.certify(mine))
    for forged in (np.full_like(wide, 1e308), np.full_like(wide, 5e-324), wide * 0, wide[::-1]):
        half = spoiled(mine, prices=forged, tasks=np.pad(short, ((0, 0), (0, 1))))
        assert not fo.certify(half).certified
    proved_alike(spoiled(right, limit_prices=[1e-3, 0, 0]), right.certificate)


# -- users that an objective does not see ----------------------------------------------------------


def own_resource(weight):
    """A heavy user of the first resource, a light one of the second."""
    return fo.Instance([[1, 0], [0, 1]], [[1, 4]], weight=[1, weight])


@pytest.mark.parametrize("notion", [fo.Throughput(), fo.AlphaFair(0, "drf")], ids=str)
@pytest.mark.parametrize("weight", [1.0, 1e-6, 1e-12])
def test_a_light_user_alone_on_its_resource_is_not_forgotten(notion, weight):
    inst = own_resource(weight)
    own = weight * (1 if notion == fo.Throughput() else 0.25)
    parts = {1.0: True, 1 - 0.4e-6: True, 1 - 2e-6: False, 0.5: False, 0.0: False}
    for part, right in parts.items():
        for asked in ([[1, own]], None):
            found = fo.certify(fo.Allocation(inst, notion, [[1], [4 * part]], asked))
            assert found.certified == right, (part, found.explain())


@pytest.mark.parametrize("part, good", [(0.5e-6, True), (2e-6, True), (0.02, False)])
def test_tasks_where_they_are_dearer_cost_what_the_objective_loses(part, good):
    """Dearer by 1e-4: of a linear program the objective speaks, which loses that of the part."""
    inst = fo.Instance(
        [[1.0], [1.0]], [[1.0], [1.0]], placement=[[1, 1], [0, 1]], weight=[1, 1 + 1e-4]
    )
    tasks = [[1.0, part], [0.0, 1 - part]]
    alloc = fo.Allocation(inst, fo.Throughput(), tasks, [[1.0], [1 + 1e-4]])
    found = fo.certify(alloc)
    assert found.certified == good
    assert found.gap == pytest.approx(1e-4 * part / (2 + 1e-4), rel=2e-2)


def test_a_price_of_what_is_idle_is_no_excuse():
    """The heavy user fills the first two resources; a price on the first alone says nothing of the
    second, of which the light one would need next to nothing, and its own lies idle."""
    inst = fo.Instance([[1, 1, 0], [0, 1e-9, 1]], [[1, 1, 1]], weight=[1, 1e-7])
    for idle in (0.0, 1e-7):
        alloc = fo.Allocation(inst, fo.Throughput(), [[1], [0]], [[1, 0, idle]])
        assert not fo.certify(alloc).certified
    assert fo.solve(inst, fo.Throughput()).tasks[1, 0] == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("alpha", [0, 0.1, 0.5, 1, 2])
def test_a_tiny_limit_is_not_nothing(alpha):
    """A limit of 1e-12 of what the user could have alone: it gets that, not nothing."""
    inst = fo.Instance([[1], [1]], [[1]], limit=[1e-12, np.inf], weight=[2, 1])
    notion = fo.AlphaFair(alpha)
    right = fo.solve(inst, notion)
    assert right.totals[0] == pytest.approx(1e-12, rel=1e-6)
    for part in (0.0, 0.5, 1 - 4e-6):
        short = judged(right, tasks=[[1e-12 * part], [1 - 1e-12 * part]])
        assert not short.certified, part


def test_unserved_users_of_throughput_are_right_where_others_fill_the_server():
    """Ties, limits and users that are worth less than the prices: true optima stay certified."""
    inst = fo.Instance([[1], [1], [2]], [[10]], weight=[2, 2, 3])
    for tasks in ([[10], [0], [0]], [[0], [10], [0]], [[4], [6], [0]]):
        assert fo.certify(fo.Allocation(inst, fo.Throughput(), tasks, [[2]])).certified
    assert not fo.certify(fo.Allocation(inst, fo.Throughput(), [[8], [0], [1]], [[2]])).certified
    limited = inst.replace(limit=[4, np.inf, np.inf], weight=[3, 2, 3])
    alloc = fo.Allocation(limited, fo.Throughput(), [[4], [6], [0]], [[2]], [1, 0, 0])
    assert fo.certify(alloc).certified


def test_a_notion_without_a_judge():
    inst = fo.Instance([[1]], [[1]])
    found = fo.certify(fo.Allocation(inst, {"name": "unheard-of"}, [[1]]))
    assert found.verdict == "unproved" and found.gap == np.inf
    assert "no judge is known for the notion 'unheard-of'" in found.explain()
    over = fo.certify(fo.Allocation(inst, {"name": "unheard-of"}, [[2]]))
    assert over.verdict == "refuted" and "FAIL capacity" in over.explain()
    with pytest.raises(UsageError, match="not alpha-fair"):
        measure(fo.Allocation(inst, {"name": "ps-dsf"}, [[1]], [[1]]))


# -- printed allocations ----------------------------------------------------------------------

PRINTED = {
    "kesidis2016/no-penalty": (
        np.array([[0.4, 0.375], [0.4, 0.375], [0.4, 0.375]]),
        np.exp((-0.437690 + 0.764677) / 3) - 1,
    ),
    "kesidis2016/placement": (
        np.array([[0, 0.4574], [0.5, 0.2713], [0.5, 0.2713]]),
        np.exp((-1.216395 + 1.301529) / 3) - 1,
    ),
}


# exact shares: of 4.1 as derived in `test_the_optimum_of_4_1`, of placement all alike
OPTIMUM = {
    "kesidis2016/no-penalty": (40 / 51, 10 / 9, 20 / 27),
    "kesidis2016/placement": (2 / 3,) * 3,
}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_allocations_of_kesidis2016_are_refuted(name):
    inst = fo.read(name).instance
    dominant, rise = PRINTED[name]
    notion = fo.ProportionalFair("dominant-share")
    score = fo.Allocation(inst, notion, np.zeros(inst.shape[:2])).score
    tasks = np.divide(dominant, score, out=np.zeros_like(dominant), where=score > 0)
    # as printed, rounded: pushed back into the capacities
    over = (inst.used(tasks) / inst.pool).max()
    assert over < 1.0005
    found = fo.certify(fo.Allocation(inst, notion, tasks / max(over, 1)))
    assert found.verdict == "refuted"
    words = "\n".join(found.notes)
    assert found.gap == pytest.approx(rise, rel=1e-2)
    # user by user what it is due, which is what is printed as the optimum's digits
    best = OPTIMUM[name]
    for share, (low, high) in zip(best, found.intervals, strict=True):
        assert low <= share * (1 + 1e-9) and share * (1 - 1e-9) <= high
    pattern = r"(n\d) has a share of (\S+) and is due at (least|most) (\S+): at least (\S+) %"
    said = re.findall(pattern, words)
    assert {user for user, *_ in said} == set(inst.users), words
    for user, share, _, due, part in said:
        n = inst.users.index(user)
        off = abs(np.log(float(share) / best[n]))
        assert float(due) == pytest.approx(best[n], rel=1e-6)
        assert float(part) == pytest.approx(100 * -np.expm1(-off), rel=1e-2)


@pytest.mark.parametrize("name", PRINTED)
def test_the_better_allocation_is_feasible_and_better(name):
    inst = fo.read(name).instance
    notion = fo.ProportionalFair("dominant-share")
    start = fo.solve(inst, notion)
    start = spoiled(start, tasks=start.tasks * [[0.9], [0.7], [0.8]])
    tasks, log_ratio = better(start, welfare_of(start, np.zeros(3), 1.0))
    found = spoiled(start, tasks=tasks)
    assert all(c.holds for c in feasibility(found))
    assert np.log(found.equivalent / start.equivalent) == pytest.approx(log_ratio, abs=1e-12)
    assert log_ratio > 0.15


def test_the_optimum_of_4_1_is_certified_with_its_rational_prices():
    inst = fo.read("kesidis2016/no-penalty").instance
    notion = fo.ProportionalFair("dominant-share")
    shares = np.array([[40 / 51, 0], [58 / 153, 112 / 153], [35 / 153, 235 / 459]])
    score = fo.Allocation(inst, notion, np.zeros((3, 2))).score
    money = np.array([[3 / 4, 9 / 10], [0, 27 / 20]]) / inst.pool
    found = fo.certify(fo.Allocation(inst, notion, shares / score, money))
    assert found.certified and found.gap < 1e-13 and found.residual < 1e-13


# -- what the bound promises ------------------------------------------------------------------


@st.composite
def questions(draw):
    n, i, r = (draw(st.integers(1, 3)) for _ in range(3))
    amounts = st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0])
    demand = np.array(draw(st.lists(amounts, min_size=n * r, max_size=n * r))).reshape(n, r)
    demand[:, 0] += 0.25
    some = st.floats(0.1, 10)
    capacity = np.array(draw(st.lists(some, min_size=i * r, max_size=i * r))).reshape(i, r)
    limit = draw(st.lists(st.sampled_from([np.inf, 0.5, 2.0]), min_size=n, max_size=n))
    weight = draw(st.lists(some, min_size=n, max_size=n))
    inst = fo.Instance(demand, capacity, weight=weight, limit=limit)
    notion = fo.AlphaFair(
        draw(st.sampled_from([0.0, 0.3, 0.99, 1.0, 1.01, 2.0, 10.0])),
        draw(st.sampled_from(["tasks", "drf", "dominant-share"])),
        draw(st.booleans()),
    )
    return inst, notion


def feasible(draw, inst):
    """Some feasible tasks, not always full."""
    n, i, _ = inst.shape
    part = st.one_of(st.just(0.0), st.floats(0.001, 1))
    x = np.array(draw(st.lists(part, min_size=n * i, max_size=n * i))).reshape(n, i) * inst.alone
    over = max((inst.used(x) / inst.pool).max(), (x.sum(axis=1) / inst.limit).max(), 1.0)
    return x / over


@given(questions(), st.data())
def test_any_prices_bound_every_feasible_point(question, data):
    """E(x') <= (1 + gap) E(x) for random x, x' and prices."""
    inst, notion = question
    n, i, r = inst.shape
    money = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
    p = np.array(data.draw(st.lists(money, min_size=i * r, max_size=i * r))).reshape(i, r)
    mu = np.array(data.draw(st.lists(money, min_size=n, max_size=n)))
    mu = np.where(np.isfinite(inst.limit), mu, 0)
    here, there = (fo.Allocation(inst, notion, feasible(data.draw, inst), p, mu) for _ in range(2))
    bound = gap_by_prices(here)
    if np.isfinite(bound):
        assert there.equivalent <= here.equivalent * (1 + bound) * (1 + 1e-9)


@settings(max_examples=8)
@given(questions(), st.data())
def test_intervals_contain_the_optimum(question, data):
    inst, notion = question
    best = fo.solve(inst, notion, uncertified="return")
    alloc = fo.Allocation(inst, notion, feasible(data.draw, inst), best.prices, best.limit_prices)
    for found in (fo.certify(alloc), judged(alloc, prices=None, limit_prices=None)):
        for share, (low, high) in zip(best.shares, found.intervals, strict=True):
            assert low * (1 - 1e-6) <= share <= high * (1 + 1e-6)
        assert best.equivalent <= alloc.equivalent * (1 + found.gap) * (1 + 1e-9) or (
            found.gap == np.inf
        )


def test_intervals_of_a_far_answer_are_open_not_wrong():
    """At alpha = 50 a poor answer proves no upper end, however far the answer is away."""
    inst = fo.Instance([[1], [1]], [[1], [1e9]], placement=[[1, 0], [0, 1]])
    notion = fo.AlphaFair(50)
    alloc = fo.Allocation(inst, notion, [[0.5, 0], [0, 1.0]], [[1], [1e-9]])
    for share, (low, high) in zip((1.0, 1e9), fo.certify(alloc).intervals, strict=True):
        assert low <= share <= high


def test_the_intervals_of_two_solvers_overlap():
    inst = cluster()
    notion = fo.AlphaFair(2)
    found = [
        fo.solve(inst, notion, solver=s, uncertified="return", polish=False).certificate
        for s in ("clarabel", "scs")
    ]
    for (a, b), (c, d) in zip(found[0].intervals, found[1].intervals, strict=True):
        assert max(a, c) <= min(b, d)
        assert b < a * 1.1 and d < c * 1.1


def test_equivalent_is_what_the_gap_speaks_of(right):
    half = spoiled(right, tasks=right.tasks / 2)
    log_w = welfare.log_weight(right.instance.weight, 1.0, False)
    assert welfare.equivalent(log_w, half.shares, 1.0) == pytest.approx(right.equivalent / 2)
    assert measure(half)[0] == pytest.approx(1.0, rel=1e-9)


def test_servers_of_one_price_are_named_together() -> None:
    """Of a pool of twelve servers eight are named, and how many more there are."""
    answer = fo.solve(fo.Instance([[1.0], [2.0]], np.full((12, 1), 4.0)), fo.ProportionalFair())
    some = ", ".join(f"s{k}" for k in range(1, 9))
    for line in answer.certificate.notes[:2]:
        assert re.search(f"^u. is stopped by r1 on {some} and [1-4] more, one more unit ", line)
