"""A problem as an instance and a notion of fairopt, and what of an answer belongs to which row."""

from __future__ import annotations

from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.fairbench.problem import Floats, Problem


def instance(problem: Problem) -> tuple[fo.Instance, Any]:
    """The instance, with modes where a pair has several columns, and the notion."""
    users, servers = problem.users, len(problem.pool)
    names = {"users": [f"u{n}" for n in range(users)], "servers": [f"s{i}" for i in range(servers)]}
    names["resources"] = [f"r{r}" for r in range(problem.pool.shape[1])]
    pairs = list(zip(problem.user.tolist(), problem.server.tolist(), strict=True))
    given: dict[str, Any] = {"weight": problem.weight, "limit": problem.limit, **names}
    placement = np.zeros((users, servers), bool)
    placement[problem.user, problem.server] = True
    if len(set(pairs)) < len(pairs):
        if servers > 1 or (problem.share != 1).any() or problem.rules:
            raise ValueError("several columns of a pair: one server and shares of 1 only")
        ways = [np.flatnonzero(problem.user == n) for n in range(users)]
        given["modes"] = {
            f"u{n}": [fo.Mode(f"m{k}", tuple(problem.demand[k].tolist())) for k in mine]
            for n, mine in enumerate(ways)
        }
        demand = np.array([problem.demand[mine[0]] for mine in ways])
        return fo.Instance(demand, problem.pool, placement, **given), _notion(problem)
    demand = np.zeros((users, servers, problem.pool.shape[1]))
    demand[problem.user, problem.server] = problem.demand
    # a pair that is not eligible may be given any demand: that of the user's first column
    first = np.array([problem.demand[np.argmax(problem.user == n)] for n in range(users)])
    demand[~placement] = np.broadcast_to(first[:, None, :], demand.shape)[~placement]
    same = (demand == first[:, None, :]).all()
    rules = [
        fo.Rule.of(
            f"rule {k}",
            {
                (f"u{problem.user[c]}", f"s{problem.server[c]}"): t
                for c, t in zip(columns, times, strict=True)
            },
            most=most,
        )
        for k, (most, columns, times) in enumerate(problem.rules)
    ]
    inst = fo.Instance(first if same else demand, problem.pool, placement, rules=rules, **given)
    return inst, _notion(problem)


def _notion(problem: Problem) -> Any:
    score = np.zeros((problem.users, len(problem.pool)))
    score[problem.user, problem.server] = problem.share
    criterion: Any = "tasks" if (problem.share == 1).all() else (lambda _: score)
    if np.isinf(problem.alpha):
        return fo.MaxMin(criterion=criterion)
    return fo.AlphaFair(problem.alpha, criterion=criterion)


def columns(problem: Problem, answer: fo.Allocation) -> Floats:
    """(K,) the tasks of each column."""
    if answer.way_tasks is None:
        return answer.tasks[problem.user, problem.server]
    found = np.zeros(len(problem.user))
    for n in range(problem.users):
        mine = np.flatnonzero(problem.user == n)
        found[mine] = answer.way_tasks[answer.instance.ways.owner == n][:, 0]
    return found


def prices(problem: Problem, answer: fo.Allocation) -> Floats | None:
    """(M,) the price of each row, in any unit; None without prices."""
    if answer.prices is None:
        return None
    found = []
    for i in range(len(problem.pool)):
        here = problem.demand[problem.server == i]
        found += [answer.prices[i, r] for r in np.flatnonzero((here > 0).any(axis=0))]
    limited = np.isfinite(problem.limit)
    given = answer.limit_prices
    found += [0.0] * int(limited.sum()) if given is None else given[limited].tolist()
    if problem.rules:
        # a rule of "at most" has one price, never negative
        found += np.ravel(answer.rule_prices).tolist()
    return np.array(found, float)
