"""The benchmark of jobs on kinds of machines: every side is judged by its tasks and prices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import jobs as benchmark
from benchmarks.jobs_sides import SIDES, main
from benchmarks.many_users import jobs


@pytest.mark.parametrize("side, most", [("fairopt", 1e-9), ("cvxpy, Clarabel", 1e-5)])
def test_a_side_is_judged_by_what_it_wrote(side: str, most: float, tmp_path: Path) -> None:
    inst, score = jobs(60, 3)
    source, target = tmp_path / "jobs.npz", tmp_path / "answer.npz"
    np.savez(source, scale=inst.demand[:, 0], machines=inst.pool[:, 0], score=score)
    main(side, str(source), str(target))
    with np.load(target) as found:
        answer = {name: found[name] for name in found}
    gap, residual = benchmark.judged(inst, score, answer["tasks"], answer["prices"], answer["mu"])
    assert gap <= most
    assert residual <= 100 * most
    # prices of time may be left out, and a wrong answer is seen
    gap, _ = benchmark.judged(inst, score, answer["tasks"], answer["prices"], None)
    assert gap <= most
    gap, _ = benchmark.judged(inst, score, answer["tasks"][::-1], answer["prices"], None)
    assert gap > 1e-2


def test_the_page_says_what_each_side_did() -> None:
    rows = [
        benchmark.Row(100, "fairopt", 0.01, 4e7, 1e-12, 1e-11),
        benchmark.Row(100, "cvxpy, SCS", *[float("nan")] * 4),
    ]
    page = benchmark.page(rows, peer=False)
    assert "| 100 | fairopt | 0.01 | 1 | 1e-12 | 1e-11 | 40 |" in page
    assert "no answer" in page
    assert "was not installed" in page
    assert set(SIDES) >= set(benchmark.MOST_JOBS)
