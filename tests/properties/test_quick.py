"""The short ways of the searches give certified answers, the same as `solve`, or none."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import fairopt as fo
from fairopt.criteria import CRITERIA
from fairopt.instance.generate import random_instance
from fairopt.mechanisms import instances
from fairopt.properties.quick import quick
from fairopt.properties.searching import proved

SMALL = list(islice(instances(5), 8)) + [
    random_instance(3, 2, 2, density=0.7, seed=seed, weight_decades=1, limits=0.6)
    for seed in range(3)
]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_max_min(criterion):
    notion = fo.MaxMin(criterion)
    for inst in SMALL:
        answer = quick(inst, notion)
        if criterion == "dominant-share":
            # tasks are not unique, and the way to them must not change on the way
            several = [len(set(row[row > 0])) > 1 for row in fo.criteria.score(inst, criterion)]
            assert (answer is None) == any(several)
            continue
        assert answer is not None and fo.certify(answer).certified
        full = fo.solve(inst, notion)
        np.testing.assert_allclose(answer.levels, full.levels, rtol=1e-7)


def test_time_division():
    notion = fo.PerServerDominantShare("tdm")
    for inst in SMALL[:8]:
        answer = quick(inst, notion)
        assert answer is not None and fo.certify(answer).certified
        full = fo.solve(inst, notion, uncertified="return")
        np.testing.assert_allclose(answer.totals, full.totals, rtol=1e-5)


def test_no_short_way_and_not_certified(monkeypatch):
    from fairopt.allocation.check import UNPROVED, Certificate
    from fairopt.properties import quick as module

    inst = SMALL[0]
    assert quick(inst, fo.ProportionalFair()) is None
    answer = proved(inst, fo.ProportionalFair())
    assert answer is not None and answer.certificate.certified
    monkeypatch.setattr(module, "certify", lambda _: Certificate(UNPROVED, 1.0, 1.0))
    assert quick(inst, fo.MaxMin()) is None
    # and is then solved in full
    assert proved(inst, fo.MaxMin()) is not None
