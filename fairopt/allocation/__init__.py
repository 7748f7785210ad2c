"""An answer as data: tasks, prices and what follows from them. It holds no solver object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fairopt import criteria, upstairs
from fairopt.allocation import html
from fairopt.allocation.amounts import Stopped
from fairopt.allocation.check import Certificate
from fairopt.allocation.fields import (
    checked,
    plain_notion,
    running,
    same,
    shapes,
    signs,
    told,
    unsound,
)
from fairopt.allocation.objective import worth
from fairopt.errors import BadInput, Fault
from fairopt.formulas import parameters, penalties
from fairopt.formulas.blocked import Blocked, Stops, task_cost
from fairopt.instance import Floats, Instance, frozen
from fairopt.instance.labels import Given, by_name

if TYPE_CHECKING:
    from pandas import DataFrame

    from fairopt.allocation.explained import Explanation


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Allocation(Stopped):
    """An answer to an instance under a notion; it may come from fairopt or from elsewhere.

    Parameters
    ----------
    instance : the cluster.
    notion : a notion, or plain data {"name": ..., "parameters": {...}}; for a notion that is not
        one of fairopt's also "family", see `fairopt.formulas.families`.
    tasks : (N, I), tasks of user n on server i (of the whole row).
    prices : (I, R) >= 0, per unit of resource; None if unknown. With `limit_prices` they are
        normalised so that sum count p c + sum limit_price limit = sum phi.
    limit_prices : (N,) >= 0, price of one more task allowed by the limit.
    level_prices : (levels, I, R), the prices of each level of a max-min answer.
    score : (N, I), the scores used; default those of the notion's criterion.
    objective, equivalent : the value of the objective, and the share that, given to every user,
        would have the same. By default computed from the shares if the notion is alpha-fair (the
        trade-off has no equivalent).
    certificate : the verdict, once the answer was judged.
    steps : what was tried, in order, as plain data.
    way_tasks : (K, I), where users have modes, running tasks of each way of `instance.ways`;
        `tasks` is their sum over each user's modes, and may be None then.
    bound_prices : (B,) >= 0, price of a unit of each ceiling of `instance.tree.bounds`.
    node_prices : (Q, M) >= 0, price of a unit at each node of the tree, for each of
        `instance.tree.quotas`.
    floor_prices : (N,) >= 0, what a unit of share less in each user's floor would be worth.
    rule_prices : (J,) of `instance.rules`: what one more allowed (`most`) or one less asked
        (`least`) is worth, >= 0; of `equal` signed, above 0 where it holds back.
    rounds : of nested max-min, in order: {"t", "jump", "priority", "users", "prices"}, who was
        frozen at which point of the path of targets, and the prices that prove it, by the names
        above (docs/maths/quotas.md).
    limit_on_prices : (N, I) >= 0, price of one more task allowed on a server by `limit_on`.

    Frames, series and dicts by name are put in order by their labels, as for an `Instance`.

    Raises
    ------
    BadInput : labels that do not match, arrays of a wrong shape, entries that are not finite,
        negative prices or scores, a score of 0, or beyond 1e-250 to 1e250, where the user is
        eligible, a notion with parameters that it may not have.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> claimed = fo.Allocation(cluster, fo.ProportionalFair(), [[45 / 11], [18 / 11]])
    >>> fo.certify(claimed).verdict
    'certified'
    """

    def __init__(
        self,
        instance: Instance,
        notion: Any,
        tasks: Given | None,
        prices: Given | None = None,
        limit_prices: Given | None = None,
        level_prices: ArrayLike | None = None,
        score: Given | None = None,
        objective: float | None = None,
        equivalent: float | None = None,
        certificate: Certificate | None = None,
        steps: tuple[dict[str, Any], ...] = (),
        way_tasks: ArrayLike | None = None,
        bound_prices: ArrayLike | None = None,
        node_prices: ArrayLike | None = None,
        floor_prices: Given | None = None,
        rounds: Sequence[Mapping[str, Any]] | None = None,
        rule_prices: ArrayLike | None = None,
        limit_on_prices: Given | None = None,
    ) -> None:
        n, i, r = instance.shape
        faults: list[Fault] = []
        plain = plain_notion(notion, score is not None, faults)
        given, _ = by_name(
            {
                "tasks": tasks,
                "prices": prices,
                "limit_prices": limit_prices,
                "score": score,
                "floor_prices": floor_prices,
                "limit_on_prices": limit_on_prices,
            },
            instance.names,
        )
        ways = None
        if way_tasks is not None:
            ways = checked("way_tasks", way_tasks, (len(instance.ways), i), faults, signed=True)
        x = checked("tasks", given["tasks"], (n, i), faults, signed=True)
        x = running(instance, x, ways, faults)
        own = {
            "prices": given["prices"],
            "limit_prices": given["limit_prices"],
            "bound_prices": bound_prices,
            "node_prices": node_prices,
            "floor_prices": given["floor_prices"],
            "rule_prices": rule_prices,
            "limit_on_prices": given["limit_on_prices"],
        }
        priced = {
            name: None
            if own[name] is None
            else checked(name, own[name], shape, faults, name == "rule_prices")
            for name, shape in shapes(instance).items()
        }
        if priced["rule_prices"] is not None and not faults:
            signs("rule_prices", instance, priced["rule_prices"], faults)
        levels = None
        if level_prices is not None:
            levels = checked("level_prices", level_prices, (None, i, r), faults)
        u = checked("score", given["score"], (n, i), faults)
        if u is not None and not faults and (bad := unsound(u, instance)) is not None:
            wanted = f"numbers > 0, from {criteria.LEAST_SCORE:g} to below {criteria.MOST_SCORE:g}"
            faults.append(Fault("score", f"{bad:g} where a user is eligible", wanted))
        path = told(instance, rounds, faults)
        if faults:
            raise BadInput(faults)
        if u is None:
            named = getattr(notion, "criterion", None)
            u = criteria.score(instance, named or parameters.criterion_of(plain))
        assert x is not None
        for name, value in {
            "instance": instance,
            "notion": plain,
            "tasks": x,
            **priced,
            "level_prices": levels,
            "score": frozen(u),
            "objective": objective,
            "equivalent": equivalent,
            "certificate": certificate,
            "steps": tuple(steps),
            "way_tasks": ways,
            "rounds": path,
        }.items():
            object.__setattr__(self, name, value)
        # where groups or guarantees count this is more work, and left to who wants to know
        if objective is None and (instance.plain or self.kind["name"] == penalties.NAME):
            for name, value in worth(self).items():
                if value is not None:
                    object.__setattr__(self, name, value)

    def with_(self, **changes: Any) -> Allocation:
        """A copy with some fields changed."""
        if changes.keys() <= {"certificate", "steps", "objective", "equivalent"}:
            # these fields determine no other: nothing needs to be checked or computed again
            copy = object.__new__(Allocation)
            copy.__dict__.update(self.__dict__)
            copy.__dict__.update(changes)
            copy.__dict__["steps"] = tuple(copy.steps)
            return copy
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Allocation(**{**fields, **changes})

    def to_frame(self, what: str = "pairs") -> DataFrame:
        """A labelled pandas frame (needs the extra `frame`); amounts within rounding are 0 in it.

        Parameters
        ----------
        what : "pairs", a row for each user and server with tasks: user, server, tasks, share;
            "tasks", users by servers; "users", a row for each user: weight, limit, tasks, share,
            level; "prices", "used" or "utilisation", servers by resources.

        Raises
        ------
        UsageError : another word, or prices of an answer that has none.
        MissingExtra : without pandas.
        """
        from fairopt.allocation.frames import frame

        return frame(self, what)

    def explain(self, user: str, again: bool = True) -> Explanation:
        """Why one user gets what it gets: what it holds and is due, what stops it, who holds that.

        Parameters
        ----------
        user : its name.
        again : also solve again, to say what one more unit of what stops it, or 10% more weight,
            would bring.

        Returns
        -------
        Explanation : print it, or read its fields (`fairopt.allocation.explained`).

        Raises
        ------
        UsageError : an unknown user.
        """
        # who explains solves again, and so stands above all that is solved
        found: Explanation = upstairs.explain()(self, user, again)
        return found

    @property
    def duals(self) -> Floats | None:
        """The multipliers: what one more unit of a resource adds to the objective as stated.

        (I, R), or (levels, I, R) of a max-min answer, where each level's objective is its t. They
        are `prices` times a factor; scores that depend on the capacity are held. None for notions
        by a theorem (PS-DSF, DRF by server, BMF).

        Raises
        ------
        UsageError : as of `kkt`.
        """
        found: Floats | None = upstairs.duals()(self)
        return found

    def kkt(self, what: str = "pairs") -> DataFrame:
        """The conditions of optimality as a labelled frame, to be checked by eye (extra `frame`).

        Parameters
        ----------
        what : "pairs", a row for each user and server: tasks x, gain (the marginal value of a
            task), what a task costs at the multipliers resource by resource, cost, and the reduced
            cost nu = cost - gain; "rows", a row for each resource of each server: used, capacity,
            slack, price, multiplier lambda, slack x lambda. Of a max-min answer for each level;
            of PS-DSF, DRF by server and BMF shares and bottlenecks.

        Raises
        ------
        UsageError : another word; no prices where the notion needs them; quotas, modes, demand that
            is not linear. MissingExtra : without pandas.
        """
        found: DataFrame = upstairs.conditions()(self, what)
        return found

    def save(self, path: Any) -> None:
        """Write the answer to a JSON file (fairopt/allocation/v1), whole or not at all."""
        from fairopt.allocation.writing import save

        save(self, path)

    def _repr_html_(self) -> str:
        return html.html(self, repr(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Allocation):
            return NotImplemented
        return (
            self.instance == other.instance
            and self.notion == other.notion
            and all(
                np.array_equal(getattr(self, k), getattr(other, k))
                if getattr(self, k) is not None and getattr(other, k) is not None
                else getattr(self, k) is getattr(other, k)
                for k in ("tasks", "way_tasks", *shapes(self.instance), "level_prices", "score")
            )
            and same(self.rounds, other.rounds)
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Allocation, tuple(getattr(self, name) for name in self.__dataclass_fields__))

    def __repr__(self) -> str:
        verdict = "not judged" if self.certificate is None else self.certificate.verdict
        names = self.instance.users
        first = islice(zip(names, self.totals, strict=True), 6)
        shown = ", ".join(f"{user}: {total:.6g}" for user, total in first)
        more = f", {len(names) - 6} more" if len(names) > 6 else ""
        return f"Allocation({self.notion['name']}, {{{shown}{more}}}, {verdict})"


__all__ = ["Allocation", "Blocked", "Stops", "task_cost"]
