"""`solve`: from an instance and a notion to a judged Allocation (docs/maths/solving.md)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from fairopt import clock, criteria, memory, threads
from fairopt.allocation import Allocation
from fairopt.allocation.check import UNPROVED
from fairopt.certificates import RULED, certify, check_tolerance
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.errors import BadInput, Fault, NotCertified, UsageError
from fairopt.formulas import curves, families
from fairopt.formulas.parameters import words
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion, expected, on_its_own
from fairopt.notions.notion import SameAs
from fairopt.notions.way import Levels, OneProgram, Patterns, Procedure, Way
from fairopt.solving import again
from fairopt.solving import near as nearby
from fairopt.solving.engines.answer import How
from fairopt.solving.engines.point import divided, fitted
from fairopt.solving.reduce import reduce as reducing

SOLVERS = ("auto", "interior", "clarabel", "ecos", "scs", "highs")
LADDERS = {
    "alpha-fair": "alpha_fair:alpha_fair",
    "max-min": "levels:ladder",
    "tradeoff": "tradeoff:tradeoff",
}
"""family -> "module:function" that tries engines and the notion's program, one after another"""
ENGINES = {
    "ps-dsf": "engines.water.ps_dsf:solve",
    "per-server-drf": "engines.water.per_server:solve",
    "bmf": "engines.water.one_pool:solve",
    "equal-m": "engines.programs.common_tasks:solve_equal",
    "sum-m": "engines.programs.common_tasks:solve_sum",
}
"""family -> "module:function" of the engine that computes the answer faster than the program"""
CLOSING = {"ps-dsf": "engines.water.ps_dsf:close"}
"""family -> "module:function" that improves an answer taken over from another notion's problem"""


def solve(
    instance: Instance,
    notion: Notion,
    solver: str = "auto",
    gap: float = 1e-6,
    uncertified: str = "raise",
    polish: bool = True,
    progress: Callable[[int, int], None] | None = None,
    reduce: bool = True,
    start: Allocation | None = None,
    tolerance: float | None = None,
    constraints: Callable[[Any], Mapping[str, Any]] | None = None,
    near: Any = None,
    limit_s: float | None = None,
) -> Allocation:
    """The allocation that a notion of fairness asks for, with prices and a certificate.

    Identical users and servers are solved as one. Parts of the cluster that share no user or server
    are solved separately. For each, several solvers are tried in turn until an answer is certified.
    Every step is recorded in `steps`. Answers are deterministic: the same input, the start
    included, gives the same bytes.

    Parameters
    ----------
    instance : the cluster.
    notion : the notion of fairness.
    solver : "auto", or the name of one solver; then no other is tried.
    gap : the same as `tolerance`, its former name.
    uncertified : what to do with an answer that is not certified: "raise" NotCertified, which
        holds the answer, or "return" it. A feasible answer of a notion of your own without a judge
        is returned as `unproved` in either case.
    polish : whether to improve each solver's answer by Newton steps on the optimality conditions.
    progress : called with (done, of) while a long sequence of programs is solved.
    reduce : whether to merge identical users and servers before solving, exactly, and to split the
        answer afterwards.
    start : the answer before a change of the instance (a weight, a demand, a capacity, a user or a
        server more or less), of the same notion. Under alpha-fairness, alpha > 0, it saves most
        of the time; users and servers are told by their names. If it leads nowhere, or under
        another notion, the instance is solved as without it, and `steps` says so. An answer from a
        start has the same certificate, and every share is that of an answer without one to 1e-7,
        not to the last digit (docs/maths/again.md).
    tolerance : the largest proved distance of a share from every optimum's that is accepted, and
        the largest gap; > 0. Above 1e-6, the bound of "certified", only of alpha-fair notions and
        max-min, and the certificate says so.

    constraints : f(space) -> {name: cvxpy constraint} in `space.tasks` (N, I) and `space.share`
        (N,). Affine ones become rules of the answer's instance, convex ones are proved by their
        tangents (docs/how-to/own-rules.md). Needs cvxpy.
    near : the last answer, or (N, I) tasks that run (an array, or a frame by name); of max-min and
        alpha-fairness. Of all optimal answers, the one that stops and starts the fewest tasks:
        users keep their shares, and the certificate is judged again. The last of `steps` says
        how many stop and start, and the least that must (docs/how-to/few-moves.md).
    limit_s : seconds by the clock after which no further step begins, > 0. The best answer so far
        is judged and comes back with the bound that is proved of it, mostly `unproved`, so that
        `uncertified` decides (docs/how-to/time-limit.md). Judging takes its time on top. With a
        limit that was reached, answers are those of how far this machine came.

    Raises
    ------
    BadInput : `instance`, `notion` or `start` is something else (for a class, build it:
        `fo.MaxMin()`), or `start` is an answer of another notion or about other resources.
    NotCertified : no step gave an answer that the certificate accepts.
    SolverFailure : no step gave an answer at all.
    Infeasible : guarantees that do not fit, with who stands against whom (`proof`), or, under
        alpha-fairness, nothing left for somebody.
    UsageError : an unknown solver, or one that cannot solve this notion; quotas or modes, of
        notions other than max-min and alpha-fairness.
    MissingExtra : the named solver is not installed.

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> answer = fo.solve(pool, fo.AlphaFair(alpha=2))
    >>> answer.totals.round(4).tolist(), answer.certificate.verdict
    ([3.2942, 1.9019], 'certified')
    >>> answer.prices.round(4).tolist()  # per unit of cpu and memory
    [[0.2222, 0.0]]
    """
    if limit_s is not None:
        with clock.limit(clock.checked(limit_s)):
            return solve(
                instance,
                notion,
                solver,
                gap,
                uncertified,
                polish,
                progress,
                reduce,
                start,
                tolerance,
                constraints,
                near,
            )
    gap = gap if tolerance is None else tolerance
    if not isinstance(instance, Instance):
        raise BadInput([Fault("instance", words(instance), "a fairopt.Instance")])
    if not isinstance(notion, Notion):
        raise BadInput([expected(notion)])
    check_settings(solver, gap, notion.family or "")
    _known(instance, notion)
    held = None if near is None else nearby.checked(near, instance, notion)
    if constraints is not None:
        if held is not None:
            raise UsageError("near: found constraints in cvxpy; wanted one of the two")
        from fairopt.solving import constraints as own

        own.refused(notion)
        rest = {
            "solver": solver,
            "gap": gap,
            "uncertified": "return",
            "polish": polish,
            "progress": progress,
            "reduce": reduce,
        }
        return own.answer(
            instance,
            notion,
            _score(instance, notion),
            constraints,
            partial(solve, notion=notion, **rest),  # type: ignore[arg-type]
            uncertified,
        )
    users, servers, _ = instance.shape
    memory.enough(
        "instance",
        16.0 * users * servers,
        f"scores and tasks of {users:,} users on {servers:,} servers",
    )
    if start is not None:
        start = again.checked(start, instance, notion)
    if uncertified not in ("raise", "return"):
        raise UsageError(f"uncertified: found {uncertified!r}; wanted 'raise' or 'return'")
    with threads.one():
        how = How(solver, gap, polish, progress)
        why = None if instance.linear else curves.unanswered(instance, notion.plain())
        if why is not None:
            found, _, wanted = why.partition("; ")
            what = f"{instance.told_bent()}, and {found}"
            raise UsageError(f"{notion.name}: found {what}; wanted linear demand, or {wanted}")
        way = (_reduced if reduce else _answer) if instance.linear else _bent
        if not instance.plain:
            way = _answer if _by_itself(notion) else _called("quotas:answer")
            way = way if instance.start is None else _called("started:answer")
        score = _score(instance, notion)
        alloc, told = again.answer(instance, notion, score, gap, start)
        if alloc is None:
            try:
                alloc = way(instance, notion, score, how)
            except clock.OutOfTime as late:
                alloc = _late(instance, notion, score, late)
            slope = notion.slope(instance, alloc.tasks)
            verdict = certify(alloc, slope[0] if slope else None, max(gap, TOLERANCE))
            alloc = alloc.with_(certificate=verdict)
        alloc = alloc.with_(steps=(*told, *alloc.steps))
        if held is not None:
            alloc = nearby.answer(alloc, score, held, gap)
        certificate = alloc.certificate
        assert certificate is not None
    short = not certificate.certified or max(certificate.gap, certificate.residual) > gap
    # a feasible answer of a notion without a judge is returned as unproved
    nobody = notion.judgeless and certificate.verdict == UNPROVED
    if short and uncertified == "raise" and not nobody:
        raise NotCertified(
            f"{notion.name}: {certificate.said}, gap {certificate.gap:.2g}, residual "
            f"{certificate.residual:.2g}; not pinned: {_listed(certificate.undetermined)}",
            alloc,
        )
    return alloc


def _late(instance: Instance, notion: Notion, score: Floats, late: clock.OutOfTime) -> Allocation:
    """Every server divided by weight, where the time is over and nothing was found; `late` itself
    where that may break a rule."""
    if not (instance.plain and instance.linear):
        raise late
    step = {"step": "time limit", "status": f"{late}; every server divided by weight"}
    return Allocation(instance, notion, divided(instance), score=score, steps=(step,))


def _known(instance: Instance, notion: Notion) -> None:
    """Raise UsageError for quotas or modes of which the notion knows nothing."""
    if instance.plain:
        if getattr(notion, "over", None) == "proportion":
            raise UsageError(
                f"{notion.name}: found over 'proportion' where nobody has a guarantee; "
                "wanted guarantees, or floor"
            )
        return
    if _by_itself(notion) and isinstance(notion.way(instance), OneProgram):
        instance.only_plain(notion.name, rows=False)
    elif notion.family not in LADDERS or notion.family == "tradeoff" or on_its_own(notion):
        instance.only_plain(notion.name)
    instance.only_linear(f"{notion.name} with quotas or modes")


def _by_itself(notion: Notion) -> bool:
    """Whether the notion is of somebody's own, and solved as it states itself."""
    return notion.family == families.OWN or (notion.family in RULED and on_its_own(notion))


def check_settings(solver: str, gap: float, family: str = "max-min") -> None:
    """Raise UsageError for a solver or tolerance that is wrong for every instance."""
    if solver not in SOLVERS:
        raise UsageError(f"solver: found {solver!r}; wanted one of {', '.join(SOLVERS)}")
    check_tolerance(max(gap, TOLERANCE) if gap > 0 else gap, family)


def _score(instance: Instance, notion: Notion) -> Floats:
    """(N, I) scores of the notion's criterion."""
    return criteria.score(instance, notion.criterion)


def _reduced(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer of the reduced problem, split among the users and servers of the original."""
    if notion.merging is None:
        return _answer(instance, notion, score, how)
    small = reducing(instance, notion, score)
    assert small.score is not None
    found = _answer(small.instance, small.notion, small.score, how)
    if not small.steps:
        return found
    tasks, p, mu, levels = small.expand(
        found.tasks, found.prices, found.limit_prices, found.level_prices
    )
    # prices of the original are scaled to sum phi; merged users may have another sum of weights
    money = float(instance.weight.sum() / small.instance.weight.sum())
    p, mu = (None if price is None else price * money for price in (p, mu))
    return Allocation(
        instance, notion, tasks, p, mu, levels, score, steps=small.renamed(found.steps)
    )


def _answer(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer by the ladder or engine of the notion's family, else by the notion's program."""
    way = notion.way(instance)
    if isinstance(way, SameAs):
        other = _answer(way.instance, way.notion, _score(way.instance, way.notion), how)
        return _brought_back(instance, notion, score, way, other, how.polish)
    engines = not on_its_own(notion)
    if engines and notion.family in LADDERS:
        alloc: Allocation = _called(LADDERS[notion.family])(instance, notion, score, how)
        return alloc
    if isinstance(way, Procedure):
        _only_auto(how, notion, ("auto",))
        tasks = fitted(instance, np.asarray(way.tasks(instance), dtype=np.float64), within=1e-10)
        return Allocation(instance, notion, tasks, score=score, steps=({"step": "procedure"},))
    chosen = isinstance(way, Patterns) and way.chooses
    if engines and how.solver == "auto" and notion.family in ENGINES and not chosen:
        answer = _called(ENGINES[notion.family])(instance, notion)
        # a small server may be overfull by the rounding of totals that are 1e12 times its own
        tasks = fitted(instance, answer.tasks, within=1e-10)
        return Allocation(
            instance, notion, tasks, answer.prices, answer.limit_prices, steps=answer.steps
        )
    return _stated(instance, notion, score, way, how)


def _stated(instance: Instance, notion: Notion, score: Floats, way: Way, how: How) -> Allocation:
    """The answer by general solvers, from the way that the notion states (`notions.way`)."""
    from fairopt.solving import stated

    able = ("highs",) if isinstance(way, Patterns) else SOLVERS[2:]
    _only_auto(how, notion, ("auto", *able))
    try:
        if isinstance(way, Levels):
            return stated.levels(instance, notion, score, way, how)
        if isinstance(way, Patterns):
            return stated.patterns(instance, notion, score, way, how)
        if isinstance(way, OneProgram):
            return stated.one_program(instance, notion, score, way, how)
    except BadInput as error:
        raise error.within(notion.name) from error
    raise BadInput([Fault(f"way of {notion.name}", words(way), "a fairopt.notions.way.Way")])


def _only_auto(how: How, notion: Notion, able: tuple[str, ...]) -> None:
    """Raise UsageError if a solver is named that is not among those able to solve the notion."""
    if how.solver not in able:
        raise UsageError(
            f"solver: found {how.solver!r}; {notion.name} is solved by {', '.join(able)}"
        )


def _bent(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer where demand is not linear, of notions that have one (`formulas.curves`)."""
    if notion.name == curves.DRF:
        from fairopt.solving.engines.water import curved

        _only_auto(how, notion, ("auto",))
        answer = curved.solve(instance)
        return Allocation(instance, notion, answer.tasks, score=score, steps=answer.steps)
    rest = _reduced(curves.after_setup(instance), notion, score, how)
    return Allocation(
        instance,
        notion,
        rest.tasks,
        rest.prices,
        rest.limit_prices,
        rest.level_prices,
        score,
        steps=({"step": "demand_fixed of everybody taken off the pool"}, *rest.steps),
    )


def _brought_back(
    instance: Instance, notion: Notion, score: Floats, way: SameAs, other: Allocation, polish: bool
) -> Allocation:
    """The other notion's answer as an answer of this notion, improved if CLOSING has a function.

    It has no prices: those found are prices of the other problem's resources.
    """
    tasks, told = way.back(other.tasks)
    steps = (*other.steps, *told)
    if polish and notion.family in CLOSING:
        tasks, step = _called(CLOSING[notion.family])(instance, tasks)
        steps = (*steps, step)
    return Allocation(instance, notion, tasks, score=score, steps=steps)


def _called(path: str) -> Callable[..., Any]:
    """The function "module:function", imported when it is needed."""
    module, function = path.split(":")
    here = importlib.import_module(f"fairopt.solving.{module}")
    found: Callable[..., Any] = getattr(here, function)
    return found


def _listed(names: tuple[str, ...], most: int = 8) -> str:
    if not names:
        return "nobody"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
