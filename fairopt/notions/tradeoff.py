"""The trade-off between proportional fairness over all servers and DRF on each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.formulas import parameters
from fairopt.instance import Floats, Instance
from fairopt.notions.alpha_fair import g
from fairopt.notions.notion import Notion
from fairopt.program import Program, feasible_set


@dataclass(frozen=True)
class Tradeoff(Notion):
    r"""Welfare of total dominant shares, less their variance over users and on each server.

    .. math:: \max_{x \ge 0} \sum_n \phi_n g(F_n) - t_{PF} \operatorname{var}(F)
              - t_{DRF} \sum_i V_i, \quad F_n = \frac{1}{\phi_n} \sum_i a_{n,i}, \quad
              a_{n,i} = x_{n,i} \max_r \frac{d_{n,r}}{c_{i,r}},

              \operatorname{var}(F) = \frac1N \sum_n (F_n - \bar F)^2, \quad
              V_i = \frac1{|E_i|} \sum_{n \in E_i} (a_{n,i} - \bar a_i)^2, \quad
              \sum_n d_{n,r} x_{n,i} \le c_{i,r}, \quad x_{n,i} = 0 \text{ if not eligible}

    E_i are the users eligible on server i; a server that nobody may use has V_i = 0. A row of
    count k is k machines: V of the row is k times the variance of a / k. The levels of the answer
    are the F_n. They are unique (g strictly concave); so is, where t_drf > 0, by how much every a
    stands off the mean of its server.

    The paper takes V_i over the users that hold tasks on i. That is not continuous: a user without
    tasks on i does not count in the variance, so holding nothing may cost less than holding little.
    Here V_i is over the eligible users, as in the paper's assumption that they all hold something,
    and the program is concave; `fairopt.best_support` searches the other reading
    exactly on small instances, by taking users off servers.

    Parameters
    ----------
    t_pf : >= 0, weight of the variance of F over users; 0 is no penalty.
    t_drf : >= 0, weight of the variances on the servers; 0 is no penalty.
    g : "log", or alpha >= 0 for g(F) = F^(1-alpha) / (1-alpha); 1 is "log".
    equal_across : the hard form (14), var(F) = 0: every F_n the same.
    equal_within : the hard form (15), sum_i V_i = 0: on each server the same dominant share for
        every eligible user.

    Raises
    ------
    BadInput : a weight that is negative or not finite, a g that is neither.

    References
    ----------
    kesidis2016 (11), (12), (14), (15), (16), section 4.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> fo.solve(pool, fo.Tradeoff(t_drf=1)).totals.round(3).tolist()
    [3.965, 1.678]
    """

    name: ClassVar[str] = "tradeoff"
    summary: ClassVar[str] = (
        "max sum phi_n g(F_n) - t_pf var(F) - t_drf sum_i V_i (kesidis2016 (16))"
    )
    family: ClassVar[str] = "tradeoff"
    deduced: ClassVar[bool] = True
    criterion = "dominant-share"
    t_pf: float = 0.0
    t_drf: float = 0.0
    g: str | float = "log"
    equal_across: bool = False
    equal_within: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("t_pf", "t_drf"):
            object.__setattr__(self, name, float(getattr(self, name)))
        alpha = parameters.welfare(self.g)
        object.__setattr__(self, "g", "log" if alpha == 1 else alpha)

    @property
    def alpha(self) -> float:
        """alpha of g."""
        return 1.0 if self.g == "log" else float(self.g)

    def program(
        self,
        instance: Instance,
        score: Floats,
        unit: Floats,
        penalty: tuple[Any, Any] | None = None,
    ) -> Program:
        """The program, the objective divided by sum phi and by the size of F^(1-alpha).

        Parameters
        ----------
        score : (N, I) dominant share of one task. unit : (N,) dominant share to count in.
        penalty : cvxpy Parameters in place of t_pf and t_drf, or 0.0 for a term left out; default
            the numbers.
        """
        import cvxpy as cp

        t_pf, t_drf = (self.t_pf, self.t_drf) if penalty is None else penalty

        space = feasible_set(instance, score, unit)
        n, i = instance.pairs
        users, size = instance.shape[0], float((unit / instance.weight).max())
        # F and a counted in `size`; the whole objective in sum phi size^(1-alpha)
        level = cp.multiply(unit / instance.weight / size, space.share)
        dominant = cp.multiply(unit[n] / size, space.y)
        with np.errstate(over="ignore"):
            factor = np.float64(size) ** (1 + self.alpha) / instance.weight.sum()
        if not np.isfinite(factor):
            raise SolverFailure("the program's numbers are beyond floating point")

        gain, definition = g(level, self.alpha)
        objective = (instance.weight / instance.weight.sum()) @ gain
        away = level - cp.sum(level) / users
        if not _absent(t_pf):
            objective -= t_pf * factor * cp.sum_squares(away) / users
        if self.equal_across:
            definition = [*definition, (away == 0).set_label("var(F) = 0")]
        here = [np.flatnonzero(i == server) for server in np.unique(i)]
        apart = [dominant[pairs] - cp.sum(dominant[pairs]) / len(pairs) for pairs in here]
        if not _absent(t_drf):
            for pairs, deviation in zip(here, apart, strict=True):
                machines = float(instance.count[i[pairs[0]]])
                variance = cp.sum_squares(deviation) / len(pairs) / machines
                objective -= t_drf * factor * variance
        if self.equal_within:
            definition = [*definition, *((d == 0).set_label("V = 0") for d in apart)]
        return Program(objective, space, definition)


def _absent(penalty: Any) -> bool:
    return isinstance(penalty, float) and penalty == 0
