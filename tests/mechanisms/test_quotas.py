"""The table of properties under rules: every counterexample is replayed and shows its claim."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from tests.oracles import ruled

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import mechanisms_quotas as table

PAGE = (ROOT / "docs/results/mechanisms-quotas.md").read_text(encoding="utf-8")
NO = [pytest.param(*key, model, id=f"{key[0]}-{key[1]}") for key, model in table.NO.items()]
CHANGED = {"SP": "-lied", "RM": "-grown", "PM": "-left"}
LEAVES = {"quotas/h9": "n21", "quotas/g5": "research"}
"""who leaves, where no second model is shipped"""


def solved(inst: fo.Instance, label: str, **other: object) -> fo.Allocation:
    given = ruled.KINDS[label][1] | other
    answer = fo.solve(inst, fo.MaxMin("drf", **given))
    assert answer.certificate.certified and fo.certify(answer).certified
    return answer


def without(inst: fo.Instance, user: str) -> fo.Instance:
    return inst.select([n for n, name in enumerate(inst.users) if name != user], [0])


def after(model: str, name: str) -> fo.Instance:
    """The instance after the lie, the growth or the departure."""
    if model in LEAVES:
        return without(fo.read(model).instance, LEAVES[model])
    return fo.read(model + CHANGED[name]).instance


@pytest.mark.parametrize(("label", "name", "model"), NO)
def test_a_counterexample_shows_what_it_claims(label: str, name: str, model: str) -> None:
    inst = fo.read(model).instance
    answer = solved(inst, label)
    tasks = answer.totals
    # by what is wrong in each, in parts of what is due, so that no rounding error passes for it
    if name == "PO":
        assert ruled.unused(inst, tasks) < 1e-6  # nothing within the rules
        assert ruled.unused(inst, tasks, rules=False) > 0.25
    elif name == "SI":
        assert fo.properties.sharing_incentive(answer).residual > 0.2
    elif name == "EF":
        assert fo.properties.envy_free(answer).residual > 0.2
    elif name == "GP":
        assert ruled.part_missing(inst, tasks) > 0.2
    elif name == "SP":
        lied = after(model, name)
        liar = [n for n in range(len(tasks)) if (inst.demand[n] != lied.demand[n]).any()]
        assert inst.users[liar[0]] == "A" and len(liar) == 1
        need = inst.demand[0] > 0
        held = solved(lied, label).totals[0] * lied.demand[0]
        assert (held[need] / inst.demand[0, need]).min() > 1.4 * tasks[0] + 1e-6
    elif name == "RM":
        grown = after(model, name)
        assert (grown.capacity >= inst.capacity).all() and grown.users == inst.users
        assert (solved(grown, label).totals < 0.9 * tasks).any()
    else:
        assert name == "PM"
        left = after(model, name)
        stay = [inst.users.index(user) for user in left.users]
        assert len(stay) == len(tasks) - 1
        np.testing.assert_array_equal(left.demand, inst.demand[stay])
        np.testing.assert_array_equal(left.capacity, inst.capacity)
        assert (solved(left, label).totals < 0.9 * tasks[stay]).any()


def totals(model: str, **given: object) -> list[float]:
    return fo.solve(fo.read(model).instance, fo.MaxMin("drf", **given)).totals.tolist()


def test_the_numbers_in_the_words_of_the_page() -> None:
    near = pytest.approx
    h9 = fo.read("quotas/h9").instance
    assert totals("quotas/h9", measure="sum") == near([2 / 3, 1 / 3, 1 / 3])
    assert solved(without(h9, "n21"), "tree, sum").totals.tolist() == near([1 / 2, 1 / 2])
    # the other measure gives the group its part
    assert ruled.part_missing(h9, solved(h9, "tree, dominant").totals) < 1e-9
    g5 = fo.read("quotas/g5").instance
    assert solved(without(g5, "research"), "lending and borrowing").totals.tolist() == near([40])
    for over, bundle in (("floor", 6), ("above", 8)):
        assert totals("counterexamples/quotas-bundle", over=over)[0] == near(4)
        assert totals("counterexamples/quotas-bundle-lied", over=over)[0] == near(bundle)
    told = [
        totals("counterexamples/quotas-group-guarantee", over=over)[1]
        for over in ("floor", "above", "proportion")
    ]
    assert told == near([3, 3 / 2, 0])
    assert totals("quotas/g4") == near([6, 6]) and totals("quotas/g4-lie")[0] * 2.5 == near(10)
    h2 = fo.read("quotas/h2").instance
    leaked = fo.solve(h2, fo.ProportionalFair("drf")).totals
    assert leaked[:3].sum() == near(1250 / 9) and ruled.part_missing(h2, leaked) > 0.07
    assert ruled.part_missing(h2, solved(h2, "tree, dominant").totals) < 1e-9


def test_no_envy_between_teams_of_different_organisations() -> None:
    h1 = fo.read("quotas/h1").instance
    answer = solved(h1, "tree, dominant")
    assert fo.properties.envy_free(answer).holds
    # of siblings it would be envy: 2A has 150 and 1A 30
    flat = fo.Allocation(h1.replace(quotas=None), fo.MaxMin("drf"), answer.tasks)
    assert "1A would run 150 tasks" in fo.properties.envy_free(flat).witness


@pytest.mark.parametrize("label", ruled.KINDS)
def test_a_yes_is_not_refuted_and_the_search_can_refute(label: str) -> None:
    found = ruled.searched(label, 10)
    assert all(not cell[1] for name, cell in found.items() if (label, name) not in table.NO)
    if "lending" not in label:  # so few of these may miss it
        assert found["RM"][1] > 0


@pytest.mark.parametrize("label", [label for label in ruled.KINDS if "lending" not in label])
def test_the_search_divides_as_solve_does(label: str) -> None:
    tried = 0
    for seed in range(3):
        inst = ruled.drawn(label, np.random.default_rng(seed))
        tasks = ruled.divided(inst, label)
        if tasks is not None:
            tried += 1
            np.testing.assert_allclose(solved(inst, label).totals, tasks, rtol=1e-6, atol=1e-8)
    assert tried


def test_the_page_says_what_the_table_does() -> None:
    models = list(dict.fromkeys(table.NO.values()))
    assert list(table.SHOWS) and set(table.SHOWS) == set(models)
    for label in ruled.KINDS:
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| {label} |"))
        cells = [cell.strip() for cell in row.split("|")[2:-1]]
        for name, cell in zip(table.PROPERTIES, cells, strict=True):
            model = table.NO.get((label, name))
            assert cell == (f"**no** {models.index(model) + 1}" if model else "yes")
    assert re.findall(r"^(\d+)\. `(.+?)`", PAGE, re.M) == [
        (str(k), model) for k, model in enumerate(models, 1)
    ]
