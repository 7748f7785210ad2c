"""fairopt simulate markov: mean service rates under random demand (Figures 1, 2 of bonald2015)."""

from __future__ import annotations

from typing import Any

import click

from fairopt import files
from fairopt.commands import simulate_loads as common
from fairopt.commands import simulate_options as asks
from fairopt.errors import UsageError


def picture_of(picture: str | None) -> None:
    """Refuse a picture that cannot be drawn before anything is computed."""
    if picture is not None:
        from fairopt.report.plot_style import file_format

        file_format(picture)


def leave(
    kind: str, problem: files.Model, rows: list[dict[str, Any]], table: str, run: asks.Run
) -> int:
    """Leave the rows in the file, as JSON or as a table with the reasons of rows without answer.

    Raises
    ------
    UsageError : no row has an answer, and all for the same reason.
    """
    from fairopt.commands.simulate import SCHEMA

    reasons = list(dict.fromkeys(row["reason"] for row in rows if row["reason"]))
    if len(reasons) == 1 and all(row["reason"] for row in rows):
        raise UsageError(reasons[0])
    told = [problem.title or problem.name, "", table, *(f"no answer: {why}" for why in reasons)]
    data = {"schema": SCHEMA, "kind": kind, "model": problem.name, "rows": rows}
    common.leave(data, "\n".join(told), run)
    return 4 if reasons else 0


@click.command("markov", context_settings={"max_content_width": 100})
@click.argument("model")
@asks.loads_and_rules("drf, pf, bmf (default all), alpha=A, or a notion without parameters.")
@asks.taking(*asks.COMPUTED)
def command(
    model: str,
    loads: tuple[float, ...],
    rules: tuple[str, ...],
    run: asks.Run,
) -> int:
    """Compute the mean service rates of the classes of MODEL while transactions come and go.

    A user of MODEL is a class. The numbers of transactions are a Markov chain, whose law is
    computed on a box that grows until hardly anything is at its edge; nothing is random here. A row
    stands when of every class what comes in goes out. Exit code 4 where a row has no answer.
    """
    from fairopt.dynamics.curves import service_curves
    from fairopt.dynamics.markov import STATES

    picture_of(run.picture)
    problem = files.read(model)
    asked, named = common.loads_of(problem, loads), rules or ("drf", "pf", "bmf")
    named = tuple(dict.fromkeys(named))
    rows = common.carried_out(
        lambda **how: service_curves(
            problem.instance,
            asked,
            named,
            problem.dynamics.get("mix"),
            problem.dynamics.get("means"),
            edge=run.edge,
            flow=run.flow,
            most=run.most or STATES,
            **how,
        ),
        len(asked) * len(named),
        run,
        "markov",
    )
    users = list(rows[0]["rho"])
    if run.picture is not None:
        from fairopt.report import plot_simulated

        curves = {
            f"class {user}": {
                rule: [row["gamma"].get(user) for row in rows if row["rule"] == rule]
                for rule in named
            }
            for user in users
        }
        plot_simulated.curves(
            asked,
            curves,
            ("load (part of the fullest resource)", "mean service rate"),
            run.picture,
        )
    return leave("markov", problem, rows, _text(rows, users), run)


def _text(rows: list[dict[str, Any]], users: list[str]) -> str:
    from fairopt.filling.compared import text

    head = ["load", "rule", *(f"gamma {user}" for user in users), "states", "edge", "flow", ""]
    lines = []
    for row in rows:
        found = row["found"]
        if row["reason"]:
            lines.append(
                [f"{row['load']:g}", row["rule"], *("-" for _ in users), "-", "-", "-", "no answer"]
            )
            continue
        stable = "" if found["stable"] == "proved" else "not known to be stable"
        lines.append(
            [
                f"{row['load']:g}",
                row["rule"],
                *(f"{row['gamma'][u]:.6f}" for u in users),
                f"{found['states']:,}",
                f"{max(found['edge']):.1g}",
                f"{max(map(abs, found['flow'])):.1g}",
                stable,
            ]
        )
    return text(head, lines, "terminal")
