"""What the tasks of an answer are worth to its notion: worked out, never taken from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.allocation.amounts import Amounts
from fairopt.errors import UsageError
from fairopt.formulas import families, penalties, pool_rows, pools, welfare
from fairopt.formulas.entitled import entitled

SAME_NUMBER = 1e-6
"""part by which a number that is told may differ from the same number worked out"""

Worth = dict[str, float | None]
"""objective and equally distributed equivalent share, by these names; None where there is none"""


def _beside_rows(alloc: Amounts) -> bool:
    """Whether a notion over pools is asked beside rows, which a file may say of any."""
    try:
        return pool_rows.beside_rows(alloc.instance, alloc.kind, str(alloc.kind["name"]))
    except UsageError:
        return False  # no such question: the judge says so


def worth(alloc: Amounts) -> Worth:
    """The objective of an answer, and its equally distributed equivalent share.

    With groups and guarantees, of the weights down the tree and of what is above the floors.
    """
    kind = families.member(alloc.notion)
    found: Worth = {"objective": None, "equivalent": None}
    if kind["name"] == penalties.NAME:
        terms = alloc.terms
        output = alloc.score * alloc.tasks
        return {**found, "objective": penalties.objective(alloc.instance, output, terms)}
    inst = alloc.instance
    of_pools = pools.OBJECTIVES.get(kind["name"])
    if of_pools is not None and inst.linear and (inst.plain or _beside_rows(alloc)):
        value = of_pools(inst, alloc.tasks, kind["parameters"], alloc.steps)
        return {**found, "objective": value}
    alpha = welfare.alpha_of(alloc.notion)
    if alpha is None:
        return found
    weight, share = alloc.instance.weight, alloc.shares
    if not alloc.instance.plain:
        try:
            asked = entitled(alloc.instance, alloc.score, kind)
        except UsageError:
            return found  # no such question: the judge says so
        if len(np.unique(asked.rank)) > 1:
            return found  # of classes that are served in order there is no sum
        weight, share = asked.weight, alloc.counted - asked.base
    log_w = welfare.log_weight(weight, alpha, bool(kind["parameters"].get("weight_inside", False)))
    log_e = welfare.log_equivalent(log_w, share, alpha)
    value = welfare.objective(log_w, share, alpha, log_e)
    return {"objective": value, "equivalent": float(np.exp(log_e))}


def other(alloc: Amounts, told: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Those of the numbers told, by name, that are not those of the tasks: told, worked out."""
    # of logarithms, which may add up to nothing, a part of the weights is little
    size = {"objective": float(alloc.instance.weight.sum()) if _logarithms(alloc) else 0.0}
    found = {}
    for name, own in worth(alloc).items():
        value = told.get(name)
        if value is None or own is None or value == own or (np.isnan(value) and np.isnan(own)):
            continue
        near = SAME_NUMBER * max(abs(own), size.get(name, 0.0))
        if not (np.isfinite(own) and abs(value - own) <= near):
            found[name] = value, own
    return found


def _logarithms(alloc: Amounts) -> bool:
    kind = families.member(alloc.notion)
    if kind["name"] == penalties.NAME:
        return alloc.terms.alpha == 1
    return welfare.alpha_of(alloc.notion) == 1
