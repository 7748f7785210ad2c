r"""Alpha-fair welfare of shares (kesidis2018 (15); docs/maths/alpha-fairness.md), in logarithms.

The weight W_n in the objective is phi_n ("weight outside") or phi_n^alpha ("weight inside"). Only
log W or W^(1/alpha) is formed, so that nothing over- or underflows for any alpha or weight. alpha =
0 is efficiency, alpha = 1 proportional fairness.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.formulas import families
from fairopt.instance import Floats


def alpha_of(notion: Mapping[str, Any]) -> float | None:
    """alpha of a notion given as plain data; None if the notion is not of the alpha-fair family."""
    kind = families.member(notion)
    return float(kind["parameters"]["alpha"]) if kind["name"] == "alpha-fair" else None


def log_sum_exp(terms: Floats) -> float:
    """log(sum(exp(terms))); -inf if all terms are, inf if one is."""
    top = float(terms.max())
    if not math.isfinite(top):
        return top
    return top + math.log(np.exp(terms - top).sum())


def log_weight(weight: Floats, alpha: float, weight_inside: bool) -> Floats:
    """log W (N,): W = phi, or phi^alpha with the weight inside."""
    return alpha * np.log(weight) if weight_inside else np.log(weight)


def log_equivalent(log_w: Floats, share: Floats, alpha: float) -> float:
    """log E, E = (sum W s^(1-alpha) / sum W)^(1/(1-alpha)): the equally distributed equivalent."""
    with np.errstate(divide="ignore"):
        log_s = np.log(np.maximum(share, 0.0))
    if alpha == 1:
        w = np.exp(log_w - log_w.max())
        return float(w @ log_s / w.sum()) if np.isfinite(log_s).all() else -np.inf
    if alpha > 1 and not np.isfinite(log_s).all():
        return -np.inf
    return (log_sum_exp(log_w + (1 - alpha) * log_s) - log_sum_exp(log_w)) / (1 - alpha)


def equivalent(log_w: Floats, share: Floats, alpha: float) -> float:
    """E, the exponential of `log_equivalent`; 0 if a share is 0 and alpha >= 1."""
    return float(np.exp(log_equivalent(log_w, share, alpha)))


def objective(log_w: Floats, share: Floats, alpha: float, log_e: float | None = None) -> float:
    """sum W g(s), g = log or s^(1-alpha)/(1-alpha); for large alpha it may round to 0 or inf.
    `log_e`: `log_equivalent`, where it is known."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        if alpha == 1:
            return float(np.exp(log_w) @ np.log(np.maximum(share, 0.0)))
        log_e = log_equivalent(log_w, share, alpha) if log_e is None else log_e
        total = log_sum_exp(log_w) + (1 - alpha) * log_e
        return float(np.exp(total) / (1 - alpha))
