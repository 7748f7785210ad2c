"""Time of 1,000 teams in a tree of depth 4 over 100 shapes of servers, beside the flat question.

    OPENBLAS_NUM_THREADS=1 python benchmarks/trees.py --write docs/results/trees.md

Teams demand CPU, memory and perhaps GPUs and may run on some shapes; departments, groups and teams
have weights. With guarantees, every fifth group of teams has a bundle of a part of the cluster;
with ceilings and lending, groups have most and nominal amounts of CPU and GPU. Each question is
solved and proved by `fo.solve`; the same teams without groups are the flat question.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import fairopt as fo

RESOURCES = ["cpu", "memory", "gpu"]


def cluster(
    teams: int,
    shapes: int,
    seed: int,
    tree: bool = True,
    guarantees: bool = False,
    rules: bool = False,
    density: float = 0.1,
) -> fo.Instance:
    """Teams on shapes of servers; 8 departments of 5 groups of 5 lots of teams."""
    rng = np.random.default_rng(seed)
    demand = rng.uniform(0.2, 2.0, (teams, 3)) * rng.lognormal(0, 0.5, (teams, 1))
    wants = rng.random(teams) < 0.4
    demand[~wants, 2] = 0.0
    capacity = rng.uniform(20, 80, (shapes, 3))
    capacity[rng.random(shapes) < 0.4, 2] = 0.0
    placement = rng.random((teams, shapes)) < density
    with_gpu = np.flatnonzero(capacity[:, 2] > 0)
    placement[np.arange(teams), rng.choice(with_gpu, teams)] = True
    count = rng.integers(1, 30, shapes)
    users = [f"t{k}" for k in range(teams)]
    weight = rng.uniform(0.5, 2.0, teams)
    plain = fo.Instance(
        demand, capacity, placement, weight, count=count, users=users, resources=RESOURCES
    )
    if not tree:
        return plain
    groups, of = [], {}
    total = plain.pool.sum(axis=0)
    for a in range(8):
        groups.append(fo.Group(f"d{a}", None, float(rng.uniform(0.5, 2))))
        for b in range(5):
            groups.append(fo.Group(f"d{a}g{b}", f"d{a}", float(rng.uniform(0.5, 2))))
            for c in range(5):
                groups.append(fo.Group(f"d{a}g{b}l{c}", f"d{a}g{b}", float(rng.uniform(0.5, 2))))
    lots = [g.name for g in groups if "l" in g.name]
    of = {user: lots[k % len(lots)] for k, user in enumerate(users)}
    middle = [g.name for g in groups if "g" in g.name and "l" not in g.name]
    promised, bounds, quotas = [], [], []
    if guarantees:
        promised = [
            fo.Guarantee(name, r, float(0.3 / len(middle) * total[k]))
            for name in middle[::5]
            for k, r in enumerate(RESOURCES[:2])
        ]
    if rules:
        bounds = [fo.Bound(name, "cpu", float(1.2 * total[0] / len(middle))) for name in middle]
        quotas = [
            fo.Quota(
                name,
                "gpu",
                float(total[2] / len(middle)),
                borrow=float(total[2] / len(middle)),
                lend=float(0.5 * total[2] / len(middle)),
            )
            for name in middle
        ]
    tied = fo.Quotas(groups, of, guarantees=promised, bounds=bounds, quotas=quotas)
    return plain.replace(quotas=tied)


QUESTIONS = {
    "flat": {"tree": False},
    "tree": {},
    "tree, guarantees": {"guarantees": True},
    "tree, ceilings and lending": {"rules": True},
    "all of it": {"guarantees": True, "rules": True},
}
NOTIONS = {
    "max-min drf, sum": fo.MaxMin("drf", measure="sum"),
    "max-min drf, dominant": fo.MaxMin("drf"),
    "proportional": fo.ProportionalFair(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--teams", type=int, default=1000)
    parser.add_argument("--shapes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", metavar="FILE")
    given = parser.parse_args()
    rows = []
    for notion_name, notion in NOTIONS.items():
        for name, more in QUESTIONS.items():
            if name == "flat" and "dominant" in notion_name:
                continue
            inst = cluster(given.teams, given.shapes, given.seed, **more)
            start = time.process_time()
            found = fo.solve(inst, notion, uncertified="return")
            took = time.process_time() - start
            start = time.process_time()
            c = fo.certify(found.with_(tasks=found.tasks.copy(), certificate=None))
            judged = time.process_time() - start
            rounds = len(found.rounds or ()) or sum(s.get("step") == "level" for s in found.steps)
            row = (
                notion_name,
                name,
                f"{took:.2f}",
                f"{judged:.2f}",
                str(rounds or "-"),
                c.verdict,
                f"{max(c.gap, c.residual):.0e}",
            )
            print(" | ".join(row), flush=True)
            rows.append(row)
    if given.write:
        head = ("notion", "question", "solve s", "judge s", "rounds", "verdict", "residual")
        lines = ["| " + " | ".join(line) + " |" for line in (head, ("---",) * len(head), *rows)]
        text = (
            f"# Trees\n\n{given.teams:,} teams in a tree of depth 4 over {given.shapes} shapes of "
            "servers, and the same teams without groups\n(`benchmarks/trees.py`, seconds of one "
            "core on a machine that others used too). *Solve* is `fo.solve`, proof included;\n"
            "*judge* is `fo.certify` of the answer once more. A round is a level at which somebody "
            "was stopped; a flat answer has levels;\nseveral are proved "
            "[in fractions](../maths/prices.md#in-groups). Alpha-fairness goes along one path "
            "([how it is solved](../maths/quotas.md)).\n\n"
        )
        Path(given.write).write_text(text + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
