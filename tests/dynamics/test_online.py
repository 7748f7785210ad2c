"""Frameworks that arrive and leave: exact small cases, conservation, the same bytes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.dynamics.online import OFFERS, conserved, replicate, simulate_online
from fairopt.errors import BadInput, UsageError
from fairopt.filling import SCHEDULERS
from fairopt.instance import Instance
from fairopt.storage import JournalWarning

TWO = Instance([[5, 1], [1, 5]], [[100, 30], [30, 100]], users=["a", "b"])
SMALL = {"frameworks": 2, "tasks_per_job": 15, "replications": 2}


def only(*given, **more):
    (found,) = simulate_online(*given, **{**SMALL, **more})
    return found


def test_one_machine_by_hand():
    """Four tasks at a time, ten tasks of time 2: three rounds a framework, two frameworks."""
    one = Instance([[1.0]], [[4.0]], users=["a"])
    found = only(one, ["drf"], frameworks=2, tasks_per_job=10, means={"a": 2.0}, times="given")
    assert found.total == (12.0, 12.0, 12.0)
    assert found.use["r1"].mean == pytest.approx(2 * 10 * 2 / (4 * 12))
    # the second has waited for the first: (6 + 12) / 2
    assert found.stay["a"].mean == 9.0


def test_two_users_by_hand():
    """Each machine holds two tasks. Together both users need 6 places for 12 tasks: 3 rounds."""
    two = Instance([[1.0], [1.0]], [[2.0], [2.0]], users=["a", "b"])
    for offers in OFFERS:
        found = only(two, ["ps-dsf"], [offers], frameworks=1, tasks_per_job=6, times="given")
        assert found.total.mean == 3.0
        assert found.use["r1"].mean == 1.0


def test_coarse_offers_give_a_machine_whole():
    """Two users of 2 tasks, two machines of 2 places: together a machine each, either way; with
    a third user the coarse offer makes it wait, the characterised one only in part."""
    users = Instance([[1.0]] * 3, [[2.0], [2.0]], users=["a", "b", "c"])
    fine, coarse = (
        only(users, ["ps-dsf"], [offers], frameworks=1, tasks_per_job=2, times="given")
        for offers in OFFERS
    )
    assert sorted(stay.mean for stay in fine.stay.values()) == [1.0, 2.0, 2.0]
    assert sorted(stay.mean for stay in coarse.stay.values()) == [1.0, 1.0, 2.0]


@settings(max_examples=30, deadline=None)
@given(
    scheduler=st.sampled_from(sorted(SCHEDULERS)),
    offers=st.sampled_from(sorted(OFFERS)),
    seed=st.integers(0, 2**32),
    gap=st.sampled_from([0.0, 3.0]),
    times=st.sampled_from(["exponential", "given"]),
)
def test_nothing_is_lost(scheduler, offers, seed, gap, times):
    """Every task started and ended, no machine above its capacity, Little's law, in every run."""
    found = only(TWO, [scheduler], [offers], seed=seed, gap=gap, times=times)
    for record in found.records:
        assert conserved(record)
        assert record["tasks"]["started"] == 2 * 2 * 15
        assert record["least"] >= 0


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("tasks", {"started": 60, "ended": 59, "running": 1, "asked": 60}),
        ("least", -0.01),
        ("tasks", {"started": 59, "ended": 59, "running": 0, "asked": 60}),
        ("little", 1e-6),
        ("use", {"r1": 1.01, "r2": 0.5}),
        ("total", 0.0),
        ("stay", {"a": None}),
        ("use", None),
    ],
)
def test_spoiled_records_are_seen(where, value):
    record = only(TWO, ["drf"]).records[0]
    assert conserved(record)
    assert not conserved({**record, where: value})


def test_limits_hold_at_a_time():
    """One task at a time: as long as all of its tasks together."""
    limited = TWO.replace(limit=[1, 40])
    found = only(limited, ["rps-dsf"], frameworks=1, tasks_per_job=5, times="given")
    assert found.total.mean == 5.0


def test_same_frameworks_for_every_scheduler():
    """Where nothing is scarce the scheduler makes no difference, to the last bit."""
    rich = TWO.replace(capacity=TWO.capacity * 100)
    found = simulate_online(rich, **SMALL)
    assert len(found) == 7
    assert len({one.total for one in found}) == 1
    assert found[0].faster_by(found[1]) == (0.0, 0.0, 0.0)


def test_serial_or_parallel_same_bytes():
    asked = {**SMALL, "schedulers": ("drf", "rps-dsf"), "offers": ("coarse", "characterised")}
    alone = simulate_online(TWO, **asked)
    with ThreadPoolExecutor(2) as pool:
        together = simulate_online(TWO, executor=pool, **asked)
    assert repr(alone) == repr(together)
    assert repr(alone) != repr(simulate_online(TWO, seed=1, **asked))


def test_resume(tmp_path):
    file, told = tmp_path / "kept.jsonl", []
    whole = simulate_online(TWO, ["drf"], resume=file, **SMALL)
    more = simulate_online(
        TWO, ["drf", "ps-dsf"], resume=file, **SMALL, progress=lambda done, of: told.append(done)
    )
    assert told == [2, 3, 4]
    assert repr(more[0]) == repr(whole[0])
    file.write_text(file.read_text().replace('"running": 0', '"running": 1'))
    with pytest.warns(JournalWarning, match="contradict"):
        assert repr(simulate_online(TWO, ["drf"], resume=file, **SMALL)) == repr(whole)


def test_a_model_of_many_machines():
    """Rows of count > 1 are machines of their own."""
    many = Instance([[1.0]], [[4.0]], count=[3], users=["a"])
    found = only(many, ["rrr-ps-dsf"], frameworks=1, tasks_per_job=24, times="given")
    assert found.total.mean == 2.0
    assert replicate is not None


def test_refused():
    with pytest.raises(UsageError, match="scheduler: found 'fifo'"):
        simulate_online(TWO, ["fifo"])
    with pytest.raises(UsageError, match="offers: found 'fine'"):
        simulate_online(TWO, ["drf"], ["fine"])
    with pytest.raises(UsageError, match="times: found 'uniform'"):
        simulate_online(TWO, ["drf"], times="uniform")
    with pytest.raises(BadInput, match="4 faults"):
        wide = TWO.replace(demand=[[500, 1], [1, 5]])
        simulate_online(wide, means={"a": 0.0, "z": 1.0}, gap=-1.0)
    with pytest.raises(BadInput, match="2 faults"):
        simulate_online(TWO, frameworks=0, replications=0)
    assert fo.BadInput is BadInput


def test_ledgers_take_turns_where_drf_forgets():
    # one task at a time: what ran a moment ago does not count for DRF, and does for a ledger
    one = fo.Instance([[1], [1]], [[1]], users=["A", "B"])
    asked = {"frameworks": 1, "tasks_per_job": 4, "times": "given", "replications": 1}
    names = ("drf", "kueue:half=9", "slurm:half=9", "condor:half=9", "karma:alpha=.5")
    stay = {
        each.scheduler: sorted(e.mean for e in each.stay.values())
        for each in simulate_online(one, names, **asked)
    }
    assert stay["drf"] == [4, 8]
    for name in names[1:]:
        assert stay[name] == [7, 8], name


def test_a_ledger_follows_weights():
    one = fo.Instance([[1], [1]], [[1]], users=["A", "B"], weight=[3, 1])
    asked = {"frameworks": 1, "tasks_per_job": 30, "times": "given", "replications": 1}
    (found,) = simulate_online(one, ["kueue:half=1000"], **asked)
    # A runs three tasks for one of B, and B alone after that
    assert found.stay["A"].mean == pytest.approx(40, abs=2) and found.stay["B"].mean == 60


@pytest.mark.parametrize("name", ["window", "budget:most=1", "kueue:haf=1", "slice"])
def test_ledgers_that_cannot_run_online(name):
    one = fo.Instance([[1], [1]], [[1]])
    with pytest.raises(UsageError, match="polic"):
        simulate_online(one, [name], replications=1)


def test_karma_online_wants_one_resource():
    two = fo.Instance([[1, 1], [1, 1]], [[2, 2]])
    with pytest.raises(UsageError, match="one resource"):
        simulate_online(two, ["karma:alpha=.5"], replications=1)
