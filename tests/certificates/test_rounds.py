"""The judge of nested max-min: right answers of the exact oracle, and ways of spoiling them."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.bounds import Bounds
from fairopt.certificates.rounds_proof import RoundsProof
from tests.oracles import draws, nested, spoils

GROUPS = [fo.Group("C1"), fo.Group("C2")]
TEAMS = {"1A": "C1", "1B": "C1", "1C": "C1", "2A": "C2"}


def kueue(**changes):
    """Kueue's keps/1714 Story 3: 300 GPUs, C1{1A, 1B, 1C of weight 3}, C2{2A}."""
    fields = {
        "weight": [1, 1, 3, 1],
        "users": list(TEAMS),
        "resources": ["gpu"],
        "quotas": fo.Quotas(GROUPS, TEAMS),
        **changes,
    }
    capacity = fields.pop("capacity", [[300]])
    return fo.Instance([[1]] * 4, capacity, **fields)


def cards(users, capacity=12, **changes):
    """Users that need one GPU a task."""
    servers = [[c] for c in np.atleast_1d(capacity)]
    return fo.Instance([[1]] * len(users), servers, users=list(users), resources=["gpu"], **changes)


def use(demand, users, groups, inside):
    """Users on one CPU and one GPU."""
    quotas = fo.Quotas([fo.Group(g) for g in groups], inside)
    return fo.Instance(demand, [[1, 1]], users=users, resources=["cpu", "gpu"], quotas=quotas)


CPU, GPU = [1, 0], [0, 1]
STARVED = use(
    [GPU, CPU, GPU], ["n1", "n21", "n22"], ["g1", "g2"], {"n1": "g1", "n21": "g2", "n22": "g2"}
)
BLOCKED = use(
    [CPU, CPU, CPU, GPU, GPU], ["n1", "n2", "n31", "n32", "n4"], ["n3"], {"n31": "n3", "n32": "n3"}
)
PAIR = use([[1, 1], CPU, GPU], ["n1", "n21", "n22"], ["n2"], {"n21": "n2", "n22": "n2"})
DRF = {"criterion": "drf", "measure": "dominant"}
LENDING = fo.Quotas(
    [fo.Group("research"), fo.Group("production")],
    {"r": "research", "p": "production"},
    quotas=[fo.Quota("research", "gpu", 60, borrow=0), fo.Quota("production", "gpu", 40, lend=10)],
)
MANY = [fo.Guarantee("A", "gpu", 6), fo.Guarantee("B", "gpu", 2), fo.Guarantee("C", "gpu", 1)]
# the worked examples of the specification, in fractions
EXAMPLES = {
    "H1": (kueue(), {}, [30, 30, 90, 150]),
    "H2": (kueue(limit=[10, np.inf, np.inf, np.inf]), {}, [10, 35, 105, 150]),
    "H4": (
        kueue(quotas=fo.Quotas(GROUPS, TEAMS, [fo.Guarantee("1A", "gpu", 80)])),
        {},
        [80, F(35, 2), F(105, 2), 150],
    ),
    "H5": (
        kueue(capacity=[[40], [260]], placement=[[1, 0], [1, 0], [1, 1], [1, 1]]),
        {},
        [20, 20, 110, 150],
    ),
    "H6": (
        cards(
            ["a", "b1", "x", "y"],
            120,
            quotas=fo.Quotas(
                [fo.Group("b"), fo.Group("b2", "b")], {"b1": "b", "x": "b2", "y": "b2"}
            ),
        ),
        {},
        [60, 30, 15, 15],
    ),
    "H7, dominant": (STARVED, DRF, [F(1, 2), 1, F(1, 2)]),
    "H7, sum": (STARVED, {"criterion": "drf"}, [F(2, 3), 1, F(1, 3)]),
    "H8, dominant": (BLOCKED, DRF, [F(1, 3), F(1, 3), F(1, 3), F(1, 2), F(1, 2)]),
    "H8, sum": (BLOCKED, {"criterion": "drf"}, [F(2, 5), F(2, 5), F(1, 5), F(2, 5), F(3, 5)]),
    "H9, dominant": (PAIR, DRF, [F(1, 2)] * 3),
    "H9, sum": (PAIR, {"criterion": "drf"}, [F(2, 3), F(1, 3), F(1, 3)]),
    "G1, floor": (cards("ABC", quotas=fo.Quotas(guarantees=MANY)), {}, [6, 3, 3]),
    "G1, above": (cards("ABC", quotas=fo.Quotas(guarantees=MANY)), {"above": True}, [7, 3, 2]),
    "G5, research idle": (cards("rp", 100, limit=[20, np.inf], quotas=LENDING), {}, [20, 80]),
    "G5, production idle": (cards("rp", 100, limit=[np.inf, 10], quotas=LENDING), {}, [60, 10]),
    "G10": (cards("ABC", quotas=fo.Quotas(guarantees=MANY[:1])), {}, [6, 3, 3]),
    "C1": (
        cards(
            "ABC",
            quotas=fo.Quotas(
                [fo.Group("org")], {"A": "org", "B": "org"}, bounds=[fo.Bound("org", "gpu", 6)]
            ),
        ),
        {},
        [3, 3, 6],
    ),
    "P1": (
        cards(
            "ABC",
            [4, 4],
            limit=[4, np.inf, np.inf],
            placement=[[1, 1], [1, 0], [0, 1]],
            quotas=fo.Quotas(priority={"A": 1}),
        ),
        {},
        [4, 2, 2],
    ),
}


def answered(inst, how):
    how = {"criterion": "tasks", "measure": "sum", "above": False, **how}
    return nested.answer(inst, draws.notion(how), **how)


@pytest.mark.parametrize("key", EXAMPLES)
def test_worked_examples_come_out_and_are_certified(key):
    inst, how, known = EXAMPLES[key]
    exact = nested.shares(nested.of_instance(inst, **how))[0]
    assert exact.tolist() == known
    certificate = fo.certify(answered(inst, how))
    assert certificate.certified and certificate.residual < 1e-13


def drawn(seed):
    """A random answer of the oracle, None if there is none."""
    rng = np.random.default_rng(seed)
    try:
        inst = draws.draw(rng)
        how = draws.how(rng, inst)
        return inst, how, nested.answer(inst, draws.notion(how), **how), rng
    except (AssertionError, fo.BadInput) as fault:
        assert not isinstance(fault, AssertionError) or "infeasible" in str(fault)
        return None


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(40))
def test_right_answers_are_certified_and_spoiled_ones_are_not(seed):
    found = drawn(seed)
    if found is None:
        return
    _, _, answer, rng = found
    assert fo.certify(answer).certified, fo.certify(answer).explain()
    for name, spoiled in spoils.ways(answer, rng):
        assert not fo.certify(spoiled).certified, name


def test_a_group_robbed_of_a_part_in_1e5_is_refused():
    answer = answered(kueue(), {})
    tasks = answer.tasks.copy()
    tasks[:3] *= 1 - 1e-5
    tasks[3] += 1e-5 * 150
    certificate = fo.certify(answer.with_(tasks=tasks))
    assert not certificate.certified and certificate.residual > 9e-6
    assert set(certificate.undetermined) == set(TEAMS)


def test_a_floor_missed_by_a_millionth_is_refused():
    inst, how, _ = EXAMPLES["G10"]
    answer = answered(inst, how)
    certificate = fo.certify(answer.with_(tasks=answer.tasks * [[1 - 1e-6], [1], [1]]))
    assert certificate.verdict == "refuted"
    assert [c.name for c in certificate.checks if not c.holds][0] == "guarantees"


def test_borrowing_is_judged_by_its_own_rule():
    """Research may not borrow: 60 is all it can use, whatever production leaves."""
    inst, how, _ = EXAMPLES["G5, production idle"]
    answer = answered(inst, how)
    certificate = fo.certify(answer.with_(tasks=[[60 * (1 + 1e-8)], [10]]))
    assert certificate.verdict == "refuted"
    broken = [c for c in certificate.checks if not c.holds][0]
    assert (broken.name, broken.witness) == ("lending and borrowing", "gpu of research")


def test_forged_node_prices_prove_nothing():
    """A price that makes lending dear everywhere would bound everybody, were it not for the side
    that has no bound."""
    inst, how, _ = EXAMPLES["G5, research idle"]
    answer = answered(inst, how)
    rounds = spoils.told(answer)
    for each in rounds:
        nodes = each["prices"]["node_prices"]
        each["prices"] = {"node_prices": np.zeros_like(nodes)}
        each["prices"]["node_prices"][0, inst.tree.leaf] = 1.0  # leaves may borrow without bound
    assert not fo.certify(answer.with_(rounds=rounds)).certified


@pytest.mark.parametrize("light", [1e-3, 1e-7, 1e-9])
def test_users_of_tiny_weight_are_judged_by_their_own_share(light):
    """h and l share a group; o is promised 2. To l everything of its own counts."""
    quotas = fo.Quotas([fo.Group("g")], {"h": "g", "l": "g"}, [fo.Guarantee("o", "gpu", 2)])
    inst = fo.Instance(
        [[1]] * 3,
        [[12], [5]],
        weight=[1, light, 1],
        users=["h", "l", "o"],
        resources=["gpu"],
        quotas=quotas,
    )
    answer = answered(inst, {})
    assert fo.certify(answer).certified
    place = int(answer.tasks[0].argmax())
    prices = answer.rounds[0]["prices"]
    for part, names in ((4.0, ("ho", "l")), (-0.5, ("l", "ho"))):
        tasks = answer.tasks.copy()
        moved = part * tasks[1].sum()
        tasks[0, place] -= moved
        tasks[1] *= 1 + part
        tasks[1, place] += moved - part * answer.tasks[1].sum()
        assert not fo.certify(answer.with_(tasks=tasks)).certified
        # its level is given a round of its own, as if it had been stopped elsewhere
        level = {"l": tasks[1].sum() / light * (1 + light), "ho": tasks[:2].sum()}
        rounds = [{"t": level[users], "users": list(users), "prices": prices} for users in names]
        assert not fo.certify(answer.with_(tasks=tasks, rounds=rounds)).certified


def test_a_flat_tree_agrees_with_the_judge_of_levels():
    """Rounds on an instance without quotas: the same verdict as level prices."""
    inst = cards("AB", [4, 9], placement=[[1, 0], [1, 1]], quotas=None)
    answer = nested.answer(inst, fo.MaxMin("tasks"))
    assert fo.certify(answer).certified
    prices = np.array([each["prices"]["prices"] for each in answer.rounds])
    assert fo.certify(answer.with_(rounds=None, level_prices=prices)).certified
    worse = answer.with_(tasks=answer.tasks * [[1], [1 - 1e-5]])
    assert not fo.certify(worse).certified


def test_what_stops_the_users_of_each_round_is_told():
    inst, how, _ = EXAMPLES["G5, production idle"]
    assert tuple(fo.certify(answered(inst, how)).notes) == (
        "p is stopped by the limit of p",
        "r is stopped by the quota of research: gpu",
    )


def test_rounds_that_leave_somebody_out_say_so():
    answer = answered(kueue(limit=[10, np.inf, np.inf, np.inf]), {})
    certificate = fo.certify(answer.with_(rounds=spoils.told(answer)[:1]))
    assert "no round stops 1B" in certificate.explain()
    assert certificate.verdict == "unproved"


def test_at_its_limit_a_user_is_stopped_without_prices():
    quotas = fo.Quotas([fo.Group("g")], {"A": "g"})
    answer = answered(cards("AB", limit=[3, np.inf], quotas=quotas), {})
    rounds = spoils.told(answer)
    assert rounds[0]["users"] == ("A",)
    rounds[0]["prices"] = {k: np.zeros_like(v) for k, v in rounds[0]["prices"].items()}
    assert fo.certify(answer.with_(rounds=rounds)).certified


@pytest.mark.parametrize("unit", [1e6, 1e-6])
@pytest.mark.parametrize("part", [1e-2, 2e-6])
def test_what_is_left_counts_whatever_the_unit_of_tasks(part, unit):
    quotas = fo.Quotas([fo.Group("g")], {"A": "g"})
    capacity = [4 * unit, 9 * unit]
    inst = cards("AB", capacity, placement=[[1, 0], [1, 1]], quotas=quotas)
    answer = answered(inst, {})
    assert fo.certify(answer).certified and fo.certify(answer).gap < 1e-12
    rounds = [{**each, "t": each["t"] * (1 - part)} for each in spoils.told(answer)]
    spoiled = answer.with_(tasks=answer.tasks * (1 - part), rounds=rounds)
    assert not fo.certify(spoiled).certified


@pytest.mark.parametrize("moved", [-3e-6, 0.0, 3e-6])
def test_what_is_little_to_one_and_much_to_another_counts(moved):
    """a and c share 12 GPUs, 6 each. b runs on what a leaves of the CPUs: 1e-5. A part in 2 million
    of a, moved between a and c, is 30 % of b, which claims to be due just that."""
    quotas = fo.Quotas([fo.Group("g", weight=1e-8)], {"b": "g"})
    demand, capacity = [[1, 1], [1, 0], [0, 1]], [[6 + 1e-5, 12]]
    inst = fo.Instance(
        demand, capacity, users=["a", "b", "c"], resources=["cpu", "gpu"], quotas=quotas
    )
    answer = answered(inst, {})
    assert answer.totals == pytest.approx([6, 1e-5, 6])
    tasks = answer.tasks + [[moved], [-moved], [-moved]]
    rounds = spoils.told(answer)
    assert rounds[-1]["users"] == ("b",)
    rounds[-1]["t"] = tasks[1, 0] / 1e-8
    assert fo.certify(answer.with_(tasks=tasks, rounds=rounds)).certified == (moved == 0)


@pytest.mark.parametrize(("off", "short", "more"), [(0.1, 0.0, 1 / 0.9), (0.1, 0.2, 1.2)])
def test_what_is_off_and_what_is_open_add_up(off, short, more):
    each = np.array([off]), np.array([short])
    bounds = Bounds(np.array([0.3]), np.array([0.0]), np.array([0.0]))
    proof = RoundsProof(np.zeros(1), np.zeros(1), *each, bounds, np.ones(1), 1.0)
    np.testing.assert_allclose(proof.residual, np.log([1.3 * more]))


@pytest.mark.parametrize("rules", [None, [fo.Rule("few", most=5, terms=[fo.Term()])]])
def test_what_tasks_overrun_counts_in_the_residual(rules) -> None:
    """What is proved holds of tasks that fit: once 9e-10 too much was certified within 1e-10."""
    alloc = fo.solve(fo.Instance(np.ones((2, 1)), [[6.0]], rules=rules), fo.MaxMin("tasks"))
    over = alloc.with_(tasks=alloc.tasks * (1 + 9e-10), certificate=None)
    verdict = fo.certify(over)
    assert verdict.certified and 8.9e-10 < verdict.residual < 9.2e-10
    low, high = np.array(verdict.intervals).T
    assert (low <= alloc.shares).all() and (alloc.shares <= high * (1 + 1e-15)).all()
    assert not fo.certify(over, tolerance=1e-10).certified
