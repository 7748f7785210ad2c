"""Compiled loops say that they ran; plain ones do not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt import fast


def doubled(values: object) -> object:
    return values * 2  # type: ignore[operator]


def test_compiled_loops_are_noted_and_plain_ones_not() -> None:
    with fast.noted() as names:
        assert fast.loop(doubled, False)(4) == 8
    assert not names
    pytest.importorskip("numba")
    with fast.noted() as outer:
        with fast.noted() as inner:
            assert fast.loop(doubled, True)(4) == 8
        assert inner == {"doubled"} and not outer


def test_machine_code_that_was_kept_is_loaded_without_the_compiler(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    script = tmp_path / "summing.py"
    script.write_text(
        "import sys\nimport numpy as np\nfrom fairopt import fast\n"
        "def summed(values):\n"
        "    total = 0.0\n"
        "    for value in values:\n"
        "        total += value\n"
        "    return total\n"
        "print(fast.loop(summed, True)(np.arange(4.0)), 'numba.np.linalg' in sys.modules)\n",
        encoding="utf-8",
    )
    told = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    said = [
        subprocess.run(
            [sys.executable, script], env=told, check=True, capture_output=True, text=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert said == [["6.0", "True"], ["6.0", "False"]]


def test_small_answers_are_compiled_where_a_call_wants_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(fast.CHOICE, raising=False)
    monkeypatch.setattr(fast, "available", lambda: True)
    assert not fast.often()
    with fast.answers(fast.MANY_ANSWERS):
        assert fast.often()
        with fast.answers(fast.MANY_ANSWERS - 1):
            assert not fast.often()
        monkeypatch.setenv(fast.CHOICE, "0")
        assert not fast.often()
    monkeypatch.setenv(fast.CHOICE, "1")
    assert fast.often()
    monkeypatch.setattr(fast, "available", lambda: False)
    assert not fast.often()


@pytest.mark.parametrize("notion", [fo.ProportionalFair(), fo.Tradeoff(1.0, 1.0)], ids=str)
def test_a_small_answer_says_what_was_compiled(
    notion: fo.Notion, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    cluster = fo.Instance([[1.0, 4.0], [3.0, 1.0]], [[9.0, 18.0], [5.0, 4.0]])
    said = {}
    for choice in ("0", "1"):
        monkeypatch.setenv(fast.CHOICE, choice)
        answer = fo.solve(cluster, notion)
        said[choice] = answer.steps[0].get("compiled"), answer.shares
    assert said["0"][0] is None
    assert "descent" in said["1"][0] and said["1"][0].endswith("; judge: bounded, near")
    np.testing.assert_allclose(said["0"][1], said["1"][1], rtol=1e-11)


def test_an_answer_says_what_judged_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    rng = np.random.default_rng(3)
    users = 4_000
    capacity = rng.uniform(1, 10, (4, 2)) * users
    placement = rng.random((users, 4)) < 0.6
    placement[:, 0] = True
    cluster = fo.Instance(rng.lognormal(0, 1, (users, 2)), capacity, placement)
    said, totals = {}, {}
    for choice in ("0", "1"):
        monkeypatch.setenv(fast.CHOICE, choice)
        answer = fo.solve(cluster, fo.ProportionalFair(), polish=False)
        said[choice] = [step.get("compiled") for step in answer.steps]
        totals[choice] = answer.totals
    assert not any(said["0"]) and "judge: dear, point, slope, used" in said["1"]
    np.testing.assert_allclose(totals["0"], totals["1"], rtol=1e-9)


def test_compiled_loops_are_left_out_where_lines_are_counted() -> None:
    """What counts lines writes into the code, which numba then refuses to compile."""
    root = Path(fast.__file__).parents[1]
    run = root / ".ci" / "run"
    left_out = re.search(r'--omit "([^"]*)"', run.read_text(encoding="utf-8"))
    assert left_out is not None
    compiled = [
        path.relative_to(root).as_posix()
        for path in (root / "fairopt").rglob("*.py")
        if re.search(
            r"^@(fast\.)?inner$|^def (\w+)\((?s:.*)\bloop\(\2\b|\bloop\((\w+)\b(?s:.*)^def \3\(",
            path.read_text(encoding="utf-8"),
            re.M,
        )
    ]
    assert compiled
    for name in compiled:
        assert any(fnmatch(name, pattern) for pattern in left_out[1].split(",")), name
