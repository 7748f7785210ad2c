"""fairopt simulate lying: what a lie gains while others come and go (Figure 3 of bonald2015)."""

from __future__ import annotations

from typing import Any

import click

from fairopt import files
from fairopt.commands import simulate_loads as common
from fairopt.commands import simulate_markov as exact
from fairopt.commands import simulate_options as asks

BEST = "best"
"""the claim that is looked for"""


def amounts(context: click.Context, option: click.Parameter, value: str | None) -> Any:
    """{resource: amount} of RESOURCE=AMOUNT,...; of the claim "best" nothing."""
    if value is None:
        return None
    if value == BEST and option.name == "claims":
        return {}
    found = {}
    for part in value.split(","):
        name, _, amount = part.rpartition("=")
        try:
            found[name.strip()] = float(amount)
        except ValueError:
            raise click.BadParameter(f"found {part!r}; wanted RESOURCE=AMOUNT, r1=0.5") from None
    return found


@click.command("lying", context_settings={"max_content_width": 100})
@click.argument("model")
@click.option(
    "--needs",
    callback=amounts,
    metavar="RESOURCE=AMOUNT,...",
    help="What the liar needs; default the model's [dynamics], or each class in turn.",
)
@click.option(
    "--claims",
    callback=amounts,
    metavar="RESOURCE=AMOUNT,...",
    help='What it claims; "best" looks for the best lie; default the model or "best".',
)
@asks.loads_and_rules("drf, pf, bmf, alpha=A or a notion without parameters; default pf.")
@asks.taking(*asks.COMPUTED)
def command(
    model: str,
    needs: dict[str, float] | None,
    claims: dict[str, float] | None,
    loads: tuple[float, ...],
    rules: tuple[str, ...],
    run: asks.Run,
) -> int:
    """Compute what a transaction that claims other requirements gains among the classes of MODEL.

    A short one sees the others as they are without it, a long one is always there. Their mean
    service rates come from the Markov chain of `simulate markov`; nothing is random here. Exit code
    4 where a row has no answer.
    """
    from fairopt.dynamics.curves import lying_curves
    from fairopt.dynamics.markov import STATES

    exact.picture_of(run.picture)
    problem = files.read(model)
    asked, named = common.loads_of(problem, loads), tuple(dict.fromkeys(rules or ("pf",)))
    given = problem.dynamics
    claimed = given.get("claims") if claims is None else claims
    rows = common.carried_out(
        lambda **how: lying_curves(
            problem.instance,
            asked,
            named,
            given.get("mix"),
            given.get("means"),
            given.get("needs") if needs is None else needs,
            claimed or None,
            edge=run.edge,
            flow=run.flow,
            most=run.most or STATES,
            **how,
        ),
        len(asked) * len(named),
        run,
        "lying",
    )
    if run.picture is not None:
        from fairopt.report import plot_simulated

        curves: dict[str, dict[str, list[float | None]]] = {}
        for row in rows:
            who = f"{row['rule']}, {row['liar'] or 'the liar'}"
            lines = curves.setdefault(who, {})
            for kind in ("short", "long"):
                for told in ("true", "lie"):
                    lines.setdefault(f"{kind}, {told}", []).append(row.get(f"{kind}_{told}"))
        plot_simulated.curves(
            asked,
            curves,
            ("load (part of the fullest resource)", "mean service rate"),
            run.picture,
        )
    return exact.leave("lying", problem, rows, _text(rows, problem.instance.resources), run)


def _text(rows: list[dict[str, Any]], resources: tuple[str, ...]) -> str:
    from fairopt.filling.compared import text

    head = [
        "load",
        "rule",
        "liar",
        *(f"claims {r}" for r in resources),
        "short true",
        "short lie",
        "gain",
        "long true",
        "long lie",
        "gain",
    ]
    lines = []
    for row in rows:
        begin = [f"{row['load']:g}", row["rule"], row["liar"] or "-"]
        if row["reason"]:
            lines.append([*begin, *("-" for _ in range(len(head) - len(begin)))])
            continue
        lines.append(
            [
                *begin,
                *(f"{c:.4g}" for c in row["claimed"]),
                f"{row['short_true']:.6f}",
                f"{row['short_lie']:.6f}",
                f"{row['short_gain']:+.4%}",
                f"{row['long_true']:.6f}",
                f"{row['long_lie']:.6f}",
                f"{row['long_gain']:+.4%}",
            ]
        )
    return text(head, lines, "terminal")
