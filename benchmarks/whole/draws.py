"""Random clusters of middle size, and users drawn on machine shapes of a public trace.

The shapes are those of the Google cluster-usage trace of May 2011 (J. Wilkes and C. Reiss, CC-BY
4.0), counted as in Reiss et al., SoCC 2012, Table 1.
"""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

import fairopt as fo
from fairopt.whole.asking import asking
from fairopt.whole.proof.answer import EXACT, Asked
from fairopt.whole.proof.problem import NodeRow

GOOGLE = (
    (0.50, 0.50, 6732),
    (0.50, 0.25, 3863),
    (0.50, 0.75, 1001),
    (1.00, 1.00, 795),
    (0.25, 0.25, 126),
    (0.50, 0.12, 52),
    (0.50, 0.03, 5),
    (0.50, 0.97, 5),
    (1.00, 0.50, 3),
    (0.50, 0.06, 1),
)
"""CPU, memory, machines"""


def drawn(seed: int) -> Asked:
    """A random cluster of middle size: 3 to 8 kinds of nodes, gangs, modes, caps on a node."""
    rng = random.Random(1000 + seed)
    resources = [f"r{k}" for k in range(rng.randint(2, 4))]
    users, kinds = rng.randint(6, 15), rng.randint(3, 8)
    needs = [
        [
            {key: Fraction(rng.randint(0, 12)) for key in resources}
            for _ in range(rng.choice([1, 1, 1, 2]))
        ]
        for _ in range(users)
    ]
    for ways in needs:
        for way in ways:
            if sum(way.values()) < 4:
                way[resources[0]] = Fraction(4)
    rows = []
    for i in range(kinds):
        big = rng.choice([24, 32, 48, 64])
        room = {key: Fraction(rng.randint(big // 2, big)) for key in resources}
        some = tuple(
            (n, f"mode{k}", way, rng.choice([None, None, None, 2]))
            for n in range(users)
            for k, way in enumerate(needs[n])
            if rng.random() < 0.7
        )
        rows.append(NodeRow(f"s{i}", rng.randint(2, 10), room, some))
    nodes = sum(row.count for row in rows)
    alone = [
        max(1, min(int(min(Fraction(36) / x for x in ways[0].values() if x)), 9)) for ways in needs
    ]
    total = [rng.uniform(0.3, 1) * nodes * a / users * rng.uniform(1.6, 2.6) for a in alone]
    gang = tuple(rng.choice([1, 1, 1, 2, 4]) for _ in range(users))
    due = tuple(Fraction(round(t * 4), 4) for t in total)
    asked = tuple(int(d) + rng.randint(0, 6) for d in due)
    return Asked(
        tuple(f"u{n}" for n in range(users)),
        tuple(rows),
        due,
        asked,
        gang,
        (EXACT,) * users,
        tuple({row.name: row.count} for row in rows),
    )


def google(users: int = 40, seed: int = 1, times: int = 1) -> Asked:
    """What max-min gives users drawn at random on the machines of the trace, each so many times."""
    rng = np.random.default_rng(seed)
    demand = np.round(np.exp(rng.uniform(np.log(0.0008), np.log(0.06), (users, 2))), 4)
    placement = rng.random((users, len(GOOGLE))) < 0.8
    placement[:, 0] = True
    inst = fo.Instance(
        demand,
        [row[:2] for row in GOOGLE],
        count=[times * row[2] for row in GOOGLE],
        placement=placement,
        weight=np.round(rng.uniform(0.5, 3, users), 2),
    )
    return asking(inst, fo.solve(inst, fo.MaxMin()))
