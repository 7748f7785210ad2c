"""Merge equal users and equal servers, and tell how the merged answer is split among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.instance import Bools, Floats, Instance, Ints
from fairopt.notions import Notion
from fairopt.notions.notion import HEAVIEST, WEIGHT, Merging
from fairopt.solving.reduce.groups import Groups, equal_lines


def limit_keys(instance: Instance, rule: Merging, limit: Floats) -> list[Floats]:
    """Columns (N, 1) that must be equal for users to be merged, because of weights and limits.

    Users without limits may always be merged. Limits must be in the same proportion as the tasks:
    proportional to phi; or equal, with equal weights, if tasks are proportional to a power of phi,
    which floating point cannot compare exactly; or of any size, with equal weights, if only the
    heaviest receive tasks (which are then split in proportion to the limits).
    """
    finite = np.isfinite(limit)
    if not finite.any():
        return []
    weight = np.where(finite, instance.weight, 0.0)[:, None]
    if rule.users == HEAVIEST:
        return [weight]
    bounded = np.where(finite, limit, 0.0)[:, None]
    if rule.users == WEIGHT:
        return [_ratio_key(bounded[:, 0], instance.weight)[:, None]]
    return [weight, bounded]


def shares_of(
    instance: Instance, notion: Notion, rule: Merging, limit: Floats, groups: Groups
) -> tuple[Floats, Floats, Notion]:
    """(N,) part of its group's tasks that each user gets, (G,) weights, and the notion for these.

    For POWER with alpha > 1 the notion returned has the weight inside: sum phi^(1/alpha) is a
    floating-point number, while its power alpha may overflow.
    """
    phi = instance.weight
    if rule.users == WEIGHT:
        total = groups.sums(phi)
        return phi / total[groups.of], total, notion
    if rule.users == HEAVIEST:
        top = groups.largest(phi)
        inside = bool(getattr(notion, "weight_inside", False))
        served: Bools = (phi == top[groups.of]) | inside
        size = np.where(np.isfinite(limit), limit, np.where(served, 1.0, 0.0))
        return size / groups.sums(size)[groups.of], top, notion
    log_v = np.log(phi) / rule.alpha
    top = groups.largest(log_v)
    v = np.exp(log_v - top[groups.of])
    total = groups.sums(v)
    part = v / total[groups.of]
    if rule.inside is None:
        return part, np.exp(rule.alpha * (np.log(total) + top)), notion
    return part, total * np.exp(top), rule.inside


def _ratio_key(a: Floats, b: Floats) -> Floats:
    """(N,) keys that are equal only if a/b are equal as real numbers; a >= 0, b > 0."""
    with np.errstate(over="ignore", under="ignore"):
        ratio = a / b
    _, first, of = np.unique(ratio, return_index=True, return_inverse=True)
    like = first[of]
    own = ~equal_products(a, b[like], a[like], b)
    # if equality is not certain, a key that no other has
    return np.where(own, -1.0 - np.arange(len(a)), of.astype(np.float64))


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


# Products of floating-point numbers compared as real numbers, without error.
#
# The product a b is fl(a b) + e, where both parts are floating-point numbers (Dekker 1971, by
# Veltkamp's splitting). So two products are equal, or ordered, exactly if these pairs are. If a
# part would over- or underflow, the answer is False.


SPLITTER = 2.0**27 + 1.0
SMALLEST_PRODUCT, LARGEST_PRODUCT = 1e-280, 1e280
"""outside this range a part of a product may over- or underflow"""


def equal_products(a: Floats, b: Floats, c: Floats, d: Floats) -> Bools:
    """Whether a b = c d exactly, for numbers >= 0; False also if that cannot be decided."""
    left, right = _product(a, b), _product(c, d)
    found: Bools = (left[0] == right[0]) & (left[1] == right[1])
    return found


def at_most(a: Floats, b: Floats, c: Floats, d: Floats) -> Bools:
    """Whether a b <= c d exactly, for numbers >= 0; False also if that cannot be decided.

    Rounding is monotone, so errors matter only for products that round to the same number.
    """
    with np.errstate(over="ignore", under="ignore"):
        left, right = np.broadcast_arrays(a * b, c * d)
    found: Bools = (left < right) & (right < np.inf)
    tie = left == right
    if tie.any():
        parts = [np.broadcast_to(part, tie.shape)[tie] for part in (a, b, c, d)]
        found[tie] = _product(*parts[:2])[1] <= _product(*parts[2:])[1]
    return found


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """fl(a b) and the error a b - fl(a b); the error is NaN if it is not known."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        p = a * b
        a_high, a_low = _split(a)
        b_high, b_low = _split(b)
        error = a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)
    known = ((p > SMALLEST_PRODUCT) & (p < LARGEST_PRODUCT)) | (a == 0) | (b == 0)
    return p, np.where(known, error, np.nan)


def _split(a: Floats) -> tuple[Floats, Floats]:
    """Two halves of 26 bits whose sum is a."""
    t = SPLITTER * a
    high = t - (t - a)
    return high, a - high
