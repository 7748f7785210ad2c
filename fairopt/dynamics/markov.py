"""Mean service rates under random demand on one pool (bonald2015 sections 3, 4.1, 4.2).

Transactions of class k arrive at random times (Poisson, lambda_k a second) with work of mean m_k
(exponential), rho_k = lambda_k m_k. While there are n_k of each class, they share the pool by a
notion of fairness, which gives class k the rate phi_k(n) in all. The numbers n form a Markov chain.
The mean service rate of class k is gamma_k = rho_k / E[n_k]; a class alone on the pool has 1 - rho.

The chain is cut to a box, at whose edges arrivals are blocked. The box grows with the load, rung by
rung of a ladder of loads, until the mass at its edges is as small as asked; how much it grew says
how large a box higher loads need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt import memory
from fairopt.dynamics import chain, stability
from fairopt.dynamics.rates import class_rates, notion_of
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.instance import Floats
from fairopt.notions import Notion

STATE = 250.0
"""bytes of a state, about"""
STATES = 8_000_000
"""most states of a box, unless more are asked for; each takes about 250 bytes"""
SMALLEST = 6
"""states a class that a box starts with"""
LOOSE = 1e-3
"""flow balance on the way, where only the size of the box is wanted"""
Told = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class ServiceRates:
    """Mean service rates, and what vouches for them.

    Parameters
    ----------
    rates : (K,) gamma_k, work a second that one transaction of class k gets in the mean.
    numbers : (K,) mean numbers present E[n_k]; rates = work that entered / numbers.
    flow : (K,) sum_n pi(n) phi_k(n) / (rho_k (1 - blocked_k)) - 1: what goes out over what comes
        in, less 1.
    edge : (K,) probability that class k is at the edge of the box, the part of it blocked.
    states : number of states of the box; `box` (K,) its size.
    load : L = max_j sum_k rho_k a_kj.
    stable : "proved", or "not known" where nobody has shown that L < 1 suffices.
    cycles : of the solver, on the last box.
    chance : the law pi on the box.

    Examples
    --------
    >>> from fairopt import dynamics
    >>> found = dynamics.service_rates([[1.0], [1.0]], [0.2, 0.3], 'pf')
    >>> found.rates.round(6), found.stable
    (array([0.5, 0.5]), 'proved')
    """

    rates: Floats
    numbers: Floats
    flow: Floats
    edge: Floats
    states: int
    box: tuple[int, ...]
    load: float
    stable: str
    cycles: int
    chance: Floats

    def plain(self) -> dict[str, Any]:
        """Everything but the law, as plain data."""
        return {
            "load": self.load,
            "rates": self.rates.tolist(),
            "numbers": self.numbers.tolist(),
            "flow": self.flow.tolist(),
            "edge": self.edge.tolist(),
            "states": self.states,
            "box": list(self.box),
            "stable": self.stable,
            "cycles": self.cycles,
        }

    def __repr__(self) -> str:
        said = ", ".join(f"{g:.6g}" for g in self.rates)
        return f"ServiceRates({said}; {self.states} states)"


def service_rates(
    requirements: Any,
    loads: Any,
    notion: Any,
    means: Any = None,
    *,
    edge: float = 1e-8,
    flow: float = 1e-8,
    box: Sequence[int] | None = None,
    most: int = STATES,
    resources: Sequence[str] | None = None,
    told: Told | None = None,
) -> ServiceRates:
    """Mean service rates gamma_k of all classes under a notion of fairness.

    Parameters
    ----------
    requirements : (K, R) >= 0, a_kj, part of resource j that class k holds per unit of rate.
    loads : (K,) > 0, rho_k, work that arrives a second.
    notion : a notion, or "drf", "pf", "bmf". Other notions are solved state by state.
    means : (K,) > 0, mean work of a transaction, 1/mu_k; default 1. Whatever does not depend on it
        is insensitive.
    edge : grow the box until no class is at its edge with more than this probability.
    flow : stop when of every class what goes out is what comes in, to this part; at most 1e-6.
    box : (K,) a box to take as it is, whatever its edge; default one that grows.
    most : most states.
    resources : names, for messages.
    told : called with a line when a box is begun.

    Raises
    ------
    BadInput : wrong shapes or ranges; every fault at once.
    Infeasible : (12) fails: some resource is overloaded, and the text says by how much.
    UsageError : the box needs more than `most` states; the text says how many, about.
    SolverFailure : the chain did not settle.

    Examples
    --------
    >>> import fairopt as fo
    >>> alone = fo.dynamics.service_rates([[1.0, 0.5]], [0.25], "pf")
    >>> alone.rates.round(6).tolist(), alone.stable
    ([0.75], 'proved')
    """
    part, rho, mean = checked(requirements, loads, means, edge, flow, box, most)
    meant = notion_of(notion)
    stability.refuse_overload(part, rho, resources)
    chains = Chains(part, rho, mean, meant, told)
    if box is not None:
        law = chain.stationary(*chains.chain(tuple(int(b) for b in box), 1.0), flow)
    else:
        law = grown(chains, edge, flow, most)
    numbers, edges = _numbers(law.chance), _edges(law.chance)
    return ServiceRates(
        rates=rho * (1.0 - edges) / numbers,
        numbers=numbers,
        flow=law.flow,
        edge=edges,
        states=law.chance.size,
        box=law.chance.shape,
        load=chains.load,
        stable=stability.known(part, mean, meant),
        cycles=law.cycles,
        chance=law.chance,
    )


def checked(
    requirements: Any,
    loads: Any,
    means: Any,
    edge: float,
    flow: float,
    box: Sequence[int] | None,
    most: int,
) -> tuple[Floats, Floats, Floats]:
    """The requirements, loads and means as arrays; BadInput with every fault of the arguments."""
    faults: list[Fault] = []
    part = _array(requirements, "requirements", 2, faults)
    rho = _array(loads, "loads", 1, faults)
    classes = len(part)
    mean = np.ones(classes) if means is None else _array(means, "means", 1, faults)
    if not faults:
        if (part < 0).any() or not (part > 0).any(axis=1).all():
            found = "a number below 0, or a class that requires nothing"
            faults.append(Fault("requirements", found, "numbers >= 0, one > 0 in every row"))
        for name, values in (("loads", rho), ("means", mean)):
            if values.shape != (classes,) or (values <= 0).any():
                found = f"{len(values)} numbers from {values.min(initial=np.inf):g}"
                faults.append(Fault(name, found, f"{classes} numbers > 0, one a class"))
        if box is not None and (len(box) != classes or min(box) < 2):
            faults.append(Fault("box", str(tuple(box)), f"{classes} whole numbers >= 2"))
    for name, value, top in (("edge", edge, 0.1), ("flow", flow, 1e-6)):
        if not 0 < value <= top:
            faults.append(Fault(name, f"{value:g}", f"a number > 0, at most {top:g}"))
    if most < 2:
        faults.append(Fault("most", str(most), "a whole number >= 2"))
    if faults:
        raise BadInput(faults)
    return part, rho, mean


def _array(given: Any, place: str, dimensions: int, faults: list[Fault]) -> Floats:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full((0,), np.nan)
    if values.ndim != dimensions or not values.size or not np.isfinite(values).all():
        wanted = "classes x resources" if dimensions == 2 else "one a class"
        found = f"an array of shape {values.shape}"
        faults.append(Fault(place, found, f"finite numbers, {wanted}"))
    return values


class Chains:
    """The chains of one question at any part of its loads, on any box.

    Parameters
    ----------
    part (K, R), rho (K,), mean (K,), notion : as of `service_rates`, checked.
    guest : (R,) requirements of one more transaction that is always there; None without.
    """

    def __init__(
        self,
        part: Floats,
        rho: Floats,
        mean: Floats,
        notion: Notion,
        told: Told | None,
        guest: Floats | None = None,
    ) -> None:
        self.part, self.rho, self.mean, self.notion, self.told = part, rho, mean, notion, told
        self.guest = guest
        self.load = stability.load_of(part, rho)

    def chain(self, box: tuple[int, ...], scale: float) -> tuple[list[Floats], list[Floats]]:
        """Birth and death rates on a box, with `scale` times the loads."""
        if self.told is not None:
            size = " x ".join(map(str, box))
            self.told(f"load {scale * self.load:.4g}: {size} = {int(np.prod(box)):,} states")
        classes = len(box)
        rates = rates_on(box, self.part, self.notion, self.guest)
        death = [(rates[:, k] / self.mean[k]).reshape(box) for k in range(classes)]
        birth = [np.full((1,) * classes, scale * r) for r in self.rho / self.mean]
        return birth, death


def rates_on(
    box: tuple[int, ...], part: Floats, notion: Notion, guest: Floats | None = None
) -> Floats:
    """Rates of all classes in all states of a box, (states, K), with a guest (states, K + 1)."""
    states = np.indices(box, dtype=np.int32).reshape(len(box), -1).T
    if guest is None:
        return class_rates(part, states, notion)
    one = np.ones((len(states), 1), dtype=np.int32)
    return class_rates(np.vstack([part, guest]), np.hstack([states, one]), notion)


def grown(chains: Chains, edge: float, flow: float, most: int) -> chain.Law:
    """The law on a box whose edges have the mass asked, found by a ladder of loads.

    On each rung 1 - L is half of that below, so that boxes about double where a class feels it.
    """
    most = int(min(most, memory.limit() / STATE))
    load, needed = 0.0, [np.full(len(chains.rho), SMALLEST)]
    while load < chains.load:
        higher = min(chains.load, max(0.5, 1.0 - (1.0 - load) / 2))
        box = _foreseen(needed, higher, load)
        while True:
            if np.prod(box, dtype=float) > most:
                _refuse(chains, needed, box, load, most)
            birth, death = chains.chain(tuple(box.tolist()), higher / chains.load)
            law = chain.stationary(birth, death, LOOSE)
            if higher == chains.load and (_edges(law.chance) <= edge).all():
                law = chain.stationary(birth, death, flow, start=np.maximum(law.chance, chain.TINY))
            need = np.array([_need(m, edge) for m in _marginals(law.chance)])
            wide = _edges(law.chance) > edge
            if not wide.any():
                break
            more = np.clip(need, box + box // 16 + 1, 2 * box)
            box = np.where(wide, more, box)
        needed.append(need)
        load = higher
    return law


def _foreseen(needed: list[Floats], higher: float, load: float) -> Any:
    """The box for a higher load: as it grew on the last rung."""
    if len(needed) == 1:
        return needed[0]
    before = needed[-2] if len(needed) > 2 else needed[-1] / 2.0
    growth = np.clip(needed[-1] / before, 1.0, 2.5)
    rungs = np.log2((1.0 - load) / (1.0 - higher))
    return np.ceil(needed[-1] * growth**rungs).astype(int) + 1


def _refuse(chains: Chains, needed: list[Floats], box: Any, load: float, most: int) -> None:
    """Raise UsageError that says how large a box the load would need."""
    if len(needed) > 1:
        box = np.maximum(_foreseen(needed, chains.load, load), box)
    states = float(np.prod(box, dtype=float))
    size = " x ".join(f"{b:,}" for b in box)
    more = ""
    if stability.known(chains.part, chains.mean, chains.notion) == stability.NOT_KNOWN:
        more = "; it is not known whether the number of transactions stays finite here"
    raise UsageError(
        f"states: load {chains.load:.6g} needs a box of about {size} = {states:.2g} states (as "
        f"boxes grew up to load {load:.4g}); wanted at most {most:,}{more}"
    )


def _need(marginal: Floats, edge: float) -> int:
    """How many states a class needs so that the last has at most the mass `edge`."""
    large = np.flatnonzero(marginal > edge)
    if not len(large):
        return SMALLEST
    if large[-1] + 1 < len(marginal):
        return int(large[-1]) + 2
    # the box is too small: the marginal falls geometrically; its last part bends at the edge
    a, b = len(marginal) // 2, max(len(marginal) // 2 + 1, int(0.8 * len(marginal)))
    fall = np.log(marginal[a] / marginal[b]) / (b - a)
    if not fall > 0:
        return 4 * len(marginal)
    return int(b + np.log(marginal[b] / edge) / fall) + 2


def _marginals(chance: Floats) -> list[Floats]:
    axes = range(chance.ndim)
    return [chance.sum(axis=tuple(a for a in axes if a != k)) for k in axes]


def _numbers(chance: Floats) -> Floats:
    return np.array([m @ np.arange(len(m)) for m in _marginals(chance)])


def _edges(chance: Floats) -> Floats:
    return np.array([float(m[-1]) for m in _marginals(chance)])
