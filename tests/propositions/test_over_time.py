"""The statements about servers and prices that act on their own are sharp."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairopt as fo
from fairopt.propositions import find
from fairopt.propositions.over_time import shares as over_time

FIGURE = fo.read("khamse2016/section-v").instance


def test_a_run_cut_short_is_found(monkeypatch):
    in_turn = find("khamse2016/section-v-settles-in-turn")
    assert in_turn.check(FIGURE, 0).holds
    monkeypatch.setattr(over_time, "ROUNDS", 1)
    assert not in_turn.check(FIGURE, 0).holds


def test_at_once_is_told_by_its_period():
    check = find("khamse2016/section-v-settles-at-once").check(FIGURE, 0)
    assert not check.holds
    assert "the same 2 states again and again" in check.witness


def test_the_use_of_d_while_user_4_is_away():
    away = FIGURE.select([0, 1, 2], range(4))
    check = find("khamse2016/section-v-use").check(away, 0)
    assert check.residual == pytest.approx(17 / 77, abs=1e-6)
    assert "of cpu on D" in check.witness


def test_too_few_steps_are_found():
    inst = fo.read("bonald2015/prices").instance
    below = find("bonald2015/6-settles-below")
    assert below.check(inst, 0).holds
    assert not dataclasses.replace(below.check, steps=400, part=0.002)(inst, 0).holds
    assert not find("bonald2015/6-settles-above").check(inst, 0).holds
    assert np.isfinite(below.check(inst, 0).residual)
