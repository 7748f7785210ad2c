"""Merge equal users and equal servers, and tell how the merged answer is split among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.instance import Floats, Instance, Ints
from fairopt.notions import Notion
from fairopt.notions.notion import Merging
from fairopt.solving.reduce.groups import Groups, equal_lines
from fairopt.solving.reduce.products import equal_products
from fairopt.solving.reduce.rules import limit_keys, shares_of

MACHINES = 2**53
"""larger counts of machines are refused"""


@dataclass(frozen=True, eq=False)
class Merged:
    """The groups, and what is needed to build the merged problem and to split its answer.

    Parameters
    ----------
    users, servers : the groups.
    user_part, server_part : (N,) and (I,), the part of its group's tasks that each gets.
    weight, limit : (G,) of the groups of users.
    notion : the notion for these weights (the weight may have moved inside).
    capacity, count : (H, R) and (H,), of the groups of servers.
    """

    users: Groups
    servers: Groups
    user_part: Floats
    server_part: Floats
    weight: Floats
    limit: Floats
    notion: Notion
    capacity: Floats
    count: Ints


def merge(
    instance: Instance,
    notion: Notion,
    rule: Merging,
    score: Floats | None,
    alike: tuple[Ints, Ints] | None = None,
) -> Merged:
    """Merge all users and servers that the rule allows.

    alike : (N,) and (I,) numbers that must be equal too, of users and of servers.
    """
    limit = _limits(instance) if instance.modes is None else instance.limit
    users = _users(instance, rule, score, limit, [] if alike is None else [alike[0][:, None]])
    part, weight = np.ones(len(users.of)), instance.weight
    if users.merged:
        part, weight, notion = shares_of(instance, notion, rule, limit, users)
        limit = users.sums(limit)
    servers, machines = _servers(instance, rule, score, users, alike)
    capacity, count = _merged_capacity(instance, servers, machines)
    server_part = np.ones(len(machines))
    if servers.merged:
        server_part = machines / servers.sums(machines)[servers.of]
    return Merged(users, servers, part, server_part, weight, limit, notion, capacity, count)


def _limits(instance: Instance) -> Floats:
    """(N,) limits; inf if the limit is more than the user could run alone on all servers."""
    limit = instance.limit
    if np.isinf(limit).all():
        return limit
    return np.where(limit > instance.alone.sum(axis=1) * (1 + 1e-9), np.inf, limit)


def _users(
    instance: Instance, rule: Merging, score: Floats | None, limit: Floats, alike: list[Any]
) -> Groups:
    demand = instance.demand.reshape(len(instance.users), -1)
    keys = [demand, instance.eligible, *limit_keys(instance, rule, limit), *alike]
    return equal_lines(keys, [] if score is None else [score])


def _servers(
    instance: Instance,
    rule: Merging,
    score: Floats | None,
    users: Groups,
    alike: tuple[Ints, Ints] | None = None,
) -> tuple[Groups, Floats]:
    """Groups of servers, and the size (I,) of each in machines of the first of its group."""
    capacity, count = instance.capacity, instance.count.astype(np.float64)
    if not rule.servers or len(count) == 1:
        return Groups.single(len(count)), count
    some: Any = users.first if users.merged else slice(None)
    if not instance.everywhere and not equal_lines([instance.eligible[some]], axis=1).merged:
        return Groups.single(len(count)), count  # no two servers are open to the same users
    blocks: list[Any] = [_shapes(capacity).T, instance.eligible[some]]
    if instance.demand.ndim == 3:
        blocks.extend(np.moveaxis(instance.demand[some], 2, 0))
    if alike is not None:
        blocks.append(alike[1][None])
    groups = equal_lines(blocks, axis=1)
    if groups.merged and score is not None:
        groups = equal_lines(blocks, [score[some]], axis=1)
    largest = capacity.argmax(axis=1)
    own = capacity[np.arange(len(count)), largest]
    first = own[groups.first][groups.of]
    return groups, count * np.divide(own, first, out=np.ones_like(own), where=first > 0)


def _shapes(capacity: Floats) -> Floats:
    """(I, R + 1) keys that are equal only if the rows of capacity are exactly proportional."""
    base = capacity[np.arange(len(capacity)), (capacity > 0).argmax(axis=1)][:, None]
    shape = np.divide(capacity, base, out=np.zeros_like(capacity), where=base > 0)
    alike = equal_lines([shape])
    like = alike.first[alike.of]
    exact = equal_products(capacity, base[like], capacity[like], base)
    sure = exact.all(axis=1, keepdims=True)
    # rows that are proportional only after rounding are merged with equal rows alone
    return np.hstack([np.where(sure, shape, capacity), np.logical_not(sure)])


def _merged_capacity(instance: Instance, servers: Groups, machines: Floats) -> tuple[Floats, Ints]:
    """Capacity (H, R) and count (H,): of one machine if all are equal, else of all together."""
    if not servers.merged:
        return instance.capacity, instance.count
    capacity = instance.capacity[servers.first]
    other = (instance.capacity != capacity[servers.of]).any(axis=1)
    number = servers.sums(machines)
    together = (servers.sums(other) > 0) | (number >= MACHINES)
    count = np.where(together, 1.0, number).astype(np.int64)
    return capacity * np.where(together, number, 1.0)[:, None], count
