"""Rules side by side at several loads of one pool: what tasks and packets have in common."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from fairopt.dynamics import needed
from fairopt.dynamics.replications import Estimate, Piece, Progress, estimate, run
from fairopt.dynamics.stability import mix_of, pool_parts, rho_of
from fairopt.errors import BadInput, Fault
from fairopt.instance import Instance

CLOSE = 1e-9
"""relative: how far two sums of the same times may be apart"""


@dataclass(frozen=True)
class Row:
    """One rule at one load.

    Parameters
    ----------
    load, rule : as asked.
    rho : {class: load it brings}.
    gamma : {class: Estimate of the mean service rate, work / E[T]}; classes that come.
    use : {resource: Estimate of the time-averaged part of the pool in use}.
    measured : jobs or flows measured, in all replications.
    records : what each replication counted.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> inst = fo.Instance([[1], [2]], [[1]], users=['a', 'b'])
    >>> few = {"flows": 20, "warmup": 2, "packets_per_flow": 50}
    >>> found = dynamics.simulate_packets(inst, [0.4], rules=('pf',), **few)
    >>> sorted(found.rows[0].gamma)
    ['a', 'b']
    """

    load: float
    rule: str
    rho: dict[str, float]
    gamma: dict[str, Estimate]
    use: dict[str, Estimate]
    measured: int
    records: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Runs:
    """All rules at all loads, in the order of the loads, then of the rules.

    Parameters
    ----------
    rows : one a load and rule.
    work : of a job or flow, in the unit of 1 / rate.
    settings : what the rows have in common.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> inst = fo.Instance([[1], [2]], [[1]], users=['a', 'b'])
    >>> few = {"flows": 20, "warmup": 2, "packets_per_flow": 50}
    >>> found = dynamics.simulate_packets(inst, [0.4], rules=('pf',), **few)
    >>> [(row.load, row.rule) for row in found.rows]
    [(0.4, 'pf')]
    """

    rows: tuple[Row, ...]
    work: float
    settings: dict[str, Any]

    def row(self, load: float, rule: str) -> Row:
        """The row of a load and a rule."""
        return next(row for row in self.rows if row.load == load and row.rule == rule)

    def difference(self, load: float, first: str, second: str, user: str) -> Estimate:
        """gamma of a class under `first` less that under `second`: paired by replication.

        Both rules were given the same arrivals, so the interval is that of the differences.
        """
        pairs = [
            [record["time"][user] for record in pair]
            for pair in zip(*(self.row(load, r).records for r in (first, second)), strict=True)
        ]
        return estimate([self.work / a - self.work / b if a and b else math.nan for a, b in pairs])


def over_loads(
    replicate: Callable[[Piece], dict[str, Any]],
    instance: Instance,
    loads: Sequence[float],
    rules: Sequence[str],
    mix: Mapping[str, float] | None,
    work: float,
    replications: int,
    settings: dict[str, Any],
    executor: Executor | None,
    resume: str | os.PathLike[str] | None,
    progress: Progress | None,
    each: int,
    size: float,
) -> Runs:
    """`replicate` for every load, rule and number; the same numbers get the same random ones.

    Parameters
    ----------
    each : events of one job or flow. size : bytes of one run.

    Raises
    ------
    Infeasible : a load of 1 or more, with the inequality.
    BadInput : an instance that is no pool, a bad mix or load.
    """
    parts, shares = pool_parts(instance), mix_of(instance, mix)
    rho = {load: rho_of(parts, shares, load, instance.resources) for load in loads}
    asked = [(load, rule) for load in loads for rule in rules]
    jobs = float(settings["warmup"] + settings.get("jobs", settings.get("flows", 0)))
    runs = float(replications) * len(asked)
    needed.check(runs * jobs * each, runs, size, "the numbers of jobs, their tasks and units")
    for load, coming in rho.items():
        needed.clock("load", load, jobs * work / float(coming.sum()))
    pieces = [
        {
            "users": list(instance.users),
            "demand": instance.demand_by_server[:, 0].tolist(),
            "capacity": instance.capacity[0].tolist(),
            "rho": rho[load].tolist(),
            "rule": rule,
            "number": number,
            **settings,
        }
        for load, rule in asked
        for number in range(replications)
    ]
    records = run(replicate, pieces, executor, resume, progress, conserved)
    rows = []
    for k, (load, rule) in enumerate(asked):
        own = records[k * replications : (k + 1) * replications]
        given = dict(zip(instance.users, rho[load].tolist(), strict=True))
        gamma = {
            user: estimate([r["time"][user] for r in own]).over(work)
            for user in given
            if given[user] > 0
        }
        use = {
            name: estimate([r["use"][j] for r in own]) for j, name in enumerate(instance.resources)
        }
        measured = sum(sum(r["measured"].values()) for r in own)
        rows.append(Row(load, rule, given, gamma, use, measured, tuple(own)))
    return Runs(tuple(rows), work, settings)


def conserved(record: Any) -> bool:
    """Whether a record agrees with itself: nothing lost, nothing above capacity, Little's law."""
    try:
        parts, whole = record["parts"], record["whole"]
        return bool(
            parts["started"] == parts["ended"] + parts["running"]
            and whole["arrived"] == whole["left"] + whole["present"]
            and sum(record["measured"].values()) <= whole["left"]
            and all(0 <= part <= 1 + CLOSE for part in (*record["peak"], *record["use"]))
            and 0 <= record["little"] <= CLOSE
            and 0 <= record["lost"] <= CLOSE
            and record["horizon"] > 0
            and all(t is None or t > 0 for t in record["time"].values())
        )
    except (KeyError, TypeError, AttributeError):
        return False


def whole_numbers(settings: Mapping[str, Any], least: Mapping[str, int]) -> None:
    """Refuse settings that are no whole numbers, or too small, all at once."""
    faults = [
        Fault(key, f"{settings[key]}", f"a whole number >= {low}")
        for key, low in least.items()
        if not math.isfinite(settings[key])
        or settings[key] != int(settings[key])
        or settings[key] < low
    ]
    if faults:
        raise BadInput(faults)
