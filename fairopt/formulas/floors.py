r"""Guarantees as floors: the share that every user gets at the least (docs/maths/quotas.md).

A guarantee is a bundle: amounts of resources, for a user or a group, on the servers of a flavor. It
is made a floor sigma_n of each member: the share that it has when its group's own problem is solved
on the bundle alone, as one pool. So nobody is given resources that it cannot use, and nodes decide
only whether the floors fit.

* A resource that the bundle does not name does not hold anybody back; who needs none of those
  named has no floor from it.
* A bundle on a flavor counts on its servers only. The floors of several flavors add up; one that
  names no flavor is another promise, and the larger counts.
* A group's bundle is divided by the notion of the whole problem, with the floors of bundles below
  it kept; where these do not fit in, it gives nothing more.
* Where a task differs by server, or can be run in several ways, the bundle is taken at the way
  that gets most out of it, with the largest demand and the smallest score among its servers.

This module knows no program and no solver: engines and judges both call it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from fairopt.formulas.targets import Jump, PathPoint, TargetTree
from fairopt.instance import Bools, Floats, Ints

FULL = 1e-12
"""part of a bundle that is rounding"""
TOGETHER, NEWTON, EXACT = 10, 40, 1e-14
"""sweeps between Newton steps, most of those at a time, the part of a row missed that ends it"""
SWEEPS = 5_000
"""most rounds over the prices of a bundle's resources"""


@dataclass(frozen=True)
class Bundle:
    """A guarantee of one flavor: node, servers (I,) bool, amount (R,), NaN where none is named."""

    node: int
    servers: Bools
    amount: Floats


@dataclass(frozen=True)
class ScoredWays:
    """How users run tasks: owner (K,), eligible (K, I), demand (K, R) or (K, I, R), score (K, I),
    limit (N,)."""

    owner: Ints
    eligible: Bools
    demand: Floats
    score: Floats
    limit: Floats


@dataclass(frozen=True)
class Division:
    """How a group's bundle is divided: by alpha-fairness, or by max-min if alpha is None.

    weight : (N,) of the users for alpha-fairness, log W. tree : of max-min.
    """

    tree: TargetTree
    alpha: float | None = None
    log_w: Floats | None = None


def floors(ways: ScoredWays, bundles: list[Bundle], tasks: Floats, rule: Division) -> Floats:
    """(N,) the floors in shares.

    Parameters
    ----------
    bundles : one for each member and flavor. tasks : (N,) guaranteed in tasks, at the best score.
    """
    users = len(ways.limit)
    best = np.zeros(users)
    np.maximum.at(best, ways.owner, np.where(ways.eligible, ways.score, 0.0).max(axis=1))
    most = np.where(np.isfinite(ways.limit), ways.limit, np.inf) * best
    flavors: dict[bytes, list[Bundle]] = {}
    for bundle in bundles:
        flavors.setdefault(bundle.servers.tobytes(), []).append(bundle)
    whole, parts = np.zeros(users), np.zeros(users)
    for group in flavors.values():
        found = _of_flavor(ways, group, rule, most)
        if group[0].servers.all():
            whole = found
        else:
            parts += found
    return np.minimum(np.maximum(np.maximum(whole, parts), tasks * best), most)


def _of_flavor(ways: ScoredWays, bundles: list[Bundle], rule: Division, most: Floats) -> Floats:
    """(N,) floors from the bundles of one flavor, those of groups after those inside them."""
    users = len(ways.limit)
    floor = np.zeros(users)
    for bundle in sorted(bundles, key=lambda b: -b.node):  # children have larger numbers
        named = np.flatnonzero(~np.isnan(bundle.amount))
        below = rule.tree.below(bundle.node)
        below[bundle.node] = True
        inside = below[rule.tree.leaf]
        use = _use(ways, bundle, named, inside)
        members = inside & (use > 0).any(axis=1) & np.isfinite(use).all(axis=1)
        room = bundle.amount[named] - floor[members] @ use[members]
        if not members.any() or (room < -FULL * bundle.amount[named]).any():
            continue
        if rule.alpha is None:
            floor = _filled(rule.tree, bundle.node, use, bundle.amount[named], floor, members, most)
        else:
            assert rule.log_w is not None
            floor[members] = _fair(
                rule.log_w[members],
                rule.alpha,
                use[members],
                bundle.amount[named],
                floor[members],
                most[members],
            )
    return floor


def _use(ways: ScoredWays, bundle: Bundle, named: Ints, inside: Bools) -> Floats:
    """(N, named) what a unit of share takes of the bundle, of the users inside; inf of others, and
    where it cannot run."""
    mine = np.flatnonzero(inside[ways.owner])
    can = ways.eligible[mine] & bundle.servers[None, :]
    demand = (ways.demand if ways.demand.ndim == 3 else ways.demand[:, None, :])[mine]
    need = np.where(can[:, :, None], demand, 0.0).max(axis=1)[:, named]
    score = np.where(can, ways.score[mine], np.inf).min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        use = np.where(np.isfinite(score)[:, None], need / score[:, None], np.inf)
        # share from the whole bundle
        alone = np.where(use > 0, bundle.amount[named] / use, np.inf).min(axis=1)
    found = np.full((len(ways.limit), len(named)), np.inf)
    top = np.full(len(ways.limit), -1.0)
    for k, n in enumerate(ways.owner[mine].tolist()):
        if alone[k] > top[n] and np.isfinite(score[k]):
            found[n], top[n] = use[k], alone[k]
    return found


def _filled(
    tree: TargetTree,
    node: int,
    use: Floats,
    amount: Floats,
    floor: Floats,
    members: Bools,
    most: Floats,
) -> Floats:
    """(N,) floors after the members' targets in the group rise from their floors in one pool."""
    point = PathPoint.start(_below(tree, node), floor, members)
    need = np.where(members[:, None], use, 0.0)
    while point.free.any():
        piece = point.piece()
        line = piece.end.due - point.due if isinstance(piece, Jump) else piece.slope
        with np.errstate(divide="ignore", invalid="ignore"):
            pace = line @ need
            rows = np.where(pace > 0, np.maximum(amount - point.due @ need, 0.0) / pace, np.inf)
            own = np.where(line > 0, np.maximum(most - point.due, 0.0) / line, np.inf)
        step = float(min(rows.min(), own.min()))
        length = 1.0 if isinstance(piece, Jump) else float(piece.until - point.t)
        if step >= length:
            point = piece.at(1 if isinstance(piece, Jump) else piece.until)
            continue
        point = piece.at(step if isinstance(piece, Jump) else point.t + step)
        full = rows <= step * (1 + FULL)
        point = point.freeze((need[:, full] > 0).any(axis=1) | (own <= step * (1 + FULL)))
    return np.where(members, point.due, floor)


def _below(tree: TargetTree, node: int) -> TargetTree:
    """The tree with a node as its root: users elsewhere stand right below it, and are not free."""
    if node == 0:
        return tree
    keep = tree.below(node)
    parent = np.where(keep & (tree.parent != node), tree.parent, 0)
    parent[0] = -1
    return TargetTree.of(parent, tree.weight, tree.leaf, tree.use)


def _fair(
    log_w: Floats, alpha: float, use: Floats, amount: Floats, floor: Floats, most: Floats
) -> Floats:
    """(n,) alpha-fair shares of one pool, at least `floor` and at most `most`.

    Prices of the resources are raised and lowered one after another until each is just full, or
    free: every sweep lowers the (convex, smooth) dual. Where demands are nearly parallel, sweeps
    hardly move, and Newton steps on all prices together end it.
    """
    price = np.full(len(amount), 1.0)
    unit = 1.0 / np.where(use > 0, use, 0.0).sum(axis=0).clip(1e-300)

    def shares(p: Floats) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            wanted = np.exp((log_w - np.log(use @ p)) / alpha)
        return np.clip(wanted, floor, most)

    def free(p: Floats) -> Bools:
        taken = shares(p)
        return np.asarray((taken > floor) & (taken < most))

    def excess(p: Floats, r: int) -> float:
        taken = shares(p)
        needs = use[:, r] > 0
        return float(taken[needs] @ use[needs, r]) - float(amount[r])

    def changed(p: Floats, r: int, value: float) -> float:
        return excess(_with(p, r, value), r)

    def missed(p: Floats) -> float:
        """The largest part by which a row is overrun, or left though it has a price."""
        part = (shares(p) @ use - amount) / amount
        return float(np.where(p > 0, np.abs(part), np.maximum(part, 0.0)).max())

    price = price * unit
    for sweep in range(SWEEPS):
        before = price.copy()
        for r in range(len(amount)):
            price[r] = _cleared(partial(changed, price, r), before[r])
        if np.abs(price - before).max() <= 1e-15 * price.max():
            break
        if sweep % TOGETHER == 0:
            price = _together(price, use, amount, alpha, shares, free, missed)
            if missed(price) <= EXACT:
                break
    price = _together(price, use, amount, alpha, shares, free, missed)
    found = shares(price)
    return np.where(np.isfinite(found), found, floor)


def _together(price, use, amount, alpha, shares, free, missed) -> Floats:  # type: ignore[no-untyped-def]
    """Prices after Newton steps of the dual, each halved until less is missed."""
    with np.errstate(all="ignore"):
        error = missed(price)
        for _ in range(NEWTON):
            taken, cost = shares(price), use @ price
            over = taken @ use - amount
            on = (price > 0) | (over > 0)
            # who is at its floor or limit does not move with prices
            bend = np.where(free(price), taken / (alpha * cost), 0.0)
            curve = (use * bend[:, None]).T @ use
            step = np.zeros_like(price)
            step[on] = np.linalg.lstsq(curve[np.ix_(on, on)], over[on], rcond=1e-15)[0]
            # up to where the first price falls to 0, and leaves
            room = np.where(step < 0, price / -step, np.inf)
            most = min(1.0, float(room.min()))
            tried = [
                np.where(part * most >= room, 0.0, price + part * most * step)
                for part in 0.5 ** np.arange(12)
            ]
            errors = [missed(one) for one in tried]
            best = int(np.argmin(errors))
            if not errors[best] < error:
                break
            price, error = tried[best], errors[best]
    found: Floats = price
    return found


def _with(price: Floats, r: int, value: float) -> Floats:
    changed = price.copy()
    changed[r] = value
    return changed


def _cleared(excess, near: float) -> float:  # type: ignore[no-untyped-def]
    """The price at which the excess is 0; 0 if there is none even then."""
    if excess(0.0) <= 0:
        return 0.0
    high = max(near, 1e-300)
    while excess(high) > 0 and high < 1e300:
        high *= 4.0
    low = high / 4.0
    while low > 1e-300 and excess(low) <= 0:
        low, high = low / 4.0, low
    for _ in range(80):
        middle = 0.5 * (low + high)
        if excess(middle) > 0:
            low = middle
        else:
            high = middle
    return high
