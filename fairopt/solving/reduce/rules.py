"""What merging asks of weights and limits, and how the answer is shared (docs/maths/reduction.md).

What may be merged each notion says itself (`Notion.merging`).
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Bools, Floats, Instance
from fairopt.notions import Notion
from fairopt.notions.notion import HEAVIEST, WEIGHT, Merging
from fairopt.solving.reduce.exact import equal_products
from fairopt.solving.reduce.groups import Groups


def limit_keys(instance: Instance, rule: Merging, limit: Floats) -> list[Floats]:
    """Columns (N, 1) that must be equal where users are merged, because of weights and limits.

    Without a limit nothing must. With one, the limits must be as the tasks: in proportion to phi;
    equal, with equal weights, where the tasks go as a power of phi that floating point cannot
    compare exactly; of any size, with equal weights, where the heaviest receive (tasks then go as
    the limits).
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
    """Part (N,) of its group's tasks each user receives, weight (G,) of the groups, and the notion
    they are weights of.

    For POWER with alpha > 1 the weight moves inside: sum phi^(1/alpha) is a number, its power
    alpha need not be one.
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
    """(N,) a key that is equal only where a/b are exactly equal, as real numbers; a >= 0, b > 0."""
    with np.errstate(over="ignore", under="ignore"):
        ratio = a / b
    _, first, of = np.unique(ratio, return_index=True, return_inverse=True)
    like = first[of]
    own = ~equal_products(a, b[like], a[like], b)
    # not surely equal: a number of its own, beside all others
    return np.where(own, -1.0 - np.arange(len(a)), of.astype(np.float64))
