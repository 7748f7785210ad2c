"""Identical users and servers are solved as one, exactly, and the answer is split afterwards.

`reduce` gives the smaller problem, and `Reduction.expand` the answer of the original instance,
prices included, which is judged there. No solver is imported here. Proofs: docs/maths/reduction.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairopt.instance import Floats, Instance, Ints, sealed
from fairopt.notions import Notion
from fairopt.notions.notion import Merging
from fairopt.solving.reduce.groups import BLOCK, Groups
from fairopt.solving.reduce.merging import merge
from fairopt.solving.reduce.unused import UsedRows, never_binding


@dataclass(frozen=True, eq=False)
class Reduction:
    """A smaller problem with the same answer.

    Parameters
    ----------
    original : the instance reduced.
    instance, notion, score : the problem to solve, of G users, H servers and r resources; score
        (G, H), or None if the notion has none.
    users, servers : groups of the original's users and servers; each is one of `instance`.
    user_part, server_part : (N,) and (I,), the part of its group's tasks that each gets.
    resources : (r,) positions of the original's resources that are kept.
    steps : what was done, as plain data; empty if nothing was.
    """

    original: Instance
    instance: Instance
    notion: Notion
    score: Floats | None
    users: Groups
    servers: Groups
    user_part: Floats
    server_part: Floats
    resources: Ints
    steps: tuple[dict[str, Any], ...]

    def expand(
        self,
        tasks: Floats,
        prices: Floats | None = None,
        limit_prices: Floats | None = None,
        level_prices: Floats | None = None,
    ) -> tuple[Floats, Floats | None, Floats | None, Floats | None]:
        """The answer of `instance` as one of the original; None stays None.

        All servers of a group have the same prices, all users of a group the same price of their
        limits; a resource that was left out because it never binds has the price 0.

        Parameters
        ----------
        tasks : (G, H). prices : (H, r). limit_prices : (G,). level_prices : (K, H, r).

        Returns
        -------
        tasks (N, I), prices (I, R), limit_prices (N,), level_prices (K, I, R).
        """
        if not self.steps:
            return tasks, prices, limit_prices, level_prices
        x = tasks
        if self.servers.merged:
            x = sealed(x[:, self.servers.of] * self.server_part)
        if self.users.merged:
            x = sealed(_spread(x, self.users.of, self.user_part))
        mu = None if limit_prices is None else limit_prices[self.users.of]
        return x, self._priced(prices), mu, self._priced(level_prices)

    def _priced(self, prices: Floats | None) -> Floats | None:
        """(..., I, R) prices of the original from those (..., H, r) of the groups."""
        if prices is None:
            return None
        found = np.zeros((*prices.shape[:-2], *self.original.pool.shape))
        found[..., self.resources] = prices[..., self.servers.of, :]
        return found

    def renamed(self, steps: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        """The steps of the reduction and then those of the solver, with the original's names.

        A merged user or server is replaced by all members of its group. Only steps of levels name
        users ("users", "at limit") and servers ("full").
        """
        if not (self.users.merged or self.servers.merged):
            return (*self.steps, *steps)
        users = _members(self.users, self.original.users)
        servers = _members(self.servers, self.original.servers)
        return (*self.steps, *(_in_full(step, users, servers) for step in steps))


def reduce(instance: Instance, notion: Notion, score: Floats | None = None) -> Reduction:
    """The smaller problem of a notion, by the rule that it states (`Notion.merging`).

    Parameters
    ----------
    instance : the cluster.
    notion : the notion of fairness; without a rule nothing is merged.
    score : (N, I), the scores on the ORIGINAL instance, if the notion has a criterion.
    """
    instance.only_linear("reduce")
    instance.only_plain("reduce")
    rule = notion.merging
    if rule is None:
        return _unchanged(instance, notion, score)
    small = _merged(instance, notion, score, rule)
    inside = small.instance
    rows = UsedRows(inside.demand, inside.pool, inside.eligible, inside.limit)
    dropped = never_binding(rows, rule.alone_matters)
    if len(dropped):
        small = _composed(small, _without(small, dropped))
        # users and servers that differed only in the resources left out can be merged now
        again = small.notion.merging
        assert again is not None
        small = _composed(small, _merged(small.instance, small.notion, small.score, again))
    if small.instance.shape == instance.shape:
        return _unchanged(instance, notion, score)
    return replace(small, steps=(_step(small, dropped),))


def _step(small: Reduction, dropped: Ints) -> dict[str, Any]:
    """What was merged and dropped, as plain data."""
    before, after = small.original.shape, small.instance.shape
    step: dict[str, Any] = {
        "step": "reduce",
        "users": [before[0], after[0]],
        "servers": [before[1], after[1]],
    }
    if len(dropped):
        step["never binding"] = [small.original.resources[r] for r in sorted(dropped)]
    return step


def _unchanged(instance: Instance, notion: Notion, score: Floats | None) -> Reduction:
    users, servers, resources = instance.shape
    return Reduction(
        instance,
        instance,
        notion,
        score,
        Groups.single(users),
        Groups.single(servers),
        np.ones(users),
        np.ones(servers),
        np.arange(resources),
        (),
    )


def _merged(instance: Instance, notion: Notion, score: Floats | None, rule: Merging) -> Reduction:
    """Equal users and servers as one."""
    found = merge(instance, notion, rule, score)
    if not (found.users.merged or found.servers.merged):
        return _unchanged(instance, notion, score)
    n, i = found.users.first, found.servers.first
    where = np.ix_(n, i)
    demand = instance.demand[n] if instance.demand.ndim == 2 else instance.demand[where]
    small = Instance(
        demand,
        found.capacity,
        instance.eligible[where],
        found.weight,
        found.limit,
        found.count,
        [instance.users[k] for k in n],
        [instance.servers[k] for k in i],
        instance.resources,
    )
    return Reduction(
        instance,
        small,
        found.notion,
        None if score is None else score[where],
        found.users,
        found.servers,
        found.user_part,
        found.server_part,
        np.arange(instance.shape[2]),
        (),
    )


def _without(small: Reduction, dropped: Ints) -> Reduction:
    """The reduced problem without the resources dropped, as a reduction of it."""
    inside = small.instance
    kept = np.setdiff1d(np.arange(inside.shape[2]), dropped)
    fewer = inside.replace(
        demand=inside.demand[..., kept],
        capacity=inside.capacity[:, kept],
        placement=inside.eligible,
        resources=[inside.resources[r] for r in kept],
    )
    return replace(_unchanged(inside, small.notion, small.score), instance=fewer, resources=kept)


def _composed(first: Reduction, second: Reduction) -> Reduction:
    """Two reductions, one after the other, as one."""
    users, servers = first.users.of, first.servers.of
    return replace(
        second,
        original=first.original,
        users=Groups(second.users.of[users], first.users.first[second.users.first]),
        servers=Groups(second.servers.of[servers], first.servers.first[second.servers.first]),
        user_part=first.user_part * second.user_part[users],
        server_part=first.server_part * second.server_part[servers],
        resources=first.resources[second.resources],
    )


def _spread(x: Floats, of: Ints, part: Floats) -> Floats:
    """(N, I) for each user the row of its group in x (G, I), times its part; cache-sized blocks."""
    found = np.empty((len(of), x.shape[1]))
    step = max(1, BLOCK // x.shape[1])
    for begin in range(0, len(of), step):
        rows = slice(begin, begin + step)
        np.multiply(x[of[rows]], part[rows, None], out=found[rows])
    return found


def _members(groups: Groups, names: tuple[str, ...]) -> dict[str, list[str]]:
    """Names of all members of each group, by the name of the first."""
    found: list[list[str]] = [[] for _ in groups.first]
    for group, name in zip(groups.of.tolist(), names, strict=True):
        found[group].append(name)
    return {members[0]: members for members in found}


def _in_full(
    step: dict[str, Any], users: dict[str, list[str]], servers: dict[str, list[str]]
) -> dict[str, Any]:
    if step.get("step") != "level":
        return step
    return {
        **step,
        "users": [name for user in step["users"] for name in users[user]],
        "full": [[name, r] for server, r in step["full"] for name in servers[server]],
        "at limit": [name for user in step["at limit"] for name in users[user]],
    }


__all__ = ["Reduction", "reduce"]
