"""Two priority classes and one resource, beside a closed form in fractions.

What the later class can have together, beside a first class that gets its limits, is a polymatroid;
with like weights its lexicographically best base is the optimum of every alpha (Megiddo, Optimal
flows in networks with multiple sources and sinks, 1974).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import fairopt as fo


def subsets(of: list[int]) -> list[list[int]]:
    return [list(some) for size in range(len(of) + 1) for some in combinations(of, size)]


def drawn(seed: int, decades: float):
    """Placement, capacities and the limits of the first class, which all fit together."""
    rng = np.random.default_rng(seed)
    servers, first, later = (int(rng.integers(*ends)) for ends in ((2, 4), (1, 3), (1, 5)))
    capacity = 10.0 ** rng.uniform(0, decades, servers)
    may = rng.random((first + later, servers)) < 0.7
    may[np.arange(first + later), rng.integers(0, servers, first + later)] = True
    own = may[:first] @ capacity / first
    return may, capacity, rng.uniform(0.1, 0.9, first) * own.min()


def due(may: np.ndarray, capacity: np.ndarray, limit: np.ndarray) -> list[Fraction]:
    """What each of the later class has at the optimum."""
    room, least = [[Fraction(v) for v in each.tolist()] for each in (capacity, limit)]
    first = list(range(len(least)))
    later = list(range(len(first), len(may)))

    def most(some: list[int]) -> Fraction:
        """What some can have together: the least cut, beside any of the first class."""
        cuts = []
        for beside in subsets(first):
            reached = np.flatnonzero(may[some + beside].any(axis=0)).tolist()
            cuts.append(sum([room[i] for i in reached]) - sum([least[n] for n in beside]))
        return Fraction(min(cuts))

    found, done = dict[int, Fraction](), list[int]()
    while len(done) < len(later):
        left = [n for n in later if n not in found]
        base = most(done) if done else Fraction(0)
        level, stopped = min(
            ((most(done + some) - base) / len(some), some) for some in subsets(left) if some
        )
        found.update(dict.fromkeys(stopped, level))
        done += stopped
    return [found[n] for n in later]


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("decades", [0.0, 3.0, 6.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_later_class_has_what_the_cuts_say(alpha: float, decades: float, seed: int) -> None:
    may, capacity, limit = drawn(seed, decades)
    shares = due(may, capacity, limit)
    first, users = len(limit), len(may)
    assert min(shares) > 0
    inst = fo.Instance(
        np.ones((users, 1)),
        capacity[:, None],
        may,
        limit=np.concatenate([limit, np.full(users - first, np.inf)]),
        quotas=fo.Quotas(priority={f"u{n + 1}": 1 for n in range(first)}),
    )
    answer = fo.solve(inst, fo.AlphaFair(alpha))
    assert answer.certificate.certified
    true = np.concatenate([limit, [float(share) for share in shares]])
    np.testing.assert_allclose(answer.totals, true, rtol=1e-6)
    spoiled = answer.tasks.copy()
    spoiled[-1] *= 1 - 1e-5
    assert not fo.certify(answer.with_(tasks=spoiled, certificate=None)).certified
