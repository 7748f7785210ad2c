"""Alpha-fairness: one parameter from efficiency (0) over proportional fairness (1) to max-min."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairopt.criteria import BY_SERVER, Criterion
from fairopt.formulas import welfare
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats, Instance, Ints
from fairopt.notions.notion import HEAVIEST, POWER, WEIGHT, Merging, Notion
from fairopt.program import Program, feasible_set, ruled_set


@dataclass(frozen=True)
class AlphaFair(Notion):
    r"""Weighted alpha-fair allocation of shares.

    .. math:: \max_{x \ge 0} \sum_n \phi_n g_\alpha(s_n), \quad g_1 = \log, \quad
              g_\alpha(s) = \frac{s^{1-\alpha}}{1-\alpha}, \quad s_n = \sum_i u_{n,i} x_{n,i},

              \sum_n d_{n,r} x_{n,i} \le c_{i,r}, \quad x_{n,i} = 0 \text{ if not eligible}

    The s_n are unique when alpha > 0; x need not be.

    Parameters
    ----------
    alpha : >= 0, dimensionless; 0 is efficiency, 1 proportional fairness, large alpha max-min.
    criterion : the score u[n,i] (N, I), share of one task; a name of `fairopt.criteria` or a
        callable.
    weight_inside : maximise sum phi_n g(s_n / phi_n) instead: only then is the limit for large
        alpha the weighted max-min.
    over : with guarantees sigma, "floor" maximises over s >= sigma, "above" the same of s - sigma,
        "proportion" takes them as weights.

    Raises
    ------
    BadInput : alpha is negative or not finite, a criterion that is neither a name nor callable.

    References
    ----------
    kesidis2018 (15), Proposition 2; kesidis2016 Claims 4, 5.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> fo.solve(pool, fo.AlphaFair(alpha=2)).totals.round(3).tolist()
    [3.294, 1.902]
    """

    name: ClassVar[str] = "alpha-fair"
    summary: ClassVar[str] = "max sum phi_n g_alpha(s_n), any alpha >= 0 (kesidis2018 (15))"
    family: ClassVar[str] = "alpha-fair"
    compared: ClassVar[tuple[dict[str, Any], ...]] = ({"alpha": 2.0},)
    deduced: ClassVar[bool] = True
    alpha: float
    criterion: Criterion = "tasks"
    weight_inside: bool = False
    over: str = "floor"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", float(self.alpha))

    def program(self, instance: Instance, score: Floats, unit: Floats) -> Program:
        """The program of the class docstring, each share counted in its `unit`."""
        space = feasible_set(instance, score, unit)
        weight = weight_in(unit, instance, self.alpha, self.weight_inside)
        gain, definition = g(space.share, self.alpha)
        return Program(weight @ gain, space, definition)

    @property
    def unique(self) -> bool:
        """Whether the totals are unique: alpha > 0, and shares that fix the totals."""
        return self.alpha > 0 and self.criterion not in BY_SERVER

    @property
    def merging(self) -> Merging:
        """Tasks of merged users go by phi^(1/alpha), or by phi if the weight is inside."""
        if self.alpha == 0:
            return Merging(HEAVIEST, alpha=0.0)
        if self.weight_inside or self.alpha == 1:
            return Merging(WEIGHT)
        # for alpha > 1 the merged weight moves inside: sum phi^(1/alpha) is a number, its power
        # alpha need not be one
        inside = AlphaFair(self.alpha, self.criterion, True) if self.alpha > 1 else None
        return Merging(POWER, alpha=self.alpha, inside=inside)


def ruled(
    low: Lowered, log_w: Floats, alpha: float, floor: Floats, added: bool, unit: Floats
) -> Program:
    r"""Alpha-fairness over all rules of an instance with groups, guarantees or modes:

    .. math:: \max \sum_n W_n g_\alpha(s_n - b_n), \quad s_n \ge \sigma_n, \quad
              \text{all rules}

    Parameters
    ----------
    low : the rules. log_w : (N,) log W. floor : (N,) sigma. added : whether b is sigma, or 0.
    """
    space = ruled_set(low, unit)
    own = log_w + (1 - alpha) * np.log(unit)
    base = floor / unit if added else np.zeros_like(unit)
    gain, definition = g(space.share - base, alpha)
    held = kept(floor, alpha, added)
    if len(held):
        keeps = (space.share[held] >= floor[held] / unit[held]).set_label("floors")
        definition = [keeps, *definition]
    return Program(np.exp(own - own.max()) @ gain, space, definition)


def kept(floor: Floats, alpha: float, added: bool) -> Ints:
    """Who needs a constraint to keep its floor: with alpha > 0 the welfare of what is above a floor
    has no value below it, but at alpha = 0 it is a line that goes on."""
    return np.flatnonzero((floor > 0) & (not added or alpha == 0))


def weight_in(unit: Floats, instance: Instance, alpha: float, weight_inside: bool) -> Floats:
    """(N,) W unit^(1-alpha), the weight of a user's term in its own unit; the largest is 1."""
    log_w = welfare.log_weight(instance.weight, alpha, weight_inside) + (1 - alpha) * np.log(unit)
    weight: Floats = np.exp(log_w - log_w.max())
    return weight


def g(share: Any, alpha: float) -> tuple[Any, list[Any]]:
    """g_alpha of a cvxpy expression, and the constraints that define it.

    In exponential cones alone, which every conic solver has: t <= s^(1-alpha) is
    alpha t log t + (1-alpha) t log(t/s) <= 0 for 0 < alpha < 1.
    """
    import cvxpy as cp

    if alpha == 0:
        return share, []
    if alpha == 1:
        return cp.log(share), []
    if alpha > 1:
        return cp.exp((1 - alpha) * cp.log(share)) / (1 - alpha), []
    t = cp.Variable(share.shape, name="t")
    below = alpha * cp.rel_entr(t, 1) + (1 - alpha) * cp.rel_entr(t, share) <= 0
    return t / (1 - alpha), [below.set_label("t <= s^(1-alpha)")]
