"""fairopt plan: from what kubectl prints, or a model, to who is due what, why, and where."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from fairopt.allocation.check import CERTIFIED
from fairopt.commands import cluster_options, notion_options, output, progress
from fairopt.errors import NotCertified, UsageError

if TYPE_CHECKING:
    from fairopt.connect.plan.problem import ClusterProblem
    from fairopt.connect.plan.staying import Moving
    from fairopt.connect.readers.kueue import Queues as KueueQueues
    from fairopt.notions import Notion


@click.command("plan", context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True)
@cluster_options.options
@click.option("--notion", metavar="NAME", help="What is fair.  [default: max-min]")
@click.option("--alpha", type=float, help="For --notion alpha-fair.")
@click.option("--criterion", metavar="NAME", help="What shares are measured in.")
@click.option(
    "--rows",
    type=click.IntRange(min=2),
    default=12,
    show_default=True,
    help="Most rows of each table.",
)
@click.option("--wide", is_flag=True, help="Every row and column, on lines as long as they need.")
@click.option(
    "--table",
    type=click.Choice(("queues", "workloads", "shapes")),
    help="Only this table, with every row.  [default of --columns and --csv: workloads]",
)
@click.option("--columns", metavar="NAME,...", help="Of that table only these, in this order.")
@click.option("--csv", "as_csv", is_flag=True, help="Print that table as CSV.")
@click.option(
    "--whole/--no-whole",
    default=None,
    help="Whole tasks as near to what is due as they go, proved or with the gap; small clusters "
    "always have them.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="With --whole or --stay: end the search then, with the best so far.",
)
@click.option(
    "--stay",
    is_flag=True,
    help="Keep as many running tasks where they are as these totals allow, proved.",
)
@click.option(
    "--within", metavar="EPS", help="With --stay: everybody may have this part less, such as .02."
)
@click.option(
    "--most-moves",
    type=click.IntRange(min=0),
    metavar="K",
    help="With --stay: the smallest such part at which K moves are enough.",
)
@click.option(
    "--cost",
    "costs",
    metavar="FILE",
    help="With --stay: costs of moves, CSV with the columns workload, cost or pod, cost.",
)
@click.option(
    "--frontier",
    is_flag=True,
    help="With --stay: how many can stay where everybody has as much, .5 %, 1 %, ... less; proved.",
)
@click.option(
    "--moves",
    metavar="FILE",
    help="Write what becomes of every pod, in an order that overfills no node, as CSV. It is "
    "--stay.",
)
@output.as_json
@output.out
def command(
    files: tuple[str, ...],
    notion: str | None,
    rows: int,
    wide: bool,
    table: str | None,
    columns: str | None,
    as_csv: bool,
    whole: bool | None,
    seconds: float | None,
    stay: bool,
    within: str | None,
    most_moves: int | None,
    costs: str | None,
    frontier: bool,
    moves: str | None,
    as_json: bool,
    path: str | None,
    **given: Any,
) -> int:
    """Who should get what on this cluster, why, and on which node.

    FILES are what `kubectl get nodes,pods -A -o json` prints (or yaml, one file or several, gzip,
    "-" for stdin), CSV tables of nodes, teams and what they hold, what `scontrol show node -o` and
    `sshare -P` print, or one model.

    Exit code 0 means that the fluid answer is certified, and with --whole that what is said of
    whole tasks is proved (a gap that is stated is normal); 4 that the plan shown is not.
    """
    if as_json and (wide or table or columns or as_csv):
        raise UsageError("--json excludes --wide, --table, --columns and --csv")
    if wide and columns and not table:
        table = "workloads"
    stay = stay or moves is not None
    if seconds is not None and not (whole or stay):
        raise UsageError("--seconds belongs to --whole or --stay")
    moving = _moving(stay, within, most_moves, costs, frontier)
    problem = cluster_options.problem_or_queues(files, given)
    from fairopt.connect.readers.kueue import Queues as KueueQueues

    if isinstance(problem, KueueQueues):
        return _shares(problem, as_json, path)
    chosen = _notion(notion, given)
    if moves is not None:
        _named_nodes(problem)
    # imported late, as these import the solvers
    from fairopt.connect.plan import made as plan
    from fairopt.connect.plan.whole_tasks import chosen as chosen_proof
    from fairopt.report import plan_table
    from fairopt.report.plan_text import plan_text
    from fairopt.whole.proof.judging import GAP, PROVED

    with progress.shown("solving") as told, progress.worded("steps") as words:
        # totals without slack are no place to begin few moves from: there it has to be asked for
        proving = chosen_proof(problem, False if whole is None and stay else whole, seconds, words)
        if moving is not None:
            moving = replace(moving, seconds=seconds, told=words)
        made = plan.make(problem, chosen, told, proving, moving)
    text = plan.dumps(made)
    if path is not None:
        from fairopt import storage

        storage.write_text(path, text)
    if moves is not None:
        from fairopt import storage
        from fairopt.connect.plan.moves import to_csv

        storage.write_text(moves, to_csv(made["moves"]))
    names = columns.split(",") if columns else []
    tables = [table] if table or not wide else list(plan_table.TABLES)
    if as_json:
        output.to_stdout(text)
    elif as_csv:
        output.to_stdout(plan_table.to_csv(made, table or "workloads", names))
    elif wide or table or names:
        parts = [plan_table.text(made, own or "workloads", names) for own in tables]
        output.to_stdout("\n\n".join(parts))
    else:
        output.to_stdout(plan_text(made, rows))
    good = made.get("proof", {}).get("state", PROVED) in (PROVED, GAP)
    certified = made["answer"]["certificate"]["verdict"] == CERTIFIED
    return 0 if certified and good else NotCertified.exit_code


def _shares(queues: KueueQueues, as_json: bool, path: str | None) -> int:
    """Print Kueue's own share of its queues, where no work was given."""
    import json

    from fairopt import storage
    from fairopt.connect.plan.kueue_model import shares
    from fairopt.report.plan_text import shares_text

    rows = shares(queues)
    dump = json.dumps({"schema": "fairopt/kueue-shares/v1", "shares": rows}, indent=2) + "\n"
    if path is not None:
        storage.write_text(path, dump)
    output.to_stdout(dump if as_json else shares_text(rows))
    return 0


def _moving(
    stay: bool, within: str | None, most: int | None, costs: str | None, frontier: bool
) -> Moving | None:
    """How much may be moved; None without --stay."""
    from fairopt.connect.plan.staying import Moving, read_costs

    for name, value in (
        ("--within", within),
        ("--most-moves", most),
        ("--cost", costs),
        ("--frontier", frontier or None),
    ):
        if value is not None and not stay:
            raise UsageError(f"{name} belongs to --stay")
    if not stay:
        return None
    if within is not None and most is not None:
        raise UsageError("--within and --most-moves exclude each other")
    try:
        part = Fraction(within or "0")
    except (ValueError, ZeroDivisionError):
        part = Fraction(-1)
    if not 0 <= part <= 1:
        raise UsageError(f"--within: found {within!r}; wanted a part from 0 to 1, such as .02")
    by_workload, by_pod = ({}, {}) if costs is None else read_costs(costs)
    return Moving(part, most, by_workload, by_pod, frontier)


def _named_nodes(problem: ClusterProblem) -> None:
    """Refuse moves between nodes that only a number of is known."""
    from fairopt.connect.plan.moves import unnamed

    if shape := unnamed(problem):
        raise UsageError(f"--moves: found nodes of {shape} without names; wanted a row for each")


def _notion(name: str | None, given: dict[str, Any]) -> Notion | None:
    """The notion of the options; None for the plan's own default."""
    from fairopt.files import Model
    from fairopt.instance import Instance

    own = {key: given[key] for key in ("alpha", "criterion") if given[key] is not None}
    if name is None and not own:
        return None
    if name is None and "alpha" not in own:
        name = "max-min"
    if name is not None and name.startswith("fill:"):
        raise UsageError(f"--notion: found {name!r}; wanted a notion")
    return notion_options.chosen(Model(Instance([[1]], [[1]])), name, None, own)
