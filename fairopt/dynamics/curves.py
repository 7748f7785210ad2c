"""Service rates and lies over a range of loads of one pool (Figures 1 to 3 of bonald2015).

Every load and rule is a piece of work of its own: over any executor, kept in a resume file. What a
file holds is believed where its numbers agree with one another; only solving again would tell more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from fairopt import threads
from fairopt.dynamics.lying import Others
from fairopt.dynamics.markov import STATES, service_rates
from fairopt.dynamics.rates import NAMED
from fairopt.dynamics.replications import Piece, Progress, run
from fairopt.dynamics.stability import mix_of, pool_parts, rho_of
from fairopt.errors import BadInput, Fault, SolverFailure, UsageError
from fairopt.instance import Instance
from fairopt.notions import AlphaFair, Notion, make

ALPHA = "alpha="
"""a rule that begins so is alpha-fairness; its number follows"""

ROUNDING = 1e-9
"""relative: how far numbers that a file holds may be apart"""


def service_curves(
    instance: Instance,
    loads: Sequence[float],
    rules: Sequence[str] = tuple(NAMED),
    mix: Mapping[str, float] | None = None,
    means: Mapping[str, float] | None = None,
    *,
    edge: float = 1e-8,
    flow: float = 1e-8,
    most: int = STATES,
    executor: Executor | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Mean service rates at every load under every rule; a class is a user of the instance.

    Parameters
    ----------
    instance : one pool; what a user demands is a_kj.
    loads : L = max_j sum_k rho_k a_kj, each in (0, 1).
    rules : "drf", "pf", "bmf", "alpha=2" (any alpha), or a notion that needs no parameters.
    mix : {user: part} of the loads rho_k; default all alike. Users without a part do not come.
    means : {user: mean work}; default 1.
    edge, flow, most : as of `service_rates`.
    executor, resume, progress : as of `fairopt.sweep`.

    Returns
    -------
    rows in order of loads, then rules: "load", "rule", "rho" {user}, "gamma" {user}, and "found",
    what `ServiceRates.plain` says; where there is no answer "gamma" is empty and "reason" says why.

    Raises
    ------
    BadInput, UsageError : no pool, a bad mix, mean, load or rule.
    Infeasible : a load of 1 or more, with its inequality.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> inst = fo.Instance([[1], [2]], [[1]], users=['a', 'b'])
    >>> (row,) = dynamics.service_curves(inst, [0.5], rules=('pf',))
    >>> {name: round(rate, 6) for name, rate in row['gamma'].items()}
    {'a': 0.5, 'b': 0.25}
    """
    pieces = [
        {**piece, "edge": edge, "flow": flow, "most": most}
        for piece in _pieces(instance, loads, rules, mix, means)
    ]
    found = run(_rates, pieces, executor, resume, progress, _believed)
    rows = []
    for piece, record in zip(pieces, found, strict=True):
        users, reason = piece["users"], record.get("reason", "")
        gamma = {} if reason else dict(zip(users, record["rates"], strict=True))
        rows.append(
            {
                "load": piece["load"],
                "rule": piece["rule"],
                "rho": dict(zip(users, piece["rho"], strict=True)),
                "gamma": gamma,
                "found": {} if reason else record,
                "reason": reason,
            }
        )
    return rows


def lying_curves(
    instance: Instance,
    loads: Sequence[float],
    rules: Sequence[str] = ("pf",),
    mix: Mapping[str, float] | None = None,
    means: Mapping[str, float] | None = None,
    needs: Mapping[str, float] | None = None,
    claims: Mapping[str, float] | None = None,
    *,
    edge: float = 1e-8,
    flow: float = 1e-8,
    most: int = STATES,
    executor: Executor | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """What lies gain at every load under every rule; parameters as of `service_curves`, and

    Parameters
    ----------
    needs : {resource: amount} that the liar needs; default every class in turn is the liar.
    claims : {resource: amount} that it claims; default the best lie of a short one is looked for.

    Returns
    -------
    rows: "load", "rule", "liar" (a user, or ""), "needs" [R], and what `Lie.plain` says, or a
    "reason".

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> inst = fo.Instance([[1, .5], [0, 1]], [[1, 1]], users=['a', 'b'])
    >>> found = dynamics.lying_curves(inst, [0.3], claims={'r1': 0.5, 'r2': 1.0})
    >>> sorted(found[0])[:3]
    ['claimed', 'liar', 'load']
    """
    parts = pool_parts(instance)
    if needs is None:
        liars = dict(zip(instance.users, parts.tolist(), strict=True))
    else:
        liars = {"": _amounts(instance, needs, "needs")}
    claimed = None if claims is None else _amounts(instance, claims, "claims")
    pieces = [
        {
            **piece,
            "liar": liar,
            "needs": need,
            "claims": claimed,
            "edge": edge,
            "flow": flow,
            "most": most,
        }
        for piece in _pieces(instance, loads, rules, mix, means)
        for liar, need in liars.items()
    ]
    found = run(_lie, pieces, executor, resume, progress, _lie_believed)
    return [
        {
            "load": piece["load"],
            "rule": piece["rule"],
            "liar": piece["liar"],
            "needs": piece["needs"],
            "reason": "",
            **record,
        }
        for piece, record in zip(pieces, found, strict=True)
    ]


def _pieces(
    instance: Instance,
    loads: Sequence[float],
    rules: Sequence[str],
    mix: Mapping[str, float] | None,
    means: Mapping[str, float] | None,
) -> list[dict[str, Any]]:
    """Load and rule, and who comes how often with how much work, as plain data."""
    mean = _means(instance, means)
    for rule in rules:
        named(rule)
    parts, shares = pool_parts(instance), mix_of(instance, mix)
    comes = np.flatnonzero(shares)
    return [
        {
            "load": float(load),
            "rule": rule,
            "users": [instance.users[k] for k in comes],
            "resources": list(instance.resources),
            "requirements": parts[comes].tolist(),
            "rho": rho_of(parts, shares, load, instance.resources)[comes].tolist(),
            "means": [mean[instance.users[k]] for k in comes],
        }
        for load in loads
        for rule in rules
    ]


def named(rule: str) -> Notion:
    """The notion of a rule's name.

    Raises
    ------
    UsageError : neither one of bonald2015's three nor a notion that needs no parameters.
    """
    if rule.startswith(ALPHA):
        try:
            return AlphaFair(float(rule.removeprefix(ALPHA)))
        except ValueError:
            raise UsageError(f"rule: found {rule!r}; wanted alpha= and a number > 0") from None
    return NAMED[rule] if rule in NAMED else make(rule)


def _means(instance: Instance, given: Mapping[str, float] | None) -> dict[str, float]:
    unknown = [name for name in given or {} if name not in instance.users]
    if unknown:
        raise BadInput([Fault(f"means.{name}", "an unknown user", "a user") for name in unknown])
    return {user: float((given or {}).get(user, 1.0)) for user in instance.users}


def _amounts(instance: Instance, given: Mapping[str, float], place: str) -> list[float]:
    """(R,) parts of the pool."""
    unknown = [name for name in given if name not in instance.resources]
    if unknown:
        wanted = f"one of {', '.join(instance.resources)}"
        raise BadInput([Fault(f"{place}.{r}", "an unknown resource", wanted) for r in unknown])
    capacity = instance.capacity[0]
    amount = np.array([float(given.get(r, 0.0)) for r in instance.resources])
    if ((capacity == 0) & (amount > 0)).any():
        raise BadInput([Fault(place, "a resource of which there is none", "others")])
    return list((amount / np.where(capacity > 0, capacity, 1.0)).tolist())


def _told(answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer, or why there is none: one piece must not cost the others."""
    try:
        with threads.one():
            return answer()
    except (UsageError, SolverFailure) as error:
        return {"reason": str(error)}


def _rates(piece: Piece) -> dict[str, Any]:
    def answer() -> dict[str, Any]:
        found = service_rates(
            piece["requirements"],
            piece["rho"],
            named(piece["rule"]),
            piece["means"],
            edge=piece["edge"],
            flow=piece["flow"],
            most=piece["most"],
            resources=piece["resources"],
        )
        return {**found.plain(), "rho": piece["rho"]}

    return _told(answer)


def _lie(piece: Piece) -> dict[str, Any]:
    def answer() -> dict[str, Any]:
        others = Others(
            piece["requirements"],
            piece["rho"],
            named(piece["rule"]),
            piece["means"],
            edge=piece["edge"],
            flow=piece["flow"],
            most=piece["most"],
        )
        if piece["claims"] is None:
            return others.best_lie(piece["needs"]).plain()
        return others.lie(piece["needs"], piece["claims"]).plain()

    return _told(answer)


def _believed(record: Any) -> bool:
    """Whether what comes in goes out, the box is the states, and rates are work over numbers."""
    try:
        if "reason" in record:
            return isinstance(record["reason"], str)
        numbers, rates, edge, rho = (
            np.array(record[key], dtype=np.float64) for key in ("numbers", "rates", "edge", "rho")
        )
        return bool(
            np.abs(record["flow"]).max() <= 1e-6
            and int(np.prod(record["box"])) == record["states"]
            and ((edge >= 0) & (edge < 1)).all()
            and np.abs(rates * numbers / (rho * (1.0 - edge)) - 1.0).max() <= ROUNDING
        )
    except (KeyError, TypeError, ValueError):
        return False


def _lie_believed(record: Any) -> bool:
    """Whether gains are what the rates say."""
    try:
        if "reason" in record:
            return isinstance(record["reason"], str)
        return all(
            record[f"{kind}_true"] > 0
            and record[f"{kind}_lie"] >= 0
            and abs(record[f"{kind}_lie"] / record[f"{kind}_true"] - 1.0 - record[f"{kind}_gain"])
            <= ROUNDING
            for kind in ("short", "long")
        )
    except (KeyError, TypeError):
        return False
