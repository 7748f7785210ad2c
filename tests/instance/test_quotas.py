"""Groups, quotas and modes as data: faults all at once, one order, trees and ways by position."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.instance.quotas.alone import most_output
from fairopt.instance.quotas.records import Table
from fairopt.instance.quotas.tree import tree_of
from tests.quota_cases import cards, story
from tests.rational import Dictionary


def faults(**given):
    """{place: (found, wanted)} of quotas or modes that two users on two servers refuse."""
    with pytest.raises(fo.BadInput) as error:
        fo.Instance(
            [[1, 0], [1, 2]], [[4, 4], [4, 4]], users=["a", "b"], resources=["cpu", "gpu"], **given
        )
    return {f.place: (f.found, f.wanted) for f in error.value.faults}


def test_every_fault_of_groups_and_members():
    groups = [
        fo.Group("x", "z"),
        fo.Group("z", "x"),
        fo.Group("a"),
        fo.Group(""),
        fo.Group("y", "w"),
        fo.Group("y", weight=0),
        fo.Group("v", "v"),
        fo.Group("u", weight=float("nan")),
    ]
    found = faults(quotas=fo.Quotas(groups, {"a": "xx", "c": "x"}))
    assert found == {
        "groups[3]": ("the name ''", "a printable text"),
        "groups.a": ("the name of a user too", "another name"),
        "groups.y.parent": ("the unknown group 'w'", "one of: x, z, a, y, y, v, u"),
        "groups[5]": ("the name 'y' a second time", "every name once"),
        "groups.y.weight": ("0", "a finite number > 0, or 0 by `last`"),
        "groups.u.weight": ("nan", "a finite number > 0, or 0 by `last`"),
        "groups.x.parent": ("a circle: x in z in x", "a tree of groups"),
        "groups.v.parent": ("a circle: v in v", "a tree of groups"),
        "users.a.group": ("the unknown group 'xx'", "x, the nearest of: x, z, a, y, y, v, u"),
        "group.c": ("an unknown user", "one of: a, b"),
    }


def test_every_fault_of_promises():
    found = faults(
        quotas=fo.Quotas(
            [fo.Group("g"), fo.Group("heavy", weight=2)],
            guarantees=[fo.Guarantee("g", "gpu", -1), fo.Guarantee("h", "gpu", 1)],
            bounds=[
                fo.Bound("a", "gpus", 1),
                fo.Bound("b", "cpu", 1, "f"),
                fo.Bound("g", "cpu", 1),
                fo.Bound("g", "cpu", 2),
                fo.Bound("b", "gpu", True),
            ],
            quotas=[fo.Quota("g", "cpu", float("inf"), -1, "3", flavor="fast")],
            flavors={"fast": ["s1", "s1", "s3"]},
            guarantee_tasks={"a": -2, "z": 1},
            priority={"a": 1.5, "b": True, "y": 0},
            last=["heavy", "nobody", "g", "g"],
        )
    )
    assert found == {
        "groups.g.guarantee.gpu": ("-1", "a finite number >= 0"),
        "users.h.guarantee.gpu": ("of the unknown group or user 'h'", "one of: a, b, g, heavy"),
        "users.a.most.gpus": ("the unknown resource 'gpus'", "gpu, the nearest of: cpu, gpu"),
        "users.b.on.f.most.cpu": ("the unknown flavor 'f'", "one of: fast"),
        "groups.g.most.cpu": ("a second entry", "one for each member, resource and flavor"),
        "users.b.most.gpu": ("1", "a number >= 0"),
        "groups.g.on.fast.nominal.cpu": ("inf", "a finite number >= 0"),
        "groups.g.on.fast.borrow.cpu": ("-1", "a number >= 0"),
        "groups.g.on.fast.lend.cpu": ("'3'", "a number >= 0"),
        "flavors.fast.servers[1]": ("the name 's1' a second time", "every name once"),
        "flavors.fast.servers[2]": ("the unknown server 's3'", "s2, the nearest of: s1, s2"),
        "users.a.guarantee_tasks": ("-2", "a finite number >= 0"),
        "guarantee_tasks.z": ("an unknown user", "one of: a, b"),
        "users.a.priority": ("1.5", "a whole number"),
        "users.b.priority": ("1", "a whole number"),
        "priority.y": ("an unknown user", "one of: a, b"),
        "last[0]": ("heavy, of weight 2", "one of weight 1"),
        "last[1]": ("the unknown group or user 'nobody'", "one of: g, heavy, a, b"),
        "last[3]": ("the name 'g' a second time", "every name once"),
    }


def test_amounts_beyond_floating_point():
    found = faults(
        quotas=fo.Quotas(
            quotas=[fo.Quota("a", "cpu", 1e308, 1e300)],
            guarantee_tasks={"b": 1e300},
            bounds=[fo.Bound("b", "cpu", 10**400)],
        )
    )
    unit = "less than 1e+250 (choose a larger unit)"
    assert found == {
        "users.a.nominal.cpu": ("1e+308", unit),
        "users.a.borrow.cpu": ("1e+300", unit),
        "users.b.most.cpu": ("a whole number of 1329 bits", unit),
        "users.b.guarantee_tasks": ("1e+300", "a finite number >= 0"),
    }


def test_modes_beyond_floating_point():
    found = faults(modes={"a": [fo.Mode("m", [10**400, 1], 10**400)]})
    bits = "a whole number of 1329 bits"
    assert found == {
        "users.a.modes[0].speed": (bits, "a finite number > 0"),
        "users.a.modes[0].demand.cpu": (bits, "a finite number >= 0"),
    }


def test_what_is_no_record_is_refused_at_once():
    with pytest.raises(fo.BadInput) as error:
        fo.Quotas(["x"], ["y"], bounds=fo.Bound("a", "cpu", 1), flavors={"f": "s1"}, last="g")
    assert {f.place: f.wanted for f in error.value.faults} == {
        "quotas.groups[0]": "a Group",
        "quotas.group": "a dict by name",
        "quotas.bounds": "a list of Bound",
        "quotas.last": "a list of name",
        "flavors.f.servers": "a list of name",
    }
    assert faults(quotas={"groups": []}, modes=[]) == {
        "quotas": ("a dict", "fo.Quotas"),
        "modes": ("a list", "a dict of lists by user"),
    }


def test_every_fault_of_modes():
    found = faults(
        modes={
            "z": [],
            "a": [
                fo.Mode("", {"x": 1}, 0, ["s3"]),
                fo.Mode("v", [1]),
                fo.Mode("v", {"cpu": -1}),
                fo.Mode("w", {"cpu": 0}, float("nan"), "s1"),
                3,
            ],
            "b": fo.Mode("m", [1, 1]),
        }
    )
    assert found == {
        "modes.z": ("an unknown user", "one of: a, b"),
        "users.a.modes[0].name": ("the name ''", "a printable text"),
        "users.a.modes[0].speed": ("0", "a finite number > 0"),
        "users.a.modes[0].servers[0]": ("the unknown server 's3'", "s2, the nearest of: s1, s2"),
        "users.a.modes[0].demand.x": ("an unknown resource", "one of: cpu, gpu"),
        "users.a.modes[1].demand": ("(1,)", "2 amounts, one a resource"),
        "users.a.modes[2].name": ("the name 'v' a second time", "every name once"),
        "users.a.modes[2].demand.cpu": ("-1", "a finite number >= 0"),
        "users.a.modes[3].speed": ("nan", "a finite number > 0"),
        "users.a.modes[3].servers": ("the text 's1'", "a list of servers"),
        "users.a.modes[3].demand": ("nothing demanded", "at least one resource > 0"),
        "users.a.modes[4]": ("a int", "a Mode"),
        "users.b.modes": (
            "Mode(name='m', demand=(1, 1), speed=1.0, servers=None)",
            "a list of modes, at least one",
        ),
    }


def test_a_demand_counts_for_modes_without_one_and_else_must_not_be_given():
    both = faults(modes={"b": [fo.Mode("m", [1, 1])]})
    assert list(both) == ["users.b.demand"]
    kept = fo.Instance([[1], [3]], [[4]], modes={"u2": [fo.Mode("m", [2]), fo.Mode("own")]})
    assert kept.ways.demand.tolist() == [[1], [2], [3]]
    with pytest.raises(fo.BadInput, match="amounts by resource, or a demand of the user"):
        fo.Instance([[1], [0]], [[4]], modes={"u2": [fo.Mode("m", [2]), fo.Mode("own")]})
    # a built instance has the first mode's demand in the room of its own, and may be built again
    inst = cards()
    assert inst.demand.tolist() == [[1, 1, 0], [2, 1, 0]]
    assert inst.replace(limit=[3, 3]).modes == inst.modes


def test_modes_want_linear_demand():
    with pytest.raises(fo.BadInput, match="demand_fixed of u1, and modes"):
        fo.Instance([[1]], [[4]], demand_fixed=[[1]], modes={"u1": [fo.Mode("m")]})


def test_modes_that_fit_nowhere():
    nowhere = {"a": [fo.Mode("m", [1, 0, 1], servers=[])], "b": [fo.Mode("n", [1, 1, 1])]}
    with pytest.raises(fo.BadInput, match="eligible on no server: node suits none of its modes"):
        cards(**nowhere)


def test_an_instance_with_quotas_is_frozen_compared_and_pickled():
    for inst in (story(last=["1A"], bounds=[fo.Bound("C1", "gpu", 9)]), cards()):
        for again in (pickle.loads(pickle.dumps(inst)), copy.deepcopy(inst), inst.replace()):
            assert again == inst and again.digest() == inst.digest() and hash(again) == hash(inst)
    assert story() != story(priority={"1A": 2}) != story(priority={"1A": 3})
    assert story().digest() != story(priority={"1A": 2}).digest()
    assert cards() != cards(b=[fo.Mode("A100", [2, 1, 0])])
    with pytest.raises(AttributeError):
        Table({}).x = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        story().quotas.last = ()  # type: ignore[union-attr]
    with pytest.raises(TypeError):
        story().quotas.group["1A"] = "C2"  # type: ignore[index, union-attr]


def test_plain_instances_stay_what_they_were():
    plain = fo.Instance([[1]], [[2]])
    assert plain.plain and plain == fo.Instance([[1]], [[2]], quotas=fo.Quotas(), modes={})
    # a digest made before there were quotas
    assert plain.digest() == "0cc4c303e577594b26c9f0d3023bacdf0a3031eaf8b173e2852977eeeda7a907"
    assert plain.tree.flat and plain.tree.nodes == ("", "u1") and len(plain.ways) == 1
    assert plain.tree.rank.tolist() == [0]


def test_records_have_one_order_whatever_was_given():
    bounds = [
        fo.Bound("1B", "gpu", 3),
        fo.Bound("C2", "gpu", 4, "f"),
        fo.Bound("C2", "gpu", 5),
        fo.Bound("C1", "gpu", float("inf")),
    ]
    flavors = {"f": ["pool"]}
    one = story(bounds=bounds, flavors=flavors, priority={"2A": 0, "1A": 1})
    two = story(bounds=bounds[::-1], flavors=flavors, priority={"1A": 1})
    assert one == two and one.digest() == two.digest()
    assert [(b.member, b.flavor) for b in one.quotas.bounds] == [
        ("C2", None),
        ("C2", "f"),
        ("1B", None),
    ]


def test_the_tree_by_hand():
    inst = story(
        groups=[fo.Group("deep", "C1", 2), fo.Group("C1", "org"), fo.Group("org"), fo.Group("C2")],
        group={"1A": "deep", "1B": "C1", "2A": "C2"},
        guarantees=[fo.Guarantee("C1", "gpu", 7)],
        bounds=[fo.Bound("deep", "gpu", 5, "none")],
        quotas=[fo.Quota("C2", "gpu", 3, 0, 1), fo.Quota("1A", "gpu", 2, flavor="some")],
        flavors={"some": ["pool"], "none": []},
        priority={"1B": 2, "1A": 5},
        last=["C1"],
        guarantee_tasks={"1B": 1},
    )
    tree = inst.tree
    assert tree.nodes == ("", "org", "C2", "C1", "deep", "1A", "1B", "1C", "2A")
    assert tree.parent.tolist() == [-1, 0, 0, 1, 3, 4, 3, 0, 2]
    assert tree.weight.tolist() == [1, 1, 1, 1, 2, 1, 1, 3, 1]
    assert tree.leaf.tolist() == [5, 6, 7, 8] and not tree.flat
    assert tree.children(0).tolist() == [1, 2, 7] and tree.path(5) == [5, 4, 3, 1, 0]
    assert [tree.below(k).tolist() for k in range(5)] == [[0, 1, 2, 3], [0, 1], [3], [0, 1], [0]]
    assert tree.priority.tolist() == [5, 2, 0, 0]
    assert tree.last.tolist() == [True, True, False, False]
    assert tree.rank.tolist() == [1, 2, 0, 0] and tree.own_tasks.tolist() == [0, 1, 0, 0]
    assert (tree.guarantees.node.tolist(), tree.guarantees.amount.tolist()) == ([3], [7.0])
    assert tree.bounds.servers.tolist() == [[False]] and tree.bounds.flavor == ("none",)
    everywhere, some = tree.quotas
    assert (everywhere.flavor, some.flavor, some.resource) == (None, "some", 0)
    assert everywhere.nominal.tolist() == [0, 0, 3, 0, 0, 0, 0, 0, 0]
    assert everywhere.borrow[2] == 0 and everywhere.lend[2] == 1 and np.isinf(everywhere.lend[1])
    assert some.nominal[5] == 2 and some.servers.tolist() == [True]


def test_weights_multiplied_down():
    assert story().tree.normalised.tolist() == [0.1, 0.1, 0.3, 0.5]
    # a group without users counts for nothing
    more = story(groups=[fo.Group("C1"), fo.Group("C2"), fo.Group("empty", "C1", 7)])
    assert more.tree.normalised.tolist() == [0.1, 0.1, 0.3, 0.5]


def test_select_keeps_what_is_said_of_those_selected():
    inst = story(
        bounds=[fo.Bound("1A", "gpu", 1), fo.Bound("C2", "gpu", 5)],
        priority={"1A": 1, "2A": 2},
        flavors={"f": ["pool"]},
        last=["1B"],
        guarantee_tasks={"1A": 1},
    )
    part = inst.select([3], [0])
    assert part.quotas == fo.Quotas(
        inst.quotas.groups,
        {"2A": "C2"},
        bounds=[fo.Bound("C2", "gpu", 5)],
        priority={"2A": 2},
        flavors={"f": ["pool"]},
    )
    assert part.tree.below(2).tolist() == []
    modes = fo.Instance([[1]], [[1], [1]], modes={"u1": [fo.Mode("m", None, 2, ["s1", "s2"])]})
    assert modes.select([0], [1]).modes == {"u1": (fo.Mode("m", None, 2, ["s2"]),)}


def test_quotas_make_one_part():
    apart = fo.Instance([[1], [1]], [[1], [1], [1]], [[1, 0, 0], [0, 1, 0]])
    assert len(apart.parts()) == 2
    tied = apart.replace(quotas=fo.Quotas(priority={"u1": 1}))
    ((users, servers),) = tied.parts()
    assert users.tolist() == [0, 1] and servers.tolist() == [0, 1]


def test_ways_by_hand():
    inst = cards()
    ways = inst.ways
    assert ways.owner.tolist() == [0, 0, 1, 1] and ways.name == ("A100", "T4") * 2
    assert ways.speed.tolist() == [1, 0.4, 1, 0.8]
    x = np.array([[4.0], [1], [0], [3]])
    assert ways.used(x).tolist() == [[8, 4, 4]]
    assert ways.running(x).tolist() == [[5], [3]]
    np.testing.assert_allclose(ways.output(x), [[4.4], [2.4]], rtol=1e-15)
    # both modes together: 4 + 0.4 * 4, and 2 + 0.8 * 4
    np.testing.assert_allclose(inst.alone, [[5.6], [5.2]], rtol=1e-15)
    assert inst.eligible.all()


def test_a_user_without_modes_has_one_way_and_demand_by_server_stays():
    inst = fo.Instance(
        [[[1], [2]], [[3], [4]]],
        [[6], [0]],
        [[1, 1], [1, 0]],
        modes={"u2": [fo.Mode("own", speed=2), fo.Mode("less", [1], servers=["s2"])]},
    )
    assert inst.ways.demand.tolist() == [[[1], [2]], [[3], [4]], [[1], [1]]]
    assert inst.ways.name == ("", "own", "less") and inst.ways.owner.tolist() == [0, 1, 1]
    assert inst.ways.placement.tolist() == [[True, True], [True, False], [False, False]]
    assert inst.ways.eligible.tolist() == [[True, False], [True, False], [False, False]]
    assert inst.alone.tolist() == [[6, 0], [4, 0]]
    assert inst.ways.used(np.ones((3, 2))).tolist() == [[5], [7]]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_most_output_is_that_of_the_linear_program(data):
    """Against a simplex in fractions."""
    modes, resources = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    whole = st.integers(0, 4)
    d = np.array(
        data.draw(
            st.lists(
                st.lists(whole, min_size=resources, max_size=resources),
                min_size=modes,
                max_size=modes,
            )
        ),
        dtype=float,
    )
    d[np.arange(modes), data.draw(st.integers(0, resources - 1))] += 1
    a = np.array(data.draw(st.lists(st.integers(1, 5), min_size=modes, max_size=modes))) / 4
    c = np.array(data.draw(st.lists(st.integers(1, 9), min_size=resources, max_size=resources)))
    rows = np.stack([c, c[::-1], 2.0 * c]).astype(float)
    found = most_output(d, a, rows, np.ones((modes, 3), dtype=bool))
    wanted = [float(in_fractions(d, a, row)) for row in rows]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def in_fractions(d, a, c) -> Fraction:
    """max a x, D' x <= c, x >= 0."""

    def exact(row):
        return [Fraction(float(x)) for x in row]

    return Dictionary([exact(row) for row in d.T], exact(c), exact(a)).value


def refusing(inst: fo.Instance):
    """What takes an instance and knows neither quotas nor modes."""
    from fairopt import dynamics
    from fairopt.solving.reduce import reduce

    zero = np.zeros((len(inst.ways), 1))
    alloc = fo.Allocation(
        inst,
        {"name": "max-min", "parameters": {"criterion": "tasks"}},
        zero[: len(inst.users)],
        way_tasks=zero if inst.modes else None,
    )
    return {
        "bmf": lambda: fo.solve(inst, fo.BottleneckMaxFair()),
        "ps-dsf": lambda: fo.solve(inst, fo.PerServerDominantShare()),
        "tradeoff": lambda: fo.solve(inst, fo.Tradeoff(1, 1)),
        "reduce": lambda: reduce(inst, fo.MaxMin()),
        "fixed": lambda: fo.fixed_points(inst),
        "themselves": lambda: dynamics.by_themselves(inst),
        "prices": lambda: dynamics.by_prices(alloc, 0.1),
        "tasks": lambda: dynamics.simulate_tasks(inst, 0.5, ["pf"]),
        "curves": lambda: dynamics.service_curves(inst, [0.5], ["pf"]),
    }


@pytest.mark.parametrize("make", [story, cards])
@pytest.mark.parametrize("name", sorted(refusing(story())))
def test_what_does_not_know_quotas_or_modes_refuses_by_name(make, name):
    inst = make()
    words = "found groups; wanted" if inst.quotas else "found modes of a, b; wanted"
    if inst.quotas and name == "tradeoff":  # it knows groups that weigh as much as their members
        words = "found groups whose weights are not those of their members together; wanted"
    with pytest.raises(fo.UsageError, match=words):
        refusing(inst)[name]()


def test_whole_tasks_in_modes_are_refused_by_name():
    from fairopt.filling.optimum import optimum

    for call in (lambda: fo.fill(cards(), "drf"), lambda: optimum(cards())):
        with pytest.raises(fo.UsageError, match="found modes of a, b; wanted"):
            call()


def test_what_needs_one_demand_a_user_refuses_modes_alone():
    for inst, refused in ((story(), False), (cards(), True)):
        for call in (
            lambda i=inst: i.pair_demand,
            lambda i=inst: i.used(np.ones(i.shape[:2])),
            lambda i=inst: i.demand_by_server,
        ):
            if refused:
                with pytest.raises(fo.UsageError, match="modes of a, b"):
                    call()
            else:
                call()


def test_without_quotas_the_tree_is_that_of_none() -> None:
    """All users at the top: built without a look at each, and the same."""
    names = {"users": ("a", "b", "c"), "servers": ("s", "t"), "resources": ("r",)}
    flat, general = (tree_of(q, names, np.array([1.0, 2.0, 3.0])) for q in (None, fo.Quotas()))
    for field in dataclasses.fields(flat):
        assert str(getattr(flat, field.name)) == str(getattr(general, field.name))
