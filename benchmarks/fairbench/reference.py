"""The reference answer of a problem and how it is proved; nothing that is believed comes from us.

Max-min of few columns: the definition in exact fractions. Alpha-fairness of few columns: a path
of 160 decimals that ends in a proof. Larger ones: the candidate is our answer, and what is kept is
what `proof` proves of it, for max-min by a linear program a user, solved by HiGHS.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.fairbench import as_fairopt, proof
from benchmarks.fairbench.problem import Floats, Problem
from tests.oracles.optimum import optimum
from tests.oracles.rows import Rows, exact
from tests.rational import Dictionary

FRACTIONS, DIGITS = 400, 1200
"""rows times columns up to which exact methods are asked"""
ENOUGH = 1e-5
"""what a reference must be proved to"""


def reference(problem: Problem, fractions: int = FRACTIONS, digits: int = DIGITS) -> dict[str, Any]:
    """{share, within, proof, candidate}; within is inf where nothing was proved.

    within : every optimum's share of every user is proved to be within this, relative.
    """
    use, _ = problem.rows
    size = use.shape[0] * use.shape[1]
    if np.isinf(problem.alpha) and size <= fractions:
        share = np.array([float(s) for s in levels(problem)])
        return {"share": share, "within": 1e-15, "proof": "fractions", "candidate": "fractions"}
    if np.isfinite(problem.alpha) and size <= digits:
        found = optimum(_decimal_rows(problem), problem.alpha)
        if found is not None:
            return {"share": found.share, "within": 1e-15, "proof": "digits", "candidate": "digits"}
    inst, notion = as_fairopt.instance(problem)
    answer = fo.solve(inst, notion, uncertified="return")
    tasks = problem.fitted(as_fairopt.columns(problem, answer))
    share = problem.shares(tasks)
    if np.isinf(problem.alpha):
        within, how = proof.levels_bound(problem, share), "linear programs"
    else:
        given = as_fairopt.prices(problem, answer)
        within = float("inf") if given is None else proof.alpha_bound(problem, tasks, given)
        how = "duality"
    return {"share": share, "within": within, "proof": how, "candidate": "ours"}


def levels(problem: Problem) -> list[Fraction]:
    """Shares of lexicographic max-min, one rational program a level."""
    use, have = (part.toarray() if hasattr(part, "toarray") else part for part in problem.rows)
    users, columns = problem.users, len(problem.user)
    zero = Fraction(0)
    rows = [[*map(_f, line), zero] for line in use]
    share = [
        [_f(problem.share[k]) if problem.user[k] == n else zero for k in range(columns)]
        for n in range(users)
    ]
    weight = [_f(w) for w in problem.weight]
    frozen: dict[int, Fraction] = {}
    while len(frozen) < users:
        # level t of who is free: weight t <= share; of who is frozen: its share
        mine = [[*(-s for s in share[n]), zero if n in frozen else weight[n]] for n in range(users)]
        right = [*(_f(h) for h in have), *(-frozen.get(n, zero) for n in range(users))]
        goal = [zero] * columns + [Fraction(1)]
        found = Dictionary([*rows, *mine], right, goal)
        stopped = [
            n for n in range(users) if n not in frozen and found.multiplier(len(rows) + n) > 0
        ]
        assert stopped, "somebody stops every level"
        frozen.update({n: weight[n] * found.value for n in stopped})
    return [frozen[n] for n in range(users)]


def _f(number: float) -> Fraction:
    return Fraction(float(number))


def _decimal_rows(problem: Problem) -> Rows:
    use, have = problem.rows
    nothing = exact(np.zeros(problem.users))
    return Rows(
        owner=problem.user,
        server=problem.server,
        way=np.zeros(len(problem.user), int),
        u=exact(problem.share),
        g=exact(use.toarray()),
        h=exact(have),
        low=[],
        high=[],
        base=nothing,
        floor=nothing.copy(),
        weight=exact(problem.weight),
    )


def distance(share: Floats, wanted: Floats) -> tuple[float, int]:
    """The worst user's relative distance, and who it is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.nan_to_num(np.abs(share / wanted - 1.0), nan=np.inf, posinf=np.inf)
    worst = int(np.argmax(off))
    return float(off[worst]), worst


__all__ = ["ENOUGH", "distance", "levels", "reference"]
