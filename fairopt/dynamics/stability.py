"""Whether demand that comes and goes can be served at all, and by which notions it is.

Class k brings rho_k of work a second. On one pool (12) of bonald2015, sum_k rho_k a_kj < 1 for
every resource j, is necessary whatever the notion; it suffices for DRF, for proportional and
alpha-fairness, alpha > 0, and, if there are two resources and all works have the same mean, for
bottleneck max fairness (Theorem 1), which is proportional fairness where there are two classes.

Alpha-fair: phi maximises the concave sum_k n_k^alpha phi_k^(1-alpha) / (1-alpha), whose gradient at
rho is (n_k / rho_k)^alpha, and rho / L fits: sum_k (n_k / rho_k)^alpha (phi_k - rho_k) > 0 for
L < 1, so that sum_k n_k^(1+alpha) / (rho_k^alpha mu_k) falls (Bonald and Massoulie 2001).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairopt.dynamics.rates import NAMED
from fairopt.errors import BadInput, Fault, Infeasible, SolverFailure
from fairopt.formulas.linear_program import LinearProgram
from fairopt.formulas.lowered import lower
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair, Notion

PROVED = "proved"
NOT_KNOWN = "not known"


def load_of(requirements: Floats, loads: Floats) -> float:
    """L = max_j sum_k rho_k a_kj, the load of the fullest resource."""
    return float((loads @ requirements).max())


def refuse_overload(
    requirements: Floats, loads: Floats, resources: Sequence[str] | None = None
) -> None:
    """Raise Infeasible, with the inequality and its numbers, where (12) fails."""
    use = loads @ requirements
    j = int(use.argmax())
    if use[j] < 1:
        return
    name = f"resource {j + 1}" if resources is None else resources[j]
    terms = [f"{rho:.6g} x {a:.6g}" for rho, a in zip(loads, requirements[:, j], strict=True) if a]
    raise Infeasible(
        f"overloaded: found sum_k rho_k a_kj = {' + '.join(terms)} = {use[j]:.6g} for {name}; "
        "wanted < 1 ((12) of bonald2015): no notion keeps the number of transactions finite"
    )


def known(requirements: Floats, means: Floats, notion: Notion) -> str:
    """Text of what is known: "proved" where (12) suffices for this notion, else "not known"."""
    if notion in (NAMED["drf"], NAMED["pf"]):
        return PROVED
    if isinstance(notion, AlphaFair) and notion == AlphaFair(notion.alpha) and notion.alpha > 0:
        return PROVED
    if notion == NAMED["bmf"] and len(requirements) <= 2:
        return PROVED  # of two types BMF is PF (Proposition 5)
    if notion == NAMED["bmf"] and requirements.shape[1] <= 2 and np.ptp(means) == 0:
        return PROVED
    return NOT_KNOWN


def load_on_servers(instance: Instance, loads: Any) -> tuple[float, dict[str, dict[str, float]]]:
    """The load of a cluster of several servers, and what is overloaded first.

    The least t such that sum_i x[n,i] = rho_n is possible with t times every capacity. t < 1 is
    necessary for every notion; that it suffices is known of no notion here.

    Parameters
    ----------
    loads : (N,) >= 0, the work rho_n of each user, in tasks.

    Returns
    -------
    float : t.
    {server: {resource: part}} : the dual, which names what is overloaded; parts sum to 1. In these
        prices (of whole rows) all the work costs t, however it is placed.

    Raises
    ------
    BadInput : `loads` of another length, negative or not finite.
    """
    instance.only_plain("the load of a cluster")
    rho = np.asarray(loads, dtype=np.float64)
    users, servers, _ = instance.shape
    if rho.shape != (users,) or not np.isfinite(rho).all() or (rho < 0).any():
        found = f"{np.array2string(rho, threshold=6)}"
        raise BadInput([Fault("loads", found, f"{users} finite numbers >= 0, one a user")])
    if not rho.any():
        return 0.0, {}
    # the work fits t times the capacities where 1/t of it fits these
    low = lower(replace(instance, limit=np.full(users, np.inf)), np.ones((users, servers)))
    best = LinearProgram(low).most(floor=np.where(rho > 0, 0.0, -np.inf), slope=rho)
    if best is None:
        raise SolverFailure("HiGHS finds no load of this work on this cluster")
    price = low.named(best.price / best.t).capacity * instance.pool
    named = {
        server: {r: float(p) for r, p in zip(instance.resources, line, strict=True) if p > 1e-9}
        for server, line in zip(instance.servers, price, strict=True)
        if (line > 1e-9).any()
    }
    return 1.0 / best.t, named


# Load: how much of the pool is asked for, and by whom.


def pool_parts(instance: Instance) -> Floats:
    """(K, R) a_kj, the part of the pool that one task of class k holds of resource j.

    Raises
    ------
    BadInput : several servers, users that may not use the pool, unequal weights, limits.
    """
    instance.only_linear("random demand")
    instance.only_plain("random demand")
    faults = []
    if int(instance.count.sum()) != 1:
        faults.append(Fault("servers", f"{int(instance.count.sum())} machines", "one pool"))
    if not instance.eligible.all():
        faults.append(Fault("placement", "users that may not use the pool", "all may"))
    if np.ptp(instance.weight) > 0:
        faults.append(Fault("weight", "unequal weights", "equal ones: classes have none"))
    if np.isfinite(instance.limit).any():
        faults.append(Fault("limit", "limits", "none: jobs come and go instead"))
    if faults:
        raise BadInput(faults)
    capacity = instance.capacity[0]
    parts: Floats = instance.demand_by_server[:, 0] / np.where(capacity > 0, capacity, 1.0)
    return parts


def mix_of(instance: Instance, mix: Mapping[str, float] | None) -> Floats:
    """(K,) how the load is divided between the classes; all alike unless told otherwise.

    Raises
    ------
    BadInput : an unknown class, a part that is negative or not finite, or nothing at all.
    """
    if not mix:
        return np.ones(len(instance.users))
    faults = [
        Fault(f"mix.{name}", "an unknown user", "a user")
        for name in mix
        if name not in instance.users
    ]
    faults += [
        Fault(f"mix.{name}", f"{value}", "a finite number >= 0")
        for name, value in mix.items()
        if not 0 <= value < np.inf
    ]
    parts = np.array([float(mix.get(name, 0.0)) for name in instance.users])
    if not faults and not parts.any():
        faults.append(Fault("mix", "0 for all", "a class with a load"))
    if faults:
        raise BadInput(faults)
    return parts


def rho_of(parts: Floats, mix: Floats, load: float, resources: Sequence[str]) -> Floats:
    """(K,) rho_k in the proportions of `mix`, with max_j sum_k rho_k a_kj = load.

    Raises
    ------
    BadInput : a load that is not a finite number > 0.
    Infeasible : a load of 1 or more: (12) of bonald2015 fails, jobs pile up without end.
    """
    if not 0 < load < np.inf:
        raise BadInput([Fault("load", f"{load}", "a number > 0 and < 1")])
    rho: Floats = mix * (load / (mix @ parts).max())
    if load >= 1:  # also where the sums below come out a digit lower
        refuse_overload(parts, rho * (1 + 1e-12), resources)
    return rho
