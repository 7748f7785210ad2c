"""What weights and limits merged users must have, and how their tasks are split.

Proofs are in docs/maths/reduction.md. What may be merged is said by each notion (`Notion.merging`).
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Bools, Floats, Instance
from fairopt.notions import Notion
from fairopt.notions.notion import HEAVIEST, WEIGHT, Merging
from fairopt.solving.reduce.groups import Groups
from fairopt.solving.reduce.products import equal_products


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
