"""Program (9) of kesidis2016: equal tasks on every pool, then the largest sum of shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairopt.formulas.pools import equal_level
from fairopt.instance import Floats, Instance
from fairopt.notions.notion import Notion, SameAs
from fairopt.notions.slices import each_resource, named
from fairopt.notions.throughput import Throughput
from fairopt.notions.way import OneProgram, Steps
from fairopt.program import Program, feasible_set


@dataclass(frozen=True)
class EqualTasks(Notion):
    r"""Largest total of shares when everybody has the same tasks on every pool, by weight.

    .. math:: \max_{x \ge 0} \sum_{n,i,r} \alpha_{n,i,r} / \phi_n, \quad
              \alpha_{n,i,r} = x_{n,i} d_{n,r} / c_{i,r}, \quad \sum_n \alpha_{n,i,r} \le 1, \quad
              x_{n,i} \ge \phi_n M

    over the pools where the user is eligible, per machine, with M the largest feasible one.
    (9) wants all M_n / phi_n equal, M_n = min_i x[n,i], which is not a convex constraint. So it is
    read as two linear programs: the largest M, then the largest total. Users of the pool that
    limits M then have M_n = phi_n M exactly; a user that shares no full resource with them may get
    more. (As printed, with M free, M = 0 can maximise the total.)

    Parameters
    ----------
    mix : "demand": shares in proportion to the demand, as above. "free", as in the paper's text:
        what M leaves may be handed out in any mix of resources, so alpha[n,i,r] >= phi_n M d[n,r] /
        c[i,r] is the only lower bound, on the resources the user demands. Only the
        total of shares is then determined; the shares stand in the steps of the result
        ("resources", in the user's units), and tasks are what a user can run with them within its
        limit.

    Raises
    ------
    BadInput : a mix that is neither.

    References
    ----------
    kesidis2016 (8), (9).

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> fo.solve(pool, fo.EqualTasks()).totals.round(3).tolist()
    [2.25, 2.25]
    """

    name: ClassVar[str] = "equal-m"
    summary: ClassVar[str] = "equal tasks on every pool, then max sum of shares (kesidis2016 (9))"
    family: ClassVar[str] = "equal-m"
    mix: str = "demand"

    def way(self, instance: Instance) -> OneProgram | SameAs:
        """The linear program; with mix="free" throughput over what M leaves of each resource."""
        free = self._any_mix(instance) if self.mix == "free" else None
        return free or OneProgram(self.program)

    def program(self, instance: Instance, score: Floats, unit: Floats) -> Program:
        """The second step: most shares when every user keeps phi_n M tasks on each machine.

        Its objective is the total of shares over the largest gain of a task.
        """
        if self.mix == "free" and self._any_mix(instance) is not None:
            return super().program(instance, score, unit)  # says which way it has
        space = feasible_set(instance, score, unit)
        n, i = instance.pairs
        _, least = equal_level(instance)
        shares = instance.part_of_row().sum(axis=2) * instance.count / instance.weight[:, None]
        gain = shares[n, i] * space.pair_unit
        keeps = (space.y >= least[n, i] / space.pair_unit).set_label("x >= phi M")
        return Program((gain / gain.max()) @ space.y, space, [keeps])

    def _any_mix(self, instance: Instance) -> SameAs | None:
        """Throughput over each resource that M leaves, by itself; None if nothing is left."""
        part = instance.part_of_row()
        _, least = equal_level(instance)
        base = part * least[:, :, None]
        left = np.maximum(0.0, 1.0 - base.sum(axis=0))
        if not (part * left).any():
            return None
        rows, where = each_resource(instance, np.where(part > 0, left[None], 0.0), left)
        # weights: a user for each (n, i, r), 1/phi_n per part of a machine
        each = (instance.count[None, :, None] / instance.weight[:, None, None] * (part > 0))[where]

        def back(extra: Floats) -> tuple[Floats, Steps]:
            share = base.copy()
            share[where] += extra[:, 0]
            with np.errstate(divide="ignore", invalid="ignore"):
                tasks = np.where(part > 0, share / part, np.inf).min(axis=2)
            told = {"step": "any mix", "resources": named(instance, share)}
            tasks = np.where(instance.eligible, tasks, 0.0)
            # a limit is on tasks: what is held beyond it is not run
            more = np.maximum(tasks - least, 0.0)
            room = np.maximum(instance.limit - least.sum(axis=1), 0.0)
            part_run = np.minimum(1.0, room / np.maximum(more.sum(axis=1), 1e-300))
            return least + more * part_run[:, None], (told,)

        return SameAs(rows.replace(weight=each), Throughput(), back)
