"""Shares that users already had (`Instance.start`): against hindsight, and scipy's own programs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import fairopt as fo
from fairopt.errors import BadInput, UsageError


def late(start=(4.5, 0)):
    return fo.Instance(
        [[1, 4], [3, 1]], [[9, 18]], users=["A", "B"], resources=["cpu", "memory"], start=start
    )


def test_slice_two_with_what_was_had_is_hindsight():
    found = fo.solve(late(), fo.ProportionalFair())
    want = [float(Fraction(27, 4) - Fraction(9, 2)), float(Fraction(9, 4))]
    assert found.certificate.certified
    assert found.totals == pytest.approx(want, rel=1e-7)
    assert found.levels == pytest.approx([27 / 4, 9 / 4], rel=1e-7)
    assert fo.certify(found).certified


def test_who_had_more_than_its_part_waits():
    one = fo.Instance([[1], [1], [1]], [[3]], weight=[1, 2, 1], start=[5, 0, 1])
    for notion in (fo.MaxMin("tasks"), fo.AlphaFair(2, weight_inside=True)):
        found = fo.solve(one, notion)
        # B and C at the same level: 2 t + t = 3 + 1
        assert found.totals == pytest.approx([0, 8 / 3, 1 / 3], abs=1e-6)
        assert found.levels == pytest.approx([5, 4 / 3, 4 / 3], rel=1e-6)


@pytest.mark.parametrize("notion", [fo.MaxMin("tasks"), fo.AlphaFair(2), fo.AlphaFair(50)])
def test_a_limit_does_not_count_what_was_had(notion):
    # a share of 5 had, of which the user could leave empty what it then runs above its limit
    two = fo.Instance([[1], [1]], [[10], [4]], limit=[1 / 8, 3], start=[5, 1 / 16])
    found = fo.solve(two, notion)
    assert found.totals == pytest.approx([1 / 8, 3], rel=1e-6)
    assert found.certificate.certified


@pytest.mark.parametrize("notion", [fo.MaxMin("tasks"), fo.AlphaFair(2), fo.ProportionalFair()])
def test_what_ignores_the_start_is_refuted(notion):
    without = fo.solve(late(None), notion)
    wrong = fo.Allocation(late(), notion, without.tasks)
    verdict = fo.certify(wrong)
    assert not verdict.certified
    assert verdict.verdict == "refuted" or verdict.residual > 0.01


def lowest(inst, score):
    """The highest lowest level of start + share, by scipy alone."""
    users, servers, _ = inst.shape
    size, rows, rhs = users * servers, [], []
    for i in range(servers):
        for r in range(len(inst.resources)):
            row = np.zeros(size + 1)
            row[i:size:servers] = inst.demand[:, r]
            rows.append(row)
            rhs.append(inst.capacity[i, r])
    for n in range(users):
        row = np.zeros(size + 1)
        row[n * servers : (n + 1) * servers] = -score[n]
        row[size] = inst.weight[n]
        rows.append(row)
        rhs.append(inst.start[n])
    found = linprog(np.append(np.zeros(size), -1.0), np.array(rows), rhs)
    return found.x[-1]


def test_random_first_levels_are_those_of_a_linear_program():
    for seed in range(25):
        rng = np.random.default_rng(seed)
        users, servers = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        inst = fo.Instance(
            rng.uniform(0.1, 1, (users, 2)),
            rng.uniform(1, 5, (servers, 2)),
            weight=rng.uniform(0.5, 2, users),
            start=rng.uniform(0, 4, users) * (rng.random(users) < 0.6),
        )
        if inst.start is None:
            continue
        found = fo.solve(inst, fo.MaxMin("tasks"))
        assert found.certificate.certified
        assert found.levels.min() == pytest.approx(lowest(inst, found.score), rel=1e-6)


def test_equal_starts_of_a_whole_weight_change_no_max_min_on_one_resource():
    one = fo.Instance([[1], [1]], [[3]], weight=[1, 2])
    same = fo.solve(one.replace(start=[1, 2]), fo.MaxMin("tasks")).totals
    assert same == pytest.approx(fo.solve(one, fo.MaxMin("tasks")).totals, rel=1e-9)


def test_limits_and_limits_on_servers_count_what_runs():
    inst = fo.Instance([[1], [1]], [[3]], limit=[1, 9], limit_on=[[9], [1.5]], start=[0, 2])
    found = fo.solve(inst, fo.MaxMin("tasks"))
    assert found.totals == pytest.approx([1, 1.5], rel=1e-7)


def test_files_keep_it(tmp_path):
    inst = late()
    for path in (tmp_path / "m.toml", tmp_path / "folder"):
        fo.write(inst, path)
        assert fo.read(path).instance == inst
    answer = fo.solve(inst, fo.MaxMin())
    answer.save(tmp_path / "a.json")
    again = fo.load(tmp_path / "a.json")
    assert again.instance == inst and fo.certify(again).certified
    assert inst.select([1], [0]).start is None


@pytest.mark.parametrize("bad", [[-1, 0], [float("inf"), 0], [1]])
def test_faults_are_named(bad):
    with pytest.raises(BadInput, match="start"):
        late(bad)


def test_who_does_not_know_it_says_so():
    for notion in (fo.BottleneckMaxFair(), fo.PerServerDRF()):
        with pytest.raises(UsageError, match="start"):
            fo.solve(late(), notion)


def test_a_horizon_counts_what_was_had_before_it():
    whole = fo.horizon(late(None).replace(start=[0, 3]), {"A": [9, 9], "B": [0, 9]})
    found = fo.solve(whole.instance, fo.MaxMin("tasks"))
    assert found.certificate.certified
    assert found.levels.min() == pytest.approx(found.levels[0]) or found.totals[1] == 0
    without = fo.solve(whole.instance.replace(start=None), fo.MaxMin("tasks"))
    assert found.totals[0] >= without.totals[0] and found.totals[1] < without.totals[1]
