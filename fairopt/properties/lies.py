"""Strategy-proofness: nobody runs more by lying about its demand or the servers it may use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.errors import BadInput
from fairopt.instance import Bools, Floats, Instance
from fairopt.instance.quotas import Mode
from fairopt.notions import Notion
from fairopt.properties.compared import most
from fairopt.properties.searching import (
    TOLERANCE,
    Point,
    PointSearch,
    Searched,
    proved,
    remark,
    truth_of,
)

_FACTORS = (0.5, 0.8, 0.95, 1.05, 1.25, 2.0)
_CLAIMS = (0.05, 0.3, 1.0)
"""share of an unneeded resource that a lie claims, as a part of the liar's dominant share"""

Fixed = tuple[int, tuple[bool, ...], tuple[bool, ...]]
"""the liar, the resources it claims (R,), the servers it claims (I,)"""


@dataclass(frozen=True, eq=False)
class ShareLie:
    """A false claim of one user about its demand and its eligible servers.

    Parameters
    ----------
    user : position of the liar.
    demand : (R,), or (I, R) where demand depends on the server; the claimed demand of a task. Of a
        user with modes in place of its reference; the modes change in proportion.
    placement : (I,) bool, the servers claimed to be eligible.
    """

    user: int
    demand: Floats
    placement: Bools

    def told(self, instance: Instance) -> Instance:
        """The instance with the claim in place of the truth."""
        demand, placement = instance.demand.copy(), instance.placement.copy()
        demand[self.user], placement[self.user] = self.demand, self.placement
        user, modes = instance.users[self.user], dict(instance.modes or {})
        if user not in modes:
            return instance.replace(demand=demand, placement=placement)
        claims = [self._claim(instance, mode) for mode in modes[user]]
        if all(mode.demand is not None for mode in claims):
            demand[self.user] = 0.0  # there is nothing but the modes' own
        return instance.replace(demand=demand, placement=placement, modes={**modes, user: claims})

    def _claim(self, instance: Instance, mode: Mode) -> Mode:
        """A mode as it is claimed: what it demands, times what the reference is claimed to; what
        the reference does not demand is added."""
        if mode.demand is None:
            return mode
        claimed, true = np.atleast_2d(self.demand)[0], np.atleast_2d(instance.demand[self.user])[0]
        own = np.asarray(mode.demand)
        part = np.divide(own, true, out=np.zeros_like(true), where=true > 0)
        told = np.where(true > 0, part * claimed, own + claimed)
        return replace(mode, demand=tuple(told.tolist()))


def truly_runs(instance: Instance, lie: ShareLie, tasks: Floats) -> float:
    r"""Tasks the liar really runs with what it is given, (46) of khamse2016.

    .. math:: \sum_{i: \delta_{n,i} = 1} \min_{r: d_{n,r} > 0} x'_{n,i} d'_{n,r} / d_{n,r}

    over the servers it may truly use, and at most its limits; with modes, the most output of what
    it is given.

    Parameters
    ----------
    instance : the truth. tasks : (K, I), the answer to the lie, by way; (N, I) without modes.
    """
    own = instance.ways.of(lie.user)
    with_modes = instance.users[lie.user] in (instance.modes or {})
    claimed = lie.told(instance).ways.demand[own] if with_modes else lie.demand[None]
    each = claimed if claimed.ndim == 3 else claimed[:, None, :]
    given = (tasks[own, :, None] * each).sum(axis=0)
    return float(most(instance, lie.user, given[None])[0])


def strategy_proof(
    instance: Instance, notion: Notion, trials: int = 1000, seed: int = 0
) -> Searched:
    """No lie that was tried lets a user truly run more tasks than the truth does.

    The lies change demand (a resource up or down, a resource not needed, another user's demand),
    eligible servers (one dropped or added), or both; then come random lies, then Nelder-Mead from
    the best lie found. Weights and limits are public and cannot be lied about.

    Parameters
    ----------
    instance : the truth. notion : the notion that divides the resources.
    trials : lies tried, over all users; each is one solve. seed : of the random lies.

    Returns
    -------
    Searched : residual is (after - truth) / after for the best lie; tolerance 1e-4.
        `found` is the best lie: user, demand, servers, truth, after (tasks truly run), gain
        (after/truth - 1, None where the truth gives nothing), tasks (given, by server).

    Raises
    ------
    NotCertified, UsageError, ... : as `solve` on the truth.
    UsageError : trials below 1.

    Examples
    --------
    >>> from fairopt.notions import ProportionalFair
    >>> pool = Instance([[0.5, 1], [1, 0.5]], [[1, 1]])
    >>> strategy_proof(pool, ProportionalFair(), trials=150).found["gain"] > 0.12
    True
    """
    truth = truth_of(instance, notion)

    def value(what: Fixed, numbers: Floats) -> float | None:
        lie = _lie(instance, what, numbers)
        answer = _told(instance, notion, lie)
        gain = None if answer is None else _gain(instance, truth, lie, answer)
        if gain is None or gain <= TOLERANCE:
            return gain
        # the split over servers need not be unique, so the lie is judged by the answer of `solve`
        answer = _told(instance, notion, lie, full=True)
        return None if answer is None else _gain(instance, truth, lie, answer)

    search = PointSearch(value, trials, seed)
    residual, point = search.run(_starts(instance), lambda rng: _draw(instance, rng))
    found: dict[str, Any] = {}
    witness = f"no lie of {search.tried} gains"
    if point is not None:
        lie = _lie(instance, *point)
        answer = _told(instance, notion, lie, full=True)
        if answer is not None:
            found = described(instance, truth, lie, answer)
        if residual > TOLERANCE:
            witness = in_words(instance, lie, found) + remark(notion)
    return search.said("strategy-proof", residual, witness, found)


def described(
    instance: Instance, truth: Allocation, lie: ShareLie, answer: Allocation
) -> dict[str, Any]:
    """A lie and its outcome as plain data, by name."""
    n = lie.user
    before, after = float(truth.outputs[n]), truly_runs(instance, lie, answer.by_way)
    rows = dict(zip(instance.servers, np.atleast_2d(lie.demand), strict=False))
    plain = {s: _by_name(row, instance.resources) for s, row in rows.items()}
    return {
        "user": instance.users[n],
        "demand": plain if lie.demand.ndim == 2 else _by_name(lie.demand, instance.resources),
        "servers": [s for s, on in zip(instance.servers, lie.placement, strict=True) if on],
        "truth": before,
        "after": after,
        "gain": after / before - 1.0 if before > 0 else None,
        "tasks": _by_name(answer.tasks[n], instance.servers),
    }


def in_words(instance: Instance, lie: ShareLie, found: dict[str, Any]) -> str:
    """The liar, its gain and its claim in words; only what differs from the truth is named."""
    n = lie.user
    gain = found["gain"]
    change = ""
    if gain is not None:
        change = f" ({100 * abs(gain):.3g}% {'less' if gain < 0 else 'more'})"
    claims = []
    told = np.atleast_2d(lie.demand)
    true = np.atleast_2d(instance.demand[n])
    for r, resource in enumerate(instance.resources):
        k = int(np.abs(told[:, r] - true[:, r]).argmax())
        if told[k, r] != true[k, r]:
            where = f" on {instance.servers[k]}" if len(told) > 1 else ""
            claims.append(f"{told[k, r]:.6g} {resource}{where} (truth {true[k, r]:.6g})")
    if (lie.placement != instance.placement[n]).any():
        names = zip(instance.servers, instance.placement[n], strict=True)
        allowed = ", ".join(s for s, on in names if on)
        claims.append(f"servers {', '.join(found['servers'])} (truth {allowed})")
    return (
        f"{found['user']} runs {found['after']:.6g} tasks instead of {found['truth']:.6g}{change} "
        f"by claiming {' and '.join(claims) or 'the truth'}"
    )


def _gain(instance: Instance, truth: Allocation, lie: ShareLie, answer: Allocation) -> float:
    """(after - before) / max(after, before), between -1 and 1."""
    before, after = float(truth.outputs[lie.user]), truly_runs(instance, lie, answer.by_way)
    # a user that gets nothing may be left a rounding error, which counts as nothing
    least = 1e-9 * float(instance.alone[lie.user].sum())
    most = max(before, after)
    return (after - before) / most if most > least else 0.0


def _told(
    instance: Instance, notion: Notion, lie: ShareLie, full: bool = False
) -> Allocation | None:
    """The certified answer to a lie; with `full` the one that `solve` gives."""
    try:
        return proved(lie.told(instance), notion, full)
    except BadInput:  # an impossible lie: it leaves the user eligible nowhere
        return None


def _lie(instance: Instance, what: Fixed, numbers: Floats) -> ShareLie:
    """The lie of a point of the search, which fixes the user and its resources and servers.

    The numbers are logarithms of factors, one per claimed resource. A factor multiplies the true
    demand or, for a resource not needed, an amount equal to the user's dominant share of the pool.
    """
    n, claimed, servers = what
    demand = instance.demand[n].copy()
    total = instance.pool.sum(axis=0)
    dominant = float((np.atleast_2d(demand) / np.where(total > 0, total, 1.0)).max())
    for r, log in zip(np.flatnonzero(claimed), numbers, strict=True):
        if (demand[..., r] > 0).any():
            demand[..., r] *= np.exp(log)
        else:
            demand[..., r] = dominant * total[r] * np.exp(log)
    return ShareLie(n, demand, np.array(servers))


def _starts(instance: Instance) -> list[Point]:
    """Structured lies, one of each kind for every user first, so that thinning keeps every kind."""
    found: list[Point] = []
    for n in range(len(instance.users)):
        needs = _needs(instance, n)
        own = tuple(bool(on) for on in instance.placement[n])
        size = int(needs.sum())
        mine = (n, tuple(needs), own)
        for factor in _FACTORS:
            found.append((mine, np.full(size, np.log(factor))))
            found += [(mine, np.log(factor) * row) for row in np.eye(size)] if size > 1 else []
        found += _other_demands(instance, n, needs, own)
        for servers in _other_servers(instance, n):
            found.append(((n, tuple(needs), servers), np.zeros(size)))
            found += [
                ((n, tuple(needs), servers), np.log(f) * row)
                for f in (0.8, 1.25)
                for row in np.eye(size)
            ]
    return found


def _other_demands(instance: Instance, n: int, needs: Bools, own: tuple[bool, ...]) -> list[Point]:
    """Lies that claim unneeded resources, another user's demand, or it on top of the true one."""
    found: list[Point] = []
    total = instance.pool.sum(axis=0)
    for r in np.flatnonzero(~needs & (total > 0)):
        claimed = needs.copy()
        claimed[r] = True
        at = int(claimed[:r].sum())
        for part in _CLAIMS:
            numbers = np.zeros(int(claimed.sum()))
            numbers[at] = np.log(part)
            found.append(((n, tuple(claimed), own), numbers))
    if instance.demand.ndim == 3:
        return found
    true = instance.demand[n]
    dominant = float((true / np.where(total > 0, total, 1.0)).max()) * total
    for m, other in enumerate(instance.demand):
        if m == n:
            continue
        claimed = needs | ((other > 0) & (total > 0))
        base = np.where(needs, true, dominant)[claimed]
        # a user that denies a resource it needs would get none of it, and run nothing
        copy = np.where(other[claimed] > 0, other[claimed], base)
        for told in (copy, np.maximum(copy, np.where(needs, true, 0.0)[claimed])):
            found.append(((n, tuple(claimed), own), np.log(told / base)))
    return found


def _other_servers(instance: Instance, n: int) -> list[tuple[bool, ...]]:
    """Server sets with one dropped, one alone, one added or all; a useful server is always kept."""
    own = instance.placement[n]
    useful = instance.eligible[n]
    found: list[Bools] = []
    for i in range(len(own)):
        flipped = own.copy()
        flipped[i] = not own[i]
        found.append(flipped)
        found.append(np.arange(len(own)) == i)
    found.append(np.ones(len(own), dtype=bool))
    seen = {tuple(bool(on) for on in row) for row in found if (row & useful).any()}
    seen.discard(tuple(bool(on) for on in own))
    return sorted(seen)


def _draw(instance: Instance, rng: np.random.Generator) -> Point:
    """A random lie: any user, factors around 1, sometimes other servers or resources."""
    n = int(rng.integers(len(instance.users)))
    needs = _needs(instance, n)
    claimed = needs | ((rng.random(len(needs)) < 0.2) & (instance.pool.sum(axis=0) > 0))
    servers = tuple(bool(on) for on in instance.placement[n])
    others = _other_servers(instance, n)
    if others and rng.random() < 0.4:
        servers = others[int(rng.integers(len(others)))]
    spread = float(rng.choice([0.05, 0.3, 1.0]))
    return (n, tuple(claimed), servers), rng.normal(0.0, spread, int(claimed.sum()))


def _needs(instance: Instance, n: int) -> Bools:
    """(R,) resources of which user n needs something on some server."""
    return np.array((np.atleast_2d(instance.demand[n]) > 0).any(axis=0), ndmin=1)


def _by_name(row: Floats, names: tuple[str, ...]) -> dict[str, float]:
    return {name: float(x) for name, x in zip(names, row, strict=True) if x != 0}
