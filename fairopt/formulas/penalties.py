r"""The trade-off objective (16) of kesidis2016 (see docs/bibliography.md) and its terms.

Pure functions of dominant shares and levels.

F_n = sum_i a[n,i] / phi_n with a[n,i] = x[n,i] max_r d[n,r] / c[i,r] the dominant share,

.. math:: \sum_n \phi_n g(F_n) - t_{PF} \operatorname{var}(F) - t_{DRF} \sum_i V_i

var(F) has 1/N. V_i is the variance of a[.,i] over the users eligible at i, with 1/|E_i|; a row of
count k is k machines, each with a[.,i] / k, so V of the row is var(a[.,i]) / k. A server that
nobody may use has V_i = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.errors import UsageError
from fairopt.formulas import families, welfare
from fairopt.formulas.limits import in_limits_alone
from fairopt.formulas.pool_rows import among_all
from fairopt.instance import Floats, Instance, Ints, remembered

NAME = "tradeoff"


@dataclass(frozen=True)
class Terms:
    """The parameters of the objective.

    alpha : of g, >= 0; 1 is log. t_pf, t_drf : weights of the two variances, >= 0.
    equal_across, equal_within : the hard forms (14) var(F) = 0 and (15) sum_i V_i = 0.
    """

    alpha: float
    t_pf: float
    t_drf: float
    equal_across: bool
    equal_within: bool

    @classmethod
    def free(cls, alpha: float) -> Terms:
        """The objective without penalties and without hard forms."""
        return cls(alpha, 0.0, 0.0, False, False)

    @classmethod
    def of(cls, notion: Mapping[str, Any]) -> Terms:
        """The terms of a notion given as plain data; parameters left out have their defaults."""
        given = families.member(notion)["parameters"]
        g = given.get("g", "log")
        return cls(
            1.0 if g == "log" else float(g),
            float(given.get("t_pf", 0.0)),
            float(given.get("t_drf", 0.0)),
            bool(given.get("equal_across", False)),
            bool(given.get("equal_within", False)),
        )


def across(level: Floats) -> float:
    """var(F) = mean of (F_n - mean F)^2 over all N users."""
    away = level - level.mean()
    return float(away @ away) / len(level)


def within(instance: Instance, dominant: Floats) -> Floats:
    """(I,) V_i: the variance of dominant shares a (N, I) over the users eligible at each row."""
    away = np.where(instance.eligible, dominant - means(instance, dominant), 0.0)
    found: Floats = (away**2).sum(axis=0) / _users(instance) / instance.count
    return found


def means(instance: Instance, dominant: Floats) -> Floats:
    """(I,) mean dominant share over the users eligible at each row; 0 where there are none."""
    found: Floats = np.where(instance.eligible, dominant, 0.0).sum(axis=0) / _users(instance)
    return found


def _users(instance: Instance) -> Ints:
    """(I,) eligible users of each row, at least 1 to divide by."""
    found: Ints = remembered(
        instance, "_users_of_servers", lambda: np.maximum(instance.eligible.sum(axis=0), 1)
    )
    return found


def omega(instance: Instance, level: Floats, alpha: float) -> float:
    """Omega = sum phi_n g(F_n) (12); -inf where a user has nothing and alpha >= 1."""
    return welfare.objective(np.log(instance.weight), level, alpha)


def objective(instance: Instance, dominant: Floats, terms: Terms) -> float:
    """The objective (16) at dominant shares a (N, I)."""
    level = dominant.sum(axis=1) / instance.weight
    value = omega(instance, level, terms.alpha)
    if terms.t_pf:
        value -= terms.t_pf * across(level)
    if terms.t_drf:
        value -= terms.t_drf * float(within(instance, dominant).sum())
    return value


def gain(instance: Instance, score: Floats, tasks: Floats, terms: Terms) -> Floats:
    """(P,) derivative of (16) by each task, where a task on i brings score a[n,i] = max_r d/c.

    Parameters
    ----------
    score, tasks : (N, I).
    """
    n, i = instance.pairs
    dominant = score * tasks
    level = dominant.sum(axis=1) / instance.weight
    away = level - level.mean()
    apart = dominant - means(instance, dominant)
    each = level**-terms.alpha - 2 * terms.t_pf * away / (len(level) * instance.weight)
    found: Floats = each[:, None] - 2 * terms.t_drf * apart / (_users(instance) * instance.count)
    return found[n, i] * score[n, i]


def beside_rows(instance: Instance, terms: Terms, who: str) -> bool:
    """Whether (16) is asked beside rows; not where all that there is are limits of single users.

    Rows (limits on servers, ceilings of groups, lending, own rules) leave a smaller set, and (16)
    is stated over any. Its hard forms are not built beside rows. Groups may carry ceilings and
    lending, but (16) compares all users with one another, so that a tree must weigh users as they
    weigh themselves: a group as much as its members together.

    Raises
    ------
    UsageError : what (16) has no word for, for a caller `who`: guarantees, priorities, modes,
        shares already had, other trees, hard forms beside rows.
    """
    if instance.plain or in_limits_alone(instance):
        return False
    among_all(instance, who)
    if terms.equal_across or terms.equal_within:
        raise UsageError(
            f"{who}: found equal_across or equal_within beside rules; wanted limits of single "
            "users, or penalties (t_pf, t_drf)"
        )
    return True
