"""Nested max-min on random trees, guarantees, ceilings and lending, against its definition.

Every instance is solved by fairopt and by the definition in exact fractions, a rational simplex
(`tests/oracles/nested.py`), and on one pool by hierarchical DRF task by task; every right answer is
judged, and then spoiled in every way the judge is meant to catch; lies about demand are searched.
Run as

    OPENBLAS_NUM_THREADS=1 python benchmarks/nested.py

it writes docs/results/nested.md; with a number, only that many instances, and nothing is written.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import fairopt as fo  # noqa: E402
from tests.oracles import draws, lies, nested, pool, spoils, task_by_task  # noqa: E402

PAGE = ROOT / "docs" / "results" / "nested.md"
SIZES = (1 / 500, 1 / 6000)
TRIED = 12
"""lies of one user of each instance"""
TEXT = (
    "Written by `benchmarks/nested.py`. Random instances of up to five users on up to three",
    "servers, in whole numbers: groups up to three deep, weights, limits, placement, guarantees,",
    "ceilings, lending and borrowing, priorities, criteria `tasks` and `drf`, measures `sum` and",
    "`dominant`, `over` floor and above ([trees](../maths/trees.md),",
    "[guarantees](../maths/guarantees.md)).",
)


def compared(seeds: range) -> tuple[Counter[str], float, Counter[str], Counter[str]]:
    """Right answers of draws: what came out, the largest difference of a share, relative to the
    largest; spoiled answers tried, and those that passed."""
    found: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    worst = 0.0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        inst = draws.draw(rng)
        how = draws.how(rng, inst)
        notion = draws.notion(how)
        try:
            exact = nested.answer(inst, notion, **how)
        except AssertionError as fault:
            assert "infeasible" in str(fault)
            found["guarantees do not fit"] += 1
            try:
                fo.solve(inst, notion)
            except fo.Infeasible:
                found["of these, refused by fairopt"] += 1
            continue
        found["answered in fractions"] += 1
        found["with a jump"] += any(each["jump"] > 0 for each in exact.rounds)
        found["exact answers certified"] += fo.certify(exact).certified
        ours = fo.solve(inst, notion, uncertified="return")
        found["fairopt's answers certified"] += ours.certificate.certified
        largest = float(exact.shares.max()) or 1.0
        worst = max(worst, float(np.abs(ours.shares - exact.shares).max()) / largest)
        for name, spoiled in spoils.ways(exact, rng):
            tried[name] += 1
            passed[name] += fo.certify(spoiled).certified
    return found, worst, tried, passed


def by_tasks(count: int) -> dict[float, float]:
    """Task size -> the largest difference of a dominant share from task by task, of all trees at
    the first size, of the worst of them at the others."""
    found = []
    for seed in range(count):
        inst = draws.tree(np.random.default_rng(seed))
        problem = nested.of_instance(inst, criterion="drf", measure="dominant")
        right = nested.shares(problem)[0].astype(float)
        found.append((_apart(inst, problem, right, SIZES[0]), seed, inst, problem, right))
    worst = max(found, key=lambda each: each[0])
    return {SIZES[0]: worst[0], **{size: _apart(*worst[2:], size) for size in SIZES[1:]}}


def _apart(inst, problem, right, size: float) -> float:
    tree, use = inst.tree, np.array(problem.use, dtype=float)
    held = task_by_task.shares(tree.parent, tree.weight, tree.leaf, use, size)
    return float(np.abs(held - right).max())


def searched(kind: str, count: int) -> tuple[int, int, float]:
    """Lies told in instances of a kind, those that paid, and the largest gain."""
    told, paid, most = 0, 0, 0.0
    for seed in range(count):
        rng = np.random.default_rng(seed)
        inst = draws.one_pool(rng, kind)
        notion = fo.MaxMin(
            "drf",
            measure="sum" if "sum" in kind else "dominant",
            over="above" if "above" in kind else "floor",
        )
        if not lies.fits(inst, notion):
            continue
        user = int(rng.integers(len(inst.users)))
        for claim in lies.claims(rng, inst.demand[user], TRIED):
            demand = inst.demand.copy()
            demand[user] = claim
            if not lies.fits(inst.replace(demand=demand), notion):
                continue
            gain = lies.gain(inst, notion, user, claim)
            told, paid, most = told + 1, paid + (gain > 1e-7), max(most, gain)
    return told, paid, most


def page(
    count: int,
    answers: tuple[Counter[str], float, Counter[str], Counter[str]],
    apart: dict[float, float],
    lied: dict[str, tuple[int, int, float]],
) -> str:
    """The results as a page."""
    found, worst, tried, passed = answers
    lines = [
        "# Nested max-min against its definition",
        "",
        *TEXT,
        "",
        f"## {count:,} draws in exact fractions",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {number} |" for name, number in found.items()),
        "",
        "The largest difference of a share from the exact one, relative to the largest share:",
        f"{worst:.1e}.",
        "",
        "## Spoiled answers",
        "",
        "| spoiled by | tried | certified all the same |",
        "|---|---|---|",
        *(f"| {name} | {number} | {passed[name]} |" for name, number in tried.items()),
        "",
        "## Task by task",
        "",
        "Hierarchical DRF with both cures gives one task after another on one pool. The largest",
        f"difference of a dominant share, over {trees(count)} trees at the first size, for",
        "the worst of them at the second:",
        "",
        "| size of a task | difference |",
        "|---|---|",
        *(f"| 1/{round(1 / size)} | {value:.1e} |" for size, value in apart.items()),
        "",
        "## Lies about demand",
        "",
        "One user of each instance on one pool claims other demands; what it holds then is counted",
        "in its true tasks.",
        "",
        "| guarantees and groups | lies | that paid | largest gain |",
        "|---|---|---|---|",
    ]
    for kind, (told, paid, most) in lied.items():
        largest = 100 * most if most > 1e-9 else 0.0
        lines.append(f"| {kind} | {told} | {paid} | {largest:.3g} % |")
    truth = fo.Instance(
        [[1], [1]],
        [[12]],
        users=["A", "B"],
        resources=["gpu"],
        quotas=fo.Quotas(guarantee_tasks={"A": 4}),
    )
    honest = float(pool.tasks(truth, fo.MaxMin("drf"))[0])
    gain = lies.gain(truth, fo.MaxMin("drf"), 0, np.array([2.5]))
    lines += [
        "",
        "A guarantee in tasks grows with the demand that is claimed. The known case: 12 GPUs, A",
        f"and B need one each, A is guaranteed 4 tasks. Truthful both hold {honest:g}; claiming",
        f"5/2 A holds {honest * (1 + gain):.4g} GPUs.",
    ]
    return "\n".join(lines) + "\n"


def trees(count: int) -> int:
    """How many trees are divided task by task, and instances of each kind searched for lies."""
    return max(count // 20, 10)


def measured(count: int) -> str:
    """The page of so many draws."""
    lied = {kind: searched(kind, trees(count)) for kind in draws.KINDS}
    return page(count, compared(range(count)), by_tasks(trees(count)), lied)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(measured(int(sys.argv[1])))
    else:
        PAGE.write_text(measured(1000), encoding="utf-8")
