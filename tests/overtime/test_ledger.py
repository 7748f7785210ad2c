"""Ledgers beside vectors that nobody here wrote, and the worked examples by fractions."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.errors import UsageError
from fairopt.overtime import rules
from fairopt.overtime.durations import hours
from fairopt.overtime.measured import finish_time_fairness, summary
from fairopt.overtime.policies import POLICIES
from fairopt.overtime.products import KaiQueue, kai_division, kueue_decay, kueue_usage
from fairopt.overtime.states import KINDS, LedgerState, Memory
from fairopt.overtime.tree import classic, fair_tree

FOLDER = Path(__file__).parents[1] / "vectors"


def vectors(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def pool(capacity, weight, users="AB"):
    return fo.Instance(
        [[1]] * len(users),
        [[capacity]],
        weight=weight,
        users=list(users),
        servers=["pool"],
        resources=["gpu"],
    )


EVERYTHING = np.array([np.inf, np.inf])

# -- vectors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "run", vectors("karma")["vectors"], ids=lambda run: f"g{run['guaranteed']}-{run['total']}"
)
def test_karma_is_floor_or_ceiling_of_the_fluid(run):
    users = list(run["demand"])
    supply = run["public"] + run["guaranteed"] * len(users)
    assert supply == run["total"]
    slices = len(run["demand"][users[0]])
    for t in range(slices):
        wants = np.array([run["demand"][u][t] for u in users], float)
        before = np.array([run["credits_before"][u][t] for u in users], float)
        guaranteed = np.full(len(users), float(run["guaranteed"]))
        found = rules.divide(wants, before, guaranteed, supply).held
        theirs = np.array([run["allocation"][u][t] for u in users])
        assert ((theirs == np.floor(found + 1e-9)) | (theirs == np.ceil(found - 1e-9))).all()
        whole = rules.divide(wants, before, guaranteed, supply, whole=True).held
        assert whole.sum() == theirs.sum() and (np.abs(whole - found) < 1).all()


@pytest.mark.parametrize(
    "case", vectors("kueue_usage")["facts"][0]["decay"], ids=lambda case: case["name"]
)
def test_kueue_decays(case):
    found = kueue_decay(case["old"], case["use"], case["elapsed"], case["half"])
    assert found == pytest.approx(case["want"], rel=1e-9)
    if case["half"] and case["elapsed"] > 0:  # the ledger's own rule
        for r, old in case["old"].items():
            use = np.array([case["use"].get(r, 0.0)])
            state = KINDS["average"](
                LedgerState(np.array([float(old)])), use, case["elapsed"], Memory(case["half"])
            )
            assert state.amount[0] == pytest.approx(case["want"].get(r, 0.0), rel=1e-9)


def test_kueue_converges():
    fact = vectors("kueue_usage")["facts"][1]
    state, memory = LedgerState(np.zeros(1)), Memory(fact["half"])
    use = np.array([float(fact["use"]["cpu"])])
    for step in range(1, 6049):
        state = KINDS["average"](state, use, fact["step"], memory)
        assert state.amount[0] <= fact["never_above"]
        if str(step) in fact["after_steps"]:
            want = fact["after_steps"][str(step)]
            assert state.amount[0] == pytest.approx(want, abs=fact["tolerance"])


def test_kueue_weighted_use():
    for case in vectors("kueue_usage")["facts"][2]["usage"]:
        found = kueue_usage(
            case["consumed"], case["penalty"], case["queue_weight"], case["resource_weight"]
        )
        assert found == float(case["want"])


def test_kueue_penalty_is_one_step_of_the_average():
    for case in vectors("kueue_usage")["facts"][3]["penalty"]:
        for r, want in case["by_formula"].items():
            use = np.array([float(case["requested"][r])])
            found = KINDS["average"](
                LedgerState(np.zeros(1)), use, case["sampling"], Memory(case["half"])
            )
            assert found.amount[0] == pytest.approx(want, rel=1e-12)


def test_slurm_classic():
    data = vectors("slurm")["classic"]
    found = classic({k: tuple(v) for k, v in data["tree"].items()}, data["usage"])
    for name, want in data["effective"].items():
        assert found[name][0] == pytest.approx(want, abs=5.1e-5)  # as printed
    for name, want in data["factor"].items():
        assert found[name][1] == pytest.approx(want, rel=1e-4)


def test_slurm_fair_tree():
    data = vectors("slurm")
    want = data["fair_tree"]["by_formula_on_the_same_tree"]
    tree = {k: tuple(v) for k, v in data["classic"]["tree"].items()}
    order, level = fair_tree(tree, data["classic"]["usage"])
    assert order == want["order"]
    for name, value in want["level_fs"].items():
        assert level[name] == pytest.approx(float(value), rel=1e-12)
    place = {u: 1 - k / len(order) for k, u in enumerate(order)}
    assert place == pytest.approx(want["fairshare"])


def test_slurm_levels_order_an_instance_with_groups():
    """The same tree as groups of an instance: who is first is served first."""
    data = vectors("slurm")["classic"]
    users = [name for name in data["tree"] if name.startswith("user")]
    groups = [
        fo.Group(name, parent, float(share))
        for name, (parent, share) in data["tree"].items()
        if name not in users
    ]
    group = {u: data["tree"][u][0] for u in users}
    inst = fo.Instance(
        [[1]] * 5, [[1.5]], users=users, resources=["cpu"], quotas=fo.Quotas(groups, group)
    )
    book = fo.Ledger.of("slurm")
    state = LedgerState(np.array([float(data["usage"][u]) for u in users]), every=0.7)
    due = book.due(state, inst, np.ones(5)).ravel()
    order = [users[k] for k in np.argsort(-due, kind="stable")[:2]]
    assert order == ["user5", "user4"] and due.sum() == pytest.approx(1.5)


def test_htcondor():
    data = vectors("htcondor")
    for fact in data["facts"][:2]:
        found = KINDS["average"](
            LedgerState(np.array([float(fact["real"])])), np.zeros(1), fact["dt"], Memory(fact["h"])
        )
        assert found.amount[0] == pytest.approx(fact["want"], rel=1e-12)
    steady = LedgerState(np.array([0.5]))
    for _ in range(200):
        steady = KINDS["average"](steady, np.array([10.0]), 1, Memory(2))
    assert steady.amount[0] == pytest.approx(data["facts"][2]["want_real"])
    shares = data["shares"][0]
    book = fo.Ledger.of("condor")
    state = LedgerState(np.array([float(x) for x in shares["effective"].values()]))
    due = book.due(state, pool(7, None, "ABC"), np.full(3, np.inf)).ravel()
    np.testing.assert_allclose(due, [shares["want_ratio"][u] for u in "ABC"], rtol=1e-8)


@pytest.mark.parametrize("case", vectors("kai")["vectors"], ids=lambda case: case["name"])
def test_kai_divides(case):
    queues = {
        name: KaiQueue(
            q["deserved"], q["request"], float(q["max"]), q["weight"], q["priority"], q["usage"]
        )
        for name, q in case["queues"].items()
    }
    share, left = kai_division(case["gpus"], queues, case["k"])
    assert share == pytest.approx(case["want"]) and left == pytest.approx(case["remaining"])


def test_kai_usage_is_part_of_capacity():
    fact = vectors("kai")["usage_facts"][0]
    book = fo.Ledger.of("kai")
    inst = pool(fact["gpus"], None)
    state, each = book.start(inst), fact["used_gpu_hours"] / fact["hours"]
    for _ in range(fact["hours"]):
        state = book.after(state, inst, np.array([each, 0.0]))
    assert state.part[0] == pytest.approx(fact["want"], rel=1e-12)


def test_finish_time_fairness_of_a_published_simulation():
    data = vectors("finish_time_fairness")
    checked = 0
    for policy in data["policies"].values():
        jct = np.array(policy["jct"])
        found = finish_time_fairness(
            np.zeros(len(jct)), jct, data["alone"], data["gpus"], contention=data["contention"]
        )
        np.testing.assert_allclose(found, policy["rho"], rtol=3e-5)
        checked += len(jct)
    assert checked == 1080
    assert data["contention"] == data["jobs"] / data["gpus"]


def test_finish_time_counts_who_is_there():
    """Two jobs of one machine for 2, then one alone for 2: N/M is 2, then 1."""
    rho = finish_time_fairness([0, 0], [2, 4], [1, 3], 1)
    assert rho.tolist() == [1.0, pytest.approx(4 / (3 * 1.5))]
    told = summary([1.0, 1.0, 1.2, 0.9])
    assert told["worst"] == 1.2 and told["above"] == 0.25


# -- worked examples ---------------------------------------------------------------------------


def test_t8_kai():
    book = fo.Ledger.of("kai:k=1")
    due = book.due(LedgerState(np.array([0.5, 0.0]), 1.0), pool(16, None), EVERYTHING).ravel()
    np.testing.assert_allclose(due, [16 / 3, 32 / 3], rtol=1e-9)


def test_t9_kai_settles_after_one_slice():
    """k = beta/(1 - beta) = 1: the deviation is gone at once."""
    book, inst = fo.Ledger.of("kai:half=1h,k=1"), pool(1, [0.6, 0.4])
    # an average with half-life a slice is a sum over capacity that has been at rest
    beta = 0.5
    use = np.array([1.0, 0.0])
    seen = []
    for _ in range(4):
        due = book.due(LedgerState(use, 1.0), inst, EVERYTHING).ravel()
        use = beta * use + (1 - beta) * due
        seen.append(due)
    np.testing.assert_allclose(seen[0], [0.2, 0.8], rtol=1e-9)
    np.testing.assert_allclose(seen[1:], np.tile([0.6, 0.4], (3, 1)), rtol=1e-8)


def test_t10_htcondor():
    book, inst = fo.Ledger.of("condor:half=10h", {"B": 4}), pool(12, None)
    state = book.start(inst)
    first = book.due(state, inst, EVERYTHING).ravel()
    np.testing.assert_allclose(first, [48 / 5, 12 / 5], rtol=1e-9)
    for _ in range(300):
        due, state = book.division(state, inst, EVERYTHING)
    np.testing.assert_allclose(due.ravel(), [8, 4], rtol=1e-4)


def test_t11_karma():
    inst = pool(6, None, "ABC")
    book = fo.Ledger.of("karma:alpha=1,credits=6")
    state = book.start(inst)
    held, state = book.division(state, inst, np.array([5.0, 0, 1]))
    assert held.ravel().tolist() == [5, 0, 1] and state.amount.tolist() == [3, 8, 7]
    held, state = book.division(state, inst, np.array([5.0, 0, 2]))
    assert held.ravel().tolist() == [4, 0, 2] and state.amount.tolist() == [1, 10, 7]


# -- the rest ----------------------------------------------------------------------------------


def test_a_budget_is_spent():
    book, inst = fo.Ledger.of("budget:most=2,of=tasks"), pool(4, None)
    state, held = book.start(inst), []
    for _ in range(3):
        due, state = book.division(state, inst, np.array([1.5, 4.0]))
        held.append(due.ravel().tolist())
    np.testing.assert_allclose(np.sum(held, axis=0), [2, 2], rtol=1e-9)
    assert held[-1] == [0, 0]


def test_a_window_forgets():
    book, inst = fo.Ledger.of("window:length=2h"), pool(1, None)
    state = book.start(inst)
    for a in (1.0, 0.0, 0.0):
        state = book.after(state, inst, np.array([a, 0.0]))
    assert state.amount.tolist() == [0, 0]


def test_least_used_is_first_and_alone():
    book, inst = fo.Ledger.of("kueue:half=24h"), pool(4, None)
    due = book.due(LedgerState(np.array([0.2, 0.1])), inst, np.array([4.0, 3.0])).ravel()
    np.testing.assert_allclose(due, [1, 3], rtol=1e-9)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_divides(name):
    inst = pool(4, None, "ABC")
    book = fo.Ledger.of(name)
    state = book.start(inst)
    rng = np.random.default_rng(1)
    for _ in range(4):
        due, state = book.division(state, inst, rng.uniform(0, 4, 3))
        assert due.sum() <= 4 * (1 + 1e-9) and (due >= 0).all()
        assert np.isfinite(state.amount).all() or name == "budget"


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ("kia", "nearest"),
        ("kai:q=1", "wanted half="),
        ("kai:k=-1", "k"),
        ("kueue:half=0", "Kueue"),
        ("kueue:half=soon", "length of time"),
        ("kai:half", "wanted half="),
    ],
)
def test_wrong_policies_are_told(given, match):
    with pytest.raises(UsageError, match=match):
        fo.Ledger.of(given)


def test_karma_refuses_what_it_cannot_divide():
    book = fo.Ledger.of("karma")
    inst = fo.Instance([[1, 1], [1, 2]], [[3, 3]])
    with pytest.raises(UsageError, match="one resource"):
        book.due(book.start(inst), inst, np.ones(2))


def test_durations():
    assert hours("7d") == 168 and hours("90m") == 1.5 and hours("1800s") == 0.5 and hours(2) == 2
    for given in ("0h", "x", "", "-1h", math.nan):
        with pytest.raises(ValueError, match="wanted a length of time"):
            hours(given)


def test_what_is_left_for_the_last_class_may_be_nothing():
    """What rounding leaves of a full pool is not served to anybody (a slice of a public trace)."""
    limit = [79.29888888890855, 27.711111111667833, 81.45861111112913, 112.0, 64.87388888860823]
    limit += [30.84472222229533, 0.5022222222053188, 23.0, 10.0, 81.43388888895947]
    users = [f"u{k}" for k in range(10)]
    rank = dict(zip(users, [5, 7, 6, 4, 1, 3, 2, 8, 9, 0], strict=True))
    inst = fo.Instance(
        np.ones((10, 1)), [[400]], users=users, limit=limit, quotas=fo.Quotas(priority=rank)
    )
    found = fo.solve(inst, fo.MaxMin())
    left = 400 - sum(limit) + limit[4] + limit[9]
    np.testing.assert_allclose(found.totals[[4, 9]], [left, 0], atol=1e-9)
