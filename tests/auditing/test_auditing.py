"""Audits: known answers in fractions, bounds that hold whatever the prices, and messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt import cli, criteria
from fairopt.auditing.changes import changed
from fairopt.auditing.reach import Today, bound, reaches
from fairopt.formulas.lowered import lower

TWO_NODES = fo.Instance(
    [[1.0], [1.0], [1.0]],
    [[6.0], [6.0]],
    placement=[[1, 0], [1, 1], [0, 1]],
    users=["A", "B", "C"],
    servers=["x", "y"],
    resources=["gpu"],
)
HELD = {"A": {"x": 2}, "B": {"x": 4, "y": 4}, "C": {"y": 2}}


def test_due_and_could_hold_are_two_numbers() -> None:
    """QUOTAS A1: due 4, 4, 4; could hold 6, 8, 6."""
    found = fo.audit(TWO_NODES, HELD)
    teams = {team.user: team for team in found.teams}
    assert [teams[u].due for u in "ABC"] == pytest.approx([4, 4, 4], rel=1e-9)
    assert [teams[u].could_hold for u in "ABC"] == pytest.approx([6, 8, 6], rel=1e-7)
    assert all(team.proved for team in found.teams)
    (holder,) = teams["A"].holders
    assert (holder.user, holder.server, holder.amount, holder.there) == ("B", "x", 4, 6)
    assert teams["B"].holders == ()


def test_fewest_tasks_to_move() -> None:
    """QUOTAS A3: two of B leave each server."""
    assert fo.audit(TWO_NODES, HELD).moved == pytest.approx(4, abs=1e-8)
    due = fo.solve(TWO_NODES, fo.MaxMin())
    same = {u: dict(zip("xy", row, strict=True)) for u, row in zip("ABC", due.tasks, strict=True)}
    found = fo.audit(TWO_NODES, same)
    assert found.moved == pytest.approx(0, abs=1e-8)
    assert found.judged.certified


def test_gap_of_today() -> None:
    """QUOTAS A2: in the geometric mean 4 is 26 % more than (2 * 8 * 2)^(1/3)."""
    found = fo.audit(TWO_NODES, HELD, fo.ProportionalFair())
    assert found.judged.gap == pytest.approx(4 / 32 ** (1 / 3) - 1, rel=1e-6)
    assert not found.judged.certified


def test_tasks_that_wait_bound_what_is_due() -> None:
    rows = [
        {"user": "A", "server": "x", "tasks": 2},
        {"user": "B", "server": "y", "tasks": 1},
        {"user": "A", "tasks": 1},
    ]
    found = fo.audit(TWO_NODES, rows)
    assert {team.user: team.due for team in found.teams} == pytest.approx({"A": 3, "B": 1})
    with pytest.raises(fo.BadInput, match="nobody who holds or waits"):
        fo.audit(TWO_NODES, [{"user": "A", "tasks": 0}])


def test_rules_broken_today_are_listed() -> None:
    found = fo.audit(TWO_NODES.replace(limit=[1, np.inf, np.inf]), {"A": {"x": 7, "y": 1}})
    assert [str(rule) for rule in found.broken] == [
        "A on y: 1 tasks held where they may not run",
        "gpu of x: 7 in use, 6 there",
        "A: 8 tasks run, 1 allowed",
    ]


@st.composite
def clusters(draw: Callable[..., float]) -> tuple[fo.Instance, np.ndarray]:
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    users, servers = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    placement = rng.random((users, servers)) < 0.7
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    inst = fo.Instance(
        rng.uniform(0.1, 2, (users, 2)),
        rng.uniform(2, 9, (servers, 2)),
        placement,
        rng.uniform(0.5, 2, users),
    )
    tasks = rng.random((users, servers)) * placement
    over = np.einsum("ni,nr->ir", tasks, inst.demand) / inst.pool
    return inst, tasks / over.max() * rng.uniform(0.3, 1)


@settings(deadline=None, max_examples=25)
@given(clusters(), st.integers(0, 10**6))
def test_no_prices_understate_what_a_user_could_hold(
    drawn: tuple[fo.Instance, np.ndarray], seed: int
) -> None:
    inst, tasks = drawn
    score = criteria.score(inst, "drf")
    share = (score * tasks).sum(axis=1)
    zero = np.zeros(len(share))
    today = Today(lower(inst, score), share, zero, share / inst.weight, zero.astype(int))
    rng = np.random.default_rng(seed)
    for user, found in enumerate(reaches(today)):
        assert found is not None and found.proved
        assert found.share >= share[user] * (1 - 1e-7)
        forged = rng.random(len(found.price)) * rng.choice([0, 1e-9, 1, 1e9], len(found.price))
        for price in (forged, found.price * 2, found.price * rng.uniform(0.9, 1.1, len(forged))):
            assert bound(today, user, price) >= found.share * (1 - 1e-6)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        cli.main(list(arguments))
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    model, held = tmp_path / "cluster.toml", tmp_path / "held.csv"
    fo.write(TWO_NODES, str(model))
    rows = [f"{u},{s},{x}" for u, by in HELD.items() for s, x in by.items()]
    held.write_text("\n".join(["user,server,tasks", *rows]) + "\n")
    return str(model), str(held)


def test_audit_command(capsys: pytest.CaptureFixture[str], files: tuple[str, str]) -> None:
    code, out, _ = run(capsys, "audit", *files, "--notion", "max-min")
    assert code == 0
    assert "A holds 2; 6 is possible without touching anybody at or below it" in out
    assert "B holds 4 of 6 gpu on x" in out
    assert "fewest tasks to move to what is due: 4" in out
    code, out, _ = run(capsys, "audit", *files, "--json")
    assert json.loads(out)["schema"] == "fairopt/audit/v1"


def test_every_fault_of_a_table_is_named(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str], tmp_path: Path
) -> None:
    held = tmp_path / "wrong.csv"
    held.write_text("user,server,tasks\nA,q,2\nZ,x,1\nB,x,-4\nB,y,x4\nC,y,2\nC,y,nan\nC,y\n")
    code, _, err = run(capsys, "audit", files[0], str(held))
    assert code == 2
    for words in (
        "unknown server 'q'",
        "unknown user 'Z'",
        "-4",
        "'x4'",
        "a second time",
        "nan",
        "2 cells",
    ):
        assert words in err, words


def test_what_if_lists_losers_first_and_what_is_promised(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """QUOTAS W1: three more cores are worth 30 % by price, and 24.7 % in truth."""
    code, out, _ = run(
        capsys, "what-if", "ghodsi2011/example", "--set", "capacity.pool.cpu=12", "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert found["whole"] == pytest.approx(0.2472191289, rel=1e-8)
    assert found["promised"] == pytest.approx(0.3, rel=1e-8)
    assert [row["user"] for row in found["users"]] == ["A", "B"]


def test_changes_are_made_or_all_refused(
    capsys: pytest.CaptureFixture[str], files: tuple[str, str]
) -> None:
    code, out, _ = run(
        capsys,
        "what-if",
        files[0],
        "--notion",
        "max-min",
        "--set",
        "weight.A=2",
        "--add-server",
        "x=1",
        "--drop",
        "C",
    )
    assert code == 0 and "gone" in out and "+200 %" in out
    code, _, err = run(
        capsys,
        "what-if",
        files[0],
        "--set",
        "weigth.A=2",
        "--set",
        "weight.Q=1",
        "--drop",
        "Z",
        "--add-server",
        "x=.5",
        "--set",
        "weight.A=two",
        "--set",
        "capacity.x.cpu=2",
    )
    assert code == 2 and "6 faults" in err
    code, _, err = run(capsys, "what-if", files[0], "--set", "weight.A=-2")
    assert code == 2 and "weight" in err
    assert run(capsys, "what-if", files[0])[0] == 2


def test_diff_of_saved_answers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    saved = []
    for k, weight in enumerate(([1, 1, 1], [1, 3, 1])):
        answer = fo.solve(TWO_NODES.replace(weight=weight), fo.MaxMin())
        answer.save(tmp_path / f"{k}.json")
        saved.append(str(tmp_path / f"{k}.json"))
    code, out, _ = run(capsys, "diff", *saved)
    assert code == 0 and out.startswith("2 users with less, 1 with more")
    assert run(capsys, "diff", saved[0], saved[0])[1].startswith("0 users with less, 0 with more")
    assert run(capsys, "diff", saved[0], "nothing.json")[0] == 2


def test_models_say_what_is_held_and_what_changes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "audit", "quotas/a1")
    assert code == 0 and "fewest tasks to move to what is due: 4" in out
    code, out, _ = run(capsys, "audit", "quotas/a1", "--case", "2")
    assert code == 0 and "gap 26 %" in out
    code, out, _ = run(capsys, "what-if", "quotas/w1")
    assert code == 0 and "+24.7 %" in out and "at most +30 %" in out
    assert run(capsys, "audit", "quotas/w1")[0] == 2


def test_changes_reach_groups_quotas_and_flavors() -> None:
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[50.0], [50.0]],
        users=["a", "b"],
        servers=["x", "y"],
        resources=["gpu"],
        quotas=fo.Quotas(
            groups=(fo.Group("r"), fo.Group("p"), fo.Group("sub", "r")),
            group={"a": "sub", "b": "p"},
            flavors={"big": ["x"]},
            quotas=(fo.Quota("r", "gpu", 60, borrow=0), fo.Quota("p", "gpu", 40, lend=10)),
        ),
    )
    changes = ["nominal.p.gpu=50", "weight.r=3", "nominal.r.big.gpu=7"]
    found = changed(inst, changes, ["x=2"]).quotas
    assert found is not None
    assert {(q.member, q.flavor): q.nominal for q in found.quotas} == {
        ("r", None): 60,
        ("r", "big"): 7,
        ("p", None): 50,
    }
    assert {g.name: g.weight for g in found.groups}["r"] == 3
    assert changed(inst, dropped=["r"]).users == ("b",)
    assert changed(inst, dropped=["x"]).servers == ("y",)


def test_what_borrowing_rules_are_broken_is_said() -> None:
    """QUOTAS G5: research may not borrow, production may borrow the 20 that research may lend."""
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[100.0]],
        users=["research", "production"],
        servers=["x"],
        resources=["gpu"],
        quotas=fo.Quotas(
            quotas=(
                fo.Quota("research", "gpu", 60, borrow=0),
                fo.Quota("production", "gpu", 40, lend=10),
            ),
            bounds=(fo.Bound("production", "gpu", 75),),
        ),
    )
    fine = fo.audit(inst, {"research": {"x": 20}, "production": {"x": 75}}, fo.MaxMin("tasks"))
    assert fine.broken == ()
    held = {"research": {"x": 65}, "production": {"x": 80}}
    words = [str(rule) for rule in fo.audit(inst, held, fo.MaxMin("tasks")).broken]
    assert "gpu of research: 65 in use, at most 60 with all it may borrow" in words
    assert "gpu of production: 80 in use, at most 75 allowed" in words


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["--drop", "A", "--set", "weight.A=2"], "weight.A=2: found 'A', which is dropped"),
        (["--set", "demand.A.cpu=2", "--drop", "A"], "demand.A.cpu=2: found 'A', which is dropped"),
        (["--drop", "s", "--add-server", "s=2"], "s=2: found 's', which is dropped"),
        (["--drop", "A", "--drop", "A"], "drop A: found this change a second time"),
        (["--set", "weight.A=2", "--set", "weight.A=3"], "weight.A: found this change a second"),
    ],
)
def test_changes_that_undo_each_other_are_refused(changes, said, tmp_path, capsys):
    path = tmp_path / "m.toml"
    path.write_text(
        'resources = ["cpu"]\n[servers.s]\ncapacity = { cpu = 4 }\n[servers.t]\n'
        "capacity = { cpu = 4 }\n[users.A]\ndemand = { cpu = 1 }\n[users.B]\ndemand = { cpu = 1 }\n"
    )
    code, _, err = run(capsys, "what-if", str(path), "--notion", "max-min", *changes)
    assert code == 2 and said in err
    assert run(capsys, "what-if", str(path), "--notion", "max-min", "--drop", "A")[0] == 0


def test_own_rules_are_kept_in_what_could_be_held() -> None:
    """RULES R5: A and B at most 4 of 12; due 2, 2, 8. Of 1, 3 and 8 held A could have 4, B nothing
    then, and neither B nor C more."""
    pool = fo.read("rules/r5").instance
    tasks = {"A": {"pool": 1}, "B": {"pool": 3}, "C": {"pool": 8}}
    found = fo.audit(pool, tasks, fo.ProportionalFair())
    teams = {team.user: team for team in found.teams}
    assert [teams[u].due for u in "ABC"] == pytest.approx([2, 2, 8])
    assert [teams[u].could_hold for u in "ABC"] == pytest.approx([4, 3, 8])
    assert all(team.proved for team in found.teams) and not found.broken
    assert found.moved == pytest.approx(1)
    tasks = {"A": {"pool": 3}, "B": {"pool": 3}, "C": {"pool": 6}}
    over = fo.audit(pool, tasks, fo.ProportionalFair())
    assert [str(rule) for rule in over.broken] == ["rule together: 6 counted, at most 4 allowed"]
    assert {team.user: team.could_hold for team in over.teams}["C"] is None


def test_a_rule_that_asks_for_tasks_is_kept_too() -> None:
    """RULES R7b: 8 CPU, A at least 5; due 5, 3/2, 3/2. Of 6, 1, 1 held, C could have 2 more than
    nothing: A keeps its 5."""
    pool = fo.read("rules/r7b").instance
    server = pool.servers[0]
    tasks = {name: {server: held} for name, held in zip(pool.users, (6, 1, 1), strict=True)}
    found = fo.audit(pool, tasks, fo.MaxMin("tasks"))
    teams = {team.user: team for team in found.teams}
    assert [teams[u].due for u in pool.users] == pytest.approx([5, 1.5, 1.5])
    assert [teams[u].could_hold for u in pool.users] == pytest.approx([6, 2, 2])
    assert all(team.proved for team in found.teams)
    less = fo.audit(pool, {pool.users[0]: {server: 4}}, fo.MaxMin("tasks"))
    assert "4 counted, at least 5 asked" in str(less.broken[0])


def test_bounds_hold_beside_rules_that_pay_for_tasks() -> None:
    """Whatever the prices: where a task of B is paid for, what B could have stands for it."""
    half = fo.Rule("half", least=0, terms=[fo.Term("B"), fo.Term("A", times=-0.5)])
    inst = fo.Instance([[1.0], [1.0]], [[9.0]], users=["A", "B"], rules=[half])
    score = criteria.score(inst, "tasks")
    zero = np.zeros(2)
    today = Today(lower(inst, score), zero, zero, zero, zero.astype(int))
    rng = np.random.default_rng(0)
    (found, _) = reaches(today)
    assert found is not None and found.proved and found.share == pytest.approx(6)
    for _ in range(200):
        assert bound(today, 0, rng.uniform(0, 1, 2)) >= 6 * (1 - 1e-12)


def test_with_modes_what_is_due_is_output_as_what_is_held() -> None:
    """4 A100 and 10 T4: due are outputs 9/2 (4 fast and 1 slow) and 9, and just that is held."""
    inst = fo.Instance(
        [[0, 0], [0, 1]],
        [[4, 10]],
        users=["a", "b"],
        servers=["node"],
        resources=["A100", "T4"],
        modes={"a": [fo.Mode("fast", {"A100": 1}), fo.Mode("slow", {"T4": 1}, 0.5)]},
    )
    rows = [("a", "fast", 4), ("a", "slow", 1), ("b", "", 9)]
    held = [
        {"user": u, "server": "node", "tasks": x, **({"mode": m} if m else {})} for u, m, x in rows
    ]
    found = fo.audit(inst, held, fo.ProportionalFair())
    assert [team.held for team in found.teams] == pytest.approx([4.5, 9])
    assert [team.due for team in found.teams] == pytest.approx([4.5, 9])
    assert found.moved == pytest.approx(0, abs=1e-8)
    change = {each.user: each for each in fo.differences(found.answer, found.answer).users}
    assert change["a"].after == pytest.approx(4.5)


def test_a_server_that_is_gone_is_not_said_to_be_no_longer_full() -> None:
    before = fo.solve(TWO_NODES, fo.MaxMin())
    assert set(fo.differences(before, before).freed) == set()
    after = fo.solve(TWO_NODES.select([1, 2], [1]), fo.MaxMin())
    assert fo.differences(before, after).freed == ()
    wider = TWO_NODES.select([1, 2], [1]).replace(limit=[1.0, 1.0])
    assert fo.differences(before, fo.solve(wider, fo.MaxMin())).freed == (("y", "gpu"),)
