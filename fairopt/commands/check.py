"""fairopt check: the fairness properties of a saved answer, and those of its notion."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import click

from fairopt.commands import asked, output, progress
from fairopt.errors import NotCertified, UsageError
from fairopt.properties import NOTION_PROPERTIES, PROPERTIES

if TYPE_CHECKING:
    from fairopt.allocation import Allocation
    from fairopt.allocation.check import Check

SCHEMA = "fairopt/allocation/check/v1"
_KNOWN = (*PROPERTIES, *NOTION_PROPERTIES)


@click.command(
    "check",
    epilog="\b\nProperties of the answer:\n"
    + "\n".join(f"  {name}" for name in PROPERTIES)
    + "\nProperties of the notion, searched for a violation by solving again:\n"
    + "\n".join(f"  {name}" for name in NOTION_PROPERTIES),
    context_settings={"max_content_width": 100},
)
@click.argument("file")
@click.option(
    "--property",
    "names",
    multiple=True,
    metavar="NAME",
    help="Judge only this property of the list below; may be given several times.",
)
@click.option(
    "--notion-properties",
    "deeper",
    is_flag=True,
    help="Judge also the properties of the notion, by solving again.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    help="Lies or changes tried for each property of the notion, one solve each.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the search."
)
@click.option(
    "--expect-violation",
    "expected",
    is_flag=True,
    help="Exit code 0 if a property is violated, 4 if none is.",
)
@output.as_json
@output.out
def command(
    file: str,
    names: tuple[str, ...],
    deeper: bool,
    trials: int,
    seed: int,
    expected: bool,
    as_json: bool,
    path: str | None,
) -> int:
    """The fairness properties of the answer or plan in FILE ("-" for stdin), or of the plan of what
    kubectl prints.

    Each is shown with its margin (tolerance minus residual: below 0 it is violated) and the user,
    server or resource where it is worst. They are judged from instance and tasks alone. Exit code 4
    if a property is violated, or the tasks exceed a capacity or limit or run where not eligible.
    """
    unknown = [name for name in names if name not in _KNOWN]
    if unknown:
        raise UsageError(f"--property: found {unknown[0]!r}; wanted one of {', '.join(_KNOWN)}")
    answer = asked.answer(file)
    skipped: list[str] = []
    checks = _checks(
        answer,
        names or (*PROPERTIES, *(NOTION_PROPERTIES if deeper else ())),
        trials,
        seed,
        not names,
        skipped,
    )
    dump = json.dumps(
        {"schema": SCHEMA, "notion": answer.notion, "checks": [_plain(c) for c in checks]},
        indent=2,
        allow_nan=False,
        default=str,
    )
    if path is not None:
        from fairopt import storage

        storage.write_text(path, dump + "\n")
    output.to_stdout(dump if as_json else _text(checks))
    for words in skipped:
        output.to_stderr(f"not asked: {words}")
    violated = any(not check.holds for check in checks)
    return 0 if violated == expected else NotCertified.exit_code


def _checks(
    answer: Allocation,
    names: tuple[str, ...],
    trials: int,
    seed: int,
    every: bool,
    skipped: list[str],
) -> list[Check]:
    """Checks of feasibility that fail, if any; then each property asked for.

    Parameters
    ----------
    every : names are all there are; those that do not know groups, quotas, modes or rules of the
        answer are left out, and `skipped` is told.
    """
    from fairopt.certificates.feasibility import feasibility

    found = [check for check in feasibility(answer) if not check.holds]
    for name in (name for name in names if name in PROPERTIES):
        try:
            found.append(PROPERTIES[name](answer))
        except UsageError as error:  # of all properties only those that know what it has
            if not every:
                raise
            skipped.append(str(error))
    asked = [name for name in names if name in NOTION_PROPERTIES]
    if asked:
        # imported late, as these import the solvers
        from fairopt import notions, properties
        from fairopt.properties.searching import told

        plain = answer.notion
        if plain["name"].startswith("fill:"):
            raise UsageError(f"{plain['name']} is a scheduler; the searches take notions only")
        notion = notions.make(plain["name"], **plain["parameters"])
        for name in asked:
            search = getattr(properties, NOTION_PROPERTIES[name])
            what = f"searching against {name}"
            with progress.shown(what, "trials", left=True) as moved, told(moved):
                found.append(search(answer.instance, notion, trials=trials, seed=seed))
    return found


def _text(checks: list[Check]) -> str:
    if not checks:
        return "no property that was asked is known of such an instance"
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        mark = "holds   " if check.holds else "VIOLATED"
        line = f"{mark}  {check.name:<{width}}  margin {check.margin:9.2g}"
        lines.append(f"{line}  {check.witness}".rstrip())
    return "\n".join(lines)


def _plain(check: Check) -> dict[str, Any]:
    """A check as JSON data; a residual that is not finite is null."""
    finite = math.isfinite(check.margin)
    row: dict[str, Any] = {
        "name": check.name,
        "holds": check.holds,
        "margin": check.margin if finite else None,
        "tolerance": check.tolerance,
        "witness": check.witness,
    }
    for key in ("tried", "unproved", "found"):
        if hasattr(check, key):
            row[key] = getattr(check, key)
    return row
