"""Answers from a start: the same as without, certified, and refused or solved anew by name."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from benchmarks.trust.asking import answer as answer_of
from benchmarks.trust.draws import Asked


def cluster(users=60, servers=8, resources=3, density=0.7, seed=1):
    rng = np.random.default_rng(seed)
    demand = rng.uniform(0.1, 1, (users, resources)) * rng.lognormal(0, 0.5, (users, 1))
    placement = rng.random((users, servers)) < density
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    return fo.Instance(
        demand, rng.uniform(5, 20, (servers, resources)), placement, rng.uniform(0.5, 2, users)
    )


def weight(inst, rng):
    w = inst.weight.copy()
    w[rng.integers(len(w))] *= rng.uniform(0.5, 2)
    return inst.replace(weight=w)


def demand(inst, rng):
    d = inst.demand.copy()
    d[rng.integers(len(d))] *= rng.uniform(0.5, 2, d.shape[1])
    return inst.replace(demand=d)


def capacity(inst, rng):
    c = inst.capacity.copy()
    c[rng.integers(len(c))] *= rng.uniform(0.7, 1.4)
    return inst.replace(capacity=c)


def placement(inst, rng):
    p = inst.placement.copy()
    n = rng.integers(len(p))
    p[n] = True
    return inst.replace(placement=p)


def limit(inst, rng):
    most = inst.limit.copy()
    most[rng.integers(len(most))] = rng.uniform(0.05, 0.2)
    return inst.replace(limit=most)


def user_leaves(inst, rng):
    users, servers, _ = inst.shape
    return inst.select(np.delete(np.arange(users), rng.integers(users)), np.arange(servers))


def server_leaves(inst, rng):
    gone = rng.integers(inst.shape[1])
    rest = np.delete(np.arange(inst.shape[1]), gone)
    return inst.select(np.flatnonzero(inst.placement[:, rest].any(axis=1)), rest)


def user_arrives(inst, rng):
    users, servers, resources = inst.shape
    allowed = rng.random((1, servers)) < 0.5
    allowed[0, 0] = True
    return fo.Instance(
        np.vstack([rng.uniform(0.1, 1, (1, resources)), inst.demand]),
        inst.capacity,
        np.vstack([allowed, inst.placement]),
        np.append(1.5, inst.weight),
        users=["new", *inst.users],
        servers=inst.servers,
        resources=inst.resources,
    )


def server_arrives(inst, rng):
    users, _, resources = inst.shape
    return fo.Instance(
        inst.demand,
        np.vstack([rng.uniform(5, 20, (1, resources)), inst.capacity]),
        np.hstack([rng.random((users, 1)) < 0.5, inst.placement]),
        inst.weight,
        users=inst.users,
        servers=["new", *inst.servers],
        resources=inst.resources,
    )


CHANGES = (
    weight,
    demand,
    capacity,
    placement,
    limit,
    user_leaves,
    server_leaves,
    user_arrives,
    server_arrives,
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize(("density", "alpha"), [(0.7, 1.0), (0.15, 1.0), (0.7, 2.0), (0.4, 0.5)])
def test_as_without_a_start(change, density, alpha):
    rng = np.random.default_rng(3)
    inst, notion = cluster(density=density), fo.AlphaFair(alpha)
    last = fo.solve(inst, notion)
    changed = change(inst, rng)
    cold = fo.solve(changed, notion)
    found = fo.solve(changed, notion, start=last)
    assert found.steps[0]["step"] == "start"
    assert found.certificate.certified
    assert found.shares == pytest.approx(cold.shares, rel=1e-7)


@pytest.mark.parametrize("density", [0.8])
def test_most_starts_are_used(density):
    rng = np.random.default_rng(4)
    inst, notion = cluster(200, 20, density=density), fo.AlphaFair(1)
    last = fo.solve(inst, notion)
    used = [
        fo.solve(change(inst, rng), notion, start=last).steps[0]["status"] == "used"
        for change in (weight, demand, capacity, user_leaves, user_arrives)
    ]
    assert sum(used) >= 4


@pytest.mark.parametrize(("alpha", "size"), [(100.0, 2800.0), (50.0, 1e6), (100.0, 1e-6)])
def test_steep_alpha_with_shares_far_from_1(alpha, size):
    # W s^-alpha is no number there: 2,800^-100 is 0; units do not matter, so 1 and 1e6 are one case
    inst, notion = cluster(), fo.AlphaFair(alpha)
    inst = inst.replace(capacity=inst.capacity / 5 * size)
    last = fo.solve(inst, notion)
    changed = weight(inst, np.random.default_rng(8))
    found = fo.solve(changed, notion, start=last)
    assert found.steps[0]["status"] == "used"
    assert found.certificate.certified
    small = changed.replace(capacity=changed.capacity / size)
    assert found.shares / size == pytest.approx(fo.solve(small, notion).shares, rel=1e-7)


def test_a_start_from_a_file_gives_the_same_bytes(tmp_path):
    rng = np.random.default_rng(5)
    inst, notion = cluster(), fo.AlphaFair(1)
    last = fo.solve(inst, notion)
    last.save(tmp_path / "last.json")
    changed = weight(inst, rng)
    kept = fo.solve(changed, notion, start=last)
    for _ in range(2):
        read = fo.solve(changed, notion, start=fo.load(tmp_path / "last.json"))
        assert read.tasks.tobytes() == kept.tasks.tobytes()
        assert read.prices.tobytes() == kept.prices.tobytes()


def test_the_command_line_takes_a_start(tmp_path, capsys):
    from fairopt.cli import run

    solve = ["solve", "kesidis2018/example", "--notion", "proportional"]
    last = str(tmp_path / "last.json")
    assert run([*solve, "-o", last]) == 0
    capsys.readouterr()
    assert run([*solve, "--start", last, "--json"]) == 0
    assert '"step": "start"' in capsys.readouterr().out
    assert run([*solve, "--start", str(tmp_path / "none.json")]) == 2
    assert run(["solve", "kesidis2018/example", "--notion", "max-min", "--start", last]) == 2
    assert "start.notion" in capsys.readouterr().err


def test_names_count_and_not_positions():
    rng = np.random.default_rng(6)
    inst, notion = cluster(density=0.4), fo.AlphaFair(1)
    last = fo.solve(inst, notion)
    users, servers = rng.permutation(inst.shape[0]), rng.permutation(inst.shape[1])
    found = fo.solve(inst.select(users, servers), notion, start=last)
    assert found.steps[0]["status"] == "used"
    assert found.shares == pytest.approx(last.shares[users], rel=1e-9)


def test_what_cannot_be_a_start_is_refused_by_name():
    inst = cluster(6, 2, 2)
    last = fo.solve(inst, fo.AlphaFair(1))
    with pytest.raises(fo.BadInput, match="start: found 3; wanted a fairopt.Allocation"):
        fo.solve(inst, fo.AlphaFair(1), start=3)
    other = fo.Instance(inst.demand, inst.capacity, inst.placement, resources=["cpu", "gpu"])
    with pytest.raises(fo.BadInput) as caught:
        fo.solve(other, fo.AlphaFair(2), start=last)
    assert [fault.place for fault in caught.value.faults] == [
        "start.notion",
        "start.instance.resources",
    ]


def test_few_pairs_of_max_min_begin_from_the_last_basis():
    inst = cluster(6, 2, 2)
    last = fo.solve(inst, fo.MaxMin())
    found = fo.solve(inst, fo.MaxMin(), start=last)
    assert found.steps[0]["status"] == "used: its basis"
    assert found.certificate.certified
    np.testing.assert_allclose(found.shares, last.shares, rtol=1e-9)


@pytest.mark.parametrize("notion", [fo.AlphaFair(0), fo.PerServerDRF()])
def test_other_notions_are_solved_anew_and_say_so(notion):
    inst = cluster(6, 2, 2)
    last = fo.solve(inst, notion)
    found = fo.solve(inst, notion, start=last)
    assert found.steps[0]["status"].startswith("not used, solved anew")
    assert found.tasks.tobytes() == last.tasks.tobytes()


def forged(last, kind):
    rng = np.random.default_rng(7)
    if kind == "random tasks":
        return last.with_(tasks=rng.uniform(0, 9, last.tasks.shape))
    if kind == "negative tasks":
        return last.with_(tasks=-last.tasks)
    if kind == "no tasks":
        return last.with_(tasks=np.zeros(last.tasks.shape))
    if kind == "far too much":
        return last.with_(tasks=1e12 * last.tasks)
    if kind == "no prices":
        return last.with_(prices=None)
    if kind == "prices of 0":
        return last.with_(prices=np.zeros(last.prices.shape))
    if kind == "tiny prices":
        return last.with_(prices=1e-300 * last.prices)
    if kind == "random prices":
        return last.with_(prices=rng.lognormal(0, 3, last.prices.shape))
    if kind == "one price":
        prices = np.zeros(last.prices.shape)
        prices[0, 0] = 1
        return last.with_(prices=prices)
    assert kind == "huge prices"
    return last.with_(prices=np.full(last.prices.shape, 1e300))


@pytest.mark.parametrize(
    "kind",
    [
        "random tasks",
        "negative tasks",
        "no tasks",
        "far too much",
        "no prices",
        "prices of 0",
        "tiny prices",
        "random prices",
        "one price",
        "huge prices",
    ],
)
def test_a_forged_start_changes_no_answer(kind):
    inst, notion = cluster(30, 5, 2, 0.5), fo.AlphaFair(1)
    cold = fo.solve(inst, notion)
    found = fo.solve(inst, notion, start=forged(cold, kind))
    assert found.certificate.certified
    assert found.shares == pytest.approx(cold.shares, rel=1e-7)


def test_a_start_of_another_cluster_with_the_same_names():
    notion = fo.AlphaFair(1)
    inst = cluster(30, 5, 2, 0.5, seed=1)
    last = fo.solve(cluster(30, 5, 2, 0.5, seed=2), notion)
    found = fo.solve(inst, notion, start=last)
    assert found.shares == pytest.approx(fo.solve(inst, notion).shares, rel=1e-7)


def test_users_of_tiny_weight_and_a_server_without_capacity():
    notion, inst = fo.AlphaFair(1), cluster(30, 5, 2, 0.6)
    weights = inst.weight.copy()
    weights[:3] = 1e-9
    inst = inst.replace(weight=weights)
    last = fo.solve(inst, notion)
    weights = weights.copy()
    weights[:5] *= 3
    changed = fo.Instance(
        inst.demand,
        np.vstack([inst.capacity, np.zeros((1, 2))]),
        np.hstack([inst.placement, np.ones((30, 1), bool)]),
        weights,
    )
    found = fo.solve(changed, notion, start=last)
    assert found.certificate.certified
    assert found.shares == pytest.approx(fo.solve(changed, notion).shares, rel=1e-7)


@pytest.mark.parametrize("density", [0.1, 0.7])
def test_prices_of_users_are_found_in_few_passes_from_a_bad_guess(density, monkeypatch):
    # who has its price must keep it while others still look for theirs
    from fairopt.solving.engines.again.users import UsersAgain
    from fairopt.solving.engines.interior.layout import layout_of
    from fairopt.solving.engines.point import AlphaQuestion

    inst = cluster(200, 20, density=density)
    last = fo.solve(inst, fo.AlphaFair(1))
    question = AlphaQuestion.of(inst, last.score, 1.0, False)
    layout = layout_of(question, last.shares)
    y = layout.from_pairs((last.tasks * last.score / last.shares[:, None])[question.pairs])
    money = np.where(layout.rows, last.prices * inst.pool, 0.0)
    p = layout.least(layout.cost(money))
    e = np.maximum(y, 1e-4) / (1e-6 * layout.spread(p)) * layout.mask
    gain = layout.spread(p) - layout.cost(money)
    users = UsersAgain(layout, 1.0, p.copy(), np.full(200, np.inf), y, e, gain, p)
    none = np.zeros(money.shape)
    exact = users.take(none, np.zeros(200))
    calls = []
    whole = type(layout).of_user
    monkeypatch.setattr(type(layout), "of_user", lambda *given: calls.append(1) or whole(*given))
    guess = exact.p - p
    guess[7] += 1e-5 * p[7]
    found = users.take(none, guess)
    assert found.p == pytest.approx(exact.p, rel=1e-12)
    assert found.x == pytest.approx(exact.x, rel=1e-9)
    assert len(calls) < 20


def kinds(rng, users=70, servers=48, many=4):
    """Servers of a few kinds, open to users by kind; every third user is like the one before."""
    kind = np.arange(servers) % many
    allowed = rng.random((users, many)) < 0.7
    allowed[np.arange(users), rng.integers(0, many, users)] = True
    needed = rng.uniform(0.1, 1, (users, 3))
    allowed[2::3], needed[2::3] = allowed[1::3][: users // 3], needed[1::3][: users // 3]
    return fo.Instance(
        needed,
        rng.uniform(5, 20, (many, 3))[kind],
        allowed[:, kind],
        rng.uniform(0.5, 2, users),
        users=[f"u{k}" for k in range(users)],
        servers=[f"s{k}" for k in range(servers)],
    )


LED = [("proportional", weight), ("proportional", user_leaves)]
"""notions and changes whose starts lead to an answer here"""


@pytest.mark.parametrize("notion", [fo.ProportionalFair(), fo.AlphaFair(2.5), fo.MaxMin()])
@pytest.mark.parametrize("change", [weight, server_leaves, user_leaves])
def test_users_and_servers_that_are_alike_are_led_to_the_answer_as_one(notion, change):
    rng = np.random.default_rng(5)
    inst = kinds(rng)
    last = fo.solve(inst, notion)
    changed = change(inst, rng)
    found, cold = fo.solve(changed, notion, start=last), fo.solve(changed, notion)
    assert found.certificate.certified
    np.testing.assert_allclose(found.shares, cold.shares, rtol=1e-7)
    if found.steps[0]["status"] == "used":
        merged = next(step for step in found.steps if step["step"] == "reduce")
        assert merged["servers"][1] <= 5 and merged["users"][1] < merged["users"][0]
    else:
        assert (notion.name, change) not in LED


def test_max_min_of_few_kinds_does_not_look_for_a_start(monkeypatch):
    """Who is merged to a quarter or less is solved as soon as the last answer is read."""
    rng = np.random.default_rng(1)
    inst = kinds(rng, 200, 64, 4)
    last, changed = fo.solve(inst, fo.MaxMin()), weight(inst, rng)
    monkeypatch.setattr("fairopt.solving.levels_again.again", None)  # nobody calls it
    found, cold = fo.solve(changed, fo.MaxMin(), start=last), fo.solve(changed, fo.MaxMin())
    assert found.steps[0]["status"].startswith("not used: few once those alike are one")
    np.testing.assert_allclose(found.shares, cold.shares, rtol=1e-9)


def test_max_min_is_led_to_the_answer_of_merged_users_and_servers():
    rng = np.random.default_rng(1)
    inst, used = kinds(rng, 400, 16, 8), 0
    last = fo.solve(inst, fo.MaxMin())
    for change in (weight, weight, user_leaves):
        inst = change(inst, rng)
        found, cold = fo.solve(inst, fo.MaxMin(), start=last), fo.solve(inst, fo.MaxMin())
        np.testing.assert_allclose(found.shares, cold.shares, rtol=1e-9)
        merged = any(step.get("servers") == [16, 8] for step in found.steps)
        used += found.steps[0]["status"] == "used" and merged
        last = cold
    assert used


def test_prices_of_limits_beyond_floats_are_too_far_away():
    """Alpha 50, limits and twelve decades: a limit's price was infinite, times a factor of 0."""
    asked = Asked("alpha-fair, start", "limits", 12, 21)
    inst, notion = asked.drawn()
    answer = answer_of(asked.family, inst, notion, asked.seed)
    assert answer.certificate.certified
