"""The most whole tasks in any packing, with a bound that needs no solver's word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.allocation import Allocation
from fairopt.instance import Instance


@dataclass(frozen=True)
class Optimum:
    """The integer optimum of the total.

    Parameters
    ----------
    allocation : the best packing found.
    total : its number of tasks.
    bound : no packing holds more tasks; proved in integers. It equals `total` at the optimum.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt.filling import optimum
    >>> found = optimum(fo.Instance([[1, 4], [3, 1]], [[9, 18]]))
    >>> found.total, found.bound
    (5.0, 5.0)
    """

    allocation: Allocation
    total: float
    bound: float

    @property
    def proved(self) -> bool:
        """Whether the best total found reaches the bound."""
        return self.total >= self.bound


WHO = "the most whole tasks"


def _bare(instance: Instance) -> Instance:
    """The instance without what says nothing of the most tasks of all: groups, priorities, and
    shares already had."""
    if instance.modes is not None:
        instance.only_known("fill", WHO)
    quotas = instance.quotas
    if quotas is not None and not (
        quotas.bounds or quotas.quotas or quotas.guarantees or quotas.guarantee_tasks
    ):
        quotas = quotas if instance.rules is not None else None
    return instance.replace(quotas=quotas, start=None)


def optimum(instance: Instance, time_limit: float | None = None) -> Optimum:
    """max sum x, x whole, every single machine within its capacity (kesidis2018 (1), (4)).

    Machines that are alike are one class, so that their number does not matter; the bound is that
    of prices which the judge of whole tasks searches again (docs/maths/whole.md).

    Parameters
    ----------
    instance : the cluster.
    time_limit : seconds of the search; the best packing by then is returned with its bound.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt.filling import optimum
    >>> optimum(fo.Instance([[1, 4], [3, 1]], [[9, 18]])).total
    5.0
    """
    from fairopt.whole.optima import optimum as found_by
    from fairopt.whole.optima import total

    instance.only_linear(WHO)
    found = found_by(_bare(instance), seconds=time_limit, who=WHO)
    most, bound = total(found)
    at = {name: i for i, name in enumerate(instance.servers)}
    tasks = np.zeros(instance.shape[:2])
    packed: dict[str, list[dict[str, object]]] = {}
    for server, count, own in found.machines():
        for name, m in own.items():
            tasks[instance.users.index(name), at[server]] += count * m
        if own and instance.count[at[server]] > 1:
            row = {"count": count, "tasks": {name: float(m) for name, m in own.items()}}
            packed.setdefault(server, []).append(row)
    notion = {"name": "fill:optimum", "parameters": {"increment": 1.0}}
    steps = ({"machines": packed, "bound": float(bound)},)
    return Optimum(Allocation(instance, notion, tasks, steps=steps), float(most), float(bound))
