"""What may be merged, notion by notion (SYSTEMS A2.6); one row of the table a notion.

A notion that is not in the table is solved as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt import welfare
from fairopt.instance import Bools, Floats, Instance
from fairopt.notions import AlphaFair, Notion
from fairopt.reduce.exact import equal_products
from fairopt.reduce.groups import Groups

WEIGHT, POWER, HEAVIEST = "weight", "power", "heaviest"
"""tasks in proportion to phi; to phi^(1/alpha); to the heaviest alone"""


@dataclass(frozen=True)
class Rule:
    """What one notion allows.

    Parameters
    ----------
    users : WEIGHT, POWER or HEAVIEST, how merged users share the tasks.
    servers : whether servers of equal or proportional capacity may be merged.
    alone_matters : the notion compares with gamma, the most a user could run alone: a resource may
        be dropped only where gamma stays what it is.
    alpha : the exponent of POWER and HEAVIEST.
    """

    users: str
    servers: bool
    alone_matters: bool
    alpha: float = 1.0


def rule_of(notion: Notion) -> Rule | None:
    """The rule of a notion; None where nothing is merged."""
    plain = notion.plain()
    name, parameters = plain["name"], plain["parameters"]
    alpha = welfare.alpha_of(plain)
    if alpha is not None:
        inside = bool(parameters.get("weight_inside", False))
        users = HEAVIEST if alpha == 0 else WEIGHT if inside or alpha == 1 else POWER
        return Rule(users, True, False, alpha)
    if name == "max-min":
        return Rule(WEIGHT, True, False)
    if name == "ps-dsf":
        # divided resources: the merged answer is one of the original's, which has others
        timed = parameters.get("division", "rdm") == "tdm"
        return Rule(WEIGHT, timed, True)
    if name == "per-server-drf":
        return Rule(WEIGHT, True, True)
    # the other methods of bmf name users, in their objective or their steps
    if name == "bmf" and parameters.get("method", "levels") == "levels" and (
        parameters.get("objective") is None
    ):
        return Rule(WEIGHT, False, False)
    return None


def limit_keys(instance: Instance, rule: Rule, limit: Floats) -> list[Floats]:
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
    instance: Instance, notion: Notion, rule: Rule, limit: Floats, groups: Groups
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
        inside = bool(notion.plain()["parameters"].get("weight_inside", False))
        served: Bools = (phi == top[groups.of]) | inside
        size = np.where(np.isfinite(limit), limit, np.where(served, 1.0, 0.0))
        return size / groups.sums(size)[groups.of], top, notion
    log_v = np.log(phi) / rule.alpha
    top = groups.largest(log_v)
    v = np.exp(log_v - top[groups.of])
    total = groups.sums(v)
    part = v / total[groups.of]
    if rule.alpha < 1:
        return part, np.exp(rule.alpha * (np.log(total) + top)), notion
    assert isinstance(notion, AlphaFair)
    return part, total * np.exp(top), AlphaFair(notion.alpha, notion.criterion, weight_inside=True)


def _ratio_key(a: Floats, b: Floats) -> Floats:
    """(N,) a key that is equal only where a/b are exactly equal, as real numbers; a >= 0, b > 0."""
    with np.errstate(over="ignore", under="ignore"):
        ratio = a / b
    _, first, of = np.unique(ratio, return_index=True, return_inverse=True)
    like = first[of]
    own = ~equal_products(a, b[like], a[like], b)
    # not surely equal: a number of its own, beside all others
    return np.where(own, -1.0 - np.arange(len(a)), of.astype(np.float64))
