"""fairopt explain: why one user gets what it gets."""

from __future__ import annotations

import json
from typing import Any

import click

from fairopt.commands import asked, complete, notion_options, output, progress
from fairopt.commands.lazy import Grouped

SCHEMA = "fairopt/explain/v1"


@click.command(
    "explain",
    cls=Grouped,
    epilog=f"\b\nNotions:\n{notion_options.listed()}",
    context_settings={"max_content_width": 100},
)
@complete.model_argument
@click.argument("user")
@notion_options.options
@click.option("--case", type=int, metavar="K", help="Solve the model's case number K, from 1.")
@click.option(
    "--again/--no-again",
    default=True,
    show_default=True,
    help="Solve again with a little more of what stops USER, and with more weight.",
)
@output.as_json
def command(
    model: str,
    user: str,
    notion: str | None,
    case: int | None,
    again: bool,
    as_json: bool,
    **parameters: Any,
) -> int:
    """Say why USER gets what it gets under a notion on MODEL.

    What it holds of each resource, what it is due, what stops it and who holds that, users like it,
    and what one more unit of it or 10% more weight would bring. MODEL is as for `fairopt solve`,
    or a plan, or what kubectl prints. Of a replay (`fairopt replay -o`): when USER came to be owed
    what it is owed, and who held it.
    Exit code 4 if the answer explained is not certified.
    """
    replays = asked.replays(model)
    if replays is not None:
        from fairopt.report import replay_owed

        debt = replay_owed.owed(replays[0], user)
        output.to_stdout(json.dumps(debt, indent=2) if as_json else replay_owed.words(debt))
        return 0
    problem = asked.asked(model).model
    given = {key: value for key, value in parameters.items() if value is not None}
    wanted = notion_options.chosen(problem, notion, case, given)
    # imported late, as these import the solvers
    from fairopt import solve
    from fairopt.errors import NotCertified, UsageError
    from fairopt.explaining import explain
    from fairopt.instance.reading import nearest

    if user not in problem.instance.users:
        raise UsageError(f"USER: found {user!r}; wanted {nearest(user, problem.instance.users)}")
    with progress.shown(wanted.name) as told:
        answer = solve(problem.instance, wanted, uncertified="return", progress=told)
    with progress.shown("solving again", "solves") as told:
        why = explain(answer, user, again, told)
    if as_json:
        output.to_stdout(json.dumps(_finite({"schema": SCHEMA, **why.to_dict()}), indent=2))
    else:
        output.to_stdout(str(why))
    certificate = answer.certificate
    if certificate is None or not certificate.certified:
        output.to_stderr("fairopt: this answer is not certified")
        return NotCertified.exit_code
    return 0


def _finite(value: Any) -> Any:
    """The value with null in place of infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return None
    return value
