"""PS-DSF kept by every server on its own: Figure 6 of khamse2016, orders, delays, damping."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import fairopt as fo
from fairopt.cli import run as command
from fairopt.dynamics.servers import LONGEST, by_themselves
from tests.strategies import instances

FIGURE = fo.read("khamse2016/section-v").instance
AWAY = {"n4": (10, 30)}
CPU, C, D = 0, 2, 3


@pytest.fixture(scope="module")
def in_turn():
    return by_themselves(FIGURE, 45, AWAY)


def test_figure_6(in_turn):
    """SYSTEMS and DYNAMICS 5: use of the CPU of D while user 4 is away, of C when it is back."""
    assert [(p.begin, p.end, p.away) for p in in_turn.phases] == [
        (0, 10, ()),
        (10, 30, ("n4",)),
        (30, 46, ()),
    ]
    d = in_turn.used[10:30, D, CPU]
    assert d[:4] == pytest.approx([1, 0.82305, 0.78470, 0.77991], abs=5e-6)
    assert d[-1] == pytest.approx(60 / 77, abs=1e-12)
    assert in_turn.used[30:33, C, CPU] == pytest.approx([0.66234, 0.99423, 1], abs=5e-6)
    assert in_turn.totals[9] == pytest.approx([210, 105, 82.5, 27.5])
    assert in_turn.totals[-1] == pytest.approx([210, 105, 82.5, 27.5])
    assert in_turn.phases[0].settled == 2


def test_settled_states_are_answers_to_ps_dsf(in_turn):
    for phase in in_turn.phases:
        assert phase.period == 1
        assert phase.certificate.certified, phase


def use(answer, server):
    """The least and the most of a server's CPU that these totals can use."""
    inst, (n, i) = answer.instance, answer.instance.pairs
    users, servers, resources = inst.shape
    totals = (np.arange(users)[:, None] == n).astype(float)
    part = (np.arange(servers)[:, None] == i)[:, None] * inst.pair_part.T
    part = part.reshape(servers * resources, -1)
    mine = part[server * resources + CPU]
    ends = [
        linprog(sign * mine, part, np.full(len(part), 1 + 1e-9), totals, answer.totals)
        for sign in (1, -1)
    ]
    return [ends[0].fun, -ends[1].fun]


def test_the_claim_of_higher_use_fails_for_d(in_turn):
    """TSF and C-DRFH use all of the CPU of D while user 4 is away, whatever their placement."""
    for name in ("tsf", "drf"):
        there, away, _ = in_turn.exactly(fo.MaxMin(name))
        assert use(there, C) == pytest.approx([0.80479, 0.80479], abs=5e-6)
        assert use(there, D) == pytest.approx([1, 1], abs=1e-6)
        assert use(away, C) == pytest.approx([1, 1], abs=1e-6)
        assert use(away, D) == pytest.approx([1, 1], abs=1e-6)
    assert in_turn.used[29, D, CPU] < 0.78


def test_c_drfh_is_not_cdrf(in_turn):
    """C-DRFH counts dominant shares of the pool, CDRF what a user could run on all its servers."""
    drfh, cdrf = (in_turn.exactly(fo.MaxMin(name)) for name in ("drf", "cdrf"))
    # 210 and 105 of the whole pool's RAM alike; the other two as under TSF, where C and D bind both
    assert drfh[0].totals == pytest.approx([210, 105, 58.342541, 35.552486], abs=1e-6)
    assert drfh[1].totals == pytest.approx([210, 105, 110])
    assert use(cdrf[0], D) == pytest.approx([0.84392, 1], abs=5e-6)
    assert use(cdrf[1], D) == pytest.approx([0.75, 1], abs=1e-6)
    assert use(cdrf[0], C) == pytest.approx([0.64815, 0.77513], abs=5e-6)
    assert use(cdrf[1], C) == pytest.approx([0.63373, 0.81138], abs=5e-6)


def test_all_at_once_never_settles():
    run = by_themselves(FIGURE, 2000, order="at-once")
    (phase,) = run.phases
    assert (phase.settled, phase.period) == (None, 2)
    assert not phase.certificate.certified
    assert sorted(run.totals[-2:, 0]) == pytest.approx([202 + 2 / 3, 217 + 1 / 3])
    away = by_themselves(FIGURE, 400, {"n4": (1, 401)}, order="at-once").phases[1]
    assert (away.settled, away.period) == (None, 2)


@pytest.mark.parametrize(
    "how",
    [{"order": "random"}, {"order": "at-once", "damping": 0.5}, {"delay": 3}],
    ids=["random order", "damped", "news of random age"],
)
def test_what_settles_it(how):
    run = by_themselves(FIGURE, 300, {"n4": (100, 200)}, seed=1, **how)
    for phase in run.phases:
        assert phase.settled is not None
        assert phase.certificate.certified
    assert run.used[199, D, CPU] == pytest.approx(60 / 77, abs=1e-9)


@given(
    instances(),
    st.sampled_from(["in-turn", "at-once", "random"]),
    st.integers(0, 3),
    st.floats(0, 0.9),
)
def test_no_capacity_is_exceeded_at_any_time(inst, order, delay, damping):
    away = {inst.users[0]: (2, 4)} if len(inst.users) > 1 else {}
    run = by_themselves(inst, 6, away, order, delay, damping)
    assert run.used.max() <= 1 + 1e-9
    assert run.tasks.min() >= 0
    assert not run.tasks[:, ~inst.eligible].any()
    assert not run.tasks[~run.present].any()


def test_a_long_cycle_is_not_called_still():
    run = by_themselves(FIGURE, 8, order="at-once", damping=0.1)
    assert run.phases[0].period is None
    assert LONGEST > 1


def test_same_seed_same_run():
    runs = [by_themselves(FIGURE, 20, AWAY, "random", 2, seed=s).tasks for s in (5, 5, 6)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_every_wrong_argument_is_named():
    with pytest.raises(fo.BadInput) as refused:
        by_themselves(
            FIGURE, 0, {"n9": (1, 2), "n1": (3, 3), "n2": (1, 2.5)}, "sideways", -1, 1.0, -2
        )
    places = {fault.place for fault in refused.value.faults}
    assert places == {
        "rounds",
        "delay",
        "seed",
        "order",
        "damping",
        "away.n9",
        "away.n1",
        "away.n2",
    }
    everybody = dict.fromkeys(FIGURE.users, (1, 3))
    with pytest.raises(fo.BadInput, match="all users at the same time"):
        by_themselves(FIGURE, 5, everybody)


def test_the_command(capsys, tmp_path):
    assert command(["simulate", "servers", "khamse2016/section-v"]) == 0
    shown = capsys.readouterr().out
    for number in ("0.82305", "0.78470", "0.77991", "0.77922", "0.66234", "0.99423"):
        assert number in shown
    assert "never" not in shown
    assert "  C-DRFH: A 0." in shown
    assert shown.count("C 0.8048, D 1.0000") == 4  # TSF and C-DRFH, with user 4 and again
    assert command(["simulate", "servers", "khamse2016/section-v", "--order", "at-once"]) == 0
    assert "never settled, the same 2 states again and again" in capsys.readouterr().out


def test_the_command_writes_json(capsys, tmp_path):
    path = tmp_path / "run.json"
    arguments = ["simulate", "servers", "khamse2016/section-v", "--away", "n4=2:9", "--rounds", "9"]
    assert command([*arguments, "--json", "-o", str(path)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads(path.read_text())
    assert (data["schema"], data["kind"]) == ("fairopt/simulation/v1", "servers")
    assert data["used"][3][D][CPU] == pytest.approx(0.82305, abs=5e-6)
    assert data["phases"][1]["beside"]["TSF"]["used"][D][CPU] == pytest.approx(1)


@pytest.mark.parametrize(
    "wrong", [["--away", "n4"], ["--resource", "gpu"], ["--plot", "x.txt"], ["--rounds", "0"]]
)
def test_the_command_refuses(wrong, capsys):
    assert command(["simulate", "servers", "khamse2016/section-v", *wrong]) == 2
    assert "wanted" in capsys.readouterr().err


def test_the_picture_has_a_line_for_each_scheduler(tmp_path):
    path = tmp_path / "figure.svg"
    assert (
        command(
            [
                "simulate",
                "servers",
                "khamse2016/section-v",
                "--resource",
                "ram",
                "--plot",
                str(path),
            ]
        )
        == 0
    )
    drawn = path.read_text()
    for words in ("server D", "PS-DSF", "TSF", "C-DRFH", "CDRF", "ram used"):
        assert words in drawn
