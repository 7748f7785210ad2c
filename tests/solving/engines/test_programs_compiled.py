"""Programs compiled once: DPP, the same digits as alone, nothing of the last answer left."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import fairopt as fo
from fairopt import criteria
from fairopt.solving.engines.programs import compiled, conic
from tests.sweep_cases import three_users


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_here", threading.local())


def program(notion: fo.Tradeoff, inst: fo.Instance | None = None) -> compiled.Compiled:
    inst = inst or three_users()
    score = criteria.score(inst, "dominant-share")
    return compiled.tradeoff(notion, inst, score, np.full(inst.shape[0], 0.5))


@pytest.mark.parametrize(
    "notion",
    [
        fo.Tradeoff(1, 2),
        fo.Tradeoff(1, 0),
        fo.Tradeoff(0, 2),
        fo.Tradeoff(1, 2, g=2),
        fo.Tradeoff(1, 2, g=0.5),
        fo.Tradeoff(0, 2, equal_across=True),
    ],
)
def test_programs_are_dpp(notion: fo.Tradeoff, fresh: None) -> None:
    problem = program(notion).problem()
    assert problem.is_dcp(dpp=True)
    assert len(problem.parameters()) == (notion.t_pf > 0) + (notion.t_drf > 0)


def test_one_program_a_shape(fresh: None) -> None:
    first = program(fo.Tradeoff(1, 2)).problem()
    assert program(fo.Tradeoff(3, 4)).problem() is first
    others = [
        program(fo.Tradeoff(3, 0)),
        program(fo.Tradeoff(1, 2, g=2)),
        program(fo.Tradeoff(1, 2), three_users().replace(weight=[1, 2, 1])),
    ]
    assert all(other.problem() is not first for other in others)
    assert sorted(p.value for p in program(fo.Tradeoff(5, 6)).problem().parameters()) == [5, 6]


def test_it_is_compiled_once(fresh: None) -> None:
    settings = conic.ladder("clarabel", False)[0]
    cones = []
    for t in (1.0, 10.0, 100.0):
        asked = program(fo.Tradeoff(t, t))
        _, status = conic.run(asked, three_users(), settings)
        assert status == "optimal"
        cones.append(asked.problem()._cache.param_prog)
    assert cones[0] is not None and cones[1] is cones[0] and cones[2] is cones[0]


def test_no_digit_depends_on_what_was_solved_before(fresh: None) -> None:
    inst = three_users()
    wanted = [fo.Tradeoff(t_pf, t_drf) for t_pf in (0, 1, 50) for t_drf in (0, 10, 900)]
    there = fo.sweep(inst, wanted, solver="clarabel").rows
    back = fo.sweep(inst, wanted[::-1], solver="clarabel").rows[::-1]
    assert [{**row, "index": 0} for row in there] == [{**row, "index": 0} for row in back]
    compiled._here.__dict__.clear()
    alone = fo.solve(inst, wanted[5], solver="clarabel", uncertified="return")
    assert list(there[5]["totals"].values()) == alone.totals.tolist()


def test_nothing_of_the_last_answer_is_left(fresh: None) -> None:
    settings = conic.ladder("clarabel", False)[0]
    first = program(fo.Tradeoff(1, 2))
    conic.run(first, three_users(), settings)
    assert first.space.y.value is not None
    assert program(fo.Tradeoff(1, 3)).space.y.value is None


def test_threads_do_not_share_programs(fresh: None) -> None:
    found: list[Any] = []
    other = threading.Thread(target=lambda: found.append(program(fo.Tradeoff(1, 2)).problem()))
    other.start()
    other.join()
    assert program(fo.Tradeoff(1, 2)).problem() is not found[0]
