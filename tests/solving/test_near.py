"""The optimal answer nearest to what runs: beside a program written anew, and refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fairopt as fo
from fairopt import cli


def cluster(users=12, kinds=3, servers=9, seed=0, limits=False):
    """Servers of few kinds, so that answers of the same shares are many."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(kinds, size=servers)
    capacity = rng.uniform(5, 20, (kinds, 3))[kind]
    placement = (rng.random((users, kinds)) < 0.7)[:, kind]
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    limit = np.full(users, np.inf)
    if limits:
        limit[::4] = rng.uniform(0.5, 2, len(limit[::4]))
    demand = rng.uniform(0.1, 1, (users, 3))
    weight = rng.uniform(0.5, 2, users)
    return fo.Instance(demand, capacity, placement, weight, limit=limit)


def doubled(inst, user=3):
    weight = inst.weight.copy()
    weight[user] *= 2
    return inst.replace(weight=weight)


def least(inst, score, shares, held):
    """The least sum |x - held| of all x with these shares, by a dense program of its own."""
    users, servers, resources = inst.shape
    size = users * servers
    rows, most = [], []
    for i in range(servers):
        for r in range(resources):
            row = np.zeros((users, servers))
            row[:, i] = inst.demand[:, r]
            rows.append(row.ravel())
            most.append(inst.pool[i, r] * (1 + 1e-11))
    for n in np.flatnonzero(np.isfinite(inst.limit)):
        row = np.zeros((users, servers))
        row[n] = 1
        rows.append(row.ravel())
        most.append(inst.limit[n] * (1 + 1e-11))
    one = np.eye(size)
    above = np.vstack([np.hstack([one, -one]), np.hstack([-one, -one])])
    feasible = np.hstack([np.array(rows), np.zeros((len(rows), size))])
    keeps = np.zeros((users, 2 * size))
    for n in range(users):
        keeps[n, n * servers : (n + 1) * servers] = score[n]
    upper = [*np.where(inst.eligible.ravel(), np.inf, 0.0), *np.full(size, np.inf)]
    found = linprog(
        np.append(np.zeros(size), np.ones(size)),
        A_ub=np.vstack([feasible, above]),
        b_ub=np.concatenate([most, held.ravel(), -held.ravel()]),
        A_eq=keeps,
        b_eq=shares,
        bounds=np.column_stack([np.zeros(2 * size), upper]),
        # with room of 1e-7 in rows, pairs that cost a trifle too much would take part
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize(
    "notion", [fo.ProportionalFair(), fo.AlphaFair(3), fo.MaxMin()], ids=lambda n: n.name
)
def test_no_answer_with_the_same_shares_is_nearer(notion, limits, seed):
    before = cluster(seed=seed, limits=limits)
    last = fo.solve(before, notion)
    inst = doubled(before)
    cold = fo.solve(inst, notion)
    answer = fo.solve(inst, notion, near=last)
    np.testing.assert_allclose(answer.shares, cold.shares, rtol=1e-8)
    assert answer.certificate.certified
    step = answer.steps[-1]
    assert (step["step"], step["status"]) == ("near", "used")
    moved = np.abs(answer.tasks - last.tasks).sum()
    wanted = least(inst, cold.score, cold.shares, last.tasks)
    assert moved == pytest.approx(wanted, rel=1e-5, abs=1e-5)
    assert step["stopped"] + step["started"] == pytest.approx(moved)
    assert step["bound"] <= moved + 1e-6
    assert step["bound"] == pytest.approx(wanted, rel=1e-5, abs=1e-5)
    assert step["before"] == pytest.approx(np.abs(cold.tasks - last.tasks).sum())


@pytest.mark.parametrize("seed", [2, 7])
@pytest.mark.parametrize("limits", [False, True])
def test_none_is_nearer_to_tasks_on_very_many_pairs(limits, seed, monkeypatch):
    """Found by the path inside: the simplex method is not asked."""
    before = cluster(users=60, servers=12, seed=seed, limits=limits)
    last = fo.solve(before, fo.ProportionalFair())
    monkeypatch.setattr("fairopt.solving.engines.programs.nearest.solved", None)
    capacity = before.capacity.copy()
    capacity[2] *= 0.7  # tasks must go
    for inst in (doubled(before), before.replace(capacity=capacity)):
        answer = fo.solve(inst, fo.ProportionalFair(), near=last)
        assert answer.certificate.certified
        step = answer.steps[-1]
        assert (step["step"], step["status"]) == ("near", "used")
        moved = np.abs(answer.tasks - last.tasks).sum()
        wanted = least(inst, answer.score, answer.shares, last.tasks)
        assert step["bound"] <= wanted * (1 + 1e-6) + 1e-6
        assert step["bound"] == pytest.approx(wanted, rel=1e-5, abs=1e-5)
        assert moved == pytest.approx(wanted, rel=1e-5, abs=1e-5)


def test_throughput_may_change_shares():
    """Two users alike: all or nothing is as good, and who runs goes on running."""
    inst = fo.Instance([[1.0], [1.0]], [[3.0], [5.0]], users=["a", "b"])
    held = np.array([[3.0, 0.0], [0.0, 5.0]])
    answer = fo.solve(inst, fo.Throughput(), near=held, reduce=False)
    assert answer.certificate.certified
    np.testing.assert_allclose(answer.tasks, held, atol=1e-9)
    assert answer.steps[-1]["bound"] == pytest.approx(0, abs=1e-9)


def test_nothing_moves_where_nothing_changes():
    inst = cluster(seed=5)
    held = fo.solve(inst, fo.ProportionalFair(), solver="clarabel").tasks
    answer = fo.solve(inst, fo.ProportionalFair(), near=held)
    assert np.abs(answer.tasks - held).sum() < 1e-5


def test_users_and_servers_are_told_by_name():
    inst = cluster(seed=6)
    last = fo.solve(inst, fo.MaxMin())
    users, servers = np.arange(12)[::-1][:-1], np.arange(9)[::-1][:-1]
    changed = inst.select(users, servers)
    by_name = fo.solve(changed, fo.MaxMin(), near=last)
    by_array = fo.solve(changed, fo.MaxMin(), near=last.tasks[np.ix_(users, servers)])
    np.testing.assert_array_equal(by_name.tasks, by_array.tasks)


def test_a_frame_by_name():
    pd = pytest.importorskip("pandas")
    inst = cluster(seed=7)
    last = fo.solve(inst, fo.MaxMin())
    frame = pd.DataFrame(last.tasks, list(inst.users), list(inst.servers)).iloc[::-1, ::-1]
    one = fo.solve(doubled(inst), fo.MaxMin(), near=frame)
    np.testing.assert_array_equal(one.tasks, fo.solve(doubled(inst), fo.MaxMin(), near=last).tasks)


@pytest.mark.parametrize("notion", [fo.ProportionalFair(), fo.AlphaFair(2), fo.MaxMin()], ids=str)
def test_near_nothing_is_sparse(notion, tmp_path):
    """Nearest to no tasks at all is a vertex: at most as many pairs as users and rows."""
    inst = cluster(users=40, servers=40, seed=8)
    full = fo.solve(inst, notion)
    answer = fo.solve(inst, notion, near=np.zeros((40, 40)))
    assert answer.certificate.certified and answer.steps[-1]["status"] == "used"
    # nothing is left of the pairs that the answer before had
    assert np.count_nonzero(answer.tasks) <= 40 + 40 * 3 < np.count_nonzero(full.tasks)
    np.testing.assert_allclose(answer.shares, full.shares, rtol=1e-8)
    # read back, without what the solver knew, it proves itself
    answer.save(tmp_path / "a.json")
    assert fo.certify(fo.load(tmp_path / "a.json")).certified


def test_groups_and_guarantees():
    base = cluster(seed=9)
    names = list(base.users)
    of = {name: "left" if k < 6 else "right" for k, name in enumerate(names)}
    quotas = fo.Quotas([fo.Group("left"), fo.Group("right", weight=2)], of)
    inst = base.replace(quotas=quotas)
    last = fo.solve(inst, fo.MaxMin())
    answer = fo.solve(doubled(inst), fo.MaxMin(), near=last)
    cold = fo.solve(doubled(inst), fo.MaxMin())
    assert answer.certificate.certified
    assert answer.steps[-1]["status"] == "used"
    np.testing.assert_allclose(answer.shares, cold.shares, rtol=1e-7)
    moved = np.abs(answer.tasks - last.tasks).sum()
    wanted = least(inst, cold.score, cold.shares, last.tasks)
    assert moved == pytest.approx(wanted, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    ("near", "said"),
    [
        ("yes", "near"),
        (np.ones((2, 3)), r"shape \(2, 3\)"),
        (-np.ones((12, 9)), "below 0"),
        (np.full((12, 9), np.nan), "not finite"),
    ],
)
def test_what_is_not_tasks_is_named(near, said):
    with pytest.raises(fo.BadInput, match=said):
        fo.solve(cluster(), fo.MaxMin(), near=near)


def test_notions_without_the_question_are_named():
    with pytest.raises(fo.UsageError, match="near: found"):
        fo.solve(cluster(), fo.PerServerDRF(), near=np.zeros((12, 9)))


def test_the_command(tmp_path, capsys):
    before, after = str(tmp_path / "before.toml"), str(tmp_path / "after.toml")
    fo.write(cluster(seed=1), before)
    fo.write(doubled(cluster(seed=1)), after)
    last, out = str(tmp_path / "last.json"), str(tmp_path / "out.json")
    assert cli.run(["solve", before, "--notion", "max-min", "-o", last]) == 0
    capsys.readouterr()
    assert cli.run(["solve", after, "--notion", "max-min", "--near", last, "-o", out]) == 0
    step = fo.load(out).steps[-1]
    moved = np.abs(fo.load(out).tasks - fo.load(last).tasks).sum()
    assert step["stopped"] + step["started"] == pytest.approx(moved)
    told = f"stops {step['stopped']:.6g} tasks and starts {step['started']:.6g}"
    assert told in capsys.readouterr().out
