"""`solve`: from an instance and a notion to a judged Allocation (docs/maths/solving.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from fairopt import clock, memory, threads
from fairopt.allocation import Allocation
from fairopt.allocation.check import UNPROVED
from fairopt.certificates import RULED, certify, check_tolerance
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.errors import BadInput, Fault, NotCertified, UsageError
from fairopt.formulas import curves, families, penalties, pool_rows
from fairopt.formulas.limits import limited
from fairopt.formulas.parameters import words
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion, expected, on_its_own
from fairopt.notions.way import OneProgram
from fairopt.solving import again, answering
from fairopt.solving import near as nearby
from fairopt.solving.answering import SOLVERS, scores
from fairopt.solving.engines.point import How, divided


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
        server more or less), of the same notion. Under alpha-fairness, alpha > 0, and max-min
        it saves most of the time; users and servers are told by their names. If it leads
        nowhere, or under another notion, the instance is solved as without it, and `steps` says so.
        An answer from a start has the same certificate, and every share is that of an answer
        without one to 1e-7, not to the last digit (docs/maths/again.md).
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
        `uncertified` decides (docs/how-to/time-limit.md). Judging has a quarter more. With a
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
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> answer = fo.solve(cluster, fo.ProportionalFair())
    >>> print(answer.totals.round(6), answer.certificate.verdict)
    [4.090909 1.636364] certified
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
            scores(instance, notion),
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
        way = _way(instance, notion, reduce)
        score = scores(instance, notion)
        alloc, told = again.answer(instance, notion, score, gap, start)
        if start is not None and again.goes_on(instance, start, told):
            how = replace(how, start=start)
        if alloc is None:
            try:
                alloc = way(instance, notion, score, how)
            except clock.OutOfTime as late:
                alloc = _late(instance, notion, score, late)
            slope = notion.slope(instance, alloc.tasks)
            verdict = certify(alloc, slope[0] if slope else None, max(gap, TOLERANCE))
            alloc = alloc.with_(certificate=verdict)
        alloc = alloc.with_(steps=(*told, *alloc.steps))
        if clock.over():  # a judge with more time is not told what this one had no time for
            alloc = alloc.with_(tasks=alloc.tasks)
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
    instance.only_known("solve", notion.name)
    if _by_itself(notion) and isinstance(notion.way(instance), OneProgram):
        instance.only_known("own", notion.name)
    elif on_its_own(notion):
        instance.only_plain(notion.name)
    elif notion.family not in RULED and not _beside_rows(instance, notion):
        limited(instance, notion.name)
    instance.only_linear(f"{notion.name} with quotas or modes")


def _beside_rows(instance: Instance, notion: Notion) -> bool:
    """Whether the trade-off, or a notion over pools, is asked over the rows that there are."""
    if notion.family != penalties.NAME:
        return pool_rows.beside_rows(instance, families.member(notion.plain()), notion.name)
    return penalties.beside_rows(instance, penalties.Terms.of(notion.plain()), notion.name)


def _by_itself(notion: Notion) -> bool:
    """Whether the notion is of somebody's own, and solved as it states itself."""
    return notion.family == families.OWN or (notion.family in RULED and on_its_own(notion))


def check_settings(solver: str, gap: float, family: str = "max-min") -> None:
    """Raise UsageError for a solver or tolerance that is wrong for every instance."""
    if solver not in SOLVERS:
        raise UsageError(f"solver: found {solver!r}; wanted one of {', '.join(SOLVERS)}")
    check_tolerance(max(gap, TOLERANCE) if gap > 0 else gap, family)


def _way(instance: Instance, notion: Notion, reduce: bool) -> answering.Ladder:
    """What answers an instance: with rules and a start, with rules, bent, reduced or as it is."""
    if instance.plain and instance.linear:
        return answering.reduced if reduce else answering.answer
    if instance.plain:
        return answering.bent
    if instance.start is not None:
        from fairopt.solving import started

        return started.answer
    if _by_itself(notion):
        return answering.answer
    if _beside_rows(instance, notion):
        from fairopt.solving import pools, tradeoff

        return tradeoff.answer if notion.family == penalties.NAME else pools.answer
    if notion.family not in RULED:
        from fairopt.solving import in_limits

        return in_limits.answer
    from fairopt.solving import quotas, together

    return together.answer if reduce else quotas.answer


def _listed(names: tuple[str, ...], most: int = 8) -> str:
    if not names:
        return "nobody"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
