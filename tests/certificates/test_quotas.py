"""The judge of alpha-fair answers with floors, ceilings and lending; the proof of a conflict."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo


def cards(users, capacity=12, **changes):
    servers = [[c] for c in np.atleast_1d(capacity)]
    return fo.Instance([[1]] * len(users), servers, users=list(users), resources=["gpu"], **changes)


FLOOR = cards("ABC", quotas=fo.Quotas(guarantees=[fo.Guarantee("A", "gpu", 6)]))
# two capacity rows of the same price, and one floor: G8 and G9 of the specification
PROPORTIONAL = fo.Allocation(
    FLOOR,
    fo.ProportionalFair("tasks"),
    [[6], [3], [3]],
    prices=[[1 / 3]],
    floor_prices=[1 / 6, 0, 0],
)
STEEP = fo.Allocation(
    FLOOR, fo.AlphaFair(2, "tasks"), [[6], [3], [3]], prices=[[1 / 9]], floor_prices=[1 / 12, 0, 0]
)


@pytest.mark.parametrize("answer", [PROPORTIONAL, STEEP])
def test_a_floor_is_priced(answer):
    certificate = fo.certify(answer)
    assert certificate.certified and certificate.gap < 1e-13 and certificate.residual < 1e-13
    low, high = certificate.intervals[0]
    assert low == 6 and high == pytest.approx(6, rel=1e-5)


@pytest.mark.parametrize("answer", [PROPORTIONAL, STEEP])
def test_no_price_of_a_floor_and_no_scale_misleads(answer):
    """The price of a floor and the scale of all prices are worked out, whatever is given."""
    rng = np.random.default_rng(0)
    for scale in (1e-320, 1e-9, 1.0, 1e300):
        with np.errstate(under="ignore"):
            forged = answer.with_(prices=answer.prices * scale, floor_prices=rng.random(3) * 1e9)
        assert fo.certify(forged).certified
        worse = forged.with_(tasks=[[6], [4], [2]])
        assert not fo.certify(worse).certified


def test_a_floor_missed_by_a_millionth_is_refused():
    certificate = fo.certify(PROPORTIONAL.with_(tasks=[[6 - 6e-6], [3 + 3e-6], [3 + 3e-6]]))
    assert certificate.verdict == "refuted"
    assert [c.name for c in certificate.checks if not c.holds][0] == "guarantees"


def test_too_much_above_a_floor_is_seen():
    certificate = fo.certify(PROPORTIONAL.with_(tasks=[[6 + 6e-5], [3 - 3e-5], [3 - 3e-5]]))
    assert not certificate.certified and certificate.residual > 9e-6


def test_what_is_above_the_floors_is_divided_by_itself():
    """Nash's bargaining solution with the floors as disagreement point: 8, 2, 2."""
    above = fo.ProportionalFair("tasks", over="above")
    answer = fo.Allocation(FLOOR, above, [[8], [2], [2]], prices=[[1 / 2]])
    assert fo.certify(answer).certified
    assert not fo.certify(answer.with_(tasks=[[6], [3], [3]])).certified


def test_floors_that_are_all_there_is():
    """Nothing is left above the floors: they are the answer."""
    full = fo.Quotas(guarantees=[fo.Guarantee(u, "gpu", 4) for u in "ABC"])
    inst = cards("ABC", quotas=full)
    answer = fo.Allocation(inst, fo.ProportionalFair("tasks", over="above"), [[4]] * 3, [[1]])
    assert fo.certify(answer).certified


def test_who_cannot_have_more_than_its_floor_does_not_count():
    """A is promised all of x, where it alone may run: log(s - sigma) of it is -inf whatever is
    done. What is left is divided between B and C."""
    quotas = fo.Quotas(guarantees=[fo.Guarantee("A", "gpu", 8)])
    inst = cards("ABC", [8, 9], placement=[[1, 0], [0, 1], [0, 1]], quotas=quotas)
    above = fo.ProportionalFair("tasks", over="above")
    tasks = np.array([[8, 0], [0, 4.5], [0, 4.5]])
    answer = fo.Allocation(inst, above, tasks, prices=[[0], [2 / 9]])
    certificate = fo.certify(answer)
    assert certificate.certified and certificate.intervals[0] == pytest.approx((8, 8))
    uneven = answer.with_(tasks=[[8, 0], [0, 5], [0, 4]])
    assert not fo.certify(uneven).certified
    # nor is it said of somebody who only was not given more
    shared = inst.replace(placement=[[1, 1], [0, 1], [0, 1]])
    assert not fo.certify(fo.Allocation(shared, above, tasks, prices=[[0], [2 / 9]])).certified


def test_a_ceiling_has_a_price():
    """org holds at most 4 of 12: A 2, B 2, C 8; a unit costs org 1/8 + 3/8 in prices of weight."""
    quotas = fo.Quotas(bounds=[fo.Bound("A", "gpu", 2)])
    inst = cards("AB", quotas=quotas)
    answer = fo.Allocation(
        inst,
        fo.ProportionalFair("tasks"),
        [[2], [10]],
        prices=[[1 / 10]],
        bound_prices=[1 / 2 - 1 / 10],
    )
    assert fo.certify(answer).certified
    # whatever is said of prices, the tasks are right or they are not
    for prices in ([0.0], [1e9], None):
        assert fo.certify(answer.with_(bound_prices=prices)).certified
        short = fo.certify(answer.with_(tasks=[[2 - 1e-5], [10]], bound_prices=prices))
        assert not short.certified
    over = fo.certify(answer.with_(tasks=[[2 + 1e-7], [10 - 1e-7]]))
    assert over.verdict == "refuted"
    assert [c.witness for c in over.checks if not c.holds][0] == "gpu of A"


def test_a_ceiling_nearly_full_and_nearly_free_is_not_money_alone():
    """In truth 3, 3, 6: the ceiling is just reached, and free. At 3e-5 of either its money is 1e-9
    of all, but A and B are off by 3e-5 of their shares."""
    quotas = fo.Quotas(
        [fo.Group("org")], {"A": "org", "B": "org"}, bounds=[fo.Bound("org", "gpu", 6)]
    )
    notion = fo.ProportionalFair("tasks")
    for part, holds in ((3e-5, False), (3e-7, True)):
        tasks = [[3 * (1 - part)], [3 * (1 - part)], [6 * (1 + part)]]
        p = 1.5 / (6 * (1 + part))
        m = 0.75 / (3 * (1 - part)) - p
        answer = fo.Allocation(cards("ABC", quotas=quotas), notion, tasks, [[p]], bound_prices=[m])
        certificate = fo.certify(answer)
        assert certificate.gap < 1e-8
        assert certificate.certified == holds
        assert certificate.residual == pytest.approx(part, rel=1)


def test_prices_are_guessed_for_a_division_without_any():
    bare = PROPORTIONAL.with_(prices=None, floor_prices=None)
    assert fo.certify(bare).certified
    certificate = fo.certify(bare.with_(tasks=[[8], [2], [2]]))
    assert not certificate.certified and 0.01 < certificate.gap < 1


def test_what_borrowing_limits_costs_is_in_the_price():
    """Research may not borrow: its GPU costs the cluster's price and its own."""
    quotas = fo.Quotas(
        [fo.Group("research"), fo.Group("production")],
        {"r": "research", "p": "production"},
        quotas=[fo.Quota("research", "gpu", 20, borrow=0), fo.Quota("production", "gpu", 80)],
    )
    inst = cards("rp", 100, quotas=quotas)
    nodes = np.zeros((1, len(inst.tree.nodes)))
    at = {name: k for k, name in enumerate(inst.tree.nodes)}
    for name in ("research", "r"):
        nodes[0, at[name]] = 1 / 20 - 1 / 80
    answer = fo.Allocation(
        inst, fo.ProportionalFair("tasks"), [[20], [80]], prices=[[1 / 80]], node_prices=nodes
    )
    assert fo.certify(answer).certified
    # prices without a finite value are brought to the side that has one, and prove less
    forged = nodes * 0
    forged[0, at["r"]] = 1.0
    assert not fo.certify(answer.with_(tasks=[[19], [80]], node_prices=forged)).certified
    lent = fo.certify(answer.with_(tasks=[[21], [79]]))
    assert lent.verdict == "refuted"


def test_errors_of_the_heavy_are_held_against_the_light():
    """One user of weight 1e-9 on a server it shares: a part in 1e9 of the other's is all of its."""
    quotas = fo.Quotas(guarantees=[fo.Guarantee("h", "gpu", 1)])
    inst = cards("hl", quotas=quotas, weight=[1, 1e-9])
    light = 12e-9 / (1 + 1e-9)
    answer = fo.Allocation(inst, fo.ProportionalFair("tasks"), [[12 - light], [light]], [[1 / 12]])
    assert fo.certify(answer).certified
    for part in (0.5, 2.0):
        moved = answer.with_(tasks=[[12 - part * light], [part * light]])
        assert not fo.certify(moved).certified


def test_a_price_of_a_limit_that_is_rounding_of_none_is_not_told():
    """A's ceiling is 1, and B and C share the other 3; no limit is reached but, later, C's of 1."""
    rules = fo.Quotas(bounds=[fo.Bound("A", "cpu", 1.0)])
    inst = fo.Instance(
        [[1], [1], [1]], [[4]], users=["A", "B", "C"], resources=["cpu"], quotas=rules
    )
    loose, tight = inst.replace(limit=[9, 9, 9]), inst.replace(limit=[9, 9, 1])
    found = fo.solve(loose, fo.ProportionalFair())
    rounding = found.with_(limit_prices=np.array([0.0, 3e-17, 2e-17]))
    assert not any("the limit of" in note for note in fo.certify(rounding).notes)
    told = fo.solve(tight, fo.ProportionalFair()).certificate.notes
    assert [note for note in told if "the limit of" in note] == ["with a price: the limit of C"]


def test_what_may_be_lent_and_nobody_needs_fills_no_row() -> None:
    """Both users are at their limits. Of e^-137 of the money, u2 was 11 % short once: what its node
    lends the group was all that it had, so its row looked full, at a price of rounding."""
    inst = fo.Instance(
        [[0.65, 0.96], [0.49, 0.83]],
        [[1.6, 1.9], [3.3, 3.3], [3.4, 1.8]],
        weight=[1.7, 1.07],
        limit=[0.0587, 0.9623],
        users=["u1", "u2"],
        resources=["r1", "r2"],
        quotas=fo.Quotas(
            [fo.Group("g", weight=0.63)],
            {"u1": "g", "u2": "g"},
            bounds=[fo.Bound("u2", "r1", 0.95)],
            quotas=[fo.Quota("u1", "r2", 2.33, 1.99), fo.Quota("u2", "r2", 2.33, lend=4.1)],
        ),
    )
    alloc = fo.solve(inst, fo.AlphaFair(50, weight_inside=True))
    assert alloc.certificate is not None and alloc.certificate.certified
    np.testing.assert_allclose(alloc.totals, inst.limit, rtol=1e-12)
    # and from the right tasks alone
    right = fo.Allocation(inst, alloc.notion, alloc.tasks, score=alloc.score)
    assert fo.certify(right).certified
