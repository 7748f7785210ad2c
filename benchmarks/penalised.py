"""The trade-off with penalties beside a reference in decimals: own answers, and forged ones.

The reference is an interior path of its own in 90 digits (`tests/oracles/penalised.py`).

    python benchmarks/penalised.py --draws 400 --write docs/results/penalised.md
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import fairopt as fo
from tests.oracles.penalised import levels

TOLERANCE, MARGIN = 1e-6, 1.02
"""of a certified answer; what rounding of its logarithm may add, in parts of it"""

TITLE = """# The trade-off with penalties, beside a reference in decimals

`python benchmarks/penalised.py --draws {draws} --first {first}`: two or three users, one or two
servers, rows nearly parallel (1e-0.5 to 1e-7) in seven of ten draws, weights over six decades in
half of them, alpha .5 to 10, penalties from 1e-9 to 1e4. The reference is an interior path of its
own in 90 digits. *Off*: some level is more than a millionth from the optimum's. Forged: tasks
moved, with prices moved or not; tasks that are best at random prices; all tasks fewer. Levels may
be right and what users hold on a server not, where its variance counts: then a better allocation
is shown, and the answer is refuted by its gap.
"""


def drawn(seed: int) -> tuple[fo.Instance, fo.Tradeoff]:
    """A question."""
    rng = np.random.default_rng(seed)
    users, servers = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    base, angle = rng.uniform(0.1, 1, 2), 10 ** rng.uniform(-7, -0.5)
    if rng.random() < 0.7:
        demand = base * (1 + angle * rng.uniform(-1, 1, (users, 2)))
        demand = demand * 10 ** rng.uniform(-1, 1, (users, 1))
    else:
        demand = rng.uniform(0.1, 1, (users, 2))
    if rng.random() < 0.3:
        capacity = rng.uniform(0.5, 2, (servers, 2))
    else:
        capacity = base * rng.uniform(1, 3, (servers, 1))
        capacity = capacity * (1 + angle * rng.uniform(-0.5, 0.5, (servers, 2)))
    weight = np.ones(users) if rng.random() < 0.5 else 10 ** rng.uniform(-3, 3, users)
    may = rng.random((users, servers)) < 0.7
    may[np.arange(users), rng.integers(0, servers, users)] = True
    alpha = float(rng.choice([0.5, 1, 2, 5, 10]))
    force = 10 ** rng.uniform(-9, 4, 2) * (rng.random(2) < 0.7)
    t_pf, t_drf = (float(t) for t in force) if force.any() else (1.0, 0.0)
    return fo.Instance(demand, capacity, may, weight=weight), fo.Tradeoff(t_pf, t_drf, g=alpha)


def truth(inst: fo.Instance, notion: fo.Tradeoff) -> np.ndarray | None:
    """The levels of the optimum; None where the reference did not reach it."""
    try:
        return levels(
            inst.demand,
            inst.capacity,
            inst.weight,
            inst.eligible,
            notion.alpha,
            notion.t_pf,
            notion.t_drf,
        )
    except AssertionError:
        return None


def forged(answer: fo.Allocation, seed: int) -> list[fo.Allocation]:
    """Tasks moved, with prices moved or not; best at random prices; all tasks fewer."""
    rng = np.random.default_rng([seed, 1])
    inst, prices, found = answer.instance, answer.prices, []
    for k in range(4):
        far, tasks, price = 10 ** rng.uniform(-8, -1), answer.tasks, prices
        if k < 2:
            tasks = tasks * np.exp(far * rng.normal(size=tasks.shape))
            price = prices * np.exp(k * far * rng.normal(size=prices.shape))
        elif k == 2:
            price = rng.dirichlet(np.ones(inst.capacity.size)).reshape(inst.capacity.shape)
            price = price / inst.capacity
            cost = np.where(inst.eligible, inst.demand @ price.T, np.inf)
            users = np.arange(len(cost))
            tasks = np.zeros_like(cost)
            tasks[users, cost.argmin(axis=1)] = inst.weight / cost.min(axis=1)
        over = float((tasks.T @ inst.demand / inst.capacity).max())
        tasks = tasks * (1 - far) if k == 3 else tasks / over if k == 2 or over > 1 else tasks
        found.append(fo.Allocation(inst, answer.notion, tasks, price))
    return found


def tried(draws: int, first: int) -> tuple[Counter[str], list[str], list[float]]:
    """Counts, what was wrong, and seconds a judge takes."""
    count: Counter[str] = Counter()
    wrong, took = [], []
    for seed in range(first, first + draws):
        inst, notion = drawn(seed)
        best = truth(inst, notion)
        if best is None:
            count["no reference"] += 1
            continue
        own = fo.solve(inst, notion, uncertified="return")
        for name, answer in (("own", own), *(("forged", bad) for bad in forged(own, seed))):
            begin = time.process_time()
            found = fo.certify(answer.with_(certificate=None))
            verdict = found.verdict
            # levels may be right and shares on servers wrong: then a better allocation is shown
            shown = any(c.name == "no better allocation" and not c.holds for c in found.checks)
            took.append(time.process_time() - begin)
            off = float(np.abs(np.log(np.maximum(answer.levels, 1e-300) / best)).max())
            kind = "off" if off > TOLERANCE else "right"
            count[f"{name} {kind} {verdict}"] += 1
            if (verdict == "certified" and off > MARGIN * TOLERANCE) or (
                verdict == "refuted" and off * MARGIN < TOLERANCE and not shown
            ):
                wrong.append(f"seed {seed}: {name}, {off:.2g} off, {verdict}")
    return count, wrong, took


def main() -> None:
    """Run and print, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    count, wrong, took = tried(given.draws, given.first)
    lines = [
        TITLE.format(**vars(given)),
        "| answers | | certified | unproved | refuted |",
        "|---|---|---|---|---|",
    ]
    for name, kind in (("own", "right"), ("own", "off"), ("forged", "right"), ("forged", "off")):
        told = [str(count[f"{name} {kind} {v}"]) for v in ("certified", "unproved", "refuted")]
        lines.append(f"| {name} | {kind} | {' | '.join(told)} |")
    lines += [
        "",
        f"Without a reference: {count['no reference']}. Certified and off, or refuted "
        f"and right: {len(wrong)}. The judge takes {1e3 * float(np.median(took)):.1f} ms in "
        "the median.",
        *wrong,
        "",
    ]
    text = "\n".join(lines)
    if given.write:
        given.write.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
