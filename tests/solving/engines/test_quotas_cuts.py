"""Max-min from cuts of shares, beside the programs of every round, and what needs no prices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairopt as fo
from benchmarks.over_time import draw
from fairopt.certificates import certify
from fairopt.formulas import families
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import lower
from fairopt.solving.answering import scores
from fairopt.solving.engines import units
from fairopt.solving.engines.quotas import cuts, rounds
from fairopt.solving.engines.quotas.rounds import Rounds, RoundsQuestion
from tests.overtime.test_horizon import levels

TASKS = fo.MaxMin(criterion="tasks")


def horizon(rng: np.random.Generator) -> tuple[fo.Horizon, tuple[np.ndarray, ...]]:
    n, steps, r = (int(rng.integers(low, high)) for low, high in ((2, 6), (2, 7), (1, 3)))
    demand = rng.uniform(0.2, 4, (n, r))
    capacity = rng.uniform(1, 9, (steps, r))
    wants = rng.uniform(0, 4, (steps, n)) * (rng.random((steps, n)) < 0.7)
    wants[0, ~wants.any(axis=0)] = 1.0
    weight = rng.integers(1, 4, n).astype(float)
    base = fo.Instance(demand, capacity[:1], weight=weight)
    whole = fo.horizon(base, wants, capacity=capacity[:, None, :])
    return whole, (demand, capacity, wants, weight)


def in_groups(seed: int, users: int = 18, servers: int = 5, room: float = 6) -> fo.Instance:
    """Users in groups and in none, most with a number of tasks that they ask for."""
    rng = np.random.default_rng(seed)
    names = [f"u{n}" for n in range(users)]
    groups = [fo.Group("a", weight=2.0), fo.Group("b"), fo.Group("c", "b", weight=3.0)]
    member = {name: str(rng.choice(["a", "b", "c"])) for name in names if rng.random() < 0.8}
    placement = rng.random((users, servers)) < 0.6
    placement[np.arange(users), rng.integers(servers, size=users)] = True
    return fo.Instance(
        rng.uniform(0.2, 1, (users, 3)),
        rng.uniform(room / 3, room, (servers, 3)),
        placement=placement,
        limit=np.where(rng.random(users) < 0.8, rng.integers(1, 6, users), np.inf),
        weight=rng.uniform(0.5, 2, users),
        users=names,
        quotas=fo.Quotas(groups, member),
    )


def asked_of(inst: fo.Instance, notion: fo.MaxMin) -> RoundsQuestion:
    score = scores(inst, notion)
    of = entitled(inst, score, families.member(notion.plain()))
    low = lower(inst, score)
    alone = units.beside_rules(low)
    return RoundsQuestion(low, of.tree, of.floor, of.added, of.rank, alone)


@pytest.mark.parametrize("measure", ["sum", "dominant"])
@pytest.mark.parametrize("seed", range(5))
def test_groups_beside_programs(seed: int, measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In groups, with numbers of tasks asked for: what programs of every round find, by a few, and
    where targets of a group jump too; certified."""
    monkeypatch.setattr(cuts, "IN_GROUPS", 0)
    notion, inst = fo.MaxMin("drf", measure=measure), in_groups(seed)
    question = asked_of(inst, notion)
    by_cuts, programs = cuts.solve(question), rounds.solve(question)
    assert by_cuts is not None
    np.testing.assert_allclose(by_cuts.share, programs.share, rtol=1e-9)
    assert by_cuts.programs <= programs.programs
    answer = fo.solve(inst, notion)
    assert answer.certificate is not None and answer.certificate.certified
    assert answer.steps[-1]["step"] == cuts.NAME


def test_who_has_all_it_asks_takes_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users stop one after another at numbers of tasks: few programs, not one for each."""
    monkeypatch.setattr(cuts, "IN_GROUPS", 0)
    inst = in_groups(1, users=80, servers=12, room=20)
    found = cuts.solve(asked_of(inst, fo.MaxMin("drf")))
    assert found is not None
    assert len(found.rounds) > 30 and found.programs <= 5


def test_random_horizons_beside_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small horizons few are as even as wide ones: those that come to no end go on as others."""
    monkeypatch.setattr(cuts, "WIDE", 0)
    rng = np.random.default_rng(3)
    by_cuts = 0
    for _ in range(60):
        whole, told = horizon(rng)
        found = fo.solve(whole.instance, TASKS, reduce=False)
        assert found.certificate is not None and found.certificate.certified
        np.testing.assert_allclose(found.totals, levels(*told), rtol=2e-6, atol=1e-9)
        by_cuts += found.steps[-1]["step"] == cuts.NAME
    assert by_cuts > 40


def test_lies_beside_rounds_without_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users at their limits are told without prices, and judged by these: a thousandth of another
    division, its rounds as told or with every user said to have all it wants, is not certified.
    The right tasks may be, whatever is told: which rows stop somebody is seen from them."""
    monkeypatch.setattr(cuts, "WIDE", 0)
    monkeypatch.setattr(cuts, "TOLD", 0)
    rng = np.random.default_rng(11)
    refused = untold = 0
    for _ in range(40):
        whole, _ = horizon(rng)
        found = fo.solve(whole.instance, TASKS, reduce=False)
        assert found.certificate is not None and found.certificate.certified
        if found.steps[-1]["step"] != cuts.NAME:
            continue
        rounds = found.rounds or ()
        untold += any(not one["prices"]["prices"].any() for one in rounds)
        other = fo.solve(whole.instance, fo.ProportionalFair("tasks"), uncertified="return")
        lie = found.tasks + 1e-3 * (other.tasks - found.tasks)
        nothing = {"prices": np.zeros_like(rounds[0]["prices"]["prices"])}
        none = tuple({**one, "prices": nothing} for one in rounds)
        if np.abs(np.log(lie.sum(axis=1) / found.totals)).max() > 3e-6:
            refused += 1
            for told in (rounds, none):
                assert not certify(found.with_(tasks=lie, rounds=told, certificate=None)).certified
    assert refused > 15 and untold > 10


def test_few_programs_for_many_rounds() -> None:
    """A horizon of 100 users and 168 slices: far fewer programs than rounds, and certified."""
    found = fo.solve(draw(100, 168, 4, 2).instance, fo.MaxMin())
    assert found.certificate is not None and found.certificate.certified
    last = found.steps[-1]
    assert last["step"] == cuts.NAME and last["programs"] < len(found.rounds or ()) / 2


def test_who_has_all_it_wants_needs_no_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user at all limits on servers is proved by them; one that is below is not."""
    inst = fo.Instance([[1.0], [1.0]], [[4.0], [4.0]], limit_on=[[1.0, 0.5], [4.0, 4.0]])
    nothing = {"prices": np.zeros((2, 1))}
    paid = {"prices": np.array([[1.0], [1.0]]) / 8}
    rounds = [
        {"t": 1.5, "jump": 0.0, "priority": 0, "users": ["u1"], "prices": nothing},
        {"t": 6.5, "jump": 0.0, "priority": 0, "users": ["u2"], "prices": paid},
    ]
    whole = fo.Allocation(inst, TASKS, [[1.0, 0.5], [3.0, 3.5]], rounds=rounds)
    assert certify(whole).certified
    less = [{**rounds[0], "t": 1.4}, {**rounds[1], "t": 6.6}]
    spoiled = fo.Allocation(inst, TASKS, [[1.0, 0.4], [3.0, 3.6]], rounds=less)
    assert not certify(spoiled).certified


def test_limits_count_at_the_best_way_there() -> None:
    """With modes the most that limits on a server allow is all of it at the fastest way."""
    modes = {"u1": [fo.Mode("slow", [1.0]), fo.Mode("fast", [3.0], speed=2.0)]}
    inst = fo.Instance([[1.0], [1.0]], [[9.0]], limit_on=[[2.0], [9.0]], modes=modes)
    nothing = {"prices": np.zeros((1, 1))}
    paid = {"prices": np.array([[1 / 9]])}
    rounds = [
        {"t": 2.0, "jump": 0.0, "priority": 0, "users": ["u1"], "prices": nothing},
        {"t": 7.0, "jump": 0.0, "priority": 0, "users": ["u2"], "prices": paid},
    ]
    # two slow tasks are not all that it could have of two
    told = fo.Allocation(inst, TASKS, None, way_tasks=[[2.0], [0.0], [7.0]], rounds=rounds)
    assert not certify(told).certified


def test_refused_where_it_knows_no_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups, guarantees, classes and few columns are for the kept model."""
    monkeypatch.setattr(cuts, "WIDE", 0)
    grouped = fo.Instance([[1.0], [1.0]], [[4.0]], limit_on=[[1.0], [4.0]]).replace(
        quotas=fo.Quotas(guarantees=[fo.Guarantee("u2", "r1", 3.5)])
    )
    found = fo.solve(grouped, TASKS)
    assert found.steps[-1]["step"] != cuts.NAME
    np.testing.assert_allclose(found.totals, [0.5, 3.5], rtol=1e-9)


def test_an_answer_of_cuts_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not certified goes on with the kept model."""
    inst = fo.Instance([[1.0], [1.0]], [[4.0]], limit_on=[[1.0], [4.0]])
    monkeypatch.setattr(cuts, "WIDE", 0)
    solve = cuts.solve

    def wrong(asked: RoundsQuestion) -> Rounds | None:
        found = solve(asked)
        return None if found is None else replace(found, x=0.9 * found.x)

    monkeypatch.setattr(cuts, "solve", wrong)
    found = fo.solve(inst, TASKS)
    assert found.steps[-1]["step"] != cuts.NAME
    np.testing.assert_allclose(found.totals, [1.0, 3.0], rtol=1e-9)
