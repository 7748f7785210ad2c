"""The frame of the propositions: trials, rows, executors, resuming, counterexamples, command."""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt import cli, errors, files
from fairopt.allocation.check import Check
from fairopt.certificates.feasibility import feasibility
from fairopt.propositions import PROPOSITIONS, draws, find, replay, run, save, selected
from fairopt.propositions.linear import Polytope, excess
from fairopt.propositions.statement import Hypothesis, Statement, Undecided
from fairopt.propositions.trials import chunk, judged, plain, shrunk, trial
from fairopt.storage import JournalWarning

SEEDS = st.integers(0, 2**32 - 1)


def few_users(inst, seed):
    """Says nothing of one user; fails for more than two."""
    if len(inst.users) == 1:
        raise Undecided("one user")
    return Check.of("few", len(inst.users) - 2.0, 0.5, f"{len(inst.users)} users, seed {seed}")


def heavy(inst):
    return bool(inst.weight.max() <= 1)


FEW = Statement(
    "test/few",
    "at most two users",
    "nobody",
    draws.Small(users=(1, 4), weight_decades=0),
    few_users,
    (Hypothesis("light", heavy, draws.Small(users=(3, 4), weight_decades=2)),),
)
TRUE = Statement(
    "test/true", "a user is a user", "nobody", draws.Small(), lambda i, s: Check.of("", 0, 1)
)


# -- rows -------------------------------------------------------------------------------------


def test_rows_count_every_trial_once():
    row, without = run([FEW], trials=60)
    assert (row.label, without.label) == ("test/few", "test/few without light")
    assert row.held > 5 and row.violated > 5 and row.undecided["one user"] > 5
    assert row.held + row.violated + sum(row.undecided.values()) == row.trials == 60
    assert row.margin == -1.5 and row.witness.startswith("4 users")
    assert row.refuted and not without.refuted and without.violated == 60
    model = row.counterexample
    assert model.instance.shape == (3, 1, 1) and "trial" in model.source
    assert (model.instance.weight == 1).all()
    # without "light" it is not shrunk to weights that meet it
    assert without.counterexample.instance.weight.max() > 1


def test_a_statement_that_holds():
    (row,) = run([TRUE], trials=30)
    assert (row.held, row.violated, row.undecided, row.counterexample) == (30, 0, {}, None)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [(errors.SolverFailure("stopped"), "SolverFailure"), (Undecided("no"), "no")],
)
def test_what_is_not_decided_never_holds(fault, reason):
    def check(inst, seed):
        raise fault

    (row,) = run([Statement("t/t", "", "", draws.Small(), check)], trials=7)
    assert (row.held, row.violated, row.undecided, row.margin) == (0, 0, {reason: 7}, None)


def test_nan_is_not_decided():
    nan = Statement("t/n", "", "", draws.Small(), lambda i, s: Check.of("", np.nan, 1))
    assert run([nan], trials=3)[0].undecided == {"a check that is not a number": 3}


def test_a_programming_error_is_not_hidden():
    broken = Statement("t/b", "", "", draws.Small(), lambda i, s: 1 / 0)
    with pytest.raises(RuntimeError, match="t/b, trial 0 of seed 0: ZeroDivisionError"):
        run([broken], trials=1)


def test_hypotheses_nobody_meets_decide_nothing():
    never = Statement("t/n", "", "", draws.Small(), few_users, (Hypothesis("h", lambda i: False),))
    (row,) = run([never], trials=2)
    assert row.undecided == {"no instance met the hypotheses": 2}


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"seed": -1}])
def test_refuses(wrong):
    with pytest.raises(errors.UsageError, match="wanted"):
        run([TRUE], **wrong)


# -- the same table ----------------------------------------------------------------------------


def test_same_seed_same_rows_on_any_executor():
    serial = run([FEW], trials=30, seed=5)
    with ThreadPoolExecutor(2) as pool:
        assert run([FEW], trials=30, seed=5, executor=pool) == serial
    assert run([FEW], trials=30, seed=6) != serial
    names = [FEW, "kesidis2018/definition-1-printed"]
    serial = run(names, trials=4)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        assert run(names, trials=4, executor=pool) == serial


def test_a_trial_does_not_depend_on_the_others():
    whole = chunk(FEW, "", 0, 0, 20)
    halves = [chunk(FEW, "", 0, 0, 9), chunk(FEW, "", 0, 9, 20)]
    assert whole["held"] == sum(half["held"] for half in halves)
    assert whole["worst"] == min((h["worst"] for h in halves), key=lambda w: (w[0], w[1]))
    again = trial(FEW, "", 0, 13)
    assert again == trial(FEW, "", 0, 13) and again.instance != trial(FEW, "", 0, 14).instance


def test_progress_ends_at_the_end():
    told = []
    run([FEW], trials=60, progress=lambda done, of: told.append((done, of)))
    done, of = told[-1]
    assert done == of and all(a[0] <= b[0] for a, b in zip(told, told[1:], strict=False))


def test_resume_skips_what_is_done(tmp_path):
    path = tmp_path / "work.jsonl"
    rows = run([FEW], trials=60, resume=path)
    lines = path.read_bytes()
    # a kill in the middle of the last line
    path.write_bytes(lines[:-20])
    calls = []

    def counting(inst, seed):
        calls.append(seed)
        return few_users(inst, seed)

    again = run([Statement(**{**vars(FEW), "check": counting})], trials=60, resume=path)
    assert again == rows and path.read_bytes() == lines
    assert 0 < len(calls) < 400, "only the piece cut short is done again"
    calls.clear()
    assert run([Statement(**{**vars(FEW), "check": counting})], trials=60, resume=path) == rows
    assert len(calls) == 2, "the counterexample of either row is checked again"


@pytest.mark.parametrize(
    ("number", "edit"),
    [
        (1, {"held": 1000}),
        (1, {"undecided": 3}),
        (1, {"worst": None}),
        (1, {"smallest": [1]}),
        (1, {"smallest": [1, 10**6]}),
        (2, {"worst": ["a", 1, "b"]}),
        (-1, {"margin": -1e9}),
        (-1, {"witness": "nobody"}),
        (-1, {"instance": 3}),
        (-1, {"seed": "x"}),
        (-1, {"trial": -1}),
    ],
)
def test_resume_believes_only_what_adds_up_and_counterexamples_that_are_some(
    number, edit, tmp_path
):
    path = tmp_path / "work.jsonl"
    rows = run([FEW], trials=60, resume=path)
    lines = path.read_text().splitlines()
    entry = json.loads(lines[number])
    lines[number] = json.dumps({**entry, "result": {**entry["result"], **edit}})
    path.write_text("\n".join(lines) + "\n")
    where = len(lines) if number < 0 else number + 1
    with pytest.warns(JournalWarning, match=f"line {where}: no result of this piece of work"):
        assert run([FEW], trials=60, resume=path) == rows
    assert run([FEW], trials=60, resume=path) == rows


def test_resume_names_lines_of_rubbish(tmp_path):
    path = tmp_path / "work.jsonl"
    rows = run([FEW], trials=60, resume=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{}\n", *lines[2:]]))
    with pytest.warns(JournalWarning, match="line 2: no line of a resume file"):
        assert run([FEW], trials=60, resume=path) == rows


def test_resume_touches_nobody_elses_file(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not ours")
    with pytest.raises(errors.UsageError, match="another kind of file"):
        run([TRUE], trials=1, resume=path)
    assert path.read_text() == "not ours"
    with pytest.raises(errors.UsageError, match="does not exist"):
        run([TRUE], trials=1, resume=tmp_path / "none" / "work.jsonl")


# -- counterexamples ---------------------------------------------------------------------------


def test_a_counterexample_replays_from_its_file(tmp_path):
    rows = run(["kesidis2018/definition-1-printed"], trials=10)
    saved = save(rows, tmp_path / "new" / "folder")
    path = saved["kesidis2018/definition-1-printed"]
    assert path.name == "kesidis2018-definition-1-printed.toml"
    assert files.read(path).instance == rows[0].counterexample.instance
    ((what, check),) = replay(path)
    assert what == "kesidis2018/definition-1-printed" and not check.holds
    assert check.witness in rows[0].counterexample.source


def test_replay_refuses(tmp_path):
    inst = fo.Instance([[1.0], [1.0]], [[2.0]])
    with pytest.raises(errors.UsageError, match="no case that is a proposition"):
        replay(files.Model(inst))

    def case(**parameters):
        name = "kesidis2018/definition-1"
        return files.Model(inst, (files.Case("proposition", name, parameters),))

    with pytest.raises(errors.BadInput, match="case.seed"):
        replay(case())
    with pytest.raises(errors.BadInput, match="a hypothesis of kesidis2018/definition-1"):
        replay(case(seed=1, without="(15)"))
    with pytest.raises(errors.BadInput, match="all hypotheses met but"):
        replay(case(seed=1, without="(14)"))
    assert replay(case(seed=1))[0][1].holds


def test_shrunk_counterexamples_stay_counterexamples():
    number = chunk(FEW, "", 0, 0, 10)["smallest"][1]
    found = shrunk(FEW, "", 0, number)
    inst = fo.Instance(**found["instance"])
    assert FEW.meets(inst) and judged(FEW, inst, found["seed"]).violated
    # JSON and back, as in a resume file
    assert fo.Instance(**json.loads(json.dumps(plain(inst)))) == inst


# -- the table of names ------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROPOSITIONS)
def test_every_statement_is_complete(name):
    one = find(name)
    assert one.name == name and one.words and one.source.startswith(name.partition("/")[0])
    assert len({h.name for h in one.hypotheses}) == len(one.hypotheses)
    assert one.reading in ("", "printed", "corrected")
    for without in ("", *one.breakable()):
        # the generators find what they should; trials say nothing otherwise
        drawn = [one.generator(without)(np.random.default_rng(k)) for k in range(60)]
        assert sum(one.meets(inst, without) for inst in drawn) >= 6, without


def test_selected():
    assert selected() == tuple(PROPOSITIONS)
    of = selected(["ours", "kesidis2018/corollary-1"])
    assert of[0] == "kesidis2018/corollary-1" and all(name.startswith("ours/") for name in of[1:])
    with pytest.raises(errors.UsageError, match="nearest: kesidis2018/proposition-2"):
        selected(["kesidis2018/proposition-3"])
    with pytest.raises(errors.UsageError, match="a work: kesidis2018"):
        find("xyzzy")


# -- instances, allocations, linear forms ------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_draws(seed):
    rng = np.random.default_rng(seed)
    assert draws.equal_where_shared(draws.Alike()(rng))
    inst = draws.EqualServers()(rng)
    assert (inst.capacity == inst.capacity[0]).all()
    inst = draws.Small(zero_demand=0.3, limits=0.5)(np.random.default_rng(seed))
    assert inst == draws.Small(zero_demand=0.3, limits=0.5)(np.random.default_rng(seed))
    for tasks in (draws.greedy(inst, rng), draws.scattered(inst, rng)):
        alloc = fo.Allocation(inst, fo.Throughput(), tasks)
        assert all(check.holds for check in feasibility(alloc))
    assert (draws.scattered(inst, rng) > 0)[inst.eligible].all()
    free = inst.replace(limit=None)
    full = free.used(draws.greedy(free, rng)) / free.pool >= 1 - 1e-9
    assert full.any(axis=1)[free.eligible.any(axis=0)].all()


def test_equal_where_shared():
    alike = fo.Instance([[1, 2], [1, 2], [3, 1]], np.ones((2, 2)), [[1, 0], [1, 0], [0, 1]])
    assert draws.equal_where_shared(alike)
    assert not draws.equal_where_shared(alike.replace(demand=[[1, 2], [1, 1], [3, 1]]))
    assert not draws.equal_where_shared(alike.replace(placement=[[1, 1], [1, 0], [0, 1]]))


def test_linear_forms_against_hand():
    inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    space = Polytope(inst)
    best = space.best(np.ones(2))
    assert best.ravel() == pytest.approx([45 / 11, 18 / 11])
    assert excess(inst, np.ones((2, 1)), np.array([[4.5], [0.0]])) == pytest.approx(63 / 49.5 - 1)
    # at least 2 tasks of the second, and the first as many
    held = space.best(np.array([1.0, 0]), floor=(np.array([[0, 1.0]]), np.array([2.0])))
    assert held.ravel() == pytest.approx([3, 2])
    even = space.best(np.array([1.0, 0]), equal=(np.array([[1.0, -1]]), np.zeros(1)))
    assert even.ravel() == pytest.approx([2.25, 2.25])
    assert space.best(np.ones(2), floor=(np.array([[0, 1.0]]), np.array([4.0]))) is None
    # in units of bytes and cores alike, and with a limit
    bytes_ = fo.Instance([[1, 4e9], [3, 1e9]], [[9, 18e9]], limit=[1, np.inf])
    assert Polytope(bytes_).best(np.ones(2)).ravel() == pytest.approx([1, 8 / 3])


# -- the command -------------------------------------------------------------------------------


def main(*arguments):
    with pytest.raises(SystemExit) as left:
        cli.main(["propositions", *arguments])
    return left.value.code


def test_command(tmp_path, capsys):
    folder = tmp_path / "found"
    arguments = ("kesidis2018/definition-1-printed", "ours/universal-bound", "--trials", "3")
    assert main(*arguments, "--save-counterexamples", str(folder)) == 4
    out = capsys.readouterr().out
    file = folder / "kesidis2018-definition-1-printed.toml"
    assert f"printed, refuted: see {file}" in out and "Definition 1" in out
    assert "3/3" in out and out.count("\n") == 3
    assert main(*arguments, "--expect-violation") == 0
    capsys.readouterr()
    assert main("--replay", str(file)) == 4
    assert capsys.readouterr().out.startswith("VIOLATED  kesidis2018/definition-1-printed")
    assert main("--replay", str(file), "--expect-violation") == 0


def test_command_json(tmp_path, capsys):
    path = tmp_path / "out.json"
    name = "kesidis2018/proposition-1-fills"
    assert main(name, "--trials", "8", "--json", "-o", str(path)) == 0
    out = capsys.readouterr().out
    assert path.read_text() == out
    found = json.loads(out)
    assert found["schema"] == "fairopt/propositions/v1" and found["trials"] == 8
    held, broken = found["rows"]
    assert held["held"] == 8 and held["counterexample"] is None and held["without"] is None
    assert broken["without"] == "no limits" and broken["violated"] > 0
    assert broken["counterexample"]["case"][0]["without"] == "no limits"
    # a hypothesis broken on purpose is no violation of the statement
    assert main(name, "--trials", "2", "--expect-violation") == 4


def test_command_refuses(tmp_path, capsys):
    assert main("kesidis2018/proposition-9") == 2
    assert "nearest" in capsys.readouterr().err
    assert main("--trials", "0") == 2
    (tmp_path / "file").write_text("")
    where = str(tmp_path / "file" / "folder")
    assert main("ours/universal-bound", "--save-counterexamples", where) == 2
    assert main("--replay", str(tmp_path / "none.toml")) == 2


def test_command_list(capsys):
    assert main("--list", "kesidis2018") == 0
    out = capsys.readouterr().out
    assert "kesidis2018/definition-1-printed (printed)" in out and "given: (14)" in out
