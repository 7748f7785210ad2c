"""fairopt plot: a picture of a saved result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from fairopt import storage
from fairopt.commands import asked, output
from fairopt.errors import BadInput, Fault, UsageError

ANSWER = ("allocation", "prices", "levels", "envy")
MOVES = "moves"
SWEEP = ("frontier", "shares", "utilisation")
STYLES = ("paper", "slides")


class Size(click.ParamType[tuple[float, float]]):
    """A width and height in inches, written 5.2x3.4."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[float, float]:
        """(width, height)."""
        try:
            width, height = (float(side) for side in str(value).lower().split("x"))
        except ValueError:
            self.fail(f"{value!r} is no size; wanted WIDTHxHEIGHT in inches, such as 5.2x3.4")
        return width, height


@click.command("plot", context_settings={"max_content_width": 100})
@click.argument("result")
@click.argument("others", nargs=-1, metavar="[REPLAY]...")
@click.option(
    "-o",
    "--output",
    "path",
    metavar="FILE",
    required=True,
    callback=output.early,
    help="Draw into FILE (.png, .pdf or .svg), whole or not at all.",
)
@click.option(
    "--kind",
    type=click.Choice([*ANSWER, MOVES, *SWEEP]),
    help=f"Of an answer or a plan: {', '.join(ANSWER)}; of a plan: {MOVES}; "
    f"of a sweep: {', '.join(SWEEP)}. "
    "Default the first that fits.",
)
@click.option(
    "--style",
    type=click.Choice(STYLES),
    default="paper",
    show_default=True,
    help="slides has larger letters and thicker lines.",
)
@click.option(
    "--size", type=Size(), metavar="WxH", help="Width and height in inches, such as 5.2x3.4."
)
def command(
    result: str,
    others: tuple[str, ...],
    path: str,
    kind: str | None,
    style: str,
    size: tuple[float, float] | None,
) -> int:
    """Draw the answer, plan, sweep, comparison or replay in the file RESULT ("-" for stdin), or the
    plan of what kubectl prints.

    allocation: every resource of every server, filled by user. prices: a heat map. levels: a
    staircase. envy: tasks with what another holds over one's own. frontier, shares, utilisation:
    as for `fairopt sweep --plot`. moves: of a plan with --stay --frontier. A comparison has one
    picture, that of `fairopt compare --plot`, and a replay too: what is owed to each user over
    time; several replays are drawn side by side.
    """
    from fairopt.connect.plan import rows as plan_rows
    from fairopt.files import answers, mistaken
    from fairopt.report import plot_answer, plot_compare, plots
    from fairopt.report.plot_style import file_format
    from fairopt.sweeping.reading import sweep_of

    file_format(path)
    content = asked.result(result)
    source = storage.source_name(result)
    data = mistaken.parsed(content, source, "a result in JSON")
    if others:
        _replays(data, source, others, path, kind, style, size)
        return 0
    schema = data.get("schema", "fairopt/allocation/v1") if isinstance(data, Mapping) else None
    if schema == "fairopt/allocation/v1":
        _fits(kind, ANSWER, "an answer")
        plot_answer.plot(answers.loads(content, source), path, kind or ANSWER[0], style, size)
    elif schema == "fairopt/plan/v1":
        _fits(kind, (*ANSWER, MOVES), "a plan")
        rows = plan_rows.loads(content, source)
        if kind == MOVES:
            from fairopt.report import plot_simulated

            plot_simulated.plot_moves(plan_rows.frontier(rows, source), path, style, size)
            return 0
        answer = answers.loads(json.dumps(rows["answer"]), source)
        plot_answer.plot(answer, path, kind or ANSWER[0], style, size)
    elif schema == "fairopt/sweep/v1":
        _fits(kind, SWEEP, "a sweep")
        plots.plot(sweep_of(data, source), path, kind, style=style, size=size)
    elif schema == "fairopt/compare/v1":
        _fits(kind, (), "a comparison")
        from fairopt.report.html.results import checked_rows

        plot_compare.plot(checked_rows(data, source), path, style, size)
    elif schema == "fairopt/replay/v1":
        _fits(kind, (), "a replay")
        from fairopt.report import plot_simulated
        from fairopt.report.html.replay_data import checked

        found = checked(data, source)
        plot_simulated.plot_debt({found["policy"]: found}, path, style, size)
    else:
        wanted = "an answer, a plan, a sweep, a comparison or a replay"
        raise BadInput([Fault("schema", repr(schema), wanted)], source)
    return 0


def _replays(
    data: Any,
    source: str,
    others: tuple[str, ...],
    path: str,
    kind: str | None,
    style: str,
    size: tuple[float, float] | None,
) -> None:
    """Draw replays of the same users side by side, each under its policy."""
    from fairopt.report import plot_simulated
    from fairopt.report.html import replay_data
    from fairopt.report.plot_data import PANELS

    if len(others) >= PANELS:
        wanted = f"at most {PANELS}"
        raise UsageError(f"plot: found {1 + len(others)} replays; wanted {wanted}")
    found = [replay_data.checked(replay_data.replay_of(data, source), source)]
    for name in others:
        content = storage.read_text(name, storage.MEBIBYTE * 1024, "a replay in JSON")
        here = storage.source_name(name)
        found.append(replay_data.checked(replay_data.parsed(content, here), here))
    _fits(kind, (), "a replay")
    users = [{one["name"] for one in each["users"]} for each in found]
    if any(names != users[0] for names in users):
        raise UsageError("plot: found replays of other users; wanted replays of the same")
    if len(units := {each["unit"] for each in found}) > 1:
        raise UsageError(f"plot: found replays in {' and '.join(sorted(units))}; wanted one")
    titles = [each["policy"] for each in found]
    names = [source, *(storage.source_name(name) for name in others)]
    if len(set(titles)) < len(titles):
        titles = [f"{title} ({name})" for title, name in zip(titles, names, strict=True)]
    if len(set(titles)) < len(titles):
        raise UsageError("plot: found one replay twice; wanted each once")
    plot_simulated.plot_debt(dict(zip(titles, found, strict=True)), path, style, size)


def _fits(kind: str | None, kinds: tuple[str, ...], what: str) -> None:
    if kind is not None and kind not in kinds:
        wanted = f"one of {', '.join(kinds)}" if kinds else "none"
        raise UsageError(f"--kind: found {kind!r} for {what}; wanted {wanted}")
