"""The table of mechanisms: its counterexamples replay, and agree with Table I of khamse2016."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt import mechanisms, notions
from fairopt.mechanisms import SHORT, counterexamples, instances, page
from fairopt.mechanisms.counterexamples import Change
from fairopt.properties import NOTION_PROPERTIES, PROPERTIES
from fairopt.properties.lies import ShareLie, truly_runs

ROOT = Path(fo.__file__).parent.parent
PAGE = ROOT / "docs/results/mechanisms.md"
CHANGED = counterexamples.CHANGED
NAMES = "|".join([*PROPERTIES, *NOTION_PROPERTIES])
KNOWN = [
    row.name for row in fo.models() if re.fullmatch(rf"counterexamples/({NAMES})-\d+", row.name)
]
POOL = fo.Instance([[0.5, 1], [1, 0.5]], [[1, 1]])


def cases() -> list[object]:
    return [
        pytest.param(name, k, id=f"{name.partition('/')[2]}[{k}]")
        for name in KNOWN
        for k in range(len(fo.read(name).cases))
    ]


@pytest.mark.parametrize(("name", "k"), cases())
def test_every_no_is_replayed(name, k):
    """From the files alone: solve, and judge with what `fairopt check` uses."""
    model = fo.read(name)
    case = model.cases[k]
    notion = notions.make(case.name, **case.parameters)
    before = fo.solve(model.instance, notion)
    wanted = name.partition("/")[2].rpartition("-")[0]
    if wanted in PROPERTIES:
        assert PROPERTIES[wanted](before).residual > 1e-3
        return
    other = fo.read(f"{name}-{CHANGED[wanted]}").instance
    after = fo.solve(other, notion)
    inst = model.instance
    if wanted == "strategy-proof":
        differs = (inst.demand != other.demand).any(axis=1)
        differs |= (inst.placement != other.placement).any(axis=1)
        (liar,) = np.flatnonzero(differs)
        lie = ShareLie(int(liar), other.demand[liar], other.placement[liar])
        assert lie.told(inst) == other
        assert truly_runs(inst, lie, after.tasks) > before.totals[liar] * 1.001
    elif wanted == "scale-invariant":
        factor = (other.demand / np.where(inst.demand > 0, inst.demand, 1.0)).max(axis=1)
        assert (other.capacity == inst.capacity).all() and (factor != 1).sum() == 1
        off = np.abs(after.totals * factor - before.totals)
        assert (off > 1e-3 * np.maximum(after.totals * factor, before.totals)).any()
    else:
        if wanted == "resource-monotone":
            assert (other.capacity >= inst.capacity).all() and other.users == inst.users
        else:
            assert set(other.users) < set(inst.users) and (other.capacity == inst.capacity).all()
        stay = [inst.users.index(user) for user in other.users]
        assert (after.totals < before.totals[stay] * (1 - 1e-3)).any()


def table() -> dict[str, dict[str, str]]:
    """{mechanism: {column: yes or no}} of the page."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    rows = [line.strip("| ").split(" | ") for line in lines]
    head = rows[0][1:]
    assert head == list(SHORT.values())
    marks = {}
    for row in rows[2:]:
        if row[0] == "mechanism":
            break
        cells = [cell.replace("*", "").split()[0] for cell in row[1:]]
        marks[row[0].strip("`")] = dict(zip(head, cells, strict=True))
    return marks


def test_the_page_agrees_with_table_1_of_khamse2016():
    """khamse2016 Table I: rows C-DRFH, TSF, PS-DSF with resources and with time divided."""
    wanted = {
        "max-min (drf)": "SI no, EF yes, SP yes, PO yes, BF no",
        "max-min (tsf)": "SI no, EF yes, SP yes, PO yes, BF no",
        "ps-dsf (rdm)": "SI yes, EF yes, SP no, PO no, BF yes, SRF yes",
        "ps-dsf (tdm)": "SI yes, EF yes, SP yes, PO yes, BF yes, SRF yes",
    }
    marks = table()
    for label, row in wanted.items():
        found = ", ".join(f"{k} {marks[label][k]}" for k in re.findall(r"[A-Z]+", row))
        assert found == row, label
    assert set(marks) == {m.label for m in mechanisms.MECHANISMS}


def test_every_no_of_the_page_has_a_case():
    nos = {
        (label, column)
        for label, row in table().items()
        for column, mark in row.items()
        if mark == "no" and column != "PO"
    }
    found = set()
    for name in KNOWN:
        column = SHORT[name.partition("/")[2].rpartition("-")[0]]
        for case in fo.read(name).cases:
            found |= {
                (m.label, column)
                for m in mechanisms.MECHANISMS
                if (m.name, m.parameters) == (case.name, case.parameters)
            }
    assert found == nos


# -- the machinery ----------------------------------------------------------------------------


def test_survey_and_examples_end_to_end(tmp_path):
    """A small survey of one mechanism, its counterexamples saved, read and described."""
    rows = [m for m in mechanisms.MECHANISMS if m.label in ("drf-hug (pool)", "bmf (pool)")]
    found = {m.label: (m, mechanisms.survey(m, trials=6, lies=60)) for m in rows}
    cells = found["drf-hug (pool)"][1]
    assert list(cells) == list(SHORT)
    assert cells["sharing-incentive"].holds and cells["sharing-incentive"].instances == 6
    assert not cells["no-justified-complaints"].holds and cells["strategy-proof"].tried >= 60
    assert not found["bmf (pool)"][1]["strategy-proof"].holds
    examples = counterexamples.examples(found)
    counterexamples.save(examples, tmp_path)
    shown = page.text(found, examples, "how")
    assert "| `drf-hug (pool)` | yes |" in shown and "**no** 1" in shown
    for example in examples:
        model = fo.read(str(tmp_path / f"{example.name}.toml"))
        assert model.instance == example.instance and model.title and model.source
        assert len(model.cases) == len(example.answers) and model.cases[0].expect["why"] in shown
        if example.change is not None:
            kind = CHANGED[example.change.kind]
            assert (tmp_path / f"{example.name}-{kind}.toml").is_file()


def test_same_seed_same_instances():
    first, second = (list(islice(instances(3), 30)) for _ in range(2))
    assert first == second and first[10:] != list(islice(instances(4), 30))[10:]
    pools = list(islice(instances(0, pool=True), 30))
    assert all(len(inst.servers) == 1 and inst.eligible.all() for inst in pools)
    assert any(len(inst.resources) == 1 for inst in first)
    assert any((inst.capacity == 0).any() for inst in islice(instances(3), 60))


def test_changes_by_name_survive_leaving_out_others():
    inst = fo.Instance(
        [[1, 2], [3, 1], [1, 1]], [[6, 6], [8, 8]], users=list("abc"), servers=["s", "t"]
    )
    smaller = inst.select([0, 1], [1])
    lie = {"user": "a", "demand": {"r1": 2.0, "r2": 2.0}, "servers": ["t"]}
    told = Change("strategy-proof", lie).made(smaller)
    assert told.demand[0].tolist() == [2, 2] and told.placement.tolist() == [[True], [True]]
    grown = Change("resource-monotone", {"capacity": {"s": {"r1": 9.0}, "t": {"r2": 9.5}}})
    assert grown.made(smaller).capacity.tolist() == [[8, 9.5]]
    assert grown.made(inst).capacity.tolist() == [[9, 6], [8, 9.5]]
    left = Change("population-monotone", {"left": ["c", "b"]})
    assert left.made(smaller).users == ("a",)
    for kind, found in (
        ("strategy-proof", {**lie, "user": "c"}),
        ("scale-invariant", {"user": "c", "factor": 2.0}),
        ("population-monotone", {"left": ["c"]}),
    ):
        gone = Change(kind, found)
        with pytest.raises(fo.UsageError):
            gone.made(smaller)


def test_what_a_change_does():
    truth = fo.solve(POOL, fo.ProportionalFair())
    lie = Change(
        "strategy-proof", {"user": "u1", "demand": {"r1": 0.6667, "r2": 1.0001}, "servers": ["s1"]}
    )
    after = fo.solve(lie.made(POOL), fo.ProportionalFair())
    residual, words = lie.residual(truth, after)
    assert residual == pytest.approx(1 - (2 / 3) / 0.75, abs=1e-3) and "(12.5% more)" in words
    rounder = next(lie.rounder())
    assert rounder.found["demand"] == {"r1": 0.7, "r2": 1.0}
    scale = Change("scale-invariant", {"user": "u1", "factor": 2.0})
    residual, _ = scale.residual(truth, fo.solve(scale.made(POOL), fo.ProportionalFair()))
    assert residual < 1e-6
    drf = fo.solve(POOL, fo.MaxMin())
    more = Change("resource-monotone", {"capacity": {"s1": {"r1": 2.0}}})
    residual, words = more.residual(drf, fo.solve(more.made(POOL), fo.MaxMin()))
    assert residual == pytest.approx(0.25) and words.startswith("with 2 r1 on s1 u1 runs 0.5")


def test_pareto_optimality_among_what_time_division_may_do():
    inst = fo.Instance([[1, 0.1], [0.1, 1]], [[1, 1]])
    answer = fo.solve(inst, fo.PerServerDominantShare("tdm"))
    assert mechanisms.judged(answer, mechanisms.OWN_PARETO).holds
    assert not mechanisms.judged(answer, "pareto-optimal").holds
    less = answer.with_(tasks=answer.tasks * 0.9)
    assert not mechanisms.judged(less, mechanisms.OWN_PARETO).holds
