"""fairopt whole: whole tasks on single nodes for what a notion, or the model, says is due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fairopt import files
from fairopt.commands import complete, notion_options, output, progress
from fairopt.commands.lazy import Grouped
from fairopt.errors import NotCertified, UsageError

if TYPE_CHECKING:
    from fairopt.whole.proof.answer import WholeTasks


@click.command(
    "whole",
    cls=Grouped,
    epilog=f"\b\nNotions:\n{notion_options.listed()}",
    context_settings={"max_content_width": 100},
)
@complete.model_argument
@notion_options.options
@click.option(
    "--optimum",
    type=click.Choice(("most", "levels")),
    help="Without a due: most tasks of all, or the fairest levels of the criterion (leximin).",
)
@click.option("--case", type=int, metavar="K", help="What is due in the model's case number K.")
@click.option(
    "--fewest", is_flag=True, help="Only as few tasks short as can be, whoever misses them."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="End the search then, with the best so far and its gap.",
)
@click.option(
    "--rows", type=click.IntRange(min=2), default=12, show_default=True, help="Most users shown."
)
@output.as_json
@output.out
def command(
    model: str,
    notion: str | None,
    optimum: str | None,
    case: int | None,
    fewest: bool,
    seconds: float | None,
    rows: int,
    as_json: bool,
    path: str | None,
    **parameters: Any,
) -> int:
    """Whole tasks of MODEL on single nodes, as near to what everybody is due as they go, proved.

    What is due is the answer of the notion, or the key `due` of the users if all have it and no
    notion is named; with --optimum nothing is due. `cards`, and `gang`, `at_least` and `per_node`
    of a user, are kept. Exit code 0 means proved, or a gap that is stated; 4 that what is claimed
    is not proved.
    """
    # imported late, as these import the solvers
    from fairopt.whole.asking import whole

    problem = files.read(model)
    given = {key: value for key, value in parameters.items() if value is not None}
    if optimum is not None:
        if notion is not None or case is not None or fewest or given.keys() - {"criterion"}:
            raise UsageError("--optimum: found a due beside it; wanted --criterion alone")
        return _shown(_optimum(problem, optimum, seconds, given), rows, as_json, path)
    due = _due(problem, notion, case, given)
    with progress.worded("steps") as told:
        found = whole(
            problem.instance,
            due,
            gang=problem.whole.gang or None,
            per_node=problem.whole.per_node,
            cards=problem.whole.cards,
            at_least=problem.whole.at_least or None,
            spread=problem.whole.spread,
            zones=problem.whole.zones,
            fewest=fewest,
            seconds=seconds,
            told=told,
        )
    return _shown(found, rows, as_json, path)


def _optimum(
    problem: files.Model, kind: str, seconds: float | None, given: dict[str, Any]
) -> WholeTasks:
    """An optimum in whole tasks that needs no due."""
    from fairopt.whole.optima import optimum

    with progress.worded("steps") as told:
        return optimum(
            problem.instance,
            kind,
            seconds=seconds,
            gang=problem.whole.gang or None,
            per_node=problem.whole.per_node,
            cards=problem.whole.cards,
            at_least=problem.whole.at_least or None,
            spread=problem.whole.spread,
            zones=problem.whole.zones,
            told=told,
            **given,
        )


def _shown(found: WholeTasks, rows: int, as_json: bool, path: str | None) -> int:
    """Print the answer with its verdict, and keep it where it is asked for; the exit code."""
    from fairopt.report.whole_text import whole_text
    from fairopt.whole.proof.answer import dumps
    from fairopt.whole.proof.judging import judge

    text = dumps(found)
    if path is not None:
        from fairopt import storage

        storage.write_text(path, text)
    verdict = judge(found)
    output.to_stdout(text if as_json else whole_text(found, verdict, rows))
    return 0 if verdict.sound else NotCertified.exit_code


def _due(problem: files.Model, notion: str | None, case: int | None, given: dict[str, Any]) -> Any:
    """What everybody is due: of the model itself, or a solved notion."""
    named = notion is not None or case is not None or bool(given)
    missing = [name for name in problem.instance.users if name not in problem.whole.due]
    if not named and problem.whole.due:
        if missing:
            raise UsageError(
                f"due: found none of user {missing[0]!r}; wanted it of all users, or --notion"
            )
        return problem.whole.due
    from fairopt import solve

    wanted = notion_options.chosen(problem, notion, case, given)
    return solve(problem.instance, wanted, uncertified="return")
