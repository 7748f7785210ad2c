"""Limits of a user on a server: instance, files, judges, and a linear program beside them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fairopt as fo
from fairopt.errors import BadInput, UsageError

NOTIONS = (fo.MaxMin(criterion="tasks"), fo.ProportionalFair(), fo.AlphaFair(2))


def cluster(**more) -> fo.Instance:
    given = {"limit_on": {"A": {"t1": 1}, "B": {"t2": 0.5}}, **more}
    return fo.Instance(
        [[1, 4], [3, 1]],
        [[9, 18], [9, 18]],
        users=["A", "B"],
        servers=["t1", "t2"],
        resources=["cpu", "memory"],
        **given,
    )


def test_a_dict_names_users_and_servers():
    assert cluster().limit_on.tolist() == [[1, np.inf], [np.inf, 0.5]]


def test_limits_that_bind_nowhere_are_none():
    """Where nobody can be held back the instance is the plain one, digest and answer."""
    plain = cluster(limit_on=None)
    same = cluster(limit_on=np.full((2, 2), np.inf))
    assert same.limit_on is None and same.plain and same.digest() == plain.digest()
    shut = cluster(placement=[[0, 1], [1, 1]], limit_on={"A": {"t1": 3}})
    assert shut.limit_on is None


def test_faults_are_named():
    with pytest.raises(BadInput) as error:
        cluster(limit_on={"A": {"t1": 0}, "B": {"t2": -1}})
    assert [fault.place for fault in error.value.faults] == [
        "users.A.limit_on.t1",
        "users.B.limit_on.t2",
    ]
    with pytest.raises(BadInput, match="shape"):
        cluster(limit_on=[1, 2])


def test_who_does_not_know_it_refuses_it_by_name():
    with pytest.raises(UsageError, match="limit_on"):
        fo.solve(cluster(), fo.PerServerDRF())


def test_what_would_ignore_it_refuses_it():
    """Nobody says anything of properties or reasons without knowing these limits."""
    alloc = fo.solve(cluster(), fo.MaxMin())
    with pytest.raises(UsageError, match="limit_on"):
        alloc.kkt()


def test_whole_tasks_keep_it():
    for due in ([1, 1], [9, 9], [2, 1]):
        tasks = fo.whole(cluster(), due).tasks()
        limits = cluster().limit_on
        for n, user in enumerate(cluster().users):
            for i, server in enumerate(cluster().servers):
                assert tasks[user].get(server, 0) <= limits[n, i]


def test_an_audit_tells_a_limit_that_is_exceeded():
    found = fo.audit(cluster(), {"A": {"t1": 2}, "B": {"t2": 0.25}})
    assert [str(one) for one in found.broken] == ["A on t1: 2 tasks run, 1 allowed"]


@pytest.mark.parametrize("where", ["model.toml", "folder"])
def test_files_come_back(tmp_path, where):
    fo.write(cluster(), tmp_path / where)
    back = fo.read(tmp_path / where).instance
    assert back == cluster() and back.digest() == cluster().digest()


@pytest.mark.parametrize("text", ["t1 = 0", "t9 = 1", 't1 = "a"'])
def test_files_tell_faults(tmp_path, text):
    path = tmp_path / "model.toml"
    fo.write(cluster(limit_on=None), path)
    path.write_text(
        path.read_text().replace(
            "[users.A.demand]", f"[users.A.limit_on]\n{text}\n[users.A.demand]"
        )
    )
    with pytest.raises(BadInput, match=r"users\.A\.limit_on\.t"):
        fo.read(path)


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda notion: notion.name)
def test_answers_come_back(tmp_path, notion):
    alloc = fo.solve(cluster(), notion)
    alloc.save(tmp_path / "answer.json")
    back = fo.load(tmp_path / "answer.json")
    assert back == alloc and fo.certify(back).certified


def test_price_by_hand():
    """A alone on one server of 9 cpu: a limit of 6 is worth 1/6 a task, and cpu nothing."""
    inst = fo.Instance([[1]], [[9]], limit_on=[[6]])
    alloc = fo.solve(inst, fo.ProportionalFair())
    np.testing.assert_allclose(alloc.tasks, [[6]], rtol=1e-9)
    np.testing.assert_allclose(alloc.limit_on_prices, [[1 / 6]], rtol=1e-6)
    np.testing.assert_allclose(alloc.prices, [[0]], atol=1e-9)


def test_on_one_server_it_is_a_limit():
    rng = np.random.default_rng(5)
    for _ in range(20):
        n = int(rng.integers(2, 5))
        demand, most = rng.uniform(0.1, 2, (n, 2)), rng.uniform(0.2, 4, n)
        for notion in NOTIONS:
            one = fo.solve(fo.Instance(demand, [[4, 5]], limit=most), notion)
            other = fo.solve(fo.Instance(demand, [[4, 5]], limit_on=most[:, None]), notion)
            np.testing.assert_allclose(one.totals, other.totals, rtol=3e-6)


def draw(rng) -> fo.Instance:
    n, i, r = (int(rng.integers(1, high)) for high in (5, 5, 3))
    demand = rng.uniform(0.1, 2, (n, r)) * (rng.random((n, r)) < 0.8)
    demand[~demand.any(axis=1), 0] = 1.0
    place = rng.random((n, i)) < 0.8
    place[~place.any(axis=1), 0] = True
    limits = np.where(rng.random((n, i)) < 0.7, rng.uniform(0.05, 3, (n, i)), np.inf)
    return fo.Instance(
        demand,
        rng.uniform(0.5, 4, (i, r)),
        placement=place,
        limit_on=limits,
        weight=rng.choice([1.0, 2, 3], n),
    )


def lowest(inst: fo.Instance, score) -> float:
    """max t: share_n >= phi_n t, by one linear program written out here."""
    n, i, r = inst.shape
    most = np.full((n, i), np.inf) if inst.limit_on is None else inst.limit_on
    rows = []
    for k in range(i):
        for j in range(r):
            row = np.zeros((n, i))
            row[:, k] = inst.demand[:, j]
            rows.append((np.append(row.ravel(), 0), inst.capacity[k, j]))
    for u in range(n):
        row = np.zeros((n, i))
        row[u] = -score[u]
        rows.append((np.append(row.ravel(), inst.weight[u]), 0.0))
    bounds = [(0, None if np.isinf(m) else m) for m in np.where(inst.eligible, most, 0).ravel()]
    found = linprog(
        np.append(np.zeros(n * i), -1),
        [row for row, _ in rows],
        [b for _, b in rows],
        bounds=[*bounds, (0, None)],
    )
    return float(found.x[-1])


def test_random_limits_beside_a_linear_program():
    rng = np.random.default_rng(11)
    for _ in range(60):
        inst = draw(rng)
        alloc = fo.solve(inst, fo.MaxMin(criterion="tasks"))
        np.testing.assert_allclose(alloc.levels.min(), lowest(inst, alloc.score), rtol=1e-7)
        fair = fo.solve(inst, fo.ProportionalFair())
        assert fair.certificate.certified


def test_many_limits_are_no_burden():
    """Rows of one column are eliminated: the system is that of the shared rows alone."""
    rng = np.random.default_rng(2)
    n, i = 30, 60
    inst = fo.Instance(
        rng.uniform(0.1, 2, (n, 3)),
        rng.uniform(5, 9, (i, 3)),
        limit_on=rng.uniform(0.1, 1.5, (n, i)),
    )
    for notion in NOTIONS:
        assert fo.solve(inst, notion).certificate.certified


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda notion: notion.name)
def test_spoilt_answers_are_not_certified(notion):
    """Each way an answer may be wrong about limits on servers."""
    inst = cluster()
    alloc = fo.solve(inst, notion)
    tasks = alloc.tasks.copy()
    tasks[0, 0] = 1 + 1e-6  # beyond the limit of A on t1
    tasks[0, 1] *= 1 - 1e-5
    broken = fo.certify(alloc.with_(tasks=tasks))
    assert broken.verdict == "refuted"
    assert any("limit on a server" in c.name and not c.holds for c in broken.checks)
    moved = alloc.tasks.copy()
    moved[0] *= 0.999
    assert not fo.certify(alloc.with_(tasks=moved)).certified
    # the same answer where the limits are others: right only where it is what is due there
    for most in (1.1, 0.9, 0.3):
        other = cluster(limit_on={"A": {"t1": most}, "B": {"t2": most / 2}})
        asked = fo.Allocation(
            other,
            alloc.notion,
            alloc.tasks,
            alloc.prices,
            alloc.limit_prices,
            limit_on_prices=alloc.limit_on_prices,
            rounds=alloc.rounds,
        )
        due = fo.solve(other, notion).totals
        fits = bool((alloc.tasks <= other.limit_on * (1 + 1e-9)).all())
        right = fits and np.allclose(alloc.totals, due, rtol=1e-6)
        assert fo.certify(asked).certified == right


def test_wrong_prices_prove_nothing_wrong():
    """Whatever is said of prices, a division that is not fair is never certified."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        inst = draw(rng)
        for notion in NOTIONS[1:]:
            alloc = fo.solve(inst, notion)
            n = int(rng.integers(len(inst.users)))
            tasks = alloc.tasks.copy()
            tasks[n] *= 1 - 10.0 ** rng.uniform(-5, -1)
            prices = None
            if inst.limit_on is not None:
                prices = rng.uniform(0, 2, inst.limit_on.shape)
            assert not fo.certify(alloc.with_(tasks=tasks, limit_on_prices=prices)).certified


def test_stopped_by_its_limit_there():
    alloc = fo.solve(
        fo.Instance([[1], [1]], [[4]], users=["A", "B"], limit_on=[[1], [9]]), fo.MaxMin()
    )
    stops = {stop.user: (stop.server, stop.resource) for stop in alloc.blocked}
    assert stops["A"] == ("s1", None) and stops["B"] == ("s1", "r1")
