"""Prices that need no program: what a task takes of one resource, of which there is too little.

No node holds more of a resource than it has, so its room bounds the worth of every pattern.
"""

from __future__ import annotations

from fairopt.whole.proof import claims
from fairopt.whole.proof.certificate import PatternPrices
from fairopt.whole.proof.problem import Problem

_MOST = 3
"""resources of which there is most too little"""


def volumes(problem: Problem) -> list[PatternPrices]:
    """Prices in resources that prove tasks to be short, the best first."""
    size = len(problem.classes[0].room)
    least: dict[int, list[int]] = {}
    for own in problem.classes:
        for kind in own.kinds:
            before = least.get(kind.user, kind.need)
            least[kind.user] = [min(a, b) for a, b in zip(before, kind.need, strict=True)]
    found: list[tuple[int, int, PatternPrices]] = []
    for r in range(size):
        price = tuple(least[n][r] if n in least else 0 for n in range(len(problem.users)))
        sigma = tuple(own.room[r] if own.kinds else 0 for own in problem.classes)
        hint = tuple(int(r == s) for s in range(size))
        prices = PatternPrices(price, sigma, (hint,) * len(problem.classes))
        short = claims.least_short(problem, price, prices.budget(problem)) if any(price) else 0
        if short:
            found.append((-short, r, prices))
    return [prices for _, _, prices in sorted(found, key=lambda own: own[:2])[:_MOST]]
