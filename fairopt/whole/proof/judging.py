"""Judge whole tasks with integers alone: nodes, totals, gangs, and what the prices prove.

Nothing in the answer is believed. Every node is filled again; every sigma is searched again for a
pattern that is worth more; levels are read off the placement and not from the file. What remains
open is stated as a gap, in tasks and as a part. No solver is involved, and no floating point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairopt.allocation.check import Check
from fairopt.whole.proof import claims, fillings
from fairopt.whole.proof.answer import WholeTasks
from fairopt.whole.proof.certificate import PatternPrices, too_little
from fairopt.whole.proof.claims import ProvedLevel
from fairopt.whole.proof.placement import Placement
from fairopt.whole.proof.problem import Problem
from fairopt.whole.proof.search import LIMIT
from fairopt.whole.proof.staying import Stays

PROVED, GAP, UNPROVED, REFUTED = "proved", "gap", "unproved", "refuted"
_WORDS = {GAP: "right, with a gap"}
_STEPS = 10**6
"""a bound on a level is stated to one part in this"""


@dataclass(frozen=True)
class Verdict:
    """What is proved of whole tasks.

    Parameters
    ----------
    state : "proved": no placement is fairer; "gap": the placement is right, and how far a fairer
        one could be is stated; "unproved": prices are wrong or their search was given up;
        "refuted": nodes, totals or gangs are wrong.
    short, least : tasks missing of all whole parts, and what no placement is below.
    levels : every level with whether it is proved.
    highest : what the first level that is not proved could be at most; None if all are.
    checks : of the placement and of the prices.
    parts : whether whole parts of what is due come first; without them only levels count.
    stays : what is proved of what stays where it ran, if that was asked.
    """

    state: str
    short: int
    least: int
    levels: tuple[tuple[ProvedLevel, bool], ...]
    highest: Fraction | None
    checks: tuple[Check, ...]
    parts: bool = True
    stays: Stays | None = None

    @property
    def proved(self) -> bool:
        """Whether every level is proved."""
        return self.state == PROVED

    @property
    def sound(self) -> bool:
        """Whether the placement is right and what is said of it is proved."""
        return self.state in (PROVED, GAP)

    def explain(self) -> str:
        """What is proved, what is open and by how much, in words."""
        measures = [(claims.PARTS, "whole parts"), (claims.DUES, "all that is due")]
        said = self._short()
        if not self.parts:
            measures, said = [(claims.DUES, "levels")], "levels in whole tasks"
        lines = [f"{_WORDS.get(self.state, self.state)}: {said}"]
        for measure, words in measures:
            own = [(level, holds) for level, holds in self.levels if level.measure == measure]
            if not own:
                lines.append(f"  {words}: everybody has it")
                continue
            low, good = own[0][0], sum(holds for _, holds in own)
            lines.append(
                f"  {words}: lowest {_part(low.value)}, of {_count(len(low.users), 'user')}; "
                f"{good} of {_count(len(own), 'level')} proved best"
            )
        first = next((level for level, holds in self.levels if not holds), None)
        if first is not None and self.highest is not None:
            of = "part of whole parts" if first.measure == claims.PARTS else "part of what is due"
            more = (
                f"it could be {float(self.highest):.6g} at most, or have fewer users"
                if self.highest > first.value
                else "it could have fewer users"
            )
            lines.append(f"  gap: the first {of} not proved is {float(first.value):.6g}; {more}")
        if self.stays is not None:
            lines.append(f"  where it ran: {self.stays.explain()}")
        lines += [f"  FAIL {c.name}: {c.witness}" for c in self.checks if not c.holds]
        return "\n".join(lines)

    def _short(self) -> str:
        if self.short == 0:
            return "nobody is short of a whole task"
        least = "the least" if self.least == self.short else f"at least {self.least}"
        return f"{_count(self.short, 'task')} short of whole parts, {least} there can be"

    def plain(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "schema": "fairopt/whole-verdict/v1",
            "state": self.state,
            "short": self.short,
            "least": self.least,
            "levels": [
                {
                    "measure": level.measure,
                    "value": str(level.value),
                    "users": len(level.users),
                    "proved": holds,
                }
                for level, holds in self.levels
            ],
            "highest": None if self.highest is None else str(self.highest),
            **({} if self.stays is None else {"stays": self.stays.plain()}),
            "checks": [
                {"name": check.name, "holds": check.holds, "witness": check.witness}
                for check in self.checks
            ],
        }


def judge(answer: WholeTasks, limit: int = LIMIT) -> Verdict:
    """Judge whole tasks.

    Parameters
    ----------
    limit : most branches of the search for a pattern that is worth more than sigma. Where it is
        not enough the prices prove nothing.
    """
    problem = answer.problem
    checks, unknown = placed(answer)
    good, wrong = [], []
    for k, prices in enumerate(answer.certificate.prices):
        bad, given_up = too_little(problem, prices, limit)
        if bad:
            wrong.append(f"prices {k}: {bad[0]}")
        elif given_up:
            unknown.append(f"prices {k}: the search of {given_up[0]} was given up")
        else:
            good.append(k)
    checks.append(_check("no pattern is worth more than sigma", wrong))
    checks.append(_check("every pattern was looked at", unknown))
    found = claims.levels(problem, answer.totals)
    proofs = answer.certificate.levels
    proved = tuple(
        (level, k < len(proofs) and _proved(answer, found, k, proofs[k], good))
        for k, level in enumerate(found)
    )
    short = claims.short(problem, answer.totals)
    some = [answer.certificate.prices[k] for k in good]
    least = _least(answer, good)
    first = next((k for k, (_, holds) in enumerate(proved) if not holds), None)
    highest = None if first is None else _highest(problem, found, first, some)
    right = all(check.holds for check in checks[:-2])
    stays = None
    if answer.running is not None and right:  # nodes are only looked at that hold what they hold
        stays = answer.running.judged(problem, answer.nodes)
        checks.append(_check("no more can stay than is said", list(stays.wrong)))
    if not right:
        state = REFUTED
    elif wrong or unknown or (stays is not None and stays.wrong):
        state = UNPROVED
    else:
        state = PROVED if first is None else GAP
    return Verdict(state, short, least, proved, highest, tuple(checks), problem.parts, stays)


def _least(answer: WholeTasks, good: list[int]) -> int:
    """No placement is fewer tasks short, by prices that were found right."""
    problem, proof = answer.problem, answer.certificate
    some = [proof.prices[k] for k in good]
    found = max(
        (claims.least_short(problem, own.price, own.budget(problem)) for own in some), default=0
    )
    most = claims.short(problem, answer.totals)  # what is said of more is not so
    if found < proof.least <= most and proof.looked and set(proof.looked) <= set(good):
        looked = [proof.prices[k] for k in proof.looked]
        if fillings.impossible(problem, looked, fillings.short_of(problem, proof.least - 1)):
            return proof.least
    return found


def _proved(
    answer: WholeTasks, found: list[ProvedLevel], k: int, which: tuple[int, ...], good: list[int]
) -> bool:
    """Whether the prices that are named prove a level."""
    if not which or not set(which) <= set(good):
        return False
    own = [answer.certificate.prices[p] for p in which]
    return fillings.none_better(answer.problem, own, *claims.better(answer.problem, found, k))


def _highest(
    problem: Problem, found: list[ProvedLevel], k: int, some: list[PatternPrices]
) -> Fraction:
    """The least value that all beyond the levels before are proved not to reach together."""
    low, high = int(found[k].value * _STEPS), _STEPS
    budgets = [own.budget(problem) for own in some]

    def reached(step: int) -> bool:
        rows = claims.reaching(problem, found, k, Fraction(step, _STEPS))
        return not any(
            claims.impossible(own.price, budget, rows[:-1], rows[-1])
            for own, budget in zip(some, budgets, strict=True)
        )

    while low < high:
        middle = (low + high + 1) // 2
        if reached(middle):
            low = middle
        else:
            high = middle - 1
    return max(found[k].value, Fraction(low, _STEPS))


def placed(answer: WholeTasks) -> tuple[list[Check], list[str]]:
    """Checks of the placement: counts, nodes, gangs, numbers asked, and that nothing more fits.

    Beside them what could not be found out.
    """
    problem = answer.problem
    counted = [0] * len(problem.classes)
    over, more = [], []
    unknown: list[str] = []
    for j, count, tasks in answer.nodes:
        counted[j] += count
        if not problem.classes[j].fits(tasks):
            over.append(f"a node of {problem.classes[j].name}")
    missing = [
        f"{own.name}: {k} of {own.count}"
        for own, k in zip(problem.classes, counted, strict=True)
        if k != own.count
    ]
    totals = answer.totals
    pairs = list(zip(problem.users, totals, problem.gang, problem.asked, strict=True))
    cut = [f"{name}: {m} in gangs of {k}" for name, m, k, _ in pairs if m % k]
    few = [
        f"{name}: {m} of at least {s}"
        for (name, m, *_), s in zip(pairs, problem.at_least, strict=True)
        if 0 < m < s
    ]
    above = [f"{name}: {m} of {a}" for name, m, _, a in pairs if m > a]
    uneven = [] if over else [f"{problem.users[n]}: {counts}" for n, counts in _uneven(answer)]
    if not (missing or over or uneven):
        nodes = Placement(problem, answer.nodes)
        more = [
            name
            for n, (name, m, _, a) in enumerate(pairs)
            if m + (k := problem.step(n, m)) <= a and nodes.room_for(n, k) >= k
        ]
        unknown += ["whether a further gang fits: the search was given up"] * nodes.unsure
    checks = [
        _check("every node is counted once", missing),
        _check("whole tasks fit on every node", over),
        _check("no gang is cut", [*cut, *few]),
        _check("nobody has more than it asked", above),
        *([_check("tasks are spread over zones", uneven)] if problem.spreads else []),
        _check("no further gang fits", more),
    ]
    return checks, unknown


def _uneven(answer: WholeTasks) -> Iterator[tuple[int, list[int]]]:
    """Users of which some zone has too many beside another, and their tasks by zone."""
    classes = answer.problem.classes
    for own in answer.problem.spreads:
        counts = own.counts(
            (j, count * classes[j].by_user(tasks).get(own.user, 0))
            for j, count, tasks in answer.nodes
        )
        if own.uneven(counts):
            yield own.user, counts


def _check(name: str, wrong: list[str]) -> Check:
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return Check(name, not wrong, -float(len(wrong)), 0.0, f"{wrong[0]}{more}" if wrong else "")


def _part(x: Fraction) -> str:
    return str(x) if x.denominator < 1000 else f"{float(x):.6g}"


def _count(size: int, word: str) -> str:
    return f"{size:,} {word}{'' if size == 1 else 's'}"
