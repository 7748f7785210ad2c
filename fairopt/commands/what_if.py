"""fairopt what-if: solve a model before and after a change, and show who loses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fairopt import storage
from fairopt.commands import asked, notion_options, output, progress

if TYPE_CHECKING:
    from fairopt.allocation import Allocation
    from fairopt.commands.asked import NamedNodes
    from fairopt.notions import Notion


@click.command("what-if", context_settings={"max_content_width": 100})
@click.argument("model")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="FIELD.NAME=X",
    help="weight.vision=2, capacity.node.gpu=16, nominal.team.gpu=4, rule.carbon=25; repeatable.",
)
@click.option(
    "--add-server",
    "servers",
    multiple=True,
    metavar="SERVER=K",
    help="K more machines like those of a row; repeatable.",
)
@click.option(
    "--drop",
    "dropped",
    multiple=True,
    metavar="NAME",
    help="Leave out a user, a server or a group with everybody in it, or of a cluster one node by "
    "its name, node/NAME; repeatable.",
)
@click.option(
    "--add",
    "added",
    multiple=True,
    metavar="team=NAME,...",
    help="A new user: team=NAME,queue=QUEUE,tasks=10,weight=2,cpu=4,memory=16Gi, with on=SERVER "
    "where it may not run wherever its task fits; repeatable.",
)
@click.option(
    "--losses",
    is_flag=True,
    help="Instead: lose one machine of each row, one row at a time, and show whom it hurts most.",
)
@click.option(
    "--of-rows", is_flag=True, help="With --losses: lose all machines of a row, such as a shape."
)
@notion_options.options
@click.option("--case", type=int, metavar="K", help="The notion of the model's case number K.")
@output.as_json
@output.out
def command(
    model: str,
    settings: tuple[str, ...],
    servers: tuple[str, ...],
    dropped: tuple[str, ...],
    added: tuple[str, ...],
    losses: bool,
    of_rows: bool,
    notion: str | None,
    case: int | None,
    as_json: bool,
    path: str | None,
    **parameters: Any,
) -> int:
    """Solve MODEL as it is and with the changes asked, and list who loses, first.

    MODEL may be a plan, which is asked under its own notion, or what kubectl prints.

    Without options the change is that of the model's first case that has one.

    Both answers are certified, or the command ends with exit code 4.
    """
    from fairopt import solve
    from fairopt.auditing.between import differences
    from fairopt.auditing.changes import typed
    from fairopt.errors import UsageError
    from fairopt.report.audit_text import differences_text

    found_in = asked.asked(model)
    problem = found_in.model
    given = {key: value for key, value in parameters.items() if value is not None}
    if losses:
        if settings or servers or dropped or added:
            raise UsageError("--losses excludes --set, --add-server, --add and --drop")

        wanted = notion_options.chosen(problem, notion, case, given)
        _losses(found_in, wanted, of_rows, as_json, path)
        return 0
    if of_rows:
        raise UsageError("--of-rows belongs to --losses")
    if not (settings or servers or dropped or added):
        own = [k for k, c in enumerate(problem.cases, 1) if c.change and case in (None, k)]
        if not own:
            raise UsageError(
                "what-if: found no change; wanted --set, --add-server, --add or --drop"
            )
        settings, servers, dropped = typed(problem.cases[own[0] - 1].change)
        if notion is None and not given:
            case = own[0]
    wanted = notion_options.chosen(problem, notion, case, given)
    counts, dropped = found_in.without(dropped)
    settings = (*settings, *counts)
    people = dict(asked.newcomer(text, problem.instance) for text in added)
    other = found_in.changed(settings, servers, dropped, people)
    before = _known(found_in, wanted)
    if before is None:
        with progress.shown(wanted.name) as told:
            before = solve(problem.instance, wanted, progress=told)
    with progress.shown(f"{wanted.name}, changed") as told:
        found = differences(before, solve(other, wanted, progress=told))
    dump = storage.encoded(found.to_dict())
    if path is not None:
        storage.write_text(path, dump + "\n")
    output.to_stdout(dump if as_json else differences_text(found))
    return 0


def _known(asked: NamedNodes, notion: Notion) -> Allocation | None:
    """The answer that a plan has under this notion, if its certificate is good."""
    from fairopt.certificates import certify

    found = asked.answer
    if found is None or found.notion != notion.plain():
        return None
    return found if certify(found).certified else None


def _losses(
    asked: NamedNodes, notion: Notion, whole: bool, as_json: bool, path: str | None
) -> None:
    """Print, and write, what one machine less of each row, or all, would take from whom."""
    from fairopt.auditing.losses import losses
    from fairopt.report.tables import table_text
    from fairopt.report.words import number

    with progress.shown("losing a machine of each row", "rows") as told:
        found = losses(asked.model.instance, notion, told, whole, asked.changed)
    dump = storage.encoded(
        {"schema": "fairopt/losses/v1", "losses": [own.to_dict() for own in found]}
    )
    if path is not None:
        storage.write_text(path, dump + "\n")
    if as_json:
        output.to_stdout(dump)
        return
    rows = [
        [
            own.server,
            number(own.count),
            own.none or own.user or "nobody",
            number(own.before),
            number(own.after),
            f"{-100 * own.part:.3g} %" if own.part else "0 %",
            number(own.losers),
        ]
        for own in found
    ]
    columns = [
        "lose all of" if whole else "lose one of",
        "machines",
        "hurts most",
        "before",
        "after",
        "change",
        "losers",
    ]
    output.to_stdout(table_text(columns, rows, 0, (0, 2)))
