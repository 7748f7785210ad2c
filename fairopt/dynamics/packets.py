"""Packet-based sharing: flows of packets that visit the resources in turn (bonald2015 section 4.5).

A packet of class k takes a_kj of the time of resource j, resource 1 first; resources that it does
not need are skipped. A flow has at most `window` packets on their way, and sends the next when one
has left; near its end it sends what is left. Every resource serves the waiting packet of smallest
start tag; V_j is the tag last served and is kept while j is idle; ties go to the older flow. The
start tag is max(V_j, the start tag of the flow's packet before it (0 at first) + what is added):
max_j a_kj ("drf": DRFQ), a_kj / Q ("pf", (8): Q packets of the flow wait at j or are served there
when this one comes, itself counted) or a_kj ("bmf").
Sizes are geometric; what a class gets is gamma_k = mean size / E[T_k].

Propagation: T_k passes from the last service of a packet until the next may be sent in its place.
A window of W then holds sum_j Q_j + phi T_k packets, and (8) leads to the maximum of
sum_k (W log phi_k - T_k phi_k), PF only for W large. With the weights Q_j / sum_j Q_j, which sum
to 1 ("pf-normalised": a_kj sum_j Q_j / Q_j is added), it is PF whatever T_k. This is our form: (9)
of the paper, which is about propagation times, is lost in the text at hand.

Parallel: a packet asks all its resources at once and is served when all have. Some resource then
has all W packets of a flow waiting, so that (8) gives the flow the largest weight there: what (8)
leads to in parallel is bottleneck max fairness.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from fairopt.dynamics import needed
from fairopt.dynamics import packet_loop as at
from fairopt.dynamics.packet_run import RULES, SLOTS, PacketRun
from fairopt.dynamics.replications import Progress, generator
from fairopt.dynamics.runs import Runs, over_loads, whole_numbers
from fairopt.dynamics.stability import pool_parts
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.instance import Floats, Instance, Ints

BLOCK = 256
"""arrivals drawn at a time"""


def simulate_packets(
    instance: Instance,
    loads: Sequence[float],
    rules: Sequence[str] = ("drf", "pf", "bmf"),
    *,
    mix: Mapping[str, float] | None = None,
    packets_per_flow: int = 2000,
    window: int = 30,
    flows: int = 1000,
    warmup: int = 100,
    propagation: Mapping[str, float] | None = None,
    parallel: bool = False,
    replications: int = 10,
    seed: int = 0,
    executor: Executor | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Runs:
    """Simulate flows that come as Poisson and leave; mean service rates with 95% intervals.

    Intervals are Student's over independent replications. Every rule is given the same flows.

    Parameters
    ----------
    instance : one pool; a user is a class of flows, its demand the a_kj.
    loads : values of max_j sum_k rho_k a_kj, rho_k = packets_per_flow lambda_k; > 0 and < 1.
    rules : of RULES.
    mix : {class: proportion of rho}; all alike by default.
    packets_per_flow : mean of the geometric size (the paper has 20,000 and says that it does not
        matter much).
    window : most packets of a flow on their way.
    propagation : {class: time between the last service of a packet and the next sent in its place,
        in the time that a whole capacity takes for one unit of demand}; 0 where not named. A flow
        leaves when its last packet is back.
    parallel : whether a packet asks all its resources at once instead of in turn.
    flows, warmup : measured flows of a replication, and flows before them. Arrivals go on until the
        last measured flow has left.
    replications, seed, executor, resume, progress : as of `simulate_tasks`.

    Raises
    ------
    Infeasible : a load of 1 or more.
    BadInput, UsageError : no pool, an unknown rule, bad numbers.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> inst = fo.Instance([[1], [2]], [[1]], users=['a', 'b'])
    >>> few = {"flows": 20, "warmup": 2, "packets_per_flow": 50}
    >>> found = dynamics.simulate_packets(inst, [0.4], rules=('pf',), **few)
    >>> found.rows[0].rule, found.rows[0].measured
    ('pf', 200)
    """
    settings: dict[str, Any] = {
        "packets_per_flow": packets_per_flow,
        "window": window,
        "flows": flows,
        "warmup": warmup,
        "seed": seed,
    }
    _known(rules)
    whole_numbers(
        {**settings, "replications": replications},
        {"packets_per_flow": 1, "window": 1, "flows": 1, "warmup": 0, "replications": 1, "seed": 0},
    )
    if propagation:
        settings["propagation"] = _delays(instance, propagation).tolist()
    if parallel:
        settings["parallel"] = True
    resources = instance.shape[2]
    return over_loads(
        replicate,
        instance,
        loads,
        rules,
        mix,
        float(packets_per_flow),
        replications,
        settings,
        executor,
        resume,
        progress,
        resources * packets_per_flow,
        8.0 * SLOTS * resources * window,
    )


def packet_rates(
    instance: Instance,
    numbers: Mapping[str, int],
    rule: str,
    *,
    window: int = 30,
    propagation: Mapping[str, float] | None = None,
    parallel: bool = False,
    horizon: float = 20_000.0,
    warmup: float = 2_000.0,
    compiled: bool | None = None,
) -> dict[str, float]:
    """Packets per unit of time of one flow of each class, while nobody comes or leaves.

    Nothing is random. Comparable with the fluid rates of the same population.

    Parameters
    ----------
    instance : one pool.
    numbers : {class: flows}, whole numbers >= 0, not all 0.
    rule : one of RULES.
    window : most packets of a flow on their way.
    propagation, parallel : as of `simulate_packets`.
    horizon, warmup : packets that leave between `warmup` and `horizon` are counted; in the time
        that a whole capacity takes for one unit of demand.

    Raises
    ------
    BadInput, UsageError : no pool, unknown classes, bad numbers, an unknown rule.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> inst = fo.Instance([[1], [2]], [[1]], users=['a', 'b'])
    >>> short = {"horizon": 2000.0, "warmup": 200.0, "compiled": False}
    >>> found = dynamics.packet_rates(inst, {'a': 1, 'b': 1}, 'pf', **short)
    >>> found
    {'a': 0.5, 'b': 0.25}
    """
    _known([rule])
    parts = pool_parts(instance)
    unknown = [
        Fault(f"numbers.{name}", "an unknown user", "a user")
        for name in numbers
        if name not in instance.users
    ]
    each = [numbers.get(name, 0) for name in instance.users]
    whole_numbers(
        {"window": window, **dict(zip(instance.users, each, strict=True))},
        {"window": 1, **dict.fromkeys(instance.users, 0)},
    )
    if not sum(each):
        unknown.append(Fault("numbers", "no flow", "one at least"))
    if not 0 <= warmup < horizon < np.inf:
        unknown.append(Fault("warmup", f"{warmup} of {horizon}", "0 <= warmup < horizon"))
    if unknown:
        raise BadInput(unknown)
    size = 8.0 * max(sum(each), SLOTS) * len(instance.resources) * window
    needed.check(horizon * len(instance.resources), 1, size, "the numbers of flows and the window")
    run = PacketRun(parts, rule, window, compiled, _delays(instance, propagation or {}), parallel)
    kinds = np.repeat(np.arange(len(each)), each)
    # all at time 0 and endless; nobody comes after them
    times = np.append(np.zeros(len(kinds)), np.inf)
    run.block = np.append(kinds, 0), times, np.full(len(times), np.inf)
    before: Ints = np.zeros(len(each), dtype=np.int64)
    for until in (warmup, horizon):
        before, run.horizon = run.done.copy(), until
        run.to_the_end(lambda: None)
    moved = (run.done - before) / (horizon - warmup)
    return {
        name: float(rate / number)
        for name, rate, number in zip(instance.users, moved, each, strict=True)
        if number
    }


def _delays(instance: Instance, propagation: Mapping[str, float]) -> Floats:
    """(K,) times of propagation.

    Raises
    ------
    BadInput : an unknown class, or a number that is no time.
    """
    faults = [
        Fault(f"propagation.{name}", "an unknown user", "a user")
        for name in propagation
        if name not in instance.users
    ]
    faults += [
        Fault(f"propagation.{name}", repr(time), "a time >= 0")
        for name, time in propagation.items()
        if not 0 <= time < np.inf
    ]
    if faults:
        raise BadInput(faults)
    return np.array([float(propagation.get(name, 0.0)) for name in instance.users])


def _known(rules: Sequence[str]) -> None:
    for rule in rules:
        if rule not in RULES:
            raise UsageError(f"rule: found {rule!r}; wanted one of {', '.join(RULES)}")


def replicate(piece: Mapping[str, Any], compiled: bool | None = None) -> dict[str, Any]:
    """One replication of `packets`, from and to JSON data; the record is that of `task_run`.

    There "parts" are packets {started: sent, ended: left, running: on their way} and "whole" are
    flows; "peak" is 1 where a resource served at all.
    """
    have = np.array(piece["capacity"])
    parts = np.array(piece["demand"]) / np.where(have > 0, have, 1.0)
    delays = np.array(piece.get("propagation", np.zeros(len(parts))))
    run = PacketRun(
        parts,
        piece["rule"],
        int(piece["window"]),
        compiled,
        delays,
        bool(piece.get("parallel", False)),
    )
    run.watched = int(piece["warmup"])
    run.until = run.watched + int(piece["flows"])
    rho = np.array(piece["rho"])
    mean = int(piece["packets_per_flow"])
    draw, upper, last = generator(piece["seed"], piece["number"]), np.cumsum(rho / rho.sum()), 0.0

    def block() -> None:
        nonlocal last
        times = last + np.cumsum(draw.standard_exponential(BLOCK) * (mean / rho.sum()))
        last = float(times[-1])
        kinds = np.searchsorted(upper, draw.random(BLOCK), side="right")
        sizes = draw.geometric(1 / mean, BLOCK).astype(np.float64)
        run.block = np.minimum(kinds, len(upper) - 1), times, sizes
        run.count[at.NEXT] = 0

    block()
    run.to_the_end(block)
    return run.record(piece["users"])
