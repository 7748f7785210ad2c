"""A cluster that changes: the planner's answers are those of a cold solve, and move little."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest

import fairopt as fo


def cluster(users=14, servers=6, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=servers)
    placement = (rng.random((users, 3)) < 0.7)[:, kind]
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    return fo.Instance(
        rng.uniform(0.1, 1, (users, 3)),
        rng.uniform(5, 20, (3, 3))[kind],
        placement,
        rng.uniform(0.5, 2, users),
    )


def something(planner, rng, step):
    """One change of a kind drawn at random."""
    user = planner.users[rng.integers(len(planner.users))]
    server = planner.servers[rng.integers(len(planner.servers))]
    what = rng.integers(8)
    if what == 0:
        planner.change_user(user, weight=rng.uniform(0.5, 2))
    elif what == 1:
        planner.change_user(user, demand=rng.uniform(0.1, 1, 3))
    elif what == 2:
        some = [name for name in planner.servers if rng.random() < 0.5]
        planner.change_user(user, servers=some)  # of nobody, perhaps
    elif what == 3:
        planner.change_user(user, limit=rng.uniform(1, 5))
    elif what == 4:
        planner.add_user(f"new{step}", rng.uniform(0.1, 1, 3), weight=rng.uniform(0.5, 2))
    elif what == 5 and len(planner.users) > 4:
        planner.remove_user(user)
    elif what == 6 and len(planner.servers) > 2:
        planner.remove_server(server)
    elif what == 7:
        planner.add_server(f"more{step}", rng.uniform(5, 20, 3))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("notion", [fo.ProportionalFair(), fo.MaxMin()], ids=lambda n: n.name)
def test_shares_are_those_of_a_cold_solve(notion, seed):
    rng = np.random.default_rng(seed)
    planner = fo.Planner(cluster(seed=seed), notion)
    for step in range(25):
        something(planner, rng, step)
        if step == 10:
            planner.change_user(planner.users[0], servers=[])
            assert planner.users[0] in planner.aside
        last, answer = planner.last, planner.answer()
        cold = fo.solve(planner.instance(), notion)
        assert answer.certificate.certified
        assert answer.instance == planner.instance()
        np.testing.assert_allclose(answer.shares, cold.shares, rtol=2e-7, atol=1e-9)
        assert set(planner.aside).isdisjoint(answer.instance.users)
        assert {*planner.aside, *answer.instance.users} == set(planner.users)
        if last is not None and answer is not last:
            told = answer.steps[-1]
            assert told["step"] == "near"
            if told["status"] == "used":
                assert told["stopped"] + told["started"] <= told["bound"] + 1e-5
                assert told["bound"] <= told["before"] + 1e-5


RULED = {
    "quotas": {
        "quotas": fo.Quotas(
            [fo.Group("team", weight=2)],
            {"u1": "team", "u2": "team"},
            [fo.Guarantee("u3", "r1", 0.5)],
            [fo.Bound("team", "r2", 3.0)],
        )
    },
    "priorities": {"quotas": fo.Quotas(priority={"u1": 1, "u2": 1})},
    "modes": {"modes": {"u1": [fo.Mode("fast"), fo.Mode("slow", {"r1": 0.5}, 0.4)]}},
    "rules": {"rules": [fo.Rule("power", most=4, terms=[fo.Term(servers=["s1", "s2"])])]},
    "limits on servers": {"limit_on": np.where(np.eye(14, 6) > 0, 0.5, np.inf)},
    "already": {"start": np.eye(14)[0] * 3},
}


@pytest.mark.parametrize("what", RULED)
@pytest.mark.parametrize("notion", [fo.ProportionalFair(), fo.MaxMin()], ids=lambda n: n.name)
def test_rules_stay_with_their_names(notion, what):
    """Answers are those of a cold solve; what is said of a user or server that goes and comes back
    is said again."""
    planner = fo.Planner(cluster().replace(**RULED[what]), notion)
    first = planner.answer()
    rules = planner.instance().quotas, planner.instance().rules, planner.instance().modes
    demand = dict(zip(planner.users, planner.instance().demand, strict=True))
    planner.change_user("u5", weight=3)
    planner.answer()
    planner.remove_user("u1")
    planner.add_user("new", [0.2, 0.3, 0.1])
    planner.add_server("more", [9, 9, 9], users=["new", "u2"])
    planner.remove_server("s2")
    answer = planner.answer()
    assert answer.certificate.certified and answer.instance == planner.instance()
    cold = fo.solve(planner.instance(), notion)
    np.testing.assert_allclose(answer.shares, cold.shares, rtol=1e-6, atol=1e-9)
    planner.add_user("u1", demand["u1"])
    planner.add_server("s2", [9, 9, 9])
    now = planner.instance()
    assert (now.quotas, now.rules) == rules[:2] and (now.modes is None) == (rules[2] is None)
    assert planner.answer().certificate.certified and first.certificate.certified


def test_a_user_joins_a_group_and_rules_change():
    inst = cluster(users=4)
    planner = fo.Planner(inst, fo.MaxMin("tasks"))
    team = fo.Quotas([fo.Group("team")], bounds=[fo.Bound("team", "r1", 1.0)])
    planner.change_rules(quotas=team)
    planner.change_user("u1", group="team")
    planner.add_user("u9", [0.5, 0.1, 0.1], group="team")
    held = planner.answer()
    at = [held.instance.users.index(name) for name in ("u1", "u9")]
    assert held.totals[at] @ held.instance.demand[at, 0] <= 1.0 + 1e-9
    with pytest.raises(fo.BadInput, match="group"):
        planner.change_user("u2", group="tema")
    before = planner.instance()
    with pytest.raises(fo.BadInput, match="nobody"):
        planner.change_rules(modes={"nobody": [fo.Mode("a")]})
    assert planner.instance() == before
    planner.change_rules(quotas=None, rules=[fo.Rule("few", most=2, terms=[fo.Term()])])
    assert planner.answer().totals.sum() == pytest.approx(2, rel=1e-6)


def test_demand_by_server_is_that_of_a_server_alike():
    inst = cluster(users=4)
    both = np.stack([inst.demand, 2 * inst.demand], axis=1)[:, [0, 1, 0, 1, 0, 1]]
    planner = fo.Planner(inst.replace(demand=both), fo.ProportionalFair())
    planner.remove_server("s6")
    with pytest.raises(fo.BadInput, match="like of more"):
        planner.add_server("more", [9, 9, 9])
    planner.add_server("more", [9, 9, 9], like="s2")
    planner.change_user("u1", weight=2)
    now = planner.instance()
    np.testing.assert_array_equal(now.demand[:, -1], 2 * inst.demand)
    np.testing.assert_array_equal(now.demand[:, 0], inst.demand)
    assert planner.answer().certificate.certified


def test_a_user_without_a_server_is_set_aside_and_comes_back():
    planner = fo.Planner(cluster(), fo.MaxMin())
    planner.change_user("u3", servers=[])
    answer = planner.answer()
    assert planner.aside == ("u3",)
    assert answer.steps[0] == {"step": "aside", "users": ["u3"]}
    assert "u3" not in answer.instance.users
    planner.add_server("own", [9.0, 9.0, 9.0], users=["u3"])
    answer = planner.answer()
    assert planner.aside == ()
    assert answer.totals[answer.instance.users.index("u3")] > 0


def test_what_a_server_lacks_sets_aside_too():
    inst = fo.Instance(
        [[1, 0], [1, 1]], [[4, 0], [4, 2]], users=["cpu", "gpu"], servers=["plain", "accelerated"]
    )
    planner = fo.Planner(inst, fo.ProportionalFair())
    planner.remove_server("accelerated")
    assert planner.aside == ("gpu",)
    np.testing.assert_allclose(planner.answer().tasks, [[4.0]], rtol=1e-9)
    planner.remove_user("cpu")
    with pytest.raises(fo.UsageError, match="no user that a server can run"):
        planner.answer()


def test_nothing_changed_is_the_same_answer():
    planner = fo.Planner(cluster(), fo.MaxMin())
    assert planner.answer() is planner.answer()
    planner.change_user("u2", weight=1.0)
    assert planner.answer() is planner.last


def test_what_runs_may_be_said_at_the_beginning():
    inst = cluster(seed=3)
    last = fo.solve(inst, fo.ProportionalFair())
    answer = fo.Planner(inst, fo.MaxMin(), last=last).answer()
    assert answer.steps[-1]["step"] == "near"
    np.testing.assert_allclose(answer.shares, fo.solve(inst, fo.MaxMin()).shares, rtol=1e-7)


def test_without_near_only_shares_matter():
    planner = fo.Planner(cluster(), fo.MaxMin(), near=False)
    planner.answer()
    planner.change_user("u2", weight=3)
    assert all(step.get("step") != "near" for step in planner.answer().steps)


@pytest.mark.parametrize("near", [False, True])
def test_a_planner_may_be_asked_for_few_pairs(near):
    planner = fo.Planner(cluster(), fo.ProportionalFair(), near=near, sparse=True)
    most = len(planner.users) + 3 * len(planner.servers)
    first = planner.answer()
    assert np.count_nonzero(first.tasks) <= most < np.count_nonzero(first.instance.eligible)
    planner.change_user("u2", weight=3)
    answer = planner.answer()
    last = answer.steps[-1]
    assert last["step"] == "near" and last["status"] == "used"
    if near:  # as few tasks move as any answer would move
        moved = np.abs(answer.tasks - first.tasks).sum()
        assert moved == pytest.approx(last["bound"], rel=1e-5)
    else:
        assert np.count_nonzero(answer.tasks) <= most
    fresh = fo.solve(planner.instance(), fo.ProportionalFair())
    np.testing.assert_allclose(answer.shares, fresh.shares, rtol=1e-7)
    assert answer.certificate.certified


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p.change_user("u33", weight=2), "u33"),
        (lambda p: p.change_user("u3", weight=-2), "-2"),
        (lambda p: p.change_user("u3", demand={"r9": 1}), "r9"),
        (lambda p: p.change_user("u3", demand=[1.0]), "3 numbers"),
        (lambda p: p.change_user("u3", servers=["s1", "s99"]), "s99"),
        (lambda p: p.change_user("u3", limit=0), "limit"),
        (lambda p: p.add_user("u3", [1, 1, 1]), "a name that nobody has"),
        (lambda p: p.add_user("v", [0, 0, 0]), "demand"),
        (lambda p: p.add_server("s1", [1, 1, 1]), "a name that nobody has"),
        (lambda p: p.add_server("t", [1, -1, 1]), "capacity of t"),
        (lambda p: p.change_server("s1", count=0), "count of s1"),
        (lambda p: p.change_server("s77"), "s77"),
        (lambda p: p.remove_user("x"), "x"),
        (lambda p: p.remove_server("x"), "x"),
    ],
)
def test_a_wrong_change_is_named_and_changes_nothing(change, said):
    planner = fo.Planner(cluster(), fo.MaxMin())
    before = planner.instance()
    with pytest.raises(fo.BadInput, match=said):
        change(planner)
    assert planner.instance() == before


def test_what_it_does_not_know_is_named():
    with pytest.raises(fo.UsageError, match="max-min or alpha-fairness"):
        fo.Planner(cluster(), fo.PerServerDRF())
    bent = fo.Instance([[1.0]], [[4.0]], demand_power=[[0.5]])
    with pytest.raises(fo.UsageError, match="demand that is not linear"):
        fo.Planner(bent, fo.MaxMin())
    with pytest.raises(fo.BadInput, match="fairopt.Instance"):
        fo.Planner("cluster", fo.MaxMin())


def test_threads_change_while_others_ask():
    planner, faults = fo.Planner(cluster(), fo.MaxMin()), []

    def change(user):
        try:
            for k in range(20):
                planner.change_user(user, weight=1 + k / 10)
                planner.answer()
        except Exception as error:  # told by the thread that looks
            faults.append(error)

    threads = [threading.Thread(target=change, args=(f"u{k}",)) for k in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    weight = dict(zip(planner.users, planner.instance().weight, strict=True))
    assert [weight[f"u{k}"] for k in range(1, 4)] == [2.9, 2.9, 2.9]
    assert planner.answer().instance == planner.instance()


def test_memory_stays_the_same():
    rng = np.random.default_rng(0)
    planner = fo.Planner(cluster(), fo.ProportionalFair())

    def turns(count):
        for _ in range(count):
            planner.change_user(planner.users[rng.integers(14)], weight=rng.uniform(0.5, 2))
            planner.answer()

    turns(20)  # what is imported and kept once
    tracemalloc.start()
    turns(5)
    before = tracemalloc.get_traced_memory()[0]
    turns(40)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 100_000
