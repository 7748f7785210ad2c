"""Every number of the vectors that nobody here wrote is looked at: what others do not read, and a
list of what there is, so that what is added is not overlooked (the rest: test_overtime_ledger)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.overtime.measured import finish_time_fairness
from fairopt.overtime.tree import classic

FOLDER = Path(__file__).parents[1] / "vectors"


def vectors(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def test_what_there_is():
    karma, kueue, kai = vectors("karma"), vectors("kueue_usage"), vectors("kai")
    assert len(karma["vectors"]) == 6
    kinds = [set(fact) - {"where", "formula", "note"} for fact in kueue["facts"]]
    assert [len(kueue["facts"][k][name]) for k, name in ((0, "decay"), (2, "usage"))] == [9, 9]
    assert "after_steps" in kinds[1] and "penalty" in kinds[3] and len(kinds) == 4
    own = [case["from_source"] for case in kai["vectors"]]
    assert (own.count(True), own.count(False)) == (18, 5) and len(kai["usage_facts"]) == 1
    slurm, condor = vectors("slurm"), vectors("htcondor")
    assert set(slurm) == {"source", "classic", "fair_tree"}
    assert [len(condor[key]) for key in ("facts", "shares")] == [3, 1]
    finish = vectors("finish_time_fairness")
    assert [len(policy["rho"]) for policy in finish["policies"].values()] == [120] * 9


def test_slurm_normalised_shares():
    """The factor is 2^(-UE / S): S is what both say."""
    data = vectors("slurm")["classic"]
    found = classic({k: tuple(v) for k, v in data["tree"].items()}, data["usage"])
    for name, share in data["norm_shares"].items():
        use, factor = found[name]
        assert -use / np.log2(factor) == pytest.approx(share, rel=1e-12)


def test_karma_credits_follow_from_its_slices():
    """The authors' credits before the next slice: what was lent less what was borrowed, of whole
    units; a free supply is a grant to all."""
    checked = 0
    for run in vectors("karma")["vectors"]:
        users, g, public = list(run["demand"]), run["guaranteed"], run["public"]
        slices = len(run["demand"][users[0]])
        for t in range(slices - 1):
            before, after = ([run["credits_before"][u][k] for u in users] for k in (t, t + 1))
            held = np.array([run["allocation"][u][t] for u in users])
            borrowed = np.maximum(held - g, 0)
            change = np.array(after) - np.array(before) + borrowed
            lent = max(0, int(borrowed.sum()) - public)
            # lenders are paid; nobody gains more than it left, and a grant of the public part
            left = np.array([max(g - run["demand"][u][t], 0) for u in users])
            grant = change.min()
            assert (change - grant <= left).all()
            if public == 0:
                assert change.sum() == lent
            checked += 1
    assert checked >= 20


def test_htcondor_first_and_last():
    data = vectors("htcondor")["derived"]
    inst = fo.Instance(
        [[1], [1]], [[data["machines"]]], users=list(data["factor"]), resources=["machine"]
    )
    book = fo.Ledger.of("condor:half=10h", data["factor"])
    state, everything = book.start(inst), np.full(2, np.inf)
    due, state = book.division(state, inst, everything)
    assert due.ravel().tolist() == pytest.approx(list(data["first"].values()), rel=1e-9)
    for _ in range(300):
        due, state = book.division(state, inst, everything)
    assert due.ravel().tolist() == pytest.approx(list(data["last"].values()), rel=1e-4)


def test_each_of_1080_values_within_its_stated_tolerance():
    data, worst = vectors("finish_time_fairness"), 0.0
    for policy in data["policies"].values():
        jct, rho = np.array(policy["jct"]), np.array(policy["rho"])
        found = finish_time_fairness(
            np.zeros(len(jct)), jct, data["alone"], data["gpus"], contention=data["contention"]
        )
        worst = max(worst, float(np.abs(found / rho - 1).max()))
    assert worst <= 2.1e-5
