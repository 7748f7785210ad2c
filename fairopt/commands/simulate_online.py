"""fairopt simulate online: frameworks that arrive and leave a cluster (kesidis2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fairopt import files
from fairopt.commands import simulate_loads as common
from fairopt.commands import simulate_options as asks
from fairopt.errors import UsageError

if TYPE_CHECKING:
    from fairopt.dynamics.online import Online


@click.command("online", context_settings={"max_content_width": 100})
@click.argument("model")
@click.option(
    "--scheduler",
    "schedulers",
    multiple=True,
    metavar="NAME",
    help="A scheduler of `fairopt fill`, or a ledger of `fairopt replay` such as kueue:half=24 (in "
    "units of time); default those of Table II. May be repeated.",
)
@click.option(
    "--offers",
    multiple=True,
    type=click.Choice(["characterised", "coarse"]),
    help="Offer room for one task, or all that is left of a machine; default both.",
)
@asks.whole("--frameworks", says="Frameworks of each user; default the model's [dynamics], or 5.")
@asks.whole("--tasks-per-job", says="Tasks of a framework; default the model's, or 20.")
@click.option(
    "--times",
    type=click.Choice(["exponential", "given"]),
    default="exponential",
    show_default=True,
    help="Whether task times are drawn, or all equal their mean.",
)
@click.option(
    "--gap",
    type=float,
    metavar="T",
    help="Mean time between arrivals of a user's frameworks; default the model's, or 0: "
    "all are present from the start.",
)
@asks.taking(*asks.DRAWN)
def command(
    model: str,
    schedulers: tuple[str, ...],
    offers: tuple[str, ...],
    frameworks: int | None,
    tasks_per_job: int | None,
    times: str,
    gap: float | None,
    run: asks.Run,
) -> int:
    """Run frameworks on the cluster of MODEL, a user being a queue of them; no task is revoked.

    Prints total execution time and time-averaged use of every scheduler with 95% intervals over
    independent runs, ranked, and each compared with DRF by paired differences.
    """
    from fairopt.dynamics.online import OFFERS, SCHEDULERS, simulate_online

    if run.picture is not None:
        raise UsageError("--plot: a ranking is a table; wanted tasks or packets for a picture")
    problem = files.read(model)
    kinds, named = offers or tuple(OFFERS), schedulers or SCHEDULERS
    found = common.carried_out(
        lambda **how: simulate_online(
            problem.instance,
            named,
            kinds,
            frameworks=common.setting(problem, "frameworks", frameworks, 5),
            tasks_per_job=common.setting(problem, "tasks_per_job", tasks_per_job, 20),
            means=problem.dynamics.get("means"),
            times=times,
            gap=common.setting(problem, "gap", gap, 0.0),
            replications=run.replications,
            seed=run.seed,
            **how,
        ),
        len(kinds) * len(named) * run.replications,
        run,
        "online",
    )
    ranked = sorted(found, key=lambda one: one.total.mean)
    table = _text(ranked, problem.title or problem.name)
    common.leave(_plain(ranked, problem.name, run.seed), table, run)
    return 0


def _beside(one: Online, all_of: list[Online]) -> Online:
    """The run that a row is compared with: DRF under the same offers or coarse, else the last."""
    same = [o for o in all_of if o.scheduler == "drf" and o.offers == one.offers]
    return (same or all_of[-1:])[0]


def _plain(ranked: list[Online], model: str, seed: int) -> dict[str, Any]:
    from fairopt.commands.simulate import SCHEMA

    rows = [
        {
            "scheduler": one.scheduler,
            "offers": one.offers,
            "total": list(one.total),
            "use": {name: list(e) for name, e in one.use.items()},
            "stay": {name: list(e) for name, e in one.stay.items()},
            "faster_than": _beside(one, ranked).scheduler,
            "by": list(one.faster_by(_beside(one, ranked))),
            "runs": list(one.records),
        }
        for one in ranked
    ]
    return {
        "schema": SCHEMA,
        "kind": "online",
        "model": model,
        "seed": seed,
        "interval": "95%, Student's t over replications",
        "rows": rows,
        "characterised_faster_than_coarse": {name: list(e) for name, e in _offers(ranked).items()},
    }


def _offers(ranked: list[Online]) -> dict[str, Any]:
    """{scheduler: part saved by characterised offers}, where both kinds were run."""
    by = {(one.scheduler, one.offers): one for one in ranked}
    return {
        name: by[name, "characterised"].faster_by(by[name, "coarse"])
        for name, kind in by
        if kind == "coarse" and (name, "characterised") in by
    }


def _text(ranked: list[Online], title: str) -> str:
    from fairopt.filling.compared import text

    resources = list(ranked[0].use)
    lines = []
    for k, one in enumerate(ranked, 1):
        saved = one.faster_by(_beside(one, ranked))
        total = f"{one.total.mean:.2f} [{one.total.low:.2f}, {one.total.high:.2f}]"
        used = [f"{one.use[name].mean:.3f}" for name in resources]
        lines.append([str(k), one.scheduler, one.offers, total, *used, _saved(saved)])
    head = [
        "rank",
        "scheduler",
        "offers",
        "total time",
        *(f"{name} used" for name in resources),
        f"saved against {_beside(ranked[0], ranked).scheduler}",
    ]
    told = [
        title,
        "total execution time, 95% intervals over replications; compared in pairs",
        "",
        text(head, lines, "terminal"),
    ]
    pairs = _offers(ranked)
    if pairs:
        told += ["", "saved by characterised against coarse offers", ""]
        told.append(
            text(["scheduler", "saved"], [[n, _saved(e)] for n, e in pairs.items()], "terminal")
        )
    return "\n".join(told)


def _saved(part: Any) -> str:
    word = "faster" if part.low > 0 else "slower" if part.high < 0 else "?"
    return f"{part.mean:+.1%} [{part.low:+.1%}, {part.high:+.1%}] {word}"
