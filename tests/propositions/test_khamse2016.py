"""The statements of khamse2016: what holds, what is found, and that checks are sharp."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.instance import Instance
from fairopt.properties.lies import ShareLie
from fairopt.propositions import PROPOSITIONS, draws, find
from fairopt.propositions.khamse2016 import lies as khamse2016_lies
from fairopt.propositions.khamse2016 import properties as of_theorem_3
from fairopt.propositions.khamse2016 import statements as khamse2016
from fairopt.propositions.khamse2016.lies import outcomes
from fairopt.propositions.khamse2016.statements import grows, lacking, levels, ps_dsf
from fairopt.propositions.trials import chunk
from tests.proposition_rows import rows_of, try_row

# (start, stop) of trials among which a counterexample is found; rows that are not here hold
FOUND: dict[tuple[str, str], tuple[int, int]] = {
    ("khamse2016/theorem-1", "no limits"): (0, 10),
    ("khamse2016/theorem-2", "no limits"): (0, 4),
    ("khamse2016/table-1-pareto-optimal-rdm", ""): (37, 41),
    ("khamse2016/table-1-strategy-proof-rdm", ""): (88, 92),
    ("khamse2016/table-1-sharing-incentive-tsf", ""): (0, 4),
    ("khamse2016/unique-rdm", ""): (10, 14),
    ("khamse2016/lemma-1-printed", ""): (13, 14),
    ("khamse2016/lemma-1", "positive demand"): (43, 49),
    ("khamse2016/section-v-settles-at-once", ""): (0, 12),
    ("khamse2016/section-v-use", ""): (0, 8),
    ("khamse2016/one-server", "one server"): (0, 6),
}
HELD = 6
ROWS = rows_of("khamse2016")


@pytest.mark.parametrize("row", ROWS, ids=" without ".join)
def test_the_table(row):
    """The checks find by themselves what is known to fail, and nothing else."""
    try_row(row, FOUND, HELD)


def test_found_rows_are_rows():
    assert set(FOUND) <= set(ROWS)


# -- the definition and Theorem 1, by hand ------------------------------------------------------


@pytest.mark.parametrize("figure", ["figure-1", "figure-2"])
def test_the_figures_meet_definition_and_theorem(figure):
    inst = fo.read(f"khamse2016/{figure}").instance
    tasks = ps_dsf(inst)
    assert np.nanmax(lacking(inst, tasks)) < 1e-9
    assert max(grows(inst, tasks, n) for n in range(len(inst.users))) < 1e-6
    # half of server 2 unused: everybody who may use it lacks a bottleneck there, and can grow
    less = tasks * np.array([1.0, 0.5])
    here = inst.eligible[:, 1]
    assert (lacking(inst, less)[here, 1] > 0.1).all()
    assert all(grows(inst, less, n) > 0.01 for n in np.flatnonzero(here))


def test_levels_and_growth_by_hand():
    """9 CPU, 18 GB; (1,4), (3,1): all to the first, then the second may take it from there."""
    inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]], weight=[1, 2])
    tasks = np.array([[4.5], [0.0]])
    assert levels(inst, tasks) == pytest.approx(np.array([[1.0], [0.0]]))
    assert grows(inst, tasks, 0) == pytest.approx(0, abs=1e-6)
    assert grows(inst, tasks, 1) == pytest.approx(1)
    assert lacking(inst, tasks) == pytest.approx(np.array([[0], [1]]))


@pytest.mark.parametrize("name", ["theorem-1", "theorem-2"])
def test_a_theorem_that_ignores_levels_is_refuted(monkeypatch, name):
    """Full resources alone are no bottlenecks: the definition tells."""

    def only_full(inst, tasks):
        free = 1.0 - inst.used(tasks) / np.where(inst.pool > 0, inst.pool, 1.0)
        need = np.where(inst.demand_by_server > 0, free, np.inf).min(axis=2)
        return np.where(inst.eligible, np.maximum(need, 0), np.nan)

    monkeypatch.setattr(khamse2016, "lacking", only_full)
    assert chunk(find(f"khamse2016/{name}"), "", 0, 0, 25)["violated"] > 0


@pytest.mark.parametrize("name", ["theorem-1", "theorem-2"])
def test_a_theorem_that_asks_too_much_is_refuted(monkeypatch, name):
    """Equal levels at every server are more than the definition asks."""
    honest = khamse2016.lacking

    def equal(inst, tasks):
        level = levels(inst, tasks)
        highest = np.where(inst.eligible, level, 0).max(axis=0)
        return np.maximum(honest(inst, tasks), 1 - level / np.maximum(highest, 1e-300))

    monkeypatch.setattr(khamse2016, "lacking", equal)
    assert chunk(find(f"khamse2016/{name}"), "", 0, 0, 25)["violated"] > 0


def more_used(monkeypatch, factor):
    honest = Instance.used
    monkeypatch.setattr(Instance, "used", lambda inst, tasks: factor * honest(inst, tasks))


def test_what_is_not_full_is_no_bottleneck(monkeypatch):
    honest = khamse2016.refilled
    monkeypatch.setattr(khamse2016, "ps_dsf", lambda inst, order: honest(inst, "rdm", order))
    more_used(monkeypatch, 2.1)  # what is half full counts as full
    assert chunk(find("khamse2016/corollary-1"), "", 0, 0, 25)["violated"] > 0


def test_a_little_more_time_does_not_fit(monkeypatch):
    more_used(monkeypatch, 1.01)
    assert chunk(find("khamse2016/11"), "", 0, 0, 25)["violated"] > 0


# -- Theorem 3 on answers of another kind --------------------------------------------------------


@pytest.mark.parametrize("name", [k for k in PROPOSITIONS if k.startswith("khamse2016/theorem-3")])
def test_other_allocations_break_theorem_3(monkeypatch, name):
    """Users served one after the other: every property fails but Pareto optimality, at half."""

    def other(inst, division="rdm", order=None):
        tasks = np.zeros(inst.shape[:2])
        for n in range(len(inst.users)):
            left = np.maximum(inst.pool - inst.used(tasks), 0.0)
            need = inst.demand_by_server[n]
            fits = np.where(need > 0, left / np.where(need > 0, need, 1.0), np.inf).min(axis=1)
            tasks[n] = np.where(inst.eligible[n], fits, 0.0)
        return 0.5 * tasks

    if "strategy-proof" in name:  # who says it needs less is served first
        monkeypatch.setattr(khamse2016_lies, "truly_runs", lambda inst, lie, x: x[lie.user].sum())
    monkeypatch.setattr(of_theorem_3, "ps_dsf", other)
    assert chunk(find(name), "", 0, 0, 8)["violated"] > 0


# -- lies --------------------------------------------------------------------------------------


def test_lemma_1_fails_for_claims_of_servers_out_of_reach():
    """One resource: u1 claims s2, runs nothing there, and u2 falls from 4 tasks to 2.4."""
    inst = fo.Instance([[4.0], [5.0]], [[4.0], [20.0]], [[1, 0], [0, 1]])
    lie = ShareLie(0, inst.demand[0], np.array([True, True]))
    (one,) = outcomes(inst, [lie], 0, "rdm")
    assert one.before == pytest.approx([1, 4]) and one.tasks.sum(axis=1)[1] == pytest.approx(2.4)
    assert one.runs == pytest.approx(1) and one.gain == pytest.approx(0, abs=1e-12)
    one.prove()


def test_under_tdm_too_claims_out_of_reach_take_from_others(monkeypatch):
    """So `lemma-1-tdm` needs claims to be of servers the user can use."""
    inst = fo.Instance([[4.0], [5.0]], [[4.0], [20.0]], [[1, 0], [0, 1]])
    lie = ShareLie(0, inst.demand[0], np.array([True, True]))
    (one,) = outcomes(inst, [lie], 0, "tdm")
    assert one.before == pytest.approx([1, 4]) and one.tasks.sum(axis=1)[1] < 3
    assert one.runs == pytest.approx(1)
    check = find("khamse2016/lemma-1-tdm").check
    assert check(inst, 0).holds
    monkeypatch.setattr(khamse2016_lies, "drawn", lambda *given: lie)
    failed = check(inst, 0)
    assert not failed.holds and "u2 falls from 4" in failed.witness


def test_drawn_lies_keep_to_their_kind():
    rng = np.random.default_rng(3)
    beyond = 0
    for _ in range(200):
        inst = draws.Small(zero_demand=0.3)(rng)
        lie = khamse2016_lies.drawn(inst, rng, beyond=False)
        assert (lie.placement & inst.eligible[lie.user]).any()
        assert not (lie.placement & ~inst.placement[lie.user]).any()
        other = khamse2016_lies.drawn(inst, rng)
        beyond += bool((other.placement & ~inst.placement[other.user]).any())
        for one in khamse2016_lies.plain(inst):
            one.told(inst)  # a valid instance
            changed = (one.demand != inst.demand[one.user]).sum()
            assert changed + (one.placement != inst.placement[one.user]).sum() == 1
    assert beyond > 10


def test_a_wrong_46_is_refuted(monkeypatch):
    """Counting servers that the liar cannot really use."""

    def everywhere(inst, lie, tasks):
        need = inst.demand[lie.user]
        ratio = (lie.demand[need > 0] / need[need > 0]).min()
        return float(tasks[lie.user].sum() * ratio)

    monkeypatch.setattr(khamse2016_lies, "truly_runs", everywhere)
    assert chunk(find("khamse2016/46"), "", 0, 0, 25)["violated"] > 0


def test_a_lie_is_not_believed_without_a_certificate(monkeypatch):
    monkeypatch.setattr(khamse2016_lies, "meets_theorem", lambda *given: False)
    start, stop = FOUND["khamse2016/lemma-1-printed", ""]
    found = chunk(find("khamse2016/lemma-1-printed"), "", 0, start, stop)
    assert found["violated"] == 0 and found["undecided"] == {
        "ps-dsf: the answer to a lie is not certified": 1
    }
