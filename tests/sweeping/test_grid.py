"""Axes written as text, and grids over a notion and an instance."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairopt as fo
from fairopt.errors import BadInput
from fairopt.sweeping import axes_of, grid
from fairopt.sweeping.grid import deduced
from tests.sweep_cases import three_users

ENDS = st.floats(-1e6, 1e6)
COUNTS = st.integers(2, 60)


def values(text: str) -> tuple[object, ...]:
    axes, faults = axes_of([f"a={text}"])
    assert not faults
    return axes[0].values


def test_ranges_hold_both_ends_and_short_decimals() -> None:
    assert values("0:1000:5") == (0, 250, 500, 750, 1000)
    assert values("0:1:11") == (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
    assert values("log:0.01:100:5") == (0.01, 0.1, 1, 10, 100)
    assert values("3:1:3") == (3, 2, 1)
    assert values("2, 1,inf") == (2, 1, math.inf)
    assert values("drf,tsf") == ("drf", "tsf")


@given(ENDS, ENDS, COUNTS)
def test_a_range_is_even(start: float, stop: float, count: int) -> None:
    found = values(f"{start!r}:{stop!r}:{count}")
    assert len(found) == count and (found[0], found[-1]) == (start, stop)
    step = (stop - start) / (count - 1)
    assert all(abs(b - a - step) <= 1e-9 * (1 + abs(start) + abs(stop)) for a, b in pairwise(found))


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9), COUNTS)
def test_a_logarithmic_range_is_even_in_ratios(start: float, stop: float, count: int) -> None:
    found = values(f"log:{start!r}:{stop!r}:{count}")
    assert len(found) == count and (found[0], found[-1]) == (start, stop)
    step = math.log(stop / start) / (count - 1)
    assert all(math.log(b / a) == pytest.approx(step, abs=1e-9) for a, b in pairwise(found))


@pytest.mark.parametrize(
    "text, said",
    [
        ("a", "NAME=VALUES"),
        ("=1", "NAME=VALUES"),
        ("a=", "NAME=VALUES"),
        ("a=0:1", "START:STOP:COUNT"),
        ("a=x:1:3", "START:STOP:COUNT"),
        ("a=0:1:2:3", "START:STOP:COUNT"),
        ("a=lin:0:1:3", "START:STOP:COUNT"),
        ("a=0:1:1", "count of 1"),
        ("a=0:1:2.5", "count of 2.5"),
        ("a=0:1:nan", "count of nan"),
        ("a=0:1:99999999", "count of 99999999"),
        ("a=0:inf:3", "finite ends"),
        ("a=log:0:1:3", "> 0"),
        ("a=1,,2", "every two commas"),
        ("a=1,nan", "not nan"),
    ],
)
def test_every_bad_text_is_told_at_once(text: str, said: str) -> None:
    axes, faults = axes_of([text, "b=1,2", "b=0", text])
    assert said in str(faults[0]) and said in str(faults[-1])
    assert any("a second time" in str(fault) for fault in faults)
    assert axes[0].values == (1, 2)


def test_a_grid_is_every_combination_last_name_fastest() -> None:
    inst = three_users()
    pairs, labels = grid(inst, fo.Tradeoff(t_pf=3), {"weight.n2": [1, 2], "t_drf": [0, 5, 9]})
    assert labels == [{"weight.n2": w, "t_drf": t} for w in (1, 2) for t in (0, 5, 9)]
    for (instance, notion), label in zip(pairs, labels, strict=True):
        assert notion == fo.Tradeoff(t_pf=3, t_drf=label["t_drf"])
        assert instance.weight.tolist() == [1, label["weight.n2"], 1]
    assert pairs[0][0] is pairs[1][0]  # one instance, not one a point


def test_every_number_of_an_instance_can_be_swept() -> None:
    inst = fo.Instance(
        [[1, 4], [3, 1]],
        [[9, 18], [1, 1]],
        users=["a.b", "a"],
        servers=["s.1", "s"],
        resources=["r", "x.y"],
    )
    over = {
        "weight.a.b": [2],
        "limit.a": [math.inf, 3],
        "count.s": [4],
        "capacity.s.1.r": [5],
        "capacity.s.1.x.y": [6],
        "demand.a.x.y": [7],
    }
    found = grid(inst, fo.ProportionalFair(), over)[0][1][0]
    assert found == inst.replace(
        weight=[2, 1],
        limit=[math.inf, 3],
        count=[1, 4],
        capacity=[[5, 6], [1, 1]],
        demand=[[1, 4], [3, 7]],
    )
    by_server = inst.replace(demand=inst.demand_by_server)
    twice = grid(by_server, fo.ProportionalFair(), {"demand.a.r": [5]})[0][0][0]
    assert twice.demand[1].tolist() == [[5, 1], [5, 1]]
    either = inst.replace(resources=["r", "1.r"])
    with pytest.raises(BadInput, match=r"found 's\.1\.r'"):  # r on s.1, or 1.r on s
        grid(either, fo.ProportionalFair(), {"capacity.s.1.r": [5]})


def test_every_fault_of_a_grid_is_told_at_once() -> None:
    over = {
        "alpha": [1, -1],
        "t_dfr": [1],
        "weight.n4": [1],
        "weight.n1": [0, "x"],
        "color.n1": [1],
        "capacity.pool1": [1],
        "count.pool1": [1.5],
        "capacity.pool1.r1": [-1],
    }
    with pytest.raises(BadInput) as caught:
        grid(three_users(), fo.AlphaFair(1), over)
    told = {(fault.place.removeprefix("--over "), fault.found) for fault in caught.value.faults}
    assert told == {
        ("alpha", "-1"),
        ("t_dfr", "an unknown name"),
        ("weight.n4", "'n4'"),
        ("weight.n1", "0"),
        ("weight.n1", "'x'"),
        ("color.n1", "'color'"),
        ("capacity.pool1", "'pool1'"),
        ("count.pool1", "1.5"),
        ("capacity.pool1.r1", "-1"),
    }
    assert "t_drf of tradeoff" in str(caught.value) and "n3" in str(caught.value)


def test_a_grid_too_large_is_refused_before_it_is_made() -> None:
    many = list(range(1, 2000))
    with pytest.raises(BadInput, match="3996001 combinations"):
        grid(three_users(), fo.Tradeoff(), {"t_pf": many, "t_drf": many, "weight.n1": [1]})


def test_names_mean_a_notion() -> None:
    assert deduced(["t_drf"]) == deduced(["t_pf", "t_drf"]) == "tradeoff"
    assert deduced(["alpha"]) == deduced(["criterion", "alpha"]) == "alpha-fair"
    assert deduced(["alpha", "t_pf"]) is None and deduced([]) is None


def ruled() -> fo.Instance:
    """Groups with dots in their names, a flavor, quotas of the flavor alone."""
    return fo.Instance(
        [[1, 1], [1, 0]],
        [[9, 9]],
        users=["A", "B"],
        servers=["s"],
        resources=["gpu", "a.gpu"],
        quotas=fo.Quotas(
            [fo.Group("org"), fo.Group("org.a", "org")],
            {"A": "org.a"},
            [fo.Guarantee("org", "gpu", 2)],
            [fo.Bound("B", "gpu", 5)],
            [fo.Quota("org", "gpu", 4, 1, flavor="fast")],
            {"fast": ["s"]},
        ),
    )


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("weight.org", lambda q: q.groups[0].weight),
        ("guarantee.org.gpu", lambda q: q.guarantees[0].amount),
        ("most.B.gpu", lambda q: q.bounds[0].most),
        ("nominal.org.fast.gpu", lambda q: q.quotas[0].nominal),
        ("borrow.org.fast.gpu", lambda q: q.quotas[0].borrow),
        ("lend.org.fast.gpu", lambda q: q.quotas[0].lend),
        ("nominal.A.gpu", lambda q: q.quotas[0].nominal if len(q.quotas) == 2 else None),
        ("most.org.gpu", lambda q: q.bounds[0].most if len(q.bounds) == 2 else None),
        ("guarantee.A.fast.gpu", lambda q: q.guarantees[-1].amount),
    ],
)
def test_numbers_of_groups_and_quotas_are_swept(name: str, where: Any) -> None:
    inst = ruled()
    ((changed, _),) = grid(inst, fo.MaxMin(), {name: [7.0]})[0]
    if name == "nominal.A.gpu":
        row = next(q for q in changed.quotas.quotas if q.member == "A")
        assert (row.nominal, row.borrow, row.flavor) == (7, math.inf, None)
    else:
        assert where(changed.quotas) == 7
    # everything else is as it was
    (other, _), (back, _) = grid(inst, fo.MaxMin(), {name: [7.0, 3.0]})[0]
    assert other == changed != back


def test_a_user_may_get_the_first_quota_of_all() -> None:
    inst = fo.Instance([[1]], [[2]], users=["A"], resources=["gpu"])
    ((changed, _),) = grid(inst, fo.MaxMin(), {"most.A.gpu": [1]})[0]
    assert changed.quotas == fo.Quotas(bounds=[fo.Bound("A", "gpu", 1.0)])


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("nominal.org.cpu", 1, "nearest of"),
        ("borrow.org.gpu", 1, "org.fast.gpu"),  # nobody has a nominal amount for all servers
        ("weight.orgs", 1, "org, the nearest of"),
        ("weight.org", 0, "a finite number > 0"),
        ("most.B.gpu", -1, "a number >= 0"),
        ("most.org.a.gpu", 1, "org.gpu"),  # org's a.gpu, or the gpu of org.a
        ("quota.org.gpu", 1, "nominal.MEMBER.RESOURCE"),
    ],
)
def test_what_cannot_be_swept_of_quotas_is_told(name: str, value: Any, said: str) -> None:
    with pytest.raises(fo.BadInput) as error:
        grid(ruled(), fo.MaxMin(), {name: [value]})
    assert said in str(error.value)
