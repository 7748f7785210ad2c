"""What a certified answer is held against; none of it is the judge, or the engine that was asked.

Linear programs and levels: exact fractions. Notions by bottlenecks: their definition, in plain
loops. Alpha-fairness: the optimum by a path of decimals that proves itself; where that proves
nothing, whatever a linear program says that a user could have, and the answer of another method.
The trade-off: the answer of another method, and the whole instance with nothing merged.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import fairopt as fo
from benchmarks.trust.truths import Truths
from fairopt.formulas import welfare
from fairopt.instance import Floats
from fairopt.notions import Notion
from tests.oracles import by_class, nested, pareto, rows
from tests.rational import Dictionary, max_min_levels

WRONG = 1e-5
"""relative distance from the reference that makes a certified answer wrong; certified is 1e-6"""
FAR = 1.01e-6
"""the same beside a proved optimum: what certified means, and the rounding of the answer"""
NOTHING = 1e-9
"""shares below this part of what is due count as nothing (P2)"""
ROUNDING = 1e-14
"""part of a resource that the rounding of its holders' tasks may leave"""
STINGY = 1e-3
"""part that a user could gain while others keep theirs, above which an answer is suspected"""
OFTEN = 4
"""every so many seeds the slower method is asked, too"""


def fault(
    inst: fo.Instance,
    notion: Notion,
    alloc: fo.Allocation,
    seed: int,
    truths: Truths | None = None,
    key: str = "",
) -> tuple[str, str]:
    """What is wrong with a certified answer, in words, empty where nothing is; and by which
    reference that is known."""
    over = unfit(inst, alloc)
    if over > 2e-9:
        return f"does not fit: {over:.2g} over", "fractions"
    name = notion.name
    if name == "max-min":
        ruled = inst.quotas is not None and alloc.notion["parameters"]["criterion"] == "tasks"
        levels = nested_apart if ruled else levels_apart
        return levels(inst, alloc) or "", "fractions"
    if name in LINEAR:
        best = float(LINEAR[name](inst, alloc))
        made = float(made_of(name, inst, alloc))
        said = "" if made >= best * (1 - WRONG) else f"makes {made:.9g}, exact {best:.9g}"
        return said, "fractions"
    if name in ("ps-dsf", "per-server-drf", "drf-hug"):
        return no_bottleneck(inst, alloc, notion) or "", "definition"
    if name == "bmf":
        return no_top(inst, alloc) or "", "definition"
    if name == "alpha-fair":
        truth = (truths or Truths()).share(key, inst, notion, alloc.tasks)
        if truth is not None:
            floor = NOTHING * due(inst, notion, alloc)
            had = already(inst)
            said = apart("proved share", alloc.shares + had, truth + had, floor, FAR)
            return said or "", "proof"
        if by_class.ranks(inst).any():
            return "", "nothing"
        if not inst.plain:
            return stingy(inst, notion, alloc), "linear program"
    return beside_another(inst, notion, alloc, seed) or "", "another method"


def already(inst: fo.Instance) -> Floats:
    """(N,) what each user had, which counts with its share."""
    return np.zeros(len(inst.users)) if inst.start is None else inst.start


def stingy(inst: fo.Instance, notion: Notion, alloc: fo.Allocation) -> str:
    """A user that could have more than what others lose by it is worth: they keep all but 1e-10 of
    theirs, which of users of much more money is much to a user of little."""
    q = rows.of_instance(inst, alloc.score, getattr(notion, "over", "floor"))
    log_w = welfare.log_weight(inst.weight, notion.alpha, notion.weight_inside)
    had = already(inst)
    log_money = log_w + (1 - notion.alpha) * np.log(np.maximum(alloc.shares + had, 1e-300))
    for n in range(q.users):
        could = pareto.could_have(q, alloc.shares, n)
        others = np.exp(np.minimum(np.delete(log_money, n) - log_money[n], 600.0)).sum()
        could = (could * alloc.shares[n] + had[n]) / (alloc.shares[n] + had[n])
        if could > 1 + STINGY + 2 * (1 - pareto.KEPT) * others:
            return f"user {n + 1} could have {could:.4g} times as much"
    return ""


def beside_another(
    inst: fo.Instance, notion: Notion, alloc: fo.Allocation, seed: int
) -> str | None:
    """The share furthest from that of other methods."""
    floor = NOTHING * due(inst, notion, alloc)
    found = other(inst, notion, "auto", reduce=False)
    said = found and apart("share unmerged", alloc.shares, found.shares, floor)
    if said or seed % OFTEN or inst.shape[1] > 2:
        return said
    found = other(inst, notion, "clarabel", reduce=False)
    return found and apart("share by another method", alloc.shares, found.shares, floor)


def nested_apart(inst: fo.Instance, alloc: fo.Allocation) -> str | None:
    """Shares beside those of the definition run in fractions, rules and all."""
    given = alloc.notion["parameters"]
    problem = nested.of_instance(
        inst, given["criterion"], "sum", above=given.get("over") == "above"
    )
    exact, _ = nested.shares(problem)
    return apart("exact share", alloc.shares, np.array([float(s) for s in exact]))


def levels_apart(inst: fo.Instance, alloc: fo.Allocation) -> str | None:
    """Levels beside the exact ones; where these hang on the last digit of a score, any will do
    that frozen users falling by no more than that digit allow."""
    said = None
    for slack in (Fraction(0), Fraction(1, 10**15), Fraction(1, 10**13)):
        levels = np.array([float(u) for u in max_min_levels(inst, alloc.score, slack)])
        found = apart("exact level", alloc.shares / inst.weight, levels)
        if found is None:
            return None
        said = said or found
    return said


def unfit(inst: fo.Instance, alloc: fo.Allocation) -> float:
    """The largest part by which anything is exceeded; inf for what may not be at all."""
    if not inst.plain:
        return broken(inst, alloc)
    worst, tasks = 0.0, alloc.tasks
    for i, row in enumerate(inst.pool.tolist()):
        for r, have in enumerate(row):
            used = sum(
                Fraction(float(x)) * Fraction(float(d))
                for x, d in zip(tasks[:, i], inst.demand_by_server[:, i, r], strict=True)
            )
            if have:
                worst = max(worst, float(used / Fraction(have)) - 1)
            elif used:
                return np.inf
    if (tasks < 0).any() or tasks[~inst.eligible].any():
        return np.inf
    return max(worst, float((tasks.sum(axis=1) / inst.limit).max()) - 1)


def broken(inst: fo.Instance, alloc: fo.Allocation) -> float:
    """The same with groups, ceilings, lending and modes: by exact sums, or a linear program where
    something flows."""
    q = rows.of_instance(inst, alloc.score)
    given = alloc.way_tasks if alloc.way_tasks is not None else alloc.tasks[inst.ways.owner]
    elsewhere = given.copy()
    elsewhere[q.way, q.server] = 0.0
    x = rows.exact(given[q.way, q.server])
    if min(x) < 0 or elsewhere.any():
        return np.inf
    if q.low:
        return 0.0 if pareto.keeps(q, x.astype(float)) else np.inf
    left = q.h - q.g @ x
    size = np.array([max(abs(h), max(abs(row * x))) for h, row in zip(q.h, q.g, strict=True)])
    return max((float(-r / s) for r, s in zip(left, size, strict=True) if s > 0), default=0.0)


def other(inst: fo.Instance, notion: Notion, solver: str, reduce: bool) -> fo.Allocation | None:
    """A certified answer by another way; None where it finds none."""
    try:
        return fo.solve(inst, notion, solver=solver, reduce=reduce)
    except fo.FairoptError:
        return None


def apart(
    what: str, ours: Floats, theirs: Floats, floor: Floats | float = 0.0, most: float = WRONG
) -> str | None:
    """The user furthest from its reference, if further than `most`."""
    a, b = np.maximum(ours, floor), np.maximum(theirs, floor)
    far = np.abs(a - b) / np.maximum(np.maximum(a, b), 1e-300)
    n = int(np.argmax(far))
    if far[n] <= most:
        return None
    return f"{what} of user {n + 1}: {theirs[n]:.9g}, ours {ours[n]:.9g}"


def due(inst: fo.Instance, notion: Notion, alloc: fo.Allocation) -> Floats:
    """(N,) what each user could have alone, times its part by W^(1/alpha)."""
    alone = (alloc.score * inst.alone).max(axis=1)
    alpha = getattr(notion, "alpha", 1.0)
    power = 1.0 if getattr(notion, "weight_inside", False) else 1.0 / alpha
    log_v = power * np.log(inst.weight)
    return alone * np.exp(log_v - np.logaddexp.reduce(log_v))


# -- linear programs, in fractions ----------------------------------------------------------------


def throughput(inst: fo.Instance, alloc: fo.Allocation) -> Fraction:
    n, i = (side.tolist() for side in inst.pairs)
    worth = [_f(inst.weight[a]) * _f(alloc.score[a, b]) for a, b in zip(n, i, strict=True)]
    rows, right = [], []
    for server in range(inst.shape[1]):
        for r in range(inst.shape[2]):
            rows.append(
                [
                    _f(inst.pair_demand[k, r]) if i[k] == server else Fraction(0)
                    for k in range(len(n))
                ]
            )
            right.append(_f(inst.pool[server, r]))
    for user in np.flatnonzero(np.isfinite(inst.limit)).tolist():
        rows.append([Fraction(int(a == user)) for a in n])
        right.append(_f(inst.limit[user]))
    return Dictionary(rows, right, worth).value


def common(inst: fo.Instance, alloc: fo.Allocation) -> Fraction:
    """max sum M_n / phi_n, M_n tasks of n on every machine that it may use."""
    users, servers, resources = inst.shape
    machines = inst.eligible * inst.count
    rows = [
        [_f(inst.demand_by_server[n, i, r]) * int(machines[n, i]) for n in range(users)]
        for i in range(servers)
        for r in range(resources)
    ]
    right = [_f(c) for c in inst.pool.ravel()]
    for n in np.flatnonzero(np.isfinite(inst.limit)).tolist():
        rows.append([Fraction(int(m == n) * int(machines[n].sum())) for m in range(users)])
        right.append(_f(inst.limit[n]))
    return Dictionary(rows, right, [1 / _f(w) for w in inst.weight]).value


def equal(inst: fo.Instance, alloc: fo.Allocation) -> Fraction:
    """The equal level exactly, then the most that can be made of what it leaves."""
    users, servers, resources = inst.shape
    base = [
        [_f(inst.weight[n]) * int(inst.eligible[n, i] * inst.count[i]) for i in range(servers)]
        for n in range(users)
    ]
    demand = inst.demand_by_server
    use = [
        [sum(base[n][i] * _f(demand[n, i, r]) for n in range(users)) for r in range(resources)]
        for i in range(servers)
    ]
    reach = [
        _f(inst.pool[i, r]) / use[i][r]
        for i in range(servers)
        for r in range(resources)
        if use[i][r]
    ] + [_f(inst.limit[n]) / sum(base[n]) for n in range(users) if np.isfinite(inst.limit[n])]
    level = min(reach)
    n, i = (side.tolist() for side in inst.pairs)
    gain = [_gain(inst, a, b) for a, b in zip(n, i, strict=True)]
    rows, right = [], []
    for b in range(servers):
        for r in range(resources):
            rows.append(
                [_f(demand[a, b, r]) if c == b else Fraction(0) for a, c in zip(n, i, strict=True)]
            )
            right.append(_f(inst.pool[b, r]) - level * use[b][r])
    for a in np.flatnonzero(np.isfinite(inst.limit)).tolist():
        rows.append([Fraction(int(c == a)) for c in n])
        right.append(_f(inst.limit[a]) - level * sum(base[a]))
    held = sum(_gain(inst, a, b) * level * base[a][b] for a, b in zip(n, i, strict=True))
    return held + Dictionary(rows, right, gain).value


def _gain(inst: fo.Instance, n: int, i: int) -> Fraction:
    part = sum(
        _f(d) / _f(c) for d, c in zip(inst.demand_by_server[n, i], inst.pool[i], strict=True) if d
    )
    return part * int(inst.count[i]) / _f(inst.weight[n])


def made_of(name: str, inst: fo.Instance, alloc: fo.Allocation) -> Fraction:
    """What the answer makes, in the objective of the linear program."""
    if name == "throughput":
        return sum(
            (_f(w) * _f(s) for w, s in zip(inst.weight, alloc.shares, strict=True)), Fraction(0)
        )
    if name == "sum-m":
        each = np.where(inst.eligible, alloc.tasks / inst.count, np.inf).min(axis=1)
        return sum((_f(x) / _f(w) for x, w in zip(each, inst.weight, strict=True)), Fraction(0))
    pairs = zip(*(side.tolist() for side in inst.pairs), strict=True)
    return sum((_gain(inst, n, i) * _f(alloc.tasks[n, i]) for n, i in pairs), Fraction(0))


LINEAR = {"throughput": throughput, "sum-m": common, "equal-m": equal}


def _f(number: float) -> Fraction:
    return Fraction(float(number))


# -- bottlenecks, by definition -------------------------------------------------------------------


def no_bottleneck(inst: fo.Instance, alloc: fo.Allocation, notion: Notion) -> str | None:
    """A user without a full resource whose holders are no higher, on a server it may use."""
    timed = getattr(notion, "division", "rdm") == "tdm"
    here = notion.name != "ps-dsf"
    x, users = alloc.tasks, range(inst.shape[0])
    for i in range(inst.shape[1]):
        members = [n for n in users if inst.eligible[n, i]]
        alone = {n: inst.alone[n, i] for n in members}
        amount = {n: x[n, i] if here else x[n].sum() for n in members}
        level = {n: amount[n] / inst.weight[n] / alone[n] for n in members}
        if timed:
            part = [{n: 1 / alone[n] for n in members}]
        else:
            part = [
                {n: inst.demand_by_server[n, i, r] / inst.pool[i, r] for n in members}
                for r in range(inst.shape[2])
                if inst.pool[i, r] > 0
            ]
        for n in members:
            if x[n].sum() >= inst.limit[n] * (1 - WRONG):
                continue
            if not any(_stops(n, use, x[:, i], amount, level) for use in part if use[n] > 0):
                return f"no bottleneck for user {n + 1} on server {i + 1}"
    return None


def _stops(
    n: int, use: dict[int, float], x: Floats, amount: dict[int, float], level: dict[int, float]
) -> bool:
    """Full but for what n could hardly feel, and nothing above n's level that n could feel."""
    own = use[n] * amount[n]
    held = {m: use[m] * x[m] for m in use if use[m] * x[m] > 0}
    left = 1 - float(sum((Fraction(h) for h in held.values()), Fraction(0)))
    if not held or left > WRONG * min(own, 1.0) + ROUNDING:
        return False
    above = sum(h * max(1 - level[n] / level[m], 0.0) for m, h in held.items() if level[m] > 0)
    worst = max((1 - level[n] / level[m] for m in held if level[m] > 0), default=0.0)
    return worst <= WRONG or above <= WRONG * own


def no_top(inst: fo.Instance, alloc: fo.Allocation) -> str | None:
    """A user that has the largest share, by weight, of no full resource (bonald2015 2.5)."""
    x, resources = alloc.totals, range(inst.shape[2])
    for n in range(inst.shape[0]):
        if x[n] >= inst.limit[n] * (1 - WRONG):
            continue
        for r in resources:
            have = inst.pool[0, r]
            if not (have and inst.demand_by_server[n, 0, r]):
                continue
            share = inst.demand_by_server[:, 0, r] * x / have
            left = 1 - float(sum((_f(s) for s in share), Fraction(0)))
            by_weight = share / inst.weight
            top = by_weight[n] >= by_weight.max() * (1 - WRONG)
            if top and left <= WRONG * share[n] + ROUNDING:
                break
        else:
            return f"user {n + 1} has no bottleneck"
    return None
