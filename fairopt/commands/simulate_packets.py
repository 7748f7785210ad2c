"""fairopt simulate packets: flows visit the resources in turn (Figure 5 of bonald2015)."""

from __future__ import annotations

from typing import Any

import click

from fairopt import files
from fairopt.commands import simulate_loads as common
from fairopt.commands import simulate_options as asks


def population(context: click.Context, option: click.Parameter, value: tuple[str, ...]) -> Any:
    """{class: flows} from the values CLASS=N of an option."""
    found = {}
    for given in value:
        user, _, number = given.rpartition("=")
        if not (user and number.isdecimal()):
            raise click.BadParameter(f"found {given!r}; wanted CLASS=N, n1=4")
        found[user] = int(number)
    return found


def times(context: click.Context, option: click.Parameter, value: tuple[str, ...]) -> Any:
    """{class: time} from the values CLASS=T of an option."""
    found = {}
    for given in value:
        user, _, time = given.rpartition("=")
        try:
            found[user] = float(time)
        except ValueError:
            user = ""
        if not user:
            raise click.BadParameter(f"found {given!r}; wanted CLASS=T, n1=20")
    return found


@click.command("packets", context_settings={"max_content_width": 100})
@click.argument("model")
@asks.loads_and_rules("drf (DRFQ), pf, bmf or pf-normalised; default the first three.")
@click.option(
    "--fixed",
    multiple=True,
    callback=population,
    metavar="CLASS=N",
    help="Simulate N flows of CLASS that never end, and compare their rates with the "
    "fluid ones. May be repeated.",
)
@asks.whole("--count", "number", says="Flows measured in each run.", default=1000)
@asks.whole("--warmup", says="Flows before the measured ones.", default=100, least=0)
@asks.whole(
    "--packets-per-flow",
    says="Mean of a flow's geometric size; default the model's [dynamics], or 2000.",
)
@asks.whole(
    "--window", says="Most packets of a flow in service or in queues; default the model's, or 30."
)
@click.option(
    "--propagation",
    multiple=True,
    callback=times,
    metavar="CLASS=T",
    help="Time from a packet's last service until the flow may send another in its "
    "place. May be repeated; default 0.",
)
@click.option(
    "--parallel",
    is_flag=True,
    help="A packet asks all its resources at once instead of one after the other.",
)
@asks.taking(*asks.DRAWN)
def command(
    model: str,
    loads: tuple[float, ...],
    rules: tuple[str, ...],
    fixed: dict[str, int],
    number: int,
    warmup: int,
    packets_per_flow: int | None,
    window: int | None,
    propagation: dict[str, float],
    parallel: bool,
    run: asks.Run,
) -> int:
    """Simulate flows of packets through the resources of the one pool of MODEL, in turn.

    Prints the mean service rate of each class under each rule with 95% intervals over independent
    runs, and the rules compared by paired differences: all get the same flows.
    """
    from fairopt.dynamics.packets import simulate_packets

    problem = files.read(model)
    named, wide = rules or ("drf", "pf", "bmf"), common.setting(problem, "window", window, 30)
    if fixed:
        return _fixed(problem, fixed, named, wide, propagation, parallel, run)
    asked = common.loads_of(problem, loads)
    mean = common.setting(problem, "packets_per_flow", packets_per_flow, 2000)
    runs = common.carried_out(
        lambda **how: simulate_packets(
            problem.instance,
            asked,
            named,
            mix=problem.dynamics.get("mix"),
            packets_per_flow=mean,
            window=wide,
            flows=number,
            warmup=warmup,
            propagation=propagation,
            parallel=parallel,
            replications=run.replications,
            seed=run.seed,
            **how,
        ),
        len(asked) * len(named) * run.replications,
        run,
        "packets",
    )
    return common.out(runs, problem, "packets", run)


def _fixed(
    problem: files.Model,
    numbers: dict[str, int],
    rules: tuple[str, ...],
    window: int,
    propagation: dict[str, float],
    parallel: bool,
    run: asks.Run,
) -> int:
    """Packets and fluid of a population that does not change, side by side."""
    from fairopt.commands.simulate import SCHEMA
    from fairopt.dynamics.packets import packet_rates
    from fairopt.dynamics.rates import class_rates
    from fairopt.dynamics.stability import pool_parts
    from fairopt.filling.compared import text

    users = problem.instance.users
    state = [numbers.get(user, 0) for user in users]
    rows: list[Any] = []
    for rule in rules:
        found = packet_rates(
            problem.instance,
            numbers,
            rule,
            window=window,
            propagation=propagation,
            parallel=parallel,
        )
        notion = rule.partition("-")[0]
        whole = class_rates(pool_parts(problem.instance), [state], notion)[0].tolist()
        fluid = {u: r / n for u, r, n in zip(users, whole, state, strict=True) if n}
        rows.append({"rule": rule, "packets": found, "fluid": fluid})
    data = {
        "schema": SCHEMA,
        "kind": "packets",
        "model": problem.name,
        "window": window,
        "propagation": propagation,
        "parallel": parallel,
        "fixed": numbers,
        "rows": rows,
    }
    lines = [
        [
            row["rule"],
            user,
            f"{rate:.5f}",
            f"{row['fluid'][user]:.5f}",
            f"{rate / row['fluid'][user] - 1:+.2%}",
        ]
        for row in rows
        for user, rate in row["packets"].items()
    ]
    head = ["rule", "class", "packets", "fluid", "apart"]
    common.leave(data, text(head, lines, "terminal"), run)
    return 0
