"""A cluster that changes, and its answer again and again, moving as few tasks as it can."""

from __future__ import annotations

import threading

import numpy as np

from fairopt import threads
from fairopt.allocation import Allocation
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.formulas.parameters import words
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion
from fairopt.solving import near as nearby
from fairopt.solving import solve
from fairopt.solving.changing import Changing


class Planner(Changing):
    """A cluster in a scheduler's loop: change it by name, ask for the answer again.

    An answer begins from the last one and, of all optimal answers, is the one that stops and starts
    the fewest tasks (`solve`, `start=` and `near=`). It is certified like any other. Methods may be
    called from several threads; while one answer is computed, changes go on, and the next has them.

    Parameters
    ----------
    instance : the cluster at the beginning, with quotas, modes, rules and limits on servers, if it
        has any; demand is linear.
    notion : max-min, or alpha-fairness.
    near : whether tasks are left where they run; otherwise only shares matter. With modes they do.
    last : what runs now, if anything does.
    sparse : whether tasks are left on few pairs of user and server: at first, and without `near` in
        every answer, on at most as many as there are users and full rows; with `near` answers go on
        from there. Max-min does so by itself where `near` is asked.

    Raises
    ------
    BadInput, UsageError : an instance or notion that is something else.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1.0], [1.0]], [[4.0], [4.0]], users=["a", "b"], servers=["x", "y"])
    >>> planner = fo.Planner(cluster, fo.MaxMin())
    >>> planner.answer().totals.round(6).tolist()
    [4.0, 4.0]
    >>> planner.change_user("a", weight=3)
    >>> planner.answer().totals.round(6).tolist()
    [6.0, 2.0]
    """

    def __init__(
        self,
        instance: Instance,
        notion: Notion,
        near: bool = True,
        last: Allocation | None = None,
        sparse: bool = False,
    ) -> None:
        if not isinstance(instance, Instance):
            raise BadInput([Fault("instance", words(instance), "a fairopt.Instance")])
        if not isinstance(notion, Notion) or notion.family not in ("alpha-fair", "max-min"):
            raise UsageError(f"notion: found {words(notion)}; wanted max-min or alpha-fairness")
        super().__init__(instance)
        self.notion, self.near, self.sparse = notion, near, sparse
        self._solving = threading.Lock()
        self._last, self._start = last, last

    @property
    def last(self) -> Allocation | None:
        """The last answer, or what was said to run."""
        with self._state:
            return self._last

    def answer(self) -> Allocation:
        """The answer to the cluster as it is now; the last one if nothing changed.

        `steps` begin with {"step": "aside", "users": names} where users are set aside, and end with
        what moves (docs/how-to/few-moves.md).

        Raises
        ------
        UsageError : no server can run any user.
        NotCertified, SolverFailure, Infeasible : as `solve`; the last answer is kept.
        """
        with self._solving:
            with self._state:
                last, start, aside = self._last, self._start, self.aside
                if not self._changed and last is not None:
                    return last
                now = self.instance()
                self._changed = False
            try:
                begins = start is not None and self._begins(start)
                begun = solve(now, self.notion, start=start if begins else None)
                held = self._held(now, last)
                found = begun
                if held is not None:
                    held = nearby.checked(held, now, self.notion)
                    with threads.one():
                        found = nearby.answer(begun, begun.score, held, TOLERANCE)
            except BaseException:
                with self._state:
                    self._changed = True
                raise
            if aside:
                found = found.with_(steps=({"step": "aside", "users": list(aside)}, *found.steps))
            with self._state:
                # an alpha-fair answer of few pairs is no good start: the one before it is kept
                alpha_fair = self.notion.family == "alpha-fair"
                self._last, self._start = found, begun if alpha_fair else found
            return found

    def _held(self, now: Instance, last: Allocation | None) -> Allocation | Floats | None:
        """What the answer is to be near to: nothing where few pairs are wanted; None for anywhere.

        Max-min begins with few pairs, as the simplex method then moves few.
        """
        if len(now.ways) != len(now.users):  # of modes it is not known what is near
            return None
        if self.sparse and not self.near:
            return np.zeros(now.shape[:2])
        if last is None and self.near and (self.sparse or self.notion.family == "max-min"):
            return np.zeros(now.shape[:2])
        return last if self.near else None

    def _begins(self, last: Allocation) -> bool:
        """Whether the last answer can be a start: of the same notion, with prices."""
        return last.notion == self.notion.plain() and last.prices is not None
