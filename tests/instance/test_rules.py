"""Own rules as data: what a term counts, faults all at once, round trips."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import fairopt as fo
from fairopt.errors import RuleWarning
from tests.rule_draws import draw


def cluster(*rules: fo.Rule, **more: object) -> fo.Instance:
    """Two users on two servers of 4 and 8 CPUs; B on y only, where its task takes 3."""
    demand = [[[1.0], [1.0]], [[3.0], [3.0]]]
    return fo.Instance(
        demand,
        [[4], [8]],
        {"A": ["x", "y"], "B": ["y"]},
        users=["A", "B"],
        servers=["x", "y"],
        resources=["cpu"],
        rules=rules,
        **more,
    )


def counted(inst: fo.Instance) -> list[dict[tuple[str, str, str], float]]:
    """What each rule counts, by user, mode and server."""
    ways = inst.ways
    return [
        {
            (inst.users[ways.owner[k]], ways.name[k], inst.servers[i]): float(value)
            for k, i, value in zip(row.way, row.server, row.value, strict=True)
        }
        for row in inst.own_rows
    ]


def test_terms_that_meet_add_up_and_count_where_eligible_only() -> None:
    terms = [
        fo.Term(),
        fo.Term("A", times=2),
        fo.Term(servers="y", resource="cpu", times=-0.5),
        fo.Term("A", "x", times=-3),
    ]
    [found] = counted(cluster(fo.Rule("r", most=1, terms=terms)))
    # A on x: 1 + 2 - 3 = 0 is left out
    assert found == {("A", "", "y"): 2.5, ("B", "", "y"): -0.5}


def test_groups_flavors_modes_and_output() -> None:
    quotas = fo.Quotas([fo.Group("org")], {"A": "org"}, flavors={"big": ["y"]})
    modes = {"A": [fo.Mode("slow", speed=0.5), fo.Mode("fast")]}
    rules = [
        fo.Rule("g", most=1, terms=[fo.Term("org", "big")]),
        fo.Rule("o", least=0, terms=[fo.Term("A", "x", resource="output", times=2)]),
        fo.Rule("m", equal=0, terms=[fo.Term(modes="fast")]),
    ]
    group, output, mode = counted(cluster(*rules, quotas=quotas, modes=modes))
    assert group == {("A", "slow", "y"): 1.0, ("A", "fast", "y"): 1.0}
    assert output == {("A", "slow", "x"): 1.0, ("A", "fast", "x"): 2.0}
    assert mode == {("A", "fast", "x"): 1.0, ("A", "fast", "y"): 1.0}


def test_a_rule_of_one_mode_a_user_counts_each_mode() -> None:
    modes = {"A": [fo.Mode("slow", speed=0.5), fo.Mode("fast")]}
    [found] = counted(
        cluster(fo.Rule.of("r", {("A", "x"): 2.0, ("B", "y"): 3.0}, most=1), modes=modes)
    )
    assert found == {("A", "slow", "x"): 2.0, ("A", "fast", "x"): 2.0, ("B", "", "y"): 3.0}


def test_of_a_dict_an_array_and_a_frame() -> None:
    pd = pytest.importorskip("pandas")
    array = np.array([[1.0, 0.0], [0.0, 2.0]])
    frame = pd.DataFrame(array, ["A", "B"], ["x", "y"])
    told = {("A", "x"): 1.0, ("B", "y"): 2.0}
    made = [cluster(fo.Rule.of("link", given, most=4)) for given in (told, array, frame)]
    assert made[0] == made[1] == made[2]
    assert counted(made[0]) == [{("A", "", "x"): 1.0, ("B", "", "y"): 2.0}]


def test_every_fault_at_once() -> None:
    rules = [
        fo.Rule("a", most=1, least=0, terms=[fo.Term("Z"), fo.Term(servers="q")]),
        fo.Rule("a", terms=[fo.Term(resource="gpu", times=float("inf"))]),
        fo.Rule("", most=float("nan"), terms=[fo.Term(modes="fast")]),
        "carbon",
    ]
    with pytest.raises(fo.BadInput) as error:
        cluster(*rules)
    assert {fault.place: fault.found for fault in error.value.faults} == {
        "rules.a": "no amount",
        "rules.a.terms[0].users": "the unknown user or group 'Z'",
        "rules.a.terms[1].servers": "the unknown server or flavor 'q'",
        "rules[1]": "the name 'a' a second time",
        "rules.a.terms[0].times": "inf",
        "rules.a.terms[0].resource": "the unknown resource 'gpu'",
        "rules[2]": "the name ''",
        "rules..most": "nan",
        "rules..terms[0].modes": "the unknown mode 'fast'",
        "rules[3]": "a str",
    }
    assert "most and least" in str(error.value)


@pytest.mark.parametrize(("sense", "amount"), [("least", 1), ("equal", 2), ("most", -1)])
def test_a_rule_of_nothing_that_asks_is_a_fault(sense: str, amount: float) -> None:
    with pytest.raises(fo.BadInput, match="no term meets a user where it may run"):
        cluster(fo.Rule("r", **{sense: amount}, terms=[fo.Term("B", "x")]))


@pytest.mark.parametrize(("sense", "amount"), [("least", 0), ("equal", 0), ("most", 3)])
def test_a_rule_of_nothing_that_holds_is_a_warning(sense: str, amount: float) -> None:
    with pytest.warns(RuleWarning, match="rules.r: no term meets"):
        cluster(fo.Rule("r", **{sense: amount}, terms=[fo.Term("B", "x")]))


def test_demand_that_is_not_linear_is_refused() -> None:
    with pytest.raises(fo.BadInput, match="and rules; wanted one or the other"):
        fo.Instance(
            [[1], [1]],
            [[9]],
            demand_fixed=[[1], [0]],
            rules=[fo.Rule("r", most=1, terms=[fo.Term()])],
        )


def test_content_is_kept(tmp_path: object) -> None:
    inst = draw(3)
    assert pickle.loads(pickle.dumps(inst)) == inst
    assert inst.replace(rules=None) != inst
    assert inst.replace(rules=None).digest() != inst.digest()
    assert inst.replace(rules=inst.rules).digest() == inst.digest()
    for name in ("m.toml", "folder"):
        fo.write(inst, f"{tmp_path}/{name}")
        assert fo.read(f"{tmp_path}/{name}").instance == inst


def test_a_part_keeps_what_is_said_of_it() -> None:
    inst = cluster(
        fo.Rule("r", most=1, terms=[fo.Term("A", ["x", "y"]), fo.Term("B")]),
        fo.Rule("only B", most=1, terms=[fo.Term("B")]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part = inst.select([0], [0])
    assert part.rules == (fo.Rule("r", most=1.0, terms=[fo.Term("A", ["x"])]),)


def test_rules_join_parts_and_make_an_instance_other_than_plain() -> None:
    assert not cluster(fo.Rule("r", most=1, terms=[fo.Term()])).plain
    alone = fo.Instance([[1], [1]], [[4], [4]], [[True, False], [False, True]])
    assert len(alone.parts()) == 2
    tied = alone.replace(rules=[fo.Rule("r", most=3, terms=[fo.Term()])])
    assert len(tied.parts()) == 1


@pytest.mark.parametrize(
    "notion",
    [fo.PerServerDRF(), fo.HandOutDRF(), fo.PerServerDominantShare()],
)
def test_notions_that_know_no_rules_refuse_them_by_name(notion: object) -> None:
    inst = cluster(fo.Rule("carbon", most=1, terms=[fo.Term()]))
    with pytest.raises(fo.UsageError, match="found rule carbon; wanted an instance without"):
        fo.solve(inst, notion)


@pytest.mark.parametrize("notion", [fo.EqualTasks(), fo.CommonTasks()])
def test_notions_over_pools_keep_rules_of_most_and_refuse_those_that_ask(notion: object) -> None:
    term = fo.Term()
    found = fo.solve(cluster(fo.Rule("carbon", most=1, terms=[term])), notion)
    assert found.certificate.certified and found.totals.sum() == pytest.approx(1)
    with pytest.raises(fo.UsageError, match=r"less of everything may break \(carbon\)"):
        fo.solve(cluster(fo.Rule("carbon", least=1, terms=[term])), notion)


def test_the_tradeoff_knows_rules_but_not_its_hard_forms_beside_them() -> None:
    inst = cluster(fo.Rule("carbon", most=1, terms=[fo.Term()]))
    found = fo.solve(inst, fo.Tradeoff(t_drf=0.1))
    assert found.certificate.certified and found.totals.sum() == pytest.approx(1)
    with pytest.raises(fo.UsageError, match="found equal_across or equal_within beside rules"):
        fo.solve(inst, fo.Tradeoff(equal_across=True))


def test_whole_tasks_keep_rules_of_most_and_refuse_those_that_ask() -> None:
    inst = cluster(fo.Rule("carbon", most=2, terms=[fo.Term()]))
    assert sum(fo.whole(inst, [1, 1]).totals) == 2
    with pytest.raises(fo.UsageError, match="found dues of which rule carbon counts 3"):
        fo.whole(inst, [2, 1])
    asks = cluster(fo.Rule("carbon", least=1, terms=[fo.Term()]))
    with pytest.raises(fo.UsageError, match="rule carbon, which less of everything may break"):
        fo.whole(asks, [1, 1])
