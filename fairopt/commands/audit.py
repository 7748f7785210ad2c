"""fairopt audit: what users hold today beside what they are due."""

from __future__ import annotations

from typing import Any

import click

from fairopt import storage
from fairopt.commands import asked, notion_options, output, progress


@click.command("audit", context_settings={"max_content_width": 100})
@click.argument("model")
@click.argument("held", required=False)
@notion_options.options
@click.option("--case", type=int, metavar="K", help="The notion of the model's case number K.")
@output.as_json
@output.out
def command(
    model: str,
    held: str | None,
    notion: str | None,
    case: int | None,
    as_json: bool,
    path: str | None,
    **parameters: Any,
) -> int:
    """Judge the division of today: what everybody holds, is due, and could hold.

    HELD is a CSV or JSON table with the columns user, server, tasks (and mode), or team, node,
    tasks; or an answer of fairopt; "-" is stdin. Rows without a server are tasks that wait; if
    there are any, nobody is taken to want more than it holds and waits for. Without HELD the first
    case of the model that says what is held is audited, against its own notion.

    "Could hold" is not what is due: it is the most a user could have today while nobody at or
    below its level loses anything, proved by prices.
    """
    from fairopt.auditing import audit
    from fairopt.errors import UsageError
    from fairopt.files.held import held_of, read_held
    from fairopt.report.audit_text import audit_text

    found_in = asked.asked(model)
    problem = found_in.model
    given = {key: value for key, value in parameters.items() if value is not None}
    own = [k for k, c in enumerate(problem.cases, 1) if c.held and case in (None, k)]
    runs = found_in.held
    if held is None and runs is None and not own:
        raise UsageError("held: found none; wanted a table of user, server, tasks after MODEL")
    if held is None and runs is None and notion is None and not given:
        case = own[0]
    wanted = notion_options.chosen(problem, notion, case, given)
    if held is not None:
        today = read_held(held, problem.instance)
    elif runs is not None:
        today = held_of(list(runs), problem.instance)
        if found_in.out:
            output.remark(
                f"{found_in.out} tasks run on nodes out of service, or have no place: left out"
            )
    else:
        today = held_of(problem.cases[own[0] - 1].held, problem.instance)
    with progress.shown("could hold") as told:
        found = audit(problem.instance, today, wanted, told)
    dump = storage.encoded(found.to_dict())
    if path is not None:
        storage.write_text(path, dump + "\n")
    output.to_stdout(dump if as_json else audit_text(found, problem.title or problem.name))
    return 0
